"""Two runs followed backward: seeds, the gradients that nodes send and receive, hooks, and what is added to `.grad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...pictures.trace.values import Value
from .closeness import CARRIED, EXACT, Apart, Outcome, Tolerance, compared, factor_of, largest_of
from .forward import Forward
from .origins import DiffOrigin
from .run import Grads, RecordedRun, RunMoment

# Operations of several tensors whose backward doesn't multiply by one of them, such as a mask of -1e9.
_NO_FACTORS = ("AddBackward", "Sub", "MaskedFill", "Where", "NllLoss")


class Origins(Forward):
    """The origins of all differences of values between two runs, in the order of the first run."""

    def __init__(self, first: RecordedRun, second: RecordedRun, tolerance: Tolerance) -> None:
        super().__init__(first, second, tolerance)
        self.touched, self.owed, self.owed_share, self.seen = {}, {}, {}, {}
        self._owed_gap: dict[str, float] = {}  # leaf -> by how much its .grad is apart by rounding
        self._summed: dict[str, tuple[float, float]] = {}  # leaf -> what its .grad is a sum of, and its norm then
        self._flowing: dict[str, DiffOrigin] = {}  # place of the first -> why its gradients differ
        # Place of the first -> how far apart the gradients are that came and that it sent: the share, and the gap.
        self._came: dict[str, tuple[float, float]] = {}
        self._went: dict[str, tuple[float, float]] = {}
        self._added: dict[str, list[int]] = {}  # leaf of the first -> the events of its accumulations
        for moment in first.moments:
            if moment.kind == "grad":
                self._added.setdefault(moment.id, []).append(moment.at)
        for moment in first.moments:
            getattr(self, moment.kind)(moment)

    def begin(self, moment: RunMoment) -> None:
        """Begin a backward pass: nothing flows yet."""
        self._flowing.clear()
        self._came.clear()
        self._went.clear()

    def _other(self, moment: RunMoment, rows: str) -> Any:
        """Return the same of the second run; None if it has no such place, or this happened there less often."""
        two = self.pairs.there.get(moment.id)
        there = getattr(self.runs[1], rows).get(two, []) if two is not None else []
        return there[moment.count] if moment.count < len(there) else None

    def _gradient(self, moment: RunMoment, origin: DiffOrigin, cause: DiffOrigin | None, share: float) -> None:
        """Note a gradient that differs: as an origin, or as a consequence of the cause."""
        is_new = cause is None
        cause = self.blamed(origin, share) if cause is None else cause
        if self.first_gradient is None:
            self.first_gradient = origin
            origin.of = None if cause is origin else cause
        elif not is_new and moment.kind != "sent":  # what is sent arrives
            self.counts.gradients += 1
        self._flowing[moment.id] = cause

    def _of(
        self, kind: str, moment: RunMoment, apart: Apart, values: Any, nr: int = 0, given: float = 0.0
    ) -> DiffOrigin:
        two = self.pairs.there[moment.id]
        return DiffOrigin(kind, moment.id, two, moment.at, apart, values, nr, given, is_backward=True)

    def _first_apart(
        self, mine: Grads, other: Grads, given: float, scale: float, carried: float
    ) -> tuple[int, Outcome, tuple[float, float]]:
        """Return the first gradients that differ, with how far all are apart."""
        first, most, gap = (-1, EXACT), 0.0, 0.0
        for nr, (one, two) in enumerate(zip(mine, other, strict=False)):
            if (one is None or two is None) and _is_zero(one) and _is_zero(two):
                continue  # no gradient is a gradient of zeros
            result = self.compare(one, two, given, scale, carried)
            most = max(most, given if result.is_unknown else result.share)
            gap = max(gap, carried / CARRIED if result.is_unknown else result.gap)
            if result.apart is not None and first[0] < 0:
                first = nr, result
        return *first, (most, gap)

    def _is_apart(self, mine: Grads, other: Grads) -> bool:
        """Return True if gradients differ by more than rounding, whatever they are the sums of."""
        pairs = zip(mine, other, strict=False)
        return any(compared(*pair, self.tolerance, 1.0).apart is not None for pair in pairs if None not in pair)

    def seed(self, moment: RunMoment) -> None:
        """Compare what a backward pass starts with."""
        nr, mine = self.runs[0].seeds[moment.id][moment.count]
        other = self._other(moment, "seeds")
        if other is not None and (apart := (result := self.compare(mine, other[1])).apart) is not None:
            self._gradient(moment, self._of("seed", moment, apart, (mine, other[1]), nr), None, result.share)

    def received(self, moment: RunMoment) -> None:
        """Compare the gradients that arrive at a node or a leaf."""
        one = moment.id
        if (other := self._other(moment, "received")) is None:
            return
        mine = self.runs[0].received[one][moment.count]
        users = self.runs[0].users.get(one, [])
        scale, given, carried = self._sent_by(users)
        nr, result, self._came[one] = self._first_apart(mine, other, given, scale, carried)
        if one in self._flowing:
            return
        cause = next((self._flowing[each] for each in users if each in self._flowing), None)
        if result.apart is None:
            if cause is not None and self._is_apart(mine, other):
                self._flowing[one] = cause
            return
        cause = cause or self._missing(one)
        hooks = [len(run.hooks.get(id, ())) for run, id in self.both(one, self.pairs.there[one])]
        kind = "gradient" if hooks[0] == hooks[1] else "hook"
        origin = self._of(kind, moment, result.apart, (mine[nr], other[nr]), nr, given)
        self._gradient(moment, origin, cause, result.share)

    def _missing(self, one: str) -> DiffOrigin | None:
        """Return the operations of one run alone that send a gradient to a place, or why one sends none."""
        for side, id in ((0, one), (1, self.pairs.there[one])):
            for each in self.runs[side].users.get(id, ()):
                if (group := self.group_of(side, each)) is not None:
                    return group
        received = [run.received for run in self.runs]
        for each in self.runs[0].users.get(one, ()):
            there = self.pairs.there.get(each, "")
            if len(received[0].get(each, ())) != len(received[1].get(there, ())):
                return next((each for each in reversed(self.found) if each.kind == "missing"), None)
        return None

    def _sent_by(self, users: Sequence[str]) -> tuple[float, float, float]:
        """Return what nodes sent: how large it is, the share by which it is apart, and what that adds up to."""
        sent = [self.runs[0].sent[each][-1] for each in users if each in self.runs[0].sent]
        went = [self._went[each] for each in users if each in self._went]
        scale = max([largest_of(each) for row in sent for each in row], default=0.0)
        return scale, max([share for share, _ in went], default=0.0), CARRIED * sum([gap for _, gap in went])

    def sent(self, moment: RunMoment) -> None:
        """Compare the gradients that a node sends."""
        one = moment.id
        if (other := self._other(moment, "sent")) is None or one not in self.runs[0].frame.nodes:
            return
        two = self.pairs.there[one]
        mine = self.runs[0].sent[one][moment.count]
        ours = self.runs[0].inputs[one]
        received = self.runs[0].received.get(one, [()])[-1]
        sizes = [size for each in ours if (size := factor_of(each.value))]
        multiplies = len(sizes) > 1 and not self.runs[0].names[one].startswith(_NO_FACTORS)
        inner = max(1.0, *sizes) if multiplies else 1.0
        came = max([largest_of(each) for each in received], default=0.0)
        gain = max([largest_of(each) for each in mine], default=0.0) / came if came else 1.0
        share, gap = self._came.get(one, (0.0, 0.0))
        given = max([share, self.share[0].get(one, 0.0), *[self.share[0].get(each.id, 0.0) for each in ours]])
        carried = CARRIED * (gap * max(inner, gain) + came * self._saved_gap(one, gain))
        travelling = self._travelling(one, two, mine, other)
        nr, result, self._went[one] = self._first_apart(*travelling, given, came * inner, carried)
        if result.apart is None:
            if not self._is_apart(*travelling):
                self._flowing.pop(one, None)  # what it received made no difference
            return
        cause = self._flowing.get(one) or self.touched.get(one) or self.state[0].get(one)
        kind = "gradient" if result.apart.kind != "missing" else "missing"
        origin = self._of(kind, moment, result.apart, (mine[nr], other[nr]), nr, given)
        origin.is_sent = True
        self._gradient(moment, origin, cause, result.share)
        if kind == "missing":
            for run, id in self.both(one, two):
                if (target := run.edges(id)[nr].target) is not None:
                    leaf = target if run is self.runs[0] else self.pairs.back.get(target, target)
                    self.owed.setdefault(leaf, self._flowing[one])

    def _saved_gap(self, one: str, gain: float) -> float:
        """Return how far apart the factors are by which a node multiplies, because what it saved is."""
        found = 0.0
        values = [(each.id, each.value) for each in self.runs[0].inputs[one]]
        for id, value in [*values, *[(one, value) for value in self.runs[0].outputs[one].values()]]:
            if gap := self.gap.get(id, 0.0):
                found = max(found, gap * max(1.0, gain / (largest_of(value) or 1.0)))
        return found

    def _travelling(self, one: str, two: str, mine: Grads, other: Grads) -> tuple[Grads, Grads]:
        """Return the gradients without those that have nowhere to go."""
        edges = [run.edges(id) for run, id in self.both(one, two)]
        goes = [a.target is not None or b.target is not None for a, b in zip(*edges, strict=False)]
        left, right = (
            tuple([grad if is_going else None for grad, is_going in zip(grads, goes, strict=False)])
            for grads in (mine, other)
        )
        return left, right

    def grad(self, moment: RunMoment) -> None:
        """Compare a leaf's `.grad` after something was added to it."""
        one = moment.id
        mine, other = self.runs[0].grads[one][moment.count], self._other(moment, "grads")
        if mine is None or other is None:
            return
        users = self.runs[0].users.get(one, [])
        share, gap = self._came.get(one, (0.0, 0.0))
        given = max(share, self.owed_share.get(one, 0.0) if moment.count else 0.0)
        carried = CARRIED * (gap + (self._owed_gap.get(one, 0.0) if moment.count else 0.0))
        scale, _, _ = self._sent_by(users)
        self._summed[one] = max(scale, self._summed.get(one, (0.0, 0.0))[0] if moment.count else 0.0), mine.norm
        # What was just judged is not judged again: a sum that canceled has no scale of its own.
        result = compared(mine, other, self.tolerance, given, scale, carried)
        is_same = share > 0 and one not in self._flowing and mine == self.runs[0].received[one][-1][0]
        result = Outcome(result.share, gap=gap) if is_same and result.apart is not None else result
        self.owed_share[one], self._owed_gap[one] = result.share, result.gap
        if result.apart is not None:
            origin = self._of("accumulation", moment, result.apart, (mine, other), 0, given)
            self._gradient(moment, origin, self._flowing.get(one) or self.owed.get(one), result.share)
            self.owed[one] = self._flowing[one]
        elif not result.is_unknown:
            self.owed.pop(one, None)

    def captured(self, moment: RunMoment) -> None:
        """Compare a gradient that was handed to the caller."""
        nr, mine = self.runs[0].captured[moment.id][moment.count]
        if (other := self._other(moment, "captured")) is None:
            return
        users = self.runs[0].users.get(moment.id, [])
        scale, given, carried = self._sent_by(users)
        result = self.compare(mine, other[1], given, scale, carried)
        if result.apart is not None:
            cause = next((self._flowing[each] for each in users if each in self._flowing), None)
            origin = self._of("gradient", moment, result.apart, (mine, other[1]), nr, given)
            cause = self._flowing.get(moment.id) or cause or self._missing(moment.id)
            self._gradient(moment, origin, cause, result.share)

    def hook(self, moment: RunMoment) -> None:
        """Compare what a hook made of the same gradients."""
        mine, other = self.runs[0].hooks[moment.id][moment.count], self._other(moment, "hooks")
        if other is None:
            return
        nr, before, (given, gap) = self._first_apart(mine.before, other.before, 0.0, 0.0, 0.0)
        nr, after, _ = self._first_apart(mine.after, other.after, given, 0.0, CARRIED * gap)
        if before.apart is None and after.apart is not None:
            origin = self._of("hook", moment, after.apart, (mine.after[nr], other.after[nr]), nr, given)
            self._gradient(moment, origin, None, after.share)

    def set(self, moment: RunMoment) -> None:
        """Compare what the program writes into a `.grad`; if only the first writes, compare with what it was."""
        one = moment.id
        if (two := self.pairs.there.get(one)) is None:
            return
        mine = self.runs[0].sets[one][moment.count]
        rows = self.runs[1].sets.get(two, [])
        if moment.count < len(rows):
            theirs: Value | None = rows[moment.count].value
        else:
            before = sum(at < moment.at for at in self._added.get(one, ()))
            grads = self.runs[1].grads.get(two, [])
            theirs = grads[before - 1] if 0 < before <= len(grads) else None
        if theirs is None:
            return
        given = self.owed_share.get(one, 0.0)
        scale, norm = self._summed.get(one, (0.0, 0.0))
        scale = scale * mine.value.norm / norm if norm else scale  # it is perhaps clipped
        scale, carried = max(scale, largest_of(mine.value)), CARRIED * self._owed_gap.get(one, 0.0)
        result = self.compare(mine.value, theirs, given, scale, carried)
        self.owed_share[one], self._owed_gap[one] = result.share, result.gap
        if result.apart is not None:
            origin = self._of("set", moment, result.apart, (mine.value, theirs), moment.count, given)
            self._gradient(moment, origin, self.owed.get(one), result.share)
            self.owed[one] = self._flowing[one]
        elif not result.is_unknown:
            self.owed.pop(one, None)

    def only_second_sets(self, one: str, two: str, at: int) -> DiffOrigin | None:
        """Return the write into a `.grad` that only the second run has, as the origin of what an optimizer writes."""
        rows, grads = self.runs[1].sets.get(two, []), self.runs[0].grads.get(one, [])
        if len(rows) <= len(self.runs[0].sets.get(one, ())) or not grads:
            return None
        mine = grads[max(0, sum(each < at for each in self._added.get(one, ())) - 1)]
        result = self.compare(mine, rows[0].value)
        if result.apart is None:
            return None
        origin = DiffOrigin("set", one, two, at, result.apart, (mine, rows[0].value), -1, is_backward=True)
        self.first_gradient = self.first_gradient or origin
        return self.add(origin)


def _is_zero(grad: Value | None) -> bool:
    return grad is None or (grad.norm == 0 and not grad.nonfinite)
