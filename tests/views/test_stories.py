"""What pictures of small programs say, step by step: golden/story_*.txt has each program with its story below.

The name of a program says what its story shows; after a `|` come options of `record()` and `show()`. To add one, write
its name and its lines, each after `> `, and let `WORKBENCH_WRITE_GOLDEN=1 pytest tests/views/test_stories.py` write the
rest. When words of a picture change, run this command again, and read the diff.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import check_golden, programs, quoted
from made_functions import function, raising
from text_programs import recorded, story
from trace_samples import Halved, Split, Square

import workbench as torch
import workbench.nn.functional as F
from workbench import nn
from workbench.pictures.views import storyboard
from workbench.utils.checkpoint import checkpoint

FOLDER = Path(__file__).parent / "golden"
# By the name of a golden file: a view, its options, and whether it tells what a click shows, too.
STORIES: dict[str, tuple[str, dict[str, Any], bool]] = {
    **{view: (view, {}, False) for view in ("graph", "flow", "saved", "memory", "versions", "function")},
    "closed": ("graph", {"open": []}, False),
    "open": ("graph", {}, False),
    "details": ("graph", {}, True),
    "film": ("graph", {}, False),
}


def double(grad: Any) -> Any:
    return grad * 2


def half(tensor: Any) -> Any:
    return tensor.to(torch.float16)


def empty(tensor: Any) -> None:
    tensor.grad = None


def fail(grad: Any) -> None:
    raise ValueError("no")


def inner(grad: Any) -> Any:
    with torch.enable_grad():
        w = torch.tensor(5.0, requires_grad=True)
        (w * w).backward()
    return grad * w.grad


def descend(w: Any, x: float) -> None:
    w.grad = None
    loss = (w * x) ** 2
    loss.backward()
    with torch.no_grad():
        w.sub_(0.01 * w.grad)


def ones(module: nn.Module) -> nn.Module:
    """The module, whose parameters no machine rounds in another way."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(0.5)
    return module


NAMES = {each.__name__: each for each in (double, half, empty, fail, inner, descend, ones)}
NAMES |= {each.__name__: each for each in (Halved, Split, Square, checkpoint, suppress)} | {"F": F, "nn": nn, "np": np}
NAMES |= {
    "Bare": function("Bare", lambda x: x.clone(), lambda grad: grad),
    "Breaks": function("Breaks", lambda x: x * 2, raising(ValueError("no way"))),
    "Stop": function("Stop", lambda x: x * 2, lambda grad: None),
    "Wrong": function("Wrong", lambda x: x**3, lambda grad: grad * 5),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_picture_tells_its_story(name: str) -> None:
    view, options, details = STORIES[name]
    told = {}
    for title, program in programs(FOLDER / f"story_{name}.txt").items():
        more = eval(f"dict({title.partition(' | ')[2]})")
        recording = {option: more.pop(option) for option in ("limit", "lines", "last") if option in more}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            board = storyboard(recorded(program, recording, **NAMES), view, **options, **more)
        told[title] = f"{quoted(program)}\n{story(board, details)}"
    check_golden(FOLDER / f"story_{name}.txt", told)
