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


@explained("w[0] = 3.0", "is a view of a leaf", "no_grad")
def element_of_a_leaf_written(torch: Any) -> None:
    w = leaf(torch, 1.0, 2.0)
    w[0] = 3.0


@explained("y is a view that a custom Function returned", "Clone")
def view_of_a_function_written(torch: Any) -> None:
    View = squared(torch, forward=staticmethod(lambda ctx, x: x.view_as(x)))
    y = View.apply(leaf(torch, 1.0, 2.0) * 2)
    y.mul_(2)


@explained("c is one of several views", "c.mul_(2)")
def chunks_written(torch: Any) -> None:
    for c in (leaf(torch, 1.0, 2.0) * 2).chunk(2):
        c.mul_(2)


@explained("a module with a full backward hook", "clone")
def output_of_a_hooked_module_written(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, sent, received: None)
    y = layer(leaf(torch, 1.0, 2.0))
    y += 1


@explained("y is not a leaf", "t.detach().clone()", "copy.deepcopy(y)")
def result_copied(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    copy.deepcopy(y)


@explained("y requires grad", "t.detach().numpy()")
def result_as_an_array(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.numpy()


@explained("features was created in inference mode", "clone()", "no_grad()")
def inference_tensor_saved(torch: Any) -> None:
    with torch.inference_mode():
        features = torch.ones(2, 3)
    torch.nn.Linear(3, 1)(features)


@explained("features was created in inference mode", "clone()")
def inference_tensor_written(torch: Any) -> None:
    with torch.inference_mode():
        features = torch.ones(3)
    features.add_(1)


@explained("`out=` is not recorded")
def result_written_into_out(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    torch.add(torch.ones(2), 1, out=x)


@explained("an optimizer only updates leaves", "requires_grad_()")
def optimizer_of_a_result(torch: Any) -> None:
    torch.optim.SGD([leaf(torch, 1.0) * 2], lr=0.1)


@explained("integers or booleans", "float32")
def whole_numbers_with_gradients(torch: Any) -> None:
    torch.tensor([1, 2], requires_grad=True)


# Rules of a Function that are missing.


@explained("has no jvp", "jvp(ctx")
def no_jvp(torch: Any) -> None:
    forward_ad = of(torch, "autograd.forward_ad")
    with forward_ad.dual_level():
        squared(torch).apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


@explained("takes ctx", "setup_context(ctx, inputs, output)")
def no_setup_context(torch: Any) -> None:
    of(torch, "func").grad(lambda x: squared(torch).apply(x).sum())(torch.ones(2))


@explained("has no rule for batches", "generate_vmap_rule = True")
def no_vmap_rule(torch: Any) -> None:
    of(torch, "func").vmap(in_two_steps(torch).apply)(torch.ones(2, 2))


@explained("one of many rows", "torch.where")
def branch_in_vmap(torch: Any) -> None:
    of(torch, "func").vmap(lambda x: x if x.sum() > 0 else -x)(torch.ones(2, 2))


@explained("whether all rows should get the same", 'randomness="different"')
def random_number_in_vmap(torch: Any) -> None:
    of(torch, "func").vmap(lambda x: x + torch.rand(2))(torch.ones(2, 2))


@explained("returned 2 gradients, but forward has 1 argument")
def too_few_gradients(torch: Any) -> None:
    Function = squared(torch, backward=staticmethod(lambda ctx, grad: (grad, grad)))
    Function.apply(leaf(torch, 1.0)).backward()


@explained("something that is not a tensor", "ctx.n = n")
def number_saved(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3)
        return x * 1

    squared(torch, forward=staticmethod(forward)).apply(leaf(torch, 1.0))


# Hooks.


@explained("Your hook or callback boom raised this", "boom begins", "boom", "Check the arguments of boom")
def hook_of_a_tensor(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.register_hook(boom)
    y.backward()


@explained("Your hook or callback boom raised this")
def hook_of_a_leaf(torch: Any) -> None:
    x = leaf(torch, 1.0)
    x.register_hook(boom)
    (x * 2).backward()


@explained("Your hook or callback boom raised this")
def hook_before_a_node(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.grad_fn.register_prehook(boom)
    y.backward()


@explained("Your hook or callback boom raised this")
def hook_after_a_node(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.grad_fn.register_hook(boom)
    y.backward()


@explained("Your hook or callback boom raised this")
def hook_after_accumulation(torch: Any) -> None:
    x = leaf(torch, 1.0)
    x.register_post_accumulate_grad_hook(boom)
    (x * 2).backward()


@explained("Your hook or callback boom raised this")
def backward_hook_of_a_module(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(boom)
    layer(leaf(torch, 1.0, 2.0)).sum().backward()


@explained("boom raised this", "not the module's forward")
def forward_hook_of_a_module(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_hook(boom)
    layer(torch.ones(2))


@explained("Your hook or callback boom raised this")
def unpack_hook(torch: Any) -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, boom):
        y = leaf(torch, 1.0).exp()
    y.backward()


@explained("Your hook or callback boom raised this")
def queued_callback(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.register_hook(lambda grad: torch.autograd.Variable._execution_engine.queue_callback(boom))
    y.backward()


@explained("no backward pass was running")
def callback_outside(torch: Any) -> None:
    torch.autograd.Variable._execution_engine.queue_callback(boom)


@explained("returned a gradient whose shape differs")
def hook_returns_another_shape(torch: Any) -> None:
    y = leaf(torch, 1.0, 2.0) * 2
    y.register_hook(lambda grad: grad[:1])
    y.sum().backward()


@explained("returned more or fewer gradients")
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


@explained("something different when checkpoint ran it again", "saved_tensors twice in backward", "def layers(x")
def another_shape(torch: Any) -> None:
    rerun(torch, lambda x, first: torch.tanh(x)[: 3 if first else 2].sigmoid())


@explained("layers did something different when checkpoint ran it again", "1 tensor was saved, but forward had saved 2")
def fewer_tensors(torch: Any) -> None:
    rerun(torch, lambda x, first: x.exp().sin() if first else x.exp())


@explained("layers did something different when checkpoint ran it again", "more tensors")
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


# Saved-tensor hooks.


def packed(torch: Any, pack: Any = lambda t: t, unpack: Any = lambda t: t) -> Any:
    """A result whose saved tensor went through hooks."""
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return leaf(torch, 1.0, 2.0).exp().sum()


@explained("boom, the pack hook of saved_tensors_hooks, raised this", "boom begins", "boom was given")
def pack_hook(torch: Any) -> None:
    packed(torch, boom)


@explained("A pack hook wrote into its argument", "t.clone()")
def pack_hook_writes(torch: Any) -> None:
    packed(torch, lambda t: t.mul_(2))


@explained("An unpack hook", "something that is not a tensor")
def unpack_hook_returns_a_number(torch: Any) -> None:
    packed(torch, unpack=lambda t: 3).backward()


@explained("saved_tensors_hooks() was used inside", "not here")
def hooks_where_they_are_disabled(torch: Any) -> None:
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        packed(torch)


@explained("or the other way round", "not here")
def hooks_disabled_inside(torch: Any) -> None:
    with torch.autograd.graph.saved_tensors_hooks(boom, boom):
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            pass


@explained("do not work with saved-tensor hooks", "torch.autograd.grad")
def checkpoint_in_a_transform(torch: Any) -> None:
    checkpoint = of(torch, "utils.checkpoint").checkpoint
    of(torch, "func").grad(lambda x: checkpoint(torch.exp, x, use_reentrant=False).sum())(torch.ones(2))


@explained("has a pair of hooks already")
def two_pairs_of_hooks(torch: Any) -> None:
    y = leaf(torch, 1.0).exp()
    for _ in range(2):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


@explained("freed this saved tensor already", "before backward()")
def hooks_after_backward(torch: Any) -> None:
    y = leaf(torch, 1.0).exp()
    y.backward()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


@explained("its backward pass runs outside", "inside the block")
def mutation_allowed_in_forward_only(torch: Any) -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = leaf(torch, 1.0).exp()
    y.backward()


# Functions that are written in another way than autograd calls them.


class Old:
    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def forward(self, x: Any) -> Any:
        return x * self.factor


@explained("An instance of a Function was called", "Name.apply(x)", "@staticmethod")
def instance_called(torch: Any) -> None:
    type("Scale", (Old, torch.autograd.Function), {})(3.0)(leaf(torch, 1.0))


@explained("defines both backward and vjp")
def two_rules_for_backward(torch: Any) -> None:
    squared(torch, vjp=staticmethod(lambda ctx, grad: grad)).apply(leaf(torch, 1.0)).backward()


@explained("does not accept the arguments it was given", "forward takes ctx")
def forward_without_ctx(torch: Any) -> None:
    squared(torch, forward=staticmethod(lambda x: x * 2)).apply(leaf(torch, 1.0))


@explained("does not accept its arguments", "one more argument for each further output")
def backward_with_too_many_arguments(torch: Any) -> None:
    squared(torch, backward=staticmethod(lambda ctx, a, b: a)).apply(leaf(torch, 1.0)).backward()


def marking(mark: Callable[[Any, Any], Any], back: Callable[[Any], Any] = lambda x: x * 2) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        mark(ctx, x)
        return back(x)

    return staticmethod(forward)


@explained("mark_dirty() and did not return it")
def written_and_not_returned(torch: Any) -> None:
    squared(torch, forward=marking(lambda ctx, x: ctx.mark_dirty(x))).apply(leaf(torch, 1.0) * 2)


@explained("ctx.mark_dirty() was given something that is not a tensor")
def number_marked(torch: Any) -> None:
    squared(torch, forward=marking(lambda ctx, x: ctx.mark_dirty(3))).apply(leaf(torch, 1.0))


@explained("returns an input unchanged", "view_as")
def returned_input_saved(torch: Any) -> None:
    own = in_two_steps(torch)
    type("Same", (own,), {"forward": staticmethod(lambda x: x)}).apply(leaf(torch, 1.0))


def pushed(torch: Any, jvp: Any, **more: Any) -> None:
    forward_ad = of(torch, "autograd.forward_ad")
    with forward_ad.dual_level():
        Function = squared(torch, jvp=staticmethod(jvp), **more)
        Function.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


@explained("neither a tensor nor None")
def jvp_of_a_number(torch: Any) -> None:
    pushed(torch, lambda ctx, tangent: 3.0)


@explained("more or fewer tangents")
def jvp_of_two(torch: Any) -> None:
    pushed(torch, lambda ctx, tangent: (tangent, tangent))


@explained("the same view of the tangent")
def jvp_of_a_view(torch: Any) -> None:
    pushed(torch, lambda ctx, tangent: tangent * 1, forward=staticmethod(lambda ctx, x: x.view(-1)))


@explained("must return two things", "(output, out_dims)")
def vmap_rule_of_one_value(torch: Any) -> None:
    rule = staticmethod(lambda info, in_dims, x: x * x)
    of(torch, "func").vmap(in_two_steps(torch, vmap=rule).apply)(torch.ones(2, 2))


@explained("two rules for batches")
def two_vmap_rules(torch: Any) -> None:
    rule = staticmethod(lambda info, in_dims, x: (x * x, 0))
    of(torch, "func").vmap(in_two_steps(torch, vmap=rule, generate_vmap_rule=True).apply)(torch.ones(2, 2))


# Transforms.


@explained("different sizes", "in_dims=(0, None)")
def rows_of_two_sizes(torch: Any) -> None:
    of(torch, "func").vmap(lambda a, b: a + b)(torch.ones(2), torch.ones(3))


@explained("a dimension that an input does not have")
def in_dims_out_of_range(torch: Any) -> None:
    of(torch, "func").vmap(lambda a: a, in_dims=2)(torch.ones(2))


@explained("in_dims does not match the inputs")
def in_dims_for_one_of_two(torch: Any) -> None:
    of(torch, "func").vmap(lambda a, b: a + b, in_dims=(0,))(torch.ones(2), torch.ones(2))


@explained("in_dims does not match the inputs")
def in_dims_in_a_list(torch: Any) -> None:
    of(torch, "func").vmap(lambda a, b: a + b, in_dims=[0, 0])(torch.ones(2), torch.ones(2))


@explained("one argument is not a tensor", "None for it")
def number_in_vmap(torch: Any) -> None:
    of(torch, "func").vmap(lambda a, b: a + b)(torch.ones(2), 3.0)


@explained("returned something that is not a tensor")
def vmap_of_a_number(torch: Any) -> None:
    of(torch, "func").vmap(lambda a: 3.0)(torch.ones(2))


@explained("out_dims does not match")
def out_dims_for_two(torch: Any) -> None:
    of(torch, "func").vmap(lambda a: a, out_dims=(0, 0))(torch.ones(2))


@explained("has no memory of its own")
def array_in_vmap(torch: Any) -> None:
    of(torch, "func").vmap(lambda a: torch.tensor(a.numpy()))(torch.ones(2, 3))


@explained("differentiates with respect to tensors", "torch.tensor(3.0)")
def number_differentiated(torch: Any) -> None:
    of(torch, "func").grad(lambda a: a)(3.0)


@explained("argnums does not match the arguments")
def argument_that_is_not_there(torch: Any) -> None:
    of(torch, "func").grad(lambda a: a.sum(), argnums=1)(torch.ones(2))


@explained("has_aux=True")
def one_value_with_has_aux(torch: Any) -> None:
    of(torch, "func").grad(lambda a: a.sum(), has_aux=True)(torch.ones(2))


@explained("writes into a tensor that was created outside it")
def buffer_written_in_a_transform(torch: Any) -> None:
    total = torch.zeros(2)
    of(torch, "func").grad(lambda a: total.add_(a).sum())(torch.ones(2))


@explained("differentiates with respect to the arguments that argnums selects")
def flag_set_in_a_transform(torch: Any) -> None:
    of(torch, "func").grad(lambda a: (a * torch.ones(2).requires_grad_()).sum())(torch.ones(2))


@explained("two matching tuples of tensors", "jvp(f, (x,), (tangent,))")
def jvp_without_tuples(torch: Any) -> None:
    of(torch, "func").jvp(lambda a: a, torch.ones(2), torch.ones(2))


@explained("does not have the structure of the output")
def one_gradient_for_two_outputs(torch: Any) -> None:
    of(torch, "func").vjp(lambda a: (a, a), torch.ones(2))[1](torch.ones(2))


@explained("v, the vector to multiply with")
def vector_of_another_shape(torch: Any) -> None:
    torch.autograd.functional.vjp(lambda a: a, torch.ones(2), torch.ones(3))


@explained("must return one number")
def hessian_product_of_a_vector(torch: Any) -> None:
    torch.autograd.functional.hvp(lambda a: a, torch.ones(2), torch.ones(2))


@explained("exclude each other")
def strict_and_vectorized(torch: Any) -> None:
    torch.autograd.functional.jacobian(lambda a: a, torch.ones(2), strict=True, vectorize=True)


@explained("exited that is not open", "dual_level()")
def level_left_that_is_not_open(torch: Any) -> None:
    of(torch, "autograd.forward_ad").exit_dual_level()


# What backward, grad and gradcheck refuse, and what hooks may not return.


@explained("Autograd itself rejected this call", "error message")
def number_as_first_gradient(torch: Any) -> None:
    (leaf(torch, 1.0) * 2).backward(2.0)


@explained("Leave out allow_unused")
def unused_zeros_that_are_refused(torch: Any) -> None:
    x = leaf(torch, 1.0)
    torch.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)


@explained("The .data of x was assigned a value", "no_grad()")
def data_of_another_kind(torch: Any) -> None:
    x = leaf(torch, 1.0)
    x.data = torch.tensor([1])


def replaces(*given: Any) -> float:
    return 3.0


@explained("returned the wrong type")
def hook_returns_a_number(torch: Any) -> None:
    y = leaf(torch, 1.0) * 2
    y.register_hook(replaces)
    y.backward()


@explained("was given None, because no gradient arrives there")
def hook_returns_what_was_none(torch: Any) -> None:
    z = squared(torch, backward=staticmethod(lambda ctx, grad: None)).apply(leaf(torch, 1.0) * 2)
    z.grad_fn.register_hook(lambda sent, received: (torch.ones(1),))
    z.backward()


@explained("returned more or fewer gradients")
def backward_pre_hook_returns_two(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_pre_hook(lambda module, received: (received[0], received[0]))
    layer(leaf(torch, 1.0, 2.0)).sum().backward()


@explained("returned different numbers when it ran again")
def random_backward(torch: Any) -> None:
    noise = [0.0]

    def backward(ctx: Any, grad: Any) -> Any:
        noise[0] += 1e-9
        return 2 * ctx.saved_tensors[0] * grad + noise[0]

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(squared(torch, backward=staticmethod(backward)).apply, (x,))


# By name: what of the error's picture and of the findings names the hook.
HOOKS = {
    **dict.fromkeys(
        ("hook_of_a_tensor", "hook_of_a_leaf", "hook_before_a_node", "hook_after_a_node", "unpack_hook"), "boom"
    ),
    **dict.fromkeys(("hook_after_accumulation", "backward_hook_of_a_module", "queued_callback"), "boom"),
    "hook_returns_a_number": "replaces",
}
