"""Declare an op: one statement gives its name, its forward on arrays and its derivative.

    sin = define("sin(Tensor self)", np.sin, kind="float", self="grad * cos(self)")

In the graph, its node is `SinBackward0`, as PyTorch's rule is; `node` names another one, such as `SumBackward1`.
`Tensor` marks an argument with an edge in the graph, `Kept` a tensor that a formula may read but that has none,
`Tensor[]` and `Kept[]` lists of these. Arguments after a `;` don't come from the caller, but are computed on the way:
such tensors are PyTorch's second results, and are saved after the others. The kinds:

| kind | operands get a common dtype | shapes are broadcast | integers become floating point |
|---|---|---|---|
| "pointwise" | yes | yes | no |
| "float" | yes | yes | yes |
| "tensors" | yes; numbers are refused | yes | no |
| "assign" | no: the result has the first one's | to the first one's | no |
| "view" | no | no | no; the result is a view of its first tensor |
| "views" | no | no | no; the result is several views of its first tensor |
| "product" | no | no | no; its operands' gradients, products by `mm`, have the operands' memory layout |
| "several" | no | no | no; the result is several new tensors, which have the names in `results` |
| "plain" | no | no | no |

A mark with `?` allows None. In the formulas of "views" and "several", `grad` is a list with None where no gradient
arrived. If formulas use `result1`, `result2`, forward returns these too, after its result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from ...autograd import state
from ...autograd.state import local
from ...autograd.tensor import Tensor
from . import codegen, nodes
from .checks import not_a_tensor
from .codegen import op_function
from .described import described, explain_shared, signature_of
from .dispatch import dispatch, dispatch_operator, perform, run_odd
from .overrides import overridden
from .registry import (
    ABBREVIATIONS,
    DIMS,
    REGISTRY,
    SEVERAL,
    SIZES,
    InPlace,
    Out,
    declare_variants,
    in_formulas,
)

TANGENTS = {"pointwise": "pointwise", "float": "pointwise", "tensors": "pointwise", "view": "linear", "views": "linear"}


def dispatch_complex(op: Any, args: tuple[Any, ...]) -> Any:
    """Run an op that makes complex numbers of real ones: no compiled function does that."""
    state.complex_made = True
    return dispatch(op, args)


class Op:
    """A declared operation. Its signature is read on first use, as most programs use few operations.

    Threads may read it at once. There is no lock, so that neither a fork nor a running import can hang.
    """

    function: Callable[..., Any]

    def __init__(
        self,
        signature: str,
        forward: Callable[..., Any],
        node: str,
        kind: str,
        prepare: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None,
        tangent: str | None,
        batch: str | None,
        out: Out,
        results: tuple[str, ...],
        formulas: dict,
        meaning: str = "",
    ) -> None:
        self.signature, self.forward = signature, forward
        self.kind, self.prepare, self.formulas = kind, prepare, formulas
        self.name = signature[: signature.index("(")]
        self.node_name = node or (f"{self.name.title().replace('_', '')}Backward0" if formulas else self.name)
        self.several = kind in ("views", "several")
        self.results = results
        self.promotes = kind in ("pointwise", "float", "tensors")
        self.broadcasts = self.promotes or kind == "assign"
        self.out = out
        self.tangent = tangent or TANGENTS.get(kind)
        if batch is not None:
            self.batch = batch
        self.slopes: dict[str, Any] = {}
        caller = sys._getframe(1)
        while caller.f_globals is globals() and caller.f_back:
            caller = caller.f_back
        self.declared = caller.f_code.co_filename, caller.f_lineno  # where a debugger shows its formulas
        self.doc = described(self, meaning)

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__
        if "order" not in facts:
            facts.update(self._read())  # at once: another thread sees all of it or nothing
        if name not in facts and name in MADE:
            facts.setdefault(name, MADE[name](self))  # what another thread made first is what all get
        if name not in facts:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return facts[name]

    def _read(self) -> dict[str, Any]:
        """Take the signature apart."""
        signature, kind = self.signature, self.kind
        inside = signature[signature.index("(") + 1 : -1]
        # for a reader: without our marks, and under the name the variants of one operation share
        unmarked = re.sub(r"(Tensor|Kept)(\[\])?\?? ", "", signature.replace(";", ","))
        params = re.findall(r"(?:((?:Tensor|Kept)(?:\[\]|\?)?) )?(\w+)(=[^,;]+)?(?:[,;] )?", inside)
        order = [name for _, name, _ in params]
        found = len(re.findall(r"\w+[,)]", signature.partition("; ")[2]))
        tensors = [name for mark, name, _ in params if mark.startswith("Tensor")]
        kept = [name for mark, name, _ in params if mark.startswith("Kept")]
        optional = [name for mark, name, _ in params if mark.endswith("?")]
        extras = sorted(set(re.findall(r"\bresult[1-9]\b", " ".join(self.formulas.values()))))
        variadic = "Tensor[]" in inside
        unusual = self.several or extras or variadic or optional or len(tensors) > 2
        return {
            "shown": re.sub(r"^(\w+?)_(all|dim|number|base|tensors|m.._alone)(?:_as)?\(", r"\1(", unmarked),
            "variadic": variadic,
            "parameters": ", ".join(name + default for _, name, default in params),
            "names": ", ".join(order),
            "order": order,
            "caller_args": order[: len(order) - found],
            "found": order[len(order) - found :],
            "tensors": tensors,
            "kept": kept,
            "lists": [name for mark, name, _ in params if mark == "Kept[]"],
            "optional": optional,
            "arguments": [name for mark, name, _ in params if not mark],
            "places": [i for i, (mark, _, _) in enumerate(params) if mark],  # where tensors are, or lists of them
            "extras": extras,
            "numbers": kind in ("pointwise", "float") and len(tensors) == 2,  # whether the second may be a number
            "simple": kind != "assign" and not unusual and not (kept and (self.broadcasts or len(tensors) > 1)),
            "batch": self.__dict__.get("batch") or self._batching(set(order)),
        }

    def _batching(self, names: set[str]) -> str:
        if self.kind == "assign":
            return "assign"
        if names & {*DIMS, *SIZES}:
            return "new dims" if names & {*SIZES} else "dims"
        return "pointwise" if self.promotes or self.kind == "view" or self.tangent == "pointwise" else "loop"

    def operands(self, given: dict[str, Any]) -> list[Any]:
        """Return the differentiable arguments."""
        return list(given[self.tensors[0]]) if self.variadic else [given[name] for name in self.tensors]

    def perform(self, args: tuple[Any, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Run it on arguments in the order of its signature: the outputs, and what else its forward found out."""
        return perform(self, args)

    def creation(self) -> str:
        """Return how a view that it makes now came to be."""
        modes = local.modes
        if modes.inference:
            return "inference"
        if modes.grad:
            return "multi_output" if self.several else "default"
        return "no_grad"

    @property
    def formula_text(self) -> str:
        """Return the formulas, one per line, and the meanings of their abbreviations."""
        lines = [f"{name}: {text}" for name, text in self.formulas.items()]
        known: dict[str, None] = {}
        for text in lines:  # grows while it is read: abbreviations may contain others
            for word in re.findall(r"\w+(?=\()", text):
                if word in ABBREVIATIONS and word not in known:
                    known[word] = None
                    lines.append(" = ".join(ABBREVIATIONS[word]))
        return "\n".join(lines)


def _reads(op: Op) -> dict[str, codegen.Reads]:
    known = op.tensors + op.kept + op.extras + list(op.results)
    return {name: codegen.Reads(text, known, op, name) for name, text in op.formulas.items()}


# Made when first asked for: what each formula reads, the class of the op's nodes and its slots, its formulas as
# functions, the compiled methods of its nodes, and the op's compiled function for where what is unusual has been asked
# about already.
MADE: dict[str, Callable[[Op], Any]] = {
    "reads": _reads,
    "node": codegen.node_class,
    "slots": nodes.Slots,
    "written": lambda op: {},
    "methods": lambda op: {},
    "usual": lambda op: op_function(op, run_odd, slow_path_reasons={}),
}


def define(
    signature: str,
    forward: Callable[..., Any],
    *,
    node: str = "",
    meaning: str = "",
    kind: str = "plain",
    prepare: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None,
    tangent: str | None = None,
    batch: str | None = None,
    method: bool = False,
    out: Out = False,
    in_place: InPlace = False,
    also: tuple[str, ...] = (),
    results: tuple[str, ...] = (),
    **formulas: str,
) -> Callable[..., Any]:
    """Declare an op, put it in the registry and return its function; `formulas` has one text per tensor argument.

    If the kind and the arguments' names don't decide it, `tangent` says how tangents are pushed (jvp.py), and `batch`
    how a batch is run at once (vmap.py). `prepare` gets the arguments whenever they aren't float32 or float64, and
    refuses or converts them.

    `meaning` says what the result is, for `help` and the reference: a public name needs one.

    With `method`, the op is a function of the package and a method of tensors. The following imply that: with `out`,
    the function takes `out`; with `in_place`, a twin whose name ends in `_` writes in place (registry.py lists the
    values of both); `also` lists second names.
    """
    op = Op(signature, forward, node, kind, prepare, tangent, batch, out, results, formulas, meaning)
    (SEVERAL if op.several else REGISTRY)[op.name] = op
    function = op_function(op, dispatch)
    function.op, op.function = op, function
    in_formulas(op.name, forward, function)
    if out:
        function = op_function(op, dispatch, takes_out=True)
        function.op = op
    if meaning:
        op.function.__signature__ = signature_of(op)  # type: ignore[attr-defined]  for help()
        function.__signature__ = signature_of(op, bool(out))
    if method or out or in_place or also:
        setattr(Tensor, op.name, op.function)
        declare_variants(op.name, function, in_place, also)
    return function


def elementary(name: str, forward: Callable[..., Any], slope: str, meaning: str, **options: Any) -> Callable[..., Any]:
    """Declare a function of one number: its name, its forward, its derivative and its meaning, often in one line."""
    options |= {"kind": "float", "out": True, "in_place": True}
    return define(f"{name}(Tensor self)", forward, meaning=meaning, self=slope, **options)


def operation(
    *, method: bool = True, checked: bool = True, in_place: InPlace = False, also: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Register a function made of several ops, or of none (a decorator); its parameters show whether it takes `out`.

    What it returns refuses an input that is no tensor, unless the function has `checked` that itself.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = explain_shared(function).__name__
        if method:
            setattr(Tensor, name, function)
            function = _checking(function) if checked else function
        declare_variants(name, function, in_place, also)
        return function

    return declare


def operator(function: Callable[..., Any], dispatch: Any = dispatch_operator) -> Callable[..., Any]:
    """Return the function as an operator's method: NotImplemented for operands it has no rule for."""
    return op_function(function.op, dispatch)


def method(name: str = "") -> Callable[..., Any]:
    """Make a function a method of tensors, under its own or another name, but not a public function (a decorator)."""

    def attach(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(Tensor, name or function.__name__, explain_shared(function))
        return _checking(function)

    return attach


def _checking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a check that refuses an input that isn't a tensor."""
    unnamed = getattr(function, "unnamed", function)

    def called(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            if hasattr(type(input), "__torch_function__"):
                return overridden(called, (input, *args), kwargs)
            raise TypeError(not_a_tensor(function.__name__, "input", 0, input))
        return function(input, *args, **kwargs) if kwargs else unnamed(input, *args)

    # what functools.wraps does, in a tenth of the time, for every method at import
    called.__name__ = called.__qualname__ = function.__name__
    called.__doc__, called.__module__, called.__wrapped__ = function.__doc__, function.__module__, function
    return called
