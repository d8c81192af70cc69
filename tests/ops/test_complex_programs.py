"""Programs with complex tensors as people publish them, run unchanged under PyTorch and the workbench."""

from __future__ import annotations

import math
from typing import Any

import pytest


def pairs(torch: Any, *tensors: Any) -> list[Any]:
    """Tensors as real numbers: JSON has no others."""
    shown = []
    for t in tensors:
        t = t.detach()
        t = torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
        shown.append((str(t.dtype), (t.double() + 0.0).tolist()))
    return shown


def filled(torch: Any, *shape: int, phase: float = 0.0) -> Any:
    return torch.sin(torch.arange(math.prod(shape), dtype=torch.float64) * 1.3 + phase).reshape(shape)


def trained(
    torch: Any, parameters: list[Any], loss_of: Any, steps: int = 4, rate: float = 0.05, name: str = "SGD"
) -> Any:
    optimizer = getattr(torch.optim, name)(parameters, lr=rate)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses, pairs(torch, *parameters)


def spectral_convolution(torch: Any) -> Any:
    """One layer of a Fourier neural operator (Li et al., 2021)."""

    class SpectralConv1d(torch.nn.Module):
        def __init__(self, width: int, modes: int) -> None:
            super().__init__()
            self.modes = modes
            self.weights = torch.nn.Parameter(
                torch.complex(filled(torch, width, width, modes), filled(torch, width, width, modes, phase=1.0))
            )

        def forward(self, x: Any) -> Any:
            x_ft = torch.fft.rfft(x)
            out_ft = torch.zeros(x.shape[0], x.shape[1], x.size(-1) // 2 + 1, dtype=torch.cdouble)
            out_ft[:, :, : self.modes] = torch.einsum("bix,iox->box", x_ft[:, :, : self.modes], self.weights)
            return torch.fft.irfft(out_ft, n=x.size(-1))

    layer, x, target = SpectralConv1d(2, 3), filled(torch, 2, 2, 8), filled(torch, 2, 2, 8, phase=0.4)
    return trained(torch, list(layer.parameters()), lambda: (layer(x) - target).pow(2).mean(), name="Adam")


def fourier_operator_2d(torch: Any) -> Any:
    """A spectral layer over images, with the usual skip."""
    weight = torch.complex(filled(torch, 1, 1, 2, 2), filled(torch, 1, 1, 2, 2, phase=2.0)).requires_grad_()
    skip = filled(torch, 1, 1).requires_grad_()
    x = filled(torch, 2, 1, 4, 4)

    def loss() -> Any:
        x_ft = torch.fft.rfft2(x)
        low = torch.einsum("bixy,ioxy->boxy", x_ft[:, :, :2, :2], weight)
        full = torch.nn.functional.pad(low, (0, 1, 0, 2))
        y = torch.fft.irfft2(full, s=(4, 4)) + torch.einsum("bixy,io->boxy", x, skip)
        return torch.nn.functional.gelu(y).square().mean()

    return trained(torch, [weight, skip], loss)


def cosine_transform(torch: Any) -> Any:
    """The DCT-II by a Fourier transform, as torch-dct computes it."""

    def dct(x: Any) -> Any:
        n = x.shape[-1]
        v = torch.cat([x[:, ::2], x[:, 1::2].flip([1])], dim=1)
        vc = torch.view_as_real(torch.fft.fft(v, dim=1))
        k = -torch.arange(n, dtype=x.dtype)[None, :] * math.pi / (2 * n)
        return 2 * (vc[:, :, 0] * torch.cos(k) - vc[:, :, 1] * torch.sin(k))

    x = filled(torch, 2, 6).requires_grad_()
    out = dct(x)
    out.square().sum().backward()
    return pairs(torch, out, x.grad)


def phase_retrieval(torch: Any) -> Any:
    """Wirtinger flow: find a signal from the moduli of its measurements (Candes et al., 2015)."""
    a = torch.complex(filled(torch, 8, 3), filled(torch, 8, 3, phase=0.7))
    signal = torch.tensor([1 + 1j, -0.5j, 0.7 - 0.2j], dtype=torch.cdouble)
    measured = (a @ signal).abs().square()
    z = (signal + 0.3).clone().requires_grad_()
    return trained(torch, [z], lambda: ((a @ z).abs().square() - measured).square().mean(), rate=0.005)


def unitary_cell(torch: Any) -> Any:
    """A step of a unitary RNN: phases, a Fourier transform, a reflection, and modReLU (Arjovsky et al., 2016)."""
    phases, bias = filled(torch, 4).requires_grad_(), (filled(torch, 4, phase=1.0) * 0.1).requires_grad_()
    v = torch.complex(filled(torch, 4), filled(torch, 4, phase=0.3)).requires_grad_()
    inputs = filled(torch, 3, 4)

    def loss() -> Any:
        h = torch.zeros(4, dtype=torch.cdouble) + 0.5
        for x in inputs:
            h = torch.fft.fft(h * torch.exp(1j * phases), norm="ortho")
            h = h - 2 * v * torch.vdot(v, h) / torch.vdot(v, v).real
            h = torch.fft.ifft(h, norm="ortho") + x
            size = h.abs()
            h = torch.relu(size + bias) * h / (size + 1e-5)
        return h.abs().square().sum() + h.real.sum()

    return trained(torch, [phases, bias, v], loss, rate=0.01)


def wirtinger_descent(torch: Any) -> Any:
    """A root of a polynomial by steepest descent on the squared modulus."""
    z = torch.tensor(0.5 + 0.5j, dtype=torch.cdouble, requires_grad=True)
    path = []
    for _ in range(5):
        loss = (z**3 - 1).abs() ** 2
        (grad,) = torch.autograd.grad(loss, z)
        with torch.no_grad():
            z -= 0.02 * grad
        path.append(loss.item())
    return path, pairs(torch, z)


def quantum_circuit(torch: Any) -> Any:
    """Rotations of a qubit and an expectation, whose gradient the parameter-shift rule gives too."""

    def state(theta: Any, phi: Any) -> Any:
        zero, one = torch.cos(theta / 2), torch.sin(theta / 2)
        ry = torch.stack([torch.stack([zero, -one]), torch.stack([one, zero])]).to(torch.cdouble)
        rz = torch.diag(torch.stack([torch.exp(-0.5j * phi), torch.exp(0.5j * phi)]))
        return rz @ ry @ torch.tensor([1, 0], dtype=torch.cdouble)

    x_gate = torch.tensor([[0, 1], [1, 0]], dtype=torch.cdouble)

    def expectation(theta: Any, phi: Any) -> Any:
        psi = state(theta, phi)
        return torch.real(psi.conj() @ x_gate @ psi)

    theta, phi = (torch.tensor(t, dtype=torch.float64, requires_grad=True) for t in (0.6, 0.8))
    value = expectation(theta, phi)
    grads = torch.autograd.grad(value, (theta, phi))
    shifted = (expectation(theta + math.pi / 2, phi) - expectation(theta - math.pi / 2, phi)) / 2
    return pairs(torch, value, *grads), bool(torch.allclose(grads[0], shifted))


def complex_batch_norm(torch: Any) -> Any:
    """Naive complex batch normalization: both parts alike."""
    layer = torch.nn.Linear(3, 2, dtype=torch.cdouble)
    with torch.no_grad():
        layer.weight.copy_(torch.complex(filled(torch, 2, 3), filled(torch, 2, 3, phase=0.5)))
        layer.bias.zero_()
    x = torch.complex(filled(torch, 5, 3, phase=1.0), filled(torch, 5, 3, phase=2.0))

    def loss() -> Any:
        y = layer(x)
        y = (y - y.mean(0)) / (y.var(0) + 1e-5).sqrt()
        return (torch.complex(torch.relu(y.real), torch.relu(y.imag)) - 0.2).abs().square().mean()

    return trained(torch, list(layer.parameters()), loss, name="Adam")


def optics(torch: Any) -> Any:
    """A phase mask propagated by the angular spectrum, trained to focus light."""
    mask = (filled(torch, 4, 4) * 0.3).requires_grad_()
    fx = torch.fft.fftfreq(4, 1.0, dtype=torch.float64)
    kernel = torch.exp(-1j * math.pi * (fx[:, None] ** 2 + fx[None, :] ** 2))

    def loss() -> Any:
        field = torch.fft.ifft2(torch.fft.fft2(torch.exp(1j * mask)) * kernel)
        light = field.abs() ** 2
        return -light[1, 2] / light.sum()

    return trained(torch, [mask], loss, rate=0.5)


def low_pass(torch: Any) -> Any:
    """A learned filter over frequencies that are shifted to the middle."""
    gain = torch.ones(6, dtype=torch.float64, requires_grad=True)
    x = filled(torch, 6)

    def loss() -> Any:
        spectrum = torch.fft.fftshift(torch.fft.fft(x))
        return torch.fft.ifft(torch.fft.ifftshift(spectrum * gain)).real.diff().square().sum()

    return trained(torch, [gain], loss)


def rotary_embedding(torch: Any) -> Any:
    """Rotary positions as LLaMA computes them: pairs of features, turned as complex numbers."""

    def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0) -> Any:
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
        t = torch.arange(end, device=freqs.device)
        freqs = torch.outer(t, freqs).float()
        return torch.polar(torch.ones_like(freqs), freqs)

    def apply_rotary_emb(xq: Any, xk: Any, freqs_cis: Any) -> Any:
        xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
        xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
        freqs_cis = freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])
        xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
        xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
        return xq_out.type_as(xq), xk_out.type_as(xk)

    q, k = (filled(torch, 1, 3, 2, 4, phase=p).float().requires_grad_() for p in (0.0, 1.0))
    turned = apply_rotary_emb(q, k, precompute_freqs_cis(4, 3))
    scores = torch.einsum("bqhd,bkhd->bhqk", *turned).softmax(-1)
    (scores * scores).sum().backward()
    return pairs(torch, scores, q.grad, k.grad)


def diagonal_state_space(torch: Any) -> Any:
    """The convolution kernel of S4D, whose states are complex exponentials (Gu et al., 2022)."""

    class S4DKernel(torch.nn.Module):
        def __init__(self, d_model: int, n: int) -> None:
            super().__init__()
            c = torch.complex(filled(torch, d_model, n // 2).float(), filled(torch, d_model, n // 2, phase=1.0).float())
            self.C = torch.nn.Parameter(torch.view_as_real(c).clone())
            self.log_dt = torch.nn.Parameter(filled(torch, d_model).float() - 2)
            self.log_A_real = torch.nn.Parameter(torch.log(0.5 * torch.ones(d_model, n // 2)))
            self.A_imag = torch.nn.Parameter(math.pi * torch.arange(n // 2).float().repeat(d_model, 1))

        def forward(self, length: int) -> Any:
            dt = torch.exp(self.log_dt)
            c = torch.view_as_complex(self.C)
            a = -torch.exp(self.log_A_real) + 1j * self.A_imag
            dt_a = a * dt.unsqueeze(-1)
            k = dt_a.unsqueeze(-1) * torch.arange(length)
            c = c * (torch.exp(dt_a) - 1.0) / a
            return 2 * torch.einsum("hn, hnl -> hl", c, torch.exp(k)).real

    kernel, u = S4DKernel(2, 4), filled(torch, 1, 2, 5).float()

    def loss() -> Any:
        k_f = torch.fft.rfft(kernel(5), n=10)
        y = torch.fft.irfft(torch.fft.rfft(u, n=10) * k_f, n=10)[..., :5]
        return (y - u).square().mean()

    return trained(torch, list(kernel.parameters()), loss, name="AdamW", rate=0.01)


def holographic_binding(torch: Any) -> Any:
    """Vectors bound by circular convolution and released by correlation (Plate, 1995)."""

    def bind(a: Any, b: Any) -> Any:
        return torch.fft.irfft(
            torch.mul(torch.fft.rfft(a, norm="ortho"), torch.fft.rfft(b, norm="ortho")), norm="ortho"
        )

    def unbind(s: Any, a: Any) -> Any:
        return torch.fft.irfft(torch.mul(torch.fft.rfft(s, norm="ortho"), torch.conj(torch.fft.rfft(a, norm="ortho"))))

    key, value = filled(torch, 8).requires_grad_(), filled(torch, 8, phase=1.0).requires_grad_()
    found = unbind(bind(key, value) + bind(value, value), key)
    loss = 1 - torch.nn.functional.cosine_similarity(found, value, dim=0)
    loss.backward()
    return pairs(torch, loss, key.grad, value.grad)


def undersampled_resonance(torch: Any) -> Any:
    """An image from half of its k-space, with a denoising step between steps of data consistency."""

    def data_consistency(k: Any, k0: Any, mask: Any) -> Any:
        return (1 - mask) * k + mask * k0

    weight = (filled(torch, 2, 2, 3, 3) * 0.1).requires_grad_()
    image = torch.complex(filled(torch, 4, 4), filled(torch, 4, 4, phase=0.5))
    mask = (torch.arange(4)[:, None] % 2 == 0).double().expand(4, 4)
    k0 = torch.fft.fft2(image, norm="ortho") * mask

    def loss() -> Any:
        x = torch.fft.ifft2(k0, norm="ortho")
        for _ in range(2):
            channels = torch.stack([x.real, x.imag])[None]
            channels = channels + torch.nn.functional.conv2d(channels, weight, padding=1)
            x = torch.complex(channels[0, 0], channels[0, 1])
            x = torch.fft.ifft2(data_consistency(torch.fft.fft2(x, norm="ortho"), k0, mask), norm="ortho")
        return torch.view_as_real(x - image).square().sum()

    return trained(torch, [weight], loss, rate=0.1)


def complex_relu(torch: Any) -> Any:
    """modReLU as a custom Function, once differentiable, between complex linear layers."""

    class ModReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any, b: Any) -> Any:
            ctx.save_for_backward(z, b)
            return torch.relu(z.abs() + b) * z.sgn()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            z, b = ctx.saved_tensors
            size, unit = z.abs(), z.sgn()
            on = (size + b > 0).to(size.dtype)
            along = (grad * unit.conj()).real
            across = grad - along * unit
            return on * (along * unit + across * (size + b) / size), (on * along).sum(0)

    z = torch.complex(filled(torch, 3, 2), filled(torch, 3, 2, phase=0.4)).requires_grad_()
    b = torch.tensor([-0.3, 0.2], dtype=torch.float64, requires_grad=True)
    good = torch.autograd.gradcheck(ModReLU.apply, (z, b))
    weight = torch.complex(filled(torch, 2, 2), filled(torch, 2, 2, phase=2.0)).requires_grad_()
    (ModReLU.apply(z @ weight, b) @ weight.mH).abs().sum().backward()
    return good, pairs(torch, z.grad, b.grad, weight.grad)


def ground_state(torch: Any) -> Any:
    """The least eigenvalue of a Hermitian matrix, by descent over unitary matrices and by `eigh`."""
    a = torch.complex(filled(torch, 3, 3), filled(torch, 3, 3, phase=0.9))
    h = a + a.mH
    generator = torch.complex(filled(torch, 3, 3, phase=2.0), filled(torch, 3, 3, phase=1.0)).requires_grad_()

    def loss() -> Any:
        skew = generator - generator.mH
        eye = torch.eye(3, dtype=torch.cdouble)
        unitary = torch.linalg.solve(eye + skew, eye - skew)
        psi = unitary[:, 0]
        return torch.vdot(psi, h @ psi).real

    field = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    least = torch.linalg.eigh(h + field * torch.diag(torch.arange(3.0, dtype=torch.float64)))[0][0]
    least.backward()
    return trained(torch, [generator], loss, steps=6, rate=0.1), pairs(torch, least, field.grad)


def fourier_operator(torch: Any) -> Any:
    """The block of a Fourier neural operator: a spectral layer, a pointwise convolution, a GELU, twice."""

    class SpectralConv1d(torch.nn.Module):
        def __init__(self, in_channels: int, out_channels: int, modes1: int) -> None:
            super().__init__()
            self.in_channels, self.out_channels, self.modes1 = in_channels, out_channels, modes1
            self.scale = 1 / (in_channels * out_channels)
            shape = in_channels, out_channels, modes1
            self.weights1 = torch.nn.Parameter(
                self.scale * torch.complex(filled(torch, *shape).float(), filled(torch, *shape, phase=0.2).float())
            )

        def compl_mul1d(self, input: Any, weights: Any) -> Any:
            return torch.einsum("bix,iox->box", input, weights)

        def forward(self, x: Any) -> Any:
            batchsize = x.shape[0]
            x_ft = torch.fft.rfft(x)
            out_ft = torch.zeros(batchsize, self.out_channels, x.size(-1) // 2 + 1, device=x.device, dtype=torch.cfloat)
            out_ft[:, :, : self.modes1] = self.compl_mul1d(x_ft[:, :, : self.modes1], self.weights1)
            return torch.fft.irfft(out_ft, n=x.size(-1))

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.ModuleList([SpectralConv1d(2, 2, 3) for _ in range(2)])
            self.w = torch.nn.ModuleList([torch.nn.Conv1d(2, 2, 1) for _ in range(2)])
            with torch.no_grad():
                for layer in self.w:
                    layer.weight.copy_(filled(torch, 2, 2, 1))
                    layer.bias.zero_()

        def forward(self, x: Any) -> Any:
            for conv, w in zip(self.conv, self.w, strict=True):
                x = torch.nn.functional.gelu(conv(x) + w(x))
            return x

    block, x = Block(), filled(torch, 2, 2, 6).float()
    target = filled(torch, 2, 2, 6, phase=0.5).float()
    scores, _ = trained(torch, list(block.parameters()), lambda: (block(x) - target).square().mean(), 5, 0.01, "Adam")
    return scores, sorted(block.state_dict()), sum(p.numel() for p in block.parameters())


PROGRAMS = (
    *(spectral_convolution, fourier_operator_2d, cosine_transform, phase_retrieval, unitary_cell),
    *(wirtinger_descent, quantum_circuit, complex_batch_norm, optics, low_pass),
    *(rotary_embedding, diagonal_state_space, holographic_binding, undersampled_resonance, complex_relu),
    *(ground_state, fourier_operator),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [program.__name__ for program in PROGRAMS])
def test_a_program(torch: Any, name: str) -> Any:
    return globals()[name](torch)
