"""The benchmark compares like with like: every work comes to the same numbers under all modules. Nothing is timed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))

from calls import CALLS, Call  # noqa: E402
from contestant import CONTESTANTS, METERS, Missing, installed, measure  # noqa: E402
from sweep import KINDS, Contestant  # noqa: E402
from works import WORKS, Work  # noqa: E402

THERE = {name: make() for name, make in CONTESTANTS.items() if installed(name)}
RIVALS = [name for name in THERE if name not in ("workbench", "hand")]


@pytest.fixture(autouse=True)
def _nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is read where only some systems write it."""
    for meter in METERS:
        monkeypatch.setitem(METERS, meter, METERS["clock"])


@pytest.mark.slow
@pytest.mark.parametrize("work", [work for work in WORKS.values() if work.against != "ns"], ids=lambda work: work.name)
def test_a_work_comes_to_the_same_numbers_under_all_modules(work: Work) -> None:
    parts, ours = measure(work, THERE["workbench"], work.sizes[1])
    assert len(parts) == len(work.parts) == len(work.bounds)
    assert all(np.isfinite(number).all() for number in ours)
    compared = []
    for name in RIVALS + (["hand"] if work.against == "by hand" else []):
        try:
            _, theirs = measure(work, THERE[name], work.sizes[1])
        except Missing:
            continue
        compared.append(name)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14, err_msg=name)
    assert ("torch" in compared) == ("torch" in THERE)


@pytest.mark.slow
@pytest.mark.parametrize("work", [work for work in WORKS.values() if work.against == "ns"], ids=lambda work: work.name)
def test_a_listening_work_counts_the_events_of_forward_and_backward(work: Work) -> None:
    (ops,) = work.sizes[1]
    parts, ((forward, backward),) = measure(work, THERE["workbench"], work.sizes[1])
    assert len(parts) == len(work.parts)
    assert forward == ops
    assert backward >= 2 * ops
    assert THERE["workbench"].listeners == []


def _result(module: str, kind: str, before: str, source: str) -> list[np.ndarray]:
    """What a call gives, or writes into `z`, and the gradients after its backward."""
    names = Contestant(module, kind).names
    if module != "hand":
        exec(before, names)
        names["t"].manual_seed(0)
    z = names["z"]
    exec(source if re.search(r" .?= ", source) else f"z = {source}", names)
    output = z if names["z"] is None else names["z"]
    if not getattr(output, "requires_grad", False):
        return [np.asarray(output.tolist() if hasattr(output, "tolist") else output)]
    output.backward(names["t"].ones_like(output.detach()))
    grads = [each.grad for each in names["leaves"] if each.grad is not None]
    assert grads
    return [np.asarray(each.tolist()) for each in (output.detach(), *grads)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_a_call_of_the_sweep_gives_the_same_under_all_modules(call: Call, kind: str) -> None:
    rivals = [name for name in ("torch", "hand") if name in THERE]
    for source in {call.source, call.backward} - {"", None}:
        ours = _result("workbench", kind, call.before, source)
        for name in rivals:
            if name == "hand" and (source != call.source or not call.by_hand):
                continue
            theirs = _result(name, kind, call.before, call.by_hand if name == "hand" else source)
            for a, b in zip(ours, theirs, strict=name == "torch"):
                assert a.shape == b.shape
                if call.name != "dropout":  # its generators differ
                    near = {"rtol": 1e-6, "atol": 1e-12} if kind == "float64" else {"rtol": 1e-4, "atol": 1e-4}
                    np.testing.assert_allclose(a, b, **near)
