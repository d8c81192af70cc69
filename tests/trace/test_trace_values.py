"""Values: arrays on one line, and what is remembered of those that are too large."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

import workbench as torch
from workbench.pictures.trace.values import Value, format_value, kept, read, series


@pytest.mark.parametrize(
    ("array", "text"),
    [
        ([2.0, 4.0, 6.0], "[2. 4. 6.]"),
        (14.0, "14.0"),
        (-0.5, "-0.5"),
        (3, "3"),
        (True, "True"),
        ([0, 1, 2], "[0 1 2]"),
        ([True, False], "[True False]"),
        ([[0.0, 1.0], [2.0, 3.0]], "[[0. 1.] [2. 3.]]"),
        (np.arange(10.0), "[0. 1. 2. 3. 4. … 9.]"),
        ([1 / 3, 2e-10, 12345.678], "[0.3333 2e-10 1.235e+04]"),
        ([1.0, np.nan, -np.inf], "[1. nan -inf]"),
        (np.arange(12.0).reshape(4, 3), "[[0. … 2.] … [9. … 11.]]"),
        (np.zeros((0,)), "[]"),
        (np.full((2, 3, 4), 1.5), "from 1.5 to 1.5, mean 1.5"),
        (np.full((2, 3, 4), np.nan), "no finite value"),
    ],
)
def test_a_value_reads_on_one_line(array, text):
    assert Value.of(np.asarray(array)).text() == text


@pytest.mark.parametrize("seed", range(20))
def test_a_value_never_takes_more_room_than_it_is_given(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 6, size=random.integers(0, 4)))
    value = Value.of(random.normal(size=shape) * 10.0 ** random.integers(-9, 9))
    assert all(len(value.text(line=line)) <= line for line in (30, 34, 38, 42))


def test_a_summary_looks_at_finite_values_and_counts_the_others():
    value = Value.of(np.array([1.0, np.inf, 3.0, np.nan]))
    assert (value.min, value.max, value.mean, value.nonfinite) == (1.0, 3.0, 2.0, 2)
    assert value.trouble == "2 of 4 values not finite"
    assert Value.of(np.float64(np.nan)).trouble == "not finite"
    assert Value.of(np.float64(1.0)).trouble == ""


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_norm_neither_overflows_nor_vanishes(scale):
    assert Value.of(np.array([3.0, 4.0]) * scale).norm == pytest.approx(5.0 * scale)


def test_a_summary_warns_of_nothing_even_where_numpy_is_told_to_raise():
    with warnings.catch_warnings(action="error"), np.errstate(all="raise"):
        for array in (np.array([]), np.array([np.nan, np.inf]), np.array([1e308, 1e308]), np.array([5e-324])):
            Value.of(array)
        for array in (np.full(20_000, 1.2e152), np.full(20_000, 1e300)):  # a sum of two parts overflows, or each part
            Value.of(array)


def test_values_in_sentences():
    assert format_value(None) == "no gradient"
    assert format_value(Value.of(np.arange(24.0).reshape(2, 3, 4))) == "values from 0 to 23"
    assert format_value(Value.of(np.array([1.0, np.nan]))) == "[1. nan] (1 of 2 values not finite)"
    assert [series(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize("size", [1, 9, 48, 49, 1000, 20_000])
@pytest.mark.parametrize("limit", [0, 10, 5_000, 50_000])
def test_what_is_kept_of_an_array_reads_as_its_value(size, limit):
    array = np.random.default_rng(size).normal(size=size)
    before = array.copy()
    thing = kept(array, limit)
    array[:] = 0
    value = read(thing)
    assert value == Value.of(before, limit)
    assert (value.values is not None) == (size <= limit)
    assert value.norm == pytest.approx(np.linalg.norm(before), rel=1e-12)
    assert (value.min, value.max) == (before.min(), before.max())
    assert value.mean == pytest.approx(before.mean(), abs=1e-12)


def test_of_a_large_array_a_summary_alone_is_kept():
    array = np.ones((100, 1000), dtype=np.float32)
    tracemalloc.start()
    thing = kept(array, 1000)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2_000 and peak < 10 * array.nbytes
    assert read(thing).shape == (100, 1000) and read(thing).dtype == "float32"


def test_a_recording_keeps_as_many_values_as_the_user_asked_for():
    with torch.record(limit=3000) as trace:
        (torch.ones(2500, requires_grad=True) * 2.0).sum().backward()
    assert max(len(seen.value.values) for event in trace.events for seen in getattr(event, "tensors", ())) == 2500


def test_a_summary_counts_zeros_and_units_that_are_off():
    array = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    for value in (Value.of(array, 0), read(kept(np.tile(array, (20, 1)), 0))):
        rows = value.shape[0] // 2
        assert (value.zeros, value.off) == (3 * rows, 1)
    images = np.zeros((2, 3, 2, 2))
    images[1, 1, 0, 1] = 5
    assert (Value.of(images, 0).zeros, Value.of(images, 0).off) == (23, 2)
    assert Value.of(array + 1, 0).zeros == 0 == Value.of(-1 - array, 0).zeros
    assert Value.of(array - 1, 0).zeros is None
    assert (Value.of(-array, 0).zeros, Value.of(-array, 0).off) == (3, None)
    assert Value.of(array).zeros is None
