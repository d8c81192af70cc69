"""The engine after lesson 21: saved tensors with their versions, writing in place, and views of one memory."""

from itertools import count
from math import inf, prod

import numpy as np

SECOND = (
    "Trying to backward through the graph a second time: the saved values were freed by the first one. "
    "Specify retain_graph=True if you need to backward through the graph a second time."
)


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


class Saved:
    """A tensor that a node saved for backward, with the version it had then."""

    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor._version

    def unpack(self):
        if self.tensor._version != self.version:
            made_by = self.tensor.grad_fn
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[Tensor {list(self.tensor.shape)}], which is output 0 of {made_by.name() if made_by else 'nothing'}, "
                f"is at version {self.tensor._version}; expected version {self.version} instead."
            )
        return self.tensor


class Node:
    """One operation in the graph. A Function receives it as `ctx`."""

    numbers = count()

    def __init__(self, function, inputs):
        self.function, self.number = function, next(Node.numbers)
        self.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad for each in inputs)
        self.edges = tuple(each.edge() if needs else None for each, needs in zip(inputs, self.needs_input_grad))
        self.shapes = tuple(each.shape if isinstance(each, Tensor) else None for each in inputs)
        self.saved = ()  # None once the tensors are freed

    def name(self):
        return self.function.__name__ + self.function.suffix

    def __repr__(self):
        return f"<{self.name()}>"

    def save_for_backward(self, *tensors):
        self.saved = tuple(None if each is None else Saved(each) for each in tensors)

    @property
    def saved_tensors(self):
        if self.saved is None:
            raise RuntimeError(SECOND)
        return tuple(None if each is None else each.unpack() for each in self.saved)

    def free(self):
        if self.saved:
            self.saved = None

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

    number, edges, saved = inf, (), ()  # it runs before all others that are ready

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        return "AccumulateGrad"

    def run(self, grad):
        leaf = self.variable
        if leaf.grad is None:
            leaf.grad = grad.clone()
        else:
            leaf.grad += grad  # writes into its existing memory
        return ()


class CopySlices(Node):
    """A tensor's new history after the operation of `node` wrote into a view of it."""

    def __init__(self, base, view, node):
        self.number, self.node, self.view_again = next(Node.numbers), node, view._view_again
        self.edges = (base.edge() if base.requires_grad else None, *node.edges[1:])

    saved = property(lambda self: self.node.saved)

    def name(self):
        return "CopySlices"

    def free(self):
        self.node.free()

    def run(self, grad):
        rest = grad.clone()
        part = self.view_again(rest)
        first, *others = self.node.run(part.clone())
        part.copy_(0.0 if first is None else first)
        return (rest, *others)


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


def walk(root, gradient, retain_graph):
    """Run each node once, when all gradients of its result have arrived."""
    waiting, grads, ready = count_arrivals(root), {root: gradient}, [root]
    while ready:
        node = take_next(ready)
        for to, sent in zip(node.edges, visit(node, grads.pop(node, None), retain_graph)):
            if to is not None:
                if sent is not None:
                    grads[to] = grads[to] + sent if to in grads else sent
                waiting[to] -= 1
                if waiting[to] == 0:
                    ready.append(to)


def visit(node, grad, retain_graph):
    """Run one node, unless no gradient came, and return what it sends along its edges."""
    if grad is None:
        return (None,) * len(node.edges)
    sent = node.run(grad)
    if not retain_graph:
        node.free()
    return sent


def run_backward(tensor, gradient, retain_graph):
    """Send the gradient of `tensor` to all leaves."""
    if not tensor.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if gradient is None:
        if prod(tensor.shape) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        gradient = ones_like(tensor)
    with no_grad():
        walk(tensor.edge(), gradient, retain_graph)


# Tensors.


class Tensor:
    def __init__(self, data, requires_grad=False, counter=None):
        self.data = np.asarray(data)
        if requires_grad and self.data.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.grad = None
        self._requires_grad, self._node, self._leaf_node = requires_grad, None, None
        self._counter = [0] if counter is None else counter  # one for all tensors that share this memory
        self._base = self._view_again = self._node_version = None

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    is_leaf = property(lambda self: self.grad_fn is None)
    requires_grad = property(lambda self: self._requires_grad or self.grad_fn is not None)
    _version = property(lambda self: self._counter[0])
    T = property(lambda self: T.apply(self))

    @property
    def grad_fn(self):
        """Return the node that made it. After a write into its base, a view asks the base for its history."""
        if self._base is not None and self._node_version != self._version:
            with enable_grad():
                self._node = self._view_again(self._base)._node
            self._node_version = self._version
        return self._node

    def edge(self):
        """Return where its gradient goes: to the node that made it, or into its own `.grad`."""
        if self.grad_fn is not None:
            return self.grad_fn
        if self._leaf_node is None:
            self._leaf_node = AccumulateGrad(self)
        return self._leaf_node

    def backward(self, gradient=None, retain_graph=False):
        run_backward(self, gradient, retain_graph)

    def requires_grad_(self, mode=True):
        self._requires_grad = mode
        return self

    def detach(self):
        return Tensor(self.data, counter=self._counter)

    def write(self, name, function, *inputs):
        """Run `function` and put its result into this tensor's own memory."""
        base = self if self._base is None else self._base
        if is_grad_enabled() and base.requires_grad and base.is_leaf:
            what = "a leaf Variable" if base is self else "a view of a leaf Variable"
            raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
        before = Tensor(self.data.copy())
        before._node = self.grad_fn
        result = function.apply(self, *inputs)
        if result.shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        node = result.grad_fn
        saved = [each for each in node.saved if each is not None] if node is not None else []
        for each in saved:
            if each.tensor is self:  # the node needs the numbers that are about to be overwritten
                each.tensor, each.version = before, 0
        self.data[...] = result.data
        self._counter[0] += 1
        for each in saved:
            if each.tensor is result:
                each.tensor, each.version = self, self._version
        if node is not None:
            base._node = node if base is self else CopySlices(base, self, node)
        return self

    def become_view(self, source, view):
        """Share the version counter of `source`; `view` makes this tensor from `source` again."""
        if source._base is None:
            self._base, self._view_again = source, view
        else:
            self._base, self._view_again = source._base, lambda base: view(source._view_again(base))
        self._counter, self._node_version = source._counter, source._version

    def __getitem__(self, index):
        result, dim = self, 0
        for each in index if isinstance(index, tuple) else (index,):
            if isinstance(each, slice):
                result, dim = Slice.apply(result, dim, each), dim + 1
            else:
                result = Select.apply(result, dim, each)
        return result

    def __setitem__(self, index, value):
        self[index].copy_(value)

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
    view = lambda self, *shape: View.apply(self, shape_of(shape))
    reshape = lambda self, *shape: (self if self.data.flags.c_contiguous else self.clone()).view(*shape)
    add_ = __iadd__ = lambda self, other: self.write("add_", Add, other)
    sub_ = __isub__ = lambda self, other: self.write("sub_", Sub, other)
    mul_ = __imul__ = lambda self, other: self.write("mul_", Mul, other)
    copy_ = lambda self, other: self.write("copy_", Copy, other)
    zero_ = lambda self: self.write("zero_", Zero)


def shape_of(sizes):
    """`(2, 3)` of `view(2, 3)` and of `view((2, 3))`."""
    return sizes[0] if isinstance(sizes[0], tuple) else sizes


# Functions.


class Function:
    """An operation: `forward` computes, and `backward` sends the gradient back."""

    suffix, is_view = "Backward", False

    @classmethod
    def apply(cls, *inputs):
        ctx = Node(cls, inputs)
        with no_grad():
            output = cls.forward(ctx, *inputs)
        if any(output is each for each in inputs):
            output = Tensor(output.data, counter=output._counter)
        if cls.is_view:
            output.become_view(inputs[0], lambda base: cls.apply(base, *inputs[1:]))
        if is_grad_enabled() and any(ctx.needs_input_grad):
            output._node = ctx
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


# Views: their result uses the memory of the operand.


class View(Operation):
    is_view = True

    @staticmethod
    def forward(ctx, a, shape):
        ctx.shape, result = a.shape, a.data.reshape(shape)
        if not np.shares_memory(result, a.data):
            raise RuntimeError("view size is not compatible with input tensor's size: use .reshape(...) instead.")
        return Tensor(result)

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.shape), None


class T(Operation):
    is_view = True

    @staticmethod
    def forward(ctx, a):
        return Tensor(a.data.T)

    @staticmethod
    def backward(ctx, grad):
        return grad.T


class Select(Operation):
    """The slice at `index` along a dimension."""

    is_view = True

    @staticmethod
    def forward(ctx, a, dim, index):
        ctx.shape, ctx.dim, ctx.index = a.shape, dim, index
        return Tensor(a.data[(slice(None),) * dim + (index, ...)])

    @staticmethod
    def backward(ctx, grad):
        whole = Tensor(np.zeros(ctx.shape, grad.dtype))
        ctx.function.apply(whole, ctx.dim, ctx.index).copy_(grad)
        return whole, None, None


class Slice(Select):
    pass


# What in-place operations run.


class Copy(Operation):
    suffix = "Backwards"  # the only name that ends like this

    @staticmethod
    def forward(ctx, a, b):
        return Tensor(np.broadcast_to(data_of(b), a.shape).astype(a.dtype))

    @staticmethod
    def backward(ctx, grad):
        return None, grad


class Zero(Operation):
    @staticmethod
    def forward(ctx, a):
        return Tensor(np.zeros_like(a.data))

    @staticmethod
    def backward(ctx, grad):
        return None


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
