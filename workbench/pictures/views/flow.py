"""Gradient flow: how large what travels is and which sign it has, where it adds up, and where it is summed."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ..scene.metric import LABEL_COLUMNS, TEXT_COLUMNS, columns
from ..scene.model import ArrowTone
from ..trace.backward_records import BackwardStarted, NodeFinished
from ..trace.frame import EdgeState, Frame, Key
from ..trace.schema import Record
from ..trace.values import Value, series
from .gradient_totals import total_of
from .graph import Drawing, Graph
from .gray_inputs import is_gray
from .value_display import norm_of, text_of, whole

LEGEND = "Arrow width shows gradient size; a leaf's grad is the sum of its arrows, not counting the pale ones."
SHARED = "Arrow width shows gradient size; a leaf's grad sums its arrows and its other uses, not counting pale ones."
_VANISHING = 1e-4  # of the seed: less is said to vanish
# Edges to what is added to, or multiplies, numbers of the usual size: their gradients are sums of what the node
# received. One that is as small as the rounding of such a sum is zero but for that.
_SUMS = {
    "add": (0, 1),
    "sub": (0, 1),
    "expand": (0,),
    "addmm": (0,),
    "convolution": (2,),
    "native_batch_norm": (1, 2),
    "native_layer_norm": (1, 2),
    "native_group_norm": (1, 2),
}
_EPSILON = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
_ROUNDING = 4.0  # times the rounding of one sum: what is summed was rounded before
_RECEIVED = "received "
_NEARLY_ZERO = "zero up to rounding"
_MODULES = 8  # whose gradients are shown one by one in a closed group
_TERMS = 4  # gradients that are shown one by one where they add up
# Operations that repeat a smaller operand, so that its gradient is a sum. (Others of these shapes, such as matrix
# products, are no plain sums, and `cat` is none at all.)
_REPEATS = {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "where", "addmm", "expand", "copy"}


class Flow(Graph):
    """The graph with gradients in the foreground: the width of an arrow shows the size of its gradient.

    It leaves out saved tensors and data that need no gradient, except data upstream of a cut and inputs of transforms.
    """

    legend = LEGEND
    shared_legend = SHARED
    shows_gradients = True

    def __init__(self, events: Iterable[Record]) -> None:
        events = list(events)
        super().__init__(events)
        seeds = [root.seed for event in events if isinstance(event, BackwardStarted) for root in event.roots]
        sent = [grad for event in events if isinstance(event, NodeFinished) for grad in event.grads]
        norms = [norm for norm in map(_norm, seeds) if norm]
        self._seed = min(norms, default=0.0)
        norms += [norm for norm in map(_norm, sent) if norm >= _VANISHING * self._seed and norm]
        self._largest = max(norms, default=1.0)
        # Four breadths: a little more than the same is already broader, and the largest is at the broad end.
        whole = math.log(self._largest) - math.log(min(norms, default=1.0))
        self._ratio = max(math.log(1.5), whole / 4)

    def title_of(self, names: Sequence[str]) -> str:
        """Return the title of a picture of the gradients of what these variables hold."""
        return f"Gradient flow of {series(names)}" if names else "Gradient flow"

    def draw(self, frame: Frame, keys: Iterable[Key]) -> Drawing:
        """Return the boxes and arrows of the frame's `keys`, as they are now."""
        boxes, arrows = super().draw(frame, keys)
        boxes = [box for box in boxes if box.kind not in ("saved", "constant") or self._shows_data(frame, box.id)]
        arrows = [arrow for arrow in arrows if arrow.kind != "same"]
        for box in boxes:
            if box.id in frame.nodes or (box.id in frame.tensors and box.kind == "leaf"):
                box.lines += (*self._rest(frame, box.id), *self._added(frame, box.id), *self._remade(frame, box.id))
                box.lines += tuple(self._warnings(frame, box.id))
        for arrow in arrows:
            edge = frame.edges.get(arrow.id)
            if edge is not None and edge.state != "idle" and edge.grad is not None:
                word = self._word(edge.grad, _rounding(frame, arrow.id))
                arrow.weight, arrow.tone = self._weight(edge.grad, word), self._tone(edge.grad, word)
                if edge.lost:
                    arrow.weight, arrow.tone = 1, "faint"
                arrow.label = self._label(frame, arrow.id, edge, edge.grad, word)
                arrow.brief = self._label(frame, arrow.id, edge, edge.grad, word, brief=True) if arrow.brief else None
            if edge is not None and (earlier := self._earlier(edge)):
                arrow.label = "\n".join(filter(None, [arrow.label, earlier]))
                arrow.brief = None if arrow.brief is None else f"{arrow.brief}\n{earlier}"
        return boxes, arrows

    def shows(self, frame: Frame, edge: EdgeState) -> bool:
        """Return True if an edge is part of the story: data are upstream of a cut, and where transforms take them."""
        data = (edge.target or "") if edge.kind == "cut" else edge.source
        return edge.kind in ("gradient", "seed") or self._shows_data(frame, data)

    def _shows_data(self, frame: Frame, id: str) -> bool:
        if id not in frame.tensors or is_gray(frame.tensors[id]):
            return False
        return self.transformed or f"{id}.cut" in frame.edges

    def remarks(self, frame: Frame) -> list[str]:
        """Return what the graph's captions leave out: where gradients add up, and where one is summed."""
        sentences: list[str] = []
        for kind, id in frame.touched:
            if kind == "edge":
                edge = frame.edges[id]
                if edge.state == "flowing" and (summed := _summed(frame, edge)):
                    sentences.append(
                        f"the gradient for {frame.describe(edge.source)} is {summed}, because the value was broadcast"
                    )
            elif kind in ("node", "tensor"):
                arriving = any(edge.state == "flowing" for edge in frame.arrivals(id))
                if arriving and (lines := self._added(frame, id)):
                    sentences.append(f"{frame.describe(id)} has received {' '.join(lines).removeprefix(_RECEIVED)}")
        return sentences

    def of_leaves(self, frame: Frame, ids: Collection[str]) -> list[str]:
        """Return the norms of the gradients of the leaves in a closed group, and of each module's parameters."""
        norms: dict[str, list[float]] = {}
        for id in ids:
            if (grad := frame.tensors[id].grad) is not None:
                norms.setdefault((frame.tensors[id].name or "").rpartition(".")[0], []).append(grad.norm)
        if not norms:
            return []
        modules = [f"{module or 'others'} {norm_of(math.hypot(*several))}" for module, several in norms.items()]
        modules = [each.replace(" ", "\xa0") for each in modules]
        lines = textwrap.wrap(", ".join(modules), TEXT_COLUMNS) if 1 < len(modules) <= _MODULES else []
        parts = [line.replace("\xa0", " ") for line in lines]
        return [f"grad {norm_of(math.hypot(*[norm for several in norms.values() for norm in several]))}", *parts]

    def _added(self, frame: Frame, id: str) -> list[str]:
        """Return what has arrived at a fork so far and its sum, for each output of a node."""
        place = frame.place(id)
        came: dict[int, list[Value]] = {}
        for edge in frame.arrivals(id):
            if edge.grad is not None:
                came.setdefault(edge.output_nr, []).append(edge.grad)
        waiting = place.waiting if place.state == "pending" else 0
        lines = []
        for nr, grads in sorted(came.items()):
            if len(grads) > 1:
                lines += self._say(_addition, _RECEIVED.strip() if len(came) == 1 else f"for output {nr}:", *grads)
            elif waiting:
                lines.append(f"{_RECEIVED}{self._say(text_of, grads[0], TEXT_COLUMNS - 9)}")
        return [*lines, f"({waiting} more to come)"] if waiting else lines

    def lost(self, frame: Frame, keys: Iterable[str]) -> list[str]:
        """Why what edges brought is no part of any `.grad`, and how many of them that is true of."""
        edges = [frame.edges[key] for key in keys]
        why = Counter(edge.lost for edge in edges if edge.lost)
        return [words if count == len(edges) else f"{count} of these {words}" for words, count in why.items()]

    def _earlier(self, edge: EdgeState) -> str:
        """Return what an arrow brought in earlier backward passes, if `.grad` still holds it."""
        own = edge.state != "idle" and bool(edge.kept) and edge.kept[-1] is edge.grad
        kept = edge.kept[: len(edge.kept) - own]
        if not kept:
            return ""
        total = total_of(kept)
        text = f"{len(kept)} gradients" if total is None else self._say(text_of, total, LABEL_COLUMNS - 10)
        return f"+ {text} earlier" if edge.state != "idle" else f"{text} earlier"

    def _rest(self, frame: Frame, id: str) -> list[str]:
        """Return what a leaf's `.grad` holds that no arrow brought."""
        if id in frame.nodes or (grad := frame.tensors[id].grad) is None:
            return []
        rest = frame.tensors[id].rest if frame.tensors[id].brought else grad
        return [f"includes {self._say(text_of, rest, TEXT_COLUMNS - 28)} from before"] if rest and rest.norm else []

    def _remade(self, frame: Frame, id: str) -> list[str]:
        """Return what hooks made of the gradients that a leaf's `.grad` holds."""
        if id in frame.nodes or frame.tensors[id].grad is None:
            return []
        made = [self._say(_made_of, before, after) for _, before, after in frame.tensors[id].remade]
        return made if len(made) <= _TERMS else [*made[:_TERMS], f"and {len(made) - _TERMS} more by hooks"]

    def _warnings(self, frame: Frame, id: str) -> list[str]:
        place = frame.place(id)
        came = [key for keys in [*place.came.values()][-1:] for key in keys]
        each = [_rounding(frame, key) for key in came]
        rounding = sum(each) if each and all(each) else 0.0
        words = [self._word(grad, rounding) for grad in place.received if grad is not None]
        worth = ("NOT FINITE", "VANISHING", _NEARLY_ZERO)
        return list(dict.fromkeys(f"gradient {word}" for word in words if word in worth))

    def _word(self, grad: Value, rounding: float = 0.0) -> str:
        """Return what is remarkable about a gradient, if anything; `rounding` is a norm that rounding can give."""
        if grad.nonfinite:
            return "NOT FINITE"
        if not grad.norm:
            return "zero" if math.prod(grad.shape) else ""
        if grad.norm >= _VANISHING * self._seed:
            return ""
        return _NEARLY_ZERO if grad.norm <= rounding else "VANISHING"

    def looks(self, grad: Value | None) -> tuple[int, ArrowTone]:
        """Return the width of a gradient's arrow, and its tone."""
        word = self._word(grad) if grad is not None else ""
        return (1, "mixed") if grad is None else (self._weight(grad, word), self._tone(grad, word))

    def _weight(self, grad: Value, word: str) -> int:
        if not math.isfinite(grad.norm):  # of numbers that are finite it may be too large for one
            return 4
        if word:
            return 1
        steps = (math.log(self._largest) - math.log(grad.norm or self._largest)) / self._ratio
        return math.ceil(min(4.0, max(1.0, 4 - steps - 1e-6)))  # a sum may be larger than any that was sent

    def _tone(self, grad: Value, word: str) -> ArrowTone:
        if grad.nonfinite:
            return "bad"
        if word or grad.min is None or grad.max is None:
            return "faint"
        if grad.is_complex:
            return "mixed"
        return "plus" if grad.min >= 0 else "minus" if grad.max <= 0 else "mixed"

    def _label(self, frame: Frame, key: str, edge: EdgeState, grad: Value, word: str, brief: bool = False) -> str:
        found = self.slopes(frame, key) if edge.state == "flowing" and not brief else None
        norm = norm_of(grad.norm) if grad.shape and grad.is_known else ""
        text = self._say(whole if norm else text_of, grad, LABEL_COLUMNS)
        lines = [
            found.label if found and found.product else text,
            ", ".join(filter(None, [norm, norm and _signs(grad)])),
        ]
        if found is not None and not found.product:
            short = f"{norm}  {found.label}"
            short = short if columns(short) <= LABEL_COLUMNS else found.label
            lines[1:] = [*lines[1:], found.label] if text else [short]
        which, told = self.which(edge), found is not None and "summed to" in found.label
        lines += ["" if told else _summed(frame, edge), word, which and f"for {which}", edge.lost]
        return "\n".join(filter(None, lines))


def _norm(grad: Value | None) -> float:
    return 0.0 if grad is None or not math.isfinite(grad.norm) else grad.norm


def _signs(grad: Value) -> str:
    """Return the signs of an array's values."""
    if grad.nonfinite or grad.min is None or grad.max is None or not grad.norm or grad.is_complex:
        return ""
    if grad.min >= 0:
        return "all positive" if grad.min > 0 else "none negative"
    return ("all negative" if grad.max < 0 else "none positive") if grad.max <= 0 else "both signs"


def _summed(frame: Frame, edge: EdgeState) -> str:
    """`(4, 3) summed to (3,)` where the node had repeated what it now sends a gradient to."""
    node = frame.nodes.get(edge.target or "")
    if node is None or edge.grad is None or node.made.operation not in _REPEATS or len(node.received) != 1:
        return ""
    before, after = node.received[0], edge.grad.shape
    if before is None or math.prod(after) >= math.prod(before.shape) or not _repeated(after, before.shape):
        return ""
    return f"{before.shape} summed to {after}"


def _rounding(frame: Frame, key: str) -> float:
    """Return the norm that rounding alone can give an edge's gradient, if it is the sum of what its node received."""
    edge = frame.edges[key]
    node = frame.nodes.get(edge.target or "")
    if node is None or edge.grad is None or len(node.received) < 1 or (before := node.received[0]) is None:
        return 0.0
    place = key.rpartition(".")[2]
    summed = place.isdigit() and int(place) in _SUMS.get(node.made.operation, ())
    times = math.prod(before.shape) / max(1, math.prod(edge.grad.shape))
    if not summed or times <= 1 or not before.dtype.startswith("float"):
        return 0.0
    return _ROUNDING * _EPSILON.get(before.dtype, 0.0) * math.sqrt(times) * before.norm


def _repeated(small: Sequence[int], large: Sequence[int]) -> bool:
    """Return True if an array of the one shape can be broadcast to the other."""
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(one in (1, other) for one, other in pairs)


def _made_of(before: Value | None, after: Value | None) -> str:
    """Return `a hook changed 4.0 to 8.0`."""
    room = (TEXT_COLUMNS - 19) // 2
    told = [each.text(line=room) if each is not None else "nothing" for each in (after, before)]
    if max(map(len, told)) > room:
        told = [norm_of(each.norm) if each is not None else "nothing" for each in (after, before)]
    return f"a hook changed {told[1]} to {told[0]}"


def _addition(start: str, *grads: Value) -> list[str]:
    """`received 1.0 + 3.0 = 4.0`, or one below the other where they are long."""
    total = total_of(grads)
    terms = [grad.text(line=TEXT_COLUMNS - 2) for grad in grads[:_TERMS]]
    if total is None or any(term.startswith(("from", "no")) for term in terms):
        norms = [norm_of(grad.norm) for grad in grads[:2]]
        told = series([*norms, f"{len(grads) - 2} more"] if len(grads) > 2 else norms)
        return [f"{start} {len(grads)} gradients:", told, *([f"their sum: {norm_of(total.norm)}"] if total else [])]
    result = total.text(line=TEXT_COLUMNS - 2)
    signed = [f"− {term[1:]}" if term.startswith("-") else f"+ {term}" for term in terms[1:]]
    line = " ".join([start, terms[0], *_with_rest(signed, len(grads) - _TERMS), "=", result])
    if columns(line) <= TEXT_COLUMNS:
        return [line]
    told = 2 if total.shape else _TERMS  # an array takes a line
    return [start, terms[0], *_with_rest(signed[: told - 1], len(grads) - told), f"= {result}"]


def _with_rest(signed: list[str], rest: int) -> list[str]:
    return [*signed, f"+ {rest} more"] if rest > 0 else signed
