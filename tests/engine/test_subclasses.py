"""Subclasses of Tensor and `__torch_function__`: what makes them, and what operations on them give."""

from __future__ import annotations

from typing import Any

from oracle import raised


def kinds(results: Any) -> list[str]:
    """The names of the results' classes."""
    return [type(each).__name__ for each in results]


def test_a_subclass_is_made_and_survives_operations(torch: Any) -> Any:
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2, requires_grad=True)
    s = x.as_subclass(Sub)
    made = [Sub([1.0, 2.0]), Sub(torch.ones(2)), Sub(), s]
    outs = [
        s + 1,
        1 + s,
        s * s,
        x + s,
        torch.exp(s),
        torch.add(x, s),
        s[0],
        s.view(2, 1),
        s.clone(),
        s.detach(),
        s.data,
    ]
    outs += [torch.cat([x, s]), s.sum(), torch.nn.functional.relu(s), s.to(torch.float64), s.split(1)[0], s.max(0)[0]]
    (s * s).sum().backward()
    leaf = Sub([1.0, 2.0]).requires_grad_()
    (leaf * 3).sum().backward()
    t = Sub([1.0])
    return (
        kinds(made),
        [repr(each) for each in made],
        kinds(outs),
        s.grad_fn.name(),
        kinds([x.grad, leaf.grad]),
        [x.grad, leaf.grad],
        (t.add_(1) is t, Sub(2, 3).shape, leaf.is_leaf, s._base is x),
        raised(x.as_subclass, int),
    )


def test_a_subclass_with_attributes(torch: Any) -> Any:
    class Named(torch.Tensor):
        def __new__(cls, data, label):
            return super().__new__(cls, data)

        def __init__(self, data, label):
            self.label = label

    class Shown(torch.Tensor):
        @staticmethod
        def __new__(cls, data, label):
            return torch.Tensor._make_subclass(cls, data)

        def __init__(self, data, label):
            self.label = label

    made = [Named([1.0, 2.0], "a"), Shown(torch.ones(2), "b")]
    return [(each.label, repr(each), type(each * 2).__name__, hasattr(each * 2, "label")) for each in made]


def test_operations_ask_a_class(torch: Any) -> Any:
    told = []

    class Log(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((func.__name__, [kind.__name__ for kind in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Fake:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, [kind.__name__ for kind in types], len(args), func is torch.add or func is torch.mean

    class Silent:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    s = torch.ones(2).as_subclass(Log)
    told.clear()
    kind = type(torch.mul(torch.ones(2), (s + 1).exp())).__name__
    x = torch.ones(2)
    faked = [
        torch.add(Fake(), 1),
        torch.mul(x, Fake()),
        torch.exp(Fake()),
        torch.mean(Fake()),
        torch.where(x > 0, Fake(), x),
    ]
    return told, kind, faked, (x + Fake())[:2], raised(torch.add, Silent(), 1)[0]


def test_a_function_that_a_class_handles_by_itself(torch: Any) -> Any:
    class Scaled:
        def __init__(self, value, scale):
            self.value, self.scale = value, scale

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.mean:
                return args[0].value * args[0].scale
            return func(*[a.value * a.scale if isinstance(a, Scaled) else a for a in args], **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    torch.sum(torch.mul(Scaled(x, 3.0), 2)).backward()
    return torch.mean(Scaled(1.0, 5.0)), x.grad
