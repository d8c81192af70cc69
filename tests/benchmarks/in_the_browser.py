"""The site of `workbench lite` beside JupyterLab on the same machine and in the same browser.

Run it as a script, with WORKBENCH_PYODIDE as for the tests: it prints how long the page takes until its first cell has
run, at first and once more with what the browser has kept; the import, the cells of lesson 2, and a step of a backward
of 100 nodes from the click to the painted answer, in a browser and in JupyterLab.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import nbformat

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support")]

from browser_page import open_page, wait_until  # noqa: E402
from lab import CHECKOUT, notebook, serve  # noqa: E402
from lite_site import build, given_pyodide, served  # noqa: E402
from stepping import CELL, CLICK  # noqa: E402

LESSON = "02-backward-one-node-at-a-time"
STEPS = 20
IMPORT = """import time
begin = time.perf_counter()
import workbench
print(time.perf_counter() - begin)"""
IDLE = """() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle" """
RUN = """async () => {
  const app = window.jupyterapp, kernel = app.shell.currentWidget.sessionContext.session.kernel;
  const begin = performance.now();
  await app.commands.execute("notebook:run-all-cells");
  while (kernel.status !== "idle") await new Promise((done) => setTimeout(done, 20));
  return (performance.now() - begin) / 1000;
}"""
OPEN = """async (path) => {
  const panel = await window.jupyterapp.commands.execute("docmanager:open", { path });
  await panel.context.ready;
  await panel.sessionContext.ready;
  while (panel.sessionContext.session?.kernel?.status !== "idle") await new Promise((done) => setTimeout(done, 20));
}"""


def run(page: Any, path: str) -> float:
    """The seconds that all cells of a notebook take, its kernel being there."""
    page.evaluate(OPEN, path)
    return page.evaluate(RUN)


def measured(page: Any) -> dict[str, float]:
    """The seconds of each, in the page of a Lab in which the first notebook has run."""
    found = {"import workbench": float(page.locator(".jp-OutputArea-output pre").first.inner_text())}
    found["the cells of lesson 2"] = run(page, f"{LESSON}.ipynb")
    run(page, "steps.ipynb")
    page.wait_for_selector(".wb-stepper >> visible=true")
    click = CLICK.replace('document.querySelector(".wb-stepper")', f"({VISIBLE})()")
    found["a step, from click to paint"] = median(page.evaluate(click) for _ in range(STEPS)) / 1000
    return found


VISIBLE = '() => [...document.querySelectorAll(".wb-stepper")].find((each) => each.offsetParent)'


def open_site(page: Any, address: str) -> float:
    """Open the site and run the first cell: the seconds from the address to its answer."""
    begin = time.monotonic()
    page.goto(address)
    wait_until(page, "window.jupyterapp !== undefined")
    wait_until(page, IDLE, patience=600_000)
    page.evaluate(RUN)
    return time.monotonic() - begin


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        lessons, home, site = (Path(place, name) for name in ("lessons", "home", "site"))
        lessons.mkdir()
        home.mkdir()
        nbformat.write(notebook(IMPORT), lessons / "0.ipynb")
        nbformat.write(notebook(CELL), lessons / "steps.ipynb")
        for file in (CHECKOUT / "notebooks").glob(f"{LESSON}.*"):
            shutil.copy(file, lessons)
        build(site, given_pyodide(), "--lessons", str(lessons))
        with served(site) as address, open_page((1400, 900)) as page:
            page.on("dialog", lambda asked: asked.accept())  # leaving the page, what has run may not be saved
            print(f"first opened, until the first cell has run: {open_site(page, address):.1f} s", flush=True)
            print(f"opened again: {open_site(page, address):.1f} s", flush=True)
            there = measured(page)
        for file in lessons.glob("*.ipynb"):  # the copies without solutions, in JupyterLab too
            shutil.copy(site / "files" / file.name, file)
        with serve(lessons, home) as lab, open_page((1400, 900)) as page:
            lab.open(page, "0.ipynb")
            lab.run_all(page)
            here = measured(page)
    print(f"{'seconds':32}{'in the browser':>16}{'in JupyterLab':>16}")
    for name, seconds in there.items():
        print(f"{name:32}{seconds:16.3f}{here[name]:16.3f}")


if __name__ == "__main__":
    main()
