"""The contestants that are not PyTorch and do not have its names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

Pull = Callable[[Any], list[Any]]


class Missing(Exception):
    """What a module cannot do."""


class HIPS:
    """HIPS autograd."""

    title, package = "HIPS autograd", "autograd"

    def __init__(self) -> None:
        import autograd.numpy as np
        from autograd import extend

        self._extend = extend
        self.sin, self.tanh, self.exp, self.log = np.sin, np.tanh, np.exp, np.log
        self.sum, self.mean = np.sum, np.mean
        self.relu = lambda x: np.maximum(x, 0.0)

    def leaf(self, values: Any) -> np.ndarray:
        """Plain arrays: a function is given its boxes when it runs."""
        return np.array(values)

    constant = leaf

    def numbers(self, *arrays: Any) -> list[np.ndarray]:
        """They are arrays already."""
        return list(arrays)

    def run(self, function: Callable[..., Any], *leaves: Any) -> tuple[Any, Pull]:
        """The output, and what takes its gradient back to the leaves."""
        pull, y = self._extend_make_vjp(lambda boxes: function(*boxes), leaves)
        return y, lambda seed: list(pull(1.0 if seed is None else seed))

    @cached_property
    def _extend_make_vjp(self) -> Any:
        from autograd.core import make_vjp

        return make_vjp

    @property
    def func(self) -> Any:
        """Refused."""
        raise Missing("HIPS autograd has no transforms that nest as torch.func's do")

    @property
    def library(self) -> Any:
        """Refused."""
        raise Missing("HIPS autograd does not have PyTorch's names")

    def grad_of_grad(self, function: Callable[..., Any], x: Any, seed: Any) -> tuple[Any, Any]:
        """The gradient, and the gradient of that."""
        make_vjp = self._extend_make_vjp
        pull, first = make_vjp(lambda x: make_vjp(function, x)[0](seed), x)
        return first, pull(seed)

    def descend(self, parameters: list[Any], grads: list[Any], rate: float) -> list[Any]:
        """One step down, in place."""
        for p, g in zip(parameters, grads, strict=True):
            p -= rate * g
        return parameters

    def custom(self, kind: str) -> Callable[[Any], Any]:
        """A primitive of the user's; what is saved is what its closure holds."""
        if kind == "setup_context":
            raise Missing("HIPS autograd has no setup_context")
        scale = self._extend.primitive(lambda x: x * 0.9)
        self._extend.defvjp(scale, lambda ans, x: lambda grad: grad * 0.9)
        return scale


class MyGrad:
    """mygrad."""

    title, package = "mygrad", "mygrad"

    def __init__(self) -> None:
        import mygrad

        self._mygrad = mygrad
        self.sin, self.tanh, self.exp, self.log = mygrad.sin, mygrad.tanh, mygrad.exp, mygrad.log
        self.sum, self.mean = mygrad.sum, mygrad.mean
        self.relu = lambda x: mygrad.maximum(x, 0.0)

    def leaf(self, values: Any) -> Any:
        """A tensor that takes a gradient."""
        return self._mygrad.tensor(values, dtype=np.float64)

    def constant(self, values: Any) -> Any:
        """A tensor that takes none."""
        return self._mygrad.tensor(values, dtype=np.float64, constant=True)

    def numbers(self, *tensors: Any) -> list[np.ndarray]:
        """The arrays of tensors."""
        return [np.asarray(t) for t in tensors]

    def run(self, function: Callable[..., Any], *leaves: Any) -> tuple[Any, Pull]:
        """The output, and what takes its gradient back to the leaves."""
        y = function(*leaves)

        def pull(seed: Any) -> list[Any]:
            y.backward(None if seed is None else seed.data)
            return [leaf.grad for leaf in leaves]

        return y, pull

    @property
    def func(self) -> Any:
        """Refused."""
        raise Missing("mygrad has no function transforms")

    @property
    def library(self) -> Any:
        """Refused."""
        raise Missing("mygrad does not have PyTorch's names")

    def grad_of_grad(self, function: Callable[..., Any], x: Any, seed: Any) -> Any:
        """Refused."""
        raise Missing("mygrad has no gradients of gradients")

    def descend(self, parameters: list[Any], grads: list[Any], rate: float) -> list[Any]:
        """One step down, in place."""
        for p, g in zip(parameters, grads, strict=True):
            p.data -= rate * g
            p.null_grad()
        return parameters

    def custom(self, kind: str) -> Callable[[Any], Any]:
        """An Operation of the user's."""
        if kind == "setup_context":
            raise Missing("mygrad has no setup_context")
        mygrad = self._mygrad

        class Scale(mygrad.operation_base.Operation):
            def __call__(self, x: Any) -> np.ndarray:
                self.variables = (x,)
                return x.data * 0.9

            def backward_var(self, grad: np.ndarray, index: int, **kwargs: Any) -> np.ndarray:
                return grad * 0.9

        return lambda x: mygrad.execute_op(Scale, x)
