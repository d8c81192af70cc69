"""What no recording has is refused with a short sentence; a long file is shown in time that grows with its length."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trace_samples as samples
import wrong_traces
from view_names import GRAPHS
from work_done import calls

import workbench as torch
from workbench.pictures.recording import Trace, load
from workbench.pictures.scene import engines
from workbench.pictures.scene.layout import LayoutUnavailable
from workbench.pictures.scene.reading import drawn_region
from workbench.pictures.trace.backward_records import GradCaptured

LONG = "x" * 5_000_000
VALUE = {"shape": [1], "dtype": "torch.float64", "values": [1.0], "norm": 1.0, "min": 1.0, "max": 1.0, "mean": 1.0}
VALUE |= {"nonfinite": 0}
SAVED = {"name": "self", "tensor": "t1", "value": None, "version": 0}


def tensor(id: str, **more: Any) -> dict[str, Any]:
    facts = {"name": None, "value": VALUE, "version": 0, "requires_grad": True, "node": None, "output_nr": 0}
    return {"id": id, **facts, "grad": None, **more}


def made(id: str = "n1", target: str = "t1", **more: Any) -> dict[str, Any]:
    facts = {"name": "MulBackward0", "custom": False, "found": False, "args": [], "tensors": [], "saved": []}
    edges = [{"target": target, "output_nr": 0}]
    return {"kind": "NodeCreated", "node": id, **facts, "edges": edges, "code": [], "source": None, **more}


def written(version: int) -> dict[str, Any]:
    facts = {"tensor": "t1", "name": "add_", "version": version, "value": VALUE, "node": None, "output_nr": 0}
    return {"kind": "TensorWritten", **facts}


def entered(number: int) -> dict[str, Any]:
    facts = {"level": f"l{number}", "transform": "grad", "number": number, "size": None, "found": False}
    return {"kind": "LevelEntered", **facts, "source": None}


def began(number: int, root: str) -> dict[str, Any]:
    facts = {"task": f"b{number}", "roots": [{"node": root, "output_nr": 0, "seed": None}], "targets": None}
    return {"kind": "BackwardStarted", **facts, "keep_graph": True, "create_graph": False, "source": None}


def chain(length: int) -> list[dict[str, Any]]:
    nodes = [made(f"n{i}", f"n{i - 1}" if i > 1 else "t1", name=f"Op{i}Backward0") for i in range(1, length)]
    return [FOUND, *nodes]


FOUND = {"kind": "TensorsFound", "tensors": [tensor("t1")]}
EDGE, ARGUMENT = {"target": "t1", "output_nr": 0}, {"tensor": None, "text": "1"}
REFUSED = {
    "dimensions": [{"kind": "TensorsFound", "tensors": [tensor("t1", value=VALUE | {"shape": [1] * 1_000_000})]}],
    "sizes": [{"kind": "TensorsFound", "tensors": [tensor("t1", value=VALUE | {"shape": [9] * 60, "values": None})]}],
    "below": [{"kind": "TensorsFound", "tensors": [tensor("t0")]}]
    + [{"kind": "TensorsFound", "tensors": [tensor(f"t{i}", below=f"t{i - 1}")]} for i in range(1, 10_000)],
    "label": [FOUND, made(name=LONG)],
    "argument": [FOUND, made(args=[ARGUMENT | {"text": LONG}])],
    "code": [FOUND, made(code=[{"name": "forward", "text": LONG}])],
    "kind": [{"kind": LONG}],
    "field": [{"kind": "EventsLetGo", "count": 1, LONG: 1}],
    "id": [FOUND, made(edges=[EDGE | {"target": "t" * 2_000_000}])],
    "count": [{"kind": "EventsLetGo", "count": 10**4_000}],
    "name": [{"kind": "TensorsFound", "tensors": [tensor("t1", name="x" * 100_000)]}],
    "levels": [FOUND, *(entered(i) for i in range(1_000))],
    "dtype": [{"kind": "TensorsFound", "tensors": [tensor("t1", value=VALUE | {"dtype": "x" * 10_000})]}],
    "norm": [{"kind": "TensorsFound", "tensors": [tensor("t1", value=VALUE | {"norm": 10**400})]}],
}


def text(events: list[Any]) -> str:
    return json.dumps({"format": "workbench-trace", "version": 1, "events": events})


NO_TRACE = {"brackets": "[" * 1_000_000, "no end": '{"format": ', "a digit": "1" * 5_000}
NO_TRACE["version"] = text([]).replace("1", f'"{LONG}"')


@pytest.mark.parametrize("name", [*REFUSED, *NO_TRACE])
def test_what_no_recording_has_is_refused_with_a_short_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "hostile.json").write_text(NO_TRACE[name] if name in NO_TRACE else text(REFUSED[name]))
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        load(tmp_path / "hostile.json")
    assert len(str(refusal.value)) <= 400


def test_a_tensor_whose_memory_is_shown_is_no_checkpoint() -> None:
    events = [dict(event) for event in wrong_traces.sound()[0]]
    for event in events:
        if event["kind"] == "CheckpointDropped":
            event["checkpoint"] = "t1"
    trace = Trace.from_dict(json.loads(wrong_traces.text(events)))
    assert "held" in str(trace.show("memory"))


@pytest.mark.parametrize("number", ["1e400", "-1e400", "Infinity", "NaN", "true"])
def test_a_number_that_is_none_is_refused(tmp_path, number: str) -> None:
    (tmp_path / "hostile.json").write_text(text([FOUND]).replace('"norm": 1.0', f'"norm": {number}'))
    with pytest.raises(ValueError, match="has a wrong TensorsFound.*norm"):
        load(tmp_path / "hostile.json")


def of(events: list[Any]) -> Trace:
    return Trace.from_dict(json.loads(text(events)))


GROWING = {
    "chain": chain,
    "views": lambda n: [
        {"kind": "TensorsFound", "tensors": [tensor("t1"), *(tensor(f"t{i}", base="t1") for i in range(2, n))]},
        *(written(i) for i in range(1, n)),
    ],
    "writes": lambda n: [FOUND, made(saved=[SAVED] * 20), *(written(i) for i in range(1, n))],
    "one line": lambda n: [FOUND, *(made(f"n{i}") for i in range(1, n))],
    "arguments": lambda n: [
        FOUND,
        made(edges=[EDGE] * n, args=[ARGUMENT | {"tensor": "t1"}] * n, saved=[SAVED] * n),
        written(1),
    ],
}


def called(number: int, function: str = "Square", lines: int = 3) -> dict[str, Any]:
    code = {"name": "forward", "text": "\n".join(["def forward(ctx, x):", *["    y = x"] * lines])}
    facts = {"function": function, "method": "forward", "ctx": "c1", "node": None, "file": "a.py", "first": 1}
    return {"kind": "MethodCalled", "call": f"m{number}", **facts, "code": code}


def reached(number: int, line: int, *names: str) -> dict[str, Any]:
    held = [{"name": name, "value": None, "text": "1"} for name in names]
    return {"kind": "LineReached", "call": f"m{number}", "line": line, "variables": held, "gone": [], "ctx": None}


FUNCTIONS = {
    "lines": lambda n: [called(1, lines=n), *(reached(1, i, "x") for i in range(1, n))],
    "functions": lambda n: [each for i in range(1, n) for each in (called(i, f"F{i}"), reached(i, 1, "x"))],
    "calls": lambda n: [each for i in range(1, n) for each in (called(i), reached(i, 1 + i % 3, "x"))],
}


@pytest.mark.slow
@pytest.mark.parametrize("events", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_card_of_functions_takes_no_more_work_for_each_line_of_a_long_file(events) -> None:
    many, few = [calls(lambda n=n: str(of(events(n)).show("function"))) for n in (800, 400)]
    assert many < 2.5 * few


def test_a_method_of_which_no_line_is_known_is_said_in_words() -> None:
    assert "No line of Square was recorded" in str(of([called(1)]).show("function"))


def parts(count: int) -> list[dict[str, Any]]:
    """A graph of several parts."""
    nodes = [made(f"n{i}", f"n{1 + i * 7 % (i - 1)}" if i > 1 else "t1", name="A") for i in range(1, count)]
    return [FOUND, *nodes]


def leaves(count: int) -> list[dict[str, Any]]:
    """A node with so many leaves, over which Graphviz sits for minutes if they are 20,000."""
    found = {"kind": "TensorsFound", "tensors": [tensor(f"t{i}", name=f"a{i}") for i in range(1, count)]}
    return [found, made(edges=[EDGE | {"target": f"t{i}"} for i in range(1, count)])]


@pytest.mark.slow
@pytest.mark.parametrize(("events", "seconds"), [(leaves(500), 0.01), (parts(300), 0.0)])
def test_a_picture_that_takes_too_long_is_not_drawn_and_the_next_one_is(
    tmp_path, monkeypatch, events: list[dict[str, Any]], seconds: float
) -> None:
    drawn_region.cache_clear()
    said = (
        f"No picture can be drawn because the layout took more than {seconds:g} seconds. Record less of the "
        "program, or open fewer groups with `show(depth=1)`."
    )
    with monkeypatch.context() as patch:
        patch.setattr(engines, "MOST_SECONDS", seconds)
        picture = of(events).show()
        with pytest.raises(LayoutUnavailable) as refusal:
            picture.save(tmp_path / "hostile.html")
        assert str(refusal.value) == said and not [*tmp_path.iterdir()]
        shown = picture._repr_mimebundle_()
        assert shown.keys() == {"text/plain"} and shown["text/plain"] == f"{picture}\n\n{said}"
    small = of(chain(5)).show()
    small.save(tmp_path / "small.html")
    picture.save(tmp_path / "hostile.html")
    assert {path.name for path in tmp_path.iterdir()} == {"small.html", "hostile.html"}


def test_graphviz_answers_the_same_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    board = of(parts(60)).show().storyboard
    here = board.layout
    drawn_region.cache_clear()
    monkeypatch.setattr(engines, "_MOST_HERE", 0)
    monkeypatch.setattr(engines, "_uninterrupted", None)
    assert board.with_open(board.opened).layout == here


@pytest.mark.scheduled
@pytest.mark.parametrize("events", GROWING.values(), ids=GROWING)
@pytest.mark.parametrize("view", [*GRAPHS, "memory", "saved", "versions"])
def test_a_file_of_twice_the_length_takes_about_twice_the_work(events, view) -> None:
    many, few = [calls(lambda n=n: str(of(events(n)).show(view))) for n in (400, 200)]
    assert many < 3 * few


@pytest.mark.slow
def test_two_traces_are_drawn_side_by_side_only_if_they_are_small() -> None:
    large, small = of(chain(6_000)), of(chain(10))
    outputs = [{"node": "n1", "output_nr": nr, "seed": None} for nr in range(3_000)]
    wide = of([FOUND, made(), *({**began(nr, "n1"), "roots": [root]} for nr, root in enumerate(outputs))])
    for pair in ((large, small), (small, large), (small, wide)):
        with pytest.raises(ValueError, match="too large to draw next to another") as refusal:
            pair[0].show("compare", against=pair[1])
        assert len(str(refusal.value)) <= 400
    assert str(small.show("compare", against=small))
    assert len(of(chain(1_600)).show("compare", against=small).storyboard.scene.boxes) < 100, "in groups"


def test_traces_in_which_nodes_run_very_often_are_compared_in_linear_time() -> None:
    one, two = [{"kind": "NodeStarted", "task": "b1", "node": node, "grads": [None]} for node in ("n1", "n2")]

    def work(length: int) -> int:
        begin = [FOUND, made(), made("n2", "n1"), began(1, "n2")]
        traces = [of([*begin, *order]) for order in ([one, two] * length, [two, one] * length)]
        return calls(lambda: traces[0].show("compare", against=traces[1]))

    assert work(1_000) < 3 * work(500)


MEASURED = """
import sys
import workbench
trace = workbench.load(sys.argv[1])
str(trace.show(sys.argv[2]))
sys.path.insert(0, "tests/support")
from memory_peak import peak
print(peak())
"""


@pytest.mark.scheduled
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the most memory a process had")
@pytest.mark.parametrize(("length", "view"), [(8_000, "versions")])
def test_a_large_file_takes_less_than_a_gigabyte(tmp_path, length: int, view: str) -> None:
    (tmp_path / "large.json").write_text(text(chain(length)))
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "large.json"), view],
        capture_output=True, text=True, check=True, cwd=root,
    )  # fmt: skip
    assert int(ran.stdout) < 240  # of 40,000 nodes, less than 1,000


def test_what_is_handed_out_for_a_leaf_is_its_one_gradient_whatever_output_is_said() -> None:
    x = samples.leaf(1.0, 2.0)
    with torch.record() as trace:
        torch.autograd.grad((x * x).sum(), x)
        a, b = (x * x).unbind()
        torch.autograd.grad((a * b).exp(), b)
    leaves, results = [event for event in trace.events if isinstance(event, GradCaptured)]
    frame = trace.frame(trace.events.index(leaves))
    replace(leaves, output_nr=999_999).apply(frame)
    assert len(frame.place(leaves.node).received) == 1
    frame = trace.frame(len(trace.events))
    assert results.output_nr == 1 and len(frame.place(results.node).received) == 2
