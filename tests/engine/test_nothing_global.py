"""What an import and a training leave as it was: the settings that a process has only once, and NumPy's."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
import threading
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest

import workbench as torch

SETTINGS = """
import gc, locale, logging, os, signal, sys, threading, warnings
import numpy as np

forks = []
register = os.register_at_fork if hasattr(os, "register_at_fork") else None
if register:
    os.register_at_fork = lambda **given: (forks.append(given), register(**given))
import random, traceback  # what registers for itself

forks.clear()

def settings():
    log = logging.root
    return {
        "errors": np.geterr(), "call": np.geterrcall(), "printing": np.get_printoptions(),
        "filters": list(warnings.filters), "show": warnings.showwarning,
        "finders": list(sys.meta_path), "path hooks": list(sys.path_hooks), "path": list(sys.path),
        "signals": [signal.getsignal(each) for each in signal.valid_signals()],
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook, sys.breakpointhook),
        "tracing": (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()),
        "locale": locale.setlocale(locale.LC_ALL), "environment": dict(os.environ),
        "logging": (log.level, list(log.handlers), log.disabled, list(log.filters)),
        "collector": (gc.isenabled(), gc.get_threshold(), list(gc.callbacks)),
        "limit": sys.getrecursionlimit(), "threads": threading.active_count(),
        "forks": [each for each in forks if "workbench" in str([getattr(f, "__module__", "") for f in each.values()])],
    }

def check(when):
    for name, value in settings().items():
        assert value == before[name], (when, name, before[name], value)

before = settings()
import workbench as torch
check("import")
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(torch.randn(4, 3)).log(), torch.zeros(4, 2)).backward()
    optimizer.step()
torch.func.jvp(torch.log, (torch.zeros(2),), (torch.ones(2),))
repr(model), repr(torch.randn(3) / 0)
check("training")
"""


def test_an_import_and_a_training_change_nothing_global() -> None:
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(SETTINGS)]
    end = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (end.returncode, end.stderr) == (0, "")


class Divide(torch.autograd.Function):
    """Divides by zero, as a user's code, and as the engine."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return divided(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return divided(grad)


def divided(t: Any) -> Any:
    """What the engine divides; FloatingPointError from NumPy's own division."""
    with pytest.raises(FloatingPointError):
        np.ones(1) / np.zeros(1)
    return t / 0


def leaf() -> Any:
    return torch.tensor([0.0, -1.0, 3e38], requires_grad=True)


PROGRAMS = {
    "forward": lambda x: x.log() + x / 0 + x * x + x.exp(),
    "forward without a graph": lambda x: x.detach().log() + x,
    "a Function": lambda x: Divide.apply(x).log(),
    "in place": lambda x: x.clone().div_(0).add_(x * 0, alpha=3e38),
    "numbers": lambda x: (x * 1e-50 + 1e300 + 0.0).add_(1e-50).mul_(0.0).div_(math.nan),
    "a leaf of two uses": lambda x: (x.log() * x.sqrt()).sum() + x / 0,
    "of another dtype": lambda x: (x.double() * 1e300).float() + x,
    "an integer": lambda x: x + (x.detach() / 0).int(),
    "batches": lambda x: torch.func.vmap(lambda t: t / 0)(x),
    "forward mode": lambda x: x + torch.func.jvp(torch.log, (x.detach(),), (torch.ones(3),))[1],
    "a gradient of a gradient": lambda x: torch.autograd.grad(x.log().sum(), x, create_graph=True)[0].log(),
    "a norm": lambda x: torch.nn.functional.normalize(x * 0, dim=0, eps=0.0),
    "a loss": lambda x: torch.nn.functional.binary_cross_entropy(x.clamp(0, 1), torch.ones(3)),
}


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_s_settings_are_for_the_user_s_own_divisions(name: str, hook: bool) -> None:
    def hooked(t: Any) -> Any:
        divided(t)

    with np.errstate(all="raise"):
        x = leaf()
        loss = PROGRAMS[name](x)
        if hook:
            loss.register_hook(hooked)
            x.register_hook(hooked)
            x.register_post_accumulate_grad_hook(hooked)
        for _ in range(2):
            loss.sum().backward(retain_graph=True)
        divided(x)


def test_a_loud_program_and_a_silent_one_take_turns_in_two_threads() -> None:
    failed = []

    def work() -> None:
        with np.errstate(all="raise"):
            try:
                for _ in range(30):
                    x = torch.linspace(-1, 1, 20_001, dtype=torch.float64, requires_grad=True)
                    (x.log() * x / 0).sum().backward()
                    divided(x)
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_hooks_see_the_user_s_context_variables() -> None:
    variable = ContextVar("variable", default="unset")
    variable.set("mine")
    seen = []

    def note(t: Any) -> Any:
        seen.append(variable.get())
        return t

    x = leaf()
    with torch.autograd.graph.saved_tensors_hooks(note, note):
        y = x.log()
    y.register_hook(note)
    y.sum().backward()
    assert seen == ["mine"] * 3
