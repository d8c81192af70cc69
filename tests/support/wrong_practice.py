"""Wrong answers that beginners give in lessons 11 to 13; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_ZT = "z, t = ctx.saved_tensors\n"
_KEEP_X = "ctx.save_for_backward(x)\nreturn x * x.sigmoid()\n---\n"
_X = "(x,) = ctx.saved_tensors\n"
_GRADIENT = "the gradient is right; what is wrong is what was asked for beyond it"
_LOOP = "losses = []\nfor _ in range(steps):\n"
_NORM = "norm = sum((grad**2).sum() for grad in grads).sqrt()\n"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "bytes-a-fused-loss-keeps": [
        ("32 * 10 * 4", "the targets are forgotten"),
        ("32 * 10 + 32", "numbers in place of bytes"),
        ("(32 * 10 + 32) * 4", "all numbers alike"),
        ("3 * 32 * 10 * 4 + 32 * 8", "every step is kept"),
        ("32 * 10 * 8 + 32 * 8", None),
        ("32 * 10 * 4 + 10 * 8", None),
        ("32 * 8", None),
        ("8 * 10 * 4 + 8 * 8", None),
        ("0", None),
        ("32 * 10 * 32 + 32 * 64", None),
        ("2 * 32 * 10 * 4 + 32 * 8", None),
        ('"1.5 KiB"', None),
        ("[1280, 256]", None),
        ("1.5", None),
        ("-1536", None),
        ("32 * 10 * 4 + 32", None),
        ("(32 + 10) * 4", None),
        ("2 * 32 * 10 * 4", None),
    ],
    "fused-yes-or-no": [
        (_ZT + "return [(z.sigmoid() - t) * grad_output, None]", None),
        (_ZT + "grad_output.mul_(z.sigmoid() - t)\nreturn grad_output, None", None),
        (_ZT + "return z.sigmoid() * grad_output, None", "the probability alone"),
        (_ZT + "return (t - z.sigmoid()) * grad_output, None", "the sign is turned"),
        (_ZT + "return (z - t) * grad_output, None", "the score in place of the probability"),
        (_ZT + "return z.sigmoid() - t, None", "the local slope without the chain"),
        (_ZT + "return (z.sigmoid() - t) * grad_output", "one gradient for two arguments"),
        (
            _ZT + "p = z.sigmoid()\nreturn (p - t) * p * (1 - p) * grad_output, None",
            "the sigmoid's slope once too often",
        ),
        (
            _ZT + "p = z.sigmoid()\nreturn (-t / p + (1 - t) / (1 - p)) * p * (1 - p) * grad_output, None",
            "the chain step by step",
        ),
        (_ZT + "z.sigmoid_()\nreturn (z - t) * grad_output, None", "what was saved is written over"),
        (_ZT + "p = z.sigmoid()\nreturn (-t / p + (1 - t) / (1 - p)) * grad_output, None", None),
        (_ZT + "(z.sigmoid() - t) * grad_output, None", None),
        (_ZT + "return None, (z.sigmoid() - t) * grad_output", None),
        (_ZT + "return ((z.sigmoid() - t) * grad_output).mean(), None", None),
        (_ZT + "return (z.sigmoid() - t) * grad_output / len(z), None", None),
        ("z = ctx.saved_tensors\nreturn (z.sigmoid() - t) * grad_output, None", None),
        ("z, target = ctx.saved_tensors\nreturn (z.sigmoid() - t) * grad_output, None", None),
        (_ZT + "return (1 / (1 + z.exp()) - t) * grad_output, None", None),
        (_ZT + "return (sigmoid(z) - t) * grad_output, None", None),
        (_ZT + "return (z.sigmoid() - 1) * grad_output, None", None),
        (_ZT + "return z.sigmoid() - t * grad_output, None", None),
        (_ZT + "return (z.softmax(0) - t) * grad_output, None", None),
        (
            _ZT + "return (1 / (1 + (-z).exp()) - t).detach() * grad_output, 0",
            None,
        ),
        (_ZT + "return (z.sigmoid() - t) * z * grad_output, None", None),
        (_ZT + "return -t / z.sigmoid() * grad_output, None", None),
        (_ZT + "return torch.where(t > 0, -1.0, 1.0) * grad_output, None", None),
    ],
    "silu-that-keeps-one": [
        (
            "s = x.sigmoid()\nctx.save_for_backward(x, s)\nreturn x * s\n---\n"
            "x, s = ctx.saved_tensors\nreturn (s + x * s * (1 - s)) * grad_output",
            "more is kept than is needed",
        ),
        (
            "s = x.sigmoid()\nctx.save_for_backward(s + x * s * (1 - s))\nreturn x * s\n---\n"
            "(slope,) = ctx.saved_tensors\nreturn slope * grad_output",
            "a slope kept as a number",
        ),
        (_KEEP_X + _X + "return x.sigmoid() * grad_output", "a path is forgotten"),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn x * s * (1 - s) * grad_output", "the other path is forgotten"),
        (
            "ctx.x = x\nreturn x * x.sigmoid()\n---\n"
            "s = ctx.x.sigmoid()\nreturn (s + ctx.x * s * (1 - s)) * grad_output",
            "a tensor kept out of the engine's sight",
        ),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn s + x * s * (1 - s)", "the local slope without grad_output"),
        (
            "out = x * x.sigmoid()\nctx.save_for_backward(out)\nreturn out\n---\n"
            "(x,) = ctx.saved_tensors\ns = x.sigmoid()\nreturn (s + x * s * (1 - s)) * grad_output",
            None,
        ),
        (
            "s = x.sigmoid()\nctx.save_for_backward(s)\nreturn x * s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn (s + x * s * (1 - s)) * grad_output",
            None,
        ),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn s * (1 - s) * grad_output", None),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn (s - x * s * (1 - s)) * grad_output", None),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn (s + x * s * (1 - x)) * grad_output", None),
        (_KEEP_X + _X + "s = x.sigmoid()\n(s + x * s * (1 - s)) * grad_output", None),
        (
            "ctx.save_for_backward(x)\nx * x.sigmoid()\n---\n"
            + _X
            + "s = x.sigmoid()\nreturn (s + x * s * (1 - s)) * grad_output",
            None,
        ),
        (
            _KEEP_X + _X + "s = x.sigmoid().detach()\nreturn (s + x * s * (1 - s)) * grad_output",
            "a slope kept as a number",
        ),
        (
            "ctx.save_for_backward(x)\nreturn x.sigmoid()\n---\n"
            + _X
            + "s = x.sigmoid()\nreturn (s + x * s * (1 - s)) * grad_output",
            None,
        ),
        (
            _KEEP_X + _X + "with torch.no_grad():\n    s = x.sigmoid()\n    return (s + x * s * (1 - s)) * grad_output",
            "a slope kept as a number",
        ),
        (_KEEP_X + "x = ctx.saved_tensors\ns = x.sigmoid()\nreturn (s + x * s * (1 - s)) * grad_output", None),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn s + x * s * (1 - s) * grad_output", None),
        (
            "ctx.save_for_backward(x)\nctx.s = x.sigmoid()\nreturn x * ctx.s\n---\n"
            "(x,) = ctx.saved_tensors\nreturn (ctx.s + x * ctx.s * (1 - ctx.s)) * grad_output",
            None,
        ),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn (s + x * (1 - s)) * grad_output", None),
        (_KEEP_X + _X + "s = x.sigmoid()\nreturn s * (1 + x) * grad_output", None),
        (
            "ctx.save_for_backward(x, x)\nreturn x * x.sigmoid()\n---\nx, again = ctx.saved_tensors\n"
            "s = x.sigmoid()\nreturn (s + x * s * (1 - s)) * grad_output",
            None,
        ),
    ],
    "training-loop": [
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n"
            "    with torch.no_grad():\n        for p in model.parameters():\n            p -= 0.1 * p.grad\n"
            "    losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            "losses = torch.zeros(steps)\nfor step in range(steps):\n    optimizer.zero_grad()\n"
            "    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses[step] = loss.item()\nreturn losses",
            None,
        ),
        (
            _LOOP + "    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.item())\nreturn losses",
            "zero_grad is forgotten in a loop",
        ),
        (
            _LOOP + "    loss = loss_of(model)\n    loss.backward()\n    optimizer.zero_grad()\n    optimizer.step()\n"
            "    losses.append(loss.item())\nreturn losses",
            "no gradient when the step is made",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss)\nreturn losses",
            "losses that are tensors",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.detach())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n"
            "    losses.append(loss.item())\nreturn losses",
            "no step is made",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    optimizer.step()\n"
            "    losses.append(loss.item())\nreturn losses",
            "no gradient when the step is made",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    optimizer.step()\n    loss.backward()\n"
            "    losses.append(loss.item())\nreturn losses",
            "no gradient when the step is made",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.item())",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "return loss.item()",
            None,
        ),
        (
            "losses = []\nloss = loss_of(model)\nfor _ in range(steps):\n    optimizer.zero_grad()\n"
            "    loss.backward()\n    optimizer.step()\n    losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.item())\n    return losses",
            None,
        ),
        (
            "losses = []\nfor _ in range(steps + 1):\n    optimizer.zero_grad()\n    loss = loss_of(model)\n"
            "    loss.backward()\n    optimizer.step()\n    losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model).item()\n    loss.backward()\n"
            "    optimizer.step()\n    losses.append(loss)\nreturn losses",
            None,
        ),
        (
            "losses = []\noptimizer.zero_grad()\nfor _ in range(steps):\n    loss = loss_of(model)\n"
            "    loss.backward()\n"
            "    optimizer.step()\n    losses.append(loss.item())\nreturn losses",
            "zero_grad is forgotten in a loop",
        ),
        (
            _LOOP + "    with torch.no_grad():\n        optimizer.zero_grad()\n        loss = loss_of(model)\n"
            "        loss.backward()\n        optimizer.step()\n    losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss_of(model).item())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses = losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            _LOOP.replace("steps", "3")
            + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n"
            + "    optimizer.step()\n    losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.item())\nreturn losses",
            None,
        ),
        (
            _LOOP + "    optimizer.zero_grad\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.item())\nreturn losses",
            "zero_grad is forgotten in a loop",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step\n"
            "    losses.append(loss.item())\nreturn losses",
            "no step is made",
        ),
        (
            _LOOP + "    optimizer.zero_grad()\n    loss = loss_of(model)\n    loss.backward()\n    optimizer.step()\n"
            "    losses.append(loss.item)\nreturn losses",
            None,
        ),
    ],
    "clip-by-norm": [
        (_NORM + "scale = most / norm\nreturn [grad * scale**2 if norm > most else grad for grad in grads]", None),
        (
            "return [grad * (most / grad.norm()) if grad.norm() > most else grad for grad in grads]",
            "each tensor is clipped alone",
        ),
        ("return [grad.clamp(-most, most) for grad in grads]", "each element is clipped"),
        (_NORM + "return [grad * (most / norm) for grad in grads]", "small gradients are made larger"),
        (
            "norm = sum((grad**2).sum() for grad in grads)\n"
            "return [grad * (most / norm) if norm > most else grad for grad in grads]",
            "the norm without the root",
        ),
        (
            "norm = sum(grad.norm() for grad in grads)\n"
            "return [grad * (most / norm) if norm > most else grad for grad in grads]",
            "norms do not add",
        ),
        ("return grads", "nothing is clipped"),
        (_NORM + "if norm > most:\n    return [grad * (most / norm) for grad in grads]", None),
        (_NORM + "return [grad * (norm / most) if norm > most else grad for grad in grads]", None),
        (_NORM + "return [grad / norm if norm > most else grad for grad in grads]", None),
        (_NORM + "return [grad * (most / norm) if norm < most else grad for grad in grads]", None),
        (_NORM + "return [grad - (norm - most) if norm > most else grad for grad in grads]", None),
        (_NORM + "if norm > most:\n    grads = grads * (most / norm)\nreturn grads", None),
        ("norm = grads.norm()\nreturn [grad * (most / norm) for grad in grads]", None),
        (_NORM + "return sum(grad * (most / norm) for grad in grads)", None),
        (_NORM + "return norm", None),
        (_NORM + "return [grads for grad in grads]", None),
        (_NORM + "return [grad * (1.5 / norm) if norm > 1.5 else grad for grad in grads]", None),
        ("return [grad.clamp(max=most) for grad in grads]", None),
        (
            "norm = max(grad.norm() for grad in grads)\n"
            "return [grad * (most / norm) if norm > most else grad for grad in grads]",
            None,
        ),
        (
            "norm = sum(grad.sum() for grad in grads)\n"
            "return [grad * (most / norm) if norm > most else grad for grad in grads]",
            None,
        ),
        (_NORM + "return [most if norm > most else grad for grad in grads]", None),
        (
            "total = torch.cat(grads)\nnorm = total.norm()\n"
            "return [grad * (most / norm) if norm > most else grad for grad in grads]",
            None,
        ),
        ("torch.nn.utils.clip_grad_norm_(grads, most)\nreturn grads", "nothing is clipped"),
        (
            _NORM + "for grad in grads:\n    if norm > most:\n        grad = grad * (most / norm)\nreturn grads",
            "nothing is clipped",
        ),
        (_NORM + "return [grad * most if norm > most else grad for grad in grads]", None),
        ("norm = grads[0].norm()\nreturn [grad * (most / norm) if norm > most else grad for grad in grads]", None),
    ],
    "leaky-relu": [
        (_X + "grad_output *= torch.where(x > 0, 1.0, 0.1)\nreturn grad_output", None),
        (_X + "return max(x, 0.1 * x) * grad_output", None),
        (_X + "return torch.where(x > 0, grad_output, torch.zeros_like(grad_output))", "a dead ReLU"),
        (
            _X + "return torch.where(x > 0, torch.ones_like(x), 0.1 * torch.ones_like(x))",
            "the local slope without the chain",
        ),
        ("return torch.where(grad_output > 0, grad_output, 0.1 * grad_output)", "the sign of the gradient"),
        (_X + "return torch.where(x > 0, x, 0.1 * x) * grad_output", "the value for the slope"),
        (_X + "return torch.where(x < 0, grad_output, 0.1 * grad_output)", None),
        (_X + "return torch.where(x > 0, grad_output, -0.1 * grad_output)", None),
        (_X + "return torch.where(x > 0, x * grad_output, 0.1 * grad_output)", None),
        (_X + "return 0.1 * grad_output", None),
        (_X + "return grad_output", None),
        (_X + "if x > 0:\n    return grad_output\nreturn 0.1 * grad_output", None),
        (_X + "torch.where(x > 0, grad_output, 0.1 * grad_output)", None),
        ("return torch.where(x > 0, grad_output, 0.1 * grad_output)", None),
        ("x = ctx.saved_tensors\nreturn torch.where(x > 0, grad_output, 0.1 * grad_output)", None),
        (_X + "return torch.where(x > 0, 1, 0.1)", "the local slope without the chain"),
        (_X + "return torch.where(x > 0, grad_output)", None),
        (_X + "return torch.where(x > 0, grad_output, 0.1)", None),
        (_X + "return (x > 0) * grad_output", "a dead ReLU"),
        (_X + "return torch.where(x > 0, grad_output, 0.1 * grad_output).sum()", None),
        (_X + "return grad_output.clamp(min=0) + 0.1 * grad_output.clamp(max=0)", "the sign of the gradient"),
        (_X + "return grad_output * x", None),
        (_X + "return torch.where(x > 0, 1.0, 0.1 * grad_output)", None),
        (_X + "return (x > 0) * grad_output + 0.1", None),
    ],
    "name-of-a-node": [
        ('"SwishBackward0"', "a number behind the name of your own node"),
        ('"Swish"', "the name of the class for the name of the node"),
        ('"swishbackward"', None),
        ('"Backward"', None),
        ('"backward"', None),
        ('"BackwardSwish"', None),
        ('"SwishFunction"', None),
        ('"Swish.apply"', None),
        ('"Swish.backward"', None),
        ('"SwishBackward1"', None),
        ('"Swish Backward"', None),
        ('["SwishBackward"]', None),
        ("0", None),
        ('"grad_fn"', None),
        ('""', None),
        ('"torch.autograd.function.SwishBackward"', "what is printed for the name"),
        ('"<SwishBackward>"', None),
        ('"FunctionBackward"', None),
    ],
    "names-of-parameters": [
        ('["0.weight", "0.bias", "1.weight", "1.bias"]', "only layers with parameters are counted"),
        ('["1.weight", "1.bias", "3.weight", "3.bias"]', "layers are counted from one"),
        ('["0.bias", "0.weight", "2.bias", "2.weight"]', "the bias comes first"),
        ('["weight", "bias", "weight", "bias"]', None),
        ('["0.weight", "2.weight", "0.bias", "2.bias"]', None),
        ('["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"]', "every layer has parameters"),
        ('["linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"]', None),
        ('["weight0", "bias0", "weight2", "bias2"]', None),
        ('["0.weight", "2.weight"]', None),
        ('["0", "2"]', None),
        ('"0.weight, 0.bias, 2.weight, 2.bias"', None),
        ("4", None),
        ('["0.w", "0.b", "2.w", "2.b"]', None),
        ('["model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"]', "a model knows its variable"),
        ("[0, 0, 2, 2]", None),
        ('["weight", "bias"]', None),
        ('["0.weight", "0.bias", "3.weight", "3.bias"]', None),
        ('["Linear0.weight", "Linear0.bias", "Linear1.weight", "Linear1.bias"]', None),
    ],
    "write-made-new": [
        ("h = w.exp()\nsquares = h * h\nh.add_(1)\nreturn (squares * h).sum()", "the write is still there"),
        ("h = w.exp()\nsquares = h * h\nh += 1\nreturn (squares * h).sum()", "the write is still there"),
        ("h = w.exp()\nsquares = h * h\nh.data.add_(1)\nreturn (squares * h).sum()", "a write that nobody counts"),
        ("h = w.exp()\nsquares = h * h\nh = h.detach() + 1\nreturn (squares * h).sum()", "history is cut"),
        ("h = w.exp() + 1\nsquares = h * h\nreturn (squares * h).sum()", "the write is moved up"),
        ("h = w.exp()\nh.add_(1)\nsquares = h * h\nreturn (squares * h).sum()", None),
        ("h = w.exp()\nsquares = h * h\nreturn (squares * h).sum()", None),
        ("h = w.exp()\nsquares = h * h\nh.add(1)\nreturn (squares * h).sum()", None),
        ("h = w.exp()\nsquares = h * h\nh = h + 1\nreturn squares * h", None),
        ("h = w.exp()\nsquares = h * h\nh = h + 1\ntotal = (squares * h).sum()", None),
        (
            "h = w.exp()\nsquares = h * h\nwith torch.no_grad():\n    h.add_(1)\nreturn (squares * h).sum()",
            "the write is still there",
        ),
        ("h = w.exp().detach()\nsquares = h * h\nh.add_(1)\nreturn (squares * h).sum()", None),
        ("h = w.exp()\nsquares = h * h\nh = h.add_(1)\nreturn (squares * h).sum()", "the write is still there"),
        ("h = w.exp()\nsquares = (h * h).detach()\nh = h + 1\nreturn (squares * h).sum()", None),
        ("h = w.exp()\nsquares = h * h\nh = h + 1\nreturn (h * h * h).sum()", "the write is moved up"),
        ("h = w.exp()\nsquares = h * h\nh = h.clone().add_(1)\nreturn (squares + h).sum()", None),
        (
            "h = w.exp()\nsquares = h.clone() * h.clone()\nh.add_(1)\nreturn (squares * h).sum()",
            "the write is still there",
        ),
        ("h = w.exp().clone()\nsquares = h * h\nh.add_(1)\nreturn (squares * h).sum()", "the write is still there"),
        ("h = w.exp()\nsquares = (h * h).clone()\nh.add_(1)\nreturn (squares * h).sum()", "the write is still there"),
        ("h = w.exp()\nsquares = h * h\nreturn (squares * h + 1).sum()", None),
    ],
}
