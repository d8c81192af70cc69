"""Traces go to JSON and back; what is no trace is refused with a sentence."""

from __future__ import annotations

import json
from itertools import pairwise

import corpus
import pytest
import trace_samples as samples
from corpus.parameters import optimized
from test_trace_damaged import PROGRAMS
from trace_samples import of_kind

import workbench as torch
from workbench.pictures.recording import Trace, load, record


def model():
    """What modules hold and optimizers have."""
    return corpus.recorded("workbench", lambda torch: optimized(torch, second="unused"))


@pytest.mark.parametrize("program", [*PROGRAMS, model], ids=lambda program: program.__name__)
def test_a_trace_goes_to_json_and_back(program, tmp_path):
    trace = program()
    trace.save(tmp_path / "trace.json")
    again = load(tmp_path / "trace.json")
    assert again.to_dict() == trace.to_dict() == json.loads((tmp_path / "trace.json").read_text())
    assert again.events == list(trace.events) and again.steps == trace.steps
    assert repr(again.show("versions")) == repr(trace.show("versions"))
    made = [[event.path for event in each.events if hasattr(event, "path")] for each in (trace, again)]
    # Which parts two paths share is known by their keys, which no comparison of events looks at.
    one, other = [[a[:n] == b[:n] for a, b in pairwise(paths) for n in range(1, 9)] for paths in made]
    assert one == other
    frames = [each.frame(len(each.events)) for each in (trace, again)]
    one, other = [(frame.touched, {id: node.state for id, node in frame.nodes.items()}) for frame in frames]
    assert one == other


def test_values_that_are_not_finite_are_words_in_json(tmp_path):
    trace = samples.one_target()
    trace.save(tmp_path / "trace.json")
    text = (tmp_path / "trace.json").read_text()
    assert '"-inf"' in text and "Infinity" not in text and "NaN" not in text
    log = of_kind(Trace.load(tmp_path / "trace.json"), "NodeCreated")[0]
    assert log.tensors[1].value.values == (float("-inf"), 0.0)


def test_truth_values_go_to_json_and_back():
    with record() as trace:
        x = samples.leaf(1.0, -2.0)
        torch.where(x > 0, x, 2 * x).sum().backward()
    again = Trace.from_dict(json.loads(trace.to_json()))
    assert again.to_json() == trace.to_json()
    assert (True, False) in [seen.value.values for made in of_kind(again, "NodeCreated") for seen in made.tensors]


OLD = "This trace has version 2, which is no longer supported. Record the program and save it again."
WRONG = {
    "This trace has no list of events.": lambda d: d.pop("events"),
    "This trace has version None, but this workbench reads version 1.": lambda d: d.pop("version"),
    "This trace has version 3, but this workbench reads version 1.": lambda d: d.update(version=3),
    "This isn't a trace: its format isn't 'workbench-trace'.": lambda d: d.update(format="else"),
    OLD: lambda d: d.update(version=2),
    "Event 1 of this trace isn't an object with a kind.": lambda d: d["events"].insert(0, 3),
    "Event 2 of this trace has the unknown kind 'X'.": lambda d: d["events"][1].update(kind="X"),
    "Event 2 of this trace has a wrong BackwardStarted.task.": lambda d: d["events"][1].update(task=3),
    "Event 2 of this trace has a BackwardStarted without 'task'.": lambda d: d["events"][1].pop("task"),
    "Event 2 of this trace has a BackwardStarted with an unknown 'more'.": lambda d: d["events"][1].update(more=1),
    "Event 1 of this trace has a wrong NodeCreated.tensors[0].value.norm.": lambda d: _value(d).update(norm="high"),
    "Event 1 of this trace has 2 numbers for the shape ().": lambda d: _value(d).update(values=[1.0, 2.0]),
}


def _value(data):
    return data["events"][0]["tensors"][0]["value"]


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_trace_is_refused_with_one_sentence(sentence):
    data = json.loads(json.dumps(samples.twice().to_dict()))
    WRONG[sentence](data)
    with pytest.raises(ValueError) as refusal:
        Trace.from_dict(data)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"trace"', "[" * 100_000])
def test_a_file_that_holds_no_trace_is_refused(text, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="isn't a trace saved by the workbench|This isn't a trace") as refusal:
        load(path)
    assert "\n" not in str(refusal.value)
