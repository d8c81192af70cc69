"""Record a backward pass and replay it as a picture: of PyTorch, or of the built-in engine with PyTorch's names.

`import workbench as torch` runs PyTorch programs that use only what the workbench covers. `record()`, `show()` and the
pictures load on first use, so importing costs little more than importing NumPy.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import Any as _Any

from . import autograd
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .autograd.dtypes import (
    bool_ as bool,
)
from .autograd.dtypes import (
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from .autograd.function import Function
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .autograd.tensor import Size, Tensor
from .compat.absent import refusal as _refusal
from .diagnosis import explanation as _explanation
from .ops.convert import as_tensor, asarray, from_numpy, is_inference
from .ops.core.checks import device
from .ops.core.formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    strided,
)
from .ops.core.readable import readable
from .ops.creation import (
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    get_rng_state,
    initial_seed,
    is_tensor,
    linspace,
    manual_seed,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
    tensor,
    zeros,
    zeros_like,
)
from .ops.library import FUNCTIONS as _operations
from .ops.library.draws import normal, poisson

__version__ = "0.1.0"
double, float, half, long, int = float64, float32, float16, int64, int32
cfloat, cdouble = complex64, complex128
numel, is_floating_point = Tensor.numel, Tensor.is_floating_point

_explanation.install()

globals().update({name: each for name, each in _operations.items() if name != "diff"})  # it takes traces, too

_on_first_use = {
    "record": "pictures.recording",
    "show": "pictures.recording",
    "load": "pictures.serialization",
    "save": "pictures.serialization",
    "audit": "diagnosis.auditing",
    "jacobian": "pictures.tools.jacobian",
    "check": "pictures.tools.jacobian",
    "compare": "pictures.views.compare",
    "diff": "diagnosis.diffing",
    "step": "pictures.stepper",
    "live": "pictures.live_recording",
    "watch": "diagnosis.watching",
    "explain": "diagnosis.explanation",
    "why": "diagnosis.asking",
    "explore": "pictures.tools.explore",
    "scope": "autograd.scopes",
    "drive": "bridges.own_engine",
    "vmap": "func",
    "conv2d": "ops.library.convolution",
    "layer_norm": "ops.library.normalization",
    "compile": "compiler",
    "Generator": "ops.generators",
    **dict.fromkeys(
        (
            "BoolTensor",
            "ByteTensor",
            "DoubleTensor",
            "FloatTensor",
            "HalfTensor",
            "IntTensor",
            "LongTensor",
            "can_cast",
            "finfo",
            "iinfo",
            "promote_types",
            "result_type",
            "set_default_tensor_type",
        ),
        "compat.kinds",
    ),
    **dict.fromkeys(
        (
            "are_deterministic_algorithms_enabled",
            "get_default_device",
            "get_deterministic_debug_mode",
            "get_float32_matmul_precision",
            "get_num_interop_threads",
            "get_num_threads",
            "is_deterministic_algorithms_warn_only_enabled",
            "set_default_device",
            "set_deterministic_debug_mode",
            "set_float32_matmul_precision",
            "set_flush_denormal",
            "set_num_interop_threads",
            "set_num_threads",
            "use_deterministic_algorithms",
        ),
        "compat.settings",
    ),
    **dict.fromkeys(
        (
            "autocast",
            "clear_autocast_cache",
            "get_autocast_cpu_dtype",
            "get_autocast_dtype",
            "get_autocast_gpu_dtype",
            "is_autocast_cache_enabled",
            "is_autocast_cpu_enabled",
            "is_autocast_enabled",
            "set_autocast_cache_enabled",
            "set_autocast_dtype",
            "set_autocast_enabled",
            "GradScaler",
        ),
        "amp",
    ),
    **dict.fromkeys(
        (
            "selu selu_ celu celu_ threshold threshold_ rrelu rrelu_ prelu hardshrink "
            "conv1d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
        ).split(),
        "nn.functional",
    ),
}
_parts_on_first_use = [
    "amp",
    "backends",
    "compiler",
    "cuda",
    "distributions",
    "fft",
    "func",
    "functional",
    "jit",
    "linalg",
    "nn",
    "optim",
    "random",
    "utils",
    "version",
]


def __getattr__(name: str) -> _Any:
    from importlib import import_module

    if name in _on_first_use:
        found = globals()[name] = getattr(import_module(f".{_on_first_use[name]}", __name__), name)
        return found
    if name in _parts_on_first_use:
        return import_module(f".{name}", __name__)
    if name == "default_generator":
        return import_module(".ops.creation", __name__).generator()
    raise _refusal(f"module {__name__!r}", "torch", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_on_first_use, *_parts_on_first_use})


__all__ = [name for name in globals() if not name.startswith("_")] + list(_on_first_use) + _parts_on_first_use
