"""Siblings are in program order, from left to right, unless that makes more arrows cross."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as torch
from workbench import nn
from workbench.pictures.scene.layout import Layout
from workbench.pictures.scene.model import Arrow, Box, Scene
from workbench.pictures.scene.storyboard import Storyboard


def row_of(layout: Layout, ids: Sequence[str]) -> list[str]:
    """Return these boxes from left to right; they are all in one row."""
    middles = {round(layout.boxes[id].y + layout.boxes[id].h / 2) for id in ids}
    assert len(middles) == 1
    return sorted(ids, key=lambda id: layout.boxes[id].x)


def tree(seed: int, size: int) -> dict[str, list[str]]:
    """Return a random expression without shared parts: the inputs of each of its nodes."""
    draw = random.Random(seed)
    inputs: dict[str, list[str]] = {}
    tops = [f"x{n}" for n in range(size)]
    while len(tops) > 1:
        at = draw.randrange(len(tops) - 1)
        count = draw.randint(2, 3)
        inputs[f"n{len(inputs)}"] = tops[at : at + count]
        tops[at : at + count] = [f"n{len(inputs) - 1}"]
    return inputs


@given(st.integers(0, 10**6), st.integers(2, 7))
def test_the_inputs_of_a_node_are_in_the_order_of_its_arguments(seed: int, size: int) -> None:
    inputs = tree(seed, size)
    leaves = [id for each in inputs.values() for id in each if id.startswith("x")]
    random.Random(seed).shuffle(leaves)  # whichever was drawn first
    boxes = [Box(id, "leaf", id) for id in leaves] + [Box(id, "op", f"{id} of this test") for id in inputs]
    arrows = [Arrow(f"{id}.{n}", each, id) for id, row in inputs.items() for n, each in enumerate(row)]
    layout = Storyboard(Scene("", {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})).layout
    for arguments in inputs.values():
        rows: dict[int, list[str]] = {}
        for id in arguments:
            rows.setdefault(round(layout.boxes[id].y + layout.boxes[id].h / 2), []).append(id)
        for row in rows.values():
            assert row_of(layout, row) == row


@pytest.mark.parametrize("last", ["op", "group"])
def test_users_are_in_the_order_in_which_they_were_made(last: str) -> None:
    """The arrows into a closed group are in no order of arguments."""
    names = ["x", "q", "k", "v", "end"]
    boxes = {name: Box(name, "leaf" if name == "x" else last if name == "end" else "op", name) for name in names}
    arrows = [Arrow(f"x>{name}", "x", name) for name in "qkv"] + [Arrow(f"{name}>end", name, "end") for name in "kqv"]
    layout = Storyboard(Scene("", boxes, {arrow.id: arrow for arrow in arrows})).layout
    assert row_of(layout, ["q", "k", "v"]) == (["q", "k", "v"] if last == "group" else ["k", "q", "v"])


def test_closed_modules_are_in_the_order_of_their_calls() -> None:
    x = torch.randn(5, 8)
    to_q, to_k, to_v = [nn.Linear(8, 8) for _ in range(3)]
    with torch.record() as trace:
        q, k, v = to_q(x), to_k(x), to_v(x)
        (torch.softmax(q * k, -1) * v).sum().backward()
    board = trace.show(open=[]).storyboard
    ids = [next(id for id, box in board.at().boxes.items() if name in box.title) for name in ("to_k", "to_q")]
    assert row_of(board.layout, ids) == ids[::-1]
