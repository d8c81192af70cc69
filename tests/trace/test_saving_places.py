"""Where a file cannot be written, saving says so in one sentence at once; nothing is replaced, and nothing is left."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from lab import CHECKOUT, notebook
from scene_samples import square

import workbench as torch
from workbench.cli import lab, main
from workbench.pictures.scene import picture
from workbench.pictures.scene.picture import Picture

FACES = [".html", ".svg", ".png", ".pdf", ".dot", ".mmd", ".gif", ".mp4", ".json"]


def read_only(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o444)


# What there is where a file is to be written, by what is said of it; the second is where that is.
PLACES: dict[str, tuple[str, Callable[[Path], object], Callable[[Path], Path]]] = {
    "pipe": ("is a pipe or a device", os.mkfifo, lambda path: path),
    "device": ("is a pipe or a device", lambda path: path.symlink_to("/dev/full"), lambda path: path),
    "read only": ("the file is read-only", read_only, lambda path: path),
    "folder": ("a folder has this name", Path.mkdir, lambda path: path),
    "long": ("the name is too long", lambda path: None, lambda path: path.with_name("x" * 300 + path.name)),
    "nowhere": ("the folder does not exist", lambda path: None, lambda path: path.parent / "nowhere" / path.name),
    "in a file": ("its folder is a file", Path.touch, lambda path: path / path.name),
}
posix = pytest.mark.skipif(os.name == "nt", reason="pipes, devices and modes are of POSIX systems")


def made(name: str, path: Path) -> tuple[str, Path]:
    """Make the place, and return what is said of it, and the path that cannot be written."""
    said, make, taken = PLACES[name]
    make(path)
    return said, taken(path)


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What lies in a folder: the kind and mode of each, and what a file holds."""
    found = {path.name: (path.lstat().st_mode, path) for path in folder.iterdir()}
    return {name: (mode, path.read_bytes() if stat.S_ISREG(mode) else b"") for name, (mode, path) in found.items()}


@posix
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("suffix", FACES)
def test_a_picture(tmp_path: Path, place: str, suffix: str) -> None:
    said, path = made(place, tmp_path / f"x{suffix}")
    before = state(tmp_path)
    with pytest.raises(OSError, match=said) as refusal:
        Picture(square()).save(path)
    assert refusal.value.filename == str(path) and refusal.value.errno and "\n" not in str(refusal.value)
    assert re.search(", so [a-z ]+$", refusal.value.strerror)
    assert state(tmp_path) == before


@posix
@pytest.mark.parametrize("place", PLACES)
def test_a_trace(tmp_path: Path, place: str) -> None:
    with torch.record() as trace:
        (torch.ones(2, requires_grad=True) * 2).sum().backward()
    said, path = made(place, tmp_path / "x.json")
    before = state(tmp_path)
    with pytest.raises(OSError, match=said):
        trace.save(path)
    assert state(tmp_path) == before


@posix
@pytest.mark.parametrize("place", ["pipe", "device", "read only"])
def test_a_page_is_refused_before_a_cell_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str) -> None:
    nbformat.write(notebook("open('ran', 'w')"), tmp_path / "one.ipynb")
    _, path = made(place, tmp_path / "x.html")
    before = state(tmp_path)
    assert main(["run", str(tmp_path / "one.ipynb"), "--html", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"workbench: cannot write {path}: ") and said.count("\n") == 1 and ", so " in said
    assert state(tmp_path) == before


def test_the_longest_name_that_a_folder_takes_is_taken(tmp_path: Path) -> None:
    path = tmp_path / ("x" * (255 - len(".svg")) + ".svg")
    Picture(square()).save(path)
    assert path.read_bytes().startswith(b"<svg ")


def test_a_disk_that_is_full_is_told_by_the_name_of_the_file(tmp_path: Path, monkeypatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device", "something beside it")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left") as refusal:
        Picture(square()).save(tmp_path / "x.svg")
    assert refusal.value.filename == str(tmp_path / "x.svg") and os.listdir(tmp_path) == []


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_interrupt_at_any_line_leaves_the_file_whole_and_alone(tmp_path: Path, old: bytes | None) -> None:
    path, code = tmp_path / "x.svg", picture.write_whole.__code__
    before = sys.gettrace()
    for line in sorted({line for *_, line in code.co_lines() if line is not None} - {code.co_firstlineno}):
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)

        def trace(frame, event, arg, line=line):
            if frame.f_code is not code:
                return None
            if event == "line" and frame.f_lineno == line:
                sys.settrace(before)
                frame.f_trace = None
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            picture.write_whole(path, b"new")
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(before)
        assert (path.read_bytes() if path.exists() else None) in (old, b"new")
        assert set(os.listdir(tmp_path)) <= {"x.svg"}
        assert interrupted or path.read_bytes() == b"new"


def test_an_interrupt_leaves_no_half_of_a_lesson(tmp_path: Path, monkeypatch) -> None:
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    (tmp_path / "from" / "a.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook()))
    whole = open

    def interrupted(*args, **options):
        file = whole(*args, **options)

        class Half:
            name = file.name

            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def write(self, text):
                raise KeyboardInterrupt

        return Half()

    monkeypatch.setattr("builtins.open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lab._hand_out(tmp_path / "from", tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


@pytest.mark.slow
@posix
def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "workbench", "lab", "--no-browser", str(tmp_path / "lessons")]
    jupyter = {f"JUPYTER_{name}_DIR": "" for name in ("CONFIG", "DATA", "RUNTIME")}
    home = {"HOME": str(tmp_path / "file" / "home"), "PYTHONPATH": str(CHECKOUT), "XDG_DATA_HOME": ""}
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | jupyter | home)
    assert seen.returncode == 1 and re.fullmatch("workbench: Jupyter can't write .*. Set HOME to .*\n", seen.stderr)


@pytest.mark.parametrize("words", [["lab", "--no-browser"], ["run", "one.ipynb", "--html", "one.html"]])
def test_a_machine_that_cannot_reach_itself_is_one_sentence(tmp_path: Path, monkeypatch, capsys, words) -> None:
    def unreachable(*_, **__):
        raise OSError(101, "Network is unreachable")

    nbformat.write(notebook("1"), tmp_path / "one.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.create_connection", unreachable)
    assert main(words) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err == (
        "workbench: this machine can't connect to itself at 127.0.0.1 (Network is unreachable). "
        "Turn on its loopback network.\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.ipynb"]
