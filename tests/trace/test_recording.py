"""record() and show(): from a program to a picture and to files."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
import trace_samples as samples
from trace_samples import Square, leaf

import workbench as torch
from workbench.pictures.trace.backward_records import NodeFinished
from workbench.pictures.trace.event_recorder import EventRecorder
from workbench.pictures.trace.forward_records import NodeCreated


def test_the_names_a_user_writes():
    with torch.record() as trace:
        x = leaf(1.0, 2.0)
        Square.apply(x).sum().backward()
    assert "`x.grad` becomes [2. 4.]" in str(trace.show())
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_tensor_is_shown_as_its_graph():
    x = leaf(1.0, 2.0)
    y = Square.apply(x)
    text = str(torch.show(y))
    assert text.startswith("Graph of y\n")
    assert "saved x: (2,) float64  [1. 2.]" in text


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        ("json", b'{"format": "workbench-trace"'),
        ("svg", b"<"),
        ("png", b"\x89PNG"),
        ("dot", b"digraph"),
        ("html", b"<"),
    ],
)
def test_a_trace_is_saved_by_the_suffix(suffix, start, tmp_path):
    path = tmp_path / f"lesson.{suffix}"
    samples.twice().save(path)
    assert path.read_bytes().lstrip().startswith(start)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Cannot save a picture as 'lesson.pickle'"):
        samples.twice().save(tmp_path / "lesson.pickle")


def _program(*lines: str) -> str:
    """What a fresh Python prints."""
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("notebook", ["", ", IPython"])
def test_a_picture_loads_no_widgets(notebook):
    assert _program(
        f"import sys{notebook}, workbench as torch",
        "x = torch.ones(2, requires_grad=True)",
        "with torch.record() as trace: (x * x).sum().backward()",
        "print(sorted(trace.show()._repr_mimebundle_()), 'anywidget' in sys.modules)",
    ) == "['text/html', 'text/plain'] False"  # fmt: skip


def test_a_shown_picture_saved_as_json_is_its_trace(tmp_path):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as trace:
        (x * x).sum().backward()
    trace.show().save(tmp_path / "x.json")
    again = torch.load(tmp_path / "x.json")
    assert again.to_dict() == trace.to_dict()
    assert repr(again.show()) == repr(trace.show())


@pytest.mark.filterwarnings("error")
def test_a_checkpoint_that_is_refused_has_no_arguments_to_tell_of():
    with torch.record(), pytest.raises(TypeError):
        torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1), use_reentrant=False, context_fn=lambda: None)
    gc.collect()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("transform", [torch.func.grad, lambda f: torch.vmap(torch.func.grad(f))])
def test_a_recording_may_begin_inside_a_transform(transform):
    traces = []

    def f(t):
        h = t.exp()  # has saved its result, which is no tensor there
        with torch.record() as trace:
            out = (h * 2).sum()
        traces.append(trace)
        return out

    transform(f)(torch.ones(3, 2))
    made = [event.operation for event in traces[0].events if isinstance(event, NodeCreated)]
    assert made == ["exp", "mul", "sum"]
    assert "saved result" in str(traces[0].show())


@pytest.mark.parametrize("part", ["_saved", "_edges"])
def test_of_an_event_that_was_lost_nothing_is_known(part, monkeypatch):
    whole, failing = getattr(EventRecorder, part), [True]

    def fail_once(self, *args):
        if failing:
            failing.pop()
            raise KeyError("an example")
        return whole(self, *args)

    x = torch.tensor([0.5, 1.5], requires_grad=True)
    with torch.record() as trace:
        monkeypatch.setattr(EventRecorder, part, fail_once)
        with pytest.warns(RuntimeWarning, match="lost the event 'created'"):
            y = x.exp()
        (y * x).sum().backward()
    made = [event.operation for event in trace.events if isinstance(event, NodeCreated)]
    ran = [event for event in trace.events if isinstance(event, NodeFinished)]
    assert sorted(made) == ["exp", "mul", "sum"] and len(ran) == 3
    assert "becomes [" in str(trace.show())


def test_of_a_backward_that_was_lost_nothing_is_told(monkeypatch):
    x = torch.tensor([0.5, 1.5], requires_grad=True)

    def fail(self, *args):
        raise KeyError("an example")

    with torch.record() as trace:
        y = (x * x).sum()
        with monkeypatch.context() as patch, pytest.warns(RuntimeWarning, match="lost the event 'backward'"):
            patch.setattr(EventRecorder, "_meet", fail)
            y.backward()
        (x * 3).sum().backward()
    assert len([event for event in trace.events if isinstance(event, NodeFinished)]) == 2
    assert "becomes [" in str(trace.show())
