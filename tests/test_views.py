"""What is asked of `show` and is not there is refused with a sentence that says what is; nothing else is changed."""

from __future__ import annotations

import gc

import pytest
import trace_samples as samples

from workbench.views import CHARTS, VIEWS


@pytest.mark.parametrize(
    ("view", "options", "error", "sentence"),
    [
        (
            "grph",
            {},
            ValueError,
            "There is no view named 'grph'; choose compare, error, flow, function, graph, memory, saved or versions.",
        ),
        (["graph"], {}, ValueError, "There is no view named ['graph']"),
        ("graph", {"foo": 3}, TypeError, "The view 'graph' has no option 'foo'; its option is 'open'."),
        ("flow", {"against": 3}, TypeError, "The view 'flow' has no option 'against'; its option is 'open'."),
        ("memory", {"open": []}, TypeError, "The view 'memory' has no option 'open'; its option is 'against'."),
        ("saved", {"node": "n1"}, TypeError, "The view 'saved' has no option 'node'; it has none."),
        ("error", {"line": ("f", 1)}, TypeError, "The view 'error' has no option 'line'; it has none."),
        ("memory", {"against": 3}, TypeError, "`against` is another trace, of record() or load(), but got int."),
        ("graph", {"open": 3}, TypeError, "`open` names the groups of a graph to be open, but got int."),
    ],
)
def test_what_is_not_there_is_refused_with_a_sentence(view, options, error, sentence):
    with pytest.raises(error) as refusal:
        samples.twice().show(view, **options)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize("view", [*VIEWS, *CHARTS])
def test_every_view_can_be_asked_for(view):
    assert str(samples.written().show(view))


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_collected_afterwards_as_it_was_before(on, monkeypatch):
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        samples.written().show()
        assert gc.isenabled() == on
        monkeypatch.setitem(VIEWS, "graph", lambda events: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            samples.written().show()
        assert gc.isenabled() == on
    finally:
        (gc.enable if was else gc.disable)()
