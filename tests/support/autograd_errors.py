"""Programs of either engine that autograd refuses, or whose hooks raise; what the explanation of each must say."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module
from typing import Any

Program = Callable[[Any], Any]
CASES: dict[str, tuple[Program, tuple[str, ...]]] = {}  # by name: the program, given an engine, and what is said of it


def explained(*says: str) -> Callable[[Program], Program]:
    """Enter a program whose error is explained by these words."""

    def enter(program: Program) -> Program:
        CASES[program.__name__] = program, says
        return program

    return enter


def of(torch: Any, name: str) -> Any:
    """A module of an engine."""
    return import_module(f"{torch.__name__}.{name}")


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def squared(torch: Any, **more: Any) -> Any:
    """A Function that squares, with other methods or attributes."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, grad: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * grad

    own = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Squared", (torch.autograd.Function,), {**own, **more})


def in_two_steps(torch: Any, **more: Any) -> Any:
    """The same with a setup_context."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    own = {"forward": staticmethod(lambda x: x * x), "setup_context": staticmethod(setup_context)}
    return squared(torch, **own, **more)


def boom(*given: Any) -> None:
    raise LookupError("boom")


# Writes, copies and arrays.


@explained("total is a leaf", "no_grad", "total += 1")
def leaf_written(torch: Any) -> None:
    total = leaf(torch, 0.0)
    total += 1


@explained("layer.weight is a leaf", "layer.weight *= 0.5")
def parameter_written(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.weight *= 0.5


@explained("is a view of a leaf")
def element_of_a_leaf_written(torch: Any) -> None:
    w = leaf(torch, 1.0, 2.0)
    w[0] = 3.0


@explained("a view that a custom Function returned", "Clone")
def view_of_a_function_written(torch: Any) -> None:
    View = squared(torch, forward=staticmethod(lambda ctx, x: x.view_as(x)))
    y = View.apply(leaf(torch, 1.0, 2.0) * 2)
    y.mul_(2)


@explained("one of several views", "c.mul_(2)")
def chunks_written(torch: Any) -> None:
    for c in (leaf(torch, 1.0, 2.0) * 2).chunk(2):
        c.mul_(2)


@explained("a module with a full backward hook", "clone")
def output_of_a_hooked_module_written(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, sent, received: None)
    y = layer(leaf(torch, 1.0, 2.0))
    y += 1


@explained("y was computed", "detach().clone()")
def result_copied(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    copy.deepcopy(y)


@explained("y requires grad", "detach().numpy()")
def result_as_an_array(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.numpy()


@explained("features was made in inference mode", "clone()", "no_grad()")
def inference_tensor_saved(torch: Any) -> None:
    with torch.inference_mode():
        features = torch.ones(2, 3)
    torch.nn.Linear(3, 1)(features)


@explained("features was made in inference mode", "clone()")
def inference_tensor_written(torch: Any) -> None:
    with torch.inference_mode():
        features = torch.ones(3)
    features.add_(1)


@explained("`out` is not recorded")
def result_written_into_out(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    torch.add(torch.ones(2), 1, out=x)


@explained("an optimizer steps leaves", "requires_grad_()")
def optimizer_of_a_result(torch: Any) -> None:
    torch.optim.SGD([leaf(torch, 1.0) * 2], lr=0.1)


@explained("whole numbers", "float32")
def whole_numbers_with_gradients(torch: Any) -> None:
    torch.tensor([1, 2], requires_grad=True)


# Rules of a Function that are missing.


@explained("no rule for tangents", "jvp(ctx")
def no_jvp(torch: Any) -> None:
    forward_ad = of(torch, "autograd.forward_ad")
    with forward_ad.dual_level():
        squared(torch).apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


@explained("takes ctx", "setup_context(ctx, inputs, output)")
def no_setup_context(torch: Any) -> None:
    of(torch, "func").grad(lambda x: squared(torch).apply(x).sum())(torch.ones(2))


@explained("how it works on a batch", "generate_vmap_rule = True")
def no_vmap_rule(torch: Any) -> None:
    of(torch, "func").vmap(in_two_steps(torch).apply)(torch.ones(2, 2))


@explained("one row of many", "torch.where")
def branch_in_vmap(torch: Any) -> None:
    of(torch, "func").vmap(lambda x: x if x.sum() > 0 else -x)(torch.ones(2, 2))


@explained("whether all rows are to get the same", 'randomness="different"')
def random_number_in_vmap(torch: Any) -> None:
    of(torch, "func").vmap(lambda x: x + torch.rand(2))(torch.ones(2, 2))


@explained("more or fewer gradients than forward has arguments")
def too_few_gradients(torch: Any) -> None:
    Function = squared(torch, backward=staticmethod(lambda ctx, grad: (grad, grad)))
    Function.apply(leaf(torch, 1.0)).backward()


@explained("something that is no tensor", "ctx.n = n")
def number_saved(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3)
        return x * 1

    squared(torch, forward=staticmethod(forward)).apply(leaf(torch, 1.0))


# Hooks.


@explained("boom raised this, a hook or callback", "boom begins", "boom", "Look at boom")
def hook_of_a_tensor(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.register_hook(boom)
    y.backward()


@explained("boom raised this, a hook or callback")
def hook_of_a_leaf(torch: Any) -> None:
    x = leaf(torch, 1.0)
    x.register_hook(boom)
    (x * 2).backward()


@explained("boom raised this, a hook or callback")
def hook_before_a_node(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.grad_fn.register_prehook(boom)
    y.backward()


@explained("boom raised this, a hook or callback")
def hook_after_a_node(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.grad_fn.register_hook(boom)
    y.backward()


@explained("boom raised this, a hook or callback")
def hook_after_accumulation(torch: Any) -> None:
    x = leaf(torch, 1.0)
    x.register_post_accumulate_grad_hook(boom)
    (x * 2).backward()


@explained("boom raised this, a hook or callback")
def backward_hook_of_a_module(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(boom)
    layer(leaf(torch, 1.0, 2.0)).sum().backward()


@explained("boom raised this", "not the module's forward")
def forward_hook_of_a_module(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_hook(boom)
    layer(torch.ones(2))


@explained("boom raised this, a hook or callback")
def unpack_hook(torch: Any) -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, boom):
        y = leaf(torch, 1.0).exp()
    y.backward()


@explained("boom raised this, a hook or callback")
def queued_callback(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.register_hook(lambda grad: torch.autograd.Variable._execution_engine.queue_callback(boom))
    y.backward()


@explained("no backward was running")
def callback_outside(torch: Any) -> None:
    torch.autograd.Variable._execution_engine.queue_callback(boom)


@explained("A hook returned a gradient of another shape")
def hook_returns_another_shape(torch: Any) -> None:
    y = leaf(torch, 1.0, 2.0) * 2
    y.register_hook(lambda grad: grad[:1])
    y.sum().backward()


@explained("A hook returned more or fewer gradients")
def hook_returns_too_many(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.grad_fn.register_hook(lambda sent, received: (sent[0],) * 3)
    y.backward()


# Checkpoints that do something else the second time.


def rerun(torch: Any, block: Callable[[Any, bool], Any], **more: Any) -> None:
    """A checkpoint of a function that is told whether it runs for the first time."""
    first = [True]

    def layers(x: Any) -> Any:
        out = block(x, first[0])
        first[0] = False
        return out

    checkpoint = of(torch, "utils.checkpoint").checkpoint
    checkpoint(layers, torch.ones(3, requires_grad=True), use_reentrant=False, **more).sum().backward()


@explained("layers, which checkpoint runs again", "saved_tensors twice", "def layers(x")
def another_shape(torch: Any) -> None:
    rerun(torch, lambda x, first: torch.tanh(x)[: 3 if first else 2].sigmoid())


@explained("layers, which checkpoint runs again", "1 tensor was saved, where forward had saved 2")
def fewer_tensors(torch: Any) -> None:
    rerun(torch, lambda x, first: x.exp().sin() if first else x.exp())


@explained("layers, which checkpoint runs again", "more tensors")
def more_tensors(torch: Any) -> None:
    rerun(torch, lambda x, first: x.exp() if first else x.exp().sin().cos(), early_stop=False)


@explained("layers raised this in backward, where checkpoint runs it again")
def error_when_it_runs_again(torch: Any) -> None:
    rerun(torch, lambda x, first: x.exp() if first else boom())


@explained("read ctx.saved_tensors a second time", "Read ctx.saved_tensors once")
def saved_tensors_read_twice(torch: Any) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.saved_tensors[0] * grad + ctx.saved_tensors[0] * grad

    Function = squared(torch, backward=staticmethod(backward))
    rerun(torch, lambda x, first: Function.apply(x.exp()))


@explained("use_reentrant=False")
def old_checkpoint_with_inputs(torch: Any) -> None:
    x = leaf(torch, 1.0)
    torch.autograd.grad(of(torch, "utils.checkpoint").checkpoint(torch.exp, x, use_reentrant=True), x)
