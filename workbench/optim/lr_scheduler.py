"""Schedules that change learning rates from epoch to epoch (torch.optim.lr_scheduler)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..compat.absent import refusing
from ..errors import warn
from .optimizer import Optimizer

__getattr__ = refusing(__name__)  # refuses absent names by a sentence

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CyclicLR",
    "PolynomialLR",
    "SequentialLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
    "StepLR",
]

# What schedules refuse or warn of, word for word PyTorch's (PyTorch 2.13).
SCHEDULED_KIND = "{} is not an Optimizer"
NO_INITIAL_LR = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)
LAMBDAS = "Expected {} lr_lambdas, but got {}"
SCHEDULER_FIRST = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
LAST_LR = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
PLATEAU_GROUPS = (
    "The number of param groups in the `optimizer` ({}) differs from when `ReduceLROnPlateau` was initialized ({}), "
    "usually due to a new param group being added to the optimizer. Please modify the `min_lrs` field to match the "
    "length of the `optimizer` param groups."
)


class LRScheduler:
    """Base class of schedules: each `step()` sets the learning rates that a subclass computes in `get_lr`.

    Call `step()` once per epoch, after the optimizer's steps. PyTorch: torch.optim.lr_scheduler.LRScheduler.

    Args:
        optimizer: The optimizer whose learning rates to change. The schedule starts from the current rates of its
            groups.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(SCHEDULED_KIND.format(type(optimizer).__name__))
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(NO_INITIAL_LR.format(i))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        optimizer._opt_called = bool(optimizer._opt_called)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the initial learning rates."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule, without the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float]:
        """Return the current learning rate of each group."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`; a subclass overrides it."""
        raise NotImplementedError

    def _rates(self) -> list[float]:
        """Return the groups' learning rates, and warn if `get_lr` wasn't called by `step`."""
        if not self._get_lr_called_within_step:
            warn(LAST_LR)
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warn(SCHEDULER_FIRST)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        try:
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            rates = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)


_LRScheduler = LRScheduler  # its old name, which programs still have as their base


class LambdaLR(LRScheduler):
    """Multiply the initial learning rate by a function of the epoch.

    Args:
        optimizer: The optimizer whose learning rates to change.
        lr_lambda: A function that takes the number of the epoch, counted from 0, and returns a factor; or a list with
            one such function per group.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        )
        if len(self.lr_lambdas) != count:
            raise ValueError(LAMBDAS.format(count, len(self.lr_lambdas)))
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule, without the optimizer and the functions."""
        return super().state_dict() | {"lr_lambdas": [None] * len(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that `state_dict` returned, with this schedule's functions."""
        super().load_state_dict({**state_dict, "lr_lambdas": self.lr_lambdas})

    def get_lr(self) -> list[float]:
        """Return the initial learning rates times the functions' values."""
        self._rates()
        return [base * of(self.last_epoch) for of, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` epochs: `initial_lr * gamma ** (epoch // step_size)`.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(3):
        ...     optimizer.step()  # usually many steps, one per batch
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]

    Args:
        optimizer: The optimizer whose learning rates to change.
        step_size: The number of epochs between two changes.
        gamma: The factor by which the rate is multiplied at each change.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`."""
        rates = self._rates()
        stays = self.last_epoch == 0 or self.last_epoch % self.step_size
        return rates if stays else [rate * self.gamma for rate in rates]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the epochs in `milestones`.

    Args:
        optimizer: The optimizer whose learning rates to change.
        milestones: The epochs, counted from 0, before which the rate is multiplied. If an epoch occurs twice, the rate
            is multiplied twice.
        gamma: The factor by which the rate is multiplied at each change.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`."""
        rates, times = self._rates(), self.milestones[self.last_epoch]
        return [rate * self.gamma**times for rate in rates] if times else rates

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiply the initial learning rate by a factor that changes evenly from `start_factor` to `end_factor`.

    The factor reaches `end_factor` after `total_iters` epochs and stays there.

    Args:
        optimizer: The optimizer whose learning rates to change.
        start_factor: The factor of the first epoch, above 0 and at most 1.
        end_factor: The last factor, from 0 to 1.
        total_iters: The number of epochs in which the factor changes.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`."""
        rates, risen = self._rates(), self.end_factor - self.start_factor
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        factor = 1.0 + risen / (self.total_iters * self.start_factor + (self.last_epoch - 1) * risen)
        return [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> list[float]:
        passed = min(self.total_iters, self.last_epoch)
        factor = self.start_factor + (self.end_factor - self.start_factor) * passed / self.total_iters
        return [base * factor for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Lower the learning rate to `eta_min` in `T_max` epochs along half a cosine wave, and then raise it again.

    The rate is `eta_min + (initial_lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`. After `T_max` epochs, it rises
    along the other half of the wave, and reaches the initial rate again after `2 * T_max` epochs. See Loshchilov and
    Hutter (2017). PyTorch: torch.optim.lr_scheduler.CosineAnnealingLR.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> rates = []
        >>> for epoch in range(6):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.854, 0.5, 0.146, 0.0, 0.146]

    Args:
        optimizer: The optimizer whose learning rates to change.
        T_max: The number of epochs in which the rate falls.
        eta_min: The smallest learning rate.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`."""
        rates, least, epoch = self._rates(), self.eta_min, self.last_epoch
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - least) * rise for rate, base in zip(rates, self.base_lrs, strict=True)]
        now, before = (1 + math.cos(math.pi * each / self.T_max) for each in (epoch, epoch - 1))
        return [now / before * (rate - least) + least for rate in rates]

    def _get_closed_form_lr(self) -> list[float]:
        share = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * share / 2 for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` every epoch: `lr = initial_lr * gamma ** epoch`.

    Args:
        optimizer: The optimizer whose learning rates to change.
        gamma: The factor by which the rate is multiplied in each epoch.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`; the first ones are unchanged."""
        rates = self._rates()
        return rates if self._is_initial else [rate * self.gamma for rate in rates]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lower the learning rate to `eta_min` along half a cosine wave in `T_0` epochs, and restart from the initial rate.

    Each wave is `T_mult` times as long as the wave before it (Loshchilov and Hutter, 2017).

    Args:
        optimizer: The optimizer whose learning rates to change.
        T_0: The number of epochs in the first wave.
        T_mult: How many times as long each wave is as the one before it. With 1, all are equally long.
        eta_min: The rate at the bottom of each wave. With whole epochs, the restart comes one step before the bottom.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates at this place of the wave."""
        self._rates()
        share = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * share / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next epoch, or of the given one, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by `factor` when a metric, such as the validation loss, stops improving.

    After each epoch, pass the value of the metric to `step`: `scheduler.step(validation_loss)`.

    Args:
        optimizer: The optimizer whose learning rates to change.
        mode: "min" if smaller values of the metric are better, "max" if larger values are better.
        factor: The factor by which the rate is multiplied, less than 1.
        patience: How many epochs without improvement are accepted. After one more, the rate is lowered.
        threshold: How much better than the best value a value must be to count as an improvement.
        threshold_mode: "rel" if the threshold is a share of the best value, "abs" if it is an absolute difference.
        cooldown: How many epochs after a change to ignore when epochs without improvement are counted.
        min_lr: The smallest learning rate, or a list with the smallest rate of each group.
        eps: The smallest change of the learning rate. Smaller changes are skipped.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(SCHEDULED_KIND.format(type(optimizer).__name__))
        self.factor, self.optimizer = factor, optimizer
        each, count = isinstance(min_lr, (list, tuple)), len(optimizer.param_groups)
        if each and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if each else min_lr
        self.min_lrs = list(min_lr) if each else [min_lr] * count
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Compare a metric with its best value so far; lower the rates if there was no improvement for too long.

        Args:
            metrics: The metric: a number, or a tensor with one element.
            epoch: The number of the epoch. Deprecated: leave it out.
        """
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    @property
    def in_cooldown(self) -> bool:
        """Return True if the last change is so recent that epochs without improvement don't count."""
        return self.cooldown_counter > 0

    def _is_better(self, current: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        limit = self.best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else None
        limit = self.best + sign * self.threshold if limit is None else limit
        return current < limit if self.mode == "min" else current > limit

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(PLATEAU_GROUPS.format(len(groups), len(self.min_lrs)))
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                group["lr"] = new


class OneCycleLR(LRScheduler):
    """Raise the learning rate to `max_lr`, then lower it to almost zero, in one run (Smith and Topin, 2019).

    Call `step()` after each batch. With `cycle_momentum`, the momentum (or the first of `betas`) falls while the rate
    rises, and rises while the rate falls.

    Args:
        optimizer: The optimizer whose learning rates to change.
        max_lr: The largest learning rate, or a list with the largest rate of each group.
        total_steps: The number of steps in the whole run. It is required, unless you give `epochs` and
            `steps_per_epoch`.
        epochs: The number of epochs in the whole run.
        steps_per_epoch: The number of steps in each epoch.
        pct_start: The share of the steps in which the rate rises.
        anneal_strategy: The shape of the rise and fall: "cos" for half a cosine wave, or "linear".
        cycle_momentum: If True, the momentum changes, too.
        base_momentum: The smallest momentum, which is used with the largest rate.
        max_momentum: The largest momentum, which is used with the smallest rate.
        div_factor: How low the rate is at the start: the run starts at `max_lr / div_factor`.
        final_div_factor: How low the rate is at the end: the run ends at the start rate divided by this number.
        three_phase: If True, the rate first falls back to its start value (as fast as it rose), and then to almost
            zero.
        last_epoch: -1 for a new training run. For a run that is resumed, the last step before the interruption, counted
            from 0.

    Raises:
        ValueError: if the number of steps isn't given, if the optimizer has no momentum although `cycle_momentum` is
            True, or if another argument is out of range. `step()` raises it after more than `total_steps` steps.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(SCHEDULED_KIND.format(type(optimizer).__name__))
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        rise = float(pct_start * self.total_steps)
        ends = [rise - 1, 2 * rise - 2] if three_phase else [rise - 1]
        rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"] if three_phase else ["initial_lr", "max_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
        points = list(zip(rates, momenta[: len(rates)], strict=True))
        times = [0.0, *ends, self.total_steps - 1]
        self._phases = list(zip(times[:-1], times[1:], points[:-1], points[1:], strict=True))
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        highest = _for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"], group["max_lr"] = most / div_factor, most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self.use_beta1 = _cycled(optimizer)
            most_each = _for_each_group("max_momentum", optimizer, max_momentum)
            least_each = _for_each_group("base_momentum", optimizer, base_momentum)
            for group, most, least in zip(optimizer.param_groups, most_each, least_each, strict=True):
                if last_epoch == -1:
                    _set_momentum(group, most, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[float]:
        """Return the learning rates for this step, and set the momentum."""
        self._rates()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        phase = next((phase for phase in self._phases if step <= phase[1]), self._phases[-1])
        begin, end, (rate, momentum), (next_rate, next_momentum) = phase
        share, rates = (step - begin) / (end - begin), []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[rate], group[next_rate], share))
            if self.cycle_momentum:
                _set_momentum(group, self._between(group[momentum], group[next_momentum], share), self.use_beta1)
        return rates


class ConstantLR(LRScheduler):
    """Multiply the initial learning rate by `factor` for `total_iters` epochs; then use the initial rate itself.

    Args:
        optimizer: The optimizer whose learning rates to change.
        factor: The factor, from 0 to 1.
        total_iters: The number of epochs with the lower rate.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`."""
        rates = self._rates()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in rates]
        return [rate * (1.0 / self.factor) for rate in rates] if self.last_epoch == self.total_iters else rates

    def _get_closed_form_lr(self) -> list[float]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Lower the learning rate to 0 in `total_iters` epochs: `initial_lr * (1 - epoch / total_iters) ** power`.

    The rate then stays at 0.

    Args:
        optimizer: The optimizer whose learning rates to change.
        total_iters: The number of epochs in which the rate falls.
        power: The power of the formula. With 1, the rate falls evenly; with a larger one, it falls faster at first.
        last_epoch: -1 for a new training run. For a run that is resumed, the last epoch before the interruption,
            counted from 0.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates for `last_epoch`."""
        rates, epoch, count = self._rates(), self.last_epoch, self.total_iters
        if self._is_initial or epoch > count:
            return rates
        factor = ((1.0 - epoch / count) / (1.0 - (epoch - 1) / count)) ** self.power
        return [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> list[float]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class _Several(LRScheduler):
    """A schedule that combines other schedules of the same optimizer."""

    _schedulers: Sequence[LRScheduler]

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None, purpose: str) -> Optimizer:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{purpose}, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for i, each in enumerate(schedulers):
            if not hasattr(each, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(each, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer != each.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(each).__name__} at index {i} has {each.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule and of its parts, without the optimizer."""
        return super().state_dict() | {"_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that `state_dict` returned."""
        super().load_state_dict({**state_dict, "_schedulers": self._schedulers})
        for each, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            each.load_state_dict(state)


class SequentialLR(_Several):
    """Run several schedules, one after the other: `schedulers[i + 1]` begins at the epoch `milestones[i]`.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=5)
        >>> decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
        >>> schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[5])
        >>> schedule.get_last_lr()
        [0.1]

    Args:
        optimizer: The optimizer whose learning rates to change.
        schedulers: The schedules, in order. All of them change the rates of `optimizer`.
        milestones: The epochs, counted from 0, at which the second schedule and those after it begin.
        last_epoch: Leave it at -1. To resume a run, load the state that `state_dict` returned.

    Raises:
        ValueError: if the schedules belong to different optimizers, or if there isn't exactly one more schedule than
            milestones.
        TypeError: if an element of `schedulers` isn't a schedule.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._take(schedulers, optimizer, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Undo the step that each schedule took when it was created."""
        of = self if sched is None else sched
        if isinstance(of, _Several):
            for each in of._schedulers:
                self.recursive_undo(each)
        else:
            of.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Set the learning rates of the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        now = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            now._update_lr(0)
        else:
            now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(_Several):
    """Run several schedules at once: each one changes the learning rate that the one before it has set.

    Args:
        schedulers: The schedules. All of them change the rates of the same optimizer.
        optimizer: The optimizer of the schedules. None means the optimizer of the first one.

    Raises:
        ValueError: if there is no schedule, or if the schedules belong to different optimizers.
        TypeError: if an element of `schedulers` isn't a schedule.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self._take(schedulers, optimizer, " to be chained")
        self._schedulers = schedulers
        self._last_lr = [group["lr"] for group in schedulers[-1].optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """Step each schedule."""
        for each in self._schedulers:
            each.step()
        self._last_lr = [group["lr"] for group in self._schedulers[-1].optimizer.param_groups]


class CyclicLR(LRScheduler):
    """Raise the learning rate from `base_lr` to `max_lr` and lower it again, in every cycle (Smith, 2017).

    Call `step()` after each batch. With `cycle_momentum`, the momentum (or the first of `betas`) falls while the rate
    rises, and rises while the rate falls.

    Args:
        optimizer: The optimizer whose learning rates to change.
        base_lr: The smallest learning rate, or a list with the smallest rate of each group.
        max_lr: The largest learning rate, or a list with the largest rate of each group.
        step_size_up: The number of steps in which the rate rises.
        step_size_down: The number of steps in which the rate falls. None means `step_size_up`.
        mode: How the height of the cycles changes. "triangular" keeps the height, "triangular2" halves it after each
            cycle, and "exp_range" multiplies it by `gamma` in each step.
        gamma: For "exp_range", the factor by which the height is multiplied in each step.
        scale_fn: A function that takes the number of the cycle, or of the step, and returns the height of the cycle as
            a share of the full height. It replaces `mode`.
        scale_mode: The argument of `scale_fn`: "cycle" for the number of the cycle, "iterations" for the number of the
            step.
        cycle_momentum: If True, the momentum changes, too.
        base_momentum: The smallest momentum, which is used with the largest rate.
        max_momentum: The largest momentum, which is used with the smallest rate.
        last_epoch: -1 for a new training run. For a run that is resumed, the last step before the interruption, counted
            from 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(SCHEDULED_KIND.format(type(optimizer).__name__))
        base_lrs = _for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                group["lr"] = rate
        self.max_lrs = _for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        by_step = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode, self.cycle_momentum = by_step, cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _cycled(optimizer)
            self.base_momentums = _for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = _for_each_group("max_momentum", optimizer, max_momentum)
            for group, most, least in zip(optimizer.param_groups, self.max_momentums, self.base_momentums, strict=True):
                if last_epoch == -1:
                    _set_momentum(group, most, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of cycle, or step, `x`, as a share of the full height."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def get_lr(self) -> list[float]:
        """Return the learning rates for this step, and set the momentum."""
        self._rates()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, least, most in groups:
                _set_momentum(group, most - (most - least) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule, without the optimizer and the function."""
        return super().state_dict() | {"_scale_fn_custom": None}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that `state_dict` returned, with this schedule's function."""
        super().load_state_dict({**state_dict, "_scale_fn_custom": self._scale_fn_custom})


def _cycled(optimizer: Optimizer) -> bool:
    """Return True if the momentum is the first of `betas`.

    Raises:
        ValueError: if the optimizer has no momentum.
    """
    if not {"momentum", "betas"} & {*optimizer.defaults}:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], momentum: float, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _total_steps(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    """Return the number of steps of the whole run.

    Raises:
        ValueError: if the arguments don't give it.
    """
    given = {"total_steps": total} if total is not None else {"epochs": epochs, "steps_per_epoch": per_epoch}
    if None in given.values():
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, count in given.items():
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {count}")
    return math.prod(given.values())  # type: ignore[arg-type]


def _for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return one value per group, where one value may stand for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return list(value)
