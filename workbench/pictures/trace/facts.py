"""The facts that records consist of: a tensor, an edge, a saved tensor, a line of code as they were seen.

Every field has a type of JSON (ids, names, numbers, nested facts), so that a record outlives the engine and the
process. Ids count in order of arrival: nodes `n1`, tensors `t1`, backward tasks `b1`, levels `l1`, operations without a
node `o1`, checkpoints `k1`, storages `s1`. A leaf's id also refers to its AccumulateGrad node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .values import Value

Phase = Literal["forward", "backward", "update"]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's code; `file` is its base name, or `cell` in a notebook."""

    file: str
    line: int
    text: str


PartKind = Literal["scope", "loop", "round", "call", "expression"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the program's run: a scope, a loop, one iteration of it, a function call, one computed expression.

    Each has its own `key`: a module that is called twice has two parts. `number` is an iteration's, or that of the
    statement which calls a module or a function, or computes an expression: the same in all its parts. For a statement
    of several lines, an expression and a call have the text as `variable`; a call has the text of an assignment too. A
    module whose only name is its class's has a `variable` from the call: `D` of `D(x)`. `module` is a module's class,
    and `settings` its numbers: "stride 2, padding 1". An expression with a `module` is the call of that module, or of
    one around it: what was computed then has no expression of its own.
    """

    kind: PartKind
    key: int
    title: str
    number: int = 0
    variable: str = ""
    module: str = ""
    settings: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a gradient path ends: at an output of a node, or at a leaf (None: at one the trace doesn't know).

    The `word` is what ends it: `detach`, `data`, `no_grad`, or the dtype of a result without a gradient, which an
    `operation` gave. The paths of `others` end there too.
    """

    node: str | None
    output_nr: int
    word: str
    source: SourceLine | None
    operation: str = ""
    others: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[str, ...]:
        """Return all places where its path ends, as far as they are known."""
        return self.others if self.node is None else (self.node, *self.others)


@dataclass(frozen=True, slots=True)
class TensorSeen:
    """A tensor as it was: the node and output it came from (None for a leaf), its version, its `.grad`.

    In a function transform it is a tensor of a `level`, and represents one `below`. A view shows the memory of its
    `base`, and so does a detached tensor. One that takes no gradient may be downstream of a `cut`.
    """

    id: str
    name: str | None
    value: Value
    version: int
    requires_grad: bool
    node: str | None
    output_nr: int
    grad: Value | None
    level: str | None = None
    below: str | None = None
    base: str | None = None
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """Where an input's gradient goes: a node or leaf (None: none is needed), and which output of it."""

    target: str | None
    output_nr: int


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an operation: a tensor, or the text of anything else.

    The text of a tensor that is one of several in brackets is the text around it there: `({}`, `{})`.
    """

    tensor: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Packing:
    """How a hook changed what is saved: the hook, where it is defined, what it returned and instead of which tensor."""

    hook: str
    source: SourceLine | None
    kept: str
    tensor: str | None


@dataclass(frozen=True, slots=True)
class Storage:
    """Memory and its bytes: it has the id of the tensor that it was first saved for, or its own."""

    id: str
    size: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor saved for backward.

    Its value is given only if the trace doesn't know the tensor, or if the tensor has it only after the coming write.
    Something that a hook `packed` has the value of the hook's result, None if that isn't a tensor. The `storage` is
    given if the tensor, or its base, doesn't give it.
    """

    name: str
    tensor: str | None
    value: Value | None
    version: int
    packed: Packing | None = None
    storage: Storage | None = None


def is_slot(saved: Saved) -> bool:
    """Return True if nothing is saved, because a checkpoint will compute it again."""
    return saved.packed is not None and saved.packed.kept == "_Slot"


def tensor_of(saved: Saved) -> str | None:
    """Return the tensor to be saved, whatever is saved instead, if the trace knows it."""
    return saved.tensor or (saved.packed.tensor if saved.packed else None)


def as_kept(saved: Saved, name: str) -> str:
    """Return what is saved for a name: `x`, `a slot for x`, or `x packed by pack`."""
    if saved.packed is None:
        return name
    return f"a slot for {name}" if is_slot(saved) else f"{name} packed by {saved.packed.hook}"


@dataclass(frozen=True, slots=True)
class Attribute:
    """What forward put on `ctx` under a name: a tensor, an array, or the text of anything else."""

    name: str
    text: str
    tensor: str | None
    value: Value | None


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of source, or a formula, and what it is called."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Root:
    """The start of a backward pass: an output of a node (or a leaf), and its seed."""

    node: str
    output_nr: int
    seed: Value | None


@dataclass(frozen=True, slots=True)
class Called:
    """A function that the engine had called when an error came: what for, its name, and the line where it begins.

    The kinds are those of the advice for it. Without a name it is the engine's own code that refused.
    """

    kind: str
    name: str = ""
    source: SourceLine | None = None

    @property
    def is_outside(self) -> bool:
        """Return True if autograd had no part in the error: its `name` is a tensor, a layer or a line."""
        return self.kind.startswith(("no gradient", "outside"))


@dataclass(frozen=True, slots=True)
class Hook:
    """A function of the user's: of what kind, on which output of a node, its name, and the line it is defined in.

    It is called with a "tensor"'s gradient, "before" or "after" its node runs, or once a leaf has "accumulated";
    "retained" is what retain_grad keeps.
    """

    kind: str
    output_nr: int
    name: str
    source: SourceLine | None

    @property
    def title(self) -> str:
        """Return what it is, by PyTorch's own names."""
        return {
            "tensor": f"hook {self.name}",
            "before": f"pre-hook {self.name}",
            "after": f"post-hook {self.name}",
            "accumulated": f"post-accumulate hook {self.name}",
        }.get(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Tangent:
    """A tensor and its tangent; `node` computed the tangent, if it was recorded."""

    tensor: str
    value: Value
    node: str | None = None
