"""Two runs followed forward: inputs, the results of operations, and writes."""

from __future__ import annotations

from ...pictures.trace.values import Value
from .closeness import CARRIED, compared, factor_of, largest_of
from .origins import ROUNDING, VIEWS, DiffOrigin, Walk
from .run import RunMoment

# Operations that multiply two arrays and sum the products.
_PRODUCTS = ("Addmm", "Mm", "Bmm", "Baddbmm", "Addmv", "Mv", "Dot", "Convolution", "Linear", "Einsum")
# Operations whose results have the precision of each single input: nothing is summed.
_EACH_ALONE = ("Mul", "Div", "Pow", "Exp", "Neg", "Relu", "Sqrt", "Tanh", "Sigmoid", "Abs", "Clamp")


class Forward(Walk):
    """What differs forward.

    `touched` says of an operation why its inputs or its result differ, and `owed` of a leaf why its `.grad` does.
    """

    touched: dict[str, DiffOrigin]
    owed: dict[str, DiffOrigin]
    owed_share: dict[str, float]
    seen: dict[tuple[str, str], tuple[Value | None, Value | None]]  # the inputs, as they were last compared
    next = 0  # operation of the second run

    def operation(self, moment: RunMoment) -> None:
        """Compare what an operation gets and gives."""
        one = moment.id
        if (two := self.pairs.there.get(one)) is None:
            self._only_one_has(0, one)
            return
        self._catch_up(two)
        self._inputs(one, two, moment.at)
        cause = self._why(0, one) or self._why(1, two)
        if cause is not None:
            self.touched[one] = cause
        self._outputs(one, two, moment.at, cause)

    def _why(self, side: int, id: str) -> DiffOrigin | None:
        """Return why the inputs of an operation differ, as far as that is known; rounding only if nothing else is."""
        causes = [self.state[side].get(each.id) for each in self.runs[side].inputs[id]]
        known = [each for each in causes if each is not None]
        return min(known, key=lambda each: each.kind == ROUNDING, default=None)

    def _catch_up(self, two: str) -> None:
        """Note the operations of the second run before this one that the first doesn't have."""
        operations = self.runs[1].operations
        while self.next < len(operations) and operations[self.next] not in self.pairs.back:
            self._only_one_has(1, operations[self.next])
            self.next += 1
        if self.next < len(operations) and operations[self.next] == two:
            self.next += 1

    def _only_one_has(self, side: int, id: str) -> None:
        cause = self._why(side, id) or self.group_of(side, id)
        if cause is not None:
            self.state[side][id] = cause

    def _inputs(self, one: str, two: str, at: int) -> None:
        """Compare the leaves and data that two operations use."""
        for mine, other in self.pairs.inputs(one, two):
            ends = [*self._ends(0, mine.id), mine.id]
            drifted = max([self.owed_share.get(mine.id, 0.0), *[self.share[0].get(end, 0.0) for end in ends]])
            pair = mine.value, other.value
            if self._is_stale(mine.id, other.id, pair):
                continue
            size = largest_of(mine.value) if drifted else 0.0
            result = self.compare(*pair, drifted, size, self._carried(mine.value, drifted))
            self.share[0][mine.id] = self.share[1][other.id] = result.share
            self.gap[mine.id] = result.gap
            if result.apart is not None:
                if mine.id not in self.state[0]:
                    cause = self._cut_before(0, mine.id) or self._cut_before(1, other.id) or self.owed.get(mine.id)
                    if cause is None:
                        counts = [len(run.writes.get(id, ())) for run, id in self.both(mine.id, other.id)]
                        kind = "input" if counts[0] == counts[1] else "write"
                        cause = self.add(DiffOrigin(kind, mine.id, other.id, at, result.apart, pair, -1))
                    self.state[0][mine.id] = self.state[1][other.id] = cause
            elif not result.is_unknown:
                self.state[0].pop(mine.id, None)
                self.state[1].pop(other.id, None)

    def _carried(self, value: Value | None, drifted: float) -> float:
        """Return how far apart what is computed from drifted values may be; real differences excuse nothing."""
        is_rounding = value is not None and drifted <= self.tolerance.of(value.dtype, value.dtype, 1.0)
        return CARRIED * drifted * largest_of(value) if is_rounding else 0.0

    def _is_stale(self, one: str, two: str, pair: tuple[Value | None, Value | None]) -> bool:
        """Return True if only one run shows a change of a tensor, which no write explains, such as a running mean."""
        before, self.seen[one, two] = self.seen.get((one, two)), pair
        if before is None:
            return False
        changed = [now != then for now, then in zip(pair, before, strict=True)]
        return changed[0] != changed[1] and not any(run.writes.get(id) for run, id in self.both(one, two))

    def _cut_before(self, side: int, id: str) -> DiffOrigin | None:
        """Return why what data was computed from differs, such as what was detached."""
        return next((self.state[side][end] for end in self._ends(side, id) if end in self.state[side]), None)

    def _ends(self, side: int, id: str) -> list[str]:
        """Return what data was computed from, as far as that is known."""
        run = self.runs[side]
        tensor = run.frame.tensors.get(id)
        if tensor is None:
            return []
        ends = [*(tensor.cut.ends if tensor.cut is not None else ())]
        if tensor.base is not None and tensor.base in run.frame.tensors:
            ends += [tensor.base, run.frame.tensors[tensor.base].node or tensor.base]
        return ends

    def given(self, one: str, two: str) -> float:
        """Return how far apart is what two operations were given; inf if it isn't the same in number and shape."""
        shares = self.share[0]
        left, right = self.runs[0].inputs[one], self.runs[1].inputs[two]
        matched = {self.pairs.there.get(each.id, each.id) for each in left} == {each.id for each in right}
        if matched and all(each.id in shares for each in left):
            return max([shares[each.id] for each in left], default=0.0)
        data = [each.id for each in left if each.is_data and each.id in shares]
        if len(left) != len(right):
            known = [shares[each.id] for each in left if each.id in shares]
            return max(known) if len(known) == len(left) or (known and len(data) == len(known)) else float("inf")
        found = [0.0]
        others = [each.value for each in right]
        for each in left:
            if not others or each.value is None:
                return float("inf")
            results = [compared(each.value, other, self.tolerance, 1.0) for other in others]
            best = min(range(len(others)), key=lambda at: results[at].share if results[at].apart is None else 1e300)
            if results[best].apart is not None:  # it gets something else
                return float("inf")
            found.append(results[best].share)
            others.pop(best)
        return max(found)

    def _outputs(self, one: str, two: str, at: int, cause: DiffOrigin | None) -> None:
        ours, theirs = self.runs[0].outputs.get(one, {}), self.runs[1].outputs.get(two, {})
        given = self.given(one, two)
        scale, both = self._scale(one), sorted(ours.keys() & theirs.keys())
        rows = [(nr, self.compare(ours[nr], theirs[nr], given, scale, self._grown(one, ours[nr]))) for nr in both]
        known = [result for _, result in rows if not result.is_unknown]
        if self.runs[0].names[one].partition("Backward")[0] in VIEWS:
            self.counts.unknown -= len(rows) - len(known)
        share = max([each.share for each in known], default=given)  # an unknown result is as its inputs are
        self.share[0][one] = self.share[1][two] = share
        own = self._grown(one, None) / CARRIED if not known else 0.0
        self.gap[one] = max([own, *[each.gap for each in known]])
        differs = next(((nr, result.apart) for nr, result in rows if result.apart is not None), None)
        if differs is None or differs[1] is None:
            if self.first_inexact is None and known and share > 0 and given == 0:
                self.first_inexact = one, two
            for side, id in ((0, one), (1, two)):
                if not known and cause is not None:
                    self.state[side][id] = cause
                else:
                    self.state[side].pop(id, None)
            return
        nr, apart = differs
        values = ours[nr], theirs[nr]
        close = given <= self.tolerance.of(values[0].dtype, values[1].dtype, 1.0)
        is_rounded = cause is not None and cause.kind == ROUNDING and given < float("inf")
        if cause is None or is_rounded or (close and cause.kind == "only here" and not cause.has_effect):
            kind = "replaced" if one in self.pairs.replaced else "operation"
            cause = self.blamed(DiffOrigin(kind, one, two, at, apart, values, nr, given), share)
            self.touched[one] = cause
        elif cause.kind == "only here" and not cause.has_effect:
            cause.apart, cause.values, cause.nr, cause.shown, cause.shown_at = apart, values, nr, (one, two), at
            self.add(cause)
        else:
            self.counts.operations += 1
        self.state[0][one] = self.state[1][two] = cause

    def _grown(self, one: str, result: Value | None) -> float:
        """Return how far apart results may be because the inputs are: each by its gap times what multiplies it."""
        inputs, name = self.runs[0].inputs[one], self.runs[0].names[one]
        sizes, out, found = [factor_of(each.value) for each in inputs], largest_of(result), 0.0
        multiplies = name.startswith((*_PRODUCTS, "Mul"))
        for at, each in enumerate(inputs):
            if gap := self.gap.get(each.id, 0.0):
                others = [size for index, size in enumerate(sizes) if index != at] if multiplies else []
                gain = out / sizes[at] if sizes[at] else 0.0
                found += gap * max([1.0, gain, *others])
        return CARRIED * found

    def _scale(self, one: str) -> float:
        """Return how large the numbers are that an operation may have summed."""
        name = self.runs[0].names[one]
        if name.startswith(_EACH_ALONE):
            return 0.0
        sizes = sorted([factor_of(each.value) for each in self.runs[0].inputs[one]], reverse=True)
        if name.startswith(_PRODUCTS) and len(sizes) > 1:
            return max(sizes[0], sizes[0] * sizes[1])
        return sizes[0] if sizes else 0.0

    def write(self, moment: RunMoment) -> None:
        """Compare a write into a leaf, such as an optimizer's."""
        one = moment.id
        two = self.pairs.there.get(one)
        rows = self.runs[1].writes.get(two, []) if two is not None else []
        if two is None or moment.count >= len(rows):
            if (cause := self.owed.get(one)) is not None:  # only the first has a gradient
                self.state[0][one] = cause
            return
        mine, other = self.runs[0].writes[one][moment.count], rows[moment.count]
        given = max(self.owed_share.get(one, 0.0), self.share[0].get(one, 0.0))
        carried = self._carried(mine.value, given)
        result = self.compare(mine.value, other.value, given, largest_of(mine.value), carried)
        self.share[0][one] = self.share[1][two] = result.share
        self.gap[one] = result.gap
        if result.apart is not None:
            cause = self.owed.get(one) or self.state[0].get(one) or self.only_second_sets(one, two, moment.at)
            if cause is None:
                values = mine.value, other.value
                origin = DiffOrigin("write", one, two, moment.at, result.apart, values, moment.count, given)
                # An adaptive optimizer makes much of small differences between gradients near zero.
                cause = self.blamed(origin, min(given, result.share) if result.share < float("inf") else result.share)
            elif cause.kind != "set" or cause.at != moment.at:
                self.counts.writes += 1
            self.state[0][one] = self.state[1][two] = cause
        elif not result.is_unknown:
            self.state[0].pop(one, None)
            self.state[1].pop(two, None)

    def only_second_sets(self, one: str, two: str, at: int) -> DiffOrigin | None:
        """Return the write into a `.grad` that only the second run has."""
        raise NotImplementedError
