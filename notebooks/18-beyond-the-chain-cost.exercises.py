"""The exercises of lesson 18, cost and curvature, with their solutions, as `check` reads them."""

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise, tensor
from workbench.func import grad, hessian, jvp
from workbench.utils.checkpoint import checkpoint


def last_one_plain(pieces, x):
    for piece in pieces[:-1]:
        x = checkpoint(piece, x, use_reentrant=False)
    return pieces[-1](x)


def _all_in_checkpoints(pieces, x):
    for piece in pieces:
        x = checkpoint(piece, x, use_reentrant=False)
    return x


def _all_plain(pieces, x):
    for piece in pieces:
        x = piece(x)
    return x


def _first_one_plain(pieces, x):
    x = pieces[0](x)
    return _all_in_checkpoints(pieces[1:], x)


def _one_around_all(pieces, x):
    return checkpoint(lambda x: _all_plain(pieces, x), x, use_reentrant=False)


def _one_around_all_but_the_last(pieces, x):
    before = checkpoint(lambda x: _all_plain(pieces[:-1], x), x, use_reentrant=False)
    return pieces[-1](before)


def _without_recording(pieces, x):
    with torch.no_grad():
        x = _all_plain(pieces[:-1], x)
    return pieces[-1](x)


def _last_one_forgotten(pieces, x):
    return _all_in_checkpoints(pieces[:-1], x)


_POINTS = [0.2, 0.7, 1.1]
_PIECES = 4


def _ran(answer):
    """The result, the gradient, the pieces as they ran, and what was kept when forward ended."""
    ran, kept = [], []

    def piece(number):
        def run(t):
            ran.append(number)
            for _ in range(3):
                t = (t * (1 + number)).sin()
            return t

        return run

    x = torch.tensor(_POINTS, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        out = tensor(answer([piece(number) for number in range(_PIECES)], x))
    held = sum(size == len(_POINTS) for size in kept)
    if out.requires_grad:
        (found,) = torch.autograd.grad(out.sum(), x, allow_unused=True)
    else:
        found = None
    return out.detach(), found, ran, held


exercise(
    "no-work-twice",
    "Pieces of a chain in checkpoints: as few as possible run twice, with the same peak of memory.",
    solution=last_one_plain,
    probes={
        "the result": lambda answer: _ran(answer)[0],
        "the gradient": lambda answer: _ran(answer)[1],
        "how often each piece runs": lambda answer: [_ran(answer)[2].count(number) for number in range(_PIECES)],
        "how many tensors are kept when forward ends": lambda answer: _ran(answer)[3],
    },
    misconceptions=[
        Misconception(
            "every piece in a checkpoint",
            "the peak is right, but one piece runs twice, and it doesn't have to. Which one has just run when "
            "backward begins?",
            _all_in_checkpoints,
        ),
        Misconception(
            "no checkpoint at all",
            "nothing runs twice, but each operation of the whole chain saves a tensor.",
            _all_plain,
        ),
        Misconception(
            "the first piece is left out of the checkpoints",
            "the tensors that this piece saves are held until the end of backward, and add to every peak before.",
            _first_one_plain,
        ),
        Misconception(
            "one checkpoint around many pieces",
            "when backward reaches that checkpoint, all of its pieces are computed again at once, and held together.",
            _one_around_all,
            (_one_around_all_but_the_last,),
        ),
        Misconception(
            "nothing is recorded",
            "that saves little, but backward can't reach x. Where does its history stop?",
            _without_recording,
        ),
        Misconception(
            "a piece does not run",
            "your result isn't that of all pieces. Count them.",
            _last_one_forgotten,
        ),
    ],
    points=2,
)


def best_step(f, x):
    slope = grad(f)(x)
    _, change = jvp(grad(f), (x,), (slope,))
    return x - (slope @ slope) / (slope @ change) * slope


def _along(f, x):
    slope = grad(f)(x)
    return slope, jvp(grad(f), (x,), (slope,))[1]


def _uphill(f, x):
    slope, change = _along(f, x)
    return x + (slope @ slope) / (slope @ change) * slope


def _turned_over(f, x):
    slope, change = _along(f, x)
    return x - (slope @ change) / (slope @ slope) * slope


def _two_over_curvature(f, x):
    slope, change = _along(f, x)
    return x - 2 * (slope @ slope) / (slope @ change) * slope


def _length_forgotten(f, x):
    slope, change = _along(f, x)
    return x - 1 / (slope @ change) * slope


def _norm_for_its_square(f, x):
    slope, change = _along(f, x)
    return x - slope.norm() / (slope @ change) * slope


def _only_the_step(f, x):
    slope, change = _along(f, x)
    return -(slope @ slope) / (slope @ change) * slope


def _only_the_rate(f, x):
    slope, change = _along(f, x)
    return (slope @ slope) / (slope @ change)


def _each_alone(f, x):
    slope, change = _along(f, x)
    return x - slope * slope / change


def _ones_for_the_direction(f, x):
    slope = grad(f)(x)
    _, change = jvp(grad(f), (x,), (torch.ones_like(x),))
    return x - slope / change


def _diagonal(f, x):
    return x - grad(f)(x) / hessian(f)(x).diagonal()


def _rate_of_one(f, x):
    return x - grad(f)(x)


def _bowl(x):
    return 2 * x[0] ** 2 + 0.5 * x[1] ** 2 + x[0] * x[1] - 3 * x[0] + x[1] + 4


def _long_valley(x):
    return 5 * (x[0] - x[2]) ** 2 + 0.5 * x[1] ** 2 + 0.3 * (x[2] + 1) ** 2 + 0.1 * x[0]


def _curved(x):
    return x[0] ** 4 + x[1] ** 2 + x[0] * x[1] ** 2


_STEPS = [(_bowl, [1.0, 2.0]), (_bowl, [-2.0, 0.5]), (_long_valley, [1.0, 2.0, -0.5]), (_curved, [1.5, 0.5])]


def _after_a_step(answer):
    return [tensor(answer(f, torch.tensor(point))) for f, point in _STEPS]


exercise(
    "best-step-down",
    "One step against the gradient, to where f is lowest on this line.",
    solution=best_step,
    probes={"the new points": _after_a_step},
    misconceptions=[
        Misconception(
            "a step up",
            "f is higher at your new point than before. The gradient says where f rises.",
            _uphill,
        ),
        Misconception(
            "the fraction is turned over",
            "you go farther where the curvature is large. There the slope reaches 0 sooner.",
            _turned_over,
        ),
        Misconception(
            "the limit for the rate instead of the best rate",
            "with 2 over the curvature you arrive on the other side, as high as before. Where is the lowest place?",
            _two_over_curvature,
        ),
        Misconception(
            "the direction is taken for a vector of length 1",
            "the direction in which you go is as long as the gradient, and your curvature has its square in it. "
            "Write the slope of f along the line as a formula.",
            _length_forgotten,
            (_norm_for_its_square,),
        ),
        Misconception(
            "not the new point",
            "your line is right, but the question asks for the point on it.",
            _only_the_step,
            (_only_the_rate,),
        ),
        Misconception(
            "each coordinate for itself",
            "you use a different rate for each coordinate, so you leave the line along the gradient.",
            _each_alone,
            (_ones_for_the_direction, _diagonal),
        ),
        Misconception(
            "the curvature takes no part",
            "you always take the same rate. How far the lowest point is depends on how fast the slope changes.",
            _rate_of_one,
        ),
    ],
    points=3,
)


def clipped(a, delta, max_norm):
    norms = a.norm(dim=1) * delta.norm(dim=1)
    factors = (max_norm / norms).clamp(max=1.0)
    return (delta * factors[:, None]).T @ a / len(a)


def _factors(norms, max_norm):
    return (max_norm / norms).clamp(max=1.0)


def _mean_clipped(a, delta, max_norm):
    whole = delta.T @ a / len(a)
    return whole * _factors(whole.norm(), max_norm)


def _not_clipped(a, delta, max_norm):
    return delta.T @ a / len(a)


def _deltas_clipped(a, delta, max_norm):
    return (delta * _factors(delta.norm(dim=1), max_norm)[:, None]).T @ a / len(a)


def _inputs_clipped(a, delta, max_norm):
    return delta.T @ (a * _factors(a.norm(dim=1), max_norm)[:, None]) / len(a)


def _both_clipped(a, delta, max_norm):
    a_short = a * _factors(a.norm(dim=1), max_norm)[:, None]
    return (delta * _factors(delta.norm(dim=1), max_norm)[:, None]).T @ a_short / len(a)


def _elements_clipped(a, delta, max_norm):
    return (delta[:, :, None] * a[:, None, :]).clamp(-max_norm, max_norm).mean(0)


def _always_scaled(a, delta, max_norm):
    norms = a.norm(dim=1) * delta.norm(dim=1)
    return (delta * (max_norm / norms)[:, None]).T @ a / len(a)


def _sum_for_mean(a, delta, max_norm):
    return clipped(a, delta, max_norm) * len(a)


def _turned(a, delta, max_norm):
    return clipped(a, delta, max_norm).T


def _left_out(a, delta, max_norm):
    norms = a.norm(dim=1) * delta.norm(dim=1)
    return (delta * (norms <= max_norm)[:, None]).T @ a / len(a)


_A = [[1.0, 0.0, 2.0], [0.5, -0.3, 0.1], [3.0, 4.0, -1.0], [-0.2, 0.4, 0.6]]
_DELTA = [[0.6, -0.8], [2.0, 1.0], [0.3, 0.1], [-5.0, 3.0]]


def _clipped_at(*limits):
    return lambda answer: [tensor(answer(torch.tensor(_A), torch.tensor(_DELTA), max_norm)) for max_norm in limits]


exercise(
    "clip-each-sample",
    "The mean of the gradients of a linear layer's weight, where each sample's gradient is clipped first.",
    solution=clipped,
    probes={
        "gradients that are small": _clipped_at(100.0),
        "gradients that are too large": _clipped_at(0.1, 1.5),
        "the shape": lambda answer: list(_clipped_at(1.5)(answer)[0].shape),
    },
    misconceptions=[
        Misconception(
            "the mean is clipped",
            "that limits all samples together. One sample can still decide the direction.",
            _mean_clipped,
        ),
        Misconception(
            "the limit takes no part",
            "a sample with a large gradient comes through as it is.",
            _not_clipped,
        ),
        Misconception(
            "a part of the gradient is clipped",
            "the gradient of a sample is made of two vectors. Its norm depends on both of them together.",
            _deltas_clipped,
            (_inputs_clipped, _both_clipped),
        ),
        Misconception(
            "each element is clipped",
            "that limits each number separately, so the direction of the gradient changes.",
            _elements_clipped,
        ),
        Misconception(
            "small gradients are made larger",
            "large gradients come out right. But a gradient that's short enough stays as it is.",
            _always_scaled,
        ),
        Misconception(
            "the sum instead of the mean",
            "your direction is right. But your result gets longer with every sample.",
            _sum_for_mean,
        ),
        Misconception(
            "rows and columns are exchanged",
            "the numbers are right. The weight has a row for each output.",
            _turned,
        ),
        Misconception(
            "large samples are left out",
            "a sample with a large gradient gets a shorter one. It doesn't vanish.",
            _left_out,
        ),
    ],
    points=2,
)


class LeakyInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x[x <= 0] *= 0.1
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0.1 * grad_output)


class _NotMarked(LeakyInPlace):
    @staticmethod
    def forward(ctx, x):
        x[x <= 0] *= 0.1
        ctx.save_for_backward(x)
        return x


class _NotInPlace(LeakyInPlace):
    @staticmethod
    def forward(ctx, x):
        result = torch.where(x > 0, x, 0.1 * x)
        ctx.save_for_backward(result)
        return result


class _PassedOn(LeakyInPlace):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class _ZeroForNegative(LeakyInPlace):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


class _LocalSlope(LeakyInPlace):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, 1.0, 0.1)


class _GradientAsked(LeakyInPlace):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(grad_output > 0, grad_output, 0.1 * grad_output)


class _ValuesForSlopes(LeakyInPlace):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x * grad_output


def _in_place(answer, numbers=(2.0, -1.0, 0.5, -3.0)):
    """What h holds after the call, whether the result is h, and the gradient by way of h."""
    x = torch.tensor(list(numbers), requires_grad=True)
    h = x * 1
    out = tensor(answer.apply(h))
    weights = torch.tensor([1.0, -2.0, -4.0, 3.0])
    same = out is h
    values = h.detach().tolist()
    (of_h,) = torch.autograd.grad(h, x, weights, retain_graph=True)
    return values, same, of_h


def _gradient_of_the_result(answer):
    x = torch.tensor([2.0, -1.0, 0.5, -3.0], requires_grad=True)
    out = tensor(answer.apply(x * 1))
    if not out.requires_grad:
        raise Unusable("your result has no history")
    return torch.autograd.grad(out, x, torch.tensor([1.0, -2.0, -4.0, 3.0]))[0]


def _agrees_with_nudging(answer):
    point = torch.tensor([0.7, -0.4, 1.5], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(lambda x: answer.apply(x * 1), (point,), raise_exception=False)


exercise(
    "leaky-in-place",
    "An activation that writes into its input, with the backward of it.",
    solution=LeakyInPlace,
    probes={
        "the numbers in x afterward": lambda answer: _in_place(answer)[0],
        "whether the result is x itself": lambda answer: _in_place(answer)[1],
        "the gradient by way of x": lambda answer: _in_place(answer)[2],
        "the gradient by way of the result": _gradient_of_the_result,
        "gradcheck": _agrees_with_nudging,
    },
    misconceptions=[
        Misconception(
            "the engine is not told of the write",
            "x has new numbers, and its graph is the old one: whatever uses x next gets a wrong gradient.",
            _NotMarked,
        ),
        Misconception(
            "a new tensor instead of a write",
            "your result is right, and x still has its old numbers. So no memory is saved.",
            _NotInPlace,
        ),
        Misconception(
            "the gradient goes on as it is",
            "a nudge of a negative number moves the result by less than the nudge.",
            _PassedOn,
        ),
        Misconception(
            "no gradient for negative numbers",
            "that's the backward of ReLU. Here a negative number is made smaller, and a nudge still arrives.",
            _ZeroForNegative,
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            _LocalSlope,
        ),
        Misconception(
            "the sign of the gradient is asked",
            "backward must ask for the sign of x. You ask for the sign of what arrives.",
            _GradientAsked,
        ),
        Misconception(
            "the value instead of the slope",
            "you multiply by the value of x. How much does the result move if x moves by 1?",
            _ValuesForSlopes,
        ),
    ],
    points=2,
)
