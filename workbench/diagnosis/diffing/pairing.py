"""The operations and leaves of one trace in the places of those of another: by structure, not by what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...pictures.trace.alignment import opcodes
from ...pictures.trace.frame import TensorState
from .closeness import Tolerance, compared
from .run import Operand, RecordedRun

_EQUAL = Tolerance(0.0, 0.0)


class Pairs:
    """Which operations and tensors of two runs are compared with each other.

    Operations are paired by their kind and order. What only one run has is in `alone`. Leaves and data are paired
    by name, and the others as they are used by paired operations: see `inputs`.
    """

    def __init__(self, first: RecordedRun, second: RecordedRun) -> None:
        self.first, self.second = first, second
        self.there: dict[str, str] = {}  # operation or tensor of the first -> that of the second
        self.back: dict[str, str] = {}
        self.replaced: dict[str, str] = {}  # the pairs of different kinds
        self._operations()
        self._named()

    def _pair(self, one: str, two: str) -> None:
        self.there[one], self.back[two] = two, one

    def _pair_all(self, ones: Sequence[str], twos: Sequence[str]) -> None:
        for one, two in zip(ones, twos, strict=True):
            self._pair(one, two)

    @staticmethod
    def _sign(run: RecordedRun, id: str) -> tuple[str, str, str]:
        """Return the kind of an operation, its module and the text of its line."""
        made = run.made(id)
        return run.names[id], getattr(made, "scope", None) or "", made.source.text if made.source else ""

    def _operations(self) -> None:
        ours, theirs = self.first.operations, self.second.operations
        blocks: list[tuple[int, int, int, int]] = []  # where they differ
        # First by kind, module and line, so that of two alike the right one is found; then by kind alone.
        signs = [[self._sign(run, id) for id in run.operations] for run in (self.first, self.second)]
        for tag, i, to_i, j, to_j in opcodes(*signs):
            if tag == "equal":
                self._pair_all(ours[i:to_i], theirs[j:to_j])
                continue
            names = [self.first.names[id] for id in ours[i:to_i]], [self.second.names[id] for id in theirs[j:to_j]]
            for inner, k, to_k, n, to_n in opcodes(*names):
                if inner == "equal":
                    self._pair_all(ours[i + k : i + to_k], theirs[j + n : j + to_n])
                else:
                    blocks.append((i + k, i + to_k, j + n, j + to_n))
        self._moved()
        for i, to_i, j, to_j in blocks:  # one operation in the place of another
            left = [id for id in ours[i:to_i] if id not in self.there]
            right = [id for id in theirs[j:to_j] if id not in self.back]
            if len(left) == len(right):
                self._pair_all(left, right)
                self.replaced |= dict(zip(left, right, strict=True))

    def _moved(self) -> None:
        """Pair operations that both have equally often, in another order."""
        left, right = (
            self._by_place(run, (id for id in run.operations if id not in known))
            for run, known in ((self.first, self.there), (self.second, self.back))
        )
        for place, ids in left.items():
            if len(ids) == len(right.get(place, ())):
                self._pair_all(ids, right[place])

    @staticmethod
    def _by_place(run: RecordedRun, ids: Iterable[str]) -> dict[object, list[str]]:
        found: dict[object, list[str]] = {}
        for id in ids:
            shapes = tuple([value.shape for _, value in sorted(run.outputs.get(id, {}).items())])
            found.setdefault((run.names[id], shapes), []).append(id)
        return found

    def _named(self) -> None:
        """Pair leaves of the same name, if there is one of that name on each side."""
        names = [_unique(run.frame.tensors.values()) for run in (self.first, self.second)]
        for name, one in names[0].items():
            if (two := names[1].get(name)) is not None:
                self._pair(one, two)

    def inputs(self, one: str, two: str) -> Iterator[tuple[Operand, Operand]]:
        """Yield the leaves and data that two paired operations use in the same place.

        Those without a pair are matched by name, then by shape, equal ones first: engines may list them in another
        order. A leaf then keeps its pair.
        """
        left = [each for each in self.first.inputs[one] if each.is_data]
        right = [each for each in self.second.inputs[two] if each.is_data]
        for mine in list(left):
            if (other := self.there.get(mine.id)) is not None:
                left.remove(mine)
                for each in [each for each in right if each.id == other]:
                    right.remove(each)
                    yield mine, each
                    break
        right = [each for each in right if each.id not in self.back]
        for is_match in (self._same_name, _same_value, _same_shape):
            for mine in list(left):
                if (each := next((each for each in right if is_match(mine, each)), None)) is not None:
                    left.remove(mine)
                    right.remove(each)
                    if self._is_leaf(mine, each):
                        self._pair(mine.id, each.id)
                    yield mine, each

    def _same_name(self, mine: Operand, other: Operand) -> bool:
        name = self.first.name_of(mine.id)
        return name is not None and name == self.second.name_of(other.id)

    def _is_leaf(self, mine: Operand, other: Operand) -> bool:
        return all(run.frame.tensors[each.id].requires_grad for run, each in ((self.first, mine), (self.second, other)))

    @property
    def alone(self) -> tuple[list[str], list[str]]:
        """Return the operations that only one run has, in their order."""
        sides = (self.first, self.there), (self.second, self.back)
        one, two = ([id for id in run.operations if id not in known] for run, known in sides)
        return one, two


def _same_value(mine: Operand, other: Operand) -> bool:
    return mine.value is not None and compared(mine.value, other.value, _EQUAL).is_exact


def _same_shape(mine: Operand, other: Operand) -> bool:
    return mine.value is not None and other.value is not None and mine.value.shape == other.value.shape


def _unique(tensors: Iterable[TensorState]) -> dict[str, str]:
    """Return the leaves with a name that no other leaf has, by that name."""
    found: dict[str, list[str]] = {}
    for each in tensors:
        if each.name is not None and each.node is None and each.requires_grad:
            found.setdefault(each.name, []).append(each.id)
    return {name: ids[0] for name, ids in found.items() if len(ids) == 1}
