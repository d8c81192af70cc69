"""The engine after lesson 20: tensors over NumPy arrays, and Functions with a `ctx`."""

from itertools import count
from math import inf, prod

import numpy as np

# Whether operations are recorded.


class set_grad_enabled:
    """Within `with set_grad_enabled(False):` no operation is recorded."""

    enabled = True

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.before, set_grad_enabled.enabled = set_grad_enabled.enabled, self.mode

    def __exit__(self, *error):
        set_grad_enabled.enabled = self.before


def no_grad():
    return set_grad_enabled(False)


def enable_grad():
    return set_grad_enabled(True)


def is_grad_enabled():
    return set_grad_enabled.enabled


# The graph.


class Node:
    """One operation in the graph. A Function receives it as `ctx`."""

    numbers = count()

    def __init__(self, function, inputs):
        self.function, self.number = function, next(Node.numbers)
        self.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad for each in inputs)
        self.edges = tuple(each.edge() if needs else None for each, needs in zip(inputs, self.needs_input_grad))
        self.shapes = tuple(each.shape if isinstance(each, Tensor) else None for each in inputs)
        self.saved_tensors = ()

    def name(self):
        return self.function.__name__ + self.function.suffix

    def __repr__(self):
        return f"<{self.name()}>"

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def run(self, grad):
        """Return the gradients for the edges, given the gradient of the result."""
        grads = self.function.backward(self, grad)
        grads = grads if isinstance(grads, tuple) else (grads,)
        if len(grads) != len(self.edges):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {len(self.edges)}, got {len(grads)})"
            )
        fitted = [None] * len(grads)
        for i, (edge, each, shape) in enumerate(zip(self.edges, grads, self.shapes)):
            if edge is not None and each is not None:
                if not fits(each.shape, shape):
                    raise RuntimeError(
                        f"Function {self.name()} returned an invalid gradient at index {i} - "
                        f"got {list(each.shape)} but expected shape compatible with {list(shape)}"
                    )
                fitted[i] = sum_to(each, shape)
        return tuple(fitted)


class AccumulateGrad(Node):
    """The end of every path: it adds the gradient to the `.grad` of a leaf."""

    number, edges = inf, ()  # it runs before all others that are ready

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        return "AccumulateGrad"

    def run(self, grad):
        leaf = self.variable
        leaf.grad = grad.clone() if leaf.grad is None else leaf.grad + grad
        return ()


def sum_to(grad, shape):
    """Return `grad` in this shape, with the copies that broadcasting made added up."""
    extra = grad.dim() - len(shape)
    dims = tuple(i for i in range(grad.dim()) if i < extra or shape[i - extra] != grad.shape[i])
    return grad.sum(dims).reshape(shape) if dims else grad


def fits(shape, into):
    """Return True if a tensor of the shape `into` can be repeated to this shape."""
    sizes = zip(reversed(shape), reversed(into))
    return len(into) <= len(shape) and all(small in (1, size) for size, small in sizes)


# Backward.


def count_arrivals(root):
    """Count the gradients that will arrive at each node."""
    arrivals, todo = {root: 0}, [root]
    while todo:
        for to in todo.pop().edges:
            if to is not None:
                if to not in arrivals:
                    arrivals[to] = 0
                    todo.append(to)
                arrivals[to] += 1
    return arrivals


def take_next(ready):
    """Take the newest node out of the list."""
    node = max(ready, key=lambda each: each.number)
    ready.remove(node)
    return node


def walk(root, gradient):
    """Run each node once, when all gradients of its result have arrived."""
    waiting, grads, ready = count_arrivals(root), {root: gradient}, [root]
    while ready:
        node = take_next(ready)
        for to, sent in zip(node.edges, visit(node, grads.pop(node, None))):
            if to is not None:
                if sent is not None:
                    grads[to] = grads[to] + sent if to in grads else sent
                waiting[to] -= 1
                if waiting[to] == 0:
                    ready.append(to)


def visit(node, grad):
    """Run one node, unless no gradient came, and return what it sends along its edges."""
    if grad is None:
        return (None,) * len(node.edges)
    return node.run(grad)


def run_backward(tensor, gradient):
    """Send the gradient of `tensor` to all leaves."""
    if not tensor.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if gradient is None:
        if prod(tensor.shape) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        gradient = ones_like(tensor)
    with no_grad():
        walk(tensor.edge(), gradient)


# Tensors.


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.asarray(data)
        if requires_grad and self.data.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.grad = self.grad_fn = None  # grad_fn: the node that made it
        self.requires_grad, self.leaf_node = requires_grad, None

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    is_leaf = property(lambda self: self.grad_fn is None)
    T = property(lambda self: T.apply(self))

    def edge(self):
        """Return where its gradient goes: to the node that made it, or into its own `.grad`."""
        if self.grad_fn is not None:
            return self.grad_fn
        if self.leaf_node is None:
            self.leaf_node = AccumulateGrad(self)
        return self.leaf_node

    def backward(self, gradient=None):
        run_backward(self, gradient)

    def requires_grad_(self, mode=True):
        self.requires_grad = mode
        return self

    def detach(self):
        return Tensor(self.data)

    def __repr__(self):
        text = np.array2string(self.data, precision=4, separator=", ", prefix="tensor(")
        if self.grad_fn is not None:
            return f"tensor({text}, grad_fn=<{self.grad_fn.name()}>)"
        return f"tensor({text}, requires_grad=True)" if self.requires_grad else f"tensor({text})"

    def __len__(self):
        return len(self.data)

    def dim(self):
        return self.data.ndim

    def item(self):
        return self.data.item()

    def tolist(self):
        return self.data.tolist()

    def numpy(self):
        return self.data

    # Operators are looked up at each use, so a replaced `Mul` takes effect at once.
    __add__ = __radd__ = lambda self, other: Add.apply(self, other)
    __sub__ = lambda self, other: Sub.apply(self, other)
    __rsub__ = lambda self, other: Sub.apply(other, self)
    __mul__ = __rmul__ = lambda self, other: Mul.apply(self, other)
    __truediv__ = lambda self, other: Div.apply(self, other)
    __rtruediv__ = lambda self, other: Div.apply(other, self)
    __matmul__ = lambda self, other: Mm.apply(self, other)
    __pow__ = lambda self, exponent: Pow.apply(self, exponent)
    __neg__ = lambda self: Neg.apply(self)
    exp = lambda self: Exp.apply(self)
    log = lambda self: Log.apply(self)
    tanh = lambda self: Tanh.apply(self)
    relu = lambda self: Relu.apply(self)
    sum = lambda self, dim=None, keepdim=False: Sum.apply(self, dim, keepdim)
    mean = lambda self: Mean.apply(self)
    clone = lambda self: Clone.apply(self)
    expand = lambda self, *shape: Expand.apply(self, shape_of(shape))
    reshape = lambda self, *shape: View.apply(self, shape_of(shape))


def shape_of(sizes):
    """`(2, 3)` of `reshape(2, 3)` and of `reshape((2, 3))`."""
    return sizes[0] if isinstance(sizes[0], tuple) else sizes


# Functions.


class Function:
    """An operation: `forward` computes, and `backward` sends the gradient back."""

    suffix = "Backward"

    @classmethod
    def apply(cls, *inputs):
        ctx = Node(cls, inputs)
        with no_grad():
            output = cls.forward(ctx, *inputs)
        if any(output is each for each in inputs):
            output = Tensor(output.data)
        if is_grad_enabled() and any(ctx.needs_input_grad):
            output.requires_grad, output.grad_fn = True, ctx
        return output


class Operation(Function):
    """A built-in Function. Its node's name ends as in PyTorch."""

    suffix = "Backward0"


def tensors(a, b):
    """Return both operands as tensors; a number gets the dtype of the other one."""
    a = a if isinstance(a, Tensor) else Tensor(np.asarray(a, b.dtype))
    return a, b if isinstance(b, Tensor) else Tensor(np.asarray(b, a.dtype))


def data_of(thing):
    return thing.data if isinstance(thing, Tensor) else thing


class Add(Operation):
    @staticmethod
    def forward(ctx, a, b):
        return Tensor(data_of(a) + data_of(b))

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class Sub(Operation):
    @staticmethod
    def forward(ctx, a, b):
        return Tensor(data_of(a) - data_of(b))

    @staticmethod
    def backward(ctx, grad):
        return grad, -grad if ctx.needs_input_grad[1] else None


class Mul(Operation):
    @staticmethod
    def forward(ctx, a, b):
        a, b = tensors(a, b)
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a if need_b else None, b if need_a else None)
        return Tensor(a.data * b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return None if b is None else grad * b, None if a is None else grad * a


class Div(Operation):
    @staticmethod
    def forward(ctx, a, b):
        a, b = tensors(a, b)
        ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b)
        return Tensor(a.data / b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad / b, None if a is None else -grad * a / (b * b)


class Mm(Operation):
    @staticmethod
    def forward(ctx, a, b):
        if a.dim() != 2 or b.dim() != 2:
            raise RuntimeError("@ multiplies two matrices here")
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a if need_b else None, b if need_a else None)
        return Tensor(a.data @ b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return None if b is None else grad @ b.T, None if a is None else a.T @ grad


class Neg(Operation):
    @staticmethod
    def forward(ctx, a):
        return Tensor(-a.data)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Pow(Operation):
    @staticmethod
    def forward(ctx, a, exponent):
        ctx.exponent = exponent
        ctx.save_for_backward(a)
        return Tensor(a.data**exponent)

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad * (ctx.exponent * a ** (ctx.exponent - 1)), None


class Exp(Operation):
    @staticmethod
    def forward(ctx, a):
        result = Tensor(np.exp(a.data))
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * result


class Log(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return Tensor(np.log(a.data))

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad / a


class Tanh(Operation):
    @staticmethod
    def forward(ctx, a):
        result = Tensor(np.tanh(a.data))
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * (1 - result * result)


class Relu(Operation):
    @staticmethod
    def forward(ctx, a):
        result = Tensor(np.maximum(a.data, 0))
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * Tensor((result.data > 0).astype(grad.dtype))


class Sum(Operation):
    @staticmethod
    def forward(ctx, a, dim=None, keepdim=False):
        dims = range(a.dim()) if dim is None else dim if isinstance(dim, tuple) else (dim,)
        ctx.shape = a.shape
        ctx.kept = tuple(1 if i in dims or i - a.dim() in dims else size for i, size in enumerate(a.shape))
        return Tensor(a.data.sum(dim, keepdims=keepdim))

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.kept).expand(ctx.shape), None, None


class Mean(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.shape = a.shape
        return Tensor(a.data.mean())

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(ctx.shape) / prod(ctx.shape)


class Expand(Operation):
    @staticmethod
    def forward(ctx, a, shape):
        return Tensor(np.broadcast_to(a.data, shape).copy())

    @staticmethod
    def backward(ctx, grad):
        return grad, None  # run() adds up the copies


class Clone(Operation):
    @staticmethod
    def forward(ctx, a):
        return Tensor(a.data.copy())

    @staticmethod
    def backward(ctx, grad):
        return grad


class View(Operation):
    @staticmethod
    def forward(ctx, a, shape):
        ctx.shape = a.shape
        return Tensor(a.data.reshape(shape))

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.shape), None


class T(Operation):
    @staticmethod
    def forward(ctx, a):
        return Tensor(a.data.T)

    @staticmethod
    def backward(ctx, grad):
        return grad.T


# How tensors are made.


def tensor(data, requires_grad=False, dtype=None):
    array = np.array(data, dtype)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        array = array.astype(np.float32)  # Python's numbers become float32, as in PyTorch
    return Tensor(array, requires_grad)


def zeros(*shape, requires_grad=False):
    return Tensor(np.zeros(shape, np.float32), requires_grad)


def ones(*shape, requires_grad=False):
    return Tensor(np.ones(shape, np.float32), requires_grad)


def ones_like(other):
    return Tensor(np.ones_like(other.data))
