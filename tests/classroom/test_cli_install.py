"""What `pip` is told: which machines get Graphviz along, and what a package index shows."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lab import CHECKOUT
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms, sys_tags


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The code that runs when the package is built."""
    spec = importlib.util.spec_from_file_location("hatch_build", CHECKOUT / ".hatch" / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(folder: Path, asked: str, more: str = "") -> Message:
    """Return the metadata that hatchling makes of this checkout where pip asks for this, after some lines of code."""
    code = f"{more}\nimport sys\nfrom hatchling import build\nbuild.{asked}(sys.argv[1])"
    environment = {name: value for name, value in os.environ.items() if name != "PIP_BUILD_TRACKER"}
    command = [sys.executable, "-c", code, str(folder)]
    subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, capture_output=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
    (file,) = folder.glob("*/METADATA")
    return message_from_bytes(file.read_bytes())


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """Return the metadata that a wheel of this checkout starts from, without building one."""
    return built(tmp_path_factory.mktemp("metadata"), "prepare_metadata_for_build_wheel")


def glibc(minor: int, machine: str) -> list[str]:
    return [f"manylinux_2_{version}_{machine}" for version in range(minor, 4, -1)] + [f"linux_{machine}"]


# What a wheel may be made for on a machine, in the words of pip, its facts for markers, and whether pygraphviz has one.
MACHINES = {
    "Linux": (glibc(36, "x86_64"), "linux", "x86_64", True),
    "Linux on arm": (glibc(28, "aarch64"), "linux", "aarch64", True),
    "old Linux": (glibc(17, "x86_64"), "linux", "x86_64", False),
    "Alpine": (["musllinux_1_2_x86_64", "musllinux_1_1_x86_64", "linux_x86_64"], "linux", "x86_64", False),
    "Raspberry Pi, 32 bits": (glibc(36, "armv7l"), "linux", "armv7l", False),
    "macOS 15 on arm": (list(mac_platforms((15, 0), "arm64")), "darwin", "arm64", True),
    "macOS 11 on Intel": (list(mac_platforms((11, 0), "x86_64")), "darwin", "x86_64", True),
    "macOS 10.15": (list(mac_platforms((10, 15), "x86_64")), "darwin", "x86_64", False),
    "Windows": (["win_amd64"], "win32", "AMD64", True),
    "Windows on arm": (["win_arm64"], "win32", "ARM64", False),
    "Windows, 32 bits": (["win32"], "win32", "AMD64", False),
    "a browser": (["pyodide_2025_0_wasm32", "emscripten_4_0_9_wasm32"], "emscripten", "wasm32", False),
}


def tags(platforms: list[str], version: tuple[int, int], abis: list[str] | None = None) -> list[Tag]:
    return [*cpython_tags(version, abis, platforms), *compatible_tags(version, platforms=platforms)]


@pytest.mark.parametrize("version", [(3, 11), (3, 14)])
@pytest.mark.parametrize("machine", MACHINES)
def test_pygraphviz_is_asked_for_where_it_has_a_wheel(machine: str, version: tuple[int, int], hook: ModuleType) -> None:
    platforms, _, _, there = MACHINES[machine]
    abi = f"cp{version[0]}{version[1]}"
    assert hook.has_graphviz(map(str, tags(platforms, version, [abi]))) == there
    # A wheel for the stable ABI is none for a free-threaded Python.
    assert not hook.has_graphviz(map(str, tags(platforms, (3, 14), ["cp314t"])))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_marker_is_true_wherever_there_is_a_wheel_and_false_where_a_marker_can_say_so(machine: str) -> None:
    _, system, processor, there = MACHINES[machine]
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    (asked,) = map(Requirement, project["optional-dependencies"]["graphviz"])
    assert asked.marker is not None
    given = asked.marker.evaluate({"sys_platform": system, "platform_machine": processor})
    unsayable = machine in ("old Linux", "Alpine", "macOS 10.15", "Windows, 32 bits")
    assert given == (there or unsayable)


# As packaging says it in Pyodide, and what is pure Python or Pyodide's own.
BROWSER = {"sys_platform": "emscripten", "platform_machine": "wasm32", "platform_system": "Emscripten", "extra": ""}
BROWSER_HAS = {"anywidget", "graphviz", "ipywidgets", "matplotlib", "numpy", "tqdm"}


def test_a_browser_is_asked_for_what_it_has() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [Requirement(each) for each in [*project["dependencies"], *project["optional-dependencies"]["graphviz"]]]
    names = {each.name for each in asked if each.marker is None or each.marker.evaluate(BROWSER)}
    assert names <= BROWSER_HAS and "numpy" in names


def needed(metadata: Message) -> set[str]:
    """The names of what is installed along, whatever extra is asked for."""
    asked = [Requirement(each) for each in metadata.get_all("Requires-Dist", [])]
    return {each.name for each in asked if each.marker is None or "extra" not in str(each.marker)}


# Where the lessons are the checkout's own, no exercise is sealed: the rest of a build is the same.
EDITABLE = "build_editable"


@pytest.mark.slow
def test_what_is_built_here_asks_for_what_can_be_installed_here(tmp_path: Path, hook: ModuleType) -> None:
    asked = needed(built(tmp_path, EDITABLE))
    assert {"numpy", "anywidget"} <= asked and asked.isdisjoint({"jupyterlab", "torch"})
    assert ("pygraphviz" in asked) == hook.has_graphviz(map(str, sys_tags()))


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["Linux", "Alpine"])
def test_a_build_asks_for_pygraphviz_only_where_it_can_be_installed(machine: str, tmp_path: Path) -> None:
    platforms, _, _, there = MACHINES[machine]
    more = f"from packaging import tags\ntags.sys_tags = lambda: tags.cpython_tags((3, 13), None, {platforms})"
    assert ("pygraphviz" in needed(built(tmp_path, EDITABLE, more))) == there


def test_an_index_is_shown_no_link_that_leads_nowhere(described: Message, hook: ModuleType) -> None:
    assert described["Description-Content-Type"] == "text/markdown"
    shown = described.get_payload(decode=True).decode()
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    address = project["tool"]["autograd-workbench"]["repository"]
    assert shown.split() == hook.elsewhere(readme, address).split()
    assert [place for place in re.findall(r"\]\(([^)]*)\)", shown) if not place.startswith("https://")] == []


def test_an_index_shows_the_pictures_once_the_project_has_an_address(hook: ModuleType) -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    shown = hook.elsewhere(readme, "https://example.org/workbench")
    assert "](https://example.org/workbench/raw/main/assets/hero.gif)" in shown
    assert "](https://example.org/workbench/blob/main/LICENSE)" in shown
    # All else is there, word for word, with an address and without.
    for text in (readme, shown, hook.elsewhere(readme, "")):
        words = re.sub(r"^!\[.*\n", "", text, flags=re.M)
        bare = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", words).split()
        assert bare == re.sub(r"!?\[([^\]]+)\]\([^)]*\)", r"\1", re.sub(r"^!\[.*\n", "", readme, flags=re.M)).split()


def test_a_package_names_the_address_that_findings_link_to(hook: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("A page.", "utf-8")
    for address in ("https://example.org/workbench", ""):
        text = f'[tool.autograd-workbench]\nrepository = "{address}"\n'
        (tmp_path / "pyproject.toml").write_text(text, "utf-8")
        metadata: dict[str, Any] = {}
        hook.Readme(str(tmp_path), {}).update(metadata)
        assert metadata["urls"] == ({"Repository": address} if address else {})


def test_a_package_says_whose_it_is_and_where_it_runs(described: Message) -> None:
    assert described["Author"] == "the Autograd Workbench authors"
    assert described["License-Expression"] == "Apache-2.0"
    said = described.get_all("Classifier", [])
    lowest = re.fullmatch(r">=3\.(\d+)", described["Requires-Python"])
    assert lowest
    named = {
        int(found[1]) for each in said if (found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", each))
    }
    assert min(named) == int(lowest[1]) and named == {*range(min(named), max(named) + 1)} and max(named) >= 14
    assert {"Operating System :: POSIX :: Linux", "Operating System :: MacOS"} <= {*said}


HIDDEN = """
import sys
sys.modules["pygraphviz"] = None
import workbench
import workbench as torch
x = torch.tensor(3.0, requires_grad=True)
with workbench.record() as trace:
    (x * x).backward()
print(trace.show()._repr_mimebundle_()["text/plain"])
{more}
"""


@pytest.mark.slow
def test_without_graphviz_sliders_are_told_in_words(tmp_path: Path) -> None:
    more = """
def f(x):
    return x * x if x > 0 else 3 * x
print(workbench.explore(f, x=2.0)._repr_mimebundle_()["text/plain"])"""
    program = HIDDEN.format(more=more).replace("print(trace", "repr(trace")
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert "f(x=6.0) is 36.0; its slope is 12.0 with respect to x." in seen.stdout
    assert "f(x=-2.0) is -6.0" in seen.stdout
    assert seen.stdout.endswith("put its program `dot` on the PATH.\n")


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "print(workbench.step(x * x))", "print(workbench.show(x * x))"])
def test_without_graphviz_the_first_picture_says_in_one_sentence_what_is_missing(more: str, tmp_path: Path) -> None:
    program = HIDDEN.format(more=more)
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert seen.stdout.count("No picture can be drawn because Graphviz is missing: run `pip install pygraphviz`") == 1
    assert "MulBackward0" in seen.stdout
