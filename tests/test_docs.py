"""The pages of assets/docs/: their programs run and find what the pages say, and Sphinx makes a site of them."""

from __future__ import annotations

import ast
import importlib.util
import json
import linecache
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import absent
import pytest
from lab import CHECKOUT

from workbench.diagnosis import Why
from workbench.scene.picture import Picture

DOCS = CHECKOUT / "assets" / "docs"
PAGES = sorted((DOCS / "how-to").glob("*.md"))

# What the cells of a page print, in this order; what stands between is left out.
SAID: dict[str, tuple[str, ...]] = {
    "a-class-of-three-hundred": (),
    "my-gradient-is-none": (
        "None\nnet.body.weight.grad is None: no way leads from loss to net.body.weight.\nThe way is cut between the "
        "result of relu and what AddmmBackward0 of `self.head(features.detach())` in Net/head was given: detach()",
        "the norm of the gradient of body.weight: 0.",
        "w.grad is None: w is not a leaf, MulBackward0 made it",
        "tensor([2., 2., 2.])",
        "w.grad is None: no way leads from loss to w.\nThe way is cut between w and what MvBackward0 was given: no_",
        "x.grad is None: no way leads from loss to x.",
        "If its value went on, it did so as a number: item()",
        "w.grad is None: w does not require a gradient",
        "net.extra.weight.grad is None: no way leads from loss to net.extra.weight.",
        "- net.extra.weight was not used",
    ),
    "my-loss-is-nan": (
        "'nan', 'nan'",
        "1. The backward of sqrt (cell:8 `return ((a - b) ** 2).sum(1).sqrt()`) is the first to give gradients that "
        "are not finite: 1 of 6 values where its inputs were from 0 to",
        "the gradient that it received was finite, and so was the loss.",
        "nan\n1. mul (cell:4 `entropy = -(p * p.log()).sum()`) is the first to give nan",
        "0.5822",
        "inf\n1. ",
        "is the first to give inf",
        "197.0",
        "2.0 tensor([   nan,    nan, 0.2500])\n1. The backward of sqrt",
        "tensor([0.0000, 0.0000, 0.2500])",
        "1. softmax",
        "A row whose scores are all -inf has no softmax",
        "'inf', 'nan'",
        "The step of SGD (cell:11 `optimizer.step()`) is too large",
    ),
    "my-rnn-does-not-learn": (
        "1. The gradient vanishes on its way to the first rounds",
        "a factor of 0.073 a round over 12 rounds",
        "findings: 0",
        "1. The gradient explodes on its way to the first rounds",
        "a factor of 2 a round over 20 rounds",
        "detached in each round: ['0', '0', '0', '0', '0.",
        "not detached:           ['0.",
        "Trying to backward through the graph a second time",
        "and with detach() it runs",
    ),
    "why-so-much-memory": (
        "256.5 KiB",
        "1. Graphs of steps that are over are kept: at each backward 0, 9, 18, 27 nodes",
        "findings: 0",
        "broadcasts predictions and targets, and compares each with every other",
        "1,024 KiB kept, and 2 KiB with equal shapes",
        "True False",
        "256 KiB without a checkpoint",
    ),
    "is-my-custom-backward-right": (
        "Jacobian mismatch",
        "1. Is the backward of Swish meant to be something else than its derivative?",
        "right\nloss after 60 steps",
        "Jacobian mismatch",
        "right\n",
        "tensor([ 3., 12.], dtype=torch.float64) and that is right;\ntensor([ 3., 12.], dtype=torch.float64) and that",
        "Jacobian mismatch",
        "right\nJacobian mismatch",
        "Jacobian mismatch",
        "right",
    ),
}

# What a page says of the numbers that its programs compute.
HOLDS = {
    "my-rnn-does-not-learn": "orthogonal < small / 5 and clipped < 1 < free and detached > 0.5",
    "is-my-custom-backward-right": "train(Mended.apply, 60) < train(Swish.apply, 60)",
}

# What its pictures have, told as text, of that of which the page speaks.
SHOWN: dict[str, list[str]] = {
    "a-class-of-three-hundred": [],
    "my-gradient-is-none": ["no gradient back: detach", "The backward pass is over."],
    "my-loss-is-nan": ["1 of 6 values not finite", "is too large: it changes"],
    "my-rnn-does-not-learn": ["(12)"],
    "why-so-much-memory": ["where forward ends", "at most, in backward"],
    "is-my-custom-backward-right": ["return grad_output * (s - x * s * (1 - s))"],
}


def cells(page: Path) -> list[str]:
    """The programs of a page."""
    return re.findall(r"^```\{code-cell\}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def results(page: Path, names: dict[str, Any]) -> Iterator[Any]:
    """Run the cells of a page as a notebook does: what the last line of each is."""
    for number, source in enumerate(cells(page)):
        file = f"<ipython-input-{number}-{page.stem}>"
        linecache.cache[file] = len(source), None, source.splitlines(True), file
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), names)
        if last is not None:
            yield eval(compile(ast.Expression(last.value), file, "eval"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_of_a_page_print_what_it_says(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(StringIO()) as printed:
        pictures = [each.show() if isinstance(each, Why) else each for each in results(page, names)]
    rest = printed.getvalue()
    for said in SAID[page.stem]:
        _, found, rest = rest.partition(said)
        assert found, f"not printed after those before it: {said}"
    assert eval(HOLDS.get(page.stem, "True"), names)
    told = [repr(picture) for picture in pictures if isinstance(picture, Picture)]
    assert [text in picture for picture, text in zip(told, SHOWN[page.stem], strict=True)] == [True] * len(told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_parts_and_its_line_in_the_table(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "\n**Ask this:**" in text
    parts = re.findall(r"^## (.+)$", text, flags=re.M)
    assert {"Read the picture", "The usual causes"} < {*parts} and parts[-1] == "With PyTorch"
    assert f"how-to/{page.stem}\n" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_table_beside_other_tools_is_made_of_its_facts() -> None:
    place = CHECKOUT / "assets" / "gallery" / "beside"
    script = runpy.run_path(str(place / "faults.py"))
    facts = json.loads((place / "faults.json").read_text(encoding="utf-8"))
    assert script["page"](facts) == (DOCS / "beside-other-tools.md").read_text(encoding="utf-8")
    assert sorted(facts["what"]) == sorted(bug for bugs in script["KINDS"].values() for bug in bugs)


@pytest.mark.slow
def test_sphinx_makes_a_site_that_asks_no_other_host(tmp_path: Path) -> None:
    if importlib.util.find_spec("myst_nb") is None:
        pytest.skip(absent.SITE)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", str(DOCS), str(tmp_path / "site")]
    built = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT)
    assert built.returncode == 0, built.stderr
    for page in PAGES:
        made = (tmp_path / "site" / "how-to" / f"{page.stem}.html").read_text(encoding="utf-8")
        assert made.count('class="wb-play-') >= len(SHOWN[page.stem])
        assert not re.search(r"<(script|link|img|iframe)\b[^>]*\b(src|href)=\"(https?:)?//", made)
        assert "Traceback" not in made
