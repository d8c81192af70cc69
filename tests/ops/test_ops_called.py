"""What is seldom typed but is PyTorch's all the same: operators by their methods, `new`, `out=` of dual numbers, writes
of what has more dimensions, hooks of saved tensors in wrong calls; to the sentence."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from functions import function
from oracle import compare, entries, names, raised

SHAPES = [
    ((), (1,)), ((), (1, 1)), ((2,), (1, 2)), ((2,), (1, 1, 2)), ((1,), (1, 1)), ((0,), (1,)), ((2,), (3,)),
    ((), (2,)), ((), (0,)), ((2, 3), (1, 2, 3)), ((1,), (2,)),
]  # fmt: skip


@pytest.mark.parametrize("shape, given", SHAPES, ids=str)
def test_a_write_of_more_dimensions(torch: Any, shape: Any, given: Any) -> list[Any]:
    target, ones = torch.zeros(shape), torch.ones(given)
    calls = [target.copy_, target.data.copy_, target.add_, target.mul_, target.sub_, target.clone().copy_]
    return [(raised(call, ones), target.clone()) for call in calls] + [
        (raised(target.copy_, ones.double()), target.clone()),
        raised(target.__setitem__, ..., ones) == "nothing was raised",
    ]


METHODS = (
    "add sub mul truediv div pow floordiv mod matmul radd rsub rmul rtruediv rdiv rpow rfloordiv rmod rmatmul iadd "
    "isub imul itruediv idiv ipow"
).split()


@pytest.mark.parametrize("method", METHODS)
def test_an_operator_called_by_its_method(torch: Any, method: str) -> list[Any]:
    found: list[Any] = []
    for text in ("y", "s", "n", "2", "2.5", "'a'", "None", "[1, 2, 3]"):
        named = names(torch)
        x = named["p"] * 1
        try:
            out = getattr(x, f"__{method}__")(eval(text, named))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
            continue
        found.append(out)
        if isinstance(out, torch.Tensor) and out.requires_grad:
            leaves = [named[name] for name in "pys"]
            found.append(torch.autograd.grad(out.sum(), leaves, allow_unused=True))
    return found


WRONG_HOOKS = "[] | [abs] | [abs, 3] | [3, abs] | [abs, abs, abs] | [None, None]"


@pytest.mark.parametrize("hooks", entries(WRONG_HOOKS))
def test_hooks_of_a_saved_tensor_in_wrong_calls(torch: Any, hooks: str) -> Any:
    y = torch.ones(2, requires_grad=True).exp()  # which must live as long as what is asked of its node
    register = y.grad_fn._raw_saved_result.register_hooks
    wrong = raised(register, *eval(hooks)), raised(register, abs, unpack_hook=abs)
    return [(kind, text.partition("Invoked with")[0]) for kind, text in wrong], raised(register, abs, abs)


OUT = """
torch.sin(d, out=o) | torch.add(d, d, out=o) | torch.mul(d, 2.0, out=o) | torch.sin(x, out=d) | torch.add(x, x, out=d)
torch.mm(d[None], d[:, None], out=torch.zeros(1, 1)) | torch.cumsum(d, 0, out=o) | torch.sub(d, d, out=o)
torch.max(d[None], 1, out=(torch.zeros(1), torch.zeros(1, dtype=torch.int64))) | torch.div(d, d, out=o)
torch.sum(d, 0, out=torch.zeros(())) | torch.cat([d, d], out=torch.zeros(4)) | torch.abs(d, out=o)
torch.stack([d, d], out=torch.zeros(2, 2)) | torch.eq(d, d, out=o > 0) | torch.pow(d, 2, out=o) | torch.ones(2, out=d)
torch.sort(d, out=(torch.zeros(2), torch.zeros(2, dtype=torch.int64))) | torch.clamp(d, 0, 1, out=o)
torch.arange(2.0, out=d) | torch.dot(d, d, out=torch.zeros(())) | torch.sin(d, out=torch.zeros(2, requires_grad=True))
torch.sin(x, out=o)
"""


@pytest.mark.parametrize("call", entries(OUT))
def test_out_of_dual_numbers(torch: Any, call: str) -> Any:
    with torch.autograd.forward_ad.dual_level():
        x, o = torch.ones(2), torch.zeros(2)
        d = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        given = {"torch": torch, "x": x, "o": o, "d": d}
        said = raised(eval, call, given)
        with torch.no_grad():
            return said, raised(eval, call, given)


def test_out_inside_transforms(torch):
    def written(x):
        out = torch.zeros(2)
        torch.sin(x, out=out)
        return out

    x = torch.ones(2)
    calls = [
        lambda: torch.func.jvp(written, (x,), (x,)),
        lambda: torch.func.grad(lambda t: written(t).sum())(x),
        lambda: torch.func.vmap(written)(torch.ones(3, 2)),
    ]
    return [raised(call) for call in calls]


def test_whether_setup_context_is_defined(torch):
    Alone = function(torch, lambda ctx, x: x, name="Alone")

    def setup_context(ctx, inputs, output):
        pass

    InTwo = function(torch, lambda x: x, name="InTwo", setup_context=setup_context)
    told = torch.autograd.function._is_setup_context_defined
    return [told(f) for f in (Alone.setup_context, InTwo.setup_context, torch.autograd.Function.setup_context, None)]


DRAWN = "uniform_() | normal_() | uniform_(2, 3)"


@pytest.mark.parametrize("draw", entries(DRAWN))
def test_random_writes_in_a_batch(draw: str) -> None:
    def written(torch: Any) -> list[Any]:
        found: list[Any] = []
        outside = torch.ones(3)
        for how in ("error", "same", "different"):
            for text in (f"t.clone().{draw}", f"t + outside.clone().{draw}"):
                for dim in (0, 1):

                    def sample(t: Any, text: str = text) -> Any:
                        return eval(text, {"t": t, "outside": outside})

                    try:
                        batch = torch.ones(3, 3)
                        out = torch.func.vmap(sample, in_dims=dim, randomness=how)(batch)
                    except RuntimeError as error:
                        found.append(str(error))
                    else:
                        found.append((out.shape, bool((out[0] == out[1]).all()), bool((out == 1).any())))
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(written)
