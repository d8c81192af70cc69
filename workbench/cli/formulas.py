"""Formulas of a page, set by matplotlib: a page that loads nothing can't hold the library that JupyterLab sets with."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath, text_to_path

_EM = 500  # units of a drawing: finer than a pixel, also on a slide
_FONT = FontProperties(size=_EM, math_fontfamily="stix")
_LARGER = 1.12  # than the text around it, whose letters are wider
_COMMANDS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "M"}  # those of a matplotlib path, in SVG, whose fill closes a shape


def as_svg(formula: str, block: bool = False) -> str:
    r"""Return the drawing of a formula in LaTeX, which takes its color and size from the text around it.

    A formula `block` of its own is larger, and its fractions are. What can't be set, such as an environment
    (`\begin{...}`), stays as it's written, in its dollar signs.
    """
    written = " ".join(formula.split())
    tall = written.replace(r"\frac", r"\dfrac") if block else written
    tex = f"${tall}$"
    try:
        wide, high, below = text_to_path.get_text_width_height_descent(tex, _FONT, ismath=True)
        path = TextPath((0, 0), tex, prop=_FONT)
    except ValueError:
        mark = "$$" if block else "$"
        return f"{mark}{escape(formula)}{mark}"
    drawn = "".join(_COMMANDS[int(code)] + _places(points) for points, code in path.iter_segments(simplify=False))
    em = _LARGER * (1.1 if block else 1) / _EM
    size = f"width:{wide * em:.3f}em;height:{high * em:.3f}em;vertical-align:{-below * em:.3f}em"
    box = f"0 {below - high:.0f} {wide:.0f} {high:.0f}"
    svg = (
        f'<svg class="formula" role="img" aria-label="{escape(written)}" viewBox="{box}" '
        f'style="{size};fill:currentColor;overflow:visible"><path d="{drawn}"/></svg>'
    )
    return f'<span style="display:block;text-align:center;margin:0.8em 0">{svg}</span>' if block else svg


def _places(points: Iterable[float]) -> str:
    return ",".join(f"{-at if odd % 2 else at:.0f}" for odd, at in enumerate(points))  # down is positive there
