"""Wrong answers that beginners give in lesson 16; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_ZEROS = "dx = torch.zeros_like(x)\n"
_IN_PLACES = _ZEROS + "for i in range(len(grad_output)):\n    "
_SOFTMAX = "y = torch.softmax(x, 0)\nreturn "
_CENTRED = "c = x - x.mean(0)\nreturn "
_TWO = "dx, dw = torch.zeros_like(x), torch.zeros_like(w)\nfor i in range(len(grad_output)):\n"
_TWO += "    for k in range(len(w)):\n"
_STATES = "y = [x[0]]\nfor i in range(1, len(x)):\n    y.append(a[i] * y[i - 1] + x[i])\n"
_BACK = _STATES + "da, dx = torch.zeros_like(a), torch.zeros_like(x)\ncarry = 0\nfor i in reversed(range(len(x))):\n"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "puzzle-slice": [
        ("return grad_output", "what was left out is left out again"),
        (_ZEROS + "dx[:-2] = grad_output\nreturn dx", "the zeros are at the wrong end"),
        ("return torch.cat([grad_output, torch.zeros(2)])", "the zeros are at the wrong end"),
        ("return grad_output[2:]", "the gradient is sliced again"),
        ("return x", "the values in place of the gradient"),
        (_ZEROS + "dx[2:] = 1\nreturn dx", "gradients that arrive are ignored"),
        (_ZEROS + "dx[1:-1] = grad_output\nreturn dx", None),
        (_ZEROS + "dx[2:] = grad_output", None),
        (_ZEROS + "dx[2:] = grad_output[2:]\nreturn dx", None),
        ("grad_output *= 2\nreturn grad_output", None),
    ],
    "puzzle-flip": [
        ("return grad_output", "the gradient does not move back"),
        ("return -grad_output", "a minus in place of a move"),
        ("return x.flip(0)", "the values in place of the gradient"),
        ("return grad_output.flip(0) * x", "value times gradient"),
        (_IN_PLACES + "dx[i] = grad_output[len(x) - i - 2]\nreturn dx", None),
        (_IN_PLACES + "dx[len(x) - i] = grad_output[i]\nreturn dx", None),
        ("return grad_output.flip(0).flip(0)", "the gradient does not move back"),
        ("return grad_output[::-1]", None),
    ],
    "puzzle-roll": [
        ("return torch.roll(grad_output, 2)", "rolled forward once more"),
        ("return grad_output", "the gradient does not move back"),
        (_ZEROS + "dx[:-2] = grad_output[2:]\nreturn dx", "what goes over the end is lost"),
        ("return torch.roll(grad_output, -1)", "rolled by one place"),
        ("return grad_output.flip(0)", "flipped in place of rolled"),
        ("return torch.roll(grad_output, -2) * x", None),
        (_IN_PLACES + "dx[i] = grad_output[i + 2]\nreturn dx", None),
    ],
    "puzzle-transpose": [
        ("return grad_output", "the gradient is not turned back"),
        ("return grad_output.reshape(x.shape)", "cut into other rows"),
        ("return grad_output.T.flip(0)", "turned and flipped"),
        ("return x.T", "the values in place of the gradient"),
        ("return grad_output.T * x", "value times gradient"),
        ("return -grad_output.T", None),
        (_ZEROS + "for i in range(len(x)):\n    dx[i] = grad_output[i]\nreturn dx", None),
    ],
    "puzzle-diagonal": [
        ("return grad_output", "a list in place of a table"),
        ("return grad_output * torch.ones_like(x)", "repeated over the whole table"),
        (_IN_PLACES + "dx[i] = grad_output[i]\nreturn dx", "repeated over the whole table"),
        (_IN_PLACES + "dx[i, len(x) - 1 - i] = grad_output[i]\nreturn dx", "the other diagonal"),
        (_IN_PLACES + "dx[i, i] = 1\nreturn dx", "gradients that arrive are ignored"),
        (_IN_PLACES + "dx[i, i] = grad_output[i] * x[i, i]\nreturn dx", "value times gradient"),
        ("return grad_output.diagonal()", None),
        (_IN_PLACES + "dx[i, 0] = grad_output[i]\nreturn dx", None),
    ],
    "puzzle-where": [
        ("return grad_output, grad_output", "both get everything"),
        ("return grad_output * (keep == False), grad_output * keep", "a and b are exchanged"),
        ("return grad_output / 2, grad_output / 2", "each gets a half"),
        ("return grad_output * keep, 0 * grad_output", "only the first gets something"),
        ("return a * keep, b * (keep == False)", "the values in place of the gradient"),
        ("return torch.where(keep, grad_output, 0 * a)", None),
        ("return grad_output * keep", None),
        ("return torch.where(keep, grad_output, a), torch.where(keep, b, grad_output)", None),
    ],
    "puzzle-expand": [
        ("return grad_output[0]", "one copy of many"),
        ("return grad_output", "the copies stay apart"),
        ("return grad_output.mean(0)", "the average of the copies"),
        ("return grad_output.sum(1)", "summed along the wrong dimension"),
        ("return grad_output.sum()", "summed to one number"),
        ("return 3 * grad_output[0]", "counted in place of added"),
        ("return 3 * torch.ones_like(x)", "counted in place of added"),
        ("return grad_output.prod(0)", None),
        ("return grad_output.sum(0, keepdim=True)", None),
    ],
    "puzzle-gather": [
        (_ZEROS + "dx[index] = grad_output\nreturn dx", "gradients overwrite instead of add"),
        (_ZEROS + "dx[index] += grad_output\nreturn dx", "gradients overwrite instead of add"),
        ("return grad_output[index]", "the gradient is gathered again"),
        ("return grad_output", "the gradient has the shape of y"),
        (_ZEROS + "for place in index:\n    dx[place] += 1\nreturn dx", "counted in place of added"),
        (_ZEROS + "for i, place in enumerate(index):\n    dx[i] += grad_output[i]\nreturn dx", None),
        (_ZEROS + "for i, place in enumerate(index):\n    dx[place] += x[place] * grad_output[i]\nreturn dx", None),
    ],
    "puzzle-scatter": [
        ("return grad_output", "the gradient has the shape of y"),
        ("return x * grad_output[index]", "value times gradient"),
        (_ZEROS + "for i, place in enumerate(index):\n    dx[place] += grad_output[i]\nreturn dx", None),
        (_ZEROS + "for i in range(4):\n    dx[index[i]] += grad_output[i]\nreturn dx", "scattered again"),
        ("return torch.ones_like(x)", None),
        (
            _ZEROS + "for place in range(4):\n    for i in range(len(x)):\n        if index[i] == place:\n"
            "            dx[i] = grad_output[place] / (index == place).sum()\nreturn dx",
            "shared among those that met",
        ),
        ("return x[index]", None),
    ],
    "puzzle-moving-average": [
        (_IN_PLACES + "dx[i : i + 3] += grad_output[i]\nreturn dx", "the division is forgotten"),
        (_IN_PLACES + "dx[i] = grad_output[i] / 3\nreturn dx", "one reader of three"),
        (_IN_PLACES + "dx[i : i + 3] = grad_output[i] / 3\nreturn dx", None),
        ("return (grad_output[:-2] + grad_output[1:-1] + grad_output[2:]) / 3", "averaged again, and shorter"),
        (_IN_PLACES + "dx[i : i + 3] += 1 / 3\nreturn dx", "gradients that arrive are ignored"),
        ("return torch.ones_like(x) / 3", "gradients that arrive are ignored"),
        (_IN_PLACES + "dx[i : i + 2] += grad_output[i] / 3\nreturn dx", None),
    ],
    "puzzle-cumsum": [
        ("return grad_output.cumsum(0)", "summed in the same direction"),
        ("return grad_output", "each cell has one reader"),
        ("return grad_output.flip(0).cumsum(0)", "not turned back"),
        (_ZEROS + "for i in range(len(x)):\n    dx[:i] += grad_output[i]\nreturn dx", "the cell itself is left out"),
        (_ZEROS + "for i in range(len(x)):\n    dx[: i + 1] += 1\nreturn dx", "counted in place of added"),
        ("return grad_output.sum() * torch.ones_like(x)", "the total goes to every cell"),
        ("return grad_output.sum()", None),
        (_ZEROS + "for i in range(len(x)):\n    dx[: i + 1] = grad_output[i]\nreturn dx", None),
    ],
    "puzzle-clamp": [
        ("return grad_output * (x > 0)", "the lower limit only"),
        ("return grad_output * (x < 6)", "the upper limit only"),
        ("return grad_output.clamp(0, 6)", "the gradient is clamped"),
        ("return grad_output", "the limits let everything pass"),
        ("return grad_output * x.clamp(0, 6)", "value times gradient"),
        ("return (x > 0) & (x < 6)", None),
        ("return grad_output if 0 < x < 6 else 0 * x", None),
        ("return grad_output * ((x < 0) | (x > 6))", "the other cells pass"),
    ],
    "puzzle-max": [
        ("return grad_output[:, None] * torch.ones_like(x)", "every cell of the row gets it"),
        ("return grad_output", "the gradient has the shape of y"),
        ("return grad_output[:, None] * (x == x.max())", "the largest of the whole table"),
        (_ZEROS + "dx[:, x.argmax(1)] = grad_output\nreturn dx", None),
        (_IN_PLACES + "dx[i, x[i].argmax()] = 1\nreturn dx", "gradients that arrive are ignored"),
        (_IN_PLACES + "dx[i, x[i].argmax()] = grad_output[i] * x[i].max()\nreturn dx", "value times gradient"),
        (_IN_PLACES + "dx[i, x.argmax()] = grad_output[i]\nreturn dx", None),
    ],
    "puzzle-sort": [
        ("return grad_output", "the gradient stays in the sorted order"),
        ("return grad_output[x.argsort()]", "read by the order, not put by it"),
        ("return grad_output.sort().values", "the gradient is sorted"),
        ("return torch.zeros_like(x)", "sorting has no slope"),
        (_ZEROS + "dx[x.argsort().flip(0)] = grad_output\nreturn dx", "in descending order"),
        ("return x.sort().values", None),
        (_ZEROS + "dx[x.sort()] = grad_output\nreturn dx", None),
    ],
    "puzzle-product": [
        ("return grad_output * x.prod() / x", "divided by the cell"),
        ("return grad_output * x.prod() * torch.ones_like(x)", "the whole product for every cell"),
        ("return grad_output * torch.ones_like(x)", "as for a sum"),
        ("return grad_output * x", "the cell in place of the others"),
        ("return grad_output * (x.sum() - x)", "the sum of the others"),
        ("return grad_output", None),
        ("return grad_output * x.prod()", None),
        (_ZEROS + "for j in range(len(x)):\n    dx[j] = grad_output * x[:j].prod()\nreturn dx", None),
    ],
    "puzzle-outer": [
        ("return grad_output.sum(1) * a, grad_output.sum(0) * b", "each factor gets itself"),
        ("return grad_output.sum(1) * b.sum(), grad_output.sum(0) * a.sum()", "summed too early"),
        ("return grad_output.sum(1), grad_output.sum(0)", "as for a sum"),
        ("return grad_output * b, grad_output * a[:, None]", "not summed"),
        ("return (grad_output * b).mean(1), (grad_output * a[:, None]).mean(0)", "the average of the readers"),
        ("return grad_output.T @ a, grad_output @ b", "a and b are exchanged"),
        ("return b, a", None),
        ("return grad_output @ b", None),
    ],
    "puzzle-convolution": [
        (
            _TWO
            + "        dx[i + k] += grad_output[i] * w[len(w) - 1 - k]\n        dw[k] += grad_output[i] * x[i + k]\n"
            "return dx, dw",
            "the weights are flipped",
        ),
        (
            _TWO + "        dx[i + k] += grad_output[i]\n        dw[k] += grad_output[i] * x[i + k]\nreturn dx, dw",
            "the weights take no part",
        ),
        (
            _TWO
            + "        dx[i + k] = grad_output[i] * w[k]\n        dw[k] += grad_output[i] * x[i + k]\nreturn dx, dw",
            None,
        ),
        (
            _TWO
            + "        dx[i + k] += grad_output[i] * w[k]\n        dw[k] = grad_output[i] * x[i + k]\nreturn dx, dw",
            None,
        ),
        (_TWO + "        dx[i + k] += grad_output[i] * w[k]\nreturn dx, dw", None),
        (
            _TWO + "        dx[i + k] += grad_output[i] * w[k]\n        dw[k] += grad_output[i] * x[i]\nreturn dx, dw",
            None,
        ),
        (
            _TWO + "        dx[i + k] += grad_output[i] * w[k]\n        dw[k] += grad_output[i] * x[i + k]\n"
            "return dx, dw / len(grad_output)",
            "the gradient of w is a mean",
        ),
    ],
    "puzzle-variance": [
        (_CENTRED + "2 * c * grad_output", "the division is forgotten"),
        (_CENTRED + "2 * c * grad_output / (len(x) - 1)", "divided by n - 1"),
        (_CENTRED + "c * grad_output / len(x)", "the 2 of the square is forgotten"),
        ("return 2 * x * grad_output / len(x)", "the mean is left out"),
        ("return 2 * (x - x.mean()) * grad_output / len(x)", "the mean of the whole table"),
        (_CENTRED + "2 * c / len(x)", "the local slope without the chain"),
        (_CENTRED + "c**2 * grad_output / len(x)", None),
        (_CENTRED + "2 * c * grad_output / x.numel()", None),
    ],
    "puzzle-softmax": [
        (_SOFTMAX + "grad_output * y * (1 - y)", "only the diagonal of the Jacobian"),
        (_SOFTMAX + "grad_output * y", "the sum below the line is taken as fixed"),
        (_SOFTMAX + "y * (grad_output - (grad_output * y).mean())", "the mean in place of the sum"),
        (_SOFTMAX + "y * (grad_output - grad_output.sum())", "all readers alike"),
        (_SOFTMAX + "y * (grad_output + (grad_output * y).sum())", "the sign of the path over the sum"),
        (_SOFTMAX + "grad_output - (grad_output * y).sum()", "the factor in front is forgotten"),
        ("return grad_output * x.exp()", None),
        (_SOFTMAX + "y - grad_output", None),
    ],
    "puzzle-scan": [
        (
            _STATES + "da = torch.zeros_like(a)\nfor i in range(1, len(x)):\n    da[i] = grad_output[i] * y[i - 1]\n"
            "return da, grad_output",
            "nothing is carried on",
        ),
        (
            _BACK + "    carry = grad_output[i] + a[i] * carry\n    dx[i] = carry\n"
            "    if i:\n        da[i] = carry * y[i - 1]\nreturn da, dx",
            "the factor of the wrong step",
        ),
        (
            _BACK
            + "    carry = carry + grad_output[i]\n    dx[i] = carry\n    if i:\n        da[i] = carry * y[i - 1]\n"
            "    carry = carry * a[i]\nreturn da, 0 * dx",
            None,
        ),
        (
            _BACK + "    carry = carry + grad_output[i]\n    dx[i] = carry\n    da[i] = carry * y[i]\n"
            "    carry = carry * a[i]\nreturn da, dx",
            "the state of now for the one before",
        ),
        (
            _BACK + "    carry = carry + grad_output[i]\n    dx[i] = carry\n    da[i] = carry * y[i - 1]\n"
            "    carry = carry * a[i]\nreturn da, dx",
            None,
        ),
        (
            _BACK
            + "    carry = carry + grad_output[i]\n    dx[i] = carry\n    if i:\n        da[i] = carry * y[i - 1]\n"
            "return da, dx",
            "carried without a factor",
        ),
        (
            _BACK
            + "    carry = carry + grad_output[i]\n    dx[i] = carry\n    if i:\n        da[i] = carry * x[i - 1]\n"
            "    carry = carry * a[i]\nreturn da, dx",
            "the input for the state",
        ),
    ],
}
