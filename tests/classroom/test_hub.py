"""The hub of a class: limits and doors of its configuration, lessons at each start, and two students on a real hub."""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import absent
import nbformat
import pytest
import yaml
from classroom_submissions import LESSON, submit
from lab import CHECKOUT
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from workbench.cli import main
from workbench.cli.lab import MARK

HUB = CHECKOUT / "assets" / "hub"
SECOND = f"{LESSON}.ipynb"
THIRD = "03-leaves-and-grad.ipynb"


def loaded(name: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> Config:
    """What a configuration says, under these variables and no other of a class."""
    for variable in [each for each in os.environ if each.startswith("CLASS_")]:
        monkeypatch.delenv(variable)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    return PyFileConfigLoader(name, path=str(HUB)).load_config()


@pytest.fixture
def students(tmp_path: Path) -> Path:
    place = tmp_path / "students.txt"
    place.write_text("ada\nemmy\n")
    return place


def test_those_on_the_list_are_let_in_and_nobody_else(students: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = loaded("jupyterhub_config.py", monkeypatch, CLASS_STUDENTS=str(students), CLASS_TEACHERS="sofja")
    assert config.Authenticator == {"allowed_users": {"ada", "emmy", "sofja"}, "admin_users": {"sofja"}}
    assert config.JupyterHub.authenticator_class == "pam"
    with pytest.raises(KeyError):
        loaded("jupyterhub_config.py", monkeypatch)


def test_the_hub_listens_on_this_machine_alone_and_holds_no_secret(
    students: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = loaded("jupyterhub_config.py", monkeypatch, CLASS_STUDENTS=str(students))
    assert config.JupyterHub.bind_url.startswith("http://127.0.0.1:")
    texts = {path: path.read_text() for path in HUB.rglob("*") if path.suffix in (".py", ".yaml", ".json")}
    for path, text in texts.items():
        if path.name != "try_class.py":  # which makes a hub of its own, with a token that it draws
            secrets = ("password =", "password:", "token =", "allow_all", "dummy")
            assert [word for word in secrets if word in text.lower()] == []
            assert "0.0.0.0" not in text


def test_each_student_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    spawner = loaded("class_base.py", monkeypatch).Spawner
    assert (spawner.mem_limit, spawner.mem_guarantee, spawner.cpu_limit) == ("1G", "256M", 2.0)
    assert spawner.environment["OPENBLAS_NUM_THREADS"] == "1"
    less = loaded("class_base.py", monkeypatch, CLASS_MEMORY="512M", CLASS_CPUS="0.5", CLASS_IDLE="60").Spawner
    assert (less.mem_limit, less.cpu_limit, less.environment["CLASS_IDLE"]) == ("512M", 0.5, "60")


def test_servers_outlive_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = loaded("class_base.py", monkeypatch).JupyterHub
    assert (hub.cleanup_servers, hub.cleanup_proxy) == (False, False)


def test_what_nobody_uses_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    config = loaded("settings/jupyter_server_config.py", monkeypatch)
    assert config.ServerApp.shutdown_no_activity_timeout == config.MappingKernelManager.cull_idle_timeout == 3600
    soon = loaded("settings/jupyter_server_config.py", monkeypatch, CLASS_IDLE="5").MappingKernelManager
    assert (soon.cull_idle_timeout, soon.cull_interval) == (5, 1)


def test_the_page_saves_by_itself_every_half_minute() -> None:
    text = (HUB / "settings" / "labconfig" / "default_setting_overrides.json").read_text()
    assert json.loads(text)["@jupyterlab/docmanager-extension:plugin"] == {"autosaveInterval": 30}


def test_what_teachers_need_is_left_out_of_the_server_and_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    served = loaded("settings/jupyter_server_config.py", monkeypatch).ServerApp.jpserver_extensions
    shown = json.loads((HUB / "settings" / "labconfig" / "page_config.json").read_text())["disabledExtensions"]
    left_out = {name.rpartition(".")[2].replace("_", "-") for name, enabled in served.items() if not enabled}
    assert left_out == {"formgrader", "course-list"}
    assert {name.partition(":")[2] for name in shown} == left_out | {"create-assignment"}


def test_kubernetes_has_the_same_limits_as_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    values = yaml.safe_load((HUB / "values.yaml").read_text())
    student, spawner = values["singleuser"], loaded("class_base.py", monkeypatch).Spawner
    assert student["memory"] == {"limit": spawner.mem_limit, "guarantee": spawner.mem_guarantee}
    assert (student["cpu"]["limit"], student["defaultUrl"]) == (spawner.cpu_limit, spawner.default_url)
    assert spawner.environment.items() <= student["extraEnv"].items()
    assert values["hub"]["config"]["Authenticator"] == {"allowed_users": [], "admin_users": []}


def test_the_page_tells_of_every_file_and_of_every_variable() -> None:
    page = (CHECKOUT / "assets" / "docs" / "teaching" / "jupyterhub.md").read_text()
    rows = dict(re.findall(r"^\| (`.+?`) \|(.+)\|$", page, flags=re.M))
    told = {name for names in rows for name in re.findall(r"`([^`]+)`", names)}
    assert {name.rstrip("/") for name in told if not name.startswith("CLASS_")} == {
        path.name for path in HUB.iterdir() if path.name != "__pycache__"
    }
    texts = "".join(path.read_text() for path in HUB.rglob("*.py"))
    found = dict(re.findall(r"""environ\.get\("(CLASS_\w+)", "([^"]+)"\)""", texts))
    assert found.pop("CLASS_ADDRESS").startswith("http://127.0.0.1:") and found.pop("CLASS_TEACHERS", "") == ""
    assert found.keys() == {name for name in told if name.startswith("CLASS_")}
    for names, said in rows.items():
        for name in re.findall(r"CLASS_\w+", names):
            assert f"`{found[name]}`" in said


def test_what_the_image_copies_is_there() -> None:
    copied = [line.split()[1:-1] for line in (HUB / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    assert copied and all((HUB / name).exists() for names in copied for name in names if not name.startswith("--"))


# Lessons at each start.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbench as it is installed, with its first lessons inside, to be changed."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(CHECKOUT / "workbench", site / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "workbench" / "lessons").mkdir()
    for file in (CHECKOUT / "notebooks").glob("0[0-3]-*"):
        shutil.copy(file, site / "workbench" / "lessons")
    return site


def appended(path: Path, text: str, number: int = -1) -> None:
    """Write a line more into a cell of a notebook."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[number].source += f"\n{text}"
    nbformat.write(notebook, path)


def started(site: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """What comes of what runs before a student's server."""
    command = [sys.executable, str(HUB / "start.py"), "lessons"]
    environment = os.environ | {"PYTHONPATH": str(site), "HOME": str(home)}
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_a_changed_lesson_stays_and_an_unchanged_one_is_replaced_by_a_newer(site: Path, tmp_path: Path) -> None:
    assert started(site, tmp_path).returncode == 0
    lessons = tmp_path / "lessons"
    appended(lessons / SECOND, "mine")
    for name in (SECOND, THIRD):
        appended(site / "workbench" / "lessons" / name, "newer")
    (lessons / "workbench-progress.json").write_text("{}")
    again = started(site, tmp_path)
    assert again.returncode == 0 and f"Kept your versions: {SECOND}." in again.stdout
    second, third = ((lessons / name).read_text() for name in (SECOND, THIRD))
    assert "mine" in second and "newer" not in second
    assert "newer" in third and MARK in third
    assert (lessons / "workbench-progress.json").read_text() == "{}"


@pytest.mark.slow
def test_a_server_starts_where_the_lessons_cannot_be_written(site: Path, tmp_path: Path) -> None:
    (tmp_path / "lessons").write_text("a file of the student's")
    done = started(site, tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("The lessons stay as they were: ")
    assert "Traceback" not in done.stderr and (tmp_path / "lessons").read_text() == "a file of the student's"


def test_a_server_reads_the_settings_of_the_class_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "before")
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", None)  # as the script leaves it
    first, second, third = runpy.run_path(str(HUB / "start.py"))["settings"]()
    assert Path(first) == HUB / "settings" and (Path(second) / "labconfig").is_dir() and third == "before"


# The exchange, by which assignments go out and come back.


@pytest.mark.skipif(find_spec("nbgrader") is None, reason=absent.GRADER)
@pytest.mark.scheduled
def test_an_assignment_is_fetched_handed_in_graded_and_its_feedback_fetched(tmp_path: Path) -> None:
    exchange, course, home = (tmp_path / name for name in ("exchange", "course", "home"))
    for folder, mode in ((exchange, 0o777), (course, 0o755), (home, 0o755)):
        folder.mkdir()
        folder.chmod(mode)
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "HOME": str(tmp_path), "CLASS_EXCHANGE": str(exchange)}
    environment |= {"CLASS_COURSE": "course", "JUPYTER_CONFIG_PATH": str(HUB / "settings")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"  # where its tools lie

    def nbgrader(place: Path, *words: str) -> None:
        line = [sys.executable, "-m", "nbgrader", *words]
        done = subprocess.run(line, cwd=place, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    assert main(["release", str(CHECKOUT / "notebooks" / f"{LESSON}.ipynb"), "--nbgrader", str(course)]) == 0
    teacher = [f"--CourseDirectory.root={course}", f"--assignment={LESSON}"]
    nbgrader(course, "generate_assignment", *teacher)
    nbgrader(course, "release_assignment", *teacher)
    nbgrader(home, "fetch_assignment", LESSON)
    fetched = home / "course" / LESSON
    answered = tmp_path / "answered" / f"{LESSON}.ipynb"
    submit(fetched / f"{LESSON}.ipynb", "right", answered)
    shutil.copy(answered, fetched)
    nbgrader(home, "submit", LESSON)
    for command in ("collect", "autograde", "generate_feedback", "release_feedback"):
        nbgrader(course, command, *teacher)
    nbgrader(home, "fetch_feedback", LESSON)
    (page,) = fetched.rglob("*.html")
    assert "Right. (2 points)" in page.read_text()


# A real hub.

PROXY = "configurable-http-proxy"
needs_hub = pytest.mark.skipif(find_spec("jupyterhub") is None or shutil.which(PROXY) is None, reason=absent.HUB)


@needs_hub
@pytest.mark.scheduled
def test_two_students_lose_nothing_when_a_kernel_the_hub_and_a_server_die(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = runpy.run_path(str(HUB / "try_class.py"))

    async def attended() -> bool:
        hub = names["Hub"](tmp_path.resolve(), site)
        try:
            await hub.start()
            return await names["attend"](hub, 2, 4, 0.1)
        finally:
            hub.close()
            assert hub.servers() == {}

    assert asyncio.run(attended()), capsys.readouterr().out
    said = capsys.readouterr().out
    assert said.count(" yes\n") == 3 and "a step (8 of them)" in said


@needs_hub
@pytest.mark.scheduled
def test_on_a_real_hub_a_lesson_is_kept_or_replaced_at_the_next_start(site: Path, tmp_path: Path) -> None:
    names = runpy.run_path(str(HUB / "try_class.py"))

    async def attended() -> tuple[str, str, list[Any]]:
        hub = names["Hub"](tmp_path.resolve(), site)
        student = names["Student"](hub, "ada")
        try:
            await hub.start()
            await student.enter()
            await student.open()
            # Kernels that choose ports while others start may choose the same: this one is spoken to by files.
            (kernel,) = names["_kernels"](hub.servers()["ada"])
            sockets = Path(kernel.environ()["JUPYTER_RUNTIME_DIR"])
            assert sockets.stat().st_mode & 0o777 == 0o700
            assert sum(path.is_socket() for path in sockets.iterdir()) == 5  # shell, control, iopub, stdin, heartbeat
            student.notebook["cells"][-1]["source"] += "\nmine"
            await student.save()
            await student.leave()
            assert not sockets.exists()
            for name in (SECOND, THIRD):
                appended(site / "workbench" / "lessons" / name, "newest")
            await student.enter()
            kept, replaced = ((tmp_path / "ada" / "lessons" / name).read_text() for name in (SECOND, THIRD))
            return kept, replaced, await student.saved()
        finally:
            hub.close()

    kept, replaced, saved = asyncio.run(attended())
    assert "mine" in kept and "newest" not in kept and saved[-1][0].endswith("\nmine")
    assert "newest" in replaced
