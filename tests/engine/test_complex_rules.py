"""What the engine does with complex tensors, beside PyTorch: seeds, kinds of gradients, hooks, Functions, gradcheck."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import workbench

Z = [1 + 2j, -0.5 + 1j, 0.25 - 1j]
X = [1.0, -2.0, 3.0]


def z_of(torch: Any) -> Any:
    return torch.tensor(Z, dtype=torch.complex128, requires_grad=True)


def x_of(torch: Any) -> Any:
    return torch.tensor(X, dtype=torch.float64, requires_grad=True)


def functions(torch: Any) -> dict[str, Any]:  # noqa: C901  many small classes
    """Functions of complex tensors, of which some are wrong."""
    Function = torch.autograd.Function

    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 1j

    class RealForComplex(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g.real

    class Mul(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b.conj(), g * a.conj()

    class Wrong(Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            return g * 2 * a

    class Dirty(Function):
        @staticmethod
        def forward(ctx, a):
            a.mul_(2j)
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx, g):
            return g * (-2j)

    class Pushed(Function):
        @staticmethod
        def forward(ctx, a):
            ctx.a = a
            return a * a

        @staticmethod
        def jvp(ctx, t):
            return 2 * ctx.a * t

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.a.conj()

    return {each.__name__: each for each in (Bad, RealForComplex, Mul, Wrong, Dirty, Pushed)}


def after(function: Any, *leaves: Any) -> Any:
    """The gradients of leaves after a backward pass."""
    function(*leaves).backward()
    return [leaf.grad for leaf in leaves]


def hooked(leaf: Any, hook: Any) -> Any:
    y = leaf * 2
    y.register_hook(hook)
    y.abs().sum().backward()
    return leaf.grad


def written(z: Any) -> Any:
    y = z * 1
    y[0] = 5j
    y[1:].mul_(2j)
    y.abs().sum().backward()
    return z.grad


def multiplied(z: Any) -> Any:
    y = z * 1
    y.mul_(1j).add_(z)
    y.abs().sum().backward()
    return z.grad, y.grad_fn.name()


def parts_set(z: Any) -> Any:
    z = z.detach().clone()
    z.real = z.real * 0
    z.imag[0] = 7
    return z


def part_written(z: Any) -> Any:
    """The gradient through recorded writes into views of both parts."""
    y = z * 1
    y.real.mul_(z.imag.detach() + 3)
    y.imag[0].add_(z.real[1])
    (y * y).abs().sum().backward()
    return z.grad, y.grad_fn.name()


def parts_exchanged(torch: Any, z: Any) -> Any:
    """The same in a second derivative."""
    y = z * 1
    y.real = z.imag * 2
    (g,) = torch.autograd.grad((y * y).abs().sum(), z, create_graph=True)
    return g, *torch.autograd.grad((g.abs() ** 2).sum(), z)


def part_read_after_a_write(z: Any) -> Any:
    y = z * 1
    real = y[::2].real
    y.mul_(1j)
    (real * real).sum().backward()
    return real, z.grad


def pairs_written(torch: Any) -> Any:
    """The gradient of real numbers, written as complex ones."""
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64, requires_grad=True)
    y = x * 1
    z = torch.view_as_complex(y)
    z.mul_(2j)
    z[0] = 1 + 1j
    (y * y * y).sum().backward()
    return x.grad


def stepped(torch: Any, name: str, z: Any) -> Any:
    for _ in range(2):
        z.grad = None
        (z.abs().sum() + z.real.sum()).backward()
        getattr(torch.optim, name)([z], lr=0.1).step()
    return z


def tangents(torch: Any) -> Any:
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(z_of(torch).detach(), torch.tensor([1j, 2, 1 - 1j], dtype=torch.complex128))
        found = [(d * d).abs(), d.sin(), d.conj(), d.real, d.angle(), torch.fft.fft(d)]
        return [fw.unpack_dual(t).tangent for t in found]


RULES = """
after(lambda x: Bad.apply(x).sum(), x_of(torch))
after(lambda z: RealForComplex.apply(z).abs().sum(), z_of(torch))
after(lambda z,x: Mul.apply(z,x*(1+0j)).abs().sum(), z_of(torch),x_of(torch))
after(lambda z,x: Mul.apply(z,x).abs().sum(), z_of(torch),x_of(torch))
after(lambda z: Dirty.apply(z.clone()).abs().sum(), z_of(torch))
z_of(torch).sum().backward()
z_of(torch).backward()
z_of(torch).backward(torch.ones(3,dtype=torch.float64))
(lambda z: (z.backward(torch.ones(3,dtype=torch.complex64)), z.grad))(z_of(torch))[1]
x_of(torch).backward(torch.ones(3,dtype=torch.complex128))
torch.autograd.grad(z_of(torch).sum(), z_of(torch))
setattr(x_of(torch),'grad',torch.ones(3,dtype=torch.complex128))
setattr(z_of(torch),'grad',torch.ones(3,dtype=torch.float64))
torch.zeros(3,dtype=torch.complex128).copy_(x_of(torch))
torch.autograd.grad(z_of(torch).abs().sum(), [], allow_unused=True)
after(lambda x: (x*(2+1j)).abs().sum(), x_of(torch))
after(lambda x: torch.exp(1j*x).real.sum(), x_of(torch))
(lambda z: (lambda y: (y.retain_grad(), y.abs().sum().backward(), y.grad)[2])(z*2))(z_of(torch))
torch.autograd.gradcheck(lambda z: z*z, z_of(torch))
torch.autograd.gradcheck(lambda z: z.abs(), z_of(torch))
torch.autograd.gradcheck(lambda x: torch.exp(1j*x), x_of(torch))
torch.autograd.gradcheck(lambda z,x: (z*x, z.real+x), (z_of(torch),x_of(torch)))
torch.autograd.gradcheck(lambda z: z.conj()*z.angle(), z_of(torch), check_forward_ad=True)
torch.autograd.gradcheck(lambda z: z*z, z_of(torch), fast_mode=True, check_forward_ad=True)
torch.autograd.gradcheck(Pushed.apply, z_of(torch), check_forward_ad=True)
torch.autograd.gradgradcheck(lambda z: z*z*z, z_of(torch))
torch.autograd.gradgradcheck(lambda z: z.abs()*z, z_of(torch))
torch.autograd.gradgradcheck(lambda x: torch.fft.fft(x).abs(), x_of(torch), check_fwd_over_rev=True)
torch.autograd.gradgradcheck(lambda z: torch.fft.ifft(z)**2, z_of(torch), fast_mode=True)
torch.func.grad(lambda z: (z*z).abs().sum())(z_of(torch).detach())
torch.func.grad(lambda z: (z*z).sum())(z_of(torch).detach())
torch.func.jvp(lambda z: (z*z).abs(), (z_of(torch).detach(),), (z_of(torch).detach(),))
(lambda r: (r[0], r[1](torch.ones(3,dtype=torch.complex128))))(torch.func.vjp(lambda z: z*z, z_of(torch).detach()))
torch.func.vmap(lambda z: z*z.conj()+z.abs())(z_of(torch).detach())
torch.func.vmap(torch.fft.fft)(torch.stack([z_of(torch).detach(),z_of(torch).detach()*2]))
torch.func.vmap(torch.func.grad(lambda z: z.abs()*z.real))(z_of(torch).detach())
torch.func.jacrev(lambda z: z*z)(z_of(torch).detach())
torch.func.jacfwd(lambda z: z*z)(z_of(torch).detach())
torch.func.hessian(lambda x: torch.exp(1j*x).real.sum())(x_of(torch).detach())
torch.autograd.functional.jacobian(lambda z: z*z, z_of(torch).detach())
(lambda z: (z.abs().sum().backward(), torch.optim.SGD([z],lr=0.1).step(), z)[2])(z_of(torch))
(z_of(torch)*float('nan')).isnan()
(z_of(torch)==z_of(torch), torch.equal(z_of(torch),z_of(torch)), torch.allclose(z_of(torch),z_of(torch)))
(lambda z: ((z*z).grad_fn._saved_self, z.exp().grad_fn._saved_result))(z_of(torch))
torch.einsum('i,i->',z_of(torch),z_of(torch))
torch.nn.Parameter(z_of(torch).detach()).grad_fn
torch.nn.Linear(2,2,dtype=torch.complex64).double().weight.dtype
torch.nn.Linear(2,2).to(torch.complex64).weight.dtype
torch.ones_like(z_of(torch))
torch.zeros(2,dtype=torch.cdouble)
torch.full_like(z_of(torch),1j)
z_of(torch).new_tensor([1,2j])
z_of(torch).new_ones(2)
after(lambda z: torch.where(z.real>0,z,1j).abs().sum(), z_of(torch))
after(lambda z: z.norm(), z_of(torch))
(1j in z_of(torch), (1+2j) in z_of(torch))
z_of(torch)[1].item()
float(z_of(torch)[0])
z_of(torch).detach().add_(z_of(torch).detach(), alpha=1j)
torch.tensor([1,2]).sub(1j)
torch.tensor([1,2]).add_(1j)
torch.tensor([1,2]).mean(dtype=torch.complex64)
after(lambda z: z.prod().abs(), z_of(torch))
hooked(z_of(torch), lambda g: g * 1j)
hooked(z_of(torch), lambda g: g.real)
hooked(x_of(torch), lambda g: g * 1j)
written(z_of(torch))
multiplied(z_of(torch))
parts_set(z_of(torch))
part_written(z_of(torch))
parts_exchanged(torch, z_of(torch))
part_read_after_a_write(z_of(torch))
pairs_written(torch)
stepped(torch, "SGD", z_of(torch))
stepped(torch, "Adam", z_of(torch))
stepped(torch, "AdamW", z_of(torch))
stepped(torch, "RMSprop", z_of(torch))
stepped(torch, "Adagrad", z_of(torch))
stepped(torch, "Adadelta", z_of(torch))
stepped(torch, "Adamax", z_of(torch))
tangents(torch)
converted(torch, torch.complex64)[:3]
converted(torch, torch.complex64, torch.float32)[:3]
exchanged(torch)
torch.finfo(torch.complex64).eps
torch.promote_types(torch.float64, torch.complex64)
torch.can_cast(torch.complex64, torch.float32)
torch.result_type(torch.ones(1), 1j)
torch.result_type(torch.ones(1, dtype=torch.int64), torch.tensor(1j))
torch.float32.to_complex()
(torch.tensor([1, 2]) * 1j).dtype, (torch.tensor([1.0], dtype=torch.float64) * torch.tensor([1j])).dtype
str(z_of(torch))
str(torch.tensor(1 + 2.5j))
str(torch.arange(40).to(torch.complex64))
str(torch.arange(1200) * (1 - 0.5j))
str(torch.zeros(2, 0, dtype=torch.cfloat))
str(torch.tensor([1 + 1e4j, complex("nan"), 1e-3 - 1j * float("inf")]))
repr(torch.nn.Parameter(z_of(torch).detach()))
float(torch.tensor(2 + 0j)), int(torch.tensor(3 + 0j)), bool(torch.tensor(1j)), complex(torch.tensor(1j))
torch.zeros(2).fill_(1j)
torch.complex(torch.ones(1), torch.ones(1, dtype=torch.float64))
torch.complex(torch.ones(1, dtype=torch.int64), torch.ones(1))
torch.view_as_real(torch.ones(2))
torch.view_as_complex(torch.ones(3))
torch.view_as_complex(torch.ones(2, 2, dtype=torch.int64))
torch.ones(1).imag
z_of(torch).H
torch.ones(2, 2, 2, dtype=torch.cfloat).H
torch.ones(3, dtype=torch.cfloat).mH
"""


def converted(torch: Any, *kinds: Any) -> Any:
    """A layer that was converted in place, and the gradient of its weight."""
    layer = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(0.5)
    for kind in kinds:
        layer.to(kind)
    (layer(torch.ones(2, dtype=kinds[-1])) * (1 + 2j)).abs().sum().backward()
    is_one = isinstance(layer.weight, torch.nn.Parameter), [name for name, _ in layer.named_parameters()]
    return layer.weight.grad, layer.weight.dtype, is_one, type(layer.weight).__name__ == "Parameter"


def exchanged(torch: Any) -> Any:
    """The gradient of a leaf whose data became complex, and real again."""
    t, found = torch.tensor([1.0, 2.0], requires_grad=True), []
    for data in (torch.tensor([1 + 2j, 3.0]), torch.tensor([4.0, 5.0])):
        t.data, t.grad = data, None
        (t * t).abs().sum().backward()
        found.append(t.grad)
    return found


def shown(torch: Any, value: Any) -> Any:
    """A value with complex numbers as pairs: JSON has no others."""
    if isinstance(value, torch.Tensor):
        made_by = None if value.grad_fn is None else value.grad_fn.name()
        numbers = value.detach().resolve_conj()
        numbers = (torch.view_as_real(numbers) if numbers.is_complex() else numbers).double()
        return (
            str(value.dtype),
            value.requires_grad,
            made_by,
            [str(n) if n != n else n + 0.0 for n in numbers.reshape(-1).tolist()],
        )
    if isinstance(value, complex):
        return value.real, value.imag
    if isinstance(value, list | tuple):
        return [shown(torch, each) for each in value]
    return value if isinstance(value, bool | int | float | str | type(None)) else str(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", RULES.strip().split("\n"))
def test_a_rule(torch: Any, text: str) -> Any:
    named = globals() | functions(torch) | {"torch": torch, "F": torch.nn.functional, "re": re}
    torch.utils.checkpoint, torch.optim, torch.func, torch.autograd.forward_ad  # loaded  # noqa: B018
    return shown(torch, eval(text, named))


def test_a_complex_tensor_is_a_tensor_of_a_class_of_its_own() -> None:
    """As DIFFERENCES.md says: the classes of tensors are what compiled functions of real ones test."""
    z, x = z_of(workbench), x_of(workbench)
    assert isinstance(z, workbench.Tensor) and z.__class__ is workbench.Tensor and type(z).__name__ == "Tensor"
    assert type(z) is not type(x) is workbench.Tensor
    assert type(z.real) is type(z.abs()) is workbench.Tensor and type(x * 1j) is type(z)
    assert isinstance(workbench.nn.Parameter(z.detach()), workbench.nn.Parameter)
    own = type("Own", (workbench.Tensor,), {})
    part = z.detach().as_subclass(own)
    assert [type(each) for each in (part, part * part, part.abs())] == [own] * 3
    x.data = z.detach()
    assert type(x) is type(z)
    x.data = z.detach().abs()
    assert type(x) is workbench.Tensor


def test_a_tensor_of_inference_mode_is_refused_what_has_no_complex_meaning() -> None:
    code = "import workbench as torch\nwith torch.inference_mode():\n z = torch.tensor([3 + 4j])\n"
    code += "print(z.norm().item())\ntry:\n torch.relu(z)\nexcept NotImplementedError as error:\n print(error)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "5.0\nclamp is not supported for complex types\n", found.stderr
