"""Wrong answers that beginners give in lesson 21; `wrong_gradients.py` says how they are written."""

from __future__ import annotations

_KEEP = "self.tensor, self.version = tensor, tensor._version"
_COMPARE = """if self.tensor._version != self.version:
    raise written_over(self.tensor, self.version)
return self.tensor"""


def _saved(keep: str = _KEEP, unpack: str = _COMPARE) -> str:
    return f"{keep}\n---\n{unpack}"


_READ = """if self.saved is None:
    raise freed()
return tuple(None if each is None else each.unpack() for each in self.saved)"""
_FREE = "if self.saved:\n    self.saved = None"


def _keeping(read: str = _READ, free: str = _FREE) -> str:
    return f"{read}\n---\n{free}"


_WHOLE = "whole = engine_3.zeros(*ctx.shape)\n"
_REST = "rest = grad.clone()\npart = self.view_again(rest)\nfirst, *others = self.node.run(part.clone())\n"
_BACK = "return (rest, *others)"

WRONG: dict[str, list[tuple[str, str | None]]] = {
    "saved-with-its-version": [
        (_saved("self.tensor = tensor.clone()", "return self.tensor"), "a copy is kept"),
        (_saved("self.tensor, self.version = tensor.clone(), tensor._version"), None),
        (_saved(unpack="return self.tensor"), "nothing is compared"),
        (
            _saved("self.tensor = tensor", _COMPARE.replace("self.version", "self.tensor._version")),
            "nothing is compared",
        ),
        (
            _saved(
                "self.tensor, self.version = tensor, tensor._version\nself.numbers = tensor.data.copy()",
                _COMPARE.replace("self.tensor._version != self.version", "(self.tensor.data != self.numbers).any()"),
            ),
            "the numbers are compared",
        ),
        (
            _saved(unpack=_COMPARE.replace("self.tensor._version != self.version", "self.tensor._version > 0")),
            "any write ever is an error",
        ),
        (
            _saved(unpack=_COMPARE.replace("(self.tensor, self.version)", "(self.tensor, self.tensor._version)")),
            "the versions are mixed up",
        ),
        (_saved(unpack=_COMPARE.replace("!=", "==")), "the wrong way round"),
        (_saved(unpack=_COMPARE.replace("return", "self.version += 1\nreturn")), "to read is to write"),
        (_saved(unpack=_COMPARE.replace("raise", "return")), None),
        (_saved(unpack=_COMPARE.replace("return self.tensor", "")), None),
        (_saved(unpack=_COMPARE.replace("return self.tensor", "return self.tensor.clone()")), None),
        (_saved("self.tensor, self.version = tensor, 0"), None),
        (_saved("self.tensor = tensor"), None),
        (_saved(unpack=_COMPARE.replace("self.", "")), None),
        (_saved(unpack=_COMPARE.replace("written_over(self.tensor, self.version)", "ValueError('written')")), None),
    ],
    "free-what-was-kept": [
        (_keeping(free="self.saved = tuple(self.saved)"), "nothing is freed"),
        (_keeping(free="return"), "nothing is freed"),
        (_keeping(free="self.saved = ()"), "freed, and nobody knows"),
        (
            _keeping(
                _READ.replace("return", "saved, self.saved = self.saved, None\nreturn").replace(
                    "in self.saved)", "in saved)"
                )
            ),
            "to read is to free",
        ),
        (_keeping(_READ.partition("return")[0] + "return self.saved"), "the records in place of the tensors"),
        (_keeping(_READ.replace("each.unpack()", "each.tensor")), "the version is not compared"),
        (_keeping(_READ.replace("None if each is None else ", "")), "None is unpacked"),
        (
            _keeping(
                _READ.replace("None if each is None else ", "").replace("in self.saved)", "in self.saved if each)")
            ),
            "None has no place",
        ),
        (_keeping(_READ.partition("return")[1] + _READ.partition("return")[2]), "what was freed is not refused"),
        (_keeping(_READ.replace("is None:", "is not None:", 1)), None),
        (_keeping(_READ.replace("raise freed()", "return ()")), "freed, and nobody knows"),
        (_keeping(_READ.replace("raise freed()", "return freed()")), None),
        (_keeping(_READ.replace("each.unpack()", "each.unpack")), None),
        (_keeping(free="del self.saved"), None),
        (_keeping(free="raise freed()"), None),
        (_keeping(_READ.replace("return tuple", "tuple")), None),
    ],
    "backward-of-a-view": [
        ("return grad, None", "the gradient of the part is handed on"),
        (_WHOLE + "return whole + grad, None", "every element gets the gradient"),
        ("return grad.expand(*ctx.shape), None", "every element gets the gradient"),
        (_WHOLE + "return whole + grad / ctx.shape[0], None", "the gradient is shared out"),
        (_WHOLE + "whole[0].copy_(grad)\nreturn whole, None", "always at the front"),
        (
            "whole = engine_3.ones(*ctx.shape)\nwhole[ctx.index].copy_(grad)\nreturn whole, None",
            "ones in place of zeros",
        ),
        (_WHOLE + "whole[ctx.index].copy_(1.0)\nreturn whole, None", "gradients that arrive are ignored"),
        (_WHOLE + "whole[ctx.index] + grad\nreturn whole, None", "the gradient arrives nowhere"),
        (_WHOLE + "whole[ctx.index].copy_(grad)\nreturn whole", "the index has no gradient, and no place"),
        (_WHOLE + "whole[ctx.index] = grad", None),
        (_WHOLE + "return whole, None", "the gradient arrives nowhere"),
        (_WHOLE + "whole[ctx.index].copy_(grad)\nreturn whole, ctx.index", None),
        (_WHOLE + "whole.copy_(grad)\nreturn whole, None", "every element gets the gradient"),
        (_WHOLE + "whole[ctx.index].copy_(grad * ctx.index)\nreturn whole, None", None),
        (_WHOLE + "whole[-ctx.index].copy_(grad)\nreturn whole, None", None),
        (_WHOLE + "whole[ctx.index].copy_(-grad)\nreturn whole, None", None),
        ("return ctx.a[ctx.index] * grad, None", None),
    ],
    "write-through-a-view": [
        (
            "first, *others = self.node.run(self.view_again(grad).clone())\nreturn (grad, *others)",
            "the part keeps its gradient",
        ),
        (
            "rest = grad * 0.0\nfirst, *others = self.node.run(self.view_again(grad).clone())\n"
            "self.view_again(rest).copy_(0.0 if first is None else first)\n" + _BACK,
            "only the part has a gradient",
        ),
        (_REST + "part.zero_()\n" + _BACK, "the old elements count for nothing"),
        (
            "part = self.view_again(grad)\nfirst, *others = self.node.run(part.clone())\n"
            "part.copy_(0.0 if first is None else first)\nreturn (grad, *others)",
            "a gradient of somebody else is written over",
        ),
        (_REST + "part += 0.0 if first is None else first\n" + _BACK, "the part gets both gradients"),
        (_REST + "part.copy_(0.0 if first is None else first)\nreturn (rest,)", "what was written gets nothing"),
        (_REST + "part.copy_(first)\n" + _BACK, "None is copied"),
        (_REST + "if first is not None:\n    part.copy_(first)\n" + _BACK, "None leaves the gradient as it was"),
        ("return self.node.run(grad)", "everything goes through the operation"),
        (_REST + "part.copy_(0.0 if first is None else first)\nreturn rest", None),
        (_REST + "part.copy_(0.0 if first is None else first)\nreturn (part, *others)", None),
        (_REST + "part = first\n" + _BACK, "the part keeps its gradient"),
        (_REST + "return (first, *others)", None),
        ("return (grad, None)", None),
        ("return grad", None),
        (_REST + "part.copy_(1.0 if first is None else first)\n" + _BACK, None),
        (_REST + "part.copy_(0.0 if first is None else first)\nreturn (*others, rest)", None),
        (
            _REST.replace("part.clone()", "rest") + "part.copy_(0.0 if first is None else first)\n" + _BACK,
            "everything goes through the operation",
        ),
    ],
}
