"""The exercises of lesson 22, forward mode and events of an own engine, with their solutions, as `check` reads them."""

import engine_4 as engine
import numpy as np

from workbench.classroom import Misconception, exercise

_STEP = 1e-5


def _doubles(numbers, **more):
    return engine.tensor(np.array(numbers, np.float64), **more)


# 1. The jvp of a product.


class Times(engine.Operation):
    @staticmethod
    def forward(ctx, a, b):
        a, b = engine.tensors(a, b)
        ctx.save_for_backward(a, b)
        return engine.Tensor(a.data * b.data)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a

    @staticmethod
    def jvp(ctx, ta, tb):
        a, b = ctx.inputs
        return ta * b + a * tb


def _times(jvp):
    """A Times with another jvp."""
    return type("Times", (Times,), {"jvp": staticmethod(jvp)})


def _with_inputs(rule):
    return lambda ctx, ta, tb: rule(*ctx.inputs, ta, tb)


_PAIRS = (
    ([2.0, -1.0], [0.5, 3.0], [1.0, 0.0], [0.0, 2.0]),
    ([2.0, -1.0], [0.5, 3.0], [0.5, -2.0], [4.0, 1.0]),
    ([3.0, 4.0], [5.0, 7.0], [1.0, 1.0], [1.0, 1.0]),
)


def _tangents(answer):
    found = []
    for a, b, ta, tb in _PAIRS:
        _, tangent = engine.jvp(answer.apply, [_doubles(a), _doubles(b)], [_doubles(ta), _doubles(tb)])
        found.append(tangent.tolist())
    return found


def _with_a_number(answer):
    moved = engine.jvp(lambda a: answer.apply(a, 3.0), [_doubles([2.0, -1.0])], [_doubles([1.0, 5.0])])
    return moved[1].tolist()


def _squared(answer):
    return engine.jvp(lambda a: answer.apply(a, a), [_doubles([2.0, -1.0])], [_doubles([1.0, 5.0])])[1].tolist()


exercise(
    "jvp-of-a-product",
    "The tangent of a product, from the tangents of its operands.",
    solution=Times,
    probes={
        "the tangent": _tangents,
        "the tangent of a square": _squared,
        "a product with a number": _with_a_number,
    },
    misconceptions=[
        Misconception(
            "tangents multiply",
            "a value that stays the same has tangent 0. In yours, the product then stays the same as well, even if the "
            "other operand moves.",
            _times(lambda ctx, ta, tb: ta * tb),
        ),
        Misconception(
            "tangents add, and the values do not matter",
            "if a grows by 1, a * b grows by more when b is large.",
            _times(lambda ctx, ta, tb: ta + tb),
        ),
        Misconception(
            "each tangent with its own value",
            "if a moves, the product moves by the other factor.",
            _times(_with_inputs(lambda a, b, ta, tb: ta * a + tb * b)),
        ),
        Misconception(
            "one gradient for each operand",
            "backward returns two things, one for each operand. jvp returns one: the tangent of the result.",
            _times(_with_inputs(lambda a, b, ta, tb: (ta * b, a * tb))),
        ),
        Misconception(
            "only the first operand moves",
            "what if a stays the same and b moves?",
            _times(_with_inputs(lambda a, b, ta, tb: ta * b)),
        ),
        Misconception(
            "only the second operand moves",
            "what if b stays the same and a moves?",
            _times(_with_inputs(lambda a, b, ta, tb: a * tb)),
        ),
        Misconception(
            "the value instead of the tangent",
            "that's the product itself. How fast does it move?",
            _times(_with_inputs(lambda a, b, ta, tb: a * b)),
        ),
        Misconception(
            "both at once",
            "use the values of the operands now, not the values after they have moved.",
            _times(_with_inputs(lambda a, b, ta, tb: (a + ta) * (b + tb) - a * b)),
            (_times(_with_inputs(lambda a, b, ta, tb: (a + ta) * (b + tb))),),
        ),
    ],
)


# 2. A Function in both directions.


class Sigmoid(engine.Function):
    @staticmethod
    def forward(ctx, x):
        s = 1.0 / (1.0 + (-x).exp())
        ctx.save_for_backward(s)
        return s

    @staticmethod
    def backward(ctx, grad):
        (s,) = ctx.saved_tensors
        return grad * s * (1.0 - s)

    @staticmethod
    def jvp(ctx, tangent):
        (s,) = ctx.saved_tensors
        return tangent * s * (1.0 - s)


def _slope(ctx):
    (s,) = ctx.saved_tensors
    return s * (1.0 - s)


def _sigmoid(backward=Sigmoid.backward, jvp=Sigmoid.jvp):
    """A Sigmoid with another backward or jvp."""
    return type("Sigmoid", (Sigmoid,), {"backward": staticmethod(backward), "jvp": staticmethod(jvp)})


def _without_history(ctx, grad):
    (s,) = ctx.saved_tensors
    return grad * engine.Tensor(s.data * (1.0 - s.data))


def _all_without_history(ctx, grad):
    (s,) = ctx.saved_tensors
    return engine.Tensor(grad.data * s.data * (1.0 - s.data))


_POINTS = [0.5, -1.25, 2.0]
_WEIGHTS = [1.0, -2.0, 0.5]


def _first(answer):
    x = _doubles(_POINTS, requires_grad=True)
    answer.apply(x).backward(_doubles(_WEIGHTS))
    return x.grad.tolist()


def _pushed(answer):
    return engine.jvp(answer.apply, [_doubles(_POINTS)], [_doubles(_WEIGHTS)])[1].tolist()


def _second(answer):
    x = _doubles(_POINTS, requires_grad=True)
    (slope,) = engine.grad((answer.apply(x) * _doubles(_WEIGHTS) * x).sum(), x, create_graph=True)
    (bend,) = engine.grad(slope.sum(), x)
    return bend.tolist()


def _nudged(answer):
    """Whether gradients and tangents agree with small steps."""
    up, down = (answer.apply(_doubles([p + sign * _STEP for p in _POINTS])).tolist() for sign in (1, -1))
    slopes = [(a - b) / (2 * _STEP) for a, b in zip(up, down, strict=True)]
    wanted = [slope * weight for slope, weight in zip(slopes, _WEIGHTS, strict=True)]
    return bool(np.allclose(_first(answer), wanted, atol=1e-6) and np.allclose(_pushed(answer), wanted, atol=1e-6))


exercise(
    "sigmoid-both-ways",
    "A sigmoid with its backward and its jvp, which can be differentiated twice.",
    solution=Sigmoid,
    probes={
        "the gradient": _first,
        "the tangent": _pushed,
        "the second derivative": _second,
        "gradcheck": _nudged,
    },
    misconceptions=[
        Misconception(
            "numbers without a history",
            "the gradient and the tangent are right. But what you compute from .data leaves no node, so the second "
            "derivative misses how the slope moves.",
            _sigmoid(_without_history),
            (_sigmoid(_all_without_history),),
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use what arrives: grad in backward, tangent in jvp.",
            _sigmoid(lambda ctx, grad: _slope(ctx), lambda ctx, tangent: _slope(ctx)),
        ),
        Misconception(
            "the gradient that arrives is ignored",
            "in backward, multiply by what arrives. Your jvp is right.",
            _sigmoid(lambda ctx, grad: _slope(ctx)),
        ),
        Misconception(
            "the tangent is ignored",
            "in jvp, multiply by what comes in. Your backward is right.",
            _sigmoid(jvp=lambda ctx, tangent: _slope(ctx)),
        ),
        Misconception(
            "the tangent passes as it is",
            "multiply a tangent by the slope too.",
            _sigmoid(jvp=lambda ctx, tangent: tangent * 1.0),
        ),
        Misconception(
            "the sigmoid instead of its slope",
            "s is the value. Its slope is largest in the middle, where s is one half.",
            _sigmoid(
                lambda ctx, grad: grad * ctx.saved_tensors[0], lambda ctx, tangent: tangent * ctx.saved_tensors[0]
            ),
        ),
        Misconception(
            "a tuple as a tangent",
            "jvp returns one tensor, the tangent of the result.",
            _sigmoid(jvp=lambda ctx, tangent: (tangent * _slope(ctx),)),
        ),
        Misconception(
            "a minus too much",
            "a sigmoid grows everywhere, so its slope is positive everywhere.",
            _sigmoid(lambda ctx, grad: -grad * _slope(ctx), lambda ctx, tangent: -tangent * _slope(ctx)),
        ),
    ],
    points=2,
)


# 3. A listener.


class Kept:
    def __init__(self):
        self.now = self.most = 0
        self.of_node = {}

    def __call__(self, kind, *things):
        if kind == "created":
            node = things[0]
            self.of_node[node] = len([each for each in node.saved if each is not None])
            self.now += self.of_node[node]
            self.most = max(self.most, self.now)
        elif kind == "freed":
            self.now -= self.of_node.pop(things[0], 0)


def _kept(call):
    """A Kept that hears in another way."""
    return type("Kept", (Kept,), {"__call__": call})


def _saved_by(node):
    return len([each for each in node.saved or () if each is not None])


def _never_down(self, kind, *things):
    if kind == "created":
        self.now += _saved_by(things[0])
        self.most = max(self.most, self.now)


def _nones_count(self, kind, *things):
    if kind == "created":
        self.of_node[things[0]] = len(things[0].saved)
        self.now += len(things[0].saved)
        self.most = max(self.most, self.now)
    elif kind == "freed":
        self.now -= self.of_node.pop(things[0], 0)


def _nodes_count(self, kind, *things):
    if kind == "created":
        self.now += 1
        self.most = max(self.most, self.now)
    elif kind == "freed":
        self.now -= 1


def _asked_when_freed(self, kind, *things):
    if kind == "created":
        self.now += _saved_by(things[0])
        self.most = max(self.most, self.now)
    elif kind == "freed":
        self.now -= len([each for each in things[0].saved if each is not None])


def _last_is_most(self, kind, *things):
    Kept.__call__(self, kind, *things)
    self.most = self.now


def _all_is_most(self, kind, *things):
    if kind == "created":
        self.of_node[things[0]] = _saved_by(things[0])
        self.now += _saved_by(things[0])
        self.most += _saved_by(things[0])
    elif kind == "freed":
        self.now -= self.of_node.pop(things[0], 0)


def _largest_node(self, kind, *things):
    if kind == "created":
        self.of_node[things[0]] = _saved_by(things[0])
        self.now += _saved_by(things[0])
        self.most = max(self.most, _saved_by(things[0]))
    elif kind == "freed":
        self.now -= self.of_node.pop(things[0], 0)


def _most_never(self, kind, *things):
    most = self.most
    Kept.__call__(self, kind, *things)
    self.most = most


def _when_run(self, kind, *things):
    Kept.__call__(self, "freed" if kind == "run" else "nothing" if kind == "freed" else kind, *things)


def _steps(x, c):
    """Programs with their backwards, one after the other."""
    yield lambda: ((x * x).exp() * x).sum().backward()
    yield lambda: (x + c).sum().backward()
    yield lambda: (x * c * x).tanh().sum().backward(retain_graph=True)
    yield lambda: (x / c).sum().backward()
    yield lambda: (x * c).sum()


def _heard(answer, read):
    """What the answer says after each program, also when it listens to several."""
    listener, found = answer(), []
    engine.listeners.append(listener)
    try:
        x, c = _doubles(_POINTS, requires_grad=True), _doubles(_WEIGHTS)
        held = []
        for step in _steps(x, c):
            held.append(step())
            found.append(read(listener))
    finally:
        engine.listeners.remove(listener)
    return found


exercise(
    "count-what-is-kept",
    "A listener that counts the tensors that nodes hold, and remembers the largest count.",
    solution=Kept,
    probes={
        "the count": lambda answer: _heard(answer, lambda listener: listener.now),
        "the largest count": lambda answer: _heard(answer, lambda listener: listener.most),
    },
    misconceptions=[
        Misconception(
            "nothing is ever freed",
            "your count never falls. Which event reports that a node no longer has tensors? (At that moment its saved "
            "is None.)",
            _kept(_never_down),
        ),
        Misconception(
            "None is counted",
            "an entry of node.saved that is None isn't a tensor.",
            _kept(_nones_count),
        ),
        Misconception(
            "nodes are counted",
            "a product saves two tensors, and an addition none.",
            _kept(_nodes_count),
        ),
        Misconception(
            "asked too late",
            "at freed, node.saved is None already: at created, note how many there were.",
            _kept(_asked_when_freed),
        ),
        Misconception(
            "the last count instead of the largest",
            "most must not fall when something is freed.",
            _kept(_last_is_most),
        ),
        Misconception(
            "all that was ever kept",
            "you add up what was held at different times. How much was held at the same time?",
            _kept(_all_is_most),
        ),
        Misconception(
            "the largest single node",
            "several nodes hold tensors at the same time.",
            _kept(_largest_node),
        ),
        Misconception(
            "the largest count is not kept up to date",
            "now is right. When does most change?",
            _kept(_most_never),
        ),
        Misconception(
            "to run is to free",
            "with retain_graph=True a node runs and still holds its tensors. Only freed means that it's gone.",
            _kept(_when_run),
        ),
    ],
    points=2,
)
