"""L-BFGS: steps along directions that take the curvature from earlier gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.tensor import Tensor
from ..ops.join_split import cat
from .optimizer import Optimizer, _checked


def _number(loss: Any) -> float:
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


class LBFGS(Optimizer):
    """Minimize a smooth loss using its curvature, estimated from the most recent gradients (Nocedal, 1980).

    Each `step(closure)` calls `closure` several times. The closure must clear the gradients, compute the loss, call
    `backward()` and return the loss. PyTorch: torch.optim.LBFGS.

    Example:
        >>> w = torch.tensor([3.0], requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([w])
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)  # the loss before the step
        tensor(4., grad_fn=<SumBackward0>)
        >>> w
        tensor([1.], requires_grad=True)

    Args:
        params: The parameters to change: an iterable of tensors. There can be only one group.
        lr: The factor by which each direction is multiplied.
        max_iter: The maximum number of iterations per `step()`. Each one computes a new direction and moves along it.
        max_eval: The maximum number of calls of `closure` in one `step()`; None means `max_iter * 5 // 4`.
        tolerance_grad: Stop when every element of the gradient is at most this large.
        tolerance_change: Stop when the loss changes by less than this, or no parameter by more than this.
        history_size: The number of earlier iterations from which the curvature is estimated.
        line_search_fn: Must be None: line search isn't available here.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = {
            "lr": _checked("lr", lr, "learning rate"),
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        if line_search_fn == "strong_wolfe":
            raise NotImplementedError("the workbench has LBFGS without a line search: leave line_search_fn out")
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def _flat_grad(self) -> Tensor:
        """Return all gradients as one vector."""
        params = self.param_groups[0]["params"]
        return cat([p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1) for p in params])

    def _move(self, step: Any, direction: Tensor) -> None:
        start = 0
        for p in self.param_groups[0]["params"]:
            end = start + p.numel()
            p.add_(direction[start:end].view_as(p), alpha=float(step))
            start = end

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run up to `max_iter` iterations, and return the loss before the first one.

        Args:
            closure: A function that clears the gradients, computes the loss, calls `backward()`, and returns the loss.
        """
        with no_grad():
            return self._steps(closure)

    def _steps(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first = closure()
        loss, evals, grad = _number(first), 1, self._flat_grad()
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["d"], state["prev_flat_grad"], before = direction, grad.clone(), loss
            state["prev_loss"], lr = loss, float(group["lr"])
            state["t"] = min(1.0, 1.0 / float(grad.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                raise RuntimeError("only 'strong_wolfe' is supported")
            self._move(state["t"], direction)
            if i < group["max_iter"]:
                with enable_grad():
                    loss = _number(closure())
                grad = self._flat_grad()
                evals += 1
                state["func_evals"] += 1
            small = (direction * state["t"]).abs().max() <= group["tolerance_change"]
            little = small or abs(loss - before) < group["tolerance_change"]
            if evals >= group["max_eval"] or grad.abs().max() <= group["tolerance_grad"] or little:
                break
        return first

    def _direction(self, state: dict[str, Any], grad: Tensor, most: int) -> Tensor:
        """Return minus the gradient, multiplied by the inverse curvature that the history gives."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        y, s = grad - state["prev_flat_grad"], state["d"] * state["t"]
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if (ys := y.dot(s)) > 1e-10:
            if len(dirs) == most:
                for kept in (dirs, steps, ro):
                    kept.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        al = state.setdefault("al", [None] * most)
        found = grad.neg()
        for i in range(len(dirs) - 1, -1, -1):
            al[i] = steps[i].dot(found) * ro[i]
            found = found - dirs[i] * al[i]
        found = found * state["H_diag"]
        for i in range(len(dirs)):
            found = found + steps[i] * (al[i] - dirs[i].dot(found) * ro[i])
        return found
