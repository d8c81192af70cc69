"""Why autograd refused a backward pass: what cut off a loss, what joins two steps, which step overwrote a weight.

A certain statement needs a record that shows it. Without one there is no statement here, and the general advice in the
error's picture applies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...pictures.trace.advice import NO_HISTORY
from ...pictures.trace.advised import CALLED, known_error, plain_advice
from ...pictures.trace.backward_records import Failed
from ...pictures.trace.checkpoints import difference
from ...pictures.trace.cuts import instead
from ...pictures.trace.facts import Cut, Saved, SourceLine, TensorSeen
from ...pictures.trace.tensor_records import TensorWritten
from ...pictures.trace.values import begun, code
from .backwards import RecordedBackward, RecordedBackwards
from .finding import at_line as _at
from .finding import cut_off, listed, operation_of, phrases, place_words, result_of, variable_of
from .graph import RecordedNode
from .zero_gradient import ITSELF

_UNUSED = "appears to not have been used"
_NO_GRAPH = ("does not require grad", _UNUSED)
_TWICE = "backward through the graph a second time"
_WRITTEN = "modified by an inplace operation"
_KEEP = (  # the graph of a gradient that was asked for
    "Pass `create_graph=True` to `autograd.grad()` if its gradient is part of the loss, for example in a penalty. If "
    "you only look at the gradient, pass `retain_graph=True`."
)
_ASSIGNED = re.compile(r"^([\w.]+)\s*=(?!=)[^;]*$")
_PART = re.compile(r"(\w[\w.]*)\[\d+\]")
_NAMED = 4  # weights that a sentence names


class Refusal(NamedTuple):
    """Why it was refused, what to do, and the line to change."""

    sentence: str
    advice: str
    line: SourceLine | None


def refusal_of(run: RecordedBackwards, failed: Failed) -> Refusal | None:
    """Return why an error ended a backward pass; None if the records don't show it."""
    if any(words in failed.message for words in _NO_GRAPH):
        return _Refused(run, failed).without_graph()
    if _TWICE in failed.message:
        return _Refused(run, failed).twice()
    if _WRITTEN in failed.message:
        return _Refused(run, failed).written()
    return None


def refused_besides(run: RecordedBackwards, failed: Failed) -> Refusal | None:
    """Return more about the error of a write to a saved tensor, or one whose words say it all; None for others."""
    if _WRITTEN in failed.message and (over := _Refused(run, failed).written_over()) is not None:
        return over
    if failed.called is not None and failed.called.is_outside:
        known, name = CALLED[failed.called.kind], failed.called.name
        return Refusal(begun(known.means.replace("{called}", name)), known.do.replace("{called}", name), failed.source)
    advice = known_error(failed.message)
    if advice is not None and "{differs}" in advice.means:
        name = failed.called.name if failed.called is not None else ""
        by = code(name) if name not in ("", "lambda") else "a checkpointed function"
        means = advice.means.replace("{called}", by).replace("{differs}", difference(run.events, failed))
        return Refusal(begun(means), advice.do.replace("{called}", by), None)
    if advice is not None and "{hook}" in advice.means:
        return Refusal(advice.means.replace("{hook}", ""), advice.do, None)
    if failed.called is not None or any(words in failed.message for words in (*_NO_GRAPH, _TWICE, _WRITTEN)):
        return None
    seen = run.tensors.get(failed.about[0]) if failed.about else None
    node = run.nodes.get(failed.node or "")
    name = (seen.name if seen is not None else None) or "the tensor"
    known = plain_advice(failed.message, name, None if node is None else node.made.name)
    return None if known is None else Refusal(begun(known[0]), known[1], failed.source)


def _attribute(name: str) -> str | None:
    return name.rpartition(".")[2] if "." in name else None


class _Refused:
    """An error of a backward pass, and the graph up to it."""

    def __init__(self, run: RecordedBackwards, failed: Failed) -> None:
        self.run, self.failed = run, failed
        at = next((at for at, each in run.failures if each is failed), len(run.events))
        self.backward = next((each for each in run.backwards if each.failed is failed), None)
        self.before = [each for each in run.backwards if each.event < at and each is not self.backward]
        if self.backward is None and _UNUSED in failed.message:
            self.backward = next(reversed(self.before), None)  # which ran, and left out what was asked for

    # Without a graph.

    def without_graph(self) -> Refusal | None:
        """Return what cut off the tensor that has no graph, or isn't in one."""
        run, failed = self.run, self.failed
        if not failed.about or (seen := run.tensors.get(failed.about[0])) is None:
            return None
        name = seen.name or "the loss" if "element" in failed.message else seen.name or "the tensor"
        known = run.cuts.get(seen.id)
        if _UNUSED in failed.message:
            return self._unused(seen, name)
        if known is not None:
            return self._cut(known[1], code(name))
        head = begun(f"{code(name)} {NO_HISTORY}")
        if (number := failed.number) is not None:
            return Refusal(
                f"{head} {number.word}() read a number{_at(number.source)}, and a number carries no history.",
                f"Compute with the tensor itself, and call `{number.word}()` only for printing.",
                number.source,
            )
        if frozen := [each.name for each in run.tensors.values() if each.name and _is_frozen(each)]:
            do = "don't" if len(frozen) > 1 else "doesn't"
            return Refusal(
                f"{head} {listed(frozen, _NAMED)} {do} require grad either (`requires_grad` is False).",
                "Before the forward pass, call `requires_grad_()` on the tensors that should get a gradient.",
                failed.source,
            )
        if (custom := self._asked_through()) is not None:
            return Refusal(
                f"{head} The backward of {code(custom.made.operation)}{_at(custom.line)} computed its gradient from "
                "tensors that don't require grad.",
                "When `backward` is differentiated again, compute with `ctx.saved_tensors`: the tensors passed to "
                "`ctx.save_for_backward()` can take gradients there. Detached tensors, and intermediates of `forward`, "
                "are constants.",
                custom.line,
            )
        advice = "Before the forward pass, create the tensors that should get a gradient with `requires_grad=True`."
        return Refusal(head, advice, failed.source)

    def _asked_through(self) -> RecordedNode | None:
        """Return the custom Function whose backward ran last before this, if a gradient was requested through it."""
        last = next(reversed(self.before), None)
        ran = [self.run.nodes[id] for id in last.sent if id in self.run.nodes] if last and last.captured else []
        return next((node for node in ran if node.made.custom and node.made.code), None)

    def _cut(self, cut: Cut, subject: str, head: str = "") -> Refusal:
        ends = phrases([place_words(self.run, end) for end in cut.ends], _NAMED) or "its inputs"
        said = cut_off(cut, subject, ends)
        still, advice = "", instead(cut)
        if self.failed.off and cut.word in ("no_grad", "inference_mode"):
            if cut.word == "no_grad":  # or whatever else switches them off
                said = f"gradients were off{_at(cut.source)}, which cuts {subject} off from {ends}"
            still = " Gradients are still off where `backward()` is called."
            advice = "End the `no_grad()` before the forward pass, or call `set_grad_enabled(True)`."
        return Refusal(f"{head}{said if head else begun(said)}.{still}", advice, cut.source)

    def _unused(self, seen: TensorSeen, name: str) -> Refusal | None:
        """Return an input without a path to the output: used only beyond a cut, or not at all."""
        run, backward = self.run, self.backward
        own = run.places.get(seen.id, seen.id)
        starts = [] if backward is None else backward.starts
        leading = run.before(own)
        reached = run.reached(starts)
        for cut, _, _ in run.cuts_met(reached):
            if any(end in leading for end in cut.ends):
                return self._cut(cut, "it", f"There's no path from the differentiated result to {code(name)}: ")
        made, past = run.nodes.get(own), next((each for each in run.reached([own]) if each in reached), None)
        if made is not None and past is not None and past != own:
            origin = place_words(run, past)
            name = code(name)
            return Refusal(
                f"{begun(name)} (created{_at(made.line)}) and the differentiated result were both computed from "
                f"{origin}: there is no path between them.",
                f"Ask for the gradient of {origin} and take the part that belongs to {name}. Or create {name} first "
                "and compute with it.",
                made.line,
            )
        if not run.users.get(own):
            return Refusal(
                f"Before this line, no recorded operation that can carry a gradient used {code(name)}.",
                f"Check that {code(name)} is really used in the result. If you passed a copy or a view, pass the "
                "original. Or pass `allow_unused=True` to get `None`.",
                self.failed.source,
            )
        return None

    def _joining(self, node: RecordedNode, output_nr: int) -> str:
        """Return a result that later lines use: by its variable, else its line's assignment, else its expression."""
        name = variable_of(self.run, node, output_nr)
        assigned = None if node.line is None else _ASSIGNED.search(node.line.text)
        if assigned and (not name or _attribute(assigned[1]) == _attribute(name)):
            return assigned[1]  # `self.memory` in a method, for what the program calls net.memory
        return name or result_of(self.run, node, output_nr)

    # A second time.

    def twice(self) -> Refusal | None:
        """Return which backward pass came first, and what joins its graph to this one's."""
        node = self.run.nodes.get(self.failed.node or "")
        if node is None or self.backward is None:
            return None
        first = next((each for each in reversed(self.before) if node.id in each.sent), None)
        if first is None:
            return None
        joints = self._joints(first, self.backward)
        if not joints:
            return self._one_graph(first, self.backward)
        old = joints[0][0]
        where = _at(old.line) or " before the recording began"
        names = [name for _, name in joints]
        if first.source == self.backward.source:
            carry, it_was = ("carry", "they were") if len(names) > 1 else ("carries", "it was")
            return Refusal(
                f"{begun(listed(names, _NAMED))} {carry} the graph of an earlier iteration into this one: {it_was} "
                f"created{where}, and that iteration's backward pass freed the saved tensors of {operation_of(node)}.",
                self._cut_rounds(old, names, first),
                old.line,
            )
        return Refusal(
            f"{begun(code(names[0]))} (created{where}) belongs to a graph that the backward pass{_at(first.source)} "
            f"already freed. The backward pass{_at(self.backward.source)} goes through it again.",
            self._both(first, names[0]),
            old.line,
        )

    def _both(self, first: RecordedBackward, name: str) -> str:
        """Return what to do about two backward passes from different lines through one named tensor."""
        if first.captured:
            return _KEEP
        cut = f"Call `detach()` on {name} for" if name.startswith("the ") else f"Give `{name}.detach()` to"
        return (
            f"{cut} the one that shouldn't pass through there. If both should, add the losses and call `backward()` "
            "once, or pass `retain_graph=True` to the first, with no optimizer step between the two."
        )

    def _cut_rounds(self, old: RecordedNode, names: Sequence[str], first: RecordedBackward) -> str:
        """Return what to do about tensors of an earlier iteration: detach them, or recompute them in each."""
        if any(each.line == old.line and each.event > first.event for each in self.run.nodes.values()):
            cuts = phrases([_detached(name) for name in names[:_NAMED]], _NAMED)
            return (
                f"Cut the graph at the start of each iteration: {cuts}. `retain_graph=True` would lead back "
                "through all earlier iterations."
            )
        recompute = f"compute {code(names[0])} again in each iteration, inside the loop."
        if self._trains_beside(old, first):
            return (
                f"Detach it before the loop if it's a constant, such as old log-probabilities or targets: "
                f"{_detached(names[0])}. If weights should train through it, {recompute}"
            )
        if old.line is None and "." in names[0]:  # what a module was given when it was made
            return (
                f"Make `{names[0]}` a leaf that the module registers if it is to be trained: put `nn.Parameter(...)` "
                f"around its value. Otherwise {recompute}"
            )
        late = "Once a step has changed the weights, `retain_graph=True` would fail or use old weights."
        return f"{begun(recompute)} {late}"

    def _trains_beside(self, old: RecordedNode, first: RecordedBackward) -> bool:
        """Return True if all weights that something was computed from are used again in this iteration, separately."""
        run = self.run
        weights = {id for id in run.reached([old.id]) if id not in run.nodes}
        end = first.event if first.end is None else first.end
        starts = [] if self.backward is None else self.backward.starts
        news = [id for id in run.reached(starts) if id in run.nodes and run.nodes[id].event >= end]
        return bool(weights) and weights <= {target for id in news for target in run.targets(id)}

    def _one_graph(self, first: RecordedBackward, again: RecordedBackward) -> Refusal:
        ran = f"the backward pass{_at(first.source)} already went through this graph and freed its saved tensors"
        if first.starts == again.starts:
            return Refusal(
                f"{begun(ran)}. Nothing was recomputed since.",
                "Recompute the loss before each backward pass. If the same graph should be used twice, pass "
                "`retain_graph=True` to the first.",
                again.source,
            )
        return Refusal(
            f"Both losses are computed from one graph: {ran}.",
            _KEEP
            if first.captured
            else "Add the losses and call `backward()` once, or pass `retain_graph=True` to all calls but the last.",
            first.source,
        )

    def _joints(self, first: RecordedBackward, again: RecordedBackward) -> list[tuple[RecordedNode, str]]:
        """Return the nodes of the older graph whose results were used after the first backward pass."""
        run = self.run
        end = first.event if first.end is None else first.end
        found: dict[str, RecordedNode] = {}
        for id in run.reached(again.starts):
            node = run.nodes.get(id)
            if node is None or node.event < end:
                continue
            for edge in node.made.edges:
                old = run.nodes.get(edge.target or "")
                if old is None or old.event >= first.event:
                    continue
                if any(place in first.sent for place in run.reached([old.id]) if place in run.nodes):
                    found.setdefault(self._joining(old, edge.output_nr), old)
        return sorted([(node, name) for name, node in found.items()], key=lambda each: each[1])

    # Written in between.

    def written(self) -> Refusal | None:
        """Return an optimizer's step, or a manual update, between forward and backward."""
        run = self.run
        node = run.nodes.get(self.failed.node or "")
        if node is None or self.backward is None:
            return None
        _, write = self._write_into(node)
        if write is None or (write.optimizer is None and not self._is_weight(write)):
            return None
        name = run.tensors[write.tensor].name if write.tensor in run.tensors else None
        first = next((each for each in reversed(self.before) if node.id in each.sent), None)
        joints = [] if first is None else self._joints(first, self.backward)
        who = "The update" if write.optimizer is None else f"The step of `{write.optimizer}`"
        head = f"{who}{_at(write.source)} changed {code(name or 'a weight')} after {operation_of(node)} saved it"
        head += f"{_at(node.line)}."
        if joints and first is not None and first.source == self.backward.source:
            names = [name for _, name in joints]
            carry = "carry" if len(names) > 1 else "carries"
            return Refusal(
                f"{head} {begun(listed(names, _NAMED))} {carry} the graph of an earlier iteration into this one.",
                self._cut_rounds(joints[0][0], names, first),
                joints[0][0].line,
            )
        return Refusal(
            head,
            "Call every `backward()` through this graph before the step, or recompute the loss after it.",
            write.source,
        )

    def written_over(self) -> Refusal | None:
        """Return a write to a saved tensor that isn't an update: the error's picture has rows for it."""
        node = self.run.nodes.get(self.failed.node or "")
        saved, write = (None, None) if node is None else self._write_into(node)
        if node is None or saved is None or write is None:
            return None
        own = saved.name in ITSELF
        maker = node if own else self.run.nodes.get(self.run.places.get(saved.tensor or "", ""))
        name = next(filter(None, [self._name(write.tensor), self._name(saved.tensor)]), None)
        at_write = "" if write.source is None else write.source.text
        if name is None and maker is not None and maker.line != write.source:
            assigned = _ASSIGNED.search(maker.line.text) if maker.line is not None else None
            if assigned is not None and re.search(rf"\b{re.escape(assigned[1])}\b", at_write):
                name = assigned[1]
        what = "its result" if own else "its input" if maker is None else result_of(self.run, maker)
        what = what if name is None else f"{code(name)} (its result)" if own else code(name)
        fresh = name or "y"
        return Refusal(
            f"{begun(operation_of(node))}{_at(node.line)} saved {what} for "
            f"backward, and {code(write.name)}{_at(write.source)} overwrote it.",
            f"Create a new tensor there (`{fresh} = {fresh} * 2` instead of `{fresh}.mul_(2)` or `{fresh} *= 2`), or "
            f"write into a copy: `{fresh} = {fresh}.clone()`.",
            write.source or node.line,
        )

    def _name(self, tensor: str | None) -> str | None:
        seen = self.run.tensors.get(tensor or "")
        return None if seen is None else seen.name

    def _is_weight(self, write: TensorWritten) -> bool:
        seen = self.run.tensors.get(write.tensor)
        leaf = self.run.tensors.get(write.tensor if seen is None else seen.base or write.tensor)
        return write.node is None and leaf is not None and leaf.requires_grad and leaf.node is None

    def _write_into(self, node: RecordedNode) -> tuple[Saved | None, TensorWritten | None]:
        """Return a node's saved tensor that was overwritten afterward, and the first write."""
        run = self.run
        memories: dict[str, Saved] = {}
        for saved in node.made.saved:
            if saved.tensor in run.tensors:
                memories[run.tensors[saved.tensor].base or saved.tensor] = saved
        for event in run.events[node.event :]:
            if isinstance(event, TensorWritten):
                seen = run.tensors.get(event.tensor)
                own = event.tensor if seen is None else seen.base or event.tensor
                if own in memories and event.version > memories[own].version:
                    return memories[own], event
        return None, None


def _is_frozen(seen: TensorSeen) -> bool:
    """Return True if it's a floating-point tensor of a module and doesn't require grad."""
    return "." in (seen.name or "") and not seen.requires_grad and "float" in seen.value.dtype and seen.cut is None


def _detached(name: str) -> str:
    """Return the line that detaches a variable's tensor, or one in its tuple; without a line, the words for that."""
    if name.startswith("the "):
        return f"call `detach()` on {name}"
    if (part := _PART.fullmatch(name)) is not None:
        return f"`{part[1]} = tuple([each.detach() for each in {part[1]}])`"
    return f"`{name} = {name}.detach()`"
