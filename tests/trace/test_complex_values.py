"""What a trace, a picture, a finding and a diff say of complex numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import workbench
from workbench.pictures.trace.values import Value, number

Z = [1 + 2j, -0.5 + 0.25j]


def recorded(values: list[complex] = Z) -> workbench.pictures.recording.Trace:
    z = workbench.tensor(values, requires_grad=True)
    with workbench.record() as trace:
        loss = (z * z.conj()).real.sum()
        loss.backward()
    return trace


@pytest.mark.parametrize(
    ("given", "said"),
    [(1 + 2j, "1+2j"), (-1 / 3 - 1j, "-0.3333-1j"), (complex("nan"), "nan+0j"), (complex(-0.0, 1e9), "-0+1e+09j")],
)
def test_a_number_is_rectangular_with_four_digits(given: complex, said: str) -> None:
    assert number(given) == said


def test_a_value_lists_complex_numbers_and_measures_their_moduli() -> None:
    value = Value.of(np.array([3 + 4j, 0, 1j]))
    assert (value.dtype, value.text(), value.norm) == ("complex128", "[3+4j 0+0j 0+1j]", pytest.approx(math.sqrt(26)))
    assert (value.min, value.max, value.numbers) == (0.0, 5.0, (3 + 4j, 0j, 1j))
    large = Value.of(np.array([3 + 4j, 0, 1j] * 1000))
    assert large.numbers is None and large.text() == "moduli from 0 to 5, mean 2"
    assert Value.of(np.array([1, complex("inf"), complex("nan")])).trouble == "2 of 3 values not finite"


def test_pictures_and_captions_show_both_parts() -> None:
    graph, flow = str(recorded().show()), str(recorded().show("flow"))
    assert "z (leaf, done): (2,) complex64, [1+2j -0.5+0.25j], grad [2+4j -1+0.5j]" in graph
    assert "`z` receives the gradient [2+4j -1+0.5j]" in flow and "all positive" not in flow.partition("z*z.conj()")[2]


def test_a_trace_is_the_same_after_a_file(tmp_path: Path) -> None:
    trace = recorded([complex("nan"), complex(-0.0, math.inf), 1 / 3 + 1e-300j])
    trace.save(tmp_path / "trace.json")
    assert str(workbench.load(tmp_path / "trace.json").show()) == str(trace.show())


@pytest.mark.parametrize("wrong", ['"1+2j+3j"', '"' + "1" * 100 + '"', "1.5"])
def test_a_file_with_something_else_in_place_of_a_complex_number_is_refused(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    recorded().save(path)
    path.write_text(path.read_text().replace('"(1+2j)"', wrong))
    with pytest.raises(ValueError, match="wrong .*complex_values"):
        workbench.load(path)


def test_other_phases_are_another_value() -> None:
    two = recorded([1 - 2j, -0.5 + 0.25j])
    assert "[1+2j -0.5+0.25j], in the second [1-2j -0.5+0.25j]" in str(workbench.compare(recorded(), two))
    diff = workbench.diff(recorded(), two)
    assert "1+2j and 1-2j" in str(diff) and '"(1-2j)"' in diff.to_json()
    assert not workbench.diff(recorded(), recorded())


def test_a_healthy_program_has_no_findings_and_a_nan_is_found() -> None:
    assert not list(recorded().findings())
    assert "not finite" in str(recorded([complex("nan"), 1]).findings())
