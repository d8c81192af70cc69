"""Every expression beside PyTorch's, in one place: what it gives, what it saves, writes that it minds, its tangents."""

from __future__ import annotations

import re
from typing import Any

import pytest
from expressions import (
    APART,
    COARSE,
    EXPRESSIONS,
    FIRST,
    FURTHER,
    LAYOUTS,
    PRINTED,
    SIGNATURES,
    Expression,
    World,
    basic,
    borders,
    of,
    shaped,
    single,
    windows,
)
from oracle import NUMBERS, chain, compare, entries, names, raised, run

import workbench

NO_ERROR = "nothing was raised"


def flat(value: Any) -> list[Any]:
    """The parts of a result, and theirs."""
    return [part for each in value for part in flat(each)] if isinstance(value, (tuple, list)) else [value]


def leaves_of(torch: Any, named: dict[str, Any]) -> dict[str, Any]:
    """The tensors that an expression is differentiated by."""
    return {k: t for k, t in named.items() if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad}


def made(torch: Any, outs: list[Any]) -> list[Any]:
    """The results that operations made of what requires grad."""
    tensors = [out for out in outs if isinstance(out, torch.Tensor) and out.grad_fn is not None]
    return [out for out in tensors if "NotImpl" not in out.grad_fn.name()]


def given(torch: Any, world: World, text: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What an expression gives, what it is differentiated by, and what the layers in it hold."""
    named = world(torch)
    outs = flat(eval(text, named))
    layers = named.get("layers", ())
    params = [p for layer in layers for p in layer.parameters() if p.requires_grad]
    return (
        outs,
        [*leaves_of(torch, named).values(), *params],
        [[*layer.buffers(), *layer.state_dict()] for layer in layers],
    )


def derivatives(torch: Any, world: World, text: str, coarse: bool, named_nodes: bool) -> Any:
    """What an expression gives: its value, its graph, the gradients and their gradients."""
    outs, leaves, held = given(torch, world, text)
    facts = [outs, held]
    for out in made(torch, outs):
        facts.append(out.grad_fn.name() if coarse else chain(out.grad_fn))
        v = torch.arange(1, 1 + out.numel(), dtype=out.dtype).reshape(out.shape) / 4
        facts.append(torch.autograd.grad(out, leaves, v, retain_graph=True, allow_unused=True))
        v = v.clone().requires_grad_()
        grads = torch.autograd.grad(out, leaves, v, create_graph=True, allow_unused=True)
        used = [g for g in grads if g is not None and g.requires_grad]
        facts.append([None if g is None else (g.detach(), g.requires_grad) for g in grads])
        if named_nodes and "CopySlices" not in out.grad_fn.name():
            facts.append([g.grad_fn.name() for g in used[:2]])
        if used:
            again = torch.autograd.grad(sum((g * g).sum() for g in used), [*leaves, v], None, True, allow_unused=True)
            # Of a piece that is flat PyTorch's second derivative is None or zeros.
            facts.append([g if g is not None and g.abs().sum() else None for g in again] if coarse else again)
    return facts


def slopes(torch: Any, world: World, text: str) -> Any:
    """Values and gradients."""
    outs, leaves, held = given(torch, world, text)
    seeds = [torch.arange(1, 1 + out.numel(), dtype=out.dtype).reshape(out.shape) / 4 for out in made(torch, outs)]
    pairs = zip(made(torch, outs), seeds, strict=True)
    values = [t.detach() if isinstance(t, torch.Tensor) else t for t in outs]
    return values, held, [torch.autograd.grad(out, leaves, v, retain_graph=True, allow_unused=True) for out, v in pairs]


def saved(torch: Any, world: World, text: str) -> Any:
    """The tensors an expression's node saves, by PyTorch's names, as floats: PyTorch keeps a 2 as int64."""
    node = made(torch, flat(eval(text, world(torch))))[0].grad_fn
    if hasattr(node, "saved_items"):
        found = {f"_saved_{name.partition('[')[0]}" for name, _, _ in node.saved_items()}
    else:
        found = {name for name in dir(node) if name.startswith("_saved_")}
    kept = {name: getattr(node, name) for name in sorted(found)}
    lists = {name: t if isinstance(t, tuple) else (t,) for name, t in kept.items()}
    return {
        name: [None if t is None else t.detach().double() for t in several]
        for name, several in lists.items()
        if any(isinstance(t, torch.Tensor) for t in several)
    }


def writes(torch: Any, world: World, text: str) -> Any:
    """Which writes before the gradient are errors, also into the result, be it a Tensor or a Parameter."""
    told: list[list[str]] = [[], []]
    for kind, answers in enumerate(told):
        given = world(torch)
        tensors = {k: t for k, t in given.items() if isinstance(t, torch.Tensor) and re.search(rf"\b{k}\b", text)}
        if kind:
            tensors = {k: torch.nn.Parameter(t.detach(), t.requires_grad) for k, t in tensors.items()}
        leaves = [t for t in tensors.values() if t.requires_grad]
        for name in (*tensors, "result"):
            for create_graph in (False, True):
                out = made(torch, flat(eval(text, given | tensors)))[0]
                t, seed = tensors.get(name, out), torch.ones_like(out)
                with torch.no_grad():
                    raised(t.copy_, t.clone())
                error = raised(torch.autograd.grad, out, leaves, seed, None, create_graph, allow_unused=True)
                answers.append(f"{name}: {error[0] if 'modified by an inplace' in str(error) else error == NO_ERROR}")
    assert told[0] == told[1]
    return told[0]


def tangents(torch: Any, world: World, text: str) -> Any:
    """The tangents of an expression's results where all its tensors move, or every second, and those of gradients."""
    fw = torch.autograd.forward_ad
    told = []

    def tangent(t: Any) -> Any:
        found = fw.unpack_dual(t).tangent
        return (torch.zeros(t.shape, dtype=t.dtype) if found is None else found + 0).detach()

    leaves = [name for name in leaves_of(torch, world(torch)) if re.search(rf"\b{name}\b", text)]
    for moving in filter(None, (leaves, leaves[::2], leaves[1::2])[: 1 + 2 * (len(leaves) > 1)]):
        with fw.dual_level():
            named = world(torch)
            for i, name in enumerate(moving):
                t = named[name]
                along = torch.arange(1 + i, 1 + i + t.numel(), dtype=t.dtype).reshape(t.shape) / 8
                named[name] = fw.make_dual(t, along)
            outs = [t for t in flat(eval(text, named)) if isinstance(t, torch.Tensor) and t.is_floating_point()]
            told.append([tangent(out) for out in outs])
            total = sum((out * out).sum() for out in outs if out.requires_grad)
            if isinstance(total, torch.Tensor):
                grads = torch.autograd.grad(total, [named[name] for name in leaves], allow_unused=True)
                told.append([None if g is None else tangent(g) for g in grads])
    return told


def asked(question: Any) -> list[Expression]:
    """The expressions that a question about derivatives applies to: one of a function is asked of its parts."""
    apart = entries(APART[question.__name__])
    return [text for text in EXPRESSIONS if text.world in (basic, single) and text not in apart]


def ask(question: Any, text: Expression) -> None:
    """Compare the answers, where an operation makes the first result of what requires grad."""
    if run(lambda torch: bool(made(torch, flat(eval(text, text.world(torch)))[:1])), workbench).value:
        compare(question, text.world, text)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression(text: Expression) -> None:
    if text.world in FIRST or text in entries(APART["derivatives"]):
        compare(slopes, text.world, text)
    else:
        named_nodes = text.world in (windows, borders) or text.world is shaped and text.startswith("F.")
        compare(derivatives, text.world, text, text.world in COARSE, named_nodes)


@pytest.mark.parametrize("text", asked(saved))
def test_what_is_saved(text: Expression) -> None:
    ask(saved, text)


@pytest.mark.slow
@pytest.mark.parametrize("text", asked(writes))
def test_a_write_before_the_gradient_is_noticed(text: Expression) -> None:
    ask(writes, text)


@pytest.mark.slow
@pytest.mark.parametrize("text", asked(tangents))
def test_tangents(text: Expression) -> None:
    ask(tangents, text)


@pytest.mark.parametrize("text", entries(PRINTED))
def test_what_a_layer_is_printed_as_and_holds(torch: Any, text: str) -> Any:
    layer = eval(text, {**vars(torch.nn), "torch": torch})
    shapes = {name: (tuple(t.shape), t.dtype) for name, t in layer.state_dict().items()}
    return repr(layer), shapes, [[tuple(p.shape) for p in each] for each in getattr(layer, "all_weights", [])]


@pytest.mark.parametrize("text", of(basic, LAYOUTS))
def test_how_a_result_lies_in_memory(torch: Any, text: Expression) -> Any:
    outs = flat(eval(text, names(torch)))
    return [(t, t.stride(), t.is_contiguous()) for t in outs], raised(lambda: outs[0].view(-1))


def narrow(torch: Any, text: str, kind: str) -> Any:
    """An expression over narrower floats: its value and its gradients, with their dtypes."""
    named = names(torch)
    for name in NUMBERS:
        named[name] = named[name].detach().to(getattr(torch, kind)).requires_grad_()
    outs = [o for o in flat(eval(text, named)) if isinstance(o, torch.Tensor)]
    total = sum(o.double().sum() for o in outs if o.requires_grad)
    grads = torch.autograd.grad(total, [named[n] for n in NUMBERS], allow_unused=True) if outs[0].requires_grad else []
    return [(o.dtype, o.shape) for o in outs], [g if g is None else g.dtype for g in grads]


WIDE = re.compile(r"grad\(|index_add|double|float64|_saved")
GIVES_NONE = r"_is_view|output_nr|\be\.unbind"  # no tensor
FEW = [text for text in entries(FURTHER) if not WIDE.search(text)][::3]


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("text", [text for text in FEW if not re.search(GIVES_NONE, text)])
def test_narrow_floats_stay_narrow(text: str, kind: str) -> None:
    compare(narrow, text, kind)


@pytest.mark.parametrize("text", of(basic, SIGNATURES))
def test_a_refusal_of_another_wording(torch: Any, text: Expression) -> Any:
    return raised(eval, text, basic(torch))[0]


def test_a_grid_whose_order_is_not_said_warns() -> None:
    with pytest.warns(UserWarning, match="it will be required to pass the indexing argument"):
        assert workbench.meshgrid(workbench.ones(2), workbench.ones(3))[0].shape == (2, 3)
