"""Programs that the engine refuses, one for each sort of error, and what the picture of each must tell."""

from __future__ import annotations

import copy

import workbench as torch
from workbench.autograd.function import once_differentiable


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


class Wrong(torch.Function):
    """A Function whose backward returns what it is told."""

    @staticmethod
    def forward(ctx, x, returned):
        ctx.returned = returned
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return ctx.returned


class Raising(torch.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        raise LookupError("</script> mine")


class Once(torch.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class ViewOut(torch.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


def modified():
    x = leaf(0.1, 0.2)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


def modified_through_a_view():
    x = leaf(0.1, 0.2)
    y = x.exp()
    y[0].mul_(2)
    y.sum().backward()


def modified_in_a_function():
    x = leaf(1.0, 2.0)
    h = x * 1
    y = Once.apply(h)
    h.add_(1)
    y.sum().backward()


def twice():
    loss = (leaf(1.0, 2.0).exp()).sum()
    loss.backward()
    loss.backward()


def write_leaf():
    w = leaf(1.0, 2.0)
    w.add_(1)


def write_view_of_leaf():
    w = leaf(1.0, 2.0)
    w[0].add_(1)


def no_history():
    frozen = torch.tensor([1.0, 2.0])
    total = frozen.sum()
    total.backward()


def many_elements():
    many = leaf(1.0, 2.0) * 2
    many.backward()


def seed_shape():
    many = leaf(1.0, 2.0) * 2
    many.backward(torch.ones(3))


def too_many_gradients():
    Wrong.apply(leaf(1.0), (torch.ones(1), None, torch.ones(1))).backward()


def wrong_shape():
    Wrong.apply(leaf(1.0, 2.0), (torch.ones(3), None)).sum().backward()


def gradient_for_a_number():
    Wrong.apply(leaf(1.0), (3, None)).backward()


def once():
    x = leaf(3.0)
    y = Once.apply(x).exp()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.backward()


def unused():
    used, left = leaf(1.0), leaf(2.0)
    torch.autograd.grad(used * 2, left)


def needs_no_grad():
    used, plain = leaf(1.0), torch.tensor([1.0])
    torch.autograd.grad(used * 2, plain)


def view_without_grad():
    base = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        part = base[0]
    part.mul_(2)


def several_views():
    base = leaf(1.0, 2.0) * 1
    first, _ = base.unbind()
    first.mul_(2)


def custom_view():
    seen = ViewOut.apply(leaf(1.0, 2.0) * 1)
    seen.mul_(2)


def anomaly():
    x = leaf(0.0)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() * 0.0).backward()


def own_error():
    Raising.apply(leaf(1.0)).backward()


# The program, what the picture's title says, and what else it must tell.
def hook_on_a_constant():
    plain = torch.ones(2)
    plain.register_hook(print)


def retain_on_a_constant():
    plain = torch.ones(2)
    plain.retain_grad()


def edge_of_a_constant():
    plain = torch.ones(2)
    torch.autograd.graph.get_gradient_edge(plain)


def accumulate_hook_on_a_result():
    made = leaf(1.0) * 2
    made.register_post_accumulate_grad_hook(print)


def flag_of_a_result():
    made = leaf(1.0) * 2
    made.requires_grad = False


def flag_of_integers():
    whole = torch.tensor([1, 2])
    whole.requires_grad_()


def grad_of_another_shape():
    w = leaf(1.0, 2.0)
    w.grad = torch.ones(3)


class Tripled(torch.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def wrong_gradient():
    one, other = (torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda a, b: a * 2.0 + Tripled.apply(b), (one, other))


def check_of_constants():
    plain = torch.ones(2, dtype=torch.float64)
    torch.autograd.gradcheck(torch.sin, (plain,))


def check_of_what_hides_its_input():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda t: t.detach() * 2, (x,))


def backward_for_no_inputs():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward(inputs=[])


def grad_for_no_inputs():
    loss = leaf(1.0, 2.0).sum()
    torch.autograd.grad(loss, [])


def transform_of_many_elements():
    x = torch.ones(3)
    torch.func.grad(lambda a: a * 2)(x)


def transform_of_a_number():
    x = torch.ones(3)
    torch.func.grad(lambda a: 1.0)(x)


def jacobian_of_a_number():
    x = torch.ones(3)
    torch.autograd.functional.jacobian(lambda a: 1, x)


def deep_copy_of_a_result():
    made = leaf(1.0) * 2
    copy.deepcopy(made)


def array_of_what_requires_grad():
    w = leaf(1.0, 2.0)
    w.numpy()


FORWARD = (
    transform_of_many_elements,
    transform_of_a_number,
    jacobian_of_a_number,
    deep_copy_of_a_result,
    array_of_what_requires_grad,
    write_leaf,
    write_view_of_leaf,
    view_without_grad,
    several_views,
    custom_view,
    hook_on_a_constant,
    retain_on_a_constant,
    edge_of_a_constant,
    accumulate_hook_on_a_result,
    flag_of_a_result,
    flag_of_integers,
    grad_of_another_shape,
)
CASES = [
    (modified, "RuntimeError at ExpBackward0", ["ExpBackward0 saved y at version 0", "y.mul_(2)", "y.clone()"]),
    (modified_through_a_view, "RuntimeError at ExpBackward0", ["ExpBackward0 saved y at version 0", "y[0].mul_(2)"]),
    (
        modified_in_a_function,
        "RuntimeError at OnceBackward",
        ["OnceBackward saved h", "h.add_(1)", "ctx.saved_tensors"],
    ),
    (twice, "RuntimeError at ExpBackward0", ["has run in an earlier", "retain_graph=True", "loss.backward()"]),
    (write_leaf, "RuntimeError", ["w is a leaf", "no_grad", "w.add_(1)"]),
    (write_view_of_leaf, "RuntimeError", ["a view of a leaf", "no_grad", "w[0].add_(1)"]),
    (no_history, "RuntimeError", ["total has no history", "requires_grad=True", "total.backward()"]),
    (many_elements, "RuntimeError", ["many has more than one element", "y.sum().backward()"]),
    (seed_shape, "RuntimeError", ["another shape than many"]),
    (too_many_gradients, "RuntimeError at WrongBackward", ["more or fewer gradients", "None where there is none"]),
    (wrong_shape, "RuntimeError at WrongBackward", ["another shape than the input"]),
    (gradient_for_a_number, "RuntimeError at WrongBackward", ["neither a tensor nor None"]),
    (once, "RuntimeError at Error", ["the backward of Once, which is marked @once_differentiable"]),
    (unused, "RuntimeError", ["left was not used", "allow_unused=True"]),
    (needs_no_grad, "RuntimeError", ["plain does not require grad"]),
    (view_without_grad, "RuntimeError", ["part is a view that was made in no_grad mode", "part.mul_(2)"]),
    (several_views, "RuntimeError", ["first is one of several views", "first.mul_(2)"]),
    (custom_view, "RuntimeError", ["seen is a view that a custom Function returned", "Clone"]),
    (anomaly, "RuntimeError at SqrtBackward0", ["made nan of it"]),
    (hook_on_a_constant, "RuntimeError", ["plain does not require grad", "plain.register_hook(print)"]),
    (retain_on_a_constant, "RuntimeError", ["plain does not require grad", "plain.retain_grad()"]),
    (edge_of_a_constant, "RuntimeError", ["plain does not require grad", "get_gradient_edge(plain)"]),
    (accumulate_hook_on_a_result, "RuntimeError", ["made was computed", "register_hook"]),
    (flag_of_a_result, "RuntimeError", ["made was computed", "detach()", "made.requires_grad = False"]),
    (flag_of_integers, "RuntimeError", ["whole has whole numbers", "torch.float32"]),
    (grad_of_another_shape, "RuntimeError", ["does not fit w", "w.grad = torch.ones(3)"]),
    (wrong_gradient, "GradcheckError", ["When other is moved", "workbench.check(f, inputs)", "Jacobian mismatch"]),
    (check_of_constants, "ValueError", ["which numbers to move", "requires_grad=True"]),
    (check_of_what_hides_its_input, "GradcheckError", ["expected to be zero", "compute with tensors throughout"]),
    (backward_for_no_inputs, "RuntimeError", ["`inputs` holds no tensor", "backward(inputs=[])"]),
    (grad_for_no_inputs, "RuntimeError", ["`inputs` holds no tensor", "torch.autograd.grad(loss, [])"]),
    (transform_of_many_elements, "RuntimeError", ["a tensor with dimensions", "jacrev", "torch.func.grad"]),
    (transform_of_a_number, "RuntimeError", ["no tensor", "leave the graph"]),
    (jacobian_of_a_number, "TypeError", ["no tensor", "leave the graph", "functional.jacobian(lambda a: 1, x)"]),
    (deep_copy_of_a_result, "RuntimeError", ["made was computed", "t.detach().clone()", "copy.deepcopy(made)"]),
    (array_of_what_requires_grad, "RuntimeError", ["w requires grad", "t.detach().numpy()"]),
    (own_error, "LookupError at RaisingBackward", ["the backward of RaisingBackward", "raise LookupError"]),
]
