"""Questions about a recording, with wrong answers that known misconceptions give.

Every answer is read from the recording: which node ran next, which gradient a leaf has, what was freed, and why a
`.grad` is None. A question is left out if two of its answers look the same.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..pictures.trace.backward_records import BackwardStarted, NodeStarted
from ..pictures.trace.call_records import HookRan
from ..pictures.trace.frame import Frame, NodeState
from ..pictures.trace.values import Value, begun, format_value, read
from ..pictures.views.graph import Graph

_MOST_WRONG = 3  # answers
_LARGEST = 6  # elements of a gradient in a question
LETTERS = "abcd"


@dataclass(frozen=True)
class QuizQuestion:
    """A question about a recording.

    Attributes:
        kind: "next", "gradient", "freed" or "none".
        asks: The question, as a sentence with code in backticks.
        right: The right answer.
        why: Why it's right, as a sentence.
        wrong: Each wrong answer, with what is wrong about it.
    """

    kind: str
    asks: str
    right: str
    why: str
    wrong: tuple[tuple[str, str], ...]

    def answers(self, seed: int) -> list[tuple[str, str]]:
        """Return all answers with their explanations, in an order that depends on the seed and the question."""
        found = [(self.right, self.why), *self.wrong]
        random.Random(f"{seed} {self.asks}").shuffle(found)
        return found


def questions(trace: Any, most: int = 10, seed: int = 0) -> list[QuizQuestion]:
    """Return questions about a recording: as many kinds as it has, at most so many, the same for the same seed."""
    found: dict[str, list[QuizQuestion]] = {}
    for each in _all(trace.events):
        whys = dict(reversed(each.wrong))  # of two with one text the first
        texts = [text for text in dict.fromkeys(text for text, _ in each.wrong) if text != each.right]
        wrong = tuple((text, whys[text]) for text in texts[:_MOST_WRONG])
        if wrong:
            made = QuizQuestion(each.kind, each.asks, each.right, each.why, wrong)
            found.setdefault(each.kind, []).append(made)
    for same in found.values():
        random.Random(seed).shuffle(same)
    taken: list[QuizQuestion] = []
    while len(taken) < most and any(found.values()):
        for same in found.values():
            if same and len(taken) < most and same[-1].asks not in [each.asks for each in taken]:
                taken.append(same.pop())
            elif same:
                same.pop()
    return taken


def _all(events: Any) -> Iterator[QuizQuestion]:
    frame, ran = Frame(Graph(events).program.told_as), dict[str, list[str]]()
    retained: set[tuple[str, int]] = set()
    for event in events:
        if isinstance(event, BackwardStarted):
            ran[event.task] = []
        if isinstance(event, NodeStarted) and event.node in frame.nodes:
            yield from _next(frame, event.node, ran[event.task])
            ran[event.task].append(event.node)
        if isinstance(event, HookRan) and event.hook.kind == "retained":
            retained.add((event.node, event.hook.output_nr))
        event.apply(frame)
    if ran:
        yield from _gradients(frame)
        yield from _freed(frame)
        yield from _none(frame, retained)


def _next(frame: Frame, node: str, done: list[str]) -> Iterator[QuizQuestion]:
    """Ask which node runs next, at a moment when the others have run or still wait for a gradient."""
    waiting = [each for each, place in frame.nodes.items() if each != node and place.state == "idle" and place.waiting]
    names = [frame.describe(each) for each in (node, *done, *waiting)]
    if not done or not waiting or len({*names}) < len(names):
        return
    last = frame.describe(done[-1])
    wrong = [(frame.describe(each), f"{begun(frame.describe(each))} still waits for a gradient.") for each in waiting]
    wrong.append((last, f"{begun(last)} has run already, and a node runs once in a backward pass."))
    asks = f"Backward has run {len(done)} node{'s' * (len(done) > 1)}, the last one {last}. Which node runs next?"
    why = f"All gradients of {frame.describe(node)} have arrived, so it's ready."
    yield QuizQuestion("next", asks, frame.describe(node), why, tuple(wrong))


def _gradients(frame: Frame) -> Iterator[QuizQuestion]:
    """Ask for the gradient of each small leaf that has one; a wrong answer forgets a path or what was there before."""
    for tensor in frame.tensors.values():
        if tensor.role != "leaf" or tensor.name is None or not _is_small(tensor.grad):
            continue
        grad = tensor.grad
        came = [each for edge in tensor.brought if edge in frame.edges for each in frame.edges[edge].kept]
        wrong = []
        if len(came) > 1:
            wrong += [(_plain(each), "Gradients that arrive are added. This is only one of them.") for each in came]
        if tensor.rest is not None and _is_small(tensor.rest):
            last = _array(grad) - _array(tensor.rest)
            wrong.append((_said(last), "`.grad` is added to: it still has the gradient from before."))
        wrong += [
            (_said(-_array(grad)), "The sign is wrong."),
            (_plain(tensor.value), "That's the value of the tensor, not its gradient."),
            (_said(np.ones_like(_array(grad))), "Ones are what backward starts with, at the loss."),
        ]
        asks = f"What is `{tensor.name}.grad` at the end?"
        is_sum = len(came) > 1 and tensor.rest is None
        paths = f" It's the sum of the {len(came)} gradients that arrived." if is_sum else ""
        yield QuizQuestion("gradient", asks, _said(_array(grad)), f"The recording shows it.{paths}", tuple(wrong))


def _freed(frame: Frame) -> Iterator[QuizQuestion]:
    for id, node in frame.nodes.items():
        if node.state != "done" or not node.made.saved or not _has_tensors(node):
            continue
        name = frame.describe(id)
        asks = f"After the backward pass, does the node of {name} still have its saved tensors?"
        no = ("No, they're freed", "A node frees its saved tensors as soon as it has run.")
        yes = ("Yes, it has them", "The graph was kept, with `retain_graph` or `create_graph`.")
        right, other = (no, yes) if node.freed else (yes, no)
        missed = "Without `retain_graph`, they are freed." if node.freed else "This pass kept the graph."
        yield QuizQuestion("freed", asks, right[0], right[1], ((other[0], missed),))


def _has_tensors(node: NodeState) -> bool:
    return any(saved.tensor is not None for saved in node.made.saved)


_REASONS = {
    "result": ("It's the result of an operation", "Only leaves keep a `.grad`, unless `retain_grad` was called."),
    "constant": ("It doesn't require a gradient", "Backward brings gradients only to what requires one."),
    "unused": ("The loss doesn't depend on it", "No path leads from the loss to this leaf."),
    "zero": ("Its gradient is zero", "A gradient of zero is a number: `.grad` would be 0, and not None."),
}


def _behind_cuts(frame: Frame) -> set[str]:
    """Return the tensors whose values are used where their gradient path is cut, as by `detach`."""
    found: set[str] = set()
    ends = [end for tensor in frame.tensors.values() if tensor.cut is not None for end in tensor.cut.ends]
    while ends:
        end = ends.pop()
        if end in found:
            continue
        found.add(end)
        if end in frame.nodes:
            ends += [each.tensor for each in frame.nodes[end].made.args if each.tensor is not None]
        elif end in frame.tensors and (node := frame.tensors[end].node) is not None:
            ends.append(node)
    return found


def _none(frame: Frame, retained: Container[tuple[str | None, int]]) -> Iterator[QuizQuestion]:
    """Ask why a tensor has no gradient; `retained` are the outputs whose gradient was kept."""
    ran = [node for node in frame.nodes.values() if node.state == "done"]
    used = {each.tensor for node in ran for each in node.made.args}
    behind = _behind_cuts(frame)
    for id, tensor in frame.tensors.items():
        if tensor.name is None or tensor.grad is not None or tensor.level is not None or tensor.cleared:
            continue
        if (tensor.node, tensor.output_nr) in retained:
            continue
        # Only one answer may be true: the loss depends on what a node that ran used or made.
        if tensor.node is not None:
            kind = "result" if frame.nodes[tensor.node].state == "done" else ""
        elif tensor.requires_grad:
            kind = "unused" if tensor.cut is None and tensor.state == "idle" and id not in used | behind else ""
        else:
            kind = "constant" if id in used else ""
        if not kind:
            continue
        right, why = _REASONS[kind]
        wrong = tuple((text, f"That isn't so here. {why}") for each, (text, _) in _REASONS.items() if each != kind)
        yield QuizQuestion("none", f"Why is `{tensor.name}.grad` None at the end?", right, why, wrong)


def _is_small(value: Value | None) -> bool:
    return value is not None and value.values is not None and 0 < len(value.values) <= _LARGEST


def _array(value: Value | None) -> np.ndarray:
    assert value is not None and value.values is not None
    return np.array(value.values, dtype=np.float64).reshape(value.shape)


def _plain(value: Value | None) -> str:
    """Return a value as a picture shows it, zero without a sign: as an answer, -0 is no other number than 0."""
    return _said(_array(value)) if _is_small(value) else format_value(value)


def _said(array: np.ndarray) -> str:
    """Return an array as a picture shows it."""
    return format_value(read(array + 0.0))  # without a sign of zero
