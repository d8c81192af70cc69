"""A wheel in new environments: the core alone, the line that brings the lab, a Jupyter and a PyTorch of one's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import absent
import nbformat
import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = [
    pytest.mark.scheduled,
    pytest.mark.skipif(os.environ.get("WORKBENCH_REQUIRE_EXTRAS") != "1", reason=absent.INSTALLS),
]

# What somebody may have had for a year: these lie between the lowest versions that are declared and the newest.
OWN = ("jupyterlab==4.2.7", "ipykernel==6.29.5", "ipython==8.31.0", "numpy==2.1.3", "torch==2.6.0")
MOST_PACKAGES = 30  # of the core, with all that it needs

# None of this checkout's folders, and no environment but the one that is named.
ELSEWHERE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

TRAINING = """
import torch
import workbench
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
with workbench.record(torch) as trace:
    (x * x).sum().backward()
assert x.grad.tolist() == [2.0, -4.0, 6.0]
trace.show()
"""


def has_old_wheels(program: str) -> bool:
    """Whether a Python is one that packages of a year ago have wheels for."""
    ask = "import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))"
    return subprocess.run([program, "-c", ask], capture_output=True).returncode == 0


class Environment:
    """A new environment, and what is typed in it."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True, env=ELSEWHERE)
        self.programs = folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, program: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        found = shutil.which(program, path=str(self.programs))
        assert found, f"{program} is not there"
        return subprocess.run([found, *words], capture_output=True, text=True, cwd=cwd, env=ELSEWHERE)

    def install(self, *words: str) -> None:
        said = self.run("pip", "install", "-q", *words, cwd=self.programs)
        assert said.returncode == 0, said.stderr[-3000:]

    def versions(self) -> dict[str, str]:
        """What is installed, by name; pip's own version does not count."""
        said = self.run("pip", "list", "--format=freeze", cwd=self.programs).stdout.split()
        return dict(line.split("==", 1) for line in said if not line.startswith("pip=="))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A wheel of this checkout, as pip builds it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(CHECKOUT)]
    subprocess.run(build, check=True, env=ELSEWHERE)
    (made,) = folder.glob("*.whl")
    return str(made)


def lesson(path: Path, *sources: str) -> None:
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)


def test_the_core_runs_alone_and_the_line_that_it_tells_brings_the_rest(wheel: str, tmp_path: Path) -> None:
    own = Environment(tmp_path / "own")
    own.install(wheel)
    assert len(own.versions()) <= MOST_PACKAGES and "jupyterlab" not in own.versions()
    seen = own.run("python", str(CHECKOUT / "tests" / "support" / "core_alone.py"), cwd=tmp_path)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert seen.stdout.endswith("the core alone: all of it ran\n")

    lesson(tmp_path / "lesson.ipynb", "import workbench\nworkbench.show(workbench.ones(2, requires_grad=True) * 2)")
    refused = own.run("workbench", "run", "lesson.ipynb", "--html", "pages", cwd=tmp_path)
    line = refused.stderr.partition("pip install ")[2].partition(" brings it.")[0]
    assert line == '"autograd-workbench[lab]"'
    own.install(line.strip('"'))
    made = own.run("workbench", "run", "lesson.ipynb", "--html", "pages", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "wb-play-" in (tmp_path / "pages" / "lesson.html").read_text("utf-8")


def test_a_jupyter_and_a_pytorch_of_ones_own_keep_their_versions(wheel: str, tmp_path: Path) -> None:
    known = [sys.executable, *filter(None, map(shutil.which, ("python3.11", "python3.12", "python3.13")))]
    own = Environment(tmp_path / "own", next(filter(has_old_wheels, known)))
    own.install("--no-compile", *OWN)  # most of PyTorch is never imported
    before = own.versions()
    own.install(wheel)
    after = own.versions()
    assert {name: after.get(name) for name in before} == before
    assert "autograd-workbench" in after and len(after) - len(before) <= 10, after.keys() - before.keys()
    said = own.run("pip", "check", cwd=tmp_path)
    assert said.returncode == 0, said.stdout

    # Their own Jupyter shows their own PyTorch.
    lesson(tmp_path / "own.ipynb", TRAINING)
    ran = own.run("jupyter", "nbconvert", "--execute", "--to", "notebook", "--inplace", "own.ipynb", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-3000:]
    (cell,) = nbformat.read(tmp_path / "own.ipynb", 4).cells
    assert "wb-play-" in cell.outputs[-1].data["text/html"]
    saved = own.run("python", "-c", f"{TRAINING}trace.save('own.png')", cwd=tmp_path)
    said = 'A .png file needs matplotlib, which isn\'t installed. Run: pip install "autograd-workbench[lab]"'
    assert said in saved.stderr
