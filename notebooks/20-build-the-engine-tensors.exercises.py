"""The exercises of lesson 20, an engine's tensors and Functions, with their solutions, as `check` reads them."""

from math import prod

import numpy as np

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise, results

# The engine's own classes, as far as a probe of an answer that was written elsewhere needs them.


class no_grad:
    on = False

    def __enter__(self):
        self.before, no_grad.on = no_grad.on, True

    def __exit__(self, *error):
        no_grad.on = self.before


def is_grad_enabled():
    return not no_grad.on


class Node:
    def __init__(self, function, inputs):
        self.function = function
        self.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad for each in inputs)


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.asarray(data)
        self.requires_grad, self.grad_fn = requires_grad, None

    shape = property(lambda self: self.data.shape)
    T = property(lambda self: Tensor(self.data.T))

    def dim(self):
        return self.data.ndim

    def expand(self, *shape):
        return Tensor(np.broadcast_to(self.data, shape[0] if isinstance(shape[0], tuple) else shape))

    def __mul__(self, other):
        return Tensor(self.data * _data(other))

    def __truediv__(self, other):
        return Tensor(self.data / _data(other))

    def __matmul__(self, other):
        return Tensor(self.data @ other.data)


def _data(thing):
    return thing.data if isinstance(thing, Tensor) else thing


_OWN = {"Node": Node, "Tensor": Tensor, "no_grad": no_grad, "is_grad_enabled": is_grad_enabled}


def _own(function, name):
    """What has this name in the learner's notebook."""
    return getattr(function, "__globals__", {}).get(name, _OWN[name])


# 1. Broadcasting, backward.


def _dims(grad, shape):
    extra = grad.dim() - len(shape)
    return tuple(i for i in range(grad.dim()) if i < extra or shape[i - extra] != grad.shape[i])


def sum_to(grad, shape):
    extra = grad.dim() - len(shape)
    dims = tuple(i for i in range(grad.dim()) if i < extra or shape[i - extra] != grad.shape[i])
    return grad.sum(dims).reshape(shape) if dims else grad


def _leading_alone(grad, shape):
    extra = grad.dim() - len(shape)
    return grad.sum(tuple(range(extra))) if extra else grad


def _ones_alone(grad, shape):
    dims = tuple(i for i, size in enumerate(shape) if size == 1 and grad.shape[i] != 1)
    return grad.sum(dims, keepdim=True) if dims else grad


def _from_the_left(grad, shape):
    dims = tuple(i for i in range(grad.dim()) if i >= len(shape) or shape[i] != grad.shape[i])
    return grad.sum(dims).reshape(shape) if dims else grad


def _mean_of_copies(grad, shape):
    dims = _dims(grad, shape)
    return grad.mean(dims).reshape(shape) if dims else grad


def _flattened(grad, shape):
    dims = _dims(grad, shape)
    return grad.sum(dims) if dims else grad


def _kept_dims(grad, shape):
    dims = _dims(grad, shape)
    return grad.sum(dims, keepdim=True) if dims else grad


def _one_copy(grad, shape):
    place = tuple(0 if i in _dims(grad, shape) else slice(None) for i in range(grad.dim()))
    return grad[place].reshape(shape)


_BLOCK = [[1.0, 2.0, -3.0], [0.5, 4.0, 8.0]]
_CUBE = [_BLOCK, [[7.0, 0.25, 1.0], [-2.0, 6.0, 3.0]]]
_SQUARE = [[1.0, 2.0], [3.0, 5.0]]

exercise(
    "sum-to-a-shape",
    "A gradient in the shape of the tensor that was broadcast.",
    solution=sum_to,
    probes={
        "the same shape": results([_BLOCK, (2, 3)], [4.0, ()]),
        "a dimension in front": results([_BLOCK, (3,)], [_SQUARE, (2,)], [_CUBE, (2, 3)], [_CUBE, (3,)]),
        "a dimension of size 1": results([_BLOCK, (2, 1)], [_BLOCK, (1, 3)], [_SQUARE, (1, 2)], [_BLOCK, (1, 1)]),
        "both": results([_CUBE, (2, 1)], [_CUBE, (1, 3)], [_CUBE, (1,)], [[[1.0], [2.0]], (1,)]),
        "a single number": results([_BLOCK, ()], [[1.0, 2.0], ()]),
    },
    misconceptions=[
        Misconception(
            "dimensions of size 1 are not summed",
            "dimensions in front are added up. A dimension of size 1 is repeated in broadcasting too.",
            _leading_alone,
        ),
        Misconception(
            "dimensions in front are not summed",
            "dimensions of size 1 are added up. A tensor with fewer dimensions is repeated in broadcasting too.",
            _ones_alone,
        ),
        Misconception(
            "shapes are compared from the left",
            "write the two shapes below each other as broadcasting does: at which end do they begin?",
            _from_the_left,
        ),
        Misconception(
            "the mean of the copies",
            "a nudge moves every copy by the full nudge, so the gradients from the copies add.",
            _mean_of_copies,
        ),
        Misconception(
            "summed dimensions are gone",
            "the numbers are right. But a sum takes its dimension away, and (2, 1) is another shape than (2,).",
            _flattened,
        ),
        Misconception(
            "too many dimensions are kept",
            "the numbers are right. But a dimension that the tensor never had has to go away.",
            _kept_dims,
        ),
        Misconception(
            "one copy of many",
            "you took the gradient of one copy. Each copy brings one.",
            _one_copy,
        ),
        Misconception(
            "a reshape adds nothing",
            "a reshape puts the same numbers into another shape. Here there are too many numbers.",
            lambda grad, shape: grad.reshape(shape),
        ),
        Misconception(
            "everything is summed",
            "each element of the tensor has its own gradient.",
            lambda grad, shape: grad.sum(),
        ),
    ],
    points=2,
)


# 2. Apply.


def apply(cls, *inputs):
    ctx = Node(cls, inputs)
    with no_grad():
        output = cls.forward(ctx, *inputs)
    if any(output is each for each in inputs):
        output = Tensor(output.data)
    if is_grad_enabled() and any(ctx.needs_input_grad):
        output.requires_grad, output.grad_fn = True, ctx
    return output


def _apply_with(quiet=True, renewed=True, asks=is_grad_enabled, wanted=any, flag=True):
    """An apply that leaves out a part."""

    def applied(cls, *inputs):
        ctx = Node(cls, inputs)
        before, no_grad.on = no_grad.on, quiet or no_grad.on
        try:
            output = cls.forward(ctx, *inputs)
        finally:
            no_grad.on = before
        if renewed and any(output is each for each in inputs):
            output = Tensor(output.data)
        if asks() and wanted(ctx.needs_input_grad):
            output.grad_fn = ctx
            output.requires_grad = flag or output.requires_grad
        return output

    return applied


def _never_recorded(cls, *inputs):
    with no_grad():
        output = cls.forward(Node(cls, inputs), *inputs)
    return Tensor(output.data) if any(output is each for each in inputs) else output


def _another_ctx(cls, *inputs):
    output = _apply_with()(cls, *inputs)
    if output.grad_fn is not None:
        output.grad_fn = Node(cls, inputs)
    return output


# What the operands of a Function are, what its forward returns, and whether the engine records.
_CALLS = (("lc", 0, 1), ("cc", 0, 1), ("ln", 0, 1), ("nl", 0, 1), ("l", 1, 1), ("c", 1, 1), ("lc", 0, 0), ("l", 1, 0))


def _applied(answer, read):
    return [read(*_applied_once(answer, *call)) for call in _CALLS]


def _applied_once(answer, kinds, returns_its_input, records):
    own_tensor, seen = _own(answer, "Tensor"), {}

    class Twice:
        suffix = "Backward"

        @staticmethod
        def forward(ctx, *inputs):
            seen["ctx"], seen["inputs"] = ctx, inputs
            seen["recording"] = _own(answer, "is_grad_enabled")()
            return inputs[0] if returns_its_input else own_tensor(np.array([2.0, 4.0]))

    made = {"l": own_tensor(np.array([1.0, 2.0]), True), "c": own_tensor(np.array([3.0, 5.0])), "n": 3.0}
    inputs = tuple(made[kind] for kind in kinds)
    if records:
        out = answer(Twice, *inputs)
    else:
        with _own(answer, "no_grad")():
            out = answer(Twice, *inputs)
    if not isinstance(out, own_tensor):
        raise Unusable("your code didn't return a Tensor")
    return out, inputs, seen


def _what_forward_saw(out, inputs, seen):
    same = len(seen["inputs"]) == len(inputs) and all(map(lambda a, b: a is b, seen["inputs"], inputs))
    return ["the inputs" if same else "other inputs", "recording" if seen["recording"] else "nothing recorded"]


def _which_node(out, inputs, seen):
    if out.grad_fn is None:
        return "no node"
    return "the node that forward got" if out.grad_fn is seen["ctx"] else "another thing"


def _untouched(out, inputs, seen):
    tensors = [each for each in inputs if not isinstance(each, float)]
    return [any(out is each for each in inputs), any(each.grad_fn is not None for each in tensors)]


exercise(
    "apply-a-function",
    "Run a Function's forward, and give its result a node if one is needed.",
    solution=apply,
    probes={
        "what forward is called with": lambda answer: _applied(answer, _what_forward_saw),
        "requires_grad": lambda answer: _applied(answer, lambda out, inputs, seen: bool(out.requires_grad)),
        "the node": lambda answer: _applied(answer, _which_node),
        "the inputs afterward": lambda answer: _applied(answer, _untouched),
        "the result": lambda answer: _applied(answer, lambda out, inputs, seen: out.data),
    },
    misconceptions=[
        Misconception(
            "forward is recorded, too",
            "the operations in forward would leave their own nodes. But the Function's backward covers all of them.",
            _apply_with(quiet=False),
        ),
        Misconception(
            "constants leave a node",
            "no input requires a gradient, and still your result has a node. To which input would it send a gradient?",
            _apply_with(wanted=lambda needs: True),
            (_apply_with(wanted=lambda needs: True, asks=lambda: True),),
        ),
        Misconception(
            "one constant is enough to stop the recording",
            "your result has a node only if all inputs ask for a gradient. In x @ w, where x is a constant, w still "
            "moves the result.",
            _apply_with(wanted=all),
        ),
        Misconception(
            "no_grad is not asked",
            "under no_grad your result has a node. The engine has to be asked too.",
            _apply_with(asks=lambda: True),
        ),
        Misconception(
            "the result does not require a gradient",
            "the node is there, but the next operation will take your result for a constant.",
            _apply_with(flag=False),
        ),
        Misconception(
            "an input gets the node",
            "if forward returns its input, your input and result are the same object. So the leaf is no longer a leaf.",
            _apply_with(renewed=False),
        ),
        Misconception(
            "the result has no node",
            "forward has run, and the graph ends here: no gradient will ever reach the inputs.",
            _never_recorded,
        ),
        Misconception(
            "backward gets another ctx",
            "forward puts things on one node, and the result has another one. Its backward will find nothing there.",
            _another_ctx,
        ),
    ],
    points=2,
)


# 3. A product of matrices.


class Ctx:
    """A node, as far as forward and backward see it."""

    def __init__(self, *needs):
        self.needs_input_grad, self.saved_tensors = needs, ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


class Mm:
    @staticmethod
    def forward(ctx, a, b):
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a if need_b else None, b if need_a else None)
        return Tensor(a.data @ b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return None if b is None else grad @ b.T, None if a is None else a.T @ grad


class _MmKeepsAll:
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return Tensor(a.data @ b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad @ b.T, a.T @ grad


class _MmOwnOperand(_MmKeepsAll):
    @staticmethod
    def forward(ctx, a, b):
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a if need_a else None, b if need_b else None)
        return Tensor(a.data @ b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return None if b is None else grad @ b.T, None if a is None else a.T @ grad


class _MmAttributes(_MmKeepsAll):
    @staticmethod
    def forward(ctx, a, b):
        ctx.a, ctx.b = a, b
        return Tensor(a.data @ b.data)

    @staticmethod
    def backward(ctx, grad):
        return grad @ ctx.b.T, ctx.a.T @ grad


def _mm(of_a, of_b):
    """The product with these gradients of a and of b, from both matrices and the gradient that arrives."""

    class Product:
        @staticmethod
        def forward(ctx, a, b):
            need_a, need_b = ctx.needs_input_grad
            ctx.save_for_backward(a if need_b else None, b if need_a else None)
            ctx.both = a, b
            return Tensor(a.data @ b.data)

        @staticmethod
        def backward(ctx, grad):
            need_a, need_b = ctx.needs_input_grad
            return of_a(*ctx.both, grad) if need_a else None, of_b(*ctx.both, grad) if need_b else None

    return Product


class _Elementwise(_MmKeepsAll):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return Tensor(a.data * b.data)


_FACTORS = (
    ([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], [[0.5, 1.0], [-1.0, 2.0], [4.0, 0.1]], [[1.0, 2.0], [-0.5, 3.0]]),
    ([[1.0, 2.0], [3.0, -4.0]], [[0.5, 1.5], [2.0, -1.0]], [[2.0, 1.0], [0.25, -3.0]]),
)


def _product(answer, needs, read):
    found, own_tensor = [], _own(answer.forward, "Tensor")
    for a, b, grad in _FACTORS:
        ctx = Ctx(*needs)
        out = answer.forward(ctx, own_tensor(np.array(a)), own_tensor(np.array(b)))
        if not isinstance(out, own_tensor):
            raise Unusable("your forward didn't return a Tensor")
        found.append(read(answer, ctx, out, own_tensor(np.array(grad))))
    return found


def _came_back(answer, ctx, grad, number):
    """What backward returns for each of so many inputs."""
    found = answer.backward(ctx, grad)
    found = found if isinstance(found, tuple | list) else (found,)
    if len(found) != number:
        raise Unusable(f"your backward returned {len(found)} gradients, and forward has {number} inputs")
    return [each.data if hasattr(each, "data") and each is not None else each for each in found]


def _both(answer, ctx, out, grad):
    return _came_back(answer, ctx, grad, 2)


def _kept(answer, ctx, out, grad):
    return sum(each.data.size for each in ctx.saved_tensors if each is not None)


def _checked(answer, *arguments):
    """Whether gradcheck agrees with forward and backward of the learner's Function."""
    own_tensor = _own(answer.forward, "Tensor")

    class ByOwnEngine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.own = Ctx(*(True for _ in inputs))
            return torch.tensor(answer.forward(ctx.own, *(own_tensor(each.numpy()) for each in inputs)).data)

        @staticmethod
        def backward(ctx, grad):
            found = _came_back(answer, ctx.own, own_tensor(grad.numpy()), len(arguments))
            return tuple(torch.tensor(np.array(each)) for each in found)

    point = tuple(torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in arguments)
    return torch.autograd.gradcheck(ByOwnEngine.apply, point, raise_exception=False)


exercise(
    "product-of-matrices",
    "The product of two matrices as a Function that saves only the tensors its backward needs.",
    solution=Mm,
    probes={
        "the value": lambda answer: _product(answer, (True, True), lambda _, ctx, out, grad: out.data),
        "the gradients": lambda answer: _product(answer, (True, True), _both),
        "the gradient of a alone": lambda answer: [two[0] for two in _product(answer, (True, False), _both)],
        "the gradient of b alone": lambda answer: [two[1] for two in _product(answer, (False, True), _both)],
        "what is kept": lambda answer: [
            _product(answer, needs, _kept) for needs in ((True, True), (True, False), (False, True))
        ],
        "gradcheck": lambda answer: _checked(answer, *_FACTORS[0][:2]),
    },
    misconceptions=[
        Misconception(
            "everything is kept",
            "the gradients are right. But if only one of the two needs a gradient, one of the matrices is saved and "
            "never used.",
            _MmKeepsAll,
        ),
        Misconception(
            "each keeps itself",
            "which matrix is needed for the gradient of a? Look at your backward.",
            _MmOwnOperand,
        ),
        Misconception(
            "kept as an attribute of ctx",
            "the gradients are right. But the engine knows only what save_for_backward got. In the next lesson it "
            "will check and free that, and nothing else.",
            _MmAttributes,
        ),
        Misconception(
            "no matrix is turned",
            "write the shapes below each other: for a square matrix your products exist, for others they don't.",
            _mm(lambda a, b, grad: grad @ b, lambda a, b, grad: a @ grad),
        ),
        Misconception(
            "the factors are in another order",
            "a @ b isn't b @ a. Which order has the shape that is needed?",
            _mm(lambda a, b, grad: b.T @ grad, lambda a, b, grad: grad @ a.T),
        ),
        Misconception(
            "each gets the gradient of the other",
            "the first gradient that backward returns is for a, which is the first input of forward.",
            _mm(lambda a, b, grad: a.T @ grad, lambda a, b, grad: grad @ b.T),
        ),
        Misconception(
            "the rule of *",
            "that's right where each number meets one other number. Here a row meets a column.",
            _mm(lambda a, b, grad: grad * b, lambda a, b, grad: grad * a),
            (_Elementwise,),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if every gradient that arrives is 1. Use grad.",
            _mm(
                lambda a, b, grad: Tensor(np.ones(grad.shape)) @ b.T,
                lambda a, b, grad: a.T @ Tensor(np.ones(grad.shape)),
            ),
        ),
    ],
    points=3,
)


# 4. The mean.


class Mean:
    @staticmethod
    def forward(ctx, a):
        ctx.shape = a.shape
        return Tensor(a.data.mean())

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(ctx.shape) / prod(ctx.shape)


def _mean(backward, forward=lambda data: data.mean()):
    """The mean with this backward of the shape and the gradient that arrives."""

    class Average:
        @staticmethod
        def forward(ctx, a):
            ctx.a = a
            return Tensor(forward(a.data))

        @staticmethod
        def backward(ctx, grad):
            return backward(ctx.a, grad)

    return Average


_AVERAGED = (([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], 3.0), ([1.0, 2.0, 4.0, -1.0], -0.5), ([[2.0], [5.0]], 1.0))


def _averaged(answer, read):
    found, own_tensor = [], _own(answer.forward, "Tensor")
    for a, grad in _AVERAGED:
        ctx = Ctx(True)
        out = answer.forward(ctx, own_tensor(np.array(a)))
        if not isinstance(out, own_tensor):
            raise Unusable("your forward didn't return a Tensor")
        found.append(read(answer, ctx, out, own_tensor(np.array(grad))))
    return found


def _went_back(answer, ctx, out, grad):
    return _came_back(answer, ctx, grad, 1)[0]


exercise(
    "mean-as-a-function",
    "The mean of all elements as a Function.",
    solution=Mean,
    probes={
        "the value": lambda answer: _averaged(answer, lambda _, ctx, out, grad: out.data),
        "the gradient": lambda answer: _averaged(answer, _went_back),
        "gradcheck": lambda answer: _checked(answer, _AVERAGED[0][0]),
    },
    misconceptions=[
        Misconception(
            "the gradient of a sum",
            "a nudge of one element moves the mean by less than the nudge: by what part of it?",
            _mean(lambda a, grad: grad.expand(a.shape)),
        ),
        Misconception(
            "divided by the number of rows",
            "the mean of a matrix has more terms than the matrix has rows.",
            _mean(lambda a, grad: grad.expand(a.shape) / a.shape[0]),
        ),
        Misconception(
            "divided by the number of columns",
            "the mean of a matrix has more terms than the matrix has columns.",
            _mean(lambda a, grad: grad.expand(a.shape) / a.shape[-1]),
        ),
        Misconception(
            "one number for all",
            "a gradient has the shape of its tensor. Yours is a single number.",
            _mean(lambda a, grad: grad / prod(a.shape)),
        ),
        Misconception(
            "multiplied instead of divided",
            "the larger the tensor is, the less one element moves its mean.",
            _mean(lambda a, grad: grad.expand(a.shape) * prod(a.shape)),
        ),
        Misconception(
            "the values take part",
            "the slope of a mean is the same whatever the elements are.",
            _mean(lambda a, grad: a * grad / prod(a.shape)),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if the gradient that arrives is 1. Use grad.",
            _mean(lambda a, grad: Tensor(np.ones(a.shape)) / prod(a.shape)),
        ),
    ],
)
