"""Operations at their corners: nan, no elements, no dimensions, sizes that do not fit, another dtype, division."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from oracle import chain, compare, entries, names

# Besides the oracle's names: `w` has one nan, `u` nothing else, `k` is whole numbers, `b` a mask, `o` one number, `O`
# two rows of no classes, `R` no rows of three classes, `f` and `g` are divided, and hold fractions of both signs.
NAN = """
w.sign() | w.abs() | w.max() | w.min() | u.max() | u.min() | w.max(0) | w.min(0) | u.max(0) | w.amax() | w.amin(0)
u.amax() | V.amax(1) | V.amin((0, 1)) | V.max(1) | w.median() | u.median() | V.median(1) | x.median() | a.median(1)
a.median(0, True) | s.median() | s.median(0) | e.median() | e.median(0) | a[:0].median(1) | a[:0].median(0)
m.median() | m.median(0) | n.median() | n.median(1) | torch.median(a) | w.argmax() | w.sort() | w.topk(2)
w.sort(descending=True) | w.argsort(descending=True) | w.topk(3, largest=False) | torch.maximum(w, y.detach()[:1])
torch.maximum(y.detach()[:1], w) | torch.minimum(y.detach()[:1], w) | w.clamp(0, 2) | w.clamp(min=0)
w.clamp(min=w.detach()) | w.relu() | F.leaky_relu(w) | F.elu(w) | F.elu(w * 1, inplace=True) | F.gelu(w)
F.softplus(w) | F.silu(w) | F.logsigmoid(w) | w.softmax(0) | w.logsumexp(0) | w.std() | w.norm() | w.norm(1)
w.norm(float('inf')) | u.norm(float('inf')) | V.norm(float('inf'), 1) | w.norm(3) | w.prod() | w.cumsum(0) | w ** 2
w ** 0 | 2 ** w | w.round() | w.floor() | w > 0 | w == w | torch.isnan(w) | F.mse_loss(w, y.detach()[:1].expand(4))
(w * 1).sign_() | (w * 1).abs_() | (w * 1).relu_()
"""
SIZES = """
a.sum_to_size(2, 3) is a | a.sum_to_size(2, 3) | a.sum_to_size(1, 3) | a.sum_to_size((3,)) | a.sum_to_size(())
a.sum_to_size() | a.sum_to_size(2, 4) | a.sum_to_size(4, 2, 3) | a.sum_to_size(-1, 3) | a.sum_to_size(2.0, 3)
a.sum_to_size([1, 1]) | a.sum_to_size(size=(1, 1)) | a.sum_to_size('a') | a.sum_to_size(2, 1, 3)
s.sum_to_size(()) | s.sum_to_size(1) | s.sum_to_size(()) is s | n.sum_to_size(1)
s.movedim(0, 0) | s.movedim((), ()) | s.movedim(-1, 0) | s.moveaxis(0, 0) | s.movedim(1, 0) | s.movedim((0, 0), (0, 0))
a.movedim((), ()) | a.movedim(0, 0) | a.movedim((0, 0), (0, 1)) | a.movedim((0, 1), (0, 0)) | s.swapaxes(0, 0)
s.transpose(0, -1) | s.t() | s.flip(0) | s.flip(()) | s.roll(1) | s.permute() | s.permute(()) | a.permute()
a.permute(()) | a.permute(dims=(1, 0)) | a.permute((1, 0)) | torch.permute(a, (1, 0)) | torch.permute(a)
torch.permute(a, dims=(1, 0)) | a.permute('a') | a.permute(1.0, 0) | a.permute(0, 5) | a.permute(range(2)) | a.view()
a.reshape() | s.view() | s.reshape() | s.reshape(()) | s.view(()) | s.expand(()) | s.expand() | a.expand() | a.repeat()
a.flip() | a.flip(dims=(0,)) | a.repeat(repeats=(1, 2)) | s.expand(size=(2,)) | a.reshape(shape=(3, 2)) | a.reshape('a')
a.view(size=(3, 2)) | torch.zeros(2.0, 3) | torch.ones('a', 3)
F.cross_entropy(O, i[1:]) | F.cross_entropy(O, O.detach()) | F.cross_entropy(O, O.detach(), label_smoothing=0.1)
F.cross_entropy(O, O.detach(), reduction='none') | F.cross_entropy(O, O.detach(), reduction='sum')
F.cross_entropy(O[:0], i[:0]) | F.cross_entropy(R, i[:0]) | F.cross_entropy(R, R.detach())
F.cross_entropy(R, R.detach(), y.detach()) | F.cross_entropy(O[0], O[0].detach()) | F.cross_entropy(O[0], i[0])
F.cross_entropy(O, torch.tensor([-100, -100])) | F.cross_entropy(O, torch.tensor([-100, -100]), reduction='sum')
F.cross_entropy(O, i[1:], reduction='none') | F.nll_loss(O, torch.tensor([-100, -100])) | F.nll_loss(O, i[1:])
F.nll_loss(O, torch.tensor([-100, -100]), reduction='none') | O.softmax(1) | O.log_softmax(0) | O.logsumexp(1)
"""
REFUSED = """
torch.bitwise_not(x) | ~x | torch.add(n.byte(), n.byte(), alpha=-1) | torch.add(n.byte(), n.byte(), alpha=300)
n.byte().sub_(n.byte(), alpha=-1) | torch.addmm(n, n[None], n[:, None], beta=0.5, alpha=2.5)
a.permute(0) | s.unbind(0) | s.unbind(1) | e[i] | A[:, :0][:, i] | torch.index_put(e, (i,), x)
F.mse_loss(n, m) | F.huber_loss(n, n) | F.smooth_l1_loss(n, n) | F.smooth_l1_loss(n, x)
F.binary_cross_entropy_with_logits(n, n) | F.binary_cross_entropy_with_logits(x, n)
F.binary_cross_entropy_with_logits(x, m)
F.binary_cross_entropy(z[:2], z[:2].detach())
func.grad(lambda t: F.binary_cross_entropy(z[:2].detach(), t))(x[:2] / 4)
F.avg_pool2d((A * 8).long(), 2) | F.avg_pool2d(A.int(), 2) | F.avg_pool2d((A * 8).long(), 2, padding=1)
F.linear(m, m[None], m[:1]) | F.linear(m[None], m[None], m[:1])
F.scaled_dot_product_attention(a, a, a.float())
F.batch_norm(a, None, None, x.float(), training=True) | F.batch_norm(a, None, None, x, x.float(), True)
F.batch_norm(a.float(), None, None, x, training=True) | F.batch_norm(a.half(), None, None, x.float(), training=True)
F.batch_norm(a.float(), x.detach().float(), p.detach(), x.float())
F.max_pool2d(A > 0, 1) | F.max_pool2d(A[None][:0], 2)
"""
JOINED = """
torch.vstack([x, y]) | torch.vstack([a, x]) | torch.vstack([s, s]) | torch.vstack([]) | torch.vstack(3)
torch.vstack(a) | torch.hstack([s, s]) | torch.hstack([x, s]) | torch.hstack([a, a]) | torch.hstack([])
torch.hstack(a)
torch.dstack([s, s]) | torch.dstack([x, y]) | torch.dstack([a, a]) | torch.dstack([A, A]) | torch.dstack([])
torch.column_stack([s, s]) | torch.column_stack([x, y]) | torch.column_stack([a, c]) | torch.column_stack([A, A])
torch.column_stack([]) | torch.row_stack([a, x]) | torch.atleast_1d(s) | torch.atleast_2d(x) | torch.atleast_3d(x)
torch.atleast_3d(s) | torch.atleast_3d(a) | torch.atleast_1d(x) is x | torch.atleast_2d(s, x) | torch.atleast_2d([s, x])
"""
DTYPES = """
h.sum(dtype=D) | h.sum(dtype=H) | h.sum(0, dtype=D) | h.sum((0, 1), True, dtype=D) | h.mean(dtype=D)
h.mean(0, dtype=D)
h.prod(dtype=D) | h.prod(0, dtype=D) | h.cumsum(0, dtype=D) | h.cumprod(1, dtype=D) | h.softmax(0, dtype=D)
h.sum(dtype=L) | h.sum(0, dtype=L) | h.prod(dtype=L) | h.prod(0, dtype=L) | h.cumsum(0, dtype=L) | h.cumprod(0, dtype=L)
h.sum(0, dtype=torch.bool) | h.mean(dtype=L) | h.mean(0, dtype=L) | h.sum(dtype=torch.float16) | n.sum(dtype=H)
n.mean(dtype=H) | n.prod(dtype=H) | n.cumsum(0, dtype=H) | n.sum(dtype=torch.int32) | n.sum(dtype=torch.bool)
n.prod(dtype=torch.uint8) | h.detach().sum(dtype=L) | h.detach().cumsum(0, dtype=L) | h.detach().prod(0, dtype=L)
func.grad(lambda h: h.sum(dtype=D))(h) | func.vmap(lambda h: h.sum(dtype=D))(h)
func.vmap(lambda h: h.sum(0, dtype=D))(h)
func.vmap(lambda h: h.prod(dtype=D))(h.detach()) | func.vmap(lambda h: h.median())(h.detach())
func.jvp(lambda h: h.prod(dtype=D), (h.detach(),), (h.detach(),))
func.jvp(lambda h: h.cumsum(0, dtype=D), (h.detach(),), (h.detach(),))
"""
DIVIDED = """
f % 3 | f % -3 | f.fmod(3) | f.fmod(-3) | f % g | f.fmod(g) | f % g[:1] | f % x[0] | torch.remainder(f, 3)
torch.fmod(f, g) | torch.remainder(7, f) | 7 % f | 7 % n | 7 // n | n % 3 | n // 3 | n.fmod(3) | n % 2.5 | n // 2.5
n % 0 | n // 0 | n.fmod(0) | (f // 3).sum().backward() | repr(f // 3) | (7 // f).grad_fn | f // 3 | f // g | 7 // f
f.floor_divide(g) | torch.floor_divide(7, f) | f % 0 | f // 0 | f.fmod(0) | f % float('inf') | f // float('inf')
f % float('-inf') | f.fmod(float('inf')) | w % 2 | w // 2 | m % 2 | m // 2 | m % m | m // m | m.fmod(m) | m.fmod(2)
m % True | f % 'a' | f // None | 'a' % f | [1] // f | divmod(f, 2) | f % x | f // x | n.byte() % 3 | n.byte() // -1
torch.tensor(5.0) % n | n % torch.tensor(2.5) | np.float32(7) % f.detach() | f % np.float64(3)
(f * 1).remainder_(3) | (f * 1).remainder_(g) | (f * 1).fmod_(3) | (f * 1).floor_divide_(3).sum().backward()
f.detach().floor_divide_(3) | f.remainder_(3) | n.remainder_(2.5) | n.floor_divide_(2.5) | n.clone().remainder_(2)
n.clone().floor_divide_(2) | (f * 1).__imod__(3) | (f * 1).detach().__ifloordiv__(3)
f.div(2, rounding_mode='trunc') | f.div(g, rounding_mode='floor')
n.div(2, rounding_mode='trunc') | n.div(0, rounding_mode='trunc') | n.div(2, rounding_mode='up') | n.div(2)
m.div(m, rounding_mode='floor') | m.div(m, rounding_mode='trunc') | (f * 1).div_(2, rounding_mode='floor')
n.clone().div_(2, rounding_mode='floor') | n.clone().div_(2)
func.jvp(lambda f: f % 2, (f.detach(),), (f.detach(),)) | func.jvp(lambda f: f % f, (f.detach(),), (f.detach(),))
func.jvp(lambda f: f // 2, (f.detach(),), (f.detach(),)) | func.grad(lambda f: (f % 2).sum())(f.detach())
func.grad(lambda f: (f // 2).sum())(f.detach()) | func.vmap(lambda f: (f // 2, f % 2, 7 % f))(f.detach())
"""
OFFSETS = """
x.storage_offset() | x[2:].storage_offset() | M[1, 1:].storage_offset() | M[::2].storage_offset() | s.storage_offset()
M[1:].clone().storage_offset() | M.t().storage_offset() | M.t()[1].storage_offset() | M.flip(0).storage_offset()
M.detach()[1].storage_offset() | M[1].data.storage_offset() | M[1][1:].storage_offset() | M[1].detach().storage_offset()
"""
POWERS = "0 ** h | 0.0 ** h | 0 ** (h - 1) | torch.pow(0, h) | 2 ** h | func.grad(lambda h: (0 ** h).sum())(h.detach())"


def words(torch: Any) -> dict[str, Any]:
    """The names that an entry may use."""
    named, nan, exact = names(torch), float("nan"), {"dtype": torch.float64, "requires_grad": True}
    named |= {"F": torch.nn.functional, "func": torch.func, "D": torch.float64, "H": torch.float32, "L": torch.int64}
    named |= {"w": torch.tensor([1.0, nan, -2.0, 0.0], **exact), "u": torch.tensor([nan, nan], **exact)}
    named |= {"V": torch.tensor([[1.0, nan, nan], [2.0, 1.0, 3.0]], **exact), "O": torch.zeros(2, 0, **exact)}
    named |= {"R": torch.zeros(0, 3, **exact), "h": torch.tensor([[1.0, 2.0], [0.5, 3.0]], requires_grad=True)}
    return named | {"f": torch.tensor([5.5, -5.5, 4.0], **exact), "g": torch.tensor([2.0, 3.0, -3.0], **exact)}


@pytest.mark.parametrize("text", entries(NAN + SIZES + REFUSED + JOINED + DTYPES + DIVIDED + OFFSETS + POWERS))
def test_a_corner(text: str) -> None:
    def program(torch: Any) -> Any:
        named = words(torch)
        seen = eval(text, named)
        first = seen[0] if isinstance(seen, tuple) and seen else seen
        if not isinstance(first, torch.Tensor) or not first.requires_grad or "NotImpl" in first.grad_fn.name():
            return seen
        first.sum().backward()
        leaves = [t for t in named.values() if isinstance(t, torch.Tensor) and t.is_leaf and t.grad is not None]
        return seen, chain(first.grad_fn), [t.grad for t in leaves]

    compare(program)


SHAPES = [(2,), (2, 2), (1, 2, 2), (3, 2, 2), (4, 1, 2, 2), (3, 1, 2), (3, 2, 1), (0, 2), (3, 0, 2), (0,)]


@pytest.mark.parametrize("left, right", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("shapes", list(itertools.product(SHAPES, SHAPES)), ids=str)
def test_every_kind_of_matrix_product(shapes: Any, left: bool, right: bool) -> None:
    """One product where PyTorch computes one, a batch where it computes a batch; and what it says of sizes."""

    def program(torch: Any) -> Any:
        a, b = (torch.ones(shape).cumsum(0).requires_grad_(on) for shape, on in zip(shapes, (left, right), strict=True))
        out = a @ b
        out.sum().backward()
        return chain(out.grad_fn), out.sum(), a.grad is None or a.grad.sum(), b.grad is None or b.grad.sum()

    compare(program)


def test_a_product_with_what_is_not_in_order() -> None:
    def program(torch: Any) -> Any:
        batch = torch.ones(3, 4, 2).cumsum(0)
        one = torch.ones(2, 2, requires_grad=True)
        turned = [batch.transpose(0, 1), batch[:, ::2], batch.mT.contiguous().mT]
        found = [(t.requires_grad_() @ one.detach(), t @ one) for t in turned]
        return [(chain(a.grad_fn), chain(b.grad_fn), (a - b).abs().max().item()) for a, b in found]

    compare(program)


# Targets and the classes' weights: the weights of all that counts may be 0.
WEIGHED = """
[0, 0], [0, 0, 0] | [0, 2], [0, 0, 0] | [0, 0], [0, 1, 2] | [-100, 0], [0, 1, 2] | [-100, -100], [0, 0, 0]
[0, 1], [0, 1, 2] | [-100, -100], None | [0, 2], [1, 0, -1] | [0, 1], [1, -1, 0]
"""


@pytest.mark.parametrize("loss", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("text", entries(WEIGHED))
def test_weights_that_sum_to_0(text: str, loss: str) -> None:
    def program(torch: Any) -> Any:
        target, weight = eval(text)
        weight = None if weight is None else torch.tensor([float(w) for w in weight])
        rows = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], requires_grad=True)
        images = rows.detach().t()[None, :, :, None].contiguous().requires_grad_()
        seen = []
        for x, t in ((rows, torch.tensor(target)), (images, torch.tensor(target)[None, :, None])):
            for reduction in ("mean", "sum"):
                out = getattr(torch.nn.functional, loss)(x, t, weight, reduction=reduction)
                seen += [out.item(), torch.autograd.grad(out, x)[0].tolist()]
        return seen

    compare(program)


@pytest.mark.parametrize("join", ["cat", "stack"])
def test_what_a_hook_sees_of_integers_that_were_joined(join: str) -> None:
    def program(torch: Any, join: str) -> Any:
        x, seen = torch.ones(2, requires_grad=True), []
        others = torch.tensor([1, 2]), torch.tensor([True, False]), torch.ones(2, dtype=torch.float64)
        joined = getattr(torch, join)([x, *others])
        joined.grad_fn.register_hook(lambda grads, _: seen.extend(grads))
        joined.sum().backward()
        return seen, x.grad

    compare(program, join)


BATCHES = """
torch.matmul(a[None], M) | torch.matmul(a[None, :, :2], M[:2]) | torch.matmul(a[:, None], M)
torch.matmul(a.T[None], c)
torch.matmul(M.T, a.T[None]) | torch.matmul(M[:, 0], a.T[None]) | torch.matmul(a[None], M[:, 0]) | A @ M | A[:, :1] @ M
A.transpose(0, 1) @ M | F.linear(a[None, :, :2], M[:2].T) | a[:, None].expand(2, 4, 3) @ M
"""


@pytest.mark.parametrize("text", entries(BATCHES))
def test_whether_a_batch_is_folded_into_one_product(text: str) -> None:
    def program(torch: Any) -> Any:
        named = {name: t.detach() for name, t in names(torch).items() if name in ("M", "c")}
        out = eval(text, names(torch) | named | {"F": torch.nn.functional})
        return out, chain(out.grad_fn)

    compare(program)
