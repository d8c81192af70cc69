"""The command `workbench lab`: which folder opens, what a reader keeps, who is let in."""

from __future__ import annotations

import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import nbformat
import psutil
import pytest
from jupyter_client import BlockingKernelClient
from lab import CHECKOUT, Lab, serve
from nbformat.v4 import new_code_cell, new_notebook

from workbench.classroom.handout import student
from workbench.cli import lab

SHIPPED = sorted(path.name for path in (CHECKOUT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, unpacked far from any checkout."""
    made = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = made.glob("autograd_workbench-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(made / "site")
    return made / "site"


@pytest.fixture(scope="module")
def reader(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Path]]:
    """A reader without a checkout, who already worked on the first lesson."""
    folder = tmp_path_factory.mktemp("reader") / "my lessons"
    folder.mkdir()
    (folder / SHIPPED[0]).write_text("my own work")
    with serve(folder, tmp_path_factory.mktemp("home"), site) as lab:
        yield lab, folder


def test_the_wheel_ships_the_lessons_the_types_and_the_command(site: Path) -> None:
    assert sorted(path.name for path in (site / "workbench" / "lessons").iterdir()) == SHIPPED
    assert (site / "workbench" / "py.typed").is_file()
    (entry,) = site.glob("*.dist-info/entry_points.txt")
    assert entry.read_text() == "[console_scripts]\nworkbench = workbench.cli:main\n"
    assert not (site / "tests").exists()


def test_missing_lessons_are_copied_and_the_readers_own_file_stays(reader: tuple[Lab, Path]) -> None:
    lab, folder = reader
    assert sorted(path.name for path in folder.glob("*.ipynb")) == SHIPPED
    assert (folder / SHIPPED[0]).read_text() == "my own work"
    for name in SHIPPED[1:]:
        lesson = nbformat.read(CHECKOUT / "notebooks" / name, as_version=4)
        assert nbformat.read(folder / name, as_version=4) == student(lesson)
    assert f"Copied {len(SHIPPED) - 1} lesson" in lab.said


def test_the_server_opens_the_first_lesson_with_the_folder_as_its_root(reader: tuple[Lab, Path]) -> None:
    lab, folder = reader
    assert f"/lab/tree/{quote(SHIPPED[0])}?token=" in lab.said
    assert str(folder) in lab.said
    listed = lab.ask("api/contents?content=1")
    assert sorted(item["name"] for item in listed["content"]) == SHIPPED


def test_only_this_machine_with_the_token_is_let_in(reader: tuple[Lab, Path]) -> None:
    lab, _ = reader
    listening = {
        connection.laddr.ip
        for connection in psutil.Process(lab.process.pid).net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}
    assert len(lab.token) >= 32
    with pytest.raises(HTTPError, match="403"):
        urlopen(f"{lab.address}api/contents", timeout=30)
    assert lab.ask("api/status")["kernels"] == 0


def test_jupyterlab_neither_asks_about_news_nor_fetches_them(reader: tuple[Lab, Path]) -> None:
    lab, _ = reader
    asked = lab.ask("lab/api/settings/@jupyterlab/apputils-extension:notification")
    defaults = {name: value["default"] for name, value in asked["schema"]["properties"].items()}
    assert (defaults["fetchNews"], defaults["checkForUpdates"]) == ("false", False)


def test_ctrl_c_ends_the_server_and_its_kernels(tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    with serve(folder, tmp_path / "home") as lab:
        kernel = lab.ask("api/kernels", method="POST")
        client = BlockingKernelClient(connection_file=str(tmp_path / f"home/runtime/kernel-{kernel['id']}.json"))
        client.load_connection_file()
        client.start_channels(hb=False)  # on a busy machine a heartbeat that is a second late would count as a death
        client.wait_for_ready(timeout=30)
        client.stop_channels()
        children = psutil.Process(lab.process.pid).children(recursive=True)
        assert children
        lab.process.send_signal(signal.SIGINT)
        said, _ = lab.process.communicate(timeout=30)
        assert (lab.process.returncode, said) == (0, "Stopped.\n")
        assert (tmp_path / "home" / "log").read_text() == ""
        _, alive = psutil.wait_procs(children, timeout=10)
        assert alive == []


def test_a_checkout_is_worked_in_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lab.prepare(None) == CHECKOUT / "notebooks"
    assert lab.prepare(CHECKOUT / "notebooks") == CHECKOUT / "notebooks"
    assert list(tmp_path.iterdir()) == []
    # The package of a wheel, typed in a checkout: its notebooks, not a copy.
    monkeypatch.setattr(lab, "PACKAGE", tmp_path / "site" / "workbench")
    monkeypatch.chdir(CHECKOUT)
    assert lab.prepare(None).resolve() == CHECKOUT / "notebooks"


def test_outside_a_checkout_the_copy_is_made_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = tmp_path / "site" / "workbench" / "lessons"
    shipped.mkdir(parents=True)
    for name in ("b.ipynb", "a.ipynb"):
        exercise = f"# exercise: one\n### BEGIN SOLUTION\n{name!r}\n### END SOLUTION"
        nbformat.write(new_notebook(cells=[new_code_cell(exercise)]), shipped / name)
    monkeypatch.setattr(lab, "PACKAGE", shipped.parent)
    monkeypatch.setattr(lab, "SHIPPED", shipped)
    monkeypatch.chdir(tmp_path)
    assert lab.prepare(None) == Path("workbench-lessons")
    assert capsys.readouterr().out == "Copied 2 lessons into workbench-lessons.\n"
    assert lab.first_lesson(tmp_path / "workbench-lessons") == "a.ipynb"
    (tmp_path / "workbench-lessons" / "a.ipynb").write_text("mine")
    (tmp_path / "workbench-lessons" / "b.ipynb").unlink()
    lab.prepare(None)
    assert capsys.readouterr().out == "Copied 1 lesson into workbench-lessons.\n"
    assert (tmp_path / "workbench-lessons" / "a.ipynb").read_text() == "mine"
    copied = nbformat.read(tmp_path / "workbench-lessons" / "b.ipynb", as_version=4)
    assert [cell.source for cell in copied.cells] == ["# exercise: one\n...  # your code"]
    lab.prepare(None)
    assert capsys.readouterr().out == ""
