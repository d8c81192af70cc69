"""Why there is no gradient: the tensor doesn't require one, no backward pass brought it one, or it was cleared."""

from __future__ import annotations

from ...pictures.trace.backward_records import GradChanged
from ...pictures.trace.values import begun, code, format_value, shortened
from .backwards import RecordedBackward
from .finding import at_line, operation_of
from .graph import way_in
from .inquiry import Answer
from .refusals import refusal_of
from .why_unreachable import LOOK_ALIKE, UnreachedGradient
from .zero_gradient import lost_at


class MissingGradient(UnreachedGradient):
    """An explanation of why `.grad` is None, or why no backward pass adds to it."""

    def answer(self) -> Answer:
        """Return the answer."""
        asked = self.asked
        if not asked.takes or not asked.requires_grad:
            return self._takes_none()
        return self._not_a_leaf() if asked.made_by and not asked.retains else self._none()

    def _takes_none(self) -> Answer:
        asked = self.asked
        if not asked.takes:
            told = f"{asked.slot} is None: {asked.words} holds {asked.dtype} numbers, which can't have gradients."
            return Answer(
                "none",
                [told],
                advice="Fix: Convert it to a floating dtype before `requires_grad_()`, as with `.float()`.",
            )
        head = f"{asked.slot} is None: {asked.words} doesn't require grad (`requires_grad` is False)."
        made = Answer("none", [head] if asked.grad is None else [])
        if asked.grad is not None:
            made.verdict = "there"
            made.sentences = [
                f"{asked.slot} still holds {format_value(asked.grad)} from before: {asked.words} doesn't require "
                "grad now "
                "(`requires_grad` is False), so no backward pass adds to it."
            ]
        if (cut := asked.cut or self._cut_of(asked.id)) is not None:
            self._tell_cut(made, cut, asked.words)
            return made
        if self._tell_memory(made):
            return made
        made.possible = [
            "it was created without `requires_grad=True`, or frozen with `requires_grad_(False)`",
            "it was computed under `no_grad()` or `inference_mode()`, or came from `detach()` or `.data`",
            "none of the tensors that it was computed from requires grad",
        ]
        made.advice = self._record()
        return made

    def _not_a_leaf(self) -> Answer:
        asked, graph = self.asked, self.graph
        made = Answer("none")
        made.sentences = [
            f"{asked.slot} is None: {asked.words} isn't a leaf ({self._maker()} computed it), and backward only stores "
            "gradients in leaves."
        ]
        leaves = [] if self.place is None else [each for each in graph.reached([self.place]) if each not in graph.nodes]
        if leaves:
            made.sentences.append(f"It was computed from {self._listed(map(self._called, leaves))}.")
        if self.roots and not self.reaches:
            made.sentences.append(f"There's also no path from {self._end} to it.")
        made.advice = f"To keep its gradient, call `{asked.typed}.retain_grad()` before `backward()`."
        return made

    def _maker(self) -> str:
        """Return what computed the tensor, with its line."""
        if self.place not in self.graph.nodes:
            return "a view" if self.asked.made_by == "a view" else code(self.asked.made_by)
        node = self.graph.nodes[self.place]
        return f"{operation_of(node)}{at_line(node.line)}"

    def _none(self) -> Answer:
        made = Answer("none")
        if self.loss is not None and not self.loss.requires_grad:
            return self._loss_takes_none(made)
        if not self.roots:
            return self._nothing_known(made)
        if self.reaches:
            return self._reached_and_none(made)
        return self._not_reached(made, f"{self.asked.slot} is None")

    def _nothing_known(self, made: Answer) -> Answer:
        asked = self.asked
        made.sentences = [f"{asked.slot} is None: no backward pass has reached it, or it has been cleared since."]
        if self.recorded:
            made.sentences.append(
                f"{self._end_first} isn't in the trace." if self.loss is not None else "No backward pass was recorded."
            )
            self._tell_refused(made)
            return made
        made.possible = [
            "no backward pass has run since it was created, or `zero_grad()` came after it",
            f"the loss doesn't depend on {asked.words}: call `why({asked.typed}, loss)`",
            "`autograd.grad()` returned its gradient to the caller instead of adding it to `.grad`",
        ]
        made.advice = self._record()
        return made

    def _tell_refused(self, made: Answer) -> None:
        """Report the last backward pass that was refused before it started."""
        _, failed = self.graph.failures[-1] if self.graph.failures else (0, None)
        if failed is None or self.loss is not None:
            return
        refusal, at = refusal_of(self.graph, failed), at_line(failed.source)
        if refusal is None:
            made.sentences[-1] = f"An error{at} came before any backward pass: {shortened(failed.message)}"
            return
        made.sentences[-1] = f"The backward pass{at} was refused before it began."
        made.sentences.append(refusal.sentence)
        made.advice = f"Fix: {refusal.advice}"

    def _loss_takes_none(self, made: Answer) -> Answer:
        assert self.loss is not None
        loss, asked = self.loss, self.asked
        made.sentences = [
            f"{asked.slot} is None: {self._end} itself doesn't require grad, so no backward pass can start at it."
        ]
        if (cut := loss.cut or self._cut_of(loss.id)) is not None:
            self._tell_cut(made, cut, self._end)
        elif not self._tell_memory(made):
            made.possible = list(LOOK_ALIKE)
            made.advice = self._record()
        return made

    def _reached_and_none(self, made: Answer) -> Answer:
        asked, place = self.asked, self.place
        assert place is not None
        made.way = way_in(self.found, place)
        way = f"there is a path from {self._end} to {asked.words}: {self._path_words(made.way)}"
        if self.backward is not None:
            made.sentences = [*self._run_and_none(self.backward, place, made), f"{begun(way)}."]
            return made
        if self.recorded:
            made.sentences = [f"{asked.slot} is None, although {way}. No backward pass of {self._end} was recorded."]
            return made
        made.sentences = [f"{asked.slot} is None, although {way}."]
        if self.live.freed:
            made.sentences.append("A backward pass has run through this graph: its saved tensors are freed.")
            made.possible = [
                "it has been cleared since, for example by `zero_grad()`",
                "it wasn't requested: `autograd.grad()` and `backward(inputs=...)` fill only the tensors you name",
                "the backward of a Function on the path returned `None` for it",
            ]
        else:
            fills = (
                f"`{self.loss.name}.backward()`" if self.loss and self.loss.name else f"A backward pass of {self._end}"
            )
            made.sentences.append(f"{fills} will fill it. As far as the graph shows, it hasn't run yet.")
            made.possible = [
                "no backward pass has run",
                "it ran with `retain_graph=True`, and `.grad` was cleared since",
            ]
        made.advice = self._record()
        return made

    def _run_and_none(self, backward: RecordedBackward, place: str, made: Answer) -> list[str]:
        """Return a recorded backward pass whose graph leads to the tensor, which has no gradient nevertheless."""
        asked, which = self.asked, self._pass_words(backward)
        changes = self.graph.changes.get(asked.id or "", [])
        last = changes[-1].made if changes else None
        if isinstance(last, GradChanged) and last.grad is None:
            return [f"{asked.slot} is None: it was cleared{at_line(last.source)}, after {which} had filled it."]
        if backward.added.get(place) is not None:
            return [f"{asked.slot} is None now, but {which} had filled it: it was cleared after the recording."]
        if (failed := backward.failed) is not None:
            at = "" if failed.node is None else f" at {self._described(failed.node)}"
            made.marks = {} if failed.node is None else {failed.node: "the backward failed here"}
            message = shortened(failed.message)
            refusal = refusal_of(self.graph, failed)
            made.advice = "" if refusal is None else f"Fix: {refusal.advice}"
            why = [] if refusal is None else [refusal.sentence]
            return [f"{asked.slot} is None: {which} failed{at} before it reached {asked.words}: {message}", *why]
        if place in backward.captured:
            return [f"{asked.slot} is None: {which} returned the gradient to its caller, as `autograd.grad()` does."]
        targets = backward.targets
        if targets is not None:
            asked_for = self._listed(map(self._called, targets))
            return [f"{asked.slot} is None: {which} was only asked for the gradients of {asked_for}."]
        sinks = lost_at(self.graph, backward, place, lambda grad: grad is None)
        made.marks = dict.fromkeys(sinks, "passes nothing on")
        if sinks and made.way:
            made.way = way_in(self.found, sinks[0]) + self.graph.way([sinks[0]], place)[1:]
        told = self._listed(map(self._described, sinks))
        return [f"{asked.slot} is None: {told or 'a node on the path'} received a gradient and passed on `None`."]
