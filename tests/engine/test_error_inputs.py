"""Calls of the engine's functions at their edges: each answers or refuses as PyTorch's does, in the same words."""

from __future__ import annotations

import collections
import copy
import pickle
from types import MappingProxyType
from typing import Any

import pytest
from functions import function
from oracle import entries, names, raised


def graph(torch: Any) -> dict[str, Any]:
    """Leaves, what was computed of them, and what differentiates.

    `x`, `y` and `w` are leaves, `d` is `x * 2`, `q` is `x * x`, `out` their sum; `f` is of a custom Function, `plain`
    doesn't require grad, `t` is an inference tensor.
    """
    named = names(torch)
    x, plain = named["x"], torch.ones(3, dtype=torch.float64)
    with torch.inference_mode():
        named["t"] = plain.clone()
    named |= {"w": plain.clone().requires_grad_(), "d": x * 2, "q": x * x, "out": (x * x).sum(), "plain": plain}
    named["f"] = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, name="Twice").apply(x)
    named |= {"grad": torch.autograd.grad, "backward": torch.autograd.backward, "raised": raised}
    named |= {"edge": torch.autograd.graph.get_gradient_edge, "Edge": torch.autograd.graph.GradientEdge}
    named |= {"multi": torch.autograd.graph.register_multi_grad_hook, "copy": copy, "pickle": pickle}
    named |= {"ordered": collections.OrderedDict, "proxy": MappingProxyType, "nograd": torch.no_grad()}
    named |= {"check": torch.autograd.gradcheck, "again": torch.autograd.gradgradcheck, "of": torch.utils.checkpoint}
    return named


OUTPUTS_AND_INPUTS = """
grad(out, [x, y]) | grad(out, y, allow_unused=False) | grad(out, [x, y, d], allow_unused=True) | grad(q.sum(), x * 1)
grad(out, plain) | grad(out, [x, plain]) | grad(plain.sum(), x) | grad([out, plain.sum()], x) | grad(plain, plain)
grad([out, plain.sum()], plain) | plain.sum().backward() | backward([out, plain.sum()]) | plain.backward(plain)
grad(out, []) | grad(out, ()) | out.backward(inputs=[]) | backward(out, inputs=()) | out.backward(inputs=[plain])
out.backward(inputs=[x, plain]) | out.backward(inputs=[plain, 3]) | grad(out, (t for t in [x])) | grad(out, iter([x]))
grad((t for t in [out]), x) | grad(out, ordered(a=x)) | out.backward(inputs=ordered(a=x)) | grad(out, proxy({"a": x}))
out.backward(inputs=proxy({"a": x})) | grad(out, {}) | out.backward(inputs={}) | grad((), x, allow_unused=True)
grad((), x) | (backward(()), backward((), inputs=x), x.grad) | (backward([d.sum(), (d * 3).sum()]), x.grad)
(raised(grad, out, (x, y)), raised(grad, out, x))
type(grad(out, {"a": x})).__name__ | list(grad((x * y).sum(), {"b": y, "a": x, "w": w}, allow_unused=True).items())
(x.sum().backward(inputs={"b": y, "a": x}), x.grad, y.grad) | list(grad(out, {"b": y, "a": x}, materialize_grads=True))
grad(out, {"b": y, "a": x}, materialize_grads=True) | grad(out, [x, a], materialize_grads=True)
grad(out, [x, a], materialize_grads=True, create_graph=True) | grad(out, x, materialize_grads=True, allow_unused=False)
grad(d, [x, d, x], plain) | grad(x, x, plain) | grad(d, d, plain) | grad([d.sum(), (d * d).sum()], [d, x])
"""
SEEDS = """
(lambda g: (g, grad(g.sum(), (y, x))))(grad(q, x, y, create_graph=True)[0]) | grad(x.sum(), x)[0].mul_(2.0)
(lambda g: (g.stride(), g.is_contiguous(), g.zero_()))(grad(x.sum(), x)[0]) | (x.sum().backward(), x.grad.stride())
grad((x * 3).sum().reshape(1, 1), x) | grad((x * 3)[:1], x) | d.backward() | grad([out, d], x) | grad(d, x, plain[:2])
grad(d, x, plain[None]) | grad(d, x, s.detach()) | grad(out, x, plain[:1]) | grad(d, x, 2.0) | grad(d, x, [1.0, 1.0])
grad(d, x, "a") | grad(d, x, [None]) | grad(d, x, [2]) | grad(d, x, (plain, plain)) | d.backward(2.0)
grad(d, x, torch.ones(3)) | grad(d, x, n) | grad(d, x, m) | grad(x, x, torch.ones(3)) | grad(x, x, n) | grad(x, x, m)
grad([d, d], x, plain) | grad([d, d], x, [plain]) | backward([d, d], [plain]) | grad(d, x, [plain, plain, 3.0])
grad([d, d], x, [plain, plain * 10]) | grad([d, x], x, [plain, plain * 10]) | backward(d, plain, grad_variables=plain)
(backward(d, grad_variables=plain), x.grad) | grad(out, x, only_inputs=False)
"""
EDGES = """
(out.backward(inputs=[y, w * 2]), y.grad, x.grad)
(lambda u: (out.backward(inputs=[u]), u.grad, u.retains_grad))(y * 2)
grad(edge(out), x) | grad(edge(q), x, plain) | grad(edge(q), x, torch.ones(4)) | grad(edge(q), x) | edge(plain)
grad([edge(out), out], x) | grad(out, edge(x)) | grad(out, [edge(q), x]) | grad(out, {"a": edge(q)})
grad(out, edge(w)) | grad(out, edge(w), None, None, False, True, True) | grad(out, Edge(None, 0))
grad(edge(x), x, plain) | grad(edge(f), x, plain) | grad(edge(f), x) | grad((d * 3).sum(), edge(d))
grad([edge(d), (d * 3).sum()], x, [plain, None]) | (backward(edge(d), plain), x.grad) | grad(out, [edge(q), edge(x), x])
((x * y).sum().backward(inputs=[edge(x)]), x.grad, y.grad) | (edge(d).node is d.grad_fn, edge(d)[:2] == (d.grad_fn, 0))
(edge(x).node.name(), edge(x.max(0)[0]).output_nr) | (backward(edge(x * w), plain, inputs=[edge(x)]), x.grad, w.grad)
grad((d * 3).sum(), [edge(d)], materialize_grads=True) | grad((d * 3).sum(), [edge(d), y], materialize_grads=True)
grad((d * 3).sum(), [edge(y)], materialize_grads=True)
grad((d * 3).sum(), [y, edge(w), edge(d)], materialize_grads=True)
"""
FLAGS = """
(x * x).sum().backward(retain_graph='a') | (x * x).sum().backward(retain_graph=1.5) | s.backward(None, [])
(x * x).sum().backward(create_graph='a') | (x * x).sum().backward(create_graph=None) | s.backward(x, x)
backward(s, None, {}) | backward(s, create_graph=n) | backward(x, x, x) | grad(s, x, retain_graph='a')
grad(s * s, s, create_graph=1)[0].requires_grad | grad(s, x, allow_unused='a') | grad(s, x, allow_unused=1)
s.backward(retain_graph=0) | grad(s, x, materialize_grads='a') | grad(s * s, s, retain_graph=n[0])
grad(x * x, x, x, is_grads_batched='a') | torch.autograd.functional.vjp(torch.exp, x, x, create_graph=[])
torch.set_grad_enabled('a') | torch.set_grad_enabled(1) | torch.set_grad_enabled(np.True_)
torch.autograd.set_detect_anomaly('a') | torch.autograd.set_detect_anomaly(True, None)
torch.autograd.detect_anomaly(1).__enter__() | torch.autograd.set_multithreading_enabled('a')
torch.autograd.graph.saved_tensors_hooks(3, len).__enter__()
torch.autograd.graph.saved_tensors_hooks(len, 3).__enter__()
"""
NODES_AND_HOOKS = """
(x * x).grad_fn(dummy=x) | copy.copy((x * x).grad_fn) | copy.deepcopy(x.exp().sum().grad_fn) | f.grad_fn(plain)
pickle.dumps((x * x).grad_fn) | pickle.dumps((x * x).grad_fn.next_functions[0][0]) | q.grad_fn(plain) | out.grad_fn(s)
raised(q.grad_fn)[0] | raised(q.grad_fn, plain, plain)[0] | raised(f.grad_fn.apply)[0] | f.grad_fn.apply(plain)
raised(setattr, f.grad_fn, "saved_tensors", ())[0] | raised(setattr, plain, "_version", 3)[0]
plain.register_hook(id) | plain.register_post_accumulate_grad_hook(id) | d.register_post_accumulate_grad_hook(id)
plain.retain_grad() | multi([x], id, mode="some") | multi([x, plain], id) | raised(multi, [x, plain], id, mode="any")
"""
TENSORS = """
repr(f) | repr(f[0]) | repr(f.sum()) | (plain.numpy().fill(5), plain, plain._version) | (plain * 2)._version
(plain.detach()._version, plain.requires_grad_()._version, plain.requires_grad_(False)._version)
setattr(d, "grad_dtype", torch.float32) | setattr(d, "grad_dtype", None) | setattr(d, "grad_dtype", 3) | d.grad_dtype
d.requires_grad_(False) | (d.requires_grad_() is d, setattr(d, "requires_grad", True)) | d[:1].detach_()
plain[:1].detach_() | d.detach_().requires_grad | (setattr(plain, "data", n), plain) | t._version | t.requires_grad_()
setattr(t, "requires_grad", True) | x * t | x.dot(t) | x + t | t * 2 | t.add_(1) | t.zero_() | t[:1].mul_(2)
t.__setitem__(0, 1.0) | nograd(t.add_)(1)
"""
CHECKS = """
check(lambda n, x, y: x * y * n, (3, *(t.detach().float().requires_grad_() for t in (x, y))), atol=0.1, rtol=0.1)
check(lambda x: x, x, check_backward_ad=False) | check(lambda x: x, x, check_backward_ad=False, raise_exception=False)
check(lambda x: x, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
check(lambda x: x, x, check_batched_forward_grad=True) | check(len, x, 1.0) | check(len, x, other=1)
again(lambda x: x * x, x, check_rev_over_rev=False) | again(len, x, x, 1.0) | again(lambda n, x: x * x * n, (3, x))
again(lambda x: x * x, x, check_rev_over_rev=False, raise_exception=False) | again(lambda p: p * 2, plain)
again(lambda x: x * x, x, check_rev_over_rev=False, check_fwd_over_rev=True) | again(lambda p: p * 2, plain, x)
again(lambda x: x * x, x, check_rev_over_rev=False, check_fwd_over_rev=True, check_batched_grad=True)
again(lambda x, y: x * x * x, [x, y]) | again(lambda p, y: p * y * y, (plain, y))
again(lambda x: x * x, (torch.ones(1, requires_grad=True),), torch.ones(1), atol=0.1)
"""
CHECKPOINTS = """
[(type(c).__name__, c.__enter__()) for c in of.noop_context_fn()]
of.checkpoint(torch.sin, x, use_reentrant=True, b=2) | of.checkpoint(torch.sin, x, use_reentrant=True, b=2, c=3)
of.checkpoint(torch.sin, x, use_reentrant=True, context_fn=len)
of.checkpoint(torch.sin, x, use_reentrant=True, debug=True)
of.checkpoint(torch.sin, x, use_reentrant=True, determinism_check="huh")
of.checkpoint(torch.sin, x, use_reentrant=False, determinism_check="huh")
nograd(of.checkpoint)(torch.sin, x, use_reentrant=False, determinism_check="huh")
of.checkpoint(torch.sin, x, use_reentrant=False, debug=True, context_fn=lambda: None)
of.checkpoint_sequential([torch.sin] * 3, 0, x, use_reentrant=False)
of.checkpoint_sequential([torch.sin] * 3, 4, x, use_reentrant=False)
of.checkpoint_sequential([torch.sin] * 3, -1, x, use_reentrant=False)
of.checkpoint_sequential([torch.sin] * 3, 2.0, x, use_reentrant=False)
of.checkpoint_sequential([torch.sin] * 3, 2, x, use_reentrant=True, a=1, b=2) | of.detach_variable([x])
of.checkpoint_sequential([torch.sin] * 3, 2, x, use_reentrant=True, preserve_rng_state=False) | of.detach_variable(x)
of.detach_variable((x * 2, 3, plain)) | of.check_backward_validity([3, plain]) | of.check_backward_validity([x])
of.checkpoint(len, [], use_reentrant=False, context_fn=lambda: 3) | of.checkpoint(lambda x: (x * x).sin(), x)
of.checkpoint(lambda x: x.detach() * 2, x, use_reentrant=True).sum().backward()
(of.checkpoint(lambda x: x**3, x, use_reentrant=True).sum().backward(create_graph=True), x.grad)
(of.checkpoint(lambda x: (x * x).sin(), x).sum().backward(), x.grad)
torch.set_rng_state(3) | torch.set_rng_state(torch.ones(3))
"""
WRONG = ("3", "[3]", "[None]", "None", "'a'", "[x, 'a']")
CALLS = [
    call.replace("W", w)
    for call in ("grad(out, W)", "grad(W, x)", "backward(W)", "out.backward(inputs=W)")
    for w in WRONG
]
for table in (OUTPUTS_AND_INPUTS, SEEDS, EDGES, FLAGS, NODES_AND_HOOKS, TENSORS, CHECKS, CHECKPOINTS):
    CALLS += entries(table)


@pytest.mark.parametrize("text", CALLS)
def test_a_call(torch: Any, text: str) -> Any:
    return eval(text, graph(torch))
