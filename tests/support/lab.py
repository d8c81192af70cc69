"""A real JupyterLab server for tests, started by the command a reader types, and its notebooks in a page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import nbformat
from browser_page import wait_until
from nbformat.v4 import new_code_cell, new_notebook
from patience import PATIENCE
from playwright.sync_api import Page

CHECKOUT = Path(__file__).resolve().parents[2]
# Code of JupyterLab, Notebook 7 and their extensions comes from these folders of the server; what it says in the
# console is ours only where it speaks of us, or names code from elsewhere: a picture's is in the page or in a blob.
THEIRS = re.compile(r"https?://(localhost|127\.0\.0\.1):\d+/(static|lab/extensions|lab/api|api)/[^\s)]*")
OURS = re.compile(r"workbench|\bwb-|anywidget|\bwidget|\w+://|\bblob:|\bdata:")
# What they say that speaks of an address all the same, with the reason it is let pass.
NOISE = {
    "Failed to load resource: net::ERR_UNKNOWN_URL_SCHEME": "it asks for an image that is attached to a cell, as "
    "the map of lesson 0 is, by its name in the cell, before it puts the image itself there",
    "Error: Canceled future for create_subshell_request message before replies were done": "a kernel was restarted "
    "while it still asked for a subshell, which nothing of ours asks for",
}

# Playwright awaits the promise; the race makes a notebook that hangs a failure with a sentence.
WITHIN = """async (work, seconds, what) => Promise.race([work, new Promise((_, fail) => setTimeout(
    () => fail(new Error(`${what} took longer than ${seconds} s`)), seconds * 1000))])"""
OPEN = f"""async () => {{
  const app = window.jupyterapp;
  const ready = async () => {{
    await app.restored;
    let panel;
    while (!(panel = app.shell.currentWidget)?.sessionContext) await new Promise(r => setTimeout(r, 50));
    await panel.context.ready;
    await panel.sessionContext.ready;
    while (panel.sessionContext.session?.kernel?.status !== "idle") await new Promise(r => setTimeout(r, 50));
    return panel.context.path;
  }};
  return ({WITHIN})(ready(), 120, "opening the notebook");
}}"""
RUN_ALL = f"""async () => {{
  const app = window.jupyterapp;
  const kernel = app.shell.currentWidget.sessionContext.session.kernel;
  const run = async () => {{
    await app.commands.execute("notebook:run-all-cells");
    while (kernel.status !== "idle") await new Promise(r => setTimeout(r, 50));
  }};
  return ({WITHIN})(run(), 240, "running all cells");
}}"""


def heed_ctrl_c() -> None:
    """What a child process does before it starts: Ctrl-C stops it, though a suite in the background ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def notebook(*sources: str) -> nbformat.NotebookNode:
    """A notebook of these code cells, none of them run."""
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new_notebook(cells=[new_code_cell(source) for source in sources], metadata=metadata)


@dataclass(frozen=True)
class Lab:
    """A running server: its folder, address with a slash at the end, token, what it printed, and its process."""

    folder: Path
    address: str
    token: str
    said: str
    process: subprocess.Popen[str]

    def ask(self, path: str, method: str = "GET") -> object:
        """What the server's REST interface answers, as JSON."""
        request = Request(f"{self.address}{path}", method=method, headers={"Authorization": f"token {self.token}"})
        with urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def open(self, page: Page, notebook: str, place: str = "lab/tree") -> None:
        """Open a notebook in the page and wait until its kernel is idle; Notebook 7's place is "notebooks"."""
        page.goto(f"{self.address}{place}/{quote(notebook)}?token={self.token}&reset")
        wait_until(page, "window.jupyterapp !== undefined")
        assert page.evaluate(OPEN) == notebook

    def run_all(self, page: Page) -> None:
        """Run every cell of the open notebook and wait until the last one has finished."""
        page.evaluate(RUN_ALL)

    def write(self, path: str, *sources: str) -> None:
        """Put a notebook of these code cells into the folder."""
        nbformat.write(notebook(*sources), self.folder / path)

    def close(self) -> None:
        """Shut every kernel down, as a reader does who closes a tab for good."""
        for session in self.ask("api/sessions"):
            self.ask(f"api/sessions/{session['id']}", "DELETE")

    def shut_kernel_down(self, page: Page) -> None:
        """Shut the open notebook's kernel down, as the menu does, and wait until none is left."""
        page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        assert self.ask("api/kernels") == []


@contextmanager
def serve(folder: Path, home: Path, site: Path | None = None) -> Iterator[Lab]:
    """Run `workbench lab` on `folder` until the block ends, with all its settings under the folder `home`.

    The package is this checkout's, or the one that lies in the folder `site`.
    """
    places = {name: home / name.lower() for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = os.environ | {f"JUPYTER_{name}_DIR": str(place) for name, place in places.items()}
    environment |= {"IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": str(site or CHECKOUT)}
    places["CONFIG"].mkdir(parents=True)
    # The app object is how a test says what a person would click; nothing else differs from a reader's Lab.
    settings = {app: {"expose_app_in_browser": True} for app in ("LabApp", "JupyterNotebookApp")}
    (places["CONFIG"] / "jupyter_lab_config.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "workbench", "lab", str(folder), "--no-browser"]
    with open(home / "log", "w") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=home, start_new_session=True
        )
        try:
            assert process.stdout is not None
            said = ""
            while "Ctrl-C" not in said and (line := process.stdout.readline()):
                said += line
            url = next((line.strip() for line in said.splitlines() if "http://" in line), None)
            assert url is not None, f"the server did not start:\n{said}{(home / 'log').read_text()}"
            parts = urlsplit(url)
            token = parts.query.removeprefix("token=")
            yield Lab(folder, f"{parts.scheme}://{parts.netloc}/", token, said, process)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE / 3)
            except subprocess.TimeoutExpired:  # a kernel that doesn't end keeps the server, whose test is over
                process.kill()
                process.wait()
            with suppress(ProcessLookupError):  # nothing that the server has started outlives its test
                os.killpg(process.pid, signal.SIGKILL)


def is_ours(said: str, origin: str) -> bool:
    """Whether an error in the console comes from a picture or speaks of one: all do that JupyterLab did not raise."""
    return said not in NOISE and (
        not THEIRS.search(origin) or OURS.search(THEIRS.sub("", f"{origin} {said}")) is not None
    )


def assert_clean(page: Page) -> None:
    """The page asked nothing of other machines and its console shows no error that is ours."""
    assert page.requests_outside == []
    assert [said for said in page.console_errors if is_ours(said, page.origins[said])] == []
