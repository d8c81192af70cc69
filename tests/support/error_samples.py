"""Programs that the engine refuses, one for each kind of error, and what the picture of each must say."""

from __future__ import annotations

import workbench as torch
from workbench.autograd.function import once_differentiable

CASES = []  # programs, each with what its picture's title says, and what else it must say
FORWARD = []  # those that are refused before a backward


def refused(title, *says, forward=False):
    """Enter a program that the engine refuses."""

    def enter(program):
        CASES.append((program, title, [*says]))
        FORWARD.extend([program] * forward)
        return program

    return enter


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


@refused("RuntimeError at ExpBackward0", "ExpBackward0 saved y at version 0", "y.mul_(2)", "y.clone()")
def modified():
    x = leaf(0.1, 0.2)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


@refused("RuntimeError at ExpBackward0", "ExpBackward0 saved y at version 0", "y[0].mul_(2)")
def modified_through_a_view():
    x = leaf(0.1, 0.2)
    y = x.exp()
    y[0].mul_(2)
    y.sum().backward()


@refused("RuntimeError at OnceBackward", "OnceBackward saved h", "h.add_(1)", "ctx.saved_tensors")
def modified_in_a_function():
    x = leaf(1.0, 2.0)
    h = x * 1
    y = Once.apply(h)
    h.add_(1)
    y.sum().backward()


@refused("RuntimeError at ExpBackward0", "freed its saved tensors", "retain_graph=True", "loss.backward()")
def twice():
    loss = (leaf(1.0, 2.0).exp()).sum()
    loss.backward()
    loss.backward()


@refused("RuntimeError", "w is a leaf", "no_grad", "w.add_(1)", forward=True)
def write_leaf():
    w = leaf(1.0, 2.0)
    w.add_(1)


@refused("RuntimeError", "total has no gradient history", "total.backward()")
def no_history():
    frozen = torch.tensor([1.0, 2.0])
    total = frozen.sum()
    total.backward()


@refused("RuntimeError", "many has more than one element", "y.sum().backward()")
def many_elements():
    many = leaf(1.0, 2.0) * 2
    many.backward()


@refused("RuntimeError", "a different shape than many")
def seed_shape():
    many = leaf(1.0, 2.0) * 2
    many.backward(torch.ones(3))


@refused(
    "RuntimeError at WrongBackward",
    "Wrong returned 3 gradients, but forward has 2 arguments",
    "None where there is none",
)
def too_many_gradients():
    Wrong.apply(leaf(1.0), (torch.ones(1), None, torch.ones(1))).backward()


@refused("RuntimeError at WrongBackward", "whose shape differs from the shape of its input")
def wrong_shape():
    Wrong.apply(leaf(1.0, 2.0), (torch.ones(3), None)).sum().backward()


@refused("RuntimeError at WrongBackward", "neither a tensor nor None")
def gradient_for_a_number():
    Wrong.apply(leaf(1.0), (3, None)).backward()


@refused("RuntimeError at Error", "the backward of Once, which is marked @once_differentiable")
def once():
    x = leaf(3.0)
    y = Once.apply(x).exp()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.backward()


@refused("RuntimeError", "left", "allow_unused=True")
def unused():
    used, left = leaf(1.0), leaf(2.0)
    torch.autograd.grad(used * 2, left)


@refused("RuntimeError", "plain ")
def needs_no_grad():
    used, plain = leaf(1.0), torch.tensor([1.0])
    torch.autograd.grad(used * 2, plain)


@refused("RuntimeError", "part is a view that was created in no_grad mode", "part.mul_(2)", forward=True)
def view_without_grad():
    base = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        part = base[0]
    part.mul_(2)


@refused("RuntimeError at SqrtBackward0", "turned a valid gradient into nan")
def anomaly():
    x = leaf(0.0)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() * 0.0).backward()


@refused("LookupError at RaisingBackward", "the backward of RaisingBackward", "raise LookupError")
def own_error():
    Raising.apply(leaf(1.0)).backward()


@refused("RuntimeError", "plain does not require grad", "plain.register_hook(print)", forward=True)
def hook_on_a_constant():
    plain = torch.ones(2)
    plain.register_hook(print)


@refused("RuntimeError", "plain does not require grad", "plain.retain_grad()", forward=True)
def retain_on_a_constant():
    plain = torch.ones(2)
    plain.retain_grad()


@refused("RuntimeError", "plain", "get_gradient_edge(plain)", forward=True)
def edge_of_a_constant():
    plain = torch.ones(2)
    torch.autograd.graph.get_gradient_edge(plain)


@refused("RuntimeError", "made is not a leaf", "register_hook", forward=True)
def accumulate_hook_on_a_result():
    made = leaf(1.0) * 2
    made.register_post_accumulate_grad_hook(print)


@refused("RuntimeError", "made is not a leaf", "detach()", "made.requires_grad = False", forward=True)
def flag_of_a_result():
    made = leaf(1.0) * 2
    made.requires_grad = False


@refused("RuntimeError", "whole holds integers", "torch.float32", forward=True)
def flag_of_integers():
    whole = torch.tensor([1, 2])
    whole.requires_grad_()


@refused("RuntimeError", "The new .grad of w doesn't match it", "w.grad = torch.ones(3)", forward=True)
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


@refused("GradcheckError", "Small changes to other", "workbench.check(f, inputs)", "Jacobian mismatch")
def wrong_gradient():
    one, other = (torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda a, b: a * 2.0 + Tripled.apply(b), (one, other))


@refused("ValueError", "varies the inputs", "requires_grad=True")
def check_of_constants():
    plain = torch.ones(2, dtype=torch.float64)
    torch.autograd.gradcheck(torch.sin, (plain,))


@refused("GradcheckError", "expected to be zero", "compute with tensors throughout")
def check_of_what_hides_its_input():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda t: t.detach() * 2, (x,))


@refused("RuntimeError", "`inputs` contains no tensor", "backward(inputs=[])")
def backward_for_no_inputs():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward(inputs=[])


@refused("RuntimeError", "`inputs` contains no tensor", "torch.autograd.grad(loss, [])")
def grad_for_no_inputs():
    loss = leaf(1.0, 2.0).sum()
    torch.autograd.grad(loss, [])


@refused("RuntimeError", "a tensor with dimensions", "jacrev", "torch.func.grad", forward=True)
def transform_of_many_elements():
    x = torch.ones(3)
    torch.func.grad(lambda a: a * 2)(x)


@refused("RuntimeError", "not a tensor", "leave the graph", forward=True)
def transform_of_a_number():
    x = torch.ones(3)
    torch.func.grad(lambda a: 1.0)(x)


@refused("TypeError", "not a tensor", "leave the graph", "functional.jacobian(lambda a: 1, x)", forward=True)
def jacobian_of_a_number():
    x = torch.ones(3)
    torch.autograd.functional.jacobian(lambda a: 1, x)
