"""Formulas: lessons write them in dollar signs, and every surface sets them, with no network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import absent
import nbformat
import pytest
from browser_page import open_page, require_chromium
from lab import CHECKOUT
from nbformat.v4 import new_markdown_cell, new_notebook

from workbench.cli import main
from workbench.cli.formulas import as_svg
from workbench.cli.pages import as_html

NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.S)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
# Mathematics anywhere in a text: a partial derivative, dy/dt, a power, a root, a sum, a product.
PLAIN = re.compile(r"∂\w|\bd\w+/d\w|[²³√Σᵀ]|\d · \d|\\(?:frac|partial|sum|sqrt)")


def texts(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def plain(text: str) -> list[str]:
    """Return the formulas in a text that aren't set: outside dollar signs, or as code that no Python could run."""
    rest = FORMULA.sub(" ", text)
    return PLAIN.findall(CODE.sub(" ", rest)) + re.findall("[∂²³√Σᵀ]", "".join(CODE.findall(rest)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_writes_its_formulas_as_formulas(path: Path) -> None:
    assert [(found, text[:80]) for text in texts(path) for found in plain(text)] == []


@pytest.mark.parametrize(
    "left", ["so dL/dx = 2", "∂loss/∂w is 3", "`x0² * x1`", "about 2√n", "is 2 · 3", r"a \frac{1}{2}"]
)
def test_a_formula_left_as_text_is_found(left: str) -> None:
    assert plain(left) and not plain("`a / b`, 3 × 4 and ∂ are no formulas, and $\\frac{dL}{dx}$ is one")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_formula_of_a_lesson_can_be_drawn(path: Path) -> None:
    for text in texts(path):
        shown = as_html(re.sub(r"!\[.*?\]\(attachment:.*?\)", "", text))
        words = re.sub(r"<(code|svg)\b.*?</\1>|<[^>]*>", " ", shown, flags=re.S)
        assert shown.count("<svg") == len(FORMULA.findall(CODE.sub(" ", text))) and not re.search(r"[$\\]", words)


def test_a_formula_scales_with_its_text_and_says_what_it_is() -> None:
    one, block = as_svg(r"\frac{a}{b} < 1"), as_svg(r"\frac{a}{b} < 1", block=True)
    assert 'aria-label="\\frac{a}{b} &lt; 1"' in one and "fill:currentColor" in one
    heights = [float(re.findall(r"height:([\d.]+)em", svg)[0]) for svg in (one, block)]
    assert 1 < heights[0] < 1.5 * heights[0] < heights[1]


def test_what_cannot_be_drawn_stays_as_it_is_written() -> None:
    assert as_svg(r"\begin{matrix}a&b\end{matrix}") == r"$\begin{matrix}a&amp;b\end{matrix}$"


@pytest.mark.browser
def test_pages_slides_and_handouts_show_formulas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_chromium()
    monkeypatch.chdir(tmp_path)
    text = "# A lesson\n\nThe slope is $2x$:\n\n$$\\frac{\\partial y}{\\partial x}$$"
    nbformat.write(new_notebook(cells=[new_markdown_cell(text)]), "a.ipynb")
    assert main(["run", "a.ipynb", "--html", "a.html"]) == 0
    assert main(["present", "a.ipynb", "--handout", "handout.html"]) == 0
    with open_page(offline=True) as page:
        for name in ("a.html", "a-slides.html", "handout.html"):
            page.goto((tmp_path / name).as_uri())
            drawn = page.locator("svg[role=img]")
            assert [drawn.nth(place).get_attribute("aria-label") for place in range(2)] == [
                "2x",
                r"\frac{\partial y}{\partial x}",
            ]
            small, large = (drawn.nth(place).bounding_box() for place in range(2))
            assert small and large and 8 < small["height"] < large["height"], name
            assert not re.search(r"[$\\]", page.locator("body").inner_text()), name
        assert (page.requests_outside, page.console_errors) == ([], [])


def test_the_site_draws_formulas_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason=absent.SITE)
    monkeypatch.syspath_prepend(str(CHECKOUT / "assets" / "docs" / "_ext"))
    from docutils import nodes
    from formulas import block, inline

    class Writer:
        def __init__(self) -> None:
            self.body: list[str] = []

    for set_in, node in ((inline, nodes.math("", "2x")), (block, nodes.math_block("", "2x"))):
        writer = Writer()
        with pytest.raises(nodes.SkipNode):
            set_in(writer, node)
        assert "<svg" in writer.body[0]
    sys.modules.pop("formulas")
    conf = (CHECKOUT / "assets" / "docs" / "conf.py").read_text(encoding="utf-8")
    assert 'html_math_renderer = "drawn"' in conf and '"dollarmath"' in conf
