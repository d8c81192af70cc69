"""SVG: a picture as one self-contained image that any browser, notebook or drawing program shows."""

from __future__ import annotations

import re
from html import escape

from .metric import plain
from .shapes import Shape, ShapeGroup, drawn, sheet
from .storyboard import Storyboard
from .text import graph_lines
from .theme import Theme, css_for, theme_named

_CLASSES = re.compile('class="([^"]*)"')
# Scripts written from the right, which would reverse the text next to them.
_RIGHTWARD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")


def to_svg(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """Return the picture after step k (None: its own choice) as a standalone SVG document."""
    theme, paper, (board, at) = theme_named(theme), sheet(storyboard, k), storyboard.shown(k)
    title, graph = storyboard.title or "Graph", graph_lines(board.at(at))
    said = [plain(board.steps[at].caption)] if at >= 0 else []
    said += [storyboard.legend] if storyboard.legend else []
    left, width, height = f"{paper.left:g}", f"{paper.width:g}", f"{paper.height:g}"
    size = f'width="{paper.width * theme.scale:g}" height="{paper.height * theme.scale:g}"'
    shapes = [*map(_svg_group, drawn(board, at)), *map(_svg_shape, paper.legend)]
    used = {"wb-picture", "wb-canvas", *" ".join(_CLASSES.findall("".join(shapes))).split()}
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="wb-picture" role="img" '
            f'aria-label="{_safe(title)}" {size} viewBox="{left} 0 {width} {height}">',
            f"<title>{_safe(title)}</title>",
            f"<desc>{_safe(chr(10).join(said + graph))}</desc>",
            f"<style>{_safe(css_for(theme, used))}</style>",
            f'<rect class="wb-canvas" x="{left}" width="{width}" height="{height}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _svg_group(group: ShapeGroup) -> str:
    shapes = "".join(map(_svg_shape, group.shapes))
    title = f"<title>{_safe(group.alt)}</title>" if group.alt else ""
    return f'<g class="{group.classes}">{title}{shapes}</g>'


def _svg_shape(shape: Shape) -> str:
    attributes = "".join(f' {name}="{_svg_number(value)}"' for name, value in shape.attributes.items())
    if shape.element == "text":
        text = _RIGHTWARD.sub("\u2068\\g<0>\u2069", shape.text)
        return f'<text class="{shape.role}"{attributes}>{_safe(text)}</text>'
    return f'<{shape.element} class="{shape.role}"{attributes}/>'


def _svg_number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{round(value, 2):g}"


def _safe(text: str) -> str:
    return escape(text, quote=True)
