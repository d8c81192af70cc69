"""`workbench lite`: what it refuses, the wheels it makes, and the files of a site; a browser opens one elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import absent
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import workbench
from workbench.classroom import registry
from workbench.classroom.course import PAGE
from workbench.cli import lite, main
from workbench.cli.errors import CommandError
from workbench.cli.lite_wheels import installed_wheels, own_wheel

CHECKOUT = Path(__file__).parents[2]


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main(["lite", *map(str, words)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.removeprefix("workbench: ").rstrip("\n")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.errors.find_spec", lambda name: ModuleSpec(name, None))


@pytest.fixture
def pyodide(tmp_path: Path) -> Path:
    """What looks like a Pyodide with the packages that are needed."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in ("pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
        (folder / name).write_text(name)
    packages = {}
    for name in ("numpy", "micropip", "packaging", "pandas"):
        (folder / f"{name}.whl").write_text(name)
        sha256 = lite.hashlib.sha256(name.encode()).hexdigest()
        packages[name] = {"file_name": f"{name}.whl", "sha256": sha256, "depends": [], "name": name}
    packages["micropip"]["depends"] = ["packaging"]
    packages["matplotlib"] = packages["numpy"] | {"file_name": "matplotlib.whl"}  # not there
    (folder / "pyodide-lock.json").write_text(json.dumps({"info": {}, "packages": packages}))
    return folder


def test_without_jupyterlite_the_line_to_type_is_said(capsys, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("workbench.errors.find_spec", lambda name: None)
    said = refused(capsys, tmp_path / "site")
    what = "workbench lite needs jupyter_server, which isn't installed"
    assert said == f'{what}. Run: pip install "autograd-workbench[lite]"'
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("installed")
def test_a_place_that_is_taken_and_lessons_that_are_not_there_are_refused(capsys, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    assert refused(capsys, full) == f"{full} isn't empty. Use a new folder for the site."
    assert refused(capsys, full / "mine.txt") == f"{full / 'mine.txt'} is a file. Use a new folder for the site."
    said = refused(capsys, tmp_path / "site", "--lessons", full)
    assert said == f"no notebooks in {full}."
    assert sorted(tmp_path.rglob("*")) == [full, full / "mine.txt"]


@pytest.mark.usefixtures("installed")
def test_a_pyodide_that_lacks_something_is_refused(capsys, tmp_path: Path, pyodide: Path) -> None:
    site = tmp_path / "site"
    (pyodide / "numpy.whl").write_text("half of i")
    said = refused(capsys, site, "--pyodide", pyodide)
    assert (
        said == f"{pyodide} doesn't contain numpy as listed in its pyodide-lock.json: numpy.whl is missing or differs."
    )
    (pyodide / "numpy.whl").write_text("numpy")
    (pyodide / "packaging.whl").unlink()
    assert "doesn't contain micropip as" in refused(capsys, site, "--pyodide", pyodide)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text())
    spoilt = [{"packages": lock["packages"] | {"numpy": {**lock["packages"]["numpy"], "depends": None}}}]
    for fact in ("file_name", "sha256", "depends"):
        numpy = {name: each for name, each in lock["packages"]["numpy"].items() if name != fact}
        spoilt.append({"packages": lock["packages"] | {"numpy": numpy}})
    for written in ([], *spoilt):
        (pyodide / "pyodide-lock.json").write_text(json.dumps(written))
        said = refused(capsys, site, "--pyodide", pyodide)
        assert said == f"{pyodide} isn't a Pyodide release: it has no readable pyodide-lock.json."
    (pyodide / "pyodide.mjs").unlink()
    assert "it has no readable pyodide.mjs" in refused(capsys, site, "--pyodide", pyodide)
    assert not site.exists()


@pytest.mark.usefixtures("installed")
def test_graphviz_that_cannot_be_had_is_one_sentence(capsys, monkeypatch, tmp_path: Path) -> None:
    site, lessons = tmp_path / "site", tmp_path / "lessons"
    lessons.mkdir()
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), lessons / "one.ipynb")
    (lessons / "one.exercises.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9\n")
    said = refused(capsys, site, "--lessons", lessons)
    assert said == f"cannot read {lessons / 'one.exercises.py'}: it isn't UTF-8."
    (lessons / "one.exercises.py").unlink()
    monkeypatch.setattr(lite.shutil, "which", lambda name: None)
    said = refused(capsys, site, "--lessons", lessons)
    assert said.startswith("Graphviz for the browser is downloaded with npm, which isn't installed. ")
    monkeypatch.setattr(lite.shutil, "which", lambda name: sys.executable)  # which has no `pack`
    assert refused(capsys, site, "--lessons", lessons).startswith("npm couldn't download @viz-js/viz@")
    assert "is not npm's package" in refused(capsys, site, "--lessons", lessons, "--graphviz", lessons / "one.ipynb")

    def packs(command: list[str], **_: object) -> None:
        Path(command[command.index("--pack-destination") + 1], "viz.tgz").write_bytes(b"another")

    monkeypatch.setattr(lite.subprocess, "run", packs)
    assert refused(capsys, site, "--lessons", lessons).startswith("npm's @viz-js/viz@3.31.0 isn't the file that")
    assert sorted(tmp_path.iterdir()) == [lessons]


@pytest.mark.usefixtures("installed")
def test_a_site_goes_into_the_folder_that_is_there_also_the_current_one(capsys, monkeypatch, tmp_path: Path) -> None:
    def built(place: Path, source: Path, graphviz: Path | None, is_practice: bool = False) -> Path:
        (place / "site" / "lab").mkdir(parents=True)
        return place / "site"

    monkeypatch.setattr(lite, "_built", built)
    monkeypatch.setattr(lite, "_add_start", lambda site, opened, pyodide: (site / "index.html").touch())
    here, linked = tmp_path / "a folder here", tmp_path / "linked"
    here.mkdir()
    monkeypatch.chdir(here)
    lite.lite(Path("."), CHECKOUT / "notebooks", None, None)
    assert {each.name for each in here.iterdir()} == {each.name for each in Path().iterdir()} == {"lab", "index.html"}
    (tmp_path / "far").mkdir()
    linked.symlink_to(tmp_path / "far")
    lite.lite(linked, CHECKOUT / "notebooks", None, None)
    assert linked.is_symlink() and {each.name for each in (tmp_path / "far").iterdir()} == {"lab", "index.html"}
    capsys.readouterr()
    assert main(["lite", str(tmp_path / "new" / "the site"), "--lessons", str(CHECKOUT / "notebooks")]) == 0
    quote = "'" if os.name == "posix" else '"'
    assert f" --directory {quote}{tmp_path / 'new' / 'the site'}{quote}\n" in capsys.readouterr().out
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a folder here", "far", "linked", "new"]


def test_pyodides_list_is_cut_down_to_what_is_there_and_used(tmp_path: Path, pyodide: Path) -> None:
    lite._copy_pyodide(pyodide, tmp_path / "copy")
    lock = json.loads((tmp_path / "copy" / "pyodide-lock.json").read_text())
    assert sorted(lock["packages"]) == ["micropip", "numpy", "packaging"]
    names = {"pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"}
    assert {file.name for file in (tmp_path / "copy").iterdir()} == names | {f"{each}.whl" for each in lock["packages"]}


def test_a_package_that_does_not_tell_its_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "installed"
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    told = place / "some_package-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(place))
    said = "the installed some-package doesn't list its files, so it can't be packed. Run: "
    with pytest.raises(CommandError, match=said + "pip install --force-reinstall some-package"):
        installed_wheels(["some-package"], [], wheels)
    # Installed in place of a copy: its files are elsewhere.
    (place / "__editable__.some_package-1.0.pth").write_text(str(tmp_path))
    (told / "RECORD").write_text("some_package-1.0.dist-info/METADATA,,\n__editable__.some_package-1.0.pth,,\n")
    with pytest.raises(CommandError, match=said):
        installed_wheels(["some-package"], [], wheels)
    assert [*wheels.iterdir()] == []
    (told / "RECORD").write_text("some_package-1.0.dist-info/METADATA,,\n")  # one that only brings others
    installed_wheels(["some-package"], [], wheels)
    assert [wheel.name for wheel in wheels.iterdir()] == ["some_package-1.0-py3-none-any.whl"]


def test_in_a_browser_exercises_are_found_where_the_kernel_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, drive = tmp_path / "home", tmp_path / "drive"
    for folder, solution in ((home, 3), (drive, 4)):
        folder.mkdir()
        written = (
            f'from workbench.classroom import exercise\nexercise("a-number", asks="Which?", solution={solution})\n'
        )
        (folder / "one.exercises.py").write_text(written)
    monkeypatch.chdir(drive)
    monkeypatch.setattr(Path, "home", lambda: home)
    assert registry.find("a-number").solution == 4
    monkeypatch.setattr(registry.sys, "platform", "emscripten")
    assert registry.find("a-number").solution == 4, "the reader's own file comes first"
    (drive / "one.exercises.py").unlink()
    assert registry.find("a-number").solution == 3 and registry.lessons().keys() == {"one"}


@pytest.mark.slow
@pytest.mark.parametrize("is_practice", [True, False])
def test_only_a_site_for_practice_has_solutions(tmp_path: Path, is_practice: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("graphviz_wheel", "own_wheel", "installed_wheels", "_run_jupyterlite"):
            patch.setattr(lite, name, lambda *given: None)
        lite._built(tmp_path, CHECKOUT / "notebooks", tmp_path / "viz.tgz", is_practice)
    there = tmp_path / "exercises"
    assert not [file for file in there.iterdir() if "BEGIN SOLUTION" in file.read_text(encoding="utf-8")]
    program = "from workbench.classroom import solution\nprint(solution('sigmoid-function'))"
    ran = subprocess.run([sys.executable, "-c", program], cwd=there, capture_output=True, text=True, check=False)
    assert ("class Sigmoid(" in ran.stdout) is is_practice
    assert ("no solution of 'sigmoid-function' here" in ran.stderr) is not is_practice


def test_a_wheel_of_what_is_installed_can_be_installed(tmp_path: Path) -> None:
    installed_wheels(["anywidget"], ["ipywidgets"], tmp_path)
    names = {file.name.partition("-")[0] for file in tmp_path.iterdir()}
    assert {"anywidget", "psygnal", "typing_extensions"} <= names and "ipywidgets" not in names
    (wheel,) = tmp_path.glob("psygnal-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert "psygnal/__init__.py" in packed.namelist()
        assert not [name for name in packed.namelist() if name.endswith((".so", ".pyd", ".pyc"))]
    into = ["--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(tmp_path / "into")]
    wheels = map(str, sorted(tmp_path.glob("*.whl")))
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *into, *wheels], check=True)
    assert (tmp_path / "into" / "anywidget" / "__init__.py").is_file()
    with pytest.raises(CommandError, match=r"^the site needs no-such-thing, which isn't installed\.$"):
        installed_wheels(["no-such-thing"], [], tmp_path)


@pytest.mark.slow
def test_the_workbenchs_own_wheel_is_the_package_without_lessons(tmp_path: Path) -> None:
    own_wheel(tmp_path)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name == f"autograd_workbench-{workbench.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        assert not [name for name in packed.namelist() if "__pycache__" in name or name.endswith(".ipynb")]
        packed.extractall(tmp_path / "into")
    program = f"import sys; sys.path.insert(0, {str(tmp_path / 'into')!r}); import workbench; print(workbench.__file__)"
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()) == tmp_path / "into" / "workbench" / "__init__.py"


def test_a_lesson_that_needs_pytorch_says_so_and_no_other_does(tmp_path: Path) -> None:
    lesson = tmp_path / "one.ipynb"
    title = new_markdown_cell("# One")
    nbformat.write(new_notebook(cells=[title, new_code_cell("import workbench as torch")]), lesson)
    assert "PyTorch" not in str(lite._copy(lesson))
    nbformat.write(new_notebook(cells=[title, new_code_cell("import torch  # itself")]), lesson)
    made = lite._copy(lesson)
    assert [cell.cell_type for cell in made.cells] == ["markdown", "markdown", "code"]
    assert "needs PyTorch, which does not run in a browser" in made.cells[1].source
    nbformat.validate(made)
    assert made.metadata["language_info"]["name"] == "python"  # else the page asks the reader for a kernel


def test_a_site_has_relative_addresses_readers_copies_and_no_name_of_this_machine(
    tmp_path: Path, pyodide: Path
) -> None:
    if find_spec("jupyterlite_core") is None:
        pytest.skip(absent.LITE)
    lessons, site = tmp_path / "lessons", tmp_path / "www" / "site"
    lessons.mkdir()
    for file in CHECKOUT.glob("notebooks/0[01]-*"):
        shutil.copy(file, lessons)
    site.mkdir(parents=True)  # an empty folder is as good as none
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lite, "graphviz_wheel", lambda package, folder: None)
        lite.lite(site, lessons, pyodide, tmp_path / "viz.tgz")
    assert [each.name for each in (tmp_path / "www").iterdir()] == ["site"]
    assert 'url=lab/index.html?path=course.ipynb"' in (site / "index.html").read_text()
    names = {each["path"] for each in json.loads((site / "api" / "contents" / "all.json").read_text())["content"]}
    assert names == {file.name for file in lessons.glob("*.ipynb")} | {PAGE}, (
        "no reader's list of files has the solutions"
    )
    assert not [*site.rglob("*.exercises.py")]
    page = (site / "files" / PAGE).read_text(encoding="utf-8")
    assert "Begin with lesson 0" in page and "0 of 3" in page
    for copy in (site / "files").glob("[0-9]*.ipynb"):
        text = copy.read_text(encoding="utf-8")
        assert "BEGIN SOLUTION" not in text and "# your code" in text
        with_outputs = [cell["metadata"]["tags"] for cell in json.loads(text)["cells"] if cell.get("outputs")]
        assert with_outputs == [["opening"]] * copy.name.startswith("00")
    start = json.loads((site / "workbench" / "site.json").read_text())
    assert start["pyodide"] == "../pyodide/" and len(start["exercises"]) == 2
    assert all("SEALED" in text for text in start["exercises"].values())
    assert all((site / "workbench" / wheel).is_file() for wheel in start["wheels"])
    packages = {Path(wheel).name.partition("-")[0] for wheel in start["wheels"]}
    assert {"autograd_workbench", "anywidget", "ipython", "piplite", "pyodide_kernel", "typing_extensions"} <= packages
    for file in site.rglob("*.json"):
        assert str(tmp_path) not in file.read_text(encoding="utf-8"), file
    config = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    names = {extension["name"] for extension in config["federated_extensions"]}
    assert {"anywidget", "@jupyter-widgets/jupyterlab-manager", "@jupyterlite/pyodide-kernel-extension"} == names
