"""Wrong answers that beginners give in lesson 22; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_AB = "a, b = ctx.inputs\n"
_S = "(s,) = ctx.saved_tensors\n"
_BACK = _S + "return grad * s * (1.0 - s)"
_PUSH = _S + "return tangent * s * (1.0 - s)"


def _both(backward: str = _BACK, push: str = _PUSH) -> str:
    return f"{backward}\n---\n{push}"


_CREATED = """if kind == "created":
    node = things[0]
    self.of_node[node] = len([each for each in node.saved if each is not None])
    self.now += self.of_node[node]
    self.most = max(self.most, self.now)"""
_FREED = """
elif kind == "freed":
    self.now -= self.of_node.pop(things[0], 0)"""

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "jvp-of-a-product": [
        ("return ta * tb", "tangents multiply"),
        ("return ta + tb", "tangents add, and the values do not matter"),
        (_AB + "return ta * a + tb * b", "each tangent with its own value"),
        (_AB + "return ta * b, a * tb", "one gradient for each operand"),
        (_AB + "return ta * b", "only the first operand moves"),
        (_AB + "return a * tb", "only the second operand moves"),
        (_AB + "return a * b", "the value in place of the tangent"),
        (_AB + "return (a + ta) * (b + tb) - a * b", "both at once"),
        (_AB + "return (a + ta) * (b + tb)", "both at once"),
        (_AB + "return ta * b - a * tb", None),
        (_AB + "ta * b + a * tb", None),
        ("a, b = ctx.saved_tensors\nreturn ta * tb * a * b", None),
        (_AB + "return a + b", None),
        (_AB + "return (ta * b + a * tb) / 2", None),
        ("return ta * b + a * tb", None),
        (_AB + "return ta / a + tb / b", None),
    ],
    "sigmoid-both-ways": [
        (_both(_S + "return grad * engine.Tensor(s.data * (1.0 - s.data))"), "numbers without a history"),
        (_both(_S + "return engine.Tensor(grad.data * s.data * (1.0 - s.data))"), "numbers without a history"),
        (_both(_S + "s = s.detach()\nreturn grad * s * (1.0 - s)"), "numbers without a history"),
        (_both(_BACK.replace("grad * ", ""), _PUSH.replace("tangent * ", "")), "the local slope without the chain"),
        (_both(_BACK.replace("grad * ", "")), "the gradient that arrives is ignored"),
        (_both(push=_PUSH.replace("tangent * ", "")), "the tangent is ignored"),
        (_both(push="return tangent * 1.0"), "the tangent passes as it is"),
        (_both(_S + "return grad * s", _S + "return tangent * s"), "the sigmoid in place of its slope"),
        (_both(push=_S + "return (tangent * s * (1.0 - s),)"), "a tuple as a tangent"),
        (_both(_BACK.replace("grad", "-grad"), _PUSH.replace("tangent", "-tangent")), "a minus too much"),
        (_both(_BACK.replace("1.0 - s", "1.0 + s"), _PUSH.replace("1.0 - s", "1.0 + s")), None),
        (_both(_BACK.replace("1.0 - s", "1.0 - s * s"), _PUSH.replace("1.0 - s", "1.0 - s * s")), None),
        (_both("return grad / 4", "return tangent / 4"), None),
        (_both(_S + "grad * s * (1.0 - s)"), None),
        (_both(_BACK.replace("ctx.saved_tensors", "ctx.inputs")), None),
        (_both(_BACK.replace("(s,)", "s")), None),
    ],
    "count-what-is-kept": [
        (_CREATED, "nothing is ever freed"),
        (
            _CREATED + '\nelif kind == "freed":\n    self.now -= len([each for each in things[0].saved or () if each])',
            "nothing is ever freed",
        ),
        (_CREATED.replace(" if each is not None", "") + _FREED, "None is counted"),
        (
            _CREATED.replace("len([each for each in node.saved if each is not None])", "1") + _FREED,
            "nodes are counted",
        ),
        (
            'if kind == "created":\n    self.now += 1\n    self.most = max(self.most, self.now)\n'
            'elif kind == "freed":\n    self.now -= 1',
            "nodes are counted",
        ),
        (
            _CREATED + '\nelif kind == "freed":\n    self.now -= len([each for each in things[0].saved if each])',
            "asked too late",
        ),
        (_CREATED + _FREED + "\nself.most = self.now", "the last count in place of the largest"),
        (
            _CREATED.replace("self.most = max(self.most, self.now)", "self.most += self.of_node[node]") + _FREED,
            "all that was ever kept",
        ),
        (
            _CREATED.replace("max(self.most, self.now)", "max(self.most, self.of_node[node])") + _FREED,
            "the largest single node",
        ),
        (
            _CREATED.replace("\n    self.most = max(self.most, self.now)", "") + _FREED,
            "the largest count is not kept up to date",
        ),
        (_CREATED + _FREED.replace('"freed"', '"run"'), "to run is to free"),
        (_CREATED + _FREED.replace('"freed"', '"ran"'), "to run is to free"),
        (_CREATED.replace("created", "create") + _FREED, None),
        (_CREATED.replace("things[0]", "things") + _FREED, None),
        (_CREATED + _FREED.replace("-=", "+="), None),
        (_CREATED + _FREED.replace("freed", "finished"), None),
        ("self.now += 1\nself.most = max(self.most, self.now)", None),
    ],
}
