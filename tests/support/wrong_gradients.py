"""Wrong answers that beginners give to the exercises of lessons 0 to 3: what they type, and which misconception it is.

None stands for a mistake that no hint of the exercise is about. What is typed replaces the solution in the lesson's
cell; for a value it is the value alone. `---` parts two places.
"""

from __future__ import annotations

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "slope-of-a-line": [
        ("29", "the value in place of the slope"),
        ("13", "the constant takes part"),
        ("20", "the slope times x"),
        ("40", "the slope of a parabola"),
        ("-4", None),
        ("0", None),
        ("9", None),
        ("1 / 4", None),
        ("29 / 5", None),
        ('"4"', None),
        ("[4]", None),
        ("4 * 5 + 9 - 9", "the slope times x"),
        ("4.01", None),
        ("lambda x: 4", None),
        ("True", None),
    ],
    "who-has-a-grad": [
        ('["w", "b", "a", "out"]', ".grad of a non-leaf"),
        ('["x", "w", "b"]', "every leaf has a .grad"),
        ('["x", "w", "b", "a", "out"]', "everything has a .grad"),
        ('["w"]', "one leaf gets all of the gradient"),
        ('["b"]', "one leaf gets all of the gradient"),
        ('["out"]', "only results have a .grad"),
        ('["x"]', None),
        ('["a", "out"]', "only results have a .grad"),
        ("[]", None),
        ('"w, b"', None),
        ('"wb"', None),
        ("[torch.tensor(3.0), torch.tensor(0.5)]", None),
        ("2", None),
        ("[2, 0.5]", None),
        ('["w b"]', None),
        ('["w", "b", "loss"]', None),
        ('["w.grad", "b.grad"]', None),
    ],
    "slope-by-hand": [
        ("return int(2 * (w * x + b - 7) * x)", None),
        ("return 2 * (w * x + b - 7)", "the local slope without the chain"),
        ("return x", "only the last step of the chain"),
        ("return 2 * (w * x + b - 7) + x", "slopes add along a path"),
        ("return (w * x + b - 7) * x", "the square's factor"),
        ("return 2 * (w * x + b - 7) * w", "the other leaf"),
        ("return (w * x + b - 7) * (w * x + b - 7)", None),
        ("return 2 * (7 - w * x - b) * x", None),
        ("return 2 * w * x + b - 7 * x", None),
        ("return 2 * (w * x + b) * x", None),
        ("return -2.0", None),
        ("print(2 * (w * x + b - 7) * x)", None),
        ("slope = 2 * (w * x + b - 7) * x", None),
        ("return 2 * (w * x + b - 7) * x * w", None),
        ('return "2 * (w * x + b - 7) * x"', None),
        ("return 2 * (w * x + b - 7)(x)", None),
        ("return lambda: 2 * (w * x + b - 7) * x", None),
        ("return 2 * error * x", None),
        ("return w.grad", None),
        ("h = 0.000001\nreturn (((w + h) * x + b - 7) ** 2 - (w * x + b - 7) ** 2) / h", "nudging"),
        ("h = 1e-5\nf = lambda w: (w * x + b - 7) ** 2\nreturn (f(w + h) - f(w - h)) / (2 * h)", "nudging"),
        ("loss = (w * x + b - 7) ** 2\nloss.backward()\nreturn w.grad", None),
        ("return 2 * (w * x + b - 7) * x, 2 * (w * x + b - 7)", None),
    ],
    "count-the-nodes": [
        ("5", "constants leave a node"),
        ("6", "leaves are operations"),
        ("1", "one line is one node"),
        ("7", "each use is a node"),
        ("3", None),
        ("2", None),
        ("8", None),
        ("0", None),
        ('"four"', None),
        ("[4]", None),
        ('["*", "+", "*", "-"]', None),
        ("4.5", None),
    ],
    "fork-in-the-middle": [
        ("36", "a forgotten fork"),
        ("3", "gradients overwrite instead of add"),
        ("18", "one arrow of two"),
        ("13", "the local slope without the chain"),
        ("42", "the value in place of the slope"),
        ("-39", None),
        ("26", None),
        ("21", None),
        ("12", None),
        ("0", None),
        ("(39, 26)", None),
        ('"2 * p + 1"', None),
    ],
    "maximum-routes": [
        ("return Value(abs(max(a.data, b.data)), [(a, float(a.data > b.data)), (b, float(b.data > a.data))])", None),
        ('return Value(max(a.data, b.data), [(a, 1.0), (b, 1.0)], "max")', "max distributes"),
        ('return Value(max(a.data, b.data), [(a, 0.5), (b, 0.5)], "max")', "max shares"),
        (
            "small, large = (a, b) if a.data < b.data else (b, a)\n"
            'return Value(large.data, [(small, 1.0), (large, 0.0)], "max")',
            "the smaller one gets the gradient",
        ),
        ('return Value(max(a.data, b.data), [(a, b.data), (b, a.data)], "max")', "max swaps"),
        (
            "if a.data > b.data:\n    return Value(a.data, [(a, a.data)])\nreturn Value(b.data, [(b, b.data)])",
            "the value in place of the slope",
        ),
        (
            'if a.data < b.data:\n    return Value(a.data, [(a, 1.0)], "max")\nreturn Value(b.data, [(b, 1.0)], "max")',
            "the smaller one",
        ),
        ("return max(a.data, b.data)", None),
        ("return a if a.data > b.data else b.data", None),
        ("return max(a, b)", None),
        ("return Value(max(a.data, b.data))", None),
        ("return Value(max(a, b), [(a, 1.0), (b, 0.0)])", None),
        ('return Value(max(a.data, b.data), [(a, 1.0), (b, 0.0)], "max")', None),
        ('return Value(max(a.data, b.data), [(a, 1.0), (b, -1.0)], "max")', None),
        ("return Value(max(a.data, b.data), [a, b])", None),
        ("return Value(max(a.data, b.data), [1.0, 0.0])", None),
        ("out = Value(max(a.data, b.data), [(a, 1.0 * (a.data > b.data)), (b, 1.0 * (b.data > a.data))])", None),
        ("return Value(2.0, [(a, 1.0), (b, 0.0)])", None),
        (
            "return Value(max(a.data, b.data), [(b, float(a.data > b.data)), (a, float(b.data > a.data))])",
            "the smaller one gets the gradient",
        ),
    ],
    "grad-at-a-fork": [
        ("5", "a forgotten fork"),
        ("4", "a forgotten product"),
        ("20", "slopes multiply where paths meet"),
        ("18", "the value in place of the slope"),
        ("2", None),
        ("-9", None),
        ("7", None),
        ("14", None),
        ("10", None),
        ("1", None),
        ('"b + 4"', None),
        ("[5, 4]", None),
        ("torch.tensor([9.0])", None),
    ],
    "three-backwards": [
        ("4", "gradients overwrite instead of add"),
        ("64", "gradients multiply"),
        ("24", "the value of w matters"),
        ("8", None),
        ("0", None),
        ("3", None),
        ("-12", None),
        ("1", None),
        ("[4, 4, 4]", None),
        ('"an error"', None),
        ("6", None),
        ("512", None),
    ],
    "bias-backward": [
        ("return grad_output, grad_output", "broadcasting needs no sum"),
        ("return grad_output, grad_output.sum(1)", "summed along the wrong dimension"),
        ("return grad_output, grad_output.sum(dim=1)", "summed along the wrong dimension"),
        ("return grad_output, grad_output.mean(0)", "the average of the copies"),
        ("return grad_output, grad_output[0]", "one copy of many"),
        ("return grad_output, grad_output.sum()", "summed to one number"),
        (
            "return torch.ones_like(rows), torch.full_like(bias, rows.shape[0])",
            "gradients that arrive are ignored",
        ),
        ("return grad_output.sum(0), grad_output", None),
        ("return grad_output", None),
        ("return grad_output.sum(0)", None),
        ("return grad_output * rows, grad_output.sum(0) * bias", None),
        ("return grad_output, grad_output.sum(0, keepdim=True)", None),
        ("return grad_output.sum(0), grad_output.sum(0)", None),
        ("return grad_output, None", None),
        ("return 1, 1", None),
        ("return rows, bias", None),
        ("rows.grad, bias.grad = grad_output, grad_output.sum(0)", None),
        ("return grad_output, -grad_output.sum(0)", None),
        ("return grad_output, grad_output[0] + grad_output[1]", None),
        ("return grad_output, grad_output.sum(0), None", None),
        ("return grad_output, grad_output.sum(2)", None),
        ("return grad_output, sum(grad_output) / len(rows)", "the average of the copies"),
        ("return grad_output.T, grad_output.sum(0)", None),
    ],
    "number-none-or-zero": [
        ('["number", "number", "None", "zero"]', ".grad of a non-leaf"),
        ('["number", "None", "zero", "zero"]', "no gradient is a gradient of zero"),
        ('["number", "None", "None", "None"]', "a gradient of zero is no gradient"),
        ('["number", "None", "None", "number"]', "a product with v moves with v"),
        ('["number", "number", "zero", "zero"]', None),
        ('["zero", "None", "None", "zero"]', None),
        ('["number", "None", "number", "zero"]', None),
        ('["number", "number", "number", "number"]', None),
        ('["None", "None", "None", "None"]', None),
        ('["number", "None", "None"]', None),
        ("[100, None, None, 0]", None),
        ('"number None None zero"', None),
        ('["zero", "None", "None", "number"]', None),
        ('["number", None, 0, 0.0]', None),
    ],
    "small-leaf": [
        ("return torch.tensor(numbers, requires_grad=True) * 0.1", "a result for a leaf"),
        (
            "leaf = torch.tensor(numbers, requires_grad=True) * 0.1\nleaf.retain_grad()\nreturn leaf",
            "retain_grad makes a leaf",
        ),
        ("return torch.tensor(numbers) * 0.1", "nobody asked for gradients"),
        ("return 0.1 * torch.tensor(numbers)", "nobody asked for gradients"),
        ("return torch.tensor(numbers * 0.1, requires_grad=True)", None),
        ("return torch.tensor(numbers, requires_grad=True)", None),
        ("return [number * 0.1 for number in numbers]", None),
        ("return torch.tensor([number * 0.1 for number in numbers])", "nobody asked for gradients"),
        ("leaf = (torch.tensor(numbers) * 0.1).requires_grad_()", None),
        ("return (torch.tensor(numbers) * 0.1).requires_grad", None),
        ("return torch.tensor([0.1, -0.2], requires_grad=True)", None),
        ("return (torch.tensor(numbers) * 0.1).detach()", "nobody asked for gradients"),
        ("leaf = torch.tensor(numbers, requires_grad=True)\nleaf *= 0.1\nreturn leaf", None),
        ("return torch.tensor(numbers, requires_grad=True).mul_(0.1)", None),
        ("return (torch.tensor(numbers) / 0.1).requires_grad_()", None),
        ("return (torch.tensor(numbers) + 0.1).requires_grad_()", None),
        ("return torch.tensor(numbers).requires_grad_() * 0.1", "a result for a leaf"),
        ("return torch.tensor(sum(numbers) * 0.1, requires_grad=True)", None),
    ],
    "three-steps": [
        (
            "for _ in range(3):\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\nreturn w",
            "zero_grad is forgotten",
        ),
        (
            "for _ in range(3):\n    loss_of(w).backward()\n    w.grad.zero_()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\nreturn w",
            "zero_grad comes too late",
        ),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w += 0.1 * w.grad\nreturn w",
            "uphill",
        ),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    w = w - 0.1 * w.grad\nreturn w",
            "another tensor in place of the leaf",
        ),
        (
            "for _ in range(3):\n    loss_of(w).backward()\n    w = w - 0.1 * w.grad\nreturn w",
            "another tensor in place of the leaf",
        ),
        (
            "for _ in range(3):\n    loss_of(w).backward()\n    with torch.no_grad():\n        w = w - 0.1 * w.grad\n"
            "return w",
            "another tensor in place of the leaf",
        ),
        (
            "for _ in range(3):\n    loss_of(w).backward()\n"
            "    w = (w - 0.1 * w.grad).detach().requires_grad_()\nreturn w",
            "another tensor in place of the leaf",
        ),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    w -= 0.1 * w.grad\nreturn w",
            "a leaf is written while the engine records",
        ),
        (
            "w.grad = None\nloss_of(w).backward()\nwith torch.no_grad():\n    w -= 0.1 * w.grad\nreturn w",
            None,
        ),
        (
            "loss = loss_of(w)\nfor _ in range(3):\n    w.grad = None\n    loss.backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\nreturn w",
            None,
        ),
        (
            "for _ in range(2):\n    w.grad = None\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\nreturn w",
            None,
        ),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= w.grad\nreturn w",
            None,
        ),
        (
            "for _ in range(3):\n    w.grad.zero_()\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\nreturn w",
            None,
        ),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad",
            None,
        ),
        (
            "for _ in range(3):\n    with torch.no_grad():\n        w.grad = None\n        loss_of(w).backward()\n"
            "        w -= 0.1 * w.grad\nreturn w",
            None,
        ),
        (
            "for _ in range(3):\n    w.zero_grad()\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\nreturn w",
            None,
        ),
        ("with torch.no_grad():\n    w -= 0.1 * w.grad\nreturn w", None),
        ("for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\nreturn w", "no step is made"),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w - 0.1 * w.grad\nreturn w",
            "no step is made",
        ),
        (
            "for _ in range(3):\n    w.grad = None\n    loss_of(w).backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad\n    return w",
            None,
        ),
    ],
    "batch-in-pieces": [
        (
            "for i in (0, 2, 4):\n    loss = ((w * points[i : i + 2] - target[i : i + 2]) ** 2).mean() / 3\n"
            "    loss.backward(retain_graph=True)\nreturn w.grad",
            "all points at one time",
        ),
        (
            "losses = [((w * points[i : i + 2] - target[i : i + 2]) ** 2).mean() / 3 for i in (0, 2, 4)]\n"
            "for loss in losses:\n    loss.backward()\nreturn w.grad",
            "all points at one time",
        ),
        (
            "w.grad = None\nfor i in (0, 2, 4):\n"
            "    ((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean().backward()\nreturn w.grad",
            "the mean of each piece",
        ),
        (
            "for i in (0, 2, 4):\n    w.grad = None\n"
            "    (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3).backward()\nreturn w.grad",
            "emptied between the pieces",
        ),
        (
            "for i in (0, 2, 4):\n"
            "    (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 6).backward()\nreturn w.grad",
            "divided twice",
        ),
        (
            "for i in (0, 2, 4):\n"
            "    (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 2).backward()\nreturn w.grad",
            "divided by the size of a piece",
        ),
        ("w.grad = None\n((w * points - target) ** 2).mean().backward()\nreturn w.grad", "all points at one time"),
        (
            "total = 0\nfor i in (0, 2, 4):\n"
            "    total = total + ((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3\n"
            "total.backward()\nreturn w.grad",
            "all points at one time",
        ),
        (
            "for _ in range(3):\n    (((w * points - target) ** 2).mean() / 3).backward()\nreturn w.grad",
            "all points at one time",
        ),
        ("return torch.autograd.grad(((w * points - target) ** 2).mean(), w)[0]", "all points at one time"),
        (
            "for i in range(3):\n"
            "    (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3).backward()\nreturn w.grad",
            None,
        ),
        (
            "for i in (0, 2, 4):\n    (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3).backward()\n",
            None,
        ),
        (
            "for i in (0, 2, 4):\n    (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3).backward()\nreturn w",
            None,
        ),
        (
            "loss = 0\nfor i in (0, 2, 4):\n"
            "    loss = loss + ((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3\n"
            "    loss.backward()\nreturn w.grad",
            None,
        ),
        (
            "for i in (0, 2, 4):\n    with torch.no_grad():\n"
            "        (((w * points[i:i + 2] - target[i:i + 2]) ** 2).mean() / 3).backward()\nreturn w.grad",
            None,
        ),
        (
            "for i in (0, 2, 4):\n    ((w * points[i:i + 2] - target[i:i + 2]) ** 2 / 3).backward()\nreturn w.grad",
            None,
        ),
        (
            "for i in (0, 2, 4):\n    (((w * points[i:i + 2] - target) ** 2).mean() / 3).backward()\nreturn w.grad",
            None,
        ),
        ("return 2 * ((w * points - target) * points).mean()", None),
        (
            "for i in (0, 2, 4):\n"
            "    (((w * points[i:i + 1] - target[i:i + 1]) ** 2).mean() / 3).backward()\nreturn w.grad",
            None,
        ),
        ("return -2.0", None),
    ],
}
