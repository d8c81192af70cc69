"""What led to an error and what to do: found in the trace, and told in words."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnosis.health.backwards import RecordedBackwards
from ...diagnosis.health.finding import in_brackets, listed
from ...diagnosis.health.refusals import refusal_of
from ..trace.advice import NO_HISTORY
from ..trace.advised import advice_for, counts_of, hook_refused
from ..trace.backward_records import BackwardFinished, BackwardStarted, Failed, NodeStarted
from ..trace.call_records import MethodCalled
from ..trace.checkpoints import difference
from ..trace.facts import Called, Phase, SourceLine
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.probable_cuts import ProbableCut
from ..trace.schema import Record
from ..trace.source import source
from ..trace.tensor_records import TensorWritten
from ..trace.values import begun, code


class ErrorAccount:
    """What is known of the error that a trace ends with: the failed node, the broken saved tensor, lines and advice."""

    def __init__(
        self,
        events: Sequence[Record],
        frame: Frame,
        tensors: Sequence[str],
        line: SourceLine | None,
        raised: SourceLine | None,
        names: dict[str, str],
        called: Called | None,
        guess: ProbableCut | None,
    ) -> None:
        self.events, self.frame = events, frame
        failed = events[-1]
        assert isinstance(failed, Failed)
        self.failed = failed
        self.node = self.failed.node if self.failed.node in frame.nodes else None
        self.tensors = [id for id in tensors or failed.about if id in frame.tensors]
        if self.failed.node is not None and self.node is None:
            self.tensors.insert(0, self.failed.node)  # a leaf, whose AccumulateGrad failed
        self.name = frame.called(self.failed.node) if self.failed.node else names["node"]
        lines = any(isinstance(event, MethodCalled) for event in events)
        self.called = called = called or failed.called
        self.guess = guess
        kind = "" if called is None else called.kind
        self.advice = advice_for(failed.message, bool(self.name), lines, kind, failed.task is not None)
        self.phase: Phase = "backward" if self.name or self.failed.task else self.advice.phase
        begun = [event for event in events if isinstance(event, BackwardStarted) and event.task == self.failed.task]
        self.line = line or (begun[-1].source if begun else None)
        if self.line is None and called is not None and called.is_outside:
            self.line = failed.source
        self.raised = raised
        self.tensor = names["tensor"] or (guess.name if guess is not None else "")
        self.marked = names["marked"] or self._marking()
        self.broken = self._broken() if self.advice.about == "write" else None

    def _broken(self) -> tuple[int, TensorWritten | None] | None:
        """Return which of the failed node's saved tensors was written, and by which event."""
        if self.node is None:
            return None
        for index, saved in enumerate(self.frame.nodes[self.node].made.saved):
            if saved.tensor is not None and self.frame.stale(self.node, index):
                owner = self.frame.owner(saved.tensor)
                for event in self.events:
                    if isinstance(event, TensorWritten) and event.version > saved.version:
                        if self.frame.owner(event.tensor) == owner:
                            return index, event
                return index, None
        return None

    def _marking(self) -> str:
        """Return the node that made the failed one as it ran; for a once_differentiable one, the node that refuses."""
        running = ""
        for event in self.events:
            if isinstance(event, NodeStarted):
                running = self.frame.called(event.node)
            elif isinstance(event, NodeCreated) and event.node == self.node:
                return running
        return ""

    def during(self, event: Record | None) -> Phase:
        """Return the phase in which an event came."""
        going: set[str | None] = set()
        for each in self.events:
            if each is event:
                return "backward" if going else "forward"
            if isinstance(each, BackwardStarted):
                going.add(each.task)
            elif isinstance(each, BackwardFinished | Failed):
                going.discard(each.task)
        return "forward"

    def rows(self) -> list[tuple[str, str, SourceLine | None]]:
        """Return what led to the error, each with its actor, the code and the user's line."""
        rows: list[tuple[str, str, SourceLine | None]] = []
        made = self.frame.nodes[self.node].made if self.node else None
        if self.broken is not None and made is not None:
            saved, write = made.saved[self.broken[0]], self.broken[1]
            what = self.frame.variable(saved.tensor) or saved.name
            rows.append(_row(f"{made.name} saved {code(what)} at version {saved.version}", made.source))
            if write is not None:
                into = code(self.frame.called(write.tensor))
                rows.append(_row(f"{code(write.name)} wrote into {into}: version {write.version}", write.source))
            elif saved.tensor is not None:
                now = self.frame.version(saved.tensor)
                who = f"It was modified afterward (version {now} now). Record the run to see which line did it"
                rows.append((who, "", None))
        elif made is not None and made.source is not None:
            rows.append(_row(f"{made.name} was created", made.source))
        if self.called is not None and self.called.source is not None:
            rows.append(_row(f"{code(self.called.name)} begins", self.called.source))
        if self.line is not None:
            at = self.line
            rows.append((f"This happened at {at.file}, line {at.line}{at.text and f': {at.text}'}", "", None))
        if self.raised is not None and self.raised != self.line:
            rows.append(_row("The error was raised", self.raised))
        return rows

    def says(self) -> tuple[str, str]:
        """Return what the error means, and what to do."""
        if (refusal := refusal_of(RecordedBackwards(self.events), self.failed)) is not None:
            return refusal.sentence, refusal.advice
        if self.guess is not None and (told := self._guessed(self.guess)) is not None:
            return told
        tensor = code(self.frame.called(self.tensors[0]) if self.tensors else self.tensor or "the tensor")
        means = self.advice.means.replace("{node}", self.name or "a node").replace("{tensor}", self._about(tensor))
        means = means.replace("{called}", self._callee()).replace("{hook}", self._hook())
        means = means.replace("{function}", code(self.name.removesuffix("Backward") or "a Function"))
        means = means.replace("{counts}", counts_of(self.failed.message))
        if "{differs}" in means:
            means = means.replace("{differs}", difference(self.events, self.failed))
        means = means.replace("{marked}", self.marked.removesuffix("Backward") or "a Function")
        do = self.advice.do.replace("{name}", self._variable()).replace("{called}", self._callee())
        return begun(means), do.replace("{tensor}", tensor)

    def _about(self, tensor: str) -> str:
        """Return what the error is about; without a name, where backward starts, that is the loss."""
        starts = NO_HISTORY in self.advice.means
        return "the loss" if starts and "`" not in tensor else tensor

    def _guessed(self, guess: ProbableCut) -> tuple[str, str] | None:
        """Return what the source shows: a possible cut, as a question, or frozen modules."""
        name = code(guess.name or "the loss")
        if guess.frozen:
            return (
                f"{begun(name)} doesn't require grad, and no parameter of {listed(guess.frozen, 3)} does.",
                f"Call `requires_grad_()` on the parameters to train: `{guess.frozen[0]}.requires_grad_()`.",
            )
        if (at := source(guess.line)) is None:
            return None
        word = code(f"{guess.word}()" if guess.word in ("no_grad", "inference_mode") else guess.word)
        which = f"{'the comparison' if guess.word == 'comparison' else word}{in_brackets(at)}"
        return (
            f"{begun(name)} doesn't require grad. Does {which} cut it off?",
            "Remove it if the gradient should pass through here. Run the program inside `record()` to be sure.",
        )

    def _callee(self) -> str:
        """Return the user's function that the engine had called."""
        if self.called is None or self.called.name == "lambda":
            return "the lambda" if self.called is not None else "a checkpointed function"
        return self.called.name if self.called.is_outside else code(self.called.name)

    def _hook(self) -> str:
        """Return the hook that returned something invalid, in brackets."""
        hook = hook_refused(self.events, self.failed)
        return "" if hook is None else f" ({code(hook[0])}{_at(hook[1])})"

    def _variable(self) -> str:
        """Return the user's own name for what was written, or for what the error is about."""
        written = [self.broken[1].tensor] if self.broken is not None and self.broken[1] is not None else []
        if self.broken is not None and self.node is not None:
            written += filter(None, [self.frame.nodes[self.node].made.saved[self.broken[0]].tensor])
        names = [self.frame.variable(id) for id in (*written, *self.tensors)]
        return next((name for name in names if name), self.tensor or "y")


def _row(what: str, at: SourceLine | None) -> tuple[str, str, SourceLine | None]:
    return (what, at.text, at) if at is not None else (what, "", None)


def _at(at: SourceLine | None) -> str:
    return "" if at is None else f" at {at.file}:{at.line}"
