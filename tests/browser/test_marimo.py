"""Pictures and steppers in marimo itself, if it is installed: `pip install marimo` brings it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser_page import eventually, open_page
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.scheduled
PYTHON = os.environ.get("WORKBENCH_MARIMO", sys.executable if find_spec("marimo") else "")  # one that has marimo
CHECKOUT = Path(__file__).parents[2]
NOTEBOOK = """import marimo
app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import workbench as torch
    from workbench.pictures.widgets import Player
    w = torch.tensor(3.0, requires_grad=True)
    with torch.record() as trace:
        loss = (w * 2.0) ** 2
        loss.backward()
    trace.show()
    return Player, mo, torch, trace


@app.cell
def _(Player, mo, trace):
    player = mo.ui.anywidget(Player(trace.show().storyboard))
    player
    return (player,)


@app.cell
def _(mo, player):
    _told = player.value["position"], player.widget.selected
    mo.md(f"Selected: {_told[1].id if _told[1] else None}, position: {_told[0]}.")
    return


@app.cell
def _(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = (x * 2.0) ** 2
    s = torch.step(y)
    s
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The notebook as marimo runs it for readers."""
    if not PYTHON:
        pytest.skip("marimo is not installed, and WORKBENCH_MARIMO names no Python that has it")
    path = tmp_path_factory.mktemp("marimo") / "notebook.py"
    path.write_text(NOTEBOOK)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "marimo", "run", str(path), "--headless", "--no-token", "-p", str(port)]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, cwd=path.parent) as server:
        try:
            with open_page((1440, 2000)) as page:
                eventually(lambda: _answers(port), True)
                page.goto(f"http://127.0.0.1:{port}/")
                yield page
        finally:
            server.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_a_picture_plays_in_a_frame(notebook: Page) -> None:
    frame = notebook.frame_locator("iframe[title='Graph of loss']")
    frame.locator('[data-action="first"]').click()
    expect(frame.locator(".wb-position")).to_have_text("1 / 7")


def test_a_player_has_its_looks_and_keys_and_tells_what_is_selected(notebook: Page) -> None:
    player = notebook.locator("marimo-anywidget .wb-player:not(.wb-stepper)")
    expect(player).to_have_css("border-radius", "10px")
    player.press("Home")
    expect(player.locator(".wb-position")).to_have_text("1 / 7")
    player.press("End")
    player.locator('.wb-box[data-id="n1"]').press("ArrowDown")
    assert player.evaluate("(root) => root.getRootNode().activeElement.dataset.id") == "n1.saved0"
    player.locator('.wb-box[data-id="n1"]').click()
    expect(notebook.get_by_text("Selected: n1, position: 6.")).to_be_visible()


def test_a_stepper_steps_the_engine(notebook: Page) -> None:
    stepper = notebook.locator("marimo-anywidget .wb-stepper")
    expect(stepper).to_have_count(1)
    stepper.locator('[data-action="step"]').click()
    expect(stepper.locator(".wb-standing")).to_contain_text("1 of 3 nodes run")
    stepper.locator('[data-action="run"]').click()
    expect(stepper.locator(".wb-standing")).to_contain_text("3 of 3 nodes run")
    assert notebook.console_errors == []
