"""The command `workbench lab`: which folder opens, what a reader keeps, who is let in."""

from __future__ import annotations

import hashlib
import platform
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import nbformat
import psutil
import pytest
from jupyter_client import BlockingKernelClient
from lab import CHECKOUT, Lab, serve
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from patience import PATIENCE

from workbench.classroom import progress
from workbench.classroom.checks import FILE
from workbench.classroom.course import PAGE
from workbench.classroom.handout import YOUR_CODE, student
from workbench.classroom.registry import file_of, registered
from workbench.classroom.sealed import Sealed
from workbench.cli import lab, main
from workbench.cli.lab import MARK, fingerprint
from workbench.cli.pages import execute

SHIPPED = sorted(path.name for path in (CHECKOUT / "notebooks").glob("*.ipynb"))
EXERCISES = [file_of(Path(name)).name for name in SHIPPED]
# Which lessons import.
MODULES = sorted(path.name for path in (CHECKOUT / "notebooks").glob("*.py") if ".exercises" not in path.name)


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


@pytest.mark.slow
def test_the_wheel_ships_the_lessons_the_types_and_the_command(site: Path) -> None:
    assert sorted(path.name for path in (site / "workbench" / "lessons").iterdir()) == sorted(
        SHIPPED + EXERCISES + MODULES
    )
    assert (site / "workbench" / "py.typed").is_file()
    for file in EXERCISES:  # without the solutions
        assert all(isinstance(each, Sealed) for each in registered(site / "workbench" / "lessons" / file).values())
    (entry,) = site.glob("*.dist-info/entry_points.txt")
    command = "[console_scripts]\nworkbench = workbench.cli:main\n"
    assert entry.read_text() == f"{command}\n[pytest11]\npytest_workbench = pytest_workbench\n"
    assert (site / "pytest_workbench.py").is_file() and not (site / "assets").exists()
    assert not (site / "tests").exists()


@pytest.mark.slow
def test_missing_lessons_are_copied_and_the_readers_own_file_stays(reader: tuple[Lab, Path]) -> None:
    lab, folder = reader
    assert sorted(path.name for path in folder.glob("*.ipynb")) == [*SHIPPED, PAGE]
    assert (folder / SHIPPED[0]).read_text() == "my own work"
    for name in SHIPPED[1:]:
        lesson = nbformat.read(CHECKOUT / "notebooks" / name, as_version=4)
        copy = nbformat.read(folder / name, as_version=4)
        assert copy.metadata.pop(MARK) == fingerprint(copy)
        assert copy.metadata.pop("language_info").version == platform.python_version()  # opening it changes nothing
        assert (copy.cells, copy.metadata.kernelspec.name) == (student(lesson).cells, "python3")
    assert f"Copied {len(SHIPPED) - 1} lesson" in lab.said


@pytest.mark.slow
def test_the_server_opens_the_course_page_with_the_folder_as_its_root(reader: tuple[Lab, Path]) -> None:
    lab, folder = reader
    assert f"/lab/tree/{quote(PAGE)}?token=" in lab.said
    assert str(folder) in lab.said
    listed = lab.ask("api/contents?content=1")
    # The exercise files are there, and not listed.
    assert sorted(item["name"] for item in listed["content"]) == sorted([*SHIPPED, PAGE, *MODULES])
    assert {*EXERCISES} < {path.name for path in folder.iterdir()}


@pytest.mark.slow
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
        urlopen(f"{lab.address}api/contents", timeout=PATIENCE)
    assert lab.ask("api/status")["kernels"] == 0


@pytest.mark.slow
def test_jupyterlab_neither_asks_about_news_nor_fetches_them(reader: tuple[Lab, Path]) -> None:
    lab, _ = reader
    asked = lab.ask("lab/api/settings/@jupyterlab/apputils-extension:notification")
    defaults = {name: value["default"] for name, value in asked["schema"]["properties"].items()}
    assert (defaults["fetchNews"], defaults["checkForUpdates"]) == ("false", False)


@pytest.mark.slow
def test_ctrl_c_ends_the_server_and_its_kernels(site: Path, tmp_path: Path) -> None:
    with serve(tmp_path / "lessons", tmp_path / "home", site) as lab:
        kernel = lab.ask("api/kernels", method="POST")
        client = BlockingKernelClient(connection_file=str(tmp_path / f"home/runtime/kernel-{kernel['id']}.json"))
        client.load_connection_file()
        client.start_channels(hb=False)  # on a busy machine a heartbeat that is a second late would count as a death
        client.wait_for_ready(timeout=PATIENCE)
        client.stop_channels()
        children = psutil.Process(lab.process.pid).children(recursive=True)
        assert children
        lab.process.send_signal(signal.SIGINT)
        said, _ = lab.process.communicate(timeout=PATIENCE)
        assert (lab.process.returncode, said) == (0, "Stopped.\n")
        assert (tmp_path / "home" / "log").read_text() == ""
        _, alive = psutil.wait_procs(children, timeout=PATIENCE)
        assert alive == []


def lesson(*sources: str) -> nbformat.NotebookNode:
    """A lesson as its authors write it: run, with a text, these cells and a solved exercise."""
    shown = [new_output("stream", text="the answer")]
    solved = "# exercise: one\n### BEGIN SOLUTION\nanswer = 4\n### END SOLUTION"
    cells = [new_code_cell(text, outputs=shown, execution_count=1) for text in (*sources, solved)]
    return new_notebook(cells=[new_markdown_cell("# A lesson"), *cells])


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with two lessons, from which the package runs; the current folder is another one."""
    made = tmp_path / "clone"
    (made / "notebooks").mkdir(parents=True)
    (made / "pyproject.toml").write_text('[project]\nname = "autograd-workbench"\n')
    for name in ("b.ipynb", "a.ipynb"):
        nbformat.write(lesson(f"said = {name!r}"), made / "notebooks" / name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(lab, "PACKAGE", made / "workbench")
    return made


@pytest.fixture
def shipped(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same lessons inside the package of a wheel."""
    made = clone.parent / "site" / "workbench" / "lessons"
    made.parent.mkdir(parents=True)
    (clone / "notebooks").rename(made)
    monkeypatch.setattr(lab, "PACKAGE", made.parent)
    monkeypatch.setattr(lab, "SHIPPED", made)
    return made


def test_the_command_serves_the_readers_copies_on_this_machine_behind_a_token(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options: list[str] = []

    class Server:
        local_url = "http://127.0.0.1:8888/lab/tree/a.ipynb"
        io_loop = SimpleNamespace(add_callback=lambda call, *words, **how: call(*words, **how))

        def start(self) -> None:
            """Return at once, as after Ctrl-C."""

    def server(words: list[str]) -> Server:
        options.extend(words)
        return Server()

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("jupyterlab.labapp.LabApp.initialize_server", server)
    for variable in ("JUPYTER_PREFER_ENV_PATH", "JUPYTER_CONFIG_PATH"):
        monkeypatch.setenv(variable, "")
    assert main(["lab", "--no-browser"]) == 0
    signal.signal(signal.SIGINT, before)
    given = dict(word.removeprefix("--").split("=", 1) for word in options)
    token = given["IdentityProvider.token"]
    assert (given["ServerApp.ip"], given["ServerApp.open_browser"], len(token)) == ("127.0.0.1", "False", 48)
    assert given["ServerApp.root_dir"] == str(clone / "workbench-lessons") and "ServerApp.port" not in given
    said = capsys.readouterr().out
    assert f"{Server.local_url}?token={token}\nPress Ctrl-C to stop.\nStopped.\n" in said


def git(clone: Path, *words: str) -> str:
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    return subprocess.run(["git", *who, *words], cwd=clone, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_clone_that_is_worked_in_stays_clean_and_its_progress_is_the_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in (".gitignore", "pyproject.toml", "README.md"):
        shutil.copy(CHECKOUT / name, clone)
    lessons, files = SHIPPED[:2], EXERCISES[:2]
    for name in (*lessons, *files):
        (clone / "notebooks").mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / "notebooks" / name, clone / "notebooks")
    git(clone, "init", "-q")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "all")
    monkeypatch.setattr(lab, "PACKAGE", clone / "workbench")
    place = lab.prepare(None)
    copy = place / SHIPPED[0]
    notebook = nbformat.read(copy, as_version=4)
    (asked,) = (cell for cell in notebook.cells if 'check("slope-of-a-line"' in cell.source)
    asked.source = asked.source.replace(YOUR_CODE, "answer = 4")
    notebook.cells = [new_code_cell("from workbench.classroom import check"), asked]  # the others only take time
    execute(notebook, copy)
    nbformat.write(notebook, copy)
    monkeypatch.chdir(place)
    assert (place / FILE).exists() and repr(progress()).count("●") == 1
    (place / ".ipynb_checkpoints").mkdir()
    shutil.copy(copy, place / ".ipynb_checkpoints")
    assert git(clone, "status", "--porcelain", "--untracked-files=all") == ""
    copied = sorted(path.relative_to(clone).as_posix() for path in place.glob("*.ipynb"))
    assert copied == [f"workbench-lessons/{name}" for name in lessons]
    assert sorted(path.name for path in place.glob("*.exercises.py")) == files


def test_a_clone_opens_the_readers_copies_wherever_the_command_is_typed(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = clone / "workbench-lessons"
    assert lab.prepare(None) == place
    assert capsys.readouterr().out == f"Copied 2 lessons to {place}.\n"
    copied = nbformat.read(place / "a.ipynb", as_version=4)
    assert [cell.source for cell in copied.cells[1:]] == ["said = 'a.ipynb'", "# exercise: one\n...  # your code"]
    assert not any(cell.get("outputs") for cell in copied.cells)
    assert lab.first_lesson(place) == "a.ipynb"
    for folder in (clone, place, clone / "notebooks"):
        monkeypatch.chdir(folder)
        assert lab.prepare(None) == place
    # The package of a wheel, typed in a clone: of its lessons.
    monkeypatch.setattr(lab, "PACKAGE", clone.parent / "site" / "workbench")
    monkeypatch.chdir(clone)
    assert lab.prepare(None) == place
    assert capsys.readouterr().out == ""


def test_authors_open_the_lessons_themselves(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.prepare(None, authors=True) == clone / "notebooks"
    before = {path: path.read_bytes() for path in clone.rglob("*") if path.is_file()}
    assert main(["lab", str(clone / "notebooks")]) == 1
    assert capsys.readouterr().err == (
        f"workbench: {clone / 'notebooks'} contains the original lessons, with solutions. To edit them, run "
        "workbench lab --authors.\n"
    )
    (clone / "another name").symlink_to(clone / "notebooks")
    assert main(["lab", str(clone / "another name")]) == 1
    assert " contains the original lessons, with solutions. " in capsys.readouterr().err
    assert main(["--authors", "--port", "0"]) == main(["lab", "--authors", "mine"]) == 2
    monkeypatch.setattr(lab, "PACKAGE", clone.parent / "site" / "workbench")
    assert main(["lab", "--authors"]) == 1
    assert "--authors opens notebooks/ of a clone" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in clone.rglob("*") if path.is_file()} == before


def test_outside_a_clone_the_copies_lie_in_the_current_folder(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.prepare(None) == Path("workbench-lessons")
    assert capsys.readouterr().out == "Copied 2 lessons to workbench-lessons.\n"
    (Path("workbench-lessons") / "b.ipynb").unlink()
    monkeypatch.chdir("workbench-lessons")
    assert lab.prepare(None) == Path()
    assert capsys.readouterr().out == "Copied 1 lesson to ..\n"
    assert sorted(path.name for path in Path().iterdir()) == ["a.ipynb", "b.ipynb"]


def answer(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[-1].source = "# exercise: one\nanswer = 3"


def run_it(notebook: nbformat.NotebookNode) -> None:
    """What JupyterLab leaves when a reader runs all cells and saves."""
    for cell in notebook.cells[1:]:
        cell.outputs, cell.execution_count = [new_output("stream", text="seen")], 7
    notebook.metadata["language_info"] = {"name": "python", "version": "3.13.1"}
    notebook.cells.append(new_code_cell(""))


def note(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[0].source += "\n\nAsk about this."


def paste(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[0]["attachments"] = {"mine.png": {"image/png": "QUJD"}}


def lose_the_mark(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.clear()


# What a reader does with a copy, and whether the copy is then the reader's own.
DONE = {
    "nothing": (lambda notebook: None, False),
    "run": (run_it, False),
    "an exercise": (answer, True),
    "a note": (note, True),
    "a picture pasted into a text": (paste, True),
    "a cell more": (lambda notebook: notebook.cells.insert(1, new_code_cell("1 + 1")), True),
    "a cell less": (lambda notebook: notebook.cells.pop(1), True),
    "two cells exchanged": (lambda notebook: notebook.cells.reverse(), True),
    "a copy of an editor that keeps no metadata": (lose_the_mark, True),
}


@pytest.mark.parametrize("done", DONE)
def test_a_lesson_that_changes_reaches_the_copies_that_nobody_worked_in(
    done: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = lab.prepare(None)
    work, own = DONE[done]
    copy = nbformat.read(place / "a.ipynb", as_version=4)
    work(copy)
    nbformat.write(copy, place / "a.ipynb")
    before = (place / "a.ipynb").read_bytes()
    capsys.readouterr()
    lab.prepare(None)
    assert (capsys.readouterr().out, (place / "a.ipynb").read_bytes()) == ("", before)
    nbformat.write(lesson("said = 'new'"), clone / "notebooks" / "a.ipynb")
    for start in range(2):
        lab.prepare(None)
        said = capsys.readouterr().out
        if own:
            assert said.startswith("Kept your versions: a.ipynb. To get the new ones too, rename yours")
            assert (place / "a.ipynb").read_bytes() == before
        else:
            assert said == ("" if start else "Updated 1 lesson that you hadn't changed: a.ipynb.\n")
            assert "said = 'new'" in (place / "a.ipynb").read_text()
    if own:
        (place / "a.ipynb").rename(place / "a mine.ipynb")
        lab.prepare(None)
        assert capsys.readouterr().out == f"Copied 1 lesson to {place}.\n"
        assert "said = 'new'" in (place / "a.ipynb").read_text()
        assert (place / "a mine.ipynb").read_bytes() == before


def test_the_exercises_follow_the_course_unless_the_reader_has_changed_them(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, copy = (clone / name / "a.exercises.py" for name in ("notebooks", "workbench-lessons"))
    for written in ("# first\n", "# second\n"):
        source.write_text(written)
        lab.prepare(None)
        assert copy.read_text().startswith(f"{written}# {MARK}: ")
    capsys.readouterr()
    lab.prepare(None)
    copy.write_text(mine := copy.read_text().replace("second", "mine"))
    lab.prepare(None)
    assert capsys.readouterr().out == ""  # there is nothing newer
    source.write_text("# third\n")
    lab.prepare(None)
    assert capsys.readouterr().out.startswith("Kept your versions: a.exercises.py. To get the new ones too")
    assert copy.read_text() == mine
    copy.write_text("# third\n")
    lab.prepare(None)
    assert (capsys.readouterr().out, copy.read_text()) == ("", "# third\n")


def test_a_file_of_exercises_is_sealed_once(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, copy = (clone / name / "a.exercises.py" for name in ("notebooks", "workbench-lessons"))
    source.write_text('from workbench.classroom import exercise\nexercise("a-value", "?", 3)\n')
    copy.parent.mkdir()
    # A copy as older versions made it, with the solution, in which nobody has worked.
    copy.write_text(f"{source.read_text()}# {MARK}: {hashlib.sha256(source.read_bytes()).hexdigest()}\n")
    lab.prepare(None)
    made = copy.read_text()
    assert "SEALED" in made and '"?", 3' not in made and registered(copy)["a-value"].judge(3).right
    monkeypatch.setattr(lab, "for_students", None)  # nothing has changed, so nothing is run
    lab.prepare(None)
    assert copy.read_text() == made


def test_what_is_no_notebook_is_the_readers_own(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = clone / "workbench-lessons"
    place.mkdir()
    (place / "a.ipynb").write_text('{"cells": [')
    (place / "b.ipynb").symlink_to(place / "gone")
    lab.prepare(None)
    assert capsys.readouterr().out.startswith("Kept your versions: a.ipynb, b.ipynb. ")
    assert (place / "a.ipynb").read_text() == '{"cells": [' and not (place / "gone").exists()
    (place / "a.ipynb").unlink()
    (place / "a.ipynb").mkdir()
    lab.prepare(None)
    assert (place / "a.ipynb").is_dir()


def test_a_lesson_that_its_author_has_left_half_written_is_named(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "notebooks" / "b.ipynb").write_text('{"cells": [')
    assert main(["lab"]) == 1
    assert capsys.readouterr().err == f"workbench: {clone / 'notebooks' / 'b.ipynb'} isn't a notebook.\n"
    nbformat.write(lesson("### BEGIN SOLUTION"), clone / "notebooks" / "b.ipynb")
    assert main(["lab"]) == 1
    assert capsys.readouterr().err.startswith(
        f"workbench: {clone / 'notebooks' / 'b.ipynb'}: cell 2 has a BEGIN or an END"
    )


def test_a_write_that_fails_leaves_every_copy_whole(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = lab.prepare(None)
    before = (place / "a.ipynb").read_bytes()
    nbformat.write(lesson("said = 'new'"), clone / "notebooks" / "a.ipynb")
    (place / "b.ipynb").unlink()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.replace", full)
        assert main(["lab"]) == 1
    assert capsys.readouterr().err == f"workbench: cannot write the lessons into {place}: No space left on device.\n"
    assert [path.name for path in place.iterdir()] == ["a.ipynb"] and (place / "a.ipynb").read_bytes() == before
    lab.prepare(None)
    assert "said = 'new'" in (place / "a.ipynb").read_text() and (place / "b.ipynb").exists()


def test_all_that_a_reader_is_told_names_the_same_folder_and_option() -> None:
    helped = subprocess.run([sys.executable, "-m", "workbench", "lab", "--help"], capture_output=True, text=True)
    for told in (helped.stdout, (CHECKOUT / "README.md").read_text("utf-8")):
        assert "workbench-lessons" in told and "--authors" in told
    first = nbformat.read(CHECKOUT / "notebooks" / SHIPPED[0], as_version=4)
    assert any("in your own copy" in cell.source for cell in first.cells[:5])
