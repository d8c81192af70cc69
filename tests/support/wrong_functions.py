"""Wrong answers that beginners give in lessons 7 to 10; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_X = "(x,) = ctx.saved_tensors\n"
_GRADIENT = "the gradient is right; what is wrong is what was asked for beyond it"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "cube-backward": [
        (_X + "return 3 * (x * grad_output) ** 2", None),
        (_X + "grad_output *= 3 * x**2\nreturn grad_output", None),
        (_X + "return 3 * x^2 * grad_output", None),
        (_X + "return 3 * x**2", "the local slope without the chain"),
        (_X + "return x**3 * grad_output", "forward in place of its slope"),
        (_X + "return 3 * x * grad_output", "one power too few"),
        (_X + "return 3 * x**2 + grad_output", "the chain adds"),
        (
            _X + "return 3 * x.detach() ** 2 * grad_output",
            "an intermediate breaks double backward",
        ),
        (
            _X + "with torch.no_grad():\n    return 3 * x**2 * grad_output",
            "an intermediate breaks double backward",
        ),
        (_X + "grad_input = 3 * x**2 * grad_output", None),
        ("x = ctx.saved_tensors\nreturn 3 * x**2 * grad_output", None),
        ("return 3 * x**2 * grad_output", None),
        (_X + "return grad_output", None),
        (_X + "return x**2 * grad_output", None),
        (_X + "return -3 * x**2 * grad_output", None),
        (_X + "return (3 * x**2 * grad_output).sum()", None),
        (_X + "return 12.0 * grad_output", None),
        (_X + "return 3 * x**2 * grad_output, None, None, 1", None),
        (_X + "return None", None),
        (_X + "return 6 * x * grad_output", None),
        (_X + "return 3 * grad_output**2", None),
        (_X + "return 3 * x**2 @ grad_output", None),
        (_X + "return (3 * x**2 * grad_output).tolist()", None),
        (_X + "x.mul_(x)\nreturn 3 * x * grad_output", None),
        (_X + "return 3 * x**2 * x.grad", None),
    ],
    "scale-backward": [
        ("return [grad_output * ctx.factor, None]", None),
        ("return grad_output * ctx.factor", "wrong number of gradients"),
        ("return None, grad_output * ctx.factor", "gradients in another order"),
        ("return grad_output, None", "the factor is forgotten"),
        ("return grad_output * ctx.factor, grad_output", "a gradient for a number"),
        ("return grad_output * ctx.factor, ctx.factor", "a gradient for a number"),
        ("return grad_output * ctx.factor, 0", "a gradient for a number"),
        ("return grad_output * ctx.factor, grad_output * x", None),
        ("return grad_output * factor, None", None),
        ("return ctx.factor, None", None),
        ("return grad_output * ctx.factor, None, None, grad_output", None),
        ("grad_output * ctx.factor, None", None),
        ("return grad_output / ctx.factor, None", None),
        ("return grad_output + ctx.factor, None", None),
        ("(factor,) = ctx.saved_tensors\nreturn grad_output * factor, None", None),
        ("return grad_output * 2.0, None", None),
        ("return -grad_output * ctx.factor, None", None),
        ("return None, None", None),
        ("return grad_output * ctx.factor * ctx.factor, None", None),
    ],
    "sigmoid-function": [
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nreturn s.clone()\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s.detach())\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nctx.kept = [s]\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "ctx.result = 1 / (1 + (-x).exp())\nreturn ctx.result\n---\n"
            "return grad_output * ctx.result * (1 - ctx.result)",
            "an output kept as an attribute of ctx",
        ),
        (
            "ctx.save_for_backward(x)\nreturn 1 / (1 + (-x).exp())\n---\n"
            "(result,) = ctx.saved_tensors\nreturn grad_output * result * (1 - result)",
            "the input is saved, and the formula is for the result",
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s",
            "the slope of exp",
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(x, s)\nreturn s\n---\n"
            "x, s = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "ctx.save_for_backward(x)\nreturn 1 / (1 + (-x).exp())\n---\n"
            "(x,) = ctx.saved_tensors\ns = 1 / (1 + (-x).exp())\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + x.exp())\nctx.save_for_backward(s)\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\n---\n(s,) = ctx.saved_tensors\n"
            "return grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nreturn s\n---\n(s,) = ctx.saved_tensors\n"
            "grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nreturn s\n---\n(s,) = ctx.saved_tensors\n"
            "return grad_output * s * (s - 1)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nreturn s\n---\n(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + math.exp(-x))\nctx.save_for_backward(s)\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s * (1 - s))\nreturn s\n---\n"
            "(slope,) = ctx.saved_tensors\nreturn grad_output * slope",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nreturn s\n---\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "return 1 / (1 + (-x).exp())\n---\ns = 0.5\nreturn grad_output * s * (1 - s)",
            None,
        ),
        (
            "s = 1 / (1 + (-x).exp())\nctx.save_for_backward(s)\nctx.x = x\nreturn s\n---\n"
            "(s,) = ctx.saved_tensors\nreturn grad_output * s * (1 - s)",
            None,
        ),
    ],
    "second-derivative": [
        ("21", "one derivative too few"),
        ("6", "one derivative too many"),
        ("441", "the square of the slope"),
        ("18", "the value in place of the slope"),
        ("-16", None),
        ("0", None),
        ("12", None),
        ("27", None),
        ("20", None),
        ("15", None),
        ('"6 * x - 2"', None),
        ("[21, 16]", None),
        ("54", None),
        ("25", None),
        ("14", None),
        ("torch.tensor(21.0)", "one derivative too few"),
    ],
    "tanh-twice": [
        (
            "result = x.tanh()\nctx.save_for_backward(1 - result * result)\nreturn result\n---\n"
            "(slope,) = ctx.saved_tensors\nreturn slope * grad_output",
            "an intermediate breaks double backward",
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nresult = result.detach()\nreturn (1 - result**2) * grad_output",
            "history is cut in backward",
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nreturn 1 - result**2",
            "the local slope without the chain",
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nwith torch.no_grad():\n    return (1 - result**2) * grad_output",
            "history is cut in backward",
        ),
        (
            "ctx.result = x.tanh()\nreturn ctx.result\n---\nreturn (1 - ctx.result**2) * grad_output",
            None,
        ),
        (
            "ctx.save_for_backward(x)\nreturn x.tanh()\n---\n(x,) = ctx.saved_tensors\n"
            "return (1 - x * x) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nreturn (1 + result**2) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nreturn (1 - result) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nslope = (1 - result**2) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\n---\n"
            "(result,) = ctx.saved_tensors\nreturn (1 - result**2) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result.detach())\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nreturn (1 - result**2) * grad_output",
            "an intermediate breaks double backward",
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nreturn -2 * result * (1 - result**2) * grad_output",
            None,
        ),
        (
            "return x.tanh()\n---\n(result,) = ctx.saved_tensors\nreturn (1 - result**2) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "result = ctx.saved_tensors\nreturn (1 - result**2) * grad_output",
            None,
        ),
        (
            "ctx.save_for_backward(x)\nreturn x.tanh()\n---\n(x,) = ctx.saved_tensors\n"
            "return (1 - x.tanh()) * grad_output",
            None,
        ),
        (
            "result = x.tanh()\nctx.save_for_backward(result)\nreturn result\n---\n"
            "(result,) = ctx.saved_tensors\nreturn 1 - result**2, grad_output",
            None,
        ),
        (
            "ctx.save_for_backward(x)\nreturn x.tanh()\n---\n(x,) = ctx.saved_tensors\n"
            "return grad(x.tanh(), x, grad_output)[0]",
            None,
        ),
    ],
    "slope-penalty": [
        ("(slopes,) = grad(out.sum(), u)\nreturn ((slopes - 1) ** 2).mean()", "the slope has no history"),
        (
            "out.sum().backward(create_graph=True)\nreturn ((u.grad - 1) ** 2).mean()",
            "backward fills every leaf",
        ),
        ("return ((out - 1) ** 2).mean()", "the output in place of its slope"),
        (
            "(slopes,) = grad(out.mean(), u, create_graph=True)\nreturn ((slopes - 1) ** 2).mean()",
            "the slope of the mean",
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn ((slopes.detach() - 1) ** 2).mean()",
            "the slope has no history",
        ),
        (
            "(slopes,) = grad(out, u, create_graph=True)\nreturn ((slopes - 1) ** 2).mean()",
            None,
        ),
        (
            "slopes = grad(out.sum(), u, create_graph=True)\nreturn ((slopes - 1) ** 2).mean()",
            None,
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn (slopes - 1) ** 2",
            None,
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn ((slopes - 1) ** 2).sum()",
            None,
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn (slopes.mean() - 1) ** 2",
            None,
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn (slopes**2).mean()",
            None,
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn (slopes - 1).mean()",
            None,
        ),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\npenalty = ((slopes - 1) ** 2).mean()",
            None,
        ),
        (
            "(slopes,) = grad(u, out.sum(), create_graph=True)\nreturn ((slopes - 1) ** 2).mean()",
            None,
        ),
        (
            "with torch.no_grad():\n    (slopes,) = grad(out.sum(), u, create_graph=True)\n"
            "    return ((slopes - 1) ** 2).mean()",
            None,
        ),
        ("out.sum().backward()\nreturn ((u.grad - 1) ** 2).mean()", "the slope has no history"),
        ("return ((u.grad - 1) ** 2).mean()", None),
        (
            "(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn ((slopes - 1) ** 2).mean().item()",
            None,
        ),
        (
            "slopes = grad(out, u, torch.ones_like(out))[0]\nreturn ((slopes - 1) ** 2).mean()",
            "the slope has no history",
        ),
        ("(slopes,) = grad(out.sum(), u, create_graph=True)\nreturn (slopes - 1).abs().mean()", None),
        (
            "penalty = 0\nfor each in out:\n    (slope,) = grad(each, u, create_graph=True)\n"
            "    penalty = penalty + (slope - 1) ** 2\nreturn penalty.mean()",
            None,
        ),
    ],
    "tangent-of-a-cube": [
        ("12", "the tangent starts at 1"),
        ("40", "value times speed"),
        ("20", "only one of the factors moves"),
        ("125", "the tangent is cubed"),
        ("8", None),
        ("-60", None),
        ("17", None),
        ("30", None),
        ("0", None),
        ("300", None),
        ("5", None),
        ('"3 * x**2 * 5"', None),
        ("(8, 60)", None),
        ("15", None),
        ("24", None),
        ("1000", None),
    ],
    "pushes-and-walks": [
        ("{3, 100}", None),
        ("[100, 3]", "pushes and walks are mixed up"),
        ("[1, 1]", "one is enough"),
        ("[1, 100]", "one push for all inputs"),
        ("[300, 300]", "one for each number of the table"),
        ("[3, 1]", None),
        ("[3, 3]", None),
        ("[100, 100]", None),
        ("103", None),
        ("[103, 103]", None),
        ("[0, 0]", None),
        ("[2, 99]", None),
        ('["3", "100"]', None),
        ("[[3, 100]]", None),
        ("[3, None]", None),
        ("300", None),
        ("[100, 1]", None),
        ("[3, 300]", None),
        ("(3,)", None),
    ],
    "sin-jvp": [
        (_X + "return [tangent * x.cos()]", None),
        (_X + "return x.cos()", "the local slope without the chain"),
        ("return tangent", "the slope is forgotten"),
        ("return tangent.sin()", "the function of the tangent"),
        (_X + "return -tangent * x.cos()", "the sign of the slope"),
        (_X + "return tangent * x.sin()", None),
        ("return tangent * tangent.cos()", None),
        (_X + "return tangent + x.cos()", None),
        (_X + "slope = tangent * x.cos()", None),
        ("x = ctx.saved_tensors\nreturn tangent * x.cos()", None),
        ("return tangent * x.cos()", None),
        (_X + "return x.sin(), tangent * x.cos()", None),
        (_X + "return (tangent * x.cos()).sum()", None),
        (_X + "return tangent * x.cos().detach() * 2", None),
        (_X + "return tangent * x.cos", None),
        (_X + "return tangent * x", None),
        (_X + "return tangent.cos() * x", None),
        (_X + "return 0.8776", None),
        ("return None", None),
        (_X + "return x.cos() * tangent * tangent", None),
        (_X + "return tangent / x.cos()", None),
        (_X + "return x.cos(), tangent", None),
    ],
    "dual-quotient": [
        ("return a[0] / b[0], a[1] / (b[1] or 1.0)", "the quotient of the tangents"),
        ("return a[0] / b[0], a[1] / b[1]", None),
        ("return a[0] / b[0], a[1] / b[0]", "the divisor stands still"),
        ("return a[0] / b[0], (a[1] * b[0] + a[0] * b[1]) / b[0] ** 2", "a larger divisor makes more"),
        ("return a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0]", "divided once"),
        ("return a[0] / b[0], (a[0] * b[1] - a[1] * b[0]) / b[0] ** 2", None),
        ("return a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[1] ** 2", None),
        ("return a[0] / b[0], a[1] * b[0] - a[0] * b[1]", None),
        ("return a[0] / b[0], a[1] * b[0] + a[0] * b[1]", None),
        ("return (a[1] * b[0] - a[0] * b[1]) / b[0] ** 2", None),
        ("return (a[1] * b[0] - a[0] * b[1]) / b[0] ** 2, a[0] / b[0]", None),
        ("return b[0] / a[0], (a[1] * b[0] - a[0] * b[1]) / b[0] ** 2", None),
        ("return a[0] / b[0], a[1] - b[1]", None),
        ("return a / b", None),
        ("return a.value / b.value, (a.tangent * b.value - a.value * b.tangent) / b.value**2", None),
        ("result = a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0] ** 2", None),
        ("return a[0] // b[0], (a[1] * b[0] - a[0] * b[1]) // b[0] ** 2", None),
        ("return a[0] / b[0], a[1] * b[0] - a[0] * b[1] / b[0] ** 2", None),
        ("return a[0] / b[0]", None),
        ("return a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / (2 * b[0])", None),
        ("return a[0] / b[0], a[1] / b[0] - a[0] * b[1] / b[0]", None),
        ("return a[0] / b[0], a[1] / b[0] - b[1] / b[0] ** 2", None),
    ],
    "shape-of-hessians": [
        ("[5, 4]", "a gradient in place of a Hessian"),
        ("[4, 4]", "one Hessian for all"),
        ("[5, 4, 5, 4]", "samples that know of each other"),
        ("[20, 20]", "one table for the batch"),
        ("[5]", None),
        ("[4, 4, 5]", None),
        ("[5, 5, 4]", None),
        ("80", None),
        ('"5 x 4 x 4"', None),
        ("[5, 16]", None),
        ("[[5, 4, 4]]", None),
        ("[4, 5, 5]", None),
        ("[1, 4, 4]", None),
        ("[]", None),
        ("[4, 5, 4]", None),
        ("[5, 4, 4, 4]", None),
        ("torch.Size([5, 4])", "a gradient in place of a Hessian"),
    ],
    "per-sample-gradients": [
        ("return vmap(lambda s: 2 * ((w * s).sum() - 1) * s)(batch)", None),
        (
            "return grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).mean())(w)",
            "the average of the gradients",
        ),
        (
            "return grad(lambda w: vmap(loss, in_dims=(None, 0))(w, batch).sum())(w)",
            "the sum of the gradients",
        ),
        ("return vmap(grad(loss))(w, batch)", "the weights are mapped over, too"),
        ("return vmap(grad(loss, argnums=1), in_dims=(None, 0))(w, batch)", "the gradient of the sample"),
        ("return grad(vmap(loss, in_dims=(None, 0)))(w, batch)", "grad of a vector"),
        ("return vmap(loss, in_dims=(None, 0))(w, batch)", "losses in place of gradients"),
        ("return torch.stack([grad(loss)(w, sample) for sample in batch])", "a loop"),
        (
            "rows = []\nfor sample in batch:\n    rows.append(grad(loss)(w, sample))\nreturn torch.stack(rows)",
            "a loop",
        ),
        ("return [grad(loss)(w, sample) for sample in batch]", "a loop"),
        ("return grad(loss)(w, batch)", "the whole batch as one sample"),
        ("return vmap(grad(loss), in_dims=(0, None))(w, batch)", None),
        ("return vmap(grad(loss), in_dims=(None, 0))", None),
        ("return vmap(grad(loss), in_dims=(None, 1))(w, batch)", None),
        ("return vmap(grad(loss(w, batch)))", None),
        ("return vmap(grad(loss), in_dims=(None, 0))(batch, w)", None),
        ("return vmap(grad(loss), in_dims=(None, 0))(w, batch).mean(0)", "the average of the gradients"),
        ("each = vmap(grad(loss), in_dims=(None, 0))(w, batch)", None),
        ("return vmap(grad(loss), in_dims=(None, 0))(w, batch).T", None),
        ("loss(w, batch).backward()\nreturn w.grad", None),
        ("return vmap(vmap(grad(loss)))(w, batch)", None),
        ("return hessian(loss)(w, batch)", None),
        ("return jacrev(loss)(w, batch)", "the whole batch as one sample"),
        ("return vmap(grad(loss), in_dims=(None, 0))(w, batch).sum(0)", "the sum of the gradients"),
        ("return vmap(grad(loss), in_dims=(None, 0), out_dims=1)(w, batch)", None),
    ],
    "hessian-times-vector": [
        ("return jvp(f, (x,), (v,))[1]", "a push through f"),
        ("return jvp(grad(f), (x,), (v,))[0]", "the gradient, which does not know v"),
        ("return hessian(f)(x) * v", "element by element"),
        ("return grad(f)(x) * v", "the gradient times v"),
        ("return hessian(f)(x)", "the whole Hessian"),
        ("return jvp(grad(f), (x,), (v,))", "both results of a push"),
        ("return jvp(grad(f), x, v)", None),
        ("return grad(f)(x) @ v", "a push through f"),
        ("return jvp(grad(f), (v,), (x,))[1]", None),
        ("return jvp(grad(f)(x), (x,), (v,))[1]", None),
        ("return grad(grad(f))(x) * v", None),
        ("return hessian(f)(v) @ x", None),
        ("moves = jvp(grad(f), (x,), (v,))[1]", None),
        ("return v @ hessian(f)(x) @ v", None),
        ("return hessian(f)(x * v)", None),
        ("return jvp(hessian(f), (x,), (v,))[1]", None),
        ("return jvp(grad(f), (x,), (torch.ones_like(v),))[1]", None),
        ("return hessian(f) @ v", None),
        ("return [jvp(grad(f), (x,), (v,))[1].sum()]", None),
        ("return grad(f)(x + v) - grad(f)(x)", "a whole step in place of a small one"),
        ("return vjp(f, x)[1](v)", None),
        ("return jvp(grad(f), (x,), (v,))[1] * v", None),
    ],
}
