"""Where an existing gradient comes from: where it became zero or not finite, and which backward passes added to it."""

from __future__ import annotations

import math

from ...pictures.trace.backward_records import GradChanged
from ...pictures.trace.values import Value, begun, code, format_value, number, series
from .backwards import Change, RecordedBackward
from .behind import gradient_written, saved_written
from .finding import at_line, in_brackets
from .graph import way_in
from .infinities import finding_of, infinite_slope, updated_words
from .inquiry import Answer
from .loop import not_cleared
from .measures import is_broken, is_nothing
from .not_finite import Cause, first_cause, places_of
from .question import NAMED
from .registered import grouped, registered
from .why_unreachable import UnreachedGradient
from .zero_gradient import blocked, canceled_at, lost_at, with_a_slope, zero_because, zeroed_by, zeroed_words

_MARK = "not finite from here on"


class PresentGradient(UnreachedGradient):
    """An explanation of the value of `.grad`."""

    def answer(self) -> Answer:
        """Return the answer."""
        grad = self.asked.grad
        return self._not_finite() if is_broken(grad) else self._zero() if is_nothing(grad) else self._there()

    def _changes(self) -> list[Change]:
        """Return the changes of the gradient since it was last cleared."""
        changes = self.graph.changes.get(self.asked.id or "", [])
        return changes[max([at + 1 for at, each in enumerate(changes) if each.clears], default=0) :]

    def _not_finite(self) -> Answer:
        made = Answer("not finite")
        asked = self.asked
        assert asked.grad is not None
        made.sentences = [f"{asked.slot} is not finite: {format_value(asked.grad)}."]
        change = self.graph.broken_by(asked.id or "")
        if change is not None and change.backward is None:
            made.sentences.append(self._set_by(change, "made it not finite"))
            return made
        if not self.reaches or self.place is None:
            made.advice = "" if self.recorded else self._ask_with_loss()
            return made
        backward = self.backward if change is None else change.backward
        if backward is not None and change is not None and backward is not self._changes()[-1].backward:
            step = self._in_step(backward.event)
            made.sentences.append(f"It first happened{step and f'{step},'} in {self._pass_words(backward)}.")
        starts = self.roots if backward is None else backward.starts
        made.advice = self._record()
        self._tell_cause(made, first_cause(self.graph, backward, starts, self.place))
        return made

    def _tell_cause(self, made: Answer, cause: Cause) -> None:
        """Report where it started, and how it got from there to a later step."""
        graph, origin = self.graph, cause.origin
        links = [*reversed(cause.links)]
        finding = finding_of(graph, cause, " on the path")
        if links and cause.by_gradient and cause.backward is not None:
            name = links[0].parameter.words
            made.sentences.append(f"It began with the gradient of {name}{self._in_step(cause.backward.event)}.")
        if finding is not None:
            made.sentences.append(finding.sentence)
            made.advice = finding.fix if self.recorded else made.advice
        for parameter, update, node in links:
            who = f"{updated_words(update)} made {parameter.words} not finite{self._in_step(update.event)}. "
            told = not cause.by_gradient and update is links[0].update  # by the finding
            used = f"{begun(self._described(node))} then used {parameter.words}"
            made.sentences.append(f"{'' if told else who}{used}{self._in_step(graph.nodes[node].event)}.")
        starts = places_of(origin)
        made.marks = dict.fromkeys([*starts * cause.by_gradient, *[each.node for each in links]], _MARK)
        made.possible = [
            f"{self._described(node)} may have made it: {pole}"
            for node in origin.on_way
            if (pole := infinite_slope(graph, node))
        ]
        if starts:
            reached = self.found if cause.backward is None else graph.reached(cause.backward.starts)
            made.way = way_in(reached, starts[0]) + graph.way(starts[:1], cause.place)[1:]
        elif not made.possible and finding is None:
            made.sentences.append("All known values of the forward pass are finite.")

    def _in_step(self, event: int) -> str:
        """Return the training step of an event, if there are several."""
        steps, step = self.graph.steps, self.graph.step_of(event)
        return "" if step is None or len(steps) < 2 else f" in step {step.number} of {len(steps)}"

    def _set_by(self, change: Change, what: str) -> str:
        assert isinstance(change.made, GradChanged)
        name = change.made.name
        return f"{code(name) if name else 'The program'}{in_brackets(change.made.source)} {what}."

    def _zero(self) -> Answer:
        made, asked = Answer("zero"), self.asked
        made.sentences = [f"{asked.slot} exists, but it's all zeros."]
        changes = self.graph.changes.get(asked.id or "", [])
        last = changes[-1] if changes else None
        if last is not None and last.backward is None:
            made.sentences.append(self._set_by(last, "set it to zeros"))
            return made
        if not self.reaches or self.place is None:
            if self.roots:
                self._not_reached(made, f"{asked.slot} is 0")
            elif not self.recorded:
                made.possible = [
                    "`zero_grad(set_to_none=False)` or `zero_()` cleared it",
                    "a backward pass brought zeros",
                ]
                made.advice = self._ask_with_loss()
            return made
        if last is not None and last.backward is not None:
            self._tell_zeros(made, last.backward, self.place)
            return made
        self._tell_blocked(made, self.place)
        return made

    def _tell_zeros(self, made: Answer, backward: RecordedBackward, place: str) -> None:
        """Report where a recorded backward pass lost it."""
        hook = zeroed_by(backward, self.graph.before(place))
        if hook is not None:
            before = series([format_value(each) for each in hook.before])
            what, advice = zeroed_words(self.graph, hook)
            made.sentences.append(f"{begun(what)}. It received {before}.")
            made.advice = f"Fix: {advice}"
            return
        if all(is_nothing(root.seed) for root in backward.roots):
            made.sentences.append(f"{begun(self._pass_words(backward))} started from a gradient of 0.")
            return
        sinks = lost_at(self.graph, backward, place, is_nothing)
        for sink in sinks[:NAMED]:
            got = format_value(next((grad for grad in backward.received[sink] if not is_nothing(grad)), None))
            because = zero_because(self.graph, sink, place)
            why = f", because {because}" if because else ""
            made.sentences.append(
                f"{begun(self._described(sink))} received {got} and sent only zeros toward {self.asked.words}{why}."
            )
            made.marks[sink] = "passes on only zeros"
            if because and not made.advice:
                made.advice = f"Fix: {with_a_slope(self.graph, self.graph.nodes[sink])}"
        if len(sinks) > NAMED:
            made.sentences.append(f"So did {len(sinks) - NAMED:,} more.")
        if sinks:
            made.way = way_in(self.found, sinks[0]) + self.graph.way([sinks[0]], place)[1:]
            return
        at = canceled_at(self.graph, backward, self.graph.before(place))
        who = self.asked.words if at is None or at == place else self._described(at)
        made.sentences.append(
            "A nonzero gradient was sent toward it, but 0 arrived: something else wrote into it."
            if at is None
            else f"The gradients that reach {who} cancel out."
        )

    def _tell_blocked(self, made: Answer, place: str) -> None:
        """Report what on the path blocks gradients, as far as the graph shows."""
        walls = {node: why for node in self.found if (why := blocked(self.graph, node))}
        on_way = [node for node in walls if place in self.graph.reached([node])]
        sure = bool(on_way) and place not in self.graph.reached(self.roots, on_way)
        if sure:
            made.sentences.append(
                f"Every path from {self._end} to {self.asked.words} leads through an operation that passes on only "
                "zeros:"
            )
            made.sentences += [f"{begun(self._described(node))}: {walls[node]}." for node in on_way[:NAMED]]
        else:
            made.possible = [f"{self._described(node)}: {walls[node]}" for node in on_way[:NAMED]]
            if self.live.freed:
                made.possible.append("a backward pass brought zeros: the saved tensors that would show it are freed")
            made.possible.append("`zero_grad(set_to_none=False)`, `zero_()` or the like filled it with zeros")
            made.advice = self._record()
        made.marks = dict.fromkeys(on_way, "passes on only zeros")
        if on_way:
            made.way = way_in(self.found, on_way[0]) + self.graph.way([on_way[0]], place)[1:]

    def _there(self) -> Answer:
        made, asked = Answer("there"), self.asked
        assert asked.grad is not None
        if not asked.grad.is_known:
            made.sentences = [f"{asked.slot} exists, but its numbers can't be read."]
        else:
            norm = f", norm {number(asked.grad.norm)}" if math.prod(asked.grad.shape) > 1 else ""
            made.sentences = [f"{asked.slot} exists and is finite: {format_value(asked.grad)}{norm}."]
        backwards = [each.backward for each in self._changes() if each.backward is not None]
        if len(backwards) > 1:
            self._tell_sum(made, backwards)
        elif backwards:
            made.sentences.append(f"It came from {self._pass_words(backwards[0])}.")
        elif not self.recorded:
            self._tell_there(made)
        before = self._given_before(backwards[0]) if backwards else None
        if before is not None:
            made.sentences.append(f"It was added to {format_value(before)}, which was there before the recording.")
            made.verdict = "sum"
        later = self.graph.backwards[self.graph.backwards.index(backwards[-1]) + 1 :] if backwards else []
        if later:
            made.sentences.append(f"{begun(self._pass_words(later[-1]))}, the last one, didn't lead to it.")
        if self.recorded and self.loss is not None and not self.reaches:
            made.sentences.append(f"The graph of {self._end} itself doesn't lead to {asked.words}.")
        self._tell_written(made)
        self._tell_uses(made)
        return made

    def _tell_written(self, made: Answer) -> None:
        """Report writes on its path that autograd didn't see."""
        place = self.place if self.recorded else None
        before = {} if place is None else self.graph.before(place)
        for rule in (saved_written, gradient_written) if before else ():
            for each in rule(self.graph):
                if each.ids[0] in before:
                    made.sentences.append(begun(each.sentence))
                    made.marks.setdefault(each.ids[0], "computes with what was written")
                    made.advice = each.next_step

    def _tell_there(self, made: Answer) -> None:
        if self.roots and not self.reaches:
            there = made.sentences[0]
            self._not_reached(made, "")
            lacking = f"There's no path from {self._end} to {self.asked.words}"
            made.sentences[:1] = [there, f"{lacking}, so the gradient came from another backward pass."]
            return
        made.advice = (
            "The graph alone can't show whether this is the sum of several backward passes. "
            f"{self._record().replace('the exact line', 'out')}"
        )

    def _given_before(self, backward: RecordedBackward) -> Value | None:
        """Return the gradient before the first recorded backward pass added to it."""
        tensor = self.frame.tensors.get(self.asked.id or "")
        brought = [each.backward for each in self.graph.changes[self.asked.id or ""] if each.backward is not None]
        return tensor.rest if tensor is not None and brought[0] is backward and not is_nothing(tensor.rest) else None

    def _tell_sum(self, made: Answer, backwards: list[RecordedBackward]) -> None:
        made.verdict = "sum"
        lines = [at_line(backward.source).strip() or "at an unknown line" for backward in backwards]
        named = [f"{lines.count(line)} times {line}" if lines.count(line) > 1 else line for line in lines]
        made.sentences.append(
            f"It's the sum of {len(backwards)} backward passes, because it wasn't cleared in between: "
            f"{self._listed(named)}."
        )
        left = next((each for each in not_cleared(self.graph) if self.asked.id in each.ids), None)
        if left is not None:
            made.sentences.append(left.sentence)
            made.advice = left.fix
        else:
            made.advice = f"To count each backward pass alone, {self._clearing()}."

    def _clearing(self) -> str:
        """Return what clears the gradient: zero_grad() does where an optimizer or a module holds the tensor."""
        graph, id = self.graph, self.asked.id
        if id in (grouped(graph) if graph.optimizers else registered(graph)):
            return "call `zero_grad()` before it"
        held = ", or call `zero_grad()` of an optimizer that holds it"
        other = ": no optimizer holds it" if graph.optimizers else held
        return f"set `{self.asked.name or 'tensor'}.grad = None` before it{other}"

    def _tell_uses(self, made: Answer) -> None:
        """Report that several nodes use the tensor, and their gradients add up."""
        if self.place is None or self.place in self.graph.nodes:
            return
        users = [node for node in dict.fromkeys(self.graph.users.get(self.place, [])) if node in self.found]
        if len(users) > 1:
            made.sentences.append(
                f"{len(users):,} operations use {self.asked.words}, and their gradients add up: "
                f"{self._listed(map(self._called, users))}."
            )
