"""Random graphs, driven to and fro at random: every way to the end ends where running afresh ends."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from program_runs import LEAVES, MADE, functions
from programs import programs

import workbench as w

MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("step"), st.integers(1, 4)),
        st.tuples(st.just("back"), st.integers(0, 5)),
        st.tuples(st.just("edit"), st.integers(0, 5)),
    ),
    max_size=12,
)


def begun() -> dict[str, Any]:
    """What a program finds."""
    scope = {"torch": w, "note": lambda name: lambda *grads: None, "show": lambda *saved: None, **functions(w)}
    scope["hooked"] = lambda: w.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)
    scope |= {name: getattr(w, name) for name in ("tanh", "sigmoid", "relu", "abs")}
    for name, (numbers, requires_grad) in LEAVES.items():
        scope[name] = w.tensor(eval(numbers), dtype=w.float64, requires_grad=requires_grad)
    return scope | {name: eval(text, scope) for name, text in MADE.items()}


def run(program: list[str]) -> tuple[dict[str, Any], Any]:
    """What a program's lines leave behind (of each line that fails, nothing), and a loss of all tensors there are."""
    scope = begun()
    loss = w.zeros((), dtype=w.float64)
    for line in program:
        attempt(lambda line=line: exec(line, scope))
    for t in [t for t in scope.values() if isinstance(t, w.Tensor)]:
        with contextlib.suppress(RuntimeError):  # a view whose history was lost
            loss = loss + t.sum()
    return scope, loss


def gradients(scope: dict[str, Any]) -> list[Any]:
    """Every gradient that anybody has: exact values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [t for t in scope.values() if isinstance(t, w.Tensor)]
        return [None if t._meta is None or t._meta.grad is None else t._meta.grad.tolist() for t in tensors]


def attempt(action: Any) -> Any:
    """What an action raises; None if all is well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            action()
        except Exception as error:
            return type(error), str(error)
    return None


def same(a: Any, b: Any) -> bool:
    """Whether two lists of numbers are equal; nan is."""
    return repr(a) == repr(b)


@given(programs(), MOVES, st.booleans())
def test_going_to_and_fro_ends_where_running_ends(program: list[str], moves: list[Any], create_graph: bool) -> None:
    if any("backward()" in line and "register" in line for line in program):
        create_graph = False  # its leaf's gradient is then added to in place, and not, by turns
    (scope, loss), (afresh, other) = run(program), run(program)
    before = gradients(scope)
    made: list[Any] = []
    if attempt(lambda: made.append(w.step(loss, retain_graph=True, create_graph=create_graph))):
        assert attempt(lambda: other.backward(retain_graph=True, create_graph=create_graph)) is not None
        return
    (s,) = made
    for kind, n in moves:
        waiting = [p for p in s.pending if p.grad is not None]
        if kind == "step":
            attempt(lambda n=n: s.step(n))
        elif kind == "back":
            s.back(min(n, s.position))
        elif waiting and s.error is None:
            place = waiting[n % len(waiting)]
            s.edit(place.node, place.input_nr, float(n))
    s.back(s.position)
    assert same(gradients(scope), before)
    failure = attempt(s.run)
    assert s.branch.edits == {}, "branches that were edited are left"
    assert failure == attempt(lambda: other.backward(retain_graph=True, create_graph=create_graph))
    assert same(gradients(scope), gradients(afresh))


@given(
    programs(), st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(-2, 2)), min_size=1, max_size=4)
)
def test_an_edit_after_going_back_is_that_edit_at_once(program: list[str], edits: list[Any]) -> None:
    def driven(to_and_fro: bool) -> Any:
        scope, loss = run(program)
        s = w.step(loss)
        for steps, which, value in edits:
            s.step(steps)
            if to_and_fro:
                position = s.position
                attempt(lambda: s.step(5))
                s.back(s.position - position)
            places = [p for p in s.pending if p.grad is not None]
            if places:
                place = places[which % len(places)]
                s.edit(place.node, place.input_nr, value)
        s.run()
        return gradients(scope), [step.name for step in s.steps]

    found: list[Any] = []
    failures = [attempt(lambda: found.append(driven(False))), attempt(lambda: found.append(driven(True)))]
    assert failures[0] == failures[1]
    assert same(*found or (0, 0))
