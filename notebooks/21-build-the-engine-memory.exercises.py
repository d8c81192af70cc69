"""The exercises of lesson 21, saved tensors and views of an own engine, with their solutions, as `check` reads them."""

from contextlib import contextmanager

import engine_3
import numpy as np

from workbench.classroom import Misconception, Unusable, exercise


@contextmanager
def _with(part, mine):
    """Let the engine run on a part of the answer; afterward it is as before."""
    before = getattr(engine_3, part)
    setattr(engine_3, part, mine)
    try:
        yield
    finally:
        setattr(engine_3, part, before)


def _leaf(*numbers):
    return engine_3.tensor(list(numbers), requires_grad=True)


def _doubles(numbers):
    return np.array(numbers, np.float64)


def _error_of(act):
    """What an error says, or that there is none."""
    try:
        act()
    except RuntimeError as error:
        return str(error)
    return "no error"


# 1. A saved tensor.


def written_over(tensor, expected):
    node = tensor.grad_fn.name() if tensor.grad_fn else "nothing"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[Tensor {list(tensor.shape)}], which is output 0 of {node}, "
        f"is at version {tensor._version}; expected version {expected} instead."
    )


class Saved:
    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor._version

    def unpack(self):
        if self.tensor._version != self.version:
            raise written_over(self.tensor, self.version)
        return self.tensor


class _Copied(Saved):
    def __init__(self, tensor):
        self.tensor = tensor.clone()

    def unpack(self):
        return self.tensor


class _NeverCompared(Saved):
    def unpack(self):
        return self.tensor


class _ComparedWithItself(Saved):
    def unpack(self):
        if self.tensor._version != self.tensor._version:
            raise written_over(self.tensor, self.version)
        return self.tensor


class _NumbersCompared(Saved):
    def __init__(self, tensor):
        super().__init__(tensor)
        self.numbers = tensor.data.copy()

    def unpack(self):
        if (self.tensor.data != self.numbers).any():
            raise written_over(self.tensor, self.version)
        return self.tensor


class _AnyWriteEver(Saved):
    def unpack(self):
        if self.tensor._version != 0:
            raise written_over(self.tensor, self.version)
        return self.tensor


class _WrongVersionNamed(Saved):
    def unpack(self):
        if self.tensor._version != self.version:
            raise written_over(self.tensor, self.tensor._version)
        return self.tensor


class _Refused(Saved):
    def unpack(self):
        if self.tensor._version == self.version:
            raise written_over(self.tensor, self.version)
        return self.tensor


class _ReadTwice(Saved):
    def unpack(self):
        if self.tensor._version != self.version:
            raise written_over(self.tensor, self.version)
        self.version += 1
        return self.tensor


def _written_after(tensor):
    tensor.add_(1.0)


def _same_numbers_written(tensor):
    tensor.mul_(1.0)


def _written_twice(tensor):
    tensor.add_(1.0)
    tensor.add_(1.0)


def _written_through_a_view(tensor):
    tensor[0] = 5.0


def _written_into_what_is_detached(tensor):
    tensor.detach().zero_()


def _written_elsewhere(tensor):
    tensor.clone().zero_()


def _nothing(tensor):
    pass


_ACTS = (
    _nothing,
    _written_after,
    _same_numbers_written,
    _written_twice,
    _written_through_a_view,
    _written_into_what_is_detached,
    _written_elsewhere,
)


def _saved_and_then(answer, read):
    found = []
    for earlier in (0, 2):  # writes before it is saved
        for act in _ACTS:
            tensor = engine_3.zeros(3)
            for _ in range(earlier):
                tensor.add_(1.0)
            saved = answer(tensor)
            act(tensor)
            found.append(read(saved, tensor))
    return found


def _what_comes_back(saved, tensor):
    try:
        back = saved.unpack()
    except RuntimeError:
        return "an error"
    if back is not tensor:
        return "None" if back is None else "another thing"
    return "the tensor" if saved.unpack() is tensor else "the second time another thing"


exercise(
    "saved-with-its-version",
    "A saved tensor that detects whether it was changed in place.",
    solution=Saved,
    probes={
        "what unpack returns": lambda answer: _saved_and_then(answer, _what_comes_back),
        "the error": lambda answer: _saved_and_then(answer, lambda saved, tensor: _error_of(saved.unpack)),
        "a backward": lambda answer: _through(answer),
    },
    misconceptions=[
        Misconception(
            "a copy is kept",
            "your answer never raises an error, because it has its own copy of the numbers. But then every saved "
            "tensor takes its memory twice. Return the tensor itself.",
            _Copied,
        ),
        Misconception(
            "nothing is compared",
            "your unpack returns the tensor even after a write. That's what engine_2 did.",
            _NeverCompared,
            (_ComparedWithItself,),
        ),
        Misconception(
            "the numbers are compared",
            "h.mul_(1.0) is a write, though every number is as before. And to compare all numbers, you must keep a "
            "copy of them. The counter needs neither.",
            _NumbersCompared,
        ),
        Misconception(
            "any write ever is an error",
            "a write before the tensor is saved does no harm: what is saved are the numbers after it.",
            _AnyWriteEver,
        ),
        Misconception(
            "the versions are mixed up",
            "the error comes when it should, but it names a wrong version. Which one was there when the tensor was "
            "saved?",
            _WrongVersionNamed,
        ),
        Misconception(
            "the wrong way around",
            "your unpack raises if the tensor wasn't changed, and returns it if it was.",
            _Refused,
        ),
        Misconception(
            "to read is to write",
            "your second unpack raises, though the tensor wasn't changed. With retain_graph a node is read twice.",
            _ReadTwice,
        ),
    ],
    points=2,
)


def _through(answer):
    with _with("Saved", answer):
        x = _leaf(1.0, 2.0)
        (x * x * x).sum().backward()
        return x.grad.tolist()


# 2. Free what was kept.


def freed():
    return RuntimeError("Trying to backward through the graph a second time: what it had saved was freed.")


class Keeping(engine_3.Node):
    def save_for_backward(self, *tensors):
        self.saved = tuple(None if each is None else engine_3.Saved(each) for each in tensors)

    @property
    def saved_tensors(self):
        if self.saved is None:
            raise freed()
        return tuple(None if each is None else each.unpack() for each in self.saved)

    def free(self):
        if self.saved:
            self.saved = None


class _NothingFreed(Keeping):
    def free(self):
        self.saved = tuple(self.saved)


class _FreedToEmpty(Keeping):
    def free(self):
        self.saved = ()


class _AllRefused(Keeping):
    was_freed = False

    @property
    def edges(self):
        if self.was_freed:
            raise freed()
        return self._edges

    @edges.setter
    def edges(self, edges):
        self._edges = edges

    def free(self):
        self.was_freed = True


class _FreedByReading(Keeping):
    @property
    def saved_tensors(self):
        if self.saved is None:
            raise freed()
        saved, self.saved = self.saved, None
        return tuple(None if each is None else each.unpack() for each in saved)


class _NotUnpacked(Keeping):
    @property
    def saved_tensors(self):
        if self.saved is None:
            raise freed()
        return self.saved


class _TensorsTaken(Keeping):
    @property
    def saved_tensors(self):
        if self.saved is None:
            raise freed()
        return tuple(None if each is None else each.tensor for each in self.saved)


class _NoneUnpacked(Keeping):
    @property
    def saved_tensors(self):
        if self.saved is None:
            raise freed()
        return tuple(each.unpack() for each in self.saved)


class _NoneLeftOut(Keeping):
    @property
    def saved_tensors(self):
        if self.saved is None:
            raise freed()
        return tuple(each.unpack() for each in self.saved if each is not None)


class _NotRefused(Keeping):
    @property
    def saved_tensors(self):
        return tuple(None if each is None else each.unpack() for each in self.saved)


def _backwards(program, retain):
    x, c = _leaf(1.0, 2.0), engine_3.tensor([3.0, 4.0])
    y = program(x, c).sum()
    said = [_error_of(lambda: y.backward(retain_graph=retain)), _error_of(y.backward)]
    return [*said, "no gradient" if x.grad is None else str(x.grad.tolist())]


_PROGRAMS = (
    lambda x, c: x * x,
    lambda x, c: x * c,
    lambda x, c: c * x + x,
    lambda x, c: x + x,
    lambda x, c: x.exp(),
)


def _with_writes(answer):
    with _with("Node", answer):
        x = _leaf(1.0, 2.0)
        h = x.exp()
        y = (h * h).sum()
        h.add_(1.0)
        return "an error" if _error_of(y.backward) != "no error" else "no error"


def _twice(answer, retain):
    with _with("Node", answer):
        return [_backwards(program, retain) for program in _PROGRAMS]


def _held(answer):
    """Whether a node still holds what it saved, after its run."""
    with _with("Node", answer):
        x = _leaf(1.0, 2.0)
        y = x * x
        y.backward(engine_3.ones(2))
        return "held" if y.grad_fn.saved else "freed"


exercise(
    "free-what-was-kept",
    "The tensors that a node saved, read and freed.",
    solution=Keeping,
    probes={
        "two backwards": lambda answer: _twice(answer, False),
        "two backwards with retain_graph": lambda answer: _twice(answer, True),
        "the memory": _held,
        "a saved tensor that was written over": _with_writes,
    },
    misconceptions=[
        Misconception(
            "nothing is freed",
            "after the run, your node still holds what it saved. The memory of a whole training step would stay.",
            _NothingFreed,
        ),
        Misconception(
            "freed, and nobody knows",
            "after your free, a node that was emptied looks like one that never saved anything. The second backward "
            "must be able to tell them apart.",
            _FreedToEmpty,
        ),
        Misconception(
            "every second backward is refused",
            "a node that saved nothing can run again: in x + x nothing is missing.",
            _AllRefused,
        ),
        Misconception(
            "to read is to free",
            "your node loses its saved tensors when they are read. With retain_graph=True they are read twice, and "
            "free isn't called.",
            _FreedByReading,
        ),
        Misconception(
            "the records instead of the tensors",
            "a Function's backward computes with what saved_tensors returns. Yours returns Saved records: each has a "
            "method that returns its tensor.",
            _NotUnpacked,
        ),
        Misconception(
            "the version is not compared",
            "you take the tensor out of its record yourself, so the versions are never compared.",
            _TensorsTaken,
        ),
        Misconception(
            "None is unpacked",
            "x * c saves no tensor for a constant: None takes its place, and None has no unpack.",
            _NoneUnpacked,
        ),
        Misconception(
            "None has no place",
            "backward takes the tuple apart, one name for each thing that was saved. Yours is shorter when None was "
            "saved.",
            _NoneLeftOut,
        ),
        Misconception(
            "what was freed is not refused",
            "after free, your saved_tensors fails with a Python error that says nothing about a second backward.",
            _NotRefused,
        ),
    ],
    points=2,
)


# 3. The backward of a view.


class First(engine_3.Operation):
    is_view = True

    @staticmethod
    def forward(ctx, a, index):
        ctx.shape, ctx.index = a.shape, index
        return engine_3.Tensor(a.data[index, ...])

    @staticmethod
    def backward(ctx, grad):
        whole = engine_3.zeros(*ctx.shape)
        whole[ctx.index].copy_(grad)
        return whole, None


def _first(backward):
    """A First with another backward."""
    return type("First", (First,), {"backward": staticmethod(backward)})


def _at(index_of, ones=False):
    def backward(ctx, grad):
        whole = engine_3.ones(*ctx.shape) if ones else engine_3.zeros(*ctx.shape)
        whole[index_of(ctx)].copy_(grad)
        return whole, None

    return backward


def _ones_there(ctx, grad):
    whole = engine_3.zeros(*ctx.shape)
    whole[ctx.index].copy_(1.0)
    return whole, None


def _nothing_written(ctx, grad):
    whole = engine_3.zeros(*ctx.shape)
    whole[ctx.index] + grad
    return whole, None


def _shared_out(ctx, grad):
    return engine_3.zeros(*ctx.shape) + grad / ctx.shape[0], None


_CASES = (((3,), (1,)), ((3,), (0, 0, 2)), ((2, 2), (1,)), ((2, 2), (0, 1)), ((3,), (-1,)))


def _sliced(answer, weights):
    found = []
    for shape, indices in _CASES:
        size = 1
        for each in shape:
            size *= each
        x = engine_3.tensor([float(n) for n in range(size)]).reshape(*shape).requires_grad_()
        y = None
        for place, index in enumerate(indices):
            part = answer.apply(x, index) * (weights * (place + 2.0))
            y = part.sum() if y is None else y + part.sum()
        y.backward()
        found.append(x.grad.tolist())
    return found


def _returned(answer):
    x = _leaf(1.0, 2.0, 3.0)
    node = answer.apply(x, 1).grad_fn
    grads = answer.backward(node, engine_3.tensor(2.0))
    if grads is None:
        raise Unusable("your backward returns None: is a return missing?")
    if not isinstance(grads, tuple):
        raise Unusable("your backward doesn't return a tuple: it must return one gradient per forward argument")
    return ["None" if each is None else "a gradient" for each in grads]


exercise(
    "backward-of-a-view",
    "The gradient of a tensor, from the gradient of its slice at one index.",
    solution=First,
    probes={
        "what backward returns": _returned,
        "the gradient": lambda answer: _sliced(answer, 1.5),
    },
    misconceptions=[
        Misconception(
            "the gradient of the part is passed on",
            "a gradient has the shape of its tensor. Yours has the shape of the part.",
            _first(lambda ctx, grad: (grad, None)),
        ),
        Misconception(
            "every element gets the gradient",
            "the other elements weren't read. If one of them moves, the result doesn't.",
            _first(lambda ctx, grad: (engine_3.zeros(*ctx.shape) + grad, None)),
        ),
        Misconception(
            "the gradient is shared out",
            "the result is one element, not the mean of all.",
            _first(_shared_out),
        ),
        Misconception(
            "always at the front",
            "your gradient arrives at the first place, whatever the index was.",
            _first(_at(lambda ctx: 0)),
        ),
        Misconception(
            "ones instead of zeros",
            "the elements that weren't read get the gradient 1 in yours.",
            _first(_at(lambda ctx: ctx.index, ones=True)),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if the gradient that arrives is 1. Use grad.",
            _first(_ones_there),
        ),
        Misconception(
            "the gradient arrives nowhere",
            "nothing is written into whole, so every gradient is 0. What writes into a view? A sum makes a new tensor.",
            _first(_nothing_written),
        ),
        Misconception(
            "the index has no gradient, and no place",
            "backward returns one value for each argument of forward, even for the index.",
            _first(lambda ctx, grad: First.backward(ctx, grad)[0]),
        ),
    ],
)


# 4. A write through a view.


class CopySlices(engine_3.CopySlices):
    def run(self, grad):
        rest = grad.clone()
        part = self.view_again(rest)
        first, *others = self.node.run(part.clone())
        part.copy_(0.0 if first is None else first)
        return (rest, *others)


def _slices(run):
    """A CopySlices with another run."""
    return type("CopySlices", (CopySlices,), {"run": run})


def _part_kept(self, grad):
    _, *others = self.node.run(self.view_again(grad).clone())
    return (grad.clone(), *others)


def _only_the_part(self, grad):
    rest = grad * 0.0
    part = self.view_again(rest)
    first, *others = self.node.run(self.view_again(grad).clone())
    part.copy_(0.0 if first is None else first)
    return (rest, *others)


def _part_always_zero(self, grad):
    rest = grad.clone()
    part = self.view_again(rest)
    _, *others = self.node.run(part.clone())
    part.zero_()
    return (rest, *others)


def _written_into_what_came(self, grad):
    part = self.view_again(grad)
    first, *others = self.node.run(part.clone())
    part.copy_(0.0 if first is None else first)
    return (grad, *others)


def _added_to_the_part(self, grad):
    rest = grad.clone()
    part = self.view_again(rest)
    first, *others = self.node.run(part.clone())
    part.add_(0.0 if first is None else first)
    return (rest, *others)


def _others_lost(self, grad):
    rest, *others = CopySlices.run(self, grad)
    return (rest, *[None for _ in others])


def _too_few(self, grad):
    return (CopySlices.run(self, grad)[0],)


def _zero_forgotten(self, grad):
    rest = grad.clone()
    part = self.view_again(rest)
    first, *others = self.node.run(part.clone())
    part.copy_(first)
    return (rest, *others)


def _zero_left_out(self, grad):
    rest = grad.clone()
    part = self.view_again(rest)
    first, *others = self.node.run(part.clone())
    if first is not None:
        part.copy_(first)
    return (rest, *others)


def _all_through_the_node(self, grad):
    return self.node.run(grad.clone())


def _times_ten(x, c):
    base = x * 1.0
    base[1:].mul_(10.0)
    return base * base


def _times_a_tensor(x, c):
    base = x * 2.0
    base[:2].mul_(c[1:])
    return base * base


def _added(x, c):
    base = x * 1.0
    base[1].add_(c[0])
    return base * base


def _copied_over(x, c):
    base = x * 3.0
    base[0].copy_(c[2])
    return base * base


def _a_number_over(x, c):
    base = x * 1.0
    base[1:] = 4.0
    return base * base * x


def _used_twice(x, c):
    other = c * 1.0
    base = x * 1.0
    base[0].mul_(5.0)
    return base + other


_STEP = 1e-5
_WRITES = (_times_ten, _times_a_tensor, _added, _copied_over, _a_number_over, _used_twice)


def _written(answer, which):
    found = []
    with _with("CopySlices", answer):
        for program in _WRITES:
            leaves = {"x": _leaf(1.0, 2.0, 3.0), "c": _leaf(0.5, -1.0, 2.0)}
            program(leaves["x"], leaves["c"]).sum().backward()
            grad = leaves[which].grad
            found.append("no gradient" if grad is None else grad.tolist())
    return found


def _nudged(answer):
    """For each write whether the gradient agrees with small steps of each element."""
    found = []
    with _with("CopySlices", answer):
        for program in _WRITES:

            def total(numbers, program=program):
                x = engine_3.tensor(_doubles(numbers))
                return program(x, engine_3.tensor(_doubles([0.5, -1.0, 2.0]))).sum().item()

            x = engine_3.tensor(_doubles([1.0, 2.0, 3.0]), requires_grad=True)
            program(x, engine_3.tensor(_doubles([0.5, -1.0, 2.0]))).sum().backward()
            for place, gradient in enumerate(x.grad.tolist()):
                more, less = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]
                more[place] += _STEP
                less[place] -= _STEP
                slope = (total(more) - total(less)) / (2 * _STEP)
                found.append(abs(slope - gradient) < 1e-5 * (1 + abs(slope)))
    return all(found)


exercise(
    "write-through-a-view",
    "The gradients of the old base and of what was written, from the gradient of the new base.",
    solution=CopySlices,
    probes={
        "the gradient of the base": lambda answer: _written(answer, "x"),
        "the gradients of what was written": lambda answer: _written(answer, "c"),
        "gradcheck": _nudged,
    },
    misconceptions=[
        Misconception(
            "the part keeps its gradient",
            "where the program wrote, the old element went into the operation. Your old element gets the gradient of "
            "the new one.",
            _slices(_part_kept),
        ),
        Misconception(
            "only the part has a gradient",
            "the elements that weren't written are still those of the old base.",
            _slices(_only_the_part),
        ),
        Misconception(
            "the old elements count for nothing",
            "that's right after copy_. But *= and += read the old elements.",
            _slices(_part_always_zero),
        ),
        Misconception(
            "another node's gradient is written over",
            "other nodes may still use the gradient that you are given: in base + c both get the same tensor.",
            _slices(_written_into_what_came),
        ),
        Misconception(
            "the part gets both gradients",
            "what comes out of the operation takes the place of the part's gradient. Yours adds to it, as if the old "
            "element were still in the base.",
            _slices(_added_to_the_part),
        ),
        Misconception(
            "what was written gets nothing",
            "in part *= c the factor c moves the result too.",
            _slices(_others_lost),
            (_slices(_too_few),),
        ),
        Misconception(
            "None is copied",
            "after a copy_ the node has no gradient for the old element: it gives None, which can't be copied.",
            _slices(_zero_forgotten),
        ),
        Misconception(
            "None leaves the gradient as it was",
            "None says that the old element has no influence. Yours keeps the gradient of the new one.",
            _slices(_zero_left_out),
        ),
        Misconception(
            "everything goes through the operation",
            "the operation ran on the view only, and its node wants a gradient of that shape.",
            _slices(_all_through_the_node),
        ),
    ],
    points=2,
)
