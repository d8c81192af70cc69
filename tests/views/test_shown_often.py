"""Pictures shown again and again in a real kernel: no widget more for it, and no memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import notebook
from nbclient import NotebookClient
from nbformat import NotebookNode

# Comms are counted after a tenth of the times; memory needs them all.
OFTEN = [pytest.param(1, marks=pytest.mark.scheduled), pytest.param(10, marks=pytest.mark.slow)]
STATE = "application/vnd.jupyter.widget-state+json"
START = """import gc, json, sys, tracemalloc
from pathlib import Path
from comm import get_comm_manager
import workbench as torch

def story():
    w = torch.tensor(3.0, requires_grad=True)
    with torch.record() as trace:
        ((w * 2.0) ** 2).backward()
    return trace.show()

def stepper():
    x = torch.tensor(3.0, requires_grad=True)
    return torch.step((x * 2.0) ** 2)

def live():
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.live():
        (v * v).sum().backward()

def error():
    z = torch.tensor(3.0, requires_grad=True) ** 2
    z.backward()
    try:
        z.backward()
    except RuntimeError as error:
        display(error.explain())

def resident():
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0

def often(times, show):
    for _ in range(20):
        show()
    gc.collect()
    comms, memory = len(get_comm_manager().comms), resident()
    tracemalloc.start()
    for _ in range(times // part):
        show()
    sys.stdout.flush()  # waits for what is on its way to the page, in the order in which it was sent
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    found = {"comms": len(get_comm_manager().comms), "more": len(get_comm_manager().comms) - comms}
    print(json.dumps(found | {"traced": traced, "resident": resident() - memory}))

picture, one = story(), stepper()"""
# What is shown, how often, and how many comms are open afterward: a stepper has its own, and that of its layout.
SHOWS = {
    "often(1000, lambda: display(picture))": 0,
    "often(200, lambda: display(story()))": 0,
    "often(40, error)": 0,
    "often(200, lambda: display(one))": 2,
    "often(60, lambda: display(stepper()))": 2,
    "often(20, live)": 2,
}


@pytest.fixture(scope="module", params=OFTEN)
def ran(request: pytest.FixtureRequest) -> tuple[int, NotebookNode]:
    made = notebook(f"{START}\npart = {request.param}", *SHOWS)
    NotebookClient(made, kernel_name="python3", timeout=600).execute()
    return request.param, made


@pytest.mark.parametrize("shown", SHOWS)
def test_no_comm_is_left_that_nothing_shows_and_memory_is_flat(shown: str, ran: tuple[int, NotebookNode]) -> None:
    part, book = ran
    cell = next(cell for cell in book.cells if cell.source == shown)
    (said,) = (output.text for output in cell.outputs if output.output_type == "stream")
    seen: dict[str, Any] = json.loads(said)
    assert (seen["comms"], seen["more"]) == (SHOWS[shown], 0)
    if part == 1:
        assert seen["traced"] < 250_000
        assert seen["resident"] < 8_000_000


def test_each_show_is_an_output_and_none_of_a_picture_is_a_widget(ran: tuple[int, NotebookNode]) -> None:
    part, book = ran
    for cell in book.cells[1:4]:
        assert sum("text/html" in output.get("data", {}) for output in cell.outputs) >= 20 + 40 // part
    assert "widget-view" not in json.dumps(book.cells)
    states = book.metadata.get("widgets", {STATE: {"state": {}}})[STATE]["state"].values()
    kinds = {state["state"].get("_anywidget_id") for state in states} - {None}
    assert kinds == {"workbench.pictures.widgets.stepper.StepperView", "workbench.pictures.widgets.live.Growing"}
