"""Draw which lesson needs which, from the first lines of the lessons: `python assets/course_map.py`; it needs `dot`.

It also writes the table of the lessons into the site's page of the course.

The site shows the file; lesson 0 has the same picture as an attachment of a cell, so that a copy has it. There it is a
PNG, for JupyterLab shows no attached SVG, and beside it stands of which file it is.
"""

from __future__ import annotations

import base64
import hashlib
import re
import textwrap
from pathlib import Path

import graphviz
import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
PICTURE = Path(__file__).with_name("course-map.svg")
ATTACHED = "course-map.png"
PAGE = Path(__file__).parent / "docs" / "lessons" / "index.md"
TABLE = re.compile(r"^\| Lesson \|.*\n(?:\|.*\n)+", re.M)
NEEDS = re.compile(r"\*\*You need:\*\* (.*?)(?: \(| ·)")
_NARROW = 19  # characters of a title in one line, so that the whole map is as wide as a page


def lessons() -> dict[int, tuple[str, set[int]]]:
    """Title of each lesson, and the lessons that it needs, also by way of others."""
    found: dict[int, tuple[str, set[int]]] = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        first = nbformat.read(path, as_version=4).cells[0].source
        number, _, title = first.partition("\n")[0].removeprefix("# ").partition(" · ")
        direct = {int(other) for line in NEEDS.findall(first) for other in re.findall(r"\d+", line)}
        found[int(number)] = title.replace("`", ""), direct.union(*[found[other][1] for other in direct])
    return found


def arrows(known: dict[int, tuple[str, set[int]]]) -> list[tuple[int, int]]:
    """To each lesson from each that it needs, unless another way leads there."""
    pairs = [(other, number) for number, (_, before) in known.items() for other in sorted(before)]
    return [(a, b) for a, b in pairs if not any(a in known[between][1] for between in known[b][1] - {a})]


def table() -> str:
    """The lessons as a table: a link to each, its minutes, and what its reader can do afterward."""
    rows = ["| Lesson | Minutes | Afterward you can |", "|---|--:|---|"]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        first = nbformat.read(path, as_version=4).cells[0].source
        (title,), (minutes,) = re.findall(r"^# (.+)$", first, re.M), re.findall(r"\*\*Time:\*\* about (\d+)", first)
        (can,) = re.findall(r"^\*\*Afterward you can\*\* (.+)\.$", first, re.M)
        rows.append(f"| [{title}]({path.name}) | {minutes} | {can} |")
    return "\n".join(rows) + "\n"


def course_map() -> graphviz.Digraph:
    """The picture: a box for each lesson."""
    known = lessons()
    graph = graphviz.Digraph(
        "course",
        graph_attr={"nodesep": "0.12", "ranksep": "0.2", "bgcolor": "white", "margin": "0.05"},
        node_attr={
            "shape": "box",
            "style": "rounded,filled",
            "fillcolor": "#eef2f8",
            "color": "#5b6b82",
            "fontname": "sans-serif",
            "fontsize": "11",
            "margin": "0.07,0.05",
            "height": "0.3",
        },
        edge_attr={"color": "#5b6b82", "arrowsize": "0.6"},
    )
    for number, (title, _) in known.items():
        graph.node(str(number), textwrap.fill(f"{number} · {title}", _NARROW, break_long_words=False))
    for start, end in arrows(known):
        graph.edge(str(start), str(end))
    return graph


def digest(svg: str) -> str:
    """What tells one picture from another."""
    return hashlib.sha256(svg.encode()).hexdigest()


if __name__ == "__main__":
    drawn = course_map()
    svg = drawn.pipe("svg", encoding="utf-8")
    svg = svg[svg.index("<svg") :]  # what stands before names the program's version
    PICTURE.write_text(svg, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda found: table(), page), encoding="utf-8")
    png = base64.b64encode(drawn.pipe("png")).decode()
    path = next(NOTEBOOKS.glob("00-*.ipynb"))
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if ATTACHED in cell.get("attachments", {}):
            cell.attachments[ATTACHED] = {"image/png": png}
            cell.metadata["course_map"] = digest(svg)
    nbformat.write(notebook, path)
