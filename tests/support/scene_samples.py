"""Storyboards to draw in tests: a custom Function, a small loss and a deep network, as a view makes them."""

from __future__ import annotations

from workbench.pictures.scene.model import Arrow, Box, Detail, Scene, StoryStep
from workbench.pictures.scene.storyboard import Storyboard

SQUARE = """class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output"""


def _scene(title: str, boxes: list[Box], arrows: list[tuple[str, str, str]]) -> Scene:
    made = [Arrow(f"{source}>{target}", source, target, kind, state="future") for source, target, kind in arrows]
    for box in boxes:
        box.state = "future"
    return Scene(title, {box.id: box for box in boxes}, {arrow.id: arrow for arrow in made})


def _step(phase: str, caption: str, focus: str, line: str, boxes: dict, arrows: dict) -> StoryStep:
    cursor = {"file": "cell", "line": 3, "text": line}
    states = {id: {"state": change} if isinstance(change, str) else change for id, change in boxes.items()}
    labels = {
        id: {"state": change} if isinstance(change, str) else {"state": change[0], "label": change[1]}
        for id, change in arrows.items()
    }
    return StoryStep(caption, phase, cursor, focus, states, labels)


def square() -> Storyboard:
    """y = Square.apply(x): its graph, then its backward."""
    code = (Detail("forward and backward", "code", SQUARE),)
    value = {"name": "x", "shape": "(3,)", "dtype": "float64", "text": "[1, 2, 3]", "norm": "3.742"}
    scene = _scene(
        "y = Square.apply(x)",
        [
            Box("x", "leaf", "x", ("float64 (3,)",)),
            Box("n1", "function", "SquareBackward", ("y = x * x",), details=code),
            Box("s1", "saved", "x", ("float64 (3,)", "[1, 2, 3]"), holder="n1", details=(Detail("x", "value", value),)),
            Box("y", "output", "y", ("float64 (3,)", "[1, 4, 9]")),
        ],
        [("x", "n1", "edge"), ("n1", "y", "edge")],
    )
    forward, backward, line = "forward", "backward", "y.backward(torch.ones(3))"
    grown = ("float64 (3,)", "grad [2, 4, 6]")
    return Storyboard(
        scene,
        [
            _step(
                forward,
                "Square.apply(x) makes y and keeps x",
                "n1",
                "y = Square.apply(x)",
                {"x": "idle", "n1": "idle", "s1": "idle", "y": "idle"},
                {"x>n1": ("idle", "[1, 2, 3]"), "n1>y": "idle"},
            ),
            _step(
                backward,
                "backward() starts at y with the gradient [1, 1, 1]",
                "y",
                line,
                {"y": "done", "n1": "ready"},
                {"n1>y": ("flowing", "[1, 1, 1]\nnorm 1.732")},
            ),
            _step(
                backward,
                "SquareBackward runs and lets its saved x go",
                "n1",
                line,
                {"n1": "running", "s1": "freed", "x": "ready"},
                {"n1>y": "done", "x>n1": ("flowing", "[2, 4, 6]\nnorm 7.483")},
            ),
            _step(
                backward,
                "x.grad is now [2, 4, 6]",
                "x",
                line,
                {"n1": "done", "x": {"state": "running", "lines": grown}},
                {"x>n1": "done"},
            ),
        ],
    )


def loss() -> Storyboard:
    """L = (square(x) * w + b * 2).sum(): five forward steps, nine backward ones."""
    scene = _scene(
        "L = (square(x) * w + b * 2).sum()",
        [
            Box("x", "leaf", "x", ("float64 (3,)",)),
            Box("w", "leaf", "w", ("float64 (3,)",)),
            Box("b", "leaf", "b", ("float64 ()",)),
            Box("c", "constant", "2", ("int64 ()",)),
            Box("n1", "function", "SquareBackward", ("x * x",)),
            Box("s1", "saved", "x", ("float64 (3,)", "[1, 2, 3]"), holder="n1"),
            Box("n2", "op", "MulBackward0", ("self * other",)),
            Box("s2", "saved", "self", ("float64 (3,)", "[1, 4, 9]"), holder="n2"),
            Box("s3", "saved", "other = w", ("float64 (3,)", "[0.5, -1, 2]"), holder="n2"),
            Box("n3", "op", "MulBackward0", ("self * other",)),
            Box("n4", "op", "AddBackward0", ("self + other",)),
            Box("n5", "op", "SumBackward0", ("self.sum()",)),
            Box("L", "output", "L", ("float64 ()", "26.5")),
        ],
        [
            ("x", "n1", "edge"),
            ("n1", "n2", "edge"),
            ("w", "n2", "edge"),
            ("b", "n3", "edge"),
            ("c", "n3", "constant"),
            ("n2", "n4", "edge"),
            ("n3", "n4", "edge"),
            ("n4", "n5", "edge"),
            ("n5", "L", "edge"),
        ],
    )
    f, b, call = "forward", "backward", "L.backward()"
    steps = [
        _step(f, "square(x) makes n1", "n1", "s = square(x)", {"x": "idle", "n1": "idle", "s1": "idle"},
              {"x>n1": ("idle", "[1, 2, 3]")}),
        _step(f, "s * w", "n2", "y = s * w", {"w": "idle", "n2": "idle", "s2": "idle", "s3": "idle"},
              {"n1>n2": ("idle", "[1, 4, 9]"), "w>n2": ("idle", "[0.5, -1, 2]")}),
        _step(f, "b * 2", "n3", "y = y + b * 2", {"b": "idle", "c": "idle", "n3": "idle"},
              {"b>n3": ("idle", "3"), "c>n3": ("idle", "2")}),
        _step(f, "y + b * 2", "n4", "y = y + b * 2", {"n4": "idle"},
              {"n2>n4": ("idle", "[0.5, -4, 18]"), "n3>n4": ("idle", "6")}),
        _step(f, "y.sum()", "n5", "L = y.sum()", {"n5": "idle", "L": "idle"},
              {"n4>n5": ("idle", "[6.5, 2, 24]"), "n5>L": "idle"}),
        _step(b, "L.backward() starts with the gradient 1", "L", call, {"L": "done", "n5": "ready"},
              {"n5>L": ("flowing", "1")}),
        _step(b, "SumBackward0 runs", "n5", call, {"n5": "running", "n4": "ready"},
              {"n5>L": "done", "n4>n5": ("flowing", "[1, 1, 1]\nnorm 1.732")}),
        _step(b, "AddBackward0 runs", "n4", call,
              {"n5": "done", "n4": "running", "n2": "pending", "n3": "ready"},
              {"n4>n5": "done", "n2>n4": ("flowing", "[1, 1, 1]\nnorm 1.732"), "n3>n4": ("flowing", "3")}),
        _step(b, "MulBackward0 runs", "n3", call,
              {"n4": "done", "n3": "running", "b": "ready", "n2": "ready"},
              {"n2>n4": "done", "n3>n4": "done", "b>n3": ("flowing", "6")}),
        _step(b, "b.grad is now 6", "b", call,
              {"n3": "done", "b": {"state": "running", "lines": ("float64 ()", "grad 6")}}, {"b>n3": "done"}),
        _step(b, "MulBackward0 runs and lets its saved tensors go", "n2", call,
              {"b": "done", "n2": "running", "s2": "freed", "s3": "freed", "w": "ready", "n1": "ready"},
              {"n1>n2": ("flowing", "[0.5, -1, 2]\nnorm 2.291"),
               "w>n2": ("flowing", "[1, 4, 9]\nnorm 9.899")}),
        _step(b, "w.grad is now [1, 4, 9]", "w", call,
              {"n2": "done", "w": {"state": "running", "lines": ("float64 (3,)", "grad [1, 4, 9]")}},
              {"n1>n2": "done", "w>n2": "done"}),
        _step(b, "SquareBackward runs and lets its saved x go", "n1", call,
              {"w": "done", "n1": "running", "s1": "freed", "x": "ready"},
              {"x>n1": ("flowing", "[1, -4, 12]\nnorm 12.69")}),
        _step(b, "x.grad is now [1, -4, 12]; backward() is over", "x", call,
              {"n1": "done", "x": {"state": "done", "lines": ("float64 (3,)", "grad [1, -4, 12]")}},
              {"x>n1": "done"}),
    ]  # fmt: skip
    return Storyboard(scene, steps)


def deep(layers: int = 25) -> Storyboard:
    """h = tanh(h * w_i + h_before) again and again: four boxes a layer, with arrows that skip one."""
    boxes, arrows, steps, below, skipped = [Box("h0", "leaf", "h0")], [], [], "h0", "h0"
    for n in range(1, layers + 1):
        names = [f"w{n}", f"mul{n}", f"add{n}", f"tanh{n}"]
        boxes += [
            Box(names[0], "leaf", names[0]),
            Box(names[1], "op", "MulBackward0"),
            Box(names[2], "op", "AddBackward0"),
            Box(names[3], "op", "TanhBackward0"),
        ]
        new = [(below, names[1]), (names[0], names[1]), (names[1], names[2]), (skipped, names[2])]
        new.append((names[2], names[3]))
        arrows += [(source, target, "edge") for source, target in new]
        shown = dict.fromkeys([*names, "h0"], "idle")
        step = _step("forward", f"layer {n}", names[3], "h = layer(h)", shown, {})
        step.arrows = {f"{source}>{target}": {"state": "idle"} for source, target in new}
        steps.append(step)
        below, skipped = names[3], below
    return Storyboard(_scene(f"{layers} layers", boxes, arrows), steps)
