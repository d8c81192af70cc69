"""Wrong answers that beginners give in lessons 19 and 20; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_LEAF = "leaf = self.variable\n"
_EDGES = "edges = tuple(each.edge() if isinstance(each, Value) else None for each in operands)\n"
_CONSTANT = "if all(each is None for each in edges):\n    return Value(data)\n"
_RESULT = 'return Value(data, True, Node(name + "Backward0", edges, send))'

_NEWEST = "node = max(ready, key=lambda each: each.number)\nready.remove(node)\nreturn node"
_WALK = """waiting, grads, ready = count_arrivals(root), {root: grad}, [root]
while ready:
    node = take_next(ready)
    for to, sent in zip(node.edges, node.run(grads.pop(node))):
        if to is not None:
            grads[to] = grads.get(to, 0.0) + sent
            waiting[to] -= 1
            if waiting[to] == 0:
                ready.append(to)"""


def _walk(*changes: tuple[str, str], take: str = _NEWEST) -> str:
    walk = _WALK
    for old, new in changes:
        assert old in walk
        walk = walk.replace(old, new)
    return f"{take}\n---\n{walk}"


def _counted(*lines: str, first: str = "arrivals, todo = {root: 0}, [root]", last: str = "return arrivals") -> str:
    inside = "\n".join(f"        {line}" for line in lines)
    return f"{first}\nwhile todo:\n    for to in todo.pop().edges:\n{inside}\n{last}"


_DIMS = (
    "extra = grad.dim() - len(shape)\n"
    "dims = tuple(i for i in range(grad.dim()) if i < extra or shape[i - extra] != grad.shape[i])\n"
)
_CTX = "ctx = Node(cls, inputs)\n"
_QUIET = _CTX + "with no_grad():\n    output = cls.forward(ctx, *inputs)\n"
_NEW = "if any(output is each for each in inputs):\n    output = Tensor(output.data)\n"
_ATTACHED = (
    "if is_grad_enabled() and any(ctx.needs_input_grad):\n    output.requires_grad, output.grad_fn = True, ctx\n"
    "return output"
)
_KEEP = "need_a, need_b = ctx.needs_input_grad\nctx.save_for_backward(a if need_b else None, b if need_a else None)\n"
_AB = "return Tensor(a.data @ b.data)"
_SAVED = "a, b = ctx.saved_tensors\n"
_MEAN = "ctx.shape = a.shape\nreturn Tensor(a.data.mean())\n---\n"


def _product(of_a: str, of_b: str) -> str:
    back = f"return None if b is None else {of_a}, None if a is None else {of_b}"
    return f"{_KEEP}{_AB}\n---\n{_SAVED}{back}"


WRONG: dict[str, list[tuple[str, str | None]]] = {
    "accumulate-into-a-leaf": [
        ("self.variable.grad = grad\nreturn ()", "gradients overwrite instead of add"),
        (_LEAF + "leaf.grad = None\nleaf.grad = grad\nreturn ()", "gradients overwrite instead of add"),
        (_LEAF + "leaf.grad += grad\nreturn ()", "a number is added to None"),
        (_LEAF + "leaf.grad = leaf.grad + grad\nreturn ()", "a number is added to None"),
        (_LEAF + "if leaf.grad is None:\n    leaf.grad = grad\nreturn ()", "only the first gradient is kept"),
        (
            _LEAF + "if leaf.grad is None:\n    leaf.grad = grad\nleaf.grad += grad\nreturn ()",
            "the first gradient counts twice",
        ),
        (
            _LEAF + "if leaf.grad is None:\n    leaf.grad = 0.0\nelse:\n    leaf.grad += grad\nreturn ()",
            "the first gradient is lost",
        ),
        (_LEAF + "leaf.data += grad\nreturn ()", "the value moves"),
        (_LEAF + "leaf.grad = (leaf.grad or 0.0) - grad\nreturn ()", "a minus too much"),
        ("self.grad = getattr(self, 'grad', 0.0) + grad\nreturn ()", "the leaf does not change"),
        (_LEAF + "leaf.grad = grad if leaf.grad is None else leaf.grad + grad", "nothing is returned"),
        (_LEAF + "leaf.grad = (leaf.grad or 0.0) + grad\nreturn grad", "a leaf hands on"),
        (_LEAF + "leaf.data -= 0.1 * grad\nreturn ()", None),
        (_LEAF + "leaf.grad = (leaf.grad or 1.0) * grad\nreturn ()", None),
        (_LEAF + "if leaf.grad is not None:\n    leaf.grad += grad\nreturn ()", "the leaf does not change"),
        (_LEAF + "leaf.grad = [grad] if leaf.grad is None else leaf.grad + [grad]\nreturn ()", None),
        (_LEAF + "leaf.gradient = grad\nreturn ()", "the leaf does not change"),
        (_LEAF + "leaf.grad = grad if leaf.grad is None else (leaf.grad + grad) / 2\nreturn ()", None),
        ("variable.grad += grad\nreturn ()", None),
        (_LEAF + "leaf.grad = leaf.data * grad\nreturn ()", None),
        ("grad = self.variable.grad\nreturn ()", "the leaf does not change"),
    ],
    "record-an-operation": [
        (_EDGES + _RESULT, "constants leave a node"),
        (_EDGES + _CONSTANT.replace("all(", "any(") + _RESULT, "one constant is enough to stop the recording"),
        (
            _EDGES + _CONSTANT + "edges = [each for each in edges if each is not None]\n" + _RESULT,
            "constants have no place in the list",
        ),
        (
            _EDGES + _CONSTANT + "edges = [getattr(each, 'grad_fn', None) for each in operands]\n" + _RESULT,
            "leaves are left out",
        ),
        (_EDGES + _CONSTANT + _RESULT.replace("edges", "operands"), "arrows lead to values"),
        (_EDGES + _CONSTANT + "edges = list(dict.fromkeys(edges))\n" + _RESULT, "each node stands in the list once"),
        (_EDGES + _CONSTANT + _RESULT.replace("True", "False"), "the result does not require a gradient"),
        (_EDGES + _CONSTANT + _RESULT.replace("edges", "()"), "a node without a way on"),
        (
            _EDGES.replace(" if isinstance(each, Value) else None", "") + _CONSTANT + _RESULT,
            "a number is asked for its node",
        ),
        ("return Value(data)", None),
        ("return Value(data, True)", None),
        (_EDGES.replace("each.edge()", "each.edge") + _CONSTANT + _RESULT, None),
        (_EDGES + _CONSTANT + 'return Node(name + "Backward0", edges, send)', None),
        (_EDGES + _CONSTANT + _RESULT.replace("send)", "send(1.0))"), None),
        (_EDGES + _CONSTANT + _RESULT.replace(' + "Backward0"', ""), None),
        (_EDGES + _CONSTANT + _RESULT.replace("edges", "set(edges)"), None),
        (_EDGES + _CONSTANT + _RESULT.removeprefix("return "), None),
        (_EDGES + _CONSTANT + "return Value(data, True, edges)", None),
        (_EDGES + _CONSTANT + _RESULT.replace("edges", "edges[::-1]"), None),
        (_EDGES + _CONSTANT + _RESULT.replace("data", "operands[0].data"), None),
    ],
    "count-the-arrivals": [
        (
            "arrivals = {root: 0}\n\ndef visit(node):\n    for to in node.edges:\n        if to is not None:\n"
            "            arrivals[to] = arrivals.get(to, 0) + 1\n            visit(to)\n\nvisit(root)\nreturn arrivals",
            "once per path",
        ),
        (
            _counted(
                "if to is not None:",
                "    if to not in arrivals:",
                "        arrivals[to] = 0",
                "        todo.append(to)",
                "    arrivals[to] += 1",
            ).replace("todo.pop().edges", "set(todo.pop().edges)"),
            "two arrows between the same nodes count as one",
        ),
        (
            _counted("if to is not None and to not in arrivals:", "    arrivals[to] = 1", "    todo.append(to)"),
            "every node is counted once",
        ),
        (
            "arrivals, todo = {}, [root]\nwhile todo:\n    node = todo.pop()\n"
            "    arrivals[node] = len([to for to in node.edges if to is not None])\n"
            "    todo += [to for to in node.edges if to is not None and to not in arrivals]\nreturn arrivals",
            "what leaves in place of what arrives",
        ),
        (
            _counted(
                "if to not in arrivals:",
                "    arrivals[to] = 0",
                "    if to is not None:",
                "        todo.append(to)",
                "arrivals[to] += 1",
            ),
            "constants are counted",
        ),
        (
            _counted(
                "if to is not None:",
                "    if to not in arrivals:",
                "        arrivals[to] = 0",
                "        todo.append(to)",
                "    arrivals[to] += 1",
                first="arrivals, todo = {root: 1}, [root]",
            ),
            "the start waits, too",
        ),
        (
            "arrivals = {root: 0}\nfor to in root.edges:\n    if to is not None:\n"
            "        arrivals[to] = arrivals.get(to, 0) + 1\nreturn arrivals",
            "only the next nodes are counted",
        ),
        ("return {}", None),
        ("return {root: 0}", None),
        ("return len(root.edges)", None),
        ("return {root: len(root.edges)}", None),
        ("return {to: 1 for to in root.edges}", None),
        ("arrivals = {}\nfor to in root.edges:\n    arrivals[to] += 1\nreturn arrivals", None),
        ("return {to.name(): 1 for to in root.edges if to is not None}", None),
        (_counted("arrivals[to] = arrivals.get(to, 0) + 1", "todo.append(to)"), None),
        (
            _counted(
                "if to is not None:",
                "    if to not in arrivals:",
                "        arrivals[to] = 0",
                "        todo.append(to)",
                "    arrivals[to] += 1",
                last="",
            ),
            None,
        ),
        ("return [(to, 1) for to in root.edges]", None),
        (
            "arrivals = {}\nfor to in root.edges:\n    if to is not None:\n"
            "        arrivals[to] = arrivals.get(to, 0) + 1\n"
            "        arrivals |= count_arrivals(to)\nreturn arrivals",
            None,
        ),
    ],
    "walk-the-graph": [
        (
            f"{_NEWEST}\n---\nfor to, sent in zip(root.edges, root.run(grad)):\n"
            "    if to is not None:\n        walk(to, sent)",
            "recursion once per path",
        ),
        (
            _walk(("if waiting[to] == 0", "if to not in ready")),
            "a node runs before everything has arrived",
        ),
        (
            _walk(("if waiting[to] == 0", "if to not in ready"), take="return ready.pop(0)"),
            "a node runs before everything has arrived",
        ),
        (_walk(("grads.get(to, 0.0) + sent", "sent")), "the last gradient replaces the others"),
        (
            _walk(
                ("    for to", "    new = {}\n    for to"),
                ("grads.get(to, 0.0) + sent", "new[to] = new.get(to, 0.0) + sent"),
            ),
            "what waits is cleared too early",
        ),
        (_walk(take="return ready.pop(0)"), "order by depth"),
        (_walk(take="return ready.pop()"), "the last one that became ready runs first"),
        (_walk(take=_NEWEST.replace("max", "min")), "the oldest first"),
        (
            _walk(("node.run(grads.pop(node))", "node.run(grad)")),
            "every node gets the first gradient",
        ),
        (_walk(("waiting[to] == 0", "waiting[to] == 1")), None),
        (_walk(take="node = max(ready)\nready.remove(node)\nreturn node"), None),
        (_walk(take=_NEWEST.replace("ready.remove(node)\n", "")), None),
        (_walk(take=_NEWEST.replace("\nreturn node", "")), None),
        (_walk(take="node = sorted(ready, key=lambda each: each.number)[-1]\nreturn node"), None),
        (_walk(("grads[to] = grads.get(to, 0.0) + sent", "grads[to] += sent")), None),
        (_walk(("if to is not None", "if True")), None),
        (_walk(("node.run(grads.pop(node))", "root.run(grads.pop(node))")), None),
        (f"{_NEWEST}\n---\nroot.run(grad)", None),
        (f"{_NEWEST}\n---\nfor node in count_arrivals(root):\n    node.run(grad)", None),
        (_walk(("grads.get(to, 0.0) + sent", "max(grads.get(to, 0.0), sent)")), None),
        (_walk(("{root: grad}", "{root: 1.0}")), None),
    ],
    "sum-to-a-shape": [
        (
            "extra = grad.dim() - len(shape)\nreturn grad.sum(tuple(range(extra))) if extra else grad",
            "dimensions of size 1 are not summed",
        ),
        (
            "dims = tuple(i for i, size in enumerate(shape) if size == 1 and grad.shape[i] != 1)\n"
            "return grad.sum(dims, keepdim=True) if dims else grad",
            "dimensions in front are not summed",
        ),
        (
            "dims = tuple(i for i in range(grad.dim()) if i >= len(shape) or shape[i] != grad.shape[i])\n"
            "return grad.sum(dims).reshape(shape) if dims else grad",
            "shapes are compared from the left",
        ),
        (_DIMS + "return grad.mean(dims).reshape(shape) if dims else grad", "the mean of the copies"),
        (_DIMS + "return grad.sum(dims) if dims else grad", "summed dimensions are gone"),
        (_DIMS + "return grad.sum(dims, keepdim=True) if dims else grad", "too many dimensions are kept"),
        (
            _DIMS + "for i in reversed(dims):\n    grad = grad.select(i, 0)\nreturn grad.reshape(shape)",
            "one copy of many",
        ),
        ("return grad.reshape(shape)", "a reshape adds nothing"),
        ("return grad.sum()", "everything is summed"),
        ("return grad", None),
        ("return grad.sum(0)", None),
        ("return grad.sum(-1)", None),
        ("return torch.zeros(shape)", None),
        ("return shape", None),
        (_DIMS + "grad = grad.sum(dims).reshape(shape)", None),
        (_DIMS + "return grad.sum(dims).reshape(shape)", None),
        ("return grad.expand(shape)", None),
        ("return grad.sum(tuple(range(grad.dim() - len(shape)))).reshape(shape)", None),
    ],
    "apply-a-function": [
        (_CTX + "output = cls.forward(ctx, *inputs)\n" + _NEW + _ATTACHED, "forward is recorded, too"),
        (_QUIET + _NEW + "output.requires_grad, output.grad_fn = True, ctx\nreturn output", "constants leave a node"),
        (
            _QUIET
            + _NEW
            + "if is_grad_enabled():\n    output.requires_grad, output.grad_fn = True, ctx\nreturn output",
            "constants leave a node",
        ),
        (_QUIET + _NEW + _ATTACHED.replace("any(", "all("), "one constant is enough to stop the recording"),
        (_QUIET + _NEW + _ATTACHED.replace("is_grad_enabled() and ", ""), "no_grad is not asked"),
        (
            _QUIET
            + _NEW
            + _ATTACHED.replace("output.requires_grad, output.grad_fn = True, ctx", "output.grad_fn = ctx"),
            "the result does not require a gradient",
        ),
        (_QUIET + _ATTACHED, "an input gets the node"),
        (_QUIET + _NEW + "return output", "the result has no node"),
        (
            "with no_grad():\n    output = cls.forward(Node(cls, inputs), *inputs)\n"
            + _NEW
            + _ATTACHED.replace("any(ctx", "any(Node(cls, inputs)").replace("True, ctx", "True, Node(cls, inputs)"),
            "backward gets another ctx",
        ),
        (_QUIET + _NEW + _ATTACHED.replace("return output", ""), None),
        (_QUIET.replace("(ctx, *inputs)", "(*inputs)") + _NEW + _ATTACHED, None),
        (_QUIET.replace("*inputs)", "inputs)") + _NEW + _ATTACHED, None),
        (_QUIET.replace("cls.forward", "forward") + _NEW + _ATTACHED, None),
        (_QUIET + _NEW + _ATTACHED.replace("return output", "return ctx"), None),
        (_QUIET.replace("output = ", "return "), None),
        (_QUIET.replace("Node(cls, inputs)", "cls") + _NEW + _ATTACHED, None),
        (_QUIET.replace("Node(cls, inputs)", "Node(cls, *inputs)") + _NEW + _ATTACHED, None),
        (_QUIET + "    output.requires_grad, output.grad_fn = is_grad_enabled(), ctx\nreturn output", None),
        ("return cls.forward(*inputs)", None),
        (_QUIET + _NEW + _ATTACHED.replace("ctx\n", "ctx.backward\n"), None),
    ],
    "product-of-matrices": [
        (f"ctx.save_for_backward(a, b)\n{_AB}\n---\n{_SAVED}return grad @ b.T, a.T @ grad", "everything is kept"),
        (f"ctx.a, ctx.b = a, b\n{_AB}\n---\nreturn grad @ ctx.b.T, ctx.a.T @ grad", "kept as an attribute of ctx"),
        (_product("grad @ b", "a @ grad"), "no matrix is turned"),
        (_product("b.T @ grad", "grad @ a.T"), "the factors are in another order"),
        (_product("grad * b", "grad * a"), "the rule of *"),
        (
            "need_a, need_b = ctx.needs_input_grad\n"
            "ctx.save_for_backward(a if need_a else None, b if need_b else None)\n"
            f"{_AB}\n---\n{_SAVED}return None if b is None else grad @ b.T, None if a is None else a.T @ grad",
            "each keeps itself",
        ),
        (
            _product("Tensor(np.ones(grad.shape)) @ b.T", "a.T @ Tensor(np.ones(grad.shape))"),
            "gradients that arrive are ignored",
        ),
        (f"{_KEEP}{_AB}\n---\n{_SAVED}return a.T @ grad, grad @ b.T", None),
        (_product("(grad @ b.T).T", "(a.T @ grad).T"), None),
        (_product("b.T", "a.T"), None),
        (_product("grad @ b.T", "grad.T @ a"), None),
        (f"{_KEEP}{_AB}\n---\n{_SAVED}return grad @ b.T", None),
        (f"{_KEEP}{_AB}\n---\n{_SAVED}return grad @ b.T, a.T @ grad, None", None),
        (f"{_KEEP}{_AB}\n---\nreturn grad @ b.T, a.T @ grad", None),
        (f"{_KEEP}return a @ b\n---\n{_SAVED}return None, None", None),
        (f"{_KEEP}return a.data @ b.data\n---\n{_SAVED}return grad @ b.T, a.T @ grad", None),
        (f"{_AB}\n---\n{_SAVED}return grad @ b.T, a.T @ grad", None),
        (f"ctx.save_for_backward(a)\n{_AB}\n---\n{_SAVED}return grad @ b.T, a.T @ grad", None),
        (f"{_KEEP}return Tensor(a.data * b.data)\n---\n{_SAVED}return grad * b, grad * a", "the rule of *"),
    ],
    "mean-as-a-function": [
        (f"{_MEAN}return grad.expand(ctx.shape)", "the gradient of a sum"),
        (f"{_MEAN}return grad.expand(ctx.shape) / ctx.shape[0]", "divided by the number of rows"),
        (f"{_MEAN}return grad.expand(ctx.shape) / ctx.shape[-1]", "divided by the number of columns"),
        (f"{_MEAN}return grad / prod(ctx.shape)", "one number for all"),
        (f"{_MEAN}return grad.expand(ctx.shape) * prod(ctx.shape)", "multiplied in place of divided"),
        (
            "ctx.a = a\nreturn Tensor(a.data.mean())\n---\nreturn ctx.a * grad / prod(ctx.a.shape)",
            "the values take part",
        ),
        (f"{_MEAN}return Tensor(np.ones(ctx.shape)) / prod(ctx.shape)", "gradients that arrive are ignored"),
        (f"{_MEAN}return grad", None),
        (f"{_MEAN}return grad.expand(ctx.shape) / len(ctx.shape)", None),
        (f"{_MEAN}return 1 / prod(ctx.shape)", None),
        ("return Tensor(a.data.mean())\n---\nreturn grad.expand(ctx.shape) / prod(ctx.shape)", None),
        ("ctx.shape = a.shape\nreturn a.data.mean()\n---\nreturn grad.expand(ctx.shape) / prod(ctx.shape)", None),
        (
            "ctx.shape = a.shape\nreturn Tensor(a.data.sum())\n---\nreturn grad.expand(ctx.shape) / prod(ctx.shape)",
            None,
        ),
        (
            "ctx.shape = a.shape\nreturn Tensor(a.data.mean(0))\n---\nreturn grad.expand(ctx.shape) / prod(ctx.shape)",
            None,
        ),
        (f"{_MEAN}return grad.expand(ctx.shape) / prod(ctx.shape), None", None),
        (f"{_MEAN}gradient = grad.expand(ctx.shape) / prod(ctx.shape)", None),
        (f"{_MEAN}return grad.expand(ctx.shape).mean()", None),
    ],
}
