"""The exercises of lesson 16, twenty puzzles: the function of each puzzle, and well-known wrong backwards of it."""

import workbench as torch
from workbench.classroom import Misconception, backward_of, by_engine, exercise, slopes_of


def _probes(function, *cases):
    return {"the gradient": backward_of(function, *cases), "gradcheck": nudged(function, cases[0])}


def nudged(function, case):
    """Whether nudging agrees, with those arguments held that are no numbers to nudge, such as an index."""
    moving = [isinstance(each, float | list) for each in case]

    def whole(numbers):
        rest = iter(numbers)
        return [next(rest) if moves else each for moves, each in zip(moving, case, strict=True)]

    def probe(answer):
        return slopes_of(
            lambda *numbers: function(*whole(numbers)),
            [each for moves, each in zip(moving, case, strict=True) if moves],
        )(lambda grad_output, *numbers: answer(grad_output, *whole(numbers)))

    return probe


_ROW = [3.0, 1.0, -2.0, 5.0, 4.0, -6.0]
_SHORT = [2.0, -1.0, 4.0, 0.5]
_TABLE = [[1.0, 5.0, -2.0], [4.0, -3.0, 2.0]]
_SQUARE = [[1.0, 5.0, -2.0], [4.0, -3.0, 2.0], [0.5, 6.0, 7.0]]
_PAIR = [[2.0, -1.0], [3.0, 0.5]]


def _put(x, places, numbers):
    dx = torch.zeros_like(x)
    dx[places] = numbers
    return dx


# A cell moves.


def _slice(x):
    return x[2:]


exercise(
    "puzzle-slice",
    "The backward of y[i] = x[i + 2].",
    solution=by_engine(_slice),
    probes=_probes(_slice, [_ROW], [_SHORT]),
    misconceptions=[
        Misconception(
            "what was left out is left out again",
            "a gradient has a cell for each cell of x, even for those that weren't read.",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "the zeros are at the wrong end",
            "which cells of x weren't read: the first or the last?",
            lambda grad_output, x: _put(x, slice(0, -2), grad_output),
            (lambda grad_output, x: _put(x, torch.arange(len(grad_output)), grad_output),),
        ),
        Misconception(
            "the gradient is sliced again",
            "you read grad_output with the rule that forward has for x. Backward goes the other way.",
            lambda grad_output, x: grad_output[2:],
        ),
        Misconception(
            "the values instead of the gradient",
            "you return something made from x. What goes back is made from grad_output.",
            lambda grad_output, x: _put(x, slice(2, None), x[2:]),
            (lambda grad_output, x: x,),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if every gradient that arrives is 1. Use grad_output.",
            lambda grad_output, x: _put(x, slice(2, None), 1.0),
        ),
    ],
)


def _flip(x):
    return x.flip(0)


exercise(
    "puzzle-flip",
    "The backward of y[i] = x[n - 1 - i].",
    solution=by_engine(_flip),
    probes=_probes(_flip, [_ROW], [_SHORT]),
    misconceptions=[
        Misconception(
            "the gradient does not move back",
            "the first cell of y came from another cell of x. Where does its gradient go?",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "a minus instead of a move",
            "nothing changes its sign here: the cells change their places.",
            lambda grad_output, x: -grad_output,
            (lambda grad_output, x: -grad_output.flip(0),),
        ),
        Misconception(
            "the values instead of the gradient",
            "you return something made from x. What goes back is made from grad_output.",
            lambda grad_output, x: x.flip(0),
            (lambda grad_output, x: x,),
        ),
        Misconception(
            "value times gradient",
            "a cell is copied here, not multiplied: its slope is 1.",
            lambda grad_output, x: x * grad_output.flip(0),
        ),
        Misconception(
            "moved by one place",
            "some cells are moved too little. Follow the cell at one end by hand.",
            lambda grad_output, x: torch.roll(grad_output, 1, 0),
            (lambda grad_output, x: torch.roll(grad_output.flip(0), 1, 0),),
        ),
    ],
)


def _roll(x):
    return torch.roll(x, 2, 0)


exercise(
    "puzzle-roll",
    "The backward of y[i] = x[(i - 2) % n].",
    solution=by_engine(_roll),
    probes=_probes(_roll, [_ROW], [[2.0, -1.0, 4.0, 0.5, 7.0]]),
    misconceptions=[
        Misconception(
            "rolled forward once more",
            "you move in the same direction as forward. Backward sends a gradient to where the cell came from.",
            lambda grad_output, x: torch.roll(grad_output, 2, 0),
        ),
        Misconception(
            "the gradient does not move back",
            "the first cell of y came from another cell of x. Where does its gradient go?",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "what goes over the end is lost",
            "the cells at one end came around from the other. They were read, so they get a gradient.",
            lambda grad_output, x: _put(x, slice(0, -2), grad_output[2:]),
            (lambda grad_output, x: _put(x, slice(2, None), grad_output[:-2]),),
        ),
        Misconception(
            "rolled by one place",
            "the direction may be right, but how far did forward move the cells?",
            lambda grad_output, x: torch.roll(grad_output, -1, 0),
        ),
        Misconception(
            "flipped instead of rolled",
            "the neighbors of a cell are the same after forward. In your answer, they have changed sides.",
            lambda grad_output, x: grad_output.flip(0),
        ),
    ],
)


def _transpose(x):
    return x.T


exercise(
    "puzzle-transpose",
    "The backward of y[i, j] = x[j, i].",
    solution=by_engine(_transpose),
    probes=_probes(_transpose, [_TABLE], [_SQUARE]),
    misconceptions=[
        Misconception(
            "the gradient is not turned back",
            "for a table that isn't square, this doesn't even have the shape of x.",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "cut into other rows",
            "the shape is right, but reshape keeps the order in which the numbers are read. Follow one cell by hand.",
            lambda grad_output, x: grad_output.reshape(x.shape),
        ),
        Misconception(
            "turned and flipped",
            "a quarter turn is something else: here a cell on the diagonal stays where it is.",
            lambda grad_output, x: grad_output.T.flip(0),
            (lambda grad_output, x: grad_output.T.flip(1),),
        ),
        Misconception(
            "the values instead of the gradient",
            "you return something made from x. What goes back is made from grad_output.",
            lambda grad_output, x: x,
            (lambda grad_output, x: x.T,),
        ),
        Misconception(
            "value times gradient",
            "a cell is copied here, not multiplied: its slope is 1.",
            lambda grad_output, x: grad_output.T * x,
        ),
    ],
)


def _diagonal(x):
    return x.diagonal()


exercise(
    "puzzle-diagonal",
    "The backward of y[i] = x[i, i].",
    solution=by_engine(_diagonal),
    probes=_probes(_diagonal, [_SQUARE], [_PAIR]),
    misconceptions=[
        Misconception(
            "a list instead of a table",
            "y has one dimension, but the gradient of x has the shape of x.",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "repeated over the whole table",
            "no result read a cell next to the diagonal. So what gradient does it get?",
            lambda grad_output, x: grad_output * torch.ones_like(x),
            (lambda grad_output, x: grad_output[:, None] * torch.ones_like(x),),
        ),
        Misconception(
            "the other diagonal",
            "in a cell that was read, both indices are the same.",
            lambda grad_output, x: torch.diag(grad_output).flip(0),
            (lambda grad_output, x: torch.diag(grad_output).flip(1),),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if every gradient that arrives is 1. Use grad_output.",
            lambda grad_output, x: torch.eye(len(x), dtype=x.dtype),
        ),
        Misconception(
            "value times gradient",
            "a cell is copied here, not multiplied: its slope is 1.",
            lambda grad_output, x: torch.diag(grad_output) * x,
        ),
    ],
)

_KEEP = torch.tensor([True, False, False, True, True, False])
_KEEP_FEW = torch.tensor([False, True, False, False])


def _where(keep, a, b):
    return torch.where(keep, a, b)


exercise(
    "puzzle-where",
    "The backward of y[i] = a[i] if keep[i] else b[i].",
    solution=by_engine(_where),
    probes=_probes(_where, [_KEEP, _ROW, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], [_KEEP_FEW, _SHORT, [7.0, 8.0, 9.0, -1.0]]),
    misconceptions=[
        Misconception(
            "both get everything",
            "each cell of y was read from one of the two. The other one had no part in it.",
            lambda grad_output, keep, a, b: (grad_output, grad_output),
        ),
        Misconception(
            "a and b are exchanged",
            "look at the first cell of keep: which of the two did forward read there?",
            lambda grad_output, keep, a, b: (
                torch.where(keep, 0 * grad_output, grad_output),
                torch.where(keep, grad_output, 0 * grad_output),
            ),
        ),
        Misconception(
            "each gets a half",
            "nothing is shared here: a cell of y is a copy of one cell.",
            lambda grad_output, keep, a, b: (grad_output / 2, grad_output / 2),
        ),
        Misconception(
            "only the first gets something",
            "where forward read b, a nudge of b moves y.",
            lambda grad_output, keep, a, b: (torch.where(keep, grad_output, 0 * grad_output), 0 * grad_output),
        ),
        Misconception(
            "the values instead of the gradient",
            "you return the values that were chosen. What goes back is made from grad_output.",
            lambda grad_output, keep, a, b: (torch.where(keep, a, 0 * a), torch.where(keep, 0 * b, b)),
        ),
    ],
)


# A cell has several readers, or none.


def _expand(x):
    return x.expand(3, len(x))


exercise(
    "puzzle-expand",
    "The backward of y[i, j] = x[j] for i = 0, 1, 2.",
    solution=by_engine(_expand),
    probes=_probes(_expand, [_SHORT], [[1.0, -2.0, 3.0]]),
    misconceptions=[
        Misconception(
            "one copy of many",
            "you asked one row. Each cell of x was read once in every row.",
            lambda grad_output, x: grad_output[0],
            (lambda grad_output, x: grad_output[-1],),
        ),
        Misconception(
            "the copies stay apart",
            "your gradient has a row for each copy. There is one x, and the gradients from all rows belong to it.",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "the average of the copies",
            "a nudge of x moves every copy in full, not its share.",
            lambda grad_output, x: grad_output.mean(0),
        ),
        Misconception(
            "summed along the wrong dimension",
            "which index of y does x not have?",
            lambda grad_output, x: grad_output.sum(1),
        ),
        Misconception(
            "summed to one number",
            "x has several cells, and each gets its own gradient.",
            lambda grad_output, x: grad_output.sum(),
            (lambda grad_output, x: grad_output.sum() * torch.ones_like(x),),
        ),
        Misconception(
            "counted instead of added",
            "it's right that each cell was read three times. But a different gradient came back each time.",
            lambda grad_output, x: 3 * grad_output[0],
            (lambda grad_output, x: 3 * torch.ones_like(x),),
        ),
    ],
)

_INDEX = torch.tensor([2, 0, 2, 5, 2])
_OTHER_INDEX = torch.tensor([3, 3, 1, 0])


def _last_wins(grad_output, x, index):
    dx = torch.zeros_like(x)
    for g, place in zip(grad_output, index):  # noqa: B905
        dx[place] = g
    return dx


def _first_wins(grad_output, x, index):
    return _last_wins(grad_output.flip(0), x, index.flip(0))


def _added(grad_output, x, index):
    dx = torch.zeros_like(x)
    for g, place in zip(grad_output, index):  # noqa: B905
        dx[place] += g
    return dx


def _readers(x, index):
    count = torch.zeros_like(x)
    for place in index:
        count[place] += 1
    return count


def _gather(x, index):
    return x[index]


exercise(
    "puzzle-gather",
    "The backward of y[i] = x[index[i]].",
    solution=by_engine(_gather),
    probes=_probes(_gather, [_ROW, _INDEX], [_SHORT, _OTHER_INDEX]),
    misconceptions=[
        Misconception(
            "gradients overwrite instead of add",
            "a cell that was read more than once keeps only one of its gradients in yours.",
            _last_wins,
            (_first_wins,),
        ),
        Misconception(
            "the average of the readers",
            "a nudge of the cell moves each reader in full, not its share.",
            lambda grad_output, x, index: _added(grad_output, x, index) / torch.clamp(_readers(x, index), min=1),
        ),
        Misconception(
            "the gradient is gathered again",
            "you read grad_output with the index. But the entries of index are places in x.",
            lambda grad_output, x, index: grad_output[torch.clamp(index, max=len(grad_output) - 1)],
            (lambda grad_output, x, index: grad_output[index],),
        ),
        Misconception(
            "the gradient has the shape of y",
            "a gradient has the shape of what it's the gradient of: that is x.",
            lambda grad_output, x, index: grad_output,
        ),
        Misconception(
            "counted instead of added",
            "you say how often a cell was read. But what came back each time?",
            lambda grad_output, x, index: _readers(x, index),
        ),
    ],
)

_TO = torch.tensor([1, 3, 1, 0, 3, 1])
_FEW_TO = torch.tensor([0, 2, 2, 0])


def _scatter(x, index):
    return torch.zeros(4, dtype=x.dtype).index_add(0, index, x)


exercise(
    "puzzle-scatter",
    "The backward of y[index[i]] += x[i], with y of four cells that begin at 0.",
    solution=by_engine(_scatter),
    probes=_probes(_scatter, [_ROW, _TO], [_SHORT, _FEW_TO]),
    misconceptions=[
        Misconception(
            "scattered again",
            "you use the index in the same direction as forward. To which cell of y did x[i] go?",
            lambda grad_output, x, index: _put(
                x, torch.arange(4), _added(grad_output, torch.zeros(4, dtype=x.dtype), index[:4])
            ),
        ),
        Misconception(
            "shared among those that met",
            "cells that were added into one get a gradient each: a nudge of each of them moves the sum in full.",
            lambda grad_output, x, index: (grad_output / torch.clamp(_readers(grad_output, index), min=1))[index],
        ),
        Misconception(
            "only the last one gets it",
            "several cells of x were added into the same cell of y. None of them replaced another.",
            lambda grad_output, x, index: torch.stack(
                [grad_output[place] * (place not in index[i + 1 :].tolist()) for i, place in enumerate(index.tolist())]
            ),
        ),
        Misconception(
            "added once more",
            "forward already added the cells that meet in y. In backward, each cell of x has one reader.",
            lambda grad_output, x, index: (grad_output * _readers(grad_output, index))[index],
        ),
        Misconception(
            "the gradient has the shape of y",
            "a gradient has the shape of what it's the gradient of: that is x.",
            lambda grad_output, x, index: grad_output,
        ),
        Misconception(
            "value times gradient",
            "a cell is added here, not multiplied: its slope is 1.",
            lambda grad_output, x, index: x * grad_output[index],
        ),
    ],
)


def _windows(grad_output, x, factors):
    dx = torch.zeros_like(x)
    for k, factor in enumerate(factors):
        dx[k : k + len(grad_output)] += grad_output * factor
    return dx


def _moving_average(x):
    return (x[:-2] + x[1:-1] + x[2:]) / 3


exercise(
    "puzzle-moving-average",
    "The backward of y[i] = (x[i] + x[i + 1] + x[i + 2]) / 3.",
    solution=by_engine(_moving_average),
    probes=_probes(_moving_average, [_ROW], [[2.0, -1.0, 4.0, 0.5, 9.0]]),
    misconceptions=[
        Misconception(
            "the division is forgotten",
            "the readers are right. How much does y[i] move when one of its three cells moves by 1?",
            lambda grad_output, x: _windows(grad_output, x, [1, 1, 1]),
        ),
        Misconception(
            "one reader of three",
            "a cell in the middle of x takes part in three averages. Each of them sends something back.",
            lambda grad_output, x: _windows(grad_output, x, [1 / 3]),
            (
                lambda grad_output, x: _windows(grad_output, x, [0, 1 / 3]),
                lambda grad_output, x: _windows(grad_output, x, [0, 0, 1 / 3]),
                lambda grad_output, x: _windows(grad_output, x, [1]),
                lambda grad_output, x: _windows(grad_output, x, [0, 1]),
            ),
        ),
        Misconception(
            "averaged again, and shorter",
            "yours has even fewer cells than y. A gradient has the shape of x.",
            lambda grad_output, x: (grad_output[:-2] + grad_output[1:-1] + grad_output[2:]) / 3,
        ),
        Misconception(
            "all cells as if in the middle",
            "at the ends of x, a cell takes part in fewer than three averages.",
            lambda grad_output, x: torch.ones_like(x) * grad_output.mean(),
            (lambda grad_output, x: torch.stack([grad_output[max(0, j - 2) : j + 1].mean() for j in range(len(x))]),),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "that's right only if every gradient that arrives is 1. Use grad_output.",
            lambda grad_output, x: _windows(torch.ones_like(grad_output), x, [1 / 3] * 3),
            (lambda grad_output, x: torch.ones_like(x) / 3,),
        ),
    ],
)


def _cumsum(x):
    return x.cumsum(0)


exercise(
    "puzzle-cumsum",
    "The backward of y[i] = x[0] + ... + x[i].",
    solution=by_engine(_cumsum),
    probes=_probes(_cumsum, [_SHORT], [_ROW]),
    misconceptions=[
        Misconception(
            "summed in the same direction",
            "x[0] is in every y, and the last x only in the last y. So which of them has more readers?",
            lambda grad_output, x: grad_output.cumsum(0),
        ),
        Misconception(
            "each cell has one reader",
            "every y reads x[0], not only y[0].",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "the cell itself is left out",
            "y[i] also contains x[i] itself.",
            lambda grad_output, x: grad_output.flip(0).cumsum(0).flip(0) - grad_output,
        ),
        Misconception(
            "not turned back",
            "the sums may be right, but they're in reverse order: compare the first with the last.",
            lambda grad_output, x: grad_output.flip(0).cumsum(0),
        ),
        Misconception(
            "differences instead of sums",
            "that undoes a cumsum. A backward doesn't compute x from y: it asks who read x[j].",
            lambda grad_output, x: torch.cat([grad_output[:1], grad_output[1:] - grad_output[:-1]]),
            (lambda grad_output, x: torch.cat([grad_output[:-1] - grad_output[1:], grad_output[-1:]]),),
        ),
        Misconception(
            "counted instead of added",
            "you say how many readers a cell has. But what came back from each of them?",
            lambda grad_output, x: torch.arange(len(x), 0, -1).to(x.dtype),
        ),
        Misconception(
            "the total goes to every cell",
            "that's the gradient of a cell that every y has read.",
            lambda grad_output, x: grad_output.sum() * torch.ones_like(x),
        ),
    ],
)


# The values decide who is read.

_WIDE = [3.0, -1.0, 7.0, 5.0, 8.0, -6.0]


def _clamp(x):
    return torch.clamp(x, 0, 6)


exercise(
    "puzzle-clamp",
    "The backward of y[i] = min(max(x[i], 0), 6).",
    solution=by_engine(_clamp),
    probes=_probes(_clamp, [_WIDE], [[[9.0, 2.0], [-4.0, 1.0]]]),
    misconceptions=[
        Misconception(
            "the lower limit only",
            "what is above 6 doesn't move y either.",
            lambda grad_output, x: grad_output * (x > 0),
        ),
        Misconception(
            "the upper limit only",
            "what is below 0 doesn't move y either.",
            lambda grad_output, x: grad_output * (x < 6),
        ),
        Misconception(
            "the gradient is clamped",
            "the limits hold for the values of x. The gradient itself may have any size.",
            lambda grad_output, x: torch.clamp(grad_output, 0, 6),
            (lambda grad_output, x: torch.clamp(grad_output, 0, 6) * ((x > 0) & (x < 6)),),
        ),
        Misconception(
            "the limits let everything pass",
            "where x is far above 6, nudge it: does y move?",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "the sign of the gradient decides",
            "you ask whether the gradient is between the limits. Ask x.",
            lambda grad_output, x: grad_output * ((grad_output > 0) & (grad_output < 6)),
        ),
        Misconception(
            "value times gradient",
            "between the limits y is x itself, so its slope there is 1.",
            lambda grad_output, x: grad_output * torch.clamp(x, 0, 6),
        ),
        Misconception(
            "the other cells pass",
            "you let gradients through where y doesn't move, and stop them where it does.",
            lambda grad_output, x: grad_output * ((x < 0) | (x > 6)),
        ),
    ],
)


def _to_largest(grad_output, x):
    dx = torch.zeros_like(x)
    dx[torch.arange(len(x)), x.argmax(1)] = grad_output
    return dx


def _max(x):
    return torch.amax(x, 1)


exercise(
    "puzzle-max",
    "The backward of y[i] = the largest of x[i, 0], x[i, 1], ...",
    solution=by_engine(_max),
    probes=_probes(_max, [_TABLE], [_SQUARE], [[[1.0, 2.0, 9.0, 4.0], [8.0, 3.0, -1.0, 0.0]]]),
    misconceptions=[
        Misconception(
            "every cell of the row gets it",
            "a cell that isn't the largest can be nudged a little, and y doesn't move.",
            lambda grad_output, x: grad_output[:, None] * torch.ones_like(x),
        ),
        Misconception(
            "shared by the row",
            "nothing is shared: one cell of the row is y, and the others aren't.",
            lambda grad_output, x: grad_output[:, None] * torch.ones_like(x) / x.shape[1],
        ),
        Misconception(
            "the largest of the whole table",
            "each row has its own largest cell.",
            lambda grad_output, x: grad_output[:, None] * (x == x.max()),
        ),
        Misconception(
            "the largest of each column",
            "forward looks along a row: over which index?",
            lambda grad_output, x: grad_output[:, None] * (x == torch.amax(x, 0)),
        ),
        Misconception(
            "gradients that arrive are ignored",
            "the places are right. But the gradient that arrives is grad_output, not 1.",
            lambda grad_output, x: _to_largest(torch.ones_like(grad_output), x),
        ),
        Misconception(
            "value times gradient",
            "the largest cell is copied, not multiplied: its slope is 1.",
            lambda grad_output, x: _to_largest(grad_output, x) * x,
        ),
        Misconception(
            "the gradient has the shape of y",
            "a gradient has the shape of what it's the gradient of: that is x.",
            lambda grad_output, x: grad_output,
        ),
    ],
)


def _sort(x):
    return x.sort().values


exercise(
    "puzzle-sort",
    "The backward of y = x in ascending order.",
    solution=by_engine(_sort),
    probes=_probes(_sort, [_SHORT], [_ROW], [[5.0, 1.0, 2.0, 3.0, 4.0]]),
    misconceptions=[
        Misconception(
            "the gradient stays in the sorted order",
            "the first cell of y is the smallest value of x, which isn't always the first cell of x.",
            lambda grad_output, x: grad_output,
        ),
        Misconception(
            "read by the order, not put by it",
            "you read grad_output with the order that forward used for x. Backward goes the other way.",
            lambda grad_output, x: grad_output[x.argsort()],
        ),
        Misconception(
            "the gradient is sorted",
            "don't sort by the size of the gradient. The places follow from x.",
            lambda grad_output, x: grad_output.sort().values,
            (lambda grad_output, x: _put(x, x.argsort(), grad_output.sort().values),),
        ),
        Misconception(
            "in descending order",
            "you give the gradient of the smallest to the largest.",
            lambda grad_output, x: _put(x, x.argsort(), grad_output.flip(0)),
            (lambda grad_output, x: grad_output.flip(0),),
        ),
        Misconception(
            "sorting has no slope",
            "a nudge of one cell of x moves one cell of y by the same amount.",
            lambda grad_output, x: torch.zeros_like(x),
        ),
    ],
)


# Slopes that are not 1.


def _without_each(x):
    ones = [1.0] * len(x)
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                ones[i] = ones[i] * x[j].item()
    return torch.tensor(ones, dtype=x.dtype)


def _product(x):
    return x.prod()


exercise(
    "puzzle-product",
    "The backward of y = x[0] * x[1] * ... , where a cell may be 0.",
    solution=by_engine(_product),
    probes=_probes(_product, [_SHORT], [[2.0, 0.0, -3.0]], [[1.5, 2.0, -1.0, 4.0]]),
    misconceptions=[
        Misconception(
            "divided by the cell",
            "that's right as long as no cell is 0. What does it give there?",
            lambda grad_output, x: grad_output * x.prod() / x,
        ),
        Misconception(
            "the whole product for every cell",
            "the cell itself isn't a factor of its slope.",
            lambda grad_output, x: grad_output * x.prod() * torch.ones_like(x),
        ),
        Misconception(
            "as for a sum",
            "a product isn't a sum: how much y moves depends on the other cells.",
            lambda grad_output, x: grad_output * torch.ones_like(x),
        ),
        Misconception(
            "the cell instead of the others",
            "how much does y move with a cell? Try it with three numbers: not by the size of that cell.",
            lambda grad_output, x: grad_output * x,
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            lambda grad_output, x: _without_each(x),
        ),
        Misconception(
            "the sum of the others",
            "how much does y move with a cell? Try it with three numbers whose product and sum differ.",
            lambda grad_output, x: grad_output * (x.sum() - x),
        ),
        Misconception(
            "zeros are replaced",
            "you avoid the division by 0, but the cell that is 0 has a slope: nudge it, and y moves.",
            lambda grad_output, x: torch.where(x == 0, 0 * x, grad_output * x.prod() / (x + (x == 0))),
        ),
    ],
)


def _outer(a, b):
    return a[:, None] * b


exercise(
    "puzzle-outer",
    "The backward of y[i, j] = a[i] * b[j].",
    solution=by_engine(_outer),
    probes=_probes(_outer, [[2.0, -1.0], [3.0, 0.5, 4.0]], [[1.0, 5.0, -2.0], [2.0, 3.0, 7.0]]),
    misconceptions=[
        Misconception(
            "a and b are exchanged",
            "the gradient of a has a cell for each cell of a.",
            lambda grad_output, a, b: (grad_output.T @ a, grad_output @ b),
        ),
        Misconception(
            "each factor gets itself",
            "multiplication swaps: how much y[i, j] moves with a[i] depends on the other factor.",
            lambda grad_output, a, b: (grad_output.sum(1) * a, grad_output.sum(0) * b),
        ),
        Misconception(
            "summed too early",
            "each cell of grad_output belongs to another pair of a and b. After your sums they can't be told apart.",
            lambda grad_output, a, b: (grad_output.sum(1) * b.sum(), grad_output.sum(0) * a.sum()),
        ),
        Misconception(
            "as for a sum",
            "the cells are multiplied, so the other factor is the slope.",
            lambda grad_output, a, b: (grad_output.sum(1), grad_output.sum(0)),
        ),
        Misconception(
            "not summed",
            "a[i] is read once in each column. The gradients from all columns belong to the same a[i].",
            lambda grad_output, a, b: (grad_output * b, grad_output * a[:, None]),
        ),
        Misconception(
            "the average of the readers",
            "a nudge of a cell moves each of its readers in full, not its share.",
            lambda grad_output, a, b: (grad_output @ b / len(b), grad_output.T @ a / len(a)),
        ),
    ],
)


def _conv(x, w):
    return sum(x[k : len(x) - len(w) + 1 + k] * w[k] for k in range(len(w)))


def _conv_w(grad_output, x, w):
    return torch.stack([(grad_output * x[k : k + len(grad_output)]).sum() for k in range(len(w))])


exercise(
    "puzzle-convolution",
    "The backward of y[i] = x[i] * w[0] + x[i + 1] * w[1] + ... over all cells of w.",
    solution=by_engine(_conv),
    probes=_probes(_conv, [[3.0, 1.0, -2.0, 5.0, 4.0], [2.0, -1.0, 0.5]], [_ROW, [1.0, 4.0]]),
    misconceptions=[
        Misconception(
            "the weights are flipped",
            "which cells of y read the first two cells of x, and with which weights? Follow them by hand.",
            lambda grad_output, x, w: (_windows(grad_output, x, w.flip(0)), _conv_w(grad_output, x, w)),
        ),
        Misconception(
            "one place of w is read once",
            "w[0] is read by every cell of y, so the gradients of all of them add.",
            lambda grad_output, x, w: (_windows(grad_output, x, w), grad_output[0] * x[: len(w)]),
        ),
        Misconception(
            "the gradient of w is a mean",
            "a nudge of w moves every cell of y in full, not its share.",
            lambda grad_output, x, w: (
                _windows(grad_output, x, w),
                _conv_w(grad_output, x, w) / len(grad_output),
            ),
        ),
        Misconception(
            "x has one reader",
            "a cell of x is read by several cells of y, with another weight each time.",
            lambda grad_output, x, w: (_windows(grad_output, x, w[:1]), _conv_w(grad_output, x, w)),
            (lambda grad_output, x, w: (_put(x, slice(0, len(grad_output)), grad_output), _conv_w(grad_output, x, w)),),
        ),
        Misconception(
            "the weights take no part",
            "the readers are right. But each of them multiplied by a weight.",
            lambda grad_output, x, w: (_windows(grad_output, x, [1] * len(w)), _conv_w(grad_output, x, w)),
        ),
        Misconception(
            "the gradient of w is flipped",
            "w[0] goes with the first cell of each window, in forward and in backward.",
            lambda grad_output, x, w: (_windows(grad_output, x, w), _conv_w(grad_output, x, w).flip(0)),
        ),
    ],
)


def _variance(x):
    return ((x - x.mean(0)) ** 2).mean(0)


exercise(
    "puzzle-variance",
    "The backward of y[j] = the mean over i of (x[i, j] - m[j]) ** 2, where m[j] is the mean of column j.",
    solution=by_engine(_variance),
    probes=_probes(_variance, [[[1.0, 5.0], [4.0, -3.0], [-2.0, 1.0]]], [_SQUARE]),
    misconceptions=[
        Misconception(
            "the division is forgotten",
            "y is a mean: each cell has only a part in it.",
            lambda grad_output, x: 2 * (x - x.mean(0)) * grad_output,
        ),
        Misconception(
            "divided by n - 1",
            "that's a different variance. What does this one divide by?",
            lambda grad_output, x: 2 * (x - x.mean(0)) * grad_output / (len(x) - 1),
        ),
        Misconception(
            "the 2 of the square is forgotten",
            "what is the slope of a square?",
            lambda grad_output, x: (x - x.mean(0)) * grad_output / len(x),
        ),
        Misconception(
            "the mean is left out",
            "forward doesn't square x itself: look at what it subtracts first.",
            lambda grad_output, x: 2 * x * grad_output / len(x),
        ),
        Misconception(
            "the mean of the whole table",
            "each column has its own mean.",
            lambda grad_output, x: 2 * (x - x.mean()) * grad_output / len(x),
            (lambda grad_output, x: 2 * (x - x.mean(1)[:, None]) * grad_output / len(x),),
        ),
        Misconception(
            "a minus for the path through the mean",
            "the path through the mean is there, but add up what it brings: the cells of x - m have the sum 0.",
            lambda grad_output, x: 2 * (x - x.mean(0)) * grad_output / len(x) * (1 - 1 / len(x)),
        ),
        Misconception(
            "the local slope without the chain",
            "your answer doesn't use grad_output, the gradient that arrives.",
            lambda grad_output, x: 2 * (x - x.mean(0)) / len(x),
        ),
    ],
)


def _p(x):
    return torch.softmax(x, 0)


exercise(
    "puzzle-softmax",
    "The backward of y[i] = exp(x[i]) / (exp(x[0]) + exp(x[1]) + ...).",
    solution=by_engine(_p),
    probes=_probes(_p, [[1.0, -1.0, 2.0, 0.5]], [[0.0, 2.0, -0.5]]),
    misconceptions=[
        Misconception(
            "only the diagonal of the Jacobian",
            "x[j] moves its own y, and all others too. Each of them sends something back.",
            lambda grad_output, x: grad_output * _p(x) * (1 - _p(x)),
        ),
        Misconception(
            "the sum below the line is taken as fixed",
            "that's the slope of exp(x) divided by a fixed number. A nudge of x[j] moves the sum as well.",
            lambda grad_output, x: grad_output * _p(x),
        ),
        Misconception(
            "the mean instead of the sum",
            "gradients that arrive along several paths add. Nothing divides them by the number of paths.",
            lambda grad_output, x: _p(x) * (grad_output - (grad_output * _p(x)).mean()),
        ),
        Misconception(
            "all readers alike",
            "when the sum moves, a large y moves more than a small one. In your answer, all of them count the same.",
            lambda grad_output, x: _p(x) * (grad_output - grad_output.sum()),
            (lambda grad_output, x: _p(x) * (grad_output - grad_output.mean()),),
        ),
        Misconception(
            "the sign of the path over the sum",
            "the sum is in the denominator: if it goes up, every y goes down.",
            lambda grad_output, x: _p(x) * (grad_output + (grad_output * _p(x)).sum()),
        ),
        Misconception(
            "the factor in front is forgotten",
            "a y that's nearly 0 hardly moves at all. Which factor in your answer says so?",
            lambda grad_output, x: grad_output - (grad_output * _p(x)).sum(),
        ),
    ],
)


def _scan(a, x):
    y, states = 0.0, []
    for i in range(len(x)):
        y = a[i] * y + x[i]
        states.append(y)
    return torch.stack(states)


def _carried(grad_output, a, x, following=1, before=1):
    """What comes back to each state, and the state before each; with other places, well-known mistakes."""
    n, carry, da, dx = len(x), 0.0, torch.zeros_like(a), torch.zeros_like(x)
    y = _scan(a, x)
    for i in reversed(range(n)):
        factor = (a[i + following] if i + following < n else 0.0) if following else a[i]
        carry = grad_output[i] + factor * carry
        dx[i] = carry
        if i >= before:
            da[i] = carry * y[i - before]
    return da, dx


def _own_factor(grad_output, a, x):
    return _carried(grad_output, a, x, following=0)


def _state_of_now(grad_output, a, x):
    return _carried(grad_output, a, x, before=0)


def _no_carry(grad_output, a, x):
    y = _scan(a, x)
    return torch.cat([0 * y[:1], grad_output[1:] * y[:-1]]), grad_output


def _forwards(grad_output, a, x):
    carried = _scan(a, grad_output)
    y = _scan(a, x)
    return torch.cat([0 * y[:1], carried[1:] * y[:-1]]), carried


def _input_for_state(grad_output, a, x):
    _, dx = _carried(grad_output, a, x)
    return torch.cat([0 * x[:1], dx[1:] * x[:-1]]), dx


def _factors_forgotten(grad_output, a, x):
    back = grad_output.flip(0).cumsum(0).flip(0)
    y = _scan(a, x)
    return torch.cat([0 * y[:1], back[1:] * y[:-1]]), back


exercise(
    "puzzle-scan",
    "The backward of y[i] = a[i] * y[i - 1] + x[i], with 0 instead of y[-1].",
    solution=by_engine(_scan),
    probes=_probes(_scan, [[3.0, 2.0, -1.0, 0.5], [1.0, 2.0, 3.0, -4.0]], [[0.5, -2.0, 4.0], [2.0, 1.0, -1.0]]),
    misconceptions=[
        Misconception(
            "nothing is carried on",
            "y[i] has two readers: what comes after the scan, and y[i + 1].",
            _no_carry,
        ),
        Misconception(
            "the factor of the wrong step",
            "y[i] was multiplied when y[i + 1] was computed. By which cell of a?",
            _own_factor,
        ),
        Misconception(
            "the state of now for the one before",
            "look at what a[i] is multiplied by in forward.",
            _state_of_now,
        ),
        Misconception(
            "carried from the first to the last",
            "the last y has no reader within the scan, so it is complete first. Where does your loop begin?",
            _forwards,
        ),
        Misconception(
            "the input for the state",
            "a[i] isn't multiplied by a cell of x.",
            _input_for_state,
        ),
        Misconception(
            "carried without a factor",
            "that's right for a cumsum. Here each step multiplies by a cell of a.",
            _factors_forgotten,
        ),
    ],
)
