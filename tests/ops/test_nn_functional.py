"""torch.nn.functional, softmax, products and losses beside PyTorch's: values, graphs, gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import compare, entries, names, run
from test_ops_torch import flat, kept, told

import workbench as w
from workbench.nn import functional as F

EXPRESSIONS = """
x.softmax(0) | a.softmax(1) | a.softmax(-2) | s.softmax(0) | torch.softmax(A, 1) | a.T.softmax(1) | e.softmax(0)
(a * 1000).softmax(1) | torch.softmax(n, 0, dtype=torch.float64) | x.log_softmax(0) | a.log_softmax(1)
torch.log_softmax(A, -1) | s.log_softmax(0) | (a * 1000).log_softmax(1) | a.T.log_softmax(0) | x.logsumexp(0)
a.logsumexp(1) | torch.logsumexp(a, (0, 1)) | a.logsumexp(0, True) | n.logsumexp(0) | e.logsumexp(0)
(a * 1000).logsumexp(1) | s.logsumexp(0) | torch.addmm(x, a, M[:, :3]) | torch.addmm(M, M[:, :3], M, beta=2, alpha=3)
torch.addmm(c, a, M) | M.addmm(M[:, :3], M) | torch.addmm(s, a, M) | torch.addmm(x, a, A[0].T @ A[1])
torch.outer(x, y) | x.outer(y) | torch.outer(n, x) | x.outer(e) | torch.outer(x, x) | torch.einsum('ij,jk->ik', a, M)
torch.einsum('ij,kj->ik', a, q) | torch.einsum('i,i', x, y) | torch.einsum('i,i->i', x, y)
torch.einsum('i,j->ij', x, y) | torch.einsum('ij->ji', a) | torch.einsum('ij->', a) | torch.einsum('ij->i', a)
torch.einsum('ji', a) | torch.einsum('ii->i', M[:, :3]) | torch.einsum('ii', M[:, :3])
torch.einsum('...j,j->...', a, x) | torch.einsum('...j', a) | torch.einsum('...ij->...ji', A)
torch.einsum('bij,bjk->bik', A, A.mT) | torch.einsum('ij,ij', a, q) | torch.einsum('ij,k->ijk', a, x)
torch.einsum('i,ij,j', x, M[:, :3], y) | torch.einsum('i j, j k -> i k', a, M) | torch.einsum('ij,jk->ik', [a, M])
torch.einsum('', s) | torch.einsum(',->', s, s) | torch.einsum('IJ,iJ->Ii', a, q) | torch.einsum('bij,bij->b', A, A)
torch.einsum('bij,j->bi', A, x) | torch.einsum('...ij,...jk->...ik', A, M) | torch.einsum('ij,ij->j', a, c)
torch.einsum('ij,jk,kl->il', a, M, M.T) | torch.einsum('iij->j', M[:, :3].unsqueeze(2)) | torch.einsum('i...->...', A)
torch.einsum('ij,...->ij...', a, s) | torch.einsum('ij,k->', a, x) | torch.einsum('aij,aik->jk', A, A)
torch.einsum('ij,jk->ki', n.reshape(1, 3), n.reshape(3, 1)) | torch.einsum('i,i->', e, e) | F.softplus(x)
F.softplus(a * 20) | F.silu(a) | F.silu(s) | F.gelu(a) | F.gelu(a, approximate='tanh') | F.leaky_relu(a)
F.leaky_relu(z, 0.2) | F.elu(a) | F.logsigmoid(a * 30) | F.relu(z) | F.sigmoid(x) | F.tanh(x) | F.softmax(a, 1)
F.softmax(a) | F.softmax(A) | F.log_softmax(a) | F.log_softmax(a, dim=0) | F.relu(x.clone(), inplace=True)
F.silu(x.clone(), inplace=True) | F.relu(n) | F.linear(a, M.T) | F.linear(a, M.T, M[0]) | F.linear(x, M.T)
F.linear(x, M.T, M[0]) | F.linear(A, M.T, M[0]) | F.linear(A, M.T) | F.linear(A.transpose(0, 1), M.T, M[0])
F.linear(a, x) | F.linear(x, y) | F.linear(x, y, s) | F.linear(A.unsqueeze(0), M.T, M[0]) | F.layer_norm(a, (3,))
F.layer_norm(a, [3], x, y) | F.layer_norm(a, (2, 3)) | F.layer_norm(A, (2, 3), a, q, 0.1) | F.layer_norm(a, (3,), x)
F.layer_norm(a.T, (2,)) | F.batch_norm(a, None, None, training=True) | F.batch_norm(a, None, None, x, y, True)
F.batch_norm(a, y.detach(), p.detach(), x, y) | F.batch_norm(A, None, None, x[:2], y[:2], True)
F.batch_norm(a, y.detach(), p.detach()) | F.batch_norm(M.reshape(1, 3, 2, 2), None, None, x, None, True, 0.1, 0.5)
(lambda r, v: (F.batch_norm(a, r, v, x, y, True, 0.3), r, v, r._version))(y.detach(), p.detach())
F.dropout(a, 0.5, False) | F.dropout(a, 0.0) | F.dropout(a, 1.0) | F.dropout(a, 0.5, False) is a | F.mse_loss(x, y)
F.mse_loss(a, q, reduction='none') | F.mse_loss(a, q, reduction='sum') | F.mse_loss(a, x) | F.mse_loss(x, n)
F.mse_loss(a, a) | F.mse_loss(s, s.detach()) | F.mse_loss(x, y, size_average=False)
F.nll_loss(a, torch.tensor([0, 2])) | F.nll_loss(a, torch.tensor([0, -100]))
F.nll_loss(a, torch.tensor([-100, -100])) | F.nll_loss(a, torch.tensor([0, 2]), p.detach())
F.nll_loss(a, torch.tensor([0, 2]), reduction='none') | F.nll_loss(a, torch.tensor([0, 2]), reduction='sum')
F.nll_loss(a, torch.tensor([0, 2]), ignore_index=2) | F.nll_loss(x, torch.tensor(1))
F.nll_loss(x, torch.tensor(1), reduction='none') | F.nll_loss(A, torch.tensor([[0, 1, 1], [1, 0, 0]]))
F.nll_loss(A, torch.tensor([[0, 1, 1], [1, 0, 0]]), reduction='none')
F.nll_loss(A.unsqueeze(2), torch.tensor([[[0, 1, 1]], [[1, 0, 0]]]))
F.nll_loss(A, torch.tensor([[0, 1, -100], [1, 0, 0]]), x[:2].detach(), reduction='sum')
F.cross_entropy(a, torch.tensor([0, 2])) | F.cross_entropy(x, torch.tensor(1)) | F.cross_entropy(a, q.softmax(1))
F.cross_entropy(a, q.detach(), reduction='none') | F.cross_entropy(a, q.softmax(1), p.detach(), reduction='sum')
F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, -100]), p.detach(), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='sum', label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='none', label_smoothing=.1)
F.cross_entropy(A, torch.tensor([[0, 1, 1], [1, 0, 0]])) | F.cross_entropy(a, q.detach(), label_smoothing=.2)
F.cross_entropy(x, y.softmax(0))
F.cross_entropy(A, torch.tensor([[0, 1, 1], [1, 0, 0]]), x[:2].detach(), label_smoothing=.1)
F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2)) | F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2), x)
F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 2, 1), y, stride=2, padding=1)
F.conv2d(A.unsqueeze(1), M.reshape(12, 1, 1, 1)[:3], x, stride=(1, 2), padding=(1, 0))
F.conv2d(A.unsqueeze(0), M.reshape(6, 1, 1, 2), groups=2) | F.conv2d(A, M.reshape(3, 2, 1, 2), x)
F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2), dilation=2)
F.conv2d(A.repeat(2, 1, 2, 2), M[:2].reshape(2, 2, 2, 1), c.squeeze(1), (2, 1), (1, 2), (2, 1))
F.conv2d(A.unsqueeze(0), M[:2, :2].reshape(1, 2, 2, 1), padding='valid')
F.conv2d(A.unsqueeze(0), M.reshape(2, 2, 1, 3), padding='same')
F.conv2d(A.unsqueeze(0).transpose(2, 3), M.reshape(3, 2, 1, 2))
F.conv2d(A.unsqueeze(0).float(), M.reshape(3, 2, 1, 2).float()) | F.softplus(x, beta=2, threshold=1.5)
F.elu(a, alpha=0.5) | F.conv2d(A.unsqueeze(0), M.reshape(3, 2, 1, 2), padding='same')
F.softmax(n, 0, dtype=torch.float64)
"""


def spelled(text: str) -> str:
    """`F.` is torch.nn.functional."""
    return text.replace("F.", "torch.nn.functional.")


@pytest.mark.parametrize("text", entries(EXPRESSIONS))
def test_an_expression(text: str) -> None:
    compare(told, spelled(text))


# PyTorch saves the bias of layer_norm and a buffer of logsigmoid as well, which no derivative here reads.
SAVED = [e for e in entries(EXPRESSIONS) if "F.layer_norm" not in e and "F.logsigmoid" not in e]


@pytest.mark.parametrize("text", SAVED)
def test_what_is_saved(text: str) -> None:
    recorded = run(lambda torch: flat(eval(spelled(text), names(torch)))[0].grad_fn, w)
    if recorded.value is not None:
        compare(kept, spelled(text))


ANSWERS = """
a.softmax(3) | n.softmax(0) | a.long().softmax(0) | n.log_softmax(0) | a.logsumexp(4) | a.logsumexp((0, 0))
m.softmax(0) | s.long().softmax(0) | torch.addmm(x, a, M) | torch.addmm(M, a, M) | torch.addmm(x, a, x)
torch.addmm(x, x, a) | torch.addmm(x, a, a) | torch.addmm(x.float(), a, M) | torch.addmm(A, a, M)
torch.addmm(x, a, M.float()) | torch.outer(a, x) | torch.outer(x, a) | F.linear(a, M) | F.linear(a, M.T, x)
F.linear(a, M.T.float()) | F.linear(s, M) | F.linear(A, a, x.float()) | F.linear(A, a.float(), x)
F.linear(A, a.float(), x.float()) | torch.einsum('ij,jk->ik', a, a) | torch.einsum('ii', a)
torch.einsum('i->ii', x) | torch.einsum('i->k', x) | torch.einsum('ij,jk', a) | torch.einsum('ij', a, a)
torch.einsum('ijk', a) | torch.einsum('i1', a) | torch.einsum('i.j', a) | torch.einsum('..i', a)
torch.einsum('ij->i1', a) | torch.einsum('ij,jk->ik', a, M.float()) | torch.einsum('ij...', x)
torch.einsum('i......', a) | torch.einsum('ij->i.', a) | F.conv2d(im, torch.ones(6, 2, 3, 3), groups=2).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), stride=2, padding=1, dilation=2).shape
F.conv2d(im, torch.ones(6, 4, 3, 2), padding='same').shape
F.conv2d(im, torch.ones(6, 4, 4, 2), padding='same').shape
F.conv2d(im, torch.ones(6, 4, 3, 2), padding='valid').shape
F.conv2d(im, torch.ones(6, 4, 3, 2), padding='foo').shape
F.conv2d(im, torch.ones(6, 4, 3, 2), stride=2, padding='same').shape
F.conv2d(im[0], torch.ones(6, 4, 3, 2)).shape | F.conv2d(im[0, 0], torch.ones(6, 4, 3, 2)).shape
F.conv2d(im, torch.ones(6, 3, 3, 2)).shape | F.conv2d(im, torch.ones(6, 4, 6, 2)).shape
F.conv2d(im, torch.ones(6, 4, 3, 2), torch.ones(5)).shape | F.conv2d(im, torch.ones(5, 2, 3, 3), groups=2).shape
F.conv2d(im, torch.ones(6, 4, 3, 3).double()).shape | F.conv2d(im.double(), torch.ones(6, 4, 3, 3)).shape
F.conv2d(im, torch.ones(6, 4, 3)).shape | F.conv2d(im, torch.ones(6, 4, 3, 3), stride=0).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), padding=-1).shape | F.conv2d(im, torch.ones(6, 4, 3, 3), dilation=0).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), stride=(1, 2, 3)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), stride=(1, 2)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), torch.ones(6).double()).shape
F.conv2d(im.long(), torch.ones(6, 4, 3, 3).long()).shape | F.conv2d(im[:0], torch.ones(6, 4, 3, 3)).shape
F.conv2d(im, torch.ones(6, 4, 3, 3), groups=0).shape | F.layer_norm(a, 3) | F.layer_norm(a, (2, 3))
F.layer_norm(a, [3], torch.ones(3), torch.zeros(3), 0.1) | F.layer_norm(a, (2, )) | F.layer_norm(a, (4, ))
F.layer_norm(a, ()) | F.layer_norm(a, (3, ), torch.ones(2)) | F.layer_norm(a, (3, ), None, torch.ones(2))
F.layer_norm(a.double(), (3, ), x) | F.layer_norm(a.double(), (3, ), None, x) | F.layer_norm(n, (3, ), x, x)
F.layer_norm(a.double(), (3, ), x, x.double()) | F.layer_norm(a.double(), (3, ), x.double(), x)
F.layer_norm(a, (3, ), n, n) | F.layer_norm(a, (3, ), x, n) | F.layer_norm(a, (3, ), x.half(), x.half())
F.layer_norm(n, (3, ), n, n) | F.layer_norm(a.double(), (3, ), x[:2]) | F.layer_norm(s.double(), (3, ), x, x)
F.linear(torch.zeros(0), torch.ones(2, 0), torch.ones(2)) | F.linear(torch.zeros(0), torch.ones(2, 3), torch.ones(2))
F.linear(torch.zeros(2, 2, 0), torch.ones(2, 0), x[:2]) | F.linear(torch.zeros(0, 2, 0), torch.ones(2, 0), x[:2])
F.linear(torch.zeros(2, 2, 0), torch.ones(2, 3), torch.ones(2)) | F.linear(torch.zeros(0, 3), torch.ones(2, 3), x[:2])
F.layer_norm(a, (3, ), torch.ones(3).double()) | F.layer_norm(n, (3, )) | F.layer_norm(s, ())
F.batch_norm(a, None, None) | F.batch_norm(a, None, None, training=True)
F.batch_norm(a, torch.zeros(3), torch.ones(3)) | F.batch_norm(a, torch.zeros(2), torch.ones(3))
F.batch_norm(a, torch.zeros(3), torch.ones(3), torch.ones(2))
F.batch_norm(a[:1], torch.zeros(3), torch.ones(3), training=True)
F.batch_norm(x, torch.zeros(3), torch.ones(3)) | F.batch_norm(a, None, torch.ones(3), training=True)
F.batch_norm(a, torch.zeros(3), None, training=False) | F.batch_norm(s, None, None, training=True)
F.batch_norm(n.reshape(1, 3), torch.zeros(3), torch.ones(3)) | F.dropout(a, 1.5) | F.dropout(a, -.1)
F.dropout(n, 0.5) | F.nll_loss(a, torch.tensor([0, 2])) | F.nll_loss(a, torch.tensor([0, 3]))
F.nll_loss(a, torch.tensor([0, -100])) | F.nll_loss(a, torch.tensor([-100, -100]))
F.nll_loss(a, torch.tensor([0, 1, 2])) | F.nll_loss(a, torch.tensor([0., 1.]))
F.nll_loss(a, torch.tensor([0, 1], dtype=torch.int32)) | F.nll_loss(a, torch.tensor([0, 1], dtype=torch.uint8))
F.nll_loss(a, torch.tensor([0, 2]), torch.tensor([1., 2., 3.]))
F.nll_loss(a, torch.tensor([0, 2]), torch.tensor([1., 2.]))
F.nll_loss(a, torch.tensor([0, 2]), torch.tensor([1., 2., 3.]).double())
F.nll_loss(a, torch.tensor([0, 2]), reduction='none') | F.nll_loss(a, torch.tensor([0, 2]), reduction='sum')
F.nll_loss(a, torch.tensor([0, 2]), reduction='foo') | F.nll_loss(a, torch.tensor([0, 2]), ignore_index=2)
F.nll_loss(x, torch.tensor(1)) | F.nll_loss(x, torch.tensor([1])) | F.nll_loss(s, torch.tensor(1))
F.nll_loss(A, torch.zeros(2, 4, dtype=torch.int64)) | F.nll_loss(A, torch.zeros(2, 3, dtype=torch.int64))
F.nll_loss(im, torch.zeros(2, 5, 5, dtype=torch.int64))
F.nll_loss(im, torch.zeros(2, 5, 5, dtype=torch.int64), reduction='none').shape
F.nll_loss(a[:0], torch.tensor([], dtype=torch.int64)) | F.cross_entropy(a, torch.tensor([0, 2]))
F.cross_entropy(x, torch.tensor(1)) | F.cross_entropy(a, torch.ones(2, 3)/3)
F.cross_entropy(a, torch.ones(2, 3)/3, reduction='none')
F.cross_entropy(a, torch.ones(2, 3)/3, torch.tensor([1., 2., 3.]))
F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=1.1)
F.cross_entropy(a, torch.tensor([0, 2]), torch.tensor([1., 2., 3.]), label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='sum', label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2]), reduction='none', label_smoothing=.1)
F.cross_entropy(a, torch.tensor([0, 2, 1])) | F.cross_entropy(a, torch.tensor([0., 2.]))
F.cross_entropy(a, torch.tensor([0, 5])) | F.mse_loss(a, a*2) | F.mse_loss(a, x) | F.mse_loss(a, x[:2])
F.mse_loss(a, a*2, reduction='none') | F.mse_loss(a, a*2, reduction='sum') | F.mse_loss(a, a*2, reduction='foo')
F.mse_loss(a, a.double()) | F.mse_loss(n, n) | F.mse_loss(x, n) | F.mse_loss(a, 2.)
F.mse_loss(a, a, size_average=False)
"""


def answered(torch: Any, text: str) -> Any:
    """An expression over float32 tensors: a matrix, a vector, a batch of matrices, two images of four channels."""
    named = names(torch)
    named |= {name: named[name].detach().float().requires_grad_() for name in ("a", "x", "s")}
    named |= {"A": torch.ones(2, 3, 4), "im": torch.ones(2, 4, 5, 5)}
    return eval(text, named)


@pytest.mark.parametrize("text", entries(ANSWERS))
def test_an_answer_or_a_refusal(text: str) -> None:
    compare(answered, spelled(text))


def test_dropout_keeps_the_mean_and_drops_as_often_as_told() -> None:
    w.manual_seed(0)
    x = w.ones(100, 100, requires_grad=True)
    out = F.dropout(x, 0.25)
    assert set(np.unique(out.detach().numpy())) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(out.mean().item() - 1) < 0.02
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())


def test_dropout_in_place_writes_into_its_input() -> None:
    x = w.ones(10)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert x._version == 1


def test_a_small_network_learns() -> None:
    w.manual_seed(1)
    images = w.randn(20, 1, 6, 6)
    classes = (images[:, 0, :3].mean((1, 2)) > images[:, 0, 3:].mean((1, 2))).long()
    kernel, head = w.randn(4, 1, 3, 3, requires_grad=True), w.randn(2, 64, requires_grad=True)
    losses = []
    for _ in range(60):
        hidden = F.layer_norm(F.gelu(F.conv2d(images, kernel)), (4, 4))
        loss = F.cross_entropy(F.linear(hidden.reshape(20, 64), head), classes)
        for t, g in zip((kernel, head), w.autograd.grad(loss, (kernel, head)), strict=True):
            t.data.sub_(0.1 * g)
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
