"""Draw the figures of lessons 14 and 17 to 23: `python assets/lesson_figures.py` attaches each to its lesson's text.

Each figure shows the idea of one section, before the section's code. It has the colors of the players. A figure is a
function here, whose name is its lesson and section; the text of the lesson says where it stands and what it shows.
JupyterLab shows no attached SVG, so it's a PNG.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from PIL import Image  # which matplotlib needs

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
ATTACHED = re.compile(r"!\[([^\]]+)\]\(attachment:(figure-(\d\d)-(\d)\.png)\)")
INK, MUTED, RULE, BACK = "#16202e", "#55606f", "#7b8796", "#d55e00"
KINDS = {  # fill, edge and letters, as in the players
    "op": ("#eff2f6", "#7b8796", INK),
    "leaf": ("#dff3eb", "#00855f", "#0a2f24"),
    "saved": ("#fff4d6", "#b57f00", "#3d2c00"),
    "own": ("#0069a6", "#00446d", "white"),
    "tangent": ("#efecfb", "#5b4bb5", "#221a52"),
    "plain": ("white", "#7b8796", INK),
    "gradient": ("#fbe0cb", "#b84e00", "#5c2700"),
    "wrong": ("#f3cfe0", "#9c1458", "#5c0a33"),
}
Point = tuple[float, float]
LOOK = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "mathtext.fontset": "stix",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": RULE,
    "text.color": INK,
}


def canvas(wide: float, high: float) -> Axes:
    """An empty figure, measured in inches from its lower left corner."""
    axes = plt.figure(figsize=(wide, high)).add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(0, high))
    axes.axis("off")
    return axes


def box(axes: Axes, x: float, y: float, text: str, kind: str = "op", wide: float = 1.1, high: float = 0.42) -> None:
    """A box around the point (x, y)."""
    fill, edge, ink = KINDS[kind]
    style = "round,pad=0,rounding_size=0.18" if kind == "leaf" else "round,pad=0,rounding_size=0.05"
    place = x - wide / 2, y - high / 2
    axes.add_patch(FancyBboxPatch(place, wide, high, boxstyle=style, facecolor=fill, edgecolor=edge, linewidth=1.2))
    axes.text(x, y, text, ha="center", va="center", color=ink)


def arrow(axes: Axes, start: Point, end: Point, text: str = "", color: str = RULE, bend: float = 0.0) -> None:
    """An arrow, with a text beside its middle."""
    bow = f"arc3,rad={bend}"
    made = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=12, connectionstyle=bow, color=color, lw=1.5)
    axes.add_patch(made)
    if text:
        (a, b), (c, d) = start, end
        x, y = (a + c) / 2 + bend * (d - b) / 2, (b + d) / 2 - bend * (c - a) / 2
        axes.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            color=color if color != RULE else MUTED,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )


def table(
    axes: Axes,
    x: float,
    y: float,
    rows: Sequence[Sequence[object]],
    title: str = "",
    marked: dict[Point, str] | None = None,
    cell: Point = (0.46, 0.36),
    kind: str = "plain",
) -> None:
    """A table whose upper left corner is (x, y); `marked` gives single cells (row, column) another kind."""
    wide, high = cell
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            fill, edge, ink = KINDS[(marked or {}).get((i, j), kind)]
            corner = x + j * wide, y - (i + 1) * high
            axes.add_patch(Rectangle(corner, wide, high, facecolor=fill, edgecolor=edge, linewidth=0.9))
            axes.text(corner[0] + wide / 2, corner[1] + high / 2, str(value), ha="center", va="center", color=ink)
    if title:
        axes.text(x + len(rows[0]) * wide / 2, y + 0.1, title, ha="center", va="bottom")


def say(axes: Axes, x: float, y: float, text: str, color: str = MUTED, ha: str = "center", size: float = 10) -> None:
    axes.text(x, y, text, ha=ha, va="center", color=color, fontsize=size)


def plots(count: int, high: float = 2.5, wide: float = 7.4) -> list[Axes]:
    """Places for curves beside each other."""
    _, places = plt.subplots(1, count, figsize=(wide, high), layout="constrained", squeeze=False)
    return list(places[0])


# Lesson 14: matrices and partial derivatives.


def figure_14_1() -> None:
    (axes,) = plots(1, 2.3, 5.6)
    w, b = np.meshgrid(np.linspace(-0.5, 3, 120), np.linspace(-2, 4, 120))
    axes.contour(w, b, (2 * w + b - 5) ** 2, levels=[0.5, 2, 5, 10, 18, 28, 40], colors="#96c4e6", linewidths=1)
    axes.annotate("", (1.9, 0), (1, 0), arrowprops={"arrowstyle": "-|>", "color": BACK, "lw": 2})
    axes.annotate("", (1, 1.6), (1, 0), arrowprops={"arrowstyle": "-|>", "color": "#5b4bb5", "lw": 2})
    axes.plot(1, 0, "o", color=INK)
    axes.text(1.95, 0, r"only $w$ moves: $\partial\mathrm{loss}/\partial w$", color="#a84700", va="center")
    axes.text(1.06, 1.75, r"only $b$ moves: $\partial\mathrm{loss}/\partial b$", color="#4a4080", va="center")
    axes.set(xlabel="w", ylabel="b", title="lines of equal loss")


def figure_14_2() -> None:
    axes = canvas(6.4, 2.0)
    names = [[rf"$\partial y_{i}/\partial x_{j}$" for j in range(2)] for i in range(3)]
    table(axes, 2.3, 1.5, names, cell=(1.05, 0.4), marked={(1, 0): "gradient", (1, 1): "gradient"})
    for j in range(2):
        say(axes, 2.82 + 1.05 * j, 1.68, f"x[{j}]", INK)
    for i in range(3):
        say(axes, 2.2, 1.3 - 0.4 * i, f"y[{i}]", INK, "right")
    say(axes, 4.55, 0.9, "a row: one result,\nand all its slopes", "#a84700", "left")
    say(axes, 2.82, 0.13, "a column: one input, nudged alone")


def figure_14_3() -> None:
    axes = canvas(7.2, 1.85)
    table(axes, 0.3, 1.15, [["$v_0$", "$v_1$", "$v_2$"]], "v: one number a result", kind="gradient", cell=(0.55, 0.4))
    say(axes, 2.2, 0.9, "@", INK, size=13)
    rows = [[f"$J_{{{i}{j}}}$" for j in range(2)] for i in range(3)]
    table(axes, 2.5, 1.5, rows, "J", cell=(0.6, 0.4))
    say(axes, 4.0, 0.9, "=", INK, size=13)
    table(axes, 4.3, 1.1, [["·", "·"]], "x.grad", kind="gradient", cell=(0.6, 0.4))
    say(axes, 4.0, 0.35, "row 0 times $v_0$, plus row 1 times $v_1$, …", ha="left")


def figure_14_4() -> None:
    axes = canvas(7.4, 2.9)
    for y, first, a, second, b, third, c in (
        (2.55, "X (n, k)", (2, 3), "W (k, m)", (3, 2), "Y (n, m)", (2, 2)),
        (1.15, "X.T (k, n)", (3, 2), "G (n, m)", (2, 2), "as W: (k, m)", (3, 2)),
    ):
        back = y < 2
        for x, name, (rows, columns), kind in (
            (0.4, first, a, "plain"),
            (2.6, second, b, "gradient" if back else "leaf"),
            (4.8, third, c, "plain"),
        ):
            row = {(0 if x == 0.4 else i, j if x == 0.4 else 1): "saved" for i in range(rows) for j in range(columns)}
            one = {(0, 1): "saved"} if x == 4.8 else row
            kind = "gradient" if back and x == 4.8 else kind
            table(axes, x, y, [[""] * columns for _ in range(rows)], name, one, (0.4, 0.28), kind)
        say(axes, 2.1, y - 0.4, "@", INK, size=13)
        say(axes, 4.2, y - 0.4, "=", INK, size=13)
        say(axes, 6.1, y - 0.4, "forward" if not back else "backward", ha="left")


def figure_14_5() -> None:
    axes = canvas(7.2, 1.7)
    table(axes, 0.3, 1.0, [["b0", "b1", "b2"]], "b", kind="leaf")
    arrow(axes, (1.8, 0.82), (2.6, 0.82), "repeat")
    table(axes, 2.75, 1.36, [["b0", "b1", "b2"]] * 3, "in Y + b", kind="leaf")
    arrow(axes, (5.1, 0.82), (4.25, 0.82), color=BACK)
    say(axes, 5.2, 0.82, "backward: the gradients\nof the three copies add,\ncolumn by column", "#a84700", "left")


def figure_14_6() -> None:
    left, middle, right = plots(3, 2.0)
    z = np.array([1.0, 2.0, 0.0])
    p = np.exp(z) / np.exp(z).sum()
    titles = ("scores z", "probabilities p", "gradient: p, minus 1 at t = 0")
    for axes, values, title in zip((left, middle, right), (z, p, p - [1, 0, 0]), titles, strict=True):
        axes.bar(range(3), values, color=["#d55e00" if value < 0 else "#3d8fc4" for value in values])
        axes.axhline(0, color=RULE, lw=0.8)
        axes.set_title(title, fontsize=10)
        axes.set(xticks=range(3), xlabel="class")
        axes.bar_label(axes.containers[0], fmt="%.2g", fontsize=9)
        axes.margins(y=0.25)


def figure_14_7() -> None:
    axes = canvas(7.4, 1.9)
    steps = ["table", "e", "h", "t", "centered", "normed", "scores", "loss"]
    places = [0.5, 1.35, 2.1, 2.85, 3.85, 5.0, 6.0, 6.9]
    for name, x in zip(steps, places, strict=True):
        box(axes, x, 0.9, name, "leaf" if name == "table" else "op", 0.86 if len(name) > 6 else 0.62)
    for a, b in zip(places, places[1:], strict=False):
        arrow(axes, (a + (0.43 if a == 3.85 else 0.31), 0.9), (b - (0.43 if b == 3.85 else 0.31), 0.9))
    box(axes, 4.4, 1.55, "std", "op", 0.62)
    arrow(axes, (3.95, 1.11), (4.2, 1.34))
    arrow(axes, (4.6, 1.34), (4.9, 1.11))
    box(axes, 3.35, 0.22, "mean", "op", 0.7)
    arrow(axes, (2.9, 0.69), (3.15, 0.43))
    arrow(axes, (3.55, 0.43), (3.8, 0.69))
    for name, x, to in (("U, bias", 2.1, 2.1), ("V", 6.0, 6.0)):
        box(axes, x, 1.6, name, "leaf", 0.8 if len(name) > 1 else 0.5)
        arrow(axes, (x, 1.39), (to, 1.11))


# Lesson 17: solvers and estimators.


def figure_17_1() -> None:
    (axes,) = plots(1, 2.5, 5.2)
    x = np.arctanh(0.8) - 0.8
    z = np.linspace(0, 1, 100)
    axes.plot(z, np.tanh(z + x), color="#0069a6", label="tanh(w·z + x)")
    axes.plot(z, z, color=RULE, ls="--", label="z")
    now = 0.0
    for _ in range(6):
        new = np.tanh(now + x)
        axes.plot([now, now, new], [now, new, new], color=BACK, lw=1.3)
        now = new
    axes.plot(0.8, 0.8, "o", color=INK)
    axes.annotate("the fixed point", (0.8, 0.8), (0.45, 0.93), arrowprops={"arrowstyle": "-", "color": MUTED})
    axes.set(xlabel="z that goes in", ylabel="z that comes out")
    axes.legend(frameon=False, loc="lower right")


def figure_17_2() -> None:
    (axes,) = plots(1, 2.5, 5.2)
    x, nudge, z = np.arctanh(0.8) - 0.8, 0.12, np.linspace(0.4, 1.1, 100)
    ends = []
    for shift, color, name in ((0.0, "#0069a6", "with x"), (nudge, BACK, "with x + dx")):
        axes.plot(z, np.tanh(z + x + shift), color=color, label=name)
        end = 0.5
        for _ in range(200):
            end = np.tanh(end + x + shift)
        axes.plot(end, end, "o", color=color)
        axes.plot([end, end], [0.4, end], ":", color=color)
        ends.append(end)
    axes.plot(z, z, color=RULE, ls="--")
    axes.annotate("", (ends[1], 0.47), (ends[0], 0.47), arrowprops={"arrowstyle": "-|>", "color": INK})
    axes.text(ends[1] + 0.01, 0.47, "dz", va="center")
    axes.set(xlabel="z", ylim=(0.4, 1.05), ylabel="tanh(w·z + x)")
    axes.legend(frameon=False, loc="upper left")


def figure_17_3() -> None:
    (axes,) = plots(1, 2.5, 5.6)
    t, y = np.meshgrid(np.linspace(0, 4, 17), np.linspace(0.1, 1.1, 9))
    speed = y * (1 - y)
    axes.quiver(t, y, np.ones_like(t), speed, angles="xy", color="#a7b0bc", width=0.003, scale=30)
    fine = np.linspace(0, 4, 100)
    axes.plot(fine, 1 / (1 + np.exp(-fine)), color="#0069a6", label="exact")
    steps = [0.5]
    for _ in range(4):
        steps.append(steps[-1] + steps[-1] * (1 - steps[-1]))
    axes.plot(range(5), steps, "o-", color=BACK, label="Euler, h = 1")
    axes.set(xlabel="time t", ylabel="y", title="a little arrow: how fast y changes there")
    axes.legend(frameon=False, loc="lower right")


def figure_17_4() -> None:
    left, right = plots(2, 2.4)
    fine = np.linspace(0, 4, 100)
    for k, style in ((1.0, "-"), (1.3, "--")):
        right.plot(fine, 1 / (1 + np.exp(-k * fine)), color="#0069a6", ls=style, label=f"k = {k:g}")
        steps = [0.5]
        for _ in range(4):
            steps.append(steps[-1] + k * steps[-1] * (1 - steps[-1]))
        left.plot(range(5), steps, color=BACK, ls=style, marker="o", label=f"k = {k:g}")
    left.set_title("through the steps: how the steps' end moves", fontsize=10)
    right.set_title("by the adjoint: how the solution's end moves", fontsize=10)
    for axes in (left, right):
        axes.set(xlabel="time t", ylabel="y", ylim=(0.45, 1.1))
        axes.legend(frameon=False, loc="lower right")


def figure_17_5() -> None:
    (axes,) = plots(1, 2.4, 5.4)
    p = np.linspace(0, 1, 50)
    axes.plot(p, 4 * p + 9 * (1 - p), color="#0069a6", label="mean of the loss")
    axes.plot([0.8, 0.8], [9, 4], "o", color=BACK, ls="none", label="what one draw can give")
    axes.plot(0.8, 5, "o", color=INK)
    axes.text(0.82, 9, "b = 0", va="center")
    axes.text(0.82, 4, "b = 1", va="center")
    axes.text(0.78, 4.6, "the mean at p = 0.8", ha="right", va="center")
    axes.set(xlabel="p, the probability of b = 1", ylabel="loss", ylim=(3, 10))
    axes.legend(frameon=False, loc="upper center")


# Lesson 18: cost and curvature.


def figure_18_1() -> None:
    axes = canvas(7.2, 1.75)
    for piece, x in ((0, 1.85), (1, 4.85)):
        axes.add_patch(Rectangle((x - 1.0, 0.55), 2.7, 0.75, fill=False, edgecolor=RULE, ls="--"))
        say(axes, x + 0.35, 1.5, f"piece {piece + 1}: its input is kept")
    for number in range(6):
        x = 1.25 + number * 1.0
        box(axes, x, 0.92, "sin", "op", 0.5, 0.36)
        arrow(axes, (x - 0.75, 0.92), (x - 0.25, 0.92))
        kept = number % 3 == 0
        axes.plot(
            x - 0.52,
            0.92,
            "s",
            ms=13,
            color=KINDS["saved"][0] if kept else "white",
            mec=KINDS["saved"][1] if kept else "#a7b0bc",
            mew=1.4,
            ls="none",
        )
    say(axes, 3.6, 0.25, "yellow: kept in forward    white: computed again in backward, one piece at a time")


def figure_18_2() -> None:
    (axes,) = plots(1, 2.6, 5.4)
    H = np.array([[1.0, 0.4], [0.4, 2.0]])
    a, b = np.meshgrid(np.linspace(-1, 5, 80), np.linspace(-0.6, 2.6, 80))
    axes.contour(a, b, (H[0, 0] * a * a + 2 * H[0, 1] * a * b + H[1, 1] * b * b) / 2, 9, colors="#96c4e6", linewidths=1)
    start, v = np.array([0.6, 0.3]), np.array([1.1, 0.5])
    named = (start, "gradient at w", INK, (-0.35, 0.2)), (start + v, "gradient at w + v", "#5b4bb5", (0.1, 0.0))
    for place, name, color, aside in named:
        g = 0.5 * H @ place
        axes.annotate("", place + g, place, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.8})
        axes.text(*(place + g + aside), name, color=color)
    axes.annotate("", start + v, start, arrowprops={"arrowstyle": "-|>", "color": MUTED, "ls": "--"})
    axes.text(1.2, 0.3, "v", color=MUTED)
    axes.set(xlabel="w[0]", ylabel="w[1]", title="H @ v: how much the gradient changes")


def figure_18_3() -> None:
    axes = canvas(7.2, 1.8)
    say(axes, 1.0, 1.62, "delta of sample 0")
    table(axes, 0.8, 1.3, [["6"], ["8"]], kind="gradient", cell=(0.5, 0.4))
    say(axes, 1.6, 0.9, "×", INK, size=13)
    table(axes, 1.9, 1.1, [["1", "0"]], "its input a", kind="saved", cell=(0.5, 0.4))
    say(axes, 3.2, 0.9, "=", INK, size=13)
    table(axes, 3.55, 1.3, [["6 · 1", "6 · 0"], ["8 · 1", "8 · 0"]], cell=(0.8, 0.4))
    say(axes, 4.35, 1.6, "gradient of w, from sample 0 alone", INK)
    say(axes, 3.6, 0.2, "The gradient of the whole batch is the sum of such tables, one for each sample.")


def figure_18_4() -> None:
    axes = canvas(7.0, 1.7)
    table(axes, 0.6, 1.1, [["1", "2"]], "h, before", cell=(0.55, 0.42))
    arrow(axes, (1.95, 0.9), (3.2, 0.9), "x.mul_(2)")
    table(axes, 3.4, 1.1, [["2", "4"]], "h, after", cell=(0.55, 0.42), kind="saved")
    say(axes, 4.75, 0.9, "The memory is the same,\nthe numbers are new.\nWhich history has h now?", INK, "left")
    say(axes, 2.6, 0.3, "one memory, written over")


# Lesson 19: values and an order.


def figure_19_1() -> None:
    axes = canvas(4.6, 2.0)
    for name, x, y, kind in (
        ("a", 0.5, 1.0, "leaf"),
        ("p", 1.7, 1.0, "op"),
        ("u", 2.9, 1.6, "op"),
        ("v", 2.9, 0.4, "op"),
        ("y", 4.1, 1.0, "op"),
    ):
        box(axes, x, y, name, kind, 0.55)
    arrow(axes, (0.78, 1.0), (1.42, 1.0), "· 2")
    arrow(axes, (1.95, 1.15), (2.62, 1.55), "· 3", BACK)
    arrow(axes, (1.95, 0.85), (2.62, 0.45), "· 4", "#5b4bb5")
    arrow(axes, (3.18, 1.55), (3.85, 1.15), "+", BACK)
    arrow(axes, (3.18, 0.45), (3.85, 0.85), "+", "#5b4bb5")


def figure_19_2() -> None:
    axes = canvas(7.2, 2.1)
    say(axes, 1.6, 1.95, "values: numbers")
    say(axes, 5.2, 1.95, "nodes: everything backward needs")
    for text, y, kind in (("y = 7.0", 1.5, "plain"), ("w = 3.5", 0.5, "leaf")):
        box(axes, 1.6, y, text, kind, 1.2)
    for text, y, kind in (("MulBackward0\nedges, send", 1.5, "op"), ("AccumulateGrad", 0.5, "leaf")):
        box(axes, 5.2, y, text, kind, 1.9, 0.56)
    arrow(axes, (2.2, 1.5), (4.25, 1.5), "grad_fn")
    arrow(axes, (5.2, 1.22), (5.2, 0.78), "edges", BACK)
    arrow(axes, (4.25, 0.5), (2.2, 0.5), "adds into w.grad", BACK)
    say(axes, 1.6, 1.05, "y = w * 2.0", INK)


def figure_19_3() -> None:
    axes = canvas(7.2, 1.9)
    box(axes, 0.9, 1.4, "w: a leaf", "leaf", 1.2)
    box(axes, 0.9, 0.5, "2.0: a number", "plain", 1.3)
    box(axes, 3.3, 0.95, "record", "own", 1.1)
    arrow(axes, (1.55, 1.4), (2.75, 1.05))
    arrow(axes, (1.6, 0.5), (2.75, 0.85))
    box(axes, 5.9, 1.4, "result: a Value", "plain", 1.6)
    box(axes, 5.9, 0.5, "its node: edges\n(w's node, None)", "op", 1.7, 0.56)
    arrow(axes, (3.85, 1.05), (5.08, 1.4))
    arrow(axes, (5.9, 1.18), (5.9, 0.8), "grad_fn")


def figure_19_4() -> None:
    axes = canvas(6.4, 2.2)
    for text, x, y, kind, count in (
        ("y = q + c", 0.9, 1.1, "op", 0),
        ("q = c * b", 2.8, 1.7, "op", 1),
        ("c = a + b", 4.3, 0.8, "op", 2),
        ("b", 5.8, 1.7, "leaf", 2),
        ("a", 5.8, 0.4, "leaf", 1),
    ):
        box(axes, x, y, text, kind, 1.05 if kind == "op" else 0.5)
        axes.text(
            x,
            y + 0.33,
            str(count),
            ha="center",
            va="center",
            color="white",
            fontsize=9,
            bbox={"boxstyle": "circle,pad=0.2", "facecolor": BACK, "edgecolor": "none"},
        )
    for start, end in (
        ((1.42, 1.2), (2.26, 1.6)),
        ((1.42, 1.0), (3.76, 0.75)),
        ((3.0, 1.48), (4.0, 1.02)),
        ((3.34, 1.75), (5.53, 1.75)),
        ((4.7, 1.02), (5.55, 1.58)),
        ((4.84, 0.7), (5.53, 0.48)),
    ):
        arrow(axes, start, end)
    say(axes, 1.3, 0.2, "in a circle: how many gradients will arrive")


def figure_19_5() -> None:
    axes = canvas(7.2, 2.1)
    say(axes, 1.2, 1.85, "waiting")
    box(axes, 1.2, 1.25, "node 2: 1 to come", "plain", 1.8)
    box(axes, 1.2, 0.6, "node 1: 2 to come", "plain", 1.8)
    say(axes, 3.9, 1.85, "ready")
    box(axes, 3.9, 1.25, "node 5", "gradient", 1.1)
    box(axes, 3.9, 0.6, "node 3", "plain", 1.1)
    arrow(axes, (2.1, 1.0), (3.3, 1.0), "all have arrived")
    box(axes, 6.2, 1.25, "runs: node 5", "own", 1.4)
    arrow(axes, (4.5, 1.25), (5.48, 1.25), "the newest", BACK)
    arrow(axes, (6.2, 1.03), (1.6, 0.38), "sends its gradients", BACK, -0.2)


def figure_19_6() -> None:
    axes = canvas(7.4, 1.5)
    parts = [
        ("record", "while the\nprogram runs"),
        ("count_arrivals", "once, before\nthe walk"),
        ("walk", "one node\nafter the other"),
        ("AccumulateGrad", "at the end\nof each path"),
    ]
    for number, (name, when) in enumerate(parts):
        x = 0.95 + 1.85 * number
        box(axes, x, 1.05, name, "own", 1.5)
        say(axes, x, 0.45, when)
        if number:
            arrow(axes, (x - 1.1, 1.05), (x - 0.75, 1.05))


# Lesson 20: tensors and Functions.


def figure_20_1() -> None:
    axes = canvas(7.2, 1.5)
    for x, name, cells, kind in ((0.4, "w * x", ["2", "4", "6"], "plain"), (2.6, "b", ["0.5"], "leaf")):
        table(axes, x, 0.95, [cells], name, kind=kind, cell=(0.52, 0.4))
    say(axes, 2.28, 0.75, "+", INK, size=13)
    arrow(axes, (3.25, 0.75), (4.35, 0.75), "repeat")
    table(axes, 4.5, 0.95, [["0.5"] * 3], "b, as NumPy adds it", kind="leaf", cell=(0.52, 0.4))
    say(axes, 5.3, 0.3, "one number, used three times")


def figure_20_2() -> None:
    axes = canvas(7.2, 2.0)
    table(
        axes,
        0.4,
        1.2,
        [["$g_{00}$", "$g_{01}$", "$g_{02}$"], ["$g_{10}$", "$g_{11}$", "$g_{12}$"]],
        "arrives: (2, 3)",
        kind="gradient",
        cell=(0.6, 0.42),
    )
    arrow(axes, (2.35, 0.8), (3.7, 0.8), "sum over rows", BACK)
    sums = [[rf"$g_{{0{j}}} + g_{{1{j}}}$" for j in range(3)]]
    table(axes, 3.85, 1.0, sums, "the gradient of a tensor of shape (3,)", kind="gradient", cell=(1.05, 0.42))


def figure_20_3() -> None:
    axes = canvas(7.2, 1.95)
    box(axes, 0.8, 1.4, "inputs", "leaf", 1.0)
    axes.add_patch(Rectangle((1.9, 1.05), 2.4, 0.72, fill=False, edgecolor=RULE, ls="--"))
    box(axes, 3.1, 1.4, "forward(ctx, …)", "own", 1.7)
    say(axes, 3.1, 1.87, "with no_grad: nothing is recorded", size=9)
    box(axes, 6.1, 1.4, "result", "plain", 1.0)
    arrow(axes, (1.3, 1.4), (2.25, 1.4))
    arrow(axes, (3.95, 1.4), (5.6, 1.4))
    box(axes, 3.1, 0.4, "the node is ctx: saved tensors, edges", "op", 3.3)
    arrow(axes, (3.1, 1.18), (3.1, 0.62), "saves")
    arrow(axes, (6.0, 1.18), (4.76, 0.45), "grad_fn")
    arrow(axes, (1.45, 0.4), (0.8, 1.17), "edges", BACK)


def figure_20_4() -> None:
    axes = canvas(6.6, 1.9)
    box(axes, 0.9, 1.4, "a", "leaf", 0.7)
    box(axes, 0.9, 0.5, "b", "leaf", 0.7)
    box(axes, 3.1, 0.95, "a * b", "op", 1.0)
    arrow(axes, (1.25, 1.35), (2.6, 1.05))
    arrow(axes, (1.25, 0.55), (2.6, 0.85))
    say(axes, 4.2, 1.4, "gradient of a  =  grad * b", "#a84700", "left")
    say(axes, 4.2, 0.5, "gradient of b  =  grad * a", "#a84700", "left")
    box(axes, 5.3, 0.95, "so b is saved for a, and a for b", "saved", 2.5)


def figure_20_5() -> None:
    axes = canvas(7.2, 1.6)
    axes.add_patch(Rectangle((0.2, 0.15), 6.8, 1.05, facecolor="#f8f9fb", edgecolor=RULE))
    say(axes, 3.6, 1.38, "engine_2: your four parts take the places of the file's", INK)
    for number, name in enumerate(("sum_to", "apply", "Mm", "Mean")):
        box(axes, 1.1 + 1.66 * number, 0.67, name, "own", 1.3)


# Lesson 21: saved tensors and views.


def figure_21_1() -> None:
    axes = canvas(7.2, 1.7)
    for x, text, number, kind in (
        (0.9, "h = w * 2.0", "6", "plain"),
        (2.9, "y = h * h\nsaves h", "6", "saved"),
        (4.9, "h.data = 7", "7", "wrong"),
        (6.5, "backward\nreads h", "?", "gradient"),
    ):
        say(axes, x, 1.35, text, INK)
        table(axes, x - 0.25, 0.95, [[number]], kind=kind, cell=(0.5, 0.42))
    for a, b in ((1.2, 2.6), (3.2, 4.6), (5.2, 6.2)):
        arrow(axes, (a, 0.74), (b, 0.74))
    say(axes, 3.6, 0.22, "one memory, seen at four times")


def figure_21_2() -> None:
    axes = canvas(7.0, 1.9)
    axes.plot([3.5, 3.5], [0.2, 1.75], color=RULE, ls="--")
    say(axes, 2.2, 1.8, "forward")
    say(axes, 5.0, 1.8, "backward")
    for y, (name, start, end) in zip(
        (0.45, 0.9, 1.35), (("first node", 1.4, 5.9), ("second node", 2.0, 5.1), ("third node", 2.7, 4.3)), strict=True
    ):
        fill, edge, ink = KINDS["saved"]
        axes.add_patch(Rectangle((start, y - 0.16), end - start, 0.32, facecolor=fill, edgecolor=edge))
        axes.text((start + end) / 2, y, f"saved by the {name}", ha="center", va="center", color=ink, fontsize=9)
        say(axes, end + 0.1, y, "freed", ha="left", size=9)


def figure_21_3() -> None:
    axes = canvas(6.4, 1.9)
    table(axes, 1.6, 1.2, [["0", "0", "0", "0"]], cell=(0.7, 0.45), marked={(0, 1): "saved", (0, 2): "saved"})
    say(axes, 1.45, 0.97, "one memory", ha="right")
    axes.annotate("", (4.4, 1.4), (1.6, 1.4), arrowprops={"arrowstyle": "|-|", "color": RULE})
    say(axes, 3.0, 1.65, "base")
    axes.annotate("", (3.7, 0.55), (2.3, 0.55), arrowprops={"arrowstyle": "|-|", "color": KINDS["saved"][1]})
    say(axes, 3.0, 0.3, "part = base[1:3]", KINDS["saved"][2])
    box(axes, 5.4, 0.97, "one counter\nof writes", "own", 1.2, 0.6)


def figure_21_4() -> None:
    axes = canvas(7.2, 1.7)
    say(axes, 1.1, 1.5, "before part *= 10.0", INK)
    box(axes, 1.1, 0.75, "base = x * 1.0", "op", 1.5)
    say(axes, 2.5, 0.75, "→", INK, size=14)
    say(axes, 5.0, 1.5, "after it", INK)
    box(axes, 3.8, 0.75, "the old base", "op", 1.3)
    box(axes, 6.1, 0.75, "base: CopySlices", "own", 1.6)
    arrow(axes, (4.46, 0.75), (5.28, 0.75))
    say(axes, 5.0, 0.25, "a new node, with the written part copied into the slice")


def figure_21_5() -> None:
    axes = canvas(7.2, 1.5)
    parts = [
        ("Saved", "a tensor and\nits version"),
        ("Node.free", "after the\nnode has run"),
        ("First", "the backward\nof a view"),
        ("a write through\na view", "CopySlices"),
    ]
    for number, (name, what) in enumerate(parts):
        x = 0.95 + 1.78 * number
        box(axes, x, 1.0, name, "own", 1.5, 0.52)
        say(axes, x, 0.4, what)


# Lesson 22: forward mode and events.


def figure_22_1() -> None:
    axes = canvas(6.8, 2.0)
    for x, value, moves in ((0.9, "x", "ẋ"), (3.2, "u = sin x", "u̇ = cos x · ẋ"), (5.7, "y = u + x", "ẏ = u̇ + ẋ")):
        box(axes, x, 1.5, value, "op", 1.3)
        box(axes, x, 0.6, moves, "tangent", 1.5)
        arrow(axes, (x, 1.28), (x, 0.82))
    for y in (1.5, 0.6):
        arrow(axes, (1.65, y), (2.45, y))
        arrow(axes, (3.95, y), (4.95, y))
    say(axes, 3.3, 0.15, "above, the values; below, how fast each one moves")


def figure_22_2() -> None:
    axes = canvas(7.2, 1.9)
    say(axes, 1.5, 1.75, "the program")
    say(axes, 5.2, 1.75, "its backward, recorded")
    for x, name in ((0.7, "x"), (2.4, "y")):
        box(axes, x, 1.2, name, "leaf" if name == "x" else "op", 0.7)
    arrow(axes, (1.05, 1.2), (2.05, 1.2))
    for x, name in ((4.2, "seed"), (6.2, "slope")):
        box(axes, x, 1.2, name, "gradient", 0.9)
    arrow(axes, (2.75, 1.2), (3.75, 1.2), color=BACK)
    arrow(axes, (4.65, 1.2), (5.75, 1.2), "nodes", BACK)
    arrow(axes, (6.2, 0.98), (0.75, 0.97), "so you can walk back again", "#5b4bb5", -0.12)


def figure_22_3() -> None:
    axes = canvas(7.2, 1.8)
    axes.plot([0.3, 6.9], [0.8, 0.8], color=RULE)
    events = [
        ("created", 0.8),
        ("created", 1.7),
        ("backward", 2.7),
        ("run", 3.5),
        ("freed", 4.3),
        ("ran", 5.0),
        ("accumulated", 5.8),
        ("finished", 6.6),
    ]
    for number, (name, x) in enumerate(events):
        axes.plot(x, 0.8, "o", color="#0069a6" if number < 2 else BACK)
        say(axes, x, 1.1 if number % 2 else 0.5, name, INK, size=9)
    say(axes, 1.25, 1.5, "your program runs")
    say(axes, 4.7, 1.5, "your engine walks back")
    say(axes, 6.9, 0.15, "time →", ha="right")


def figure_22_4() -> None:
    axes = canvas(7.2, 1.4)
    parts = [("your engine", "own"), ("engine.listeners", "op"), ("recorder", "op"), ("pictures", "gradient")]
    for number, (name, kind) in enumerate(parts):
        x = 0.85 + 1.83 * number
        box(axes, x, 0.8, name, kind, 1.4)
        if number:
            arrow(axes, (x - 1.12, 0.8), (x - 0.72, 0.8))
    say(axes, 3.6, 0.25, "each event passes here, and draws one step of a player")


def figure_22_5() -> None:
    axes = canvas(7.2, 1.5)
    for x, name, kind in (
        (0.8, "Step", "own"),
        (2.9, "node.run(grad)", "op"),
        (5.6, "its gradients, one node on", "gradient"),
    ):
        box(axes, x, 0.95, name, kind, 0.9 if name == "Step" else 2.3 if "its" in name else 1.6)
    arrow(axes, (1.25, 0.95), (2.1, 0.95))
    arrow(axes, (3.7, 0.95), (4.45, 0.95), color=BACK)
    say(axes, 3.6, 0.35, "the button presses on your code: nothing here is the workbench's engine")


def figure_22_6() -> None:
    (axes,) = plots(1, 2.3, 3.6)
    for x, y, answer in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):
        axes.plot(x, y, "os"[answer], ms=16, color=BACK if answer else "#0069a6")
        axes.text(x, y, str(answer), ha="center", va="center", color="white", fontweight="bold")
    for start, end in (((-0.3, 0.65), (1.3, 0.35)), ((-0.2, 1.5), (1.4, -0.1))):
        axes.plot(*zip(start, end, strict=True), "--", color=MUTED)
    axes.set(xlim=(-0.35, 1.35), ylim=(-0.35, 1.35), xlabel="first input", ylabel="second input")
    axes.set(xticks=[0, 1], yticks=[0, 1], title="which line has the ones on one side?")


# Lesson 23: complex numbers.


def figure_23_1() -> None:
    axes = canvas(7.2, 2.5)
    at, least = (3.3, 0.85), (5.4, 1.55)
    for part in (1 / 3, 2 / 3, 1):  # the largest ring goes through z
        radius = part * float(np.hypot(at[0] - least[0], at[1] - least[1]))
        axes.add_patch(Circle(least, radius, fill=False, edgecolor=RULE, ls="--", lw=1))
    say(axes, *least, "least loss", size=9)
    end = at[0] + 0.75 * (at[0] - least[0]), at[1] + 0.75 * (at[1] - least[1])
    arrow(axes, at, (end[0], at[1]), color="#0069a6")
    arrow(axes, at, (at[0], end[1]), color="#0069a6")
    arrow(axes, at, end, color=BACK)
    axes.plot(*at, "o", color=INK)
    say(axes, at[0] + 0.14, at[1] + 0.2, "z", INK, size=12)
    say(axes, end[0], at[1] + 0.18, "slope along 1", "#0069a6", "left", 9)
    say(axes, at[0] + 0.4, end[1] + 0.06, "slope along i", "#0069a6", "left", 9)
    say(axes, end[0] - 0.1, end[1], "z.grad", "#a84700", "right")
    arrow(axes, (0.4, 1.5), (1.0, 1.5))
    arrow(axes, (0.4, 1.5), (0.4, 2.1))
    say(axes, 1.1, 1.5, "1", INK)
    say(axes, 0.4, 2.22, "i", INK)


def figure_23_2() -> None:
    axes = canvas(7.2, 1.7)
    for x, title, kind in ((0.4, "a push: z moves to the right", "#0069a6"), (4.2, "the walk back", BACK)):
        say(axes, x, 1.5, title, kind, "left")
    for x, name in ((0.8, "z"), (2.6, "w = i z"), (4.7, "z"), (6.3, "w = i z")):
        axes.plot(x, 0.55, "o", color=INK)
        say(axes, x, 0.25, name, INK)
    arrow(axes, (0.8, 0.55), (1.45, 0.55), color="#0069a6")
    arrow(axes, (2.6, 0.55), (2.6, 1.2), color="#0069a6")
    say(axes, 1.9, 0.75, "times i")
    arrow(axes, (6.3, 0.55), (6.95, 0.55), color=BACK)
    say(axes, 4.7, 0.9, "?", "#a84700", size=16)
    arrow(axes, (6.1, 0.95), (4.95, 0.95), color=BACK)
    say(axes, 5.5, 1.15, "times what?", "#a84700")


def figure_23_3() -> None:
    axes = canvas(7.2, 2.2)
    at, slope = (3.6, 1.1), np.radians(-18)
    for angle in np.linspace(-np.pi, np.pi, 48, endpoint=False):
        end = at[0] + 0.8 * np.cos(angle), at[1] + 0.8 * np.sin(angle)
        grows = np.cos(angle - slope) > 0
        axes.plot(*zip(at, end, strict=True), color=BACK if grows else "#0069a6", lw=1.2)
    arrow(axes, at, (at[0] + 1.5 * np.cos(slope), at[1] + 1.5 * np.sin(slope)), color=INK)
    axes.plot(*at, "o", color=INK)
    say(axes, 5.2, 0.6, "z.grad", INK, "left")
    say(axes, 4.5, 1.6, "the loss grows", "#a84700", "left")
    say(axes, 2.7, 1.6, "the loss shrinks", "#0069a6", "right")


def figure_23_4() -> None:
    _, places = plt.subplots(1, 3, figsize=(7.4, 1.9), layout="constrained")
    time = np.arange(64) / 64
    slow, whistle = np.sin(2 * np.pi * 3 * time), 0.8 * np.cos(2 * np.pi * 11 * time)
    sizes = np.abs(np.fft.rfft(slow + whistle))[:17] / 32
    colors = [BACK if number == 11 else "#0069a6" for number in range(17)]
    places[0].plot(time, slow + whistle, color=INK)
    places[1].bar(range(17), sizes, color=colors)
    places[2].plot(time, slow, color=INK)
    for axes, title in zip(places, ("the sound", "rfft: how much of each wave", "filtered, and irfft"), strict=True):
        axes.set(title=title, xticks=[], yticks=[])
    places[1].set(xticks=[3, 11])


def figures() -> dict[str, Callable[[], None]]:
    """Each figure by the name under which it's attached."""
    made = {name: made for name, made in globals().items() if re.fullmatch(r"figure_\d\d_\d", name)}
    return {f"{name.replace('_', '-')}.png": draw for name, draw in made.items()}


def digest(draw: Callable[[], None]) -> str:
    """What tells one figure from another: the code that draws it."""
    return hashlib.sha256(inspect.getsource(draw).encode()).hexdigest()[:16]


def png(draw: Callable[[], None]) -> str:
    with mpl.rc_context(LOOK):
        draw()
        made = io.BytesIO()
        plt.savefig(made, dpi=110, facecolor="white")
        plt.close()
    small = io.BytesIO()
    Image.open(made).convert("RGB").quantize(64).save(small, "png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def attach(path: Path) -> None:
    """Draw the figures that a lesson's text names, unless it has them as they are."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for _, name, *_ in ATTACHED.findall(cell.source):
            draw = figures()[name]
            if cell.metadata.get("figures", {}).get(name) != digest(draw):
                cell.setdefault("attachments", {})[name] = {"image/png": png(draw)}
                cell.metadata.setdefault("figures", {})[name] = digest(draw)
    path.write_text(f"{nbformat.writes(notebook)}\n", encoding="utf-8")


if __name__ == "__main__":
    for lesson in sys.argv[1:] or map(str, sorted(NOTEBOOKS.glob("*.ipynb"))):
        attach(Path(lesson))
