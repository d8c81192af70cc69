"""What the engine says of levels, tangents and batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import transform_samples as samples
from functions import doubling

import workbench as torch
from workbench import events
from workbench.func import grad, jvp, vmap


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """The events since the test began."""
    told: list[Any] = []
    events.listeners.append(told.append)
    yield told
    events.listeners.remove(told.append)


def test_levels_are_told_with_kind_number_and_batch(heard: list[Any]) -> None:
    vmap(grad(torch.sin))(samples.values(1.0, 2.0))
    levels = [
        (kind, *(rest[0].kind, rest[0].number, rest[0].size)) for kind, *rest in heard if kind in ("entered", "left")
    ]
    outer, inner = ("vmap", 1, 2), ("grad", 2, None)
    assert levels == [("entered", *outer), ("entered", *inner), ("left", *inner), ("left", *outer)]


def test_a_pushed_tangent_is_told_with_what_it_came_from(heard: list[Any]) -> None:
    jvp(lambda x: x * 3.0, (samples.values(1.0, 2.0),), (samples.values(5.0, 7.0),))
    pushing, pushed = (next(event for event in heard if event[0] == kind) for kind in ("pushing", "pushed"))
    assert heard.index(pushing) < heard.index(pushed)
    (_, op, args, outputs, level), (_, same, again, tangents, operands, moved, at) = pushing, pushed
    assert op is same and op.name == "mul" and outputs == again and level is at and level.kind == "jvp"
    assert args[1] == 3.0 and args[0] is operands[0]
    assert [None if t is None else t.tolist() for t in moved] == [[5.0, 7.0], None]
    assert [t.tolist() for t in tangents] == [[15.0, 21.0]]


def test_a_custom_jvp_and_a_dual_tensor_are_told_alike(heard: list[Any]) -> None:
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        samples.Cube.apply(forward_ad.make_dual(samples.values(2.0), samples.values(1.0)))
    pushed = [event for event in heard if event[0] in ("pushing", "pushed")]
    assert [(event[0], event[1], event[-1]) for event in pushed] == [
        ("pushing", samples.Cube, None),
        ("pushed", samples.Cube, None),
    ]
    assert pushed[1][3][0].tolist() == [12.0]


def test_a_batched_operation_and_a_custom_rule_are_told(heard: list[Any]) -> None:
    Double = doubling(torch, vmap=lambda info, in_dims, x: (x * 2, 0))
    vmap(lambda x: Double.apply(x) + 1)(samples.values(1.0, 2.0, 3.0))
    batched = [event for event in heard if event[0] == "batched"]
    assert batched[0][1] is Double and batched[1][1].name == "add"
    assert batched[0][-1].size == 3 and batched[0][3][0].shape == ()
