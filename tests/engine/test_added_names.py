"""Names that programs ask for at their start: devices, mixed precision, compilers, settings, kinds of numbers."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from oracle import compare, entries, names

import workbench

CUDA = """
cuda.is_available() | cuda.device_count() | cuda.is_initialized() | cuda.is_bf16_supported() | cuda.synchronize()
cuda.current_device() | cuda.get_device_name() | cuda.get_device_name(0) | cuda.get_device_properties(0)
cuda.get_device_capability() | cuda.empty_cache() | cuda.manual_seed(0) | cuda.manual_seed_all(0) | cuda.seed()
cuda.seed_all() | cuda.memory_allocated() | cuda.max_memory_allocated() | cuda.memory_reserved() | cuda.init()
cuda.max_memory_reserved() | cuda.mem_get_info() | dict(cuda.memory_stats()) | cuda.Stream() | cuda.Event()
cuda.Event(enable_timing=True) | cuda.current_stream() | cuda.default_stream() | cuda.get_rng_state()
cuda.get_rng_state_all() | cuda.set_rng_state(torch.get_rng_state()) | cuda.set_rng_state_all([]) | cuda.initial_seed()
cuda.ipc_collect() | x.cuda() | x.cuda(0) | x.cuda("cpu") | x.cuda("cuda:1") | x.pin_memory() | x.is_pinned()
x.to("cuda") | x.to("cuda:0") | torch.ones(2, device="cuda")
nn.Linear(2, 2).cuda() | nn.Linear(2, 2).to("cuda") | isinstance(nn.ReLU().cuda(), nn.ReLU) | x.is_cuda
"""
AMP = """
torch.is_autocast_enabled() | torch.is_autocast_enabled("cpu") | torch.is_autocast_enabled("cuda")
torch.is_autocast_enabled("nope") | torch.get_autocast_dtype("cuda") | torch.get_autocast_dtype("nope")
torch.get_autocast_gpu_dtype() | torch.is_autocast_cpu_enabled() | torch.is_autocast_cache_enabled()
torch.set_autocast_enabled(False) | torch.set_autocast_enabled("cpu", False) | torch.set_autocast_enabled("cpu", 3)
torch.set_autocast_dtype("cpu", 3) | torch.clear_autocast_cache() | torch.autocast is torch.amp.autocast
torch.set_autocast_cache_enabled(True) | torch.set_autocast_cache_enabled(3) | torch.is_autocast_enabled(3)
amp.is_autocast_available("cpu") | amp.is_autocast_available("cuda") | amp.is_autocast_available("nope")
amp.autocast("nope") | amp.autocast(3) | amp.autocast("cpu", enabled=False)(3) | amp.custom_fwd(abs, device_type=3)
amp.custom_bwd(abs, device_type=3) | amp.custom_fwd(abs) | isinstance(amp.autocast("cuda"), torch.autocast)
isinstance(amp.autocast("cpu", dtype=torch.float64), torch.autocast)
isinstance(cuda.amp.autocast(), torch.autocast) | isinstance(cuda.amp.autocast(enabled=False), torch.autocast)
isinstance(amp.GradScaler(), amp.GradScaler) | isinstance(cuda.amp.GradScaler(), amp.GradScaler)
amp.GradScaler("cuda", enabled=False).scale(x) | amp.GradScaler("cuda", enabled=False).state_dict()
amp.GradScaler("cpu", enabled=False).get_scale() | amp.GradScaler(enabled=False).is_enabled()
amp.GradScaler(enabled=False).update() | cuda.amp.GradScaler(enabled=False).scale([x])
"""
SETTINGS = """
torch.get_default_device() | torch.set_default_device("cpu") | torch.set_default_device(None)
torch.set_num_threads(0) | torch.set_num_threads("a") | torch.set_num_interop_threads(0)
torch.get_float32_matmul_precision() | torch.set_float32_matmul_precision("nope")
torch.use_deterministic_algorithms(3)
torch.set_float32_matmul_precision(3) | torch.are_deterministic_algorithms_enabled()
torch.is_deterministic_algorithms_warn_only_enabled() | torch.get_deterministic_debug_mode()
torch.set_deterministic_debug_mode(3) | torch.set_deterministic_debug_mode("x")
torch.set_deterministic_debug_mode(None) | torch.version.cuda | torch.version.hip | torch.version.debug
backends.cudnn.enabled | backends.cudnn.benchmark | backends.cudnn.deterministic | backends.cudnn.allow_tf32
backends.cudnn.is_available() | backends.cudnn.version() | backends.cuda.matmul.allow_tf32 | backends.cuda.is_built()
backends.mps.is_available() | backends.mps.is_built()
"""
COMPILED = """
jit.is_scripting() | jit.is_tracing() | jit.annotate(int, 3) | jit.ignore(half)(4)
jit.ignore(drop=True)(half)(4)
jit.unused(half)(4) | jit.export(half)(4) | jit.script_if_tracing(half)(4) | jit.Final
compiler.is_compiling() | compiler.is_dynamo_compiling() | compiler.is_exporting() | compiler.disable(half)(4)
compiler.disable()(half)(4) | torch.compile(half, mode="a", options={})

"""


FLOATS = "bits eps max min tiny smallest_normal resolution dtype".split()


def more(torch: Any) -> dict[str, Any]:
    kinds = "bool uint8 int32 int64 float16 float32 float64".split()
    return {"half": lambda n: n / 2, "FLOATS": FLOATS, "ALL": [getattr(torch, kind) for kind in kinds]}


KINDS = """
torch.finfo(torch.float32) | torch.finfo() | torch.finfo(torch.float64) | torch.finfo(torch.float16)
torch.finfo(float)
torch.finfo(torch.int32) | torch.finfo(bool) | torch.finfo(3) | torch.finfo("float32") | torch.iinfo(torch.int32)
torch.iinfo(torch.uint8) | torch.iinfo(torch.int64) | torch.iinfo(torch.bool) | torch.iinfo(torch.float32)
torch.iinfo(int) | torch.iinfo(3) | torch.finfo(torch.float32) == torch.finfo(torch.float32)
torch.finfo(torch.float32) == torch.finfo(torch.float64) | torch.iinfo(int) == torch.iinfo(torch.int64)
[[getattr(torch.finfo(d), f) for f in FLOATS] for d in (torch.float16, torch.float32, torch.float64)]
[[getattr(torch.iinfo(d), f) for f in ("bits", "max", "min", "dtype")] for d in (torch.uint8, torch.int32, torch.int64)]
[[torch.promote_types(a, b) for a in ALL] for b in ALL] | [[torch.can_cast(a, b) for a in ALL] for b in ALL]
torch.promote_types(3, torch.int64) | torch.promote_types(torch.int64, 3) | torch.promote_types(bool, torch.int32)
torch.can_cast(3, torch.int64) | torch.can_cast(float, torch.int32) | torch.result_type(x, 3)
torch.result_type(n, 3.0)
torch.result_type(1, 2.0) | torch.result_type(1, True) | torch.result_type(n, s.float())
torch.result_type(s, x.float())
torch.result_type(m, n.int()) | torch.result_type(True, False) | torch.result_type(2.0, torch.tensor(1))
torch.is_complex(x) | torch.is_complex(3) | torch.is_conj(x) | torch.is_neg(x) | torch.is_neg(3) | torch.is_signed(m)
torch.is_distributed(x) | x.is_conj() | x.is_neg() | x.is_distributed() | torch.is_same_size(x, y) | x.is_same_size(3)
torch.is_same_size(x, a) | torch.float32.is_signed | torch.uint8.is_signed | torch.float32.is_complex
[getattr(x, f"is_{kind}") for kind in "sparse sparse_csr quantized mkldnn meta mps xpu xla maia mtia vulkan".split()]
torch.FloatTensor([1, 2]) | torch.LongTensor([1.5, 2]) | torch.FloatTensor(2, 3).shape | torch.FloatTensor()
torch.FloatTensor(torch.Size([2, 3])).shape | torch.BoolTensor([0, 1]) | torch.ByteTensor([1, 2]) | torch.FloatTensor(n)
torch.FloatTensor("a") | torch.FloatTensor(1.5) | torch.FloatTensor((2, 3)) | torch.HalfTensor([[1, 2], [3, 4]])
torch.IntTensor([1]) | torch.DoubleTensor(a.detach()) | torch.FloatTensor(2, device="cpu").shape
torch.FloatTensor(None)
torch.FloatTensor(2, device="cuda") | torch.FloatTensor(size=(2,)).shape | torch.FloatTensor(data=[1, 2])
torch.FloatTensor(np.ones((2, 2))) | torch.LongTensor(np.ones(2)) | torch.FloatTensor(range(3)) | torch.FloatTensor
torch.FloatTensor.dtype | torch.FloatTensor.layout | torch.FloatTensor.is_cuda | isinstance(x, torch.DoubleTensor)
isinstance(x, torch.FloatTensor) | isinstance(n, (torch.IntTensor, torch.LongTensor)) | isinstance(3, torch.FloatTensor)
isinstance(torch.nn.Parameter(x.float()), torch.FloatTensor) | issubclass(torch.FloatTensor, torch.Tensor)
x.type(torch.LongTensor) | x.type(torch.FloatTensor) | x.type("torch.LongTensor") | x.new(np.ones(2))
torch.set_default_tensor_type(torch.LongTensor) | torch.set_default_tensor_type(torch.float32)
torch.set_default_tensor_type(3) | torch.set_default_tensor_type("abc")
"""
FORMATS = """
torch.contiguous_format | torch.channels_last | torch.channels_last_3d | torch.preserve_format
torch.strided | x.layout
type(torch.channels_last) is torch.memory_format | type(torch.strided) is torch.layout
i4.contiguous(memory_format=last).stride() | i4.contiguous(memory_format=torch.preserve_format).stride()
x.contiguous(memory_format=last) | i5.contiguous(memory_format=torch.channels_last_3d).stride()
i5.contiguous(memory_format=last) | i4.contiguous(memory_format=torch.channels_last_3d) | i4.contiguous(memory_format=3)
i4.is_contiguous(memory_format=last) | i4.is_contiguous(memory_format=torch.preserve_format)
x.is_contiguous(memory_format=last) | x.is_contiguous(memory_format=3) | i4.to(memory_format=last).stride()
i4.to(memory_format=last).is_contiguous(memory_format=last) | i4.to(memory_format=last).is_contiguous()
i4.clone(memory_format=3) | x.clone(memory_format=last) | x.to(memory_format=last)
i4.clone(memory_format=last).stride()
i4.clone(memory_format=torch.preserve_format).stride()
i4.to(memory_format=last).clone().stride() | i4.to(memory_format=last).clone(memory_format=plain).stride()
i4.to(memory_format=last).contiguous().stride() | i4.to(memory_format=last).to(memory_format=plain).stride()
torch.empty_like(i4, memory_format=last).stride() | torch.zeros_like(i4.transpose(0, 1), memory_format=plain).stride()
torch.ones_like(i4, memory_format=last).stride() | torch.full_like(i4, 2, memory_format=last).stride()
torch.zeros_like(x, memory_format=last) | torch.zeros_like(i4, memory_format=torch.preserve_format).stride()
torch.empty(2, 3, 4, 5, memory_format=last).stride() | torch.empty(2, 3, memory_format=last)
i4.double(memory_format=last).stride() | i4.float(memory_format=last).stride() | i4.to(x, memory_format=last).dtype
nn.Conv2d(2, 3, 2).to(memory_format=last).weight.stride() | nn.Linear(2, 3).to(memory_format=last).weight.stride()
nn.Conv2d(2, 3, 2).to(torch.float64, memory_format=last).weight.stride() | nn.Conv3d(2, 3, 2).to(memory_format=last)
nn.Conv2d(2, 3, 2).to(memory_format=torch.preserve_format).weight.stride() | (i4.to(memory_format=last) * 2).stride()
one.to(memory_format=last).stride() | one.is_contiguous(memory_format=last)
one.contiguous(memory_format=last).stride()
i4[:, :, :1, :1].is_contiguous(memory_format=last) | i4.to(memory_format=last) is i4 | i4.to(memory_format=plain) is i4
i4.to(memory_format=torch.preserve_format) is i4 | i4.to(memory_format=last, copy=True).stride()
i4.requires_grad_().clone(memory_format=last) | i4.requires_grad_().to(memory_format=last)
i4.requires_grad_().contiguous(memory_format=last) | i4.requires_grad_().to(torch.float64, memory_format=last)
n.reshape(1, 3, 1, 1).to(torch.int32, memory_format=last)
"""


@pytest.mark.parametrize("text", entries(FORMATS))
def test_an_order_in_memory(torch: Any, text: str) -> Any:
    i4, i5 = (torch.arange(120.0) / 64 - 1).reshape(2, 3, 4, 5), torch.ones(2, 3, 4, 5, 6)
    known = {"i4": i4, "i5": i5, "one": torch.ones(2, 1, 4, 5), "nn": torch.nn}
    known |= {"last": torch.channels_last, "plain": torch.contiguous_format}
    result = eval(text, names(torch) | known)
    if isinstance(result, torch.Tensor) and result.requires_grad and result.grad_fn is not None:
        (result * result).sum().backward()
        return result.stride(), result, i4.grad, i4.grad.stride()
    return result


@pytest.mark.parametrize("text", entries(CUDA + AMP + SETTINGS + COMPILED + KINDS))
def test_an_expression(torch: Any, text: str) -> Any:
    known = {name: getattr(torch, name) for name in ("cuda", "amp", "backends", "jit", "compiler", "nn")}
    if "cuda.amp" in text:
        import importlib

        importlib.import_module(f"{torch.__name__}.cuda.amp")
    return eval(text, names(torch) | known | more(torch))


def test_settings_are_kept(torch: Any) -> Any:
    seen = []
    for mode, only in ((True, True), (True, False), (False, False)):
        torch.use_deterministic_algorithms(mode, warn_only=only)
        seen.append((torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()))
    for mode in ("warn", "error", 1, "default"):
        torch.set_deterministic_debug_mode(mode)
        seen.append(torch.is_deterministic_algorithms_warn_only_enabled())
    torch.set_float32_matmul_precision("high")
    seen.append(torch.get_float32_matmul_precision())
    torch.set_float32_matmul_precision("highest")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    seen.append(torch.get_num_threads())
    torch.set_num_threads(before)
    cudnn = torch.backends.cudnn
    cudnn.benchmark = True
    with cudnn.flags(enabled=False, deterministic=True):
        seen.append((cudnn.enabled, cudnn.benchmark, cudnn.deterministic))
    seen.append((cudnn.enabled, cudnn.benchmark, cudnn.deterministic))
    cudnn.benchmark = False
    return seen


def _function(torch: Any, device: str, **options: Any) -> Any:
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device, **options)
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((ctx._fwd_used_autocast, x.dtype, torch.is_autocast_enabled(device)))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type=device)
        def backward(ctx: Any, g: Any) -> Any:
            seen.append((torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")))
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = Double.apply(x)
    y.sum().backward()
    return seen, y, x.grad, Double.forward.__name__


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("options", [{}, {"cast_inputs": "float16"}])
def test_a_function_for_autocast(device: str, options: dict[str, Any]) -> None:
    compare(lambda torch: _function(torch, device, **{name: getattr(torch, kind) for name, kind in options.items()}))


def test_the_old_decorators_of_a_function_for_autocast(torch: Any) -> Any:
    from importlib import import_module

    old = import_module(f"{torch.__name__}.cuda.amp")

    class Double(torch.autograd.Function):
        @staticmethod
        @old.custom_fwd(cast_inputs=torch.float16)
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        @old.custom_bwd
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    return x.grad


def test_regions_of_autocast_that_are_off(torch: Any) -> Any:
    seen = []
    x = torch.ones(2)
    with torch.autocast("cuda"):
        seen.append((torch.is_autocast_enabled(), (x * x).dtype, torch.get_autocast_dtype("cuda")))
        with torch.autocast("cuda", dtype=torch.float32, enabled=False, cache_enabled=False):
            seen.append((torch.is_autocast_enabled(), torch.get_autocast_dtype("cuda")))
            seen.append(torch.is_autocast_cache_enabled())
        seen.append((torch.get_autocast_dtype("cuda"), torch.is_autocast_cache_enabled()))
    torch.set_autocast_enabled("cuda", True)
    seen.append((torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu")))
    torch.set_autocast_enabled(False)
    seen.append(torch.is_autocast_enabled("cuda"))
    with torch.autocast("cpu", enabled=False) as region:
        seen.append((isinstance(region, torch.autocast), torch.is_autocast_enabled("cpu")))
    return seen, torch.autocast("cpu", enabled=False)(lambda: torch.is_autocast_enabled("cpu"))()


def test_a_training_with_a_scaler_that_is_off(torch: Any) -> Any:
    model = torch.nn.Linear(2, 1)
    model.load_state_dict({"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([0.5])})
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=False):
            loss = model(torch.ones(1, 2)).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    return model.weight, model.bias, scaler.state_dict()


def test_autocast_on_the_cpu_is_refused() -> None:
    for refused in (
        lambda: workbench.autocast("cpu"),
        lambda: workbench.set_autocast_enabled("cpu", True),
        lambda: workbench.get_autocast_dtype("cpu"),
        lambda: workbench.amp.GradScaler("cpu"),
    ):
        with pytest.raises(NotImplementedError, match="which the workbench has not|the workbench has not"):
            refused()
    with pytest.raises(AssertionError, match="computes on the cpu alone"):
        workbench.amp.GradScaler("mps")
    with pytest.raises(NotImplementedError, match="bfloat16"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workbench.get_autocast_cpu_dtype()


def test_what_pytorch_compiles_stays_as_it_is() -> None:
    """PyTorch's answers are other objects, so that they are not compared."""
    model = workbench.nn.Linear(2, 1)
    compile = workbench.compile
    assert (
        model.compile() is None
        and compile(model) is model
        and compile(fullgraph=True)(abs) is abs
        and compile(abs, mode="max-autotune") is abs
    )
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'> is provided."):
        compile(3)
    jit, compiler = workbench.jit, workbench.compiler
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert jit.script(model) is model and jit.trace(model, workbench.ones(2)) is model
        assert jit.script_method(abs) is abs
    assert [str(w.message) for w in caught] == [
        f"`torch.jit.{name}` is deprecated. Please switch to `torch.compile` or `torch.export`."
        for name in ("script", "trace", "script_method")
    ]
    assert not isinstance(model, jit.ScriptModule) and isinstance(jit.ScriptModule(), workbench.nn.Module)
    assert compiler.allow_in_graph(abs) is abs and compiler.assume_constant_result(abs) is abs
    assert compiler.reset() is compiler.cudagraph_mark_step_begin() is None
    assert compiler.compile is compile


def test_devices_and_settings_that_pytorch_answers_otherwise() -> None:
    """In PyTorch the default device is refused later, `set_device` by another error, denormals may be flushed."""
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        workbench.set_default_device("cuda")
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        workbench.cuda.set_device(0)
    assert workbench.set_flush_denormal(True) is False
    assert workbench.version.__version__ == workbench.__version__
    before = workbench.get_num_interop_threads()
    workbench.set_num_interop_threads(2)
    assert workbench.get_num_interop_threads() == 2 and before >= 1


DRAWS = """
torch.bernoulli(p) | p.bernoulli() | p.bernoulli(0.0) | torch.bernoulli(p, 0.0) | torch.bernoulli(i)
torch.bernoulli(p * 2)
torch.bernoulli(p, p=3.0) | torch.bernoulli(p / 0) | torch.bernoulli(p, out=torch.ones(2)) | torch.bernoulli(3)
p.clone().bernoulli_(0.0) | p.clone().bernoulli_(p) | i.clone().bernoulli_(1.0) | i.clone().bernoulli_(torch.ones(3))
p.clone().bernoulli_(3) | p.clone().bernoulli_(torch.ones(3)) | torch.bernoulli(p.double().requires_grad_())
torch.poisson(torch.zeros(2)) | torch.poisson(-torch.ones(2)) | torch.poisson(i) | p.clone().random_(0, 1)
(i.clone().random_(3) < 3).all() | i.clone().random_().dtype | i.clone().random_(3, 2) | torch.poisson(w * 0)
torch.ones(2, dtype=torch.uint8).random_(300) | torch.ones(2, dtype=torch.uint8).random_(-1, 3)
torch.ones(2, dtype=torch.bool).random_(0, 1) | p.clone().exponential_().shape | p.clone().exponential_(lambd=-1)
i.clone().exponential_() | p.clone().cauchy_(0, -1) | i.clone().cauchy_() | p.clone().log_normal_(0, -1)
i.clone().log_normal_() | p.clone().geometric_(1) | p.clone().geometric_(0.5).shape | i.clone().geometric_(0.5).dtype
i.clone().geometric_(1.5) | torch.ones(2, dtype=torch.bool).geometric_(0.5) | i.clone().normal_() | i.clone().uniform_()
w.exponential_() | w.random_(3) | (w * 1).exponential_().grad_fn.name() | (w * 1).random_(3).grad_fn.name()
(w * 1).random_(1, 3).grad_fn.name() | (w * 1).random_().grad_fn.name() | (w * 1).cauchy_().grad_fn.name()
(w * 1).log_normal_().grad_fn.name() | (w * 1).geometric_(0.5).grad_fn.name()
(w * 1).bernoulli_(0.5).grad_fn.name() | (w * 1).bernoulli_(p).grad_fn.name() | (w * 1).uniform_().grad_fn.name()
torch.manual_seed(2**64) | torch.manual_seed("a") | torch.Generator().manual_seed("a") | torch.manual_seed(-(2**63) - 1)
torch.Generator().manual_seed(2**64) | torch.Generator().manual_seed(-1).initial_seed() | torch.Generator().device
torch.Generator("cpu").manual_seed(3).initial_seed() | torch.manual_seed("3").initial_seed()
torch.rand(2, generator=None).shape | torch.randn(2, generator=g).shape | torch.randperm(3, generator=g).shape
torch.randint(0, 3, (2,), generator=g).shape | torch.multinomial(p, 1, generator=g) | torch.bernoulli(p, generator=g)
torch.normal(0.0, 1.0, (2,), generator=g).shape | p.clone().uniform_(generator=g).shape | torch.poisson(p * 0, g)
g.get_state().dtype | g.set_state(3) | g.set_state(torch.ones(3)) | isinstance(torch.manual_seed(0), torch.Generator)
isinstance(torch.default_generator, torch.Generator) | g.manual_seed(3) is g | torch.random.set_rng_state(3)
isinstance(g.seed(), int)
"""


@pytest.mark.parametrize("text", entries(DRAWS))
def test_a_draw(torch: Any, text: str) -> Any:
    known = {"p": torch.tensor([0.0, 1.0]), "i": torch.arange(3), "w": torch.ones(2, requires_grad=True)}
    result = eval(text, known | {"torch": torch, "g": torch.Generator()})
    if isinstance(result, torch.Tensor) and result.requires_grad:
        result.sum().backward()
        return result, known["w"].grad
    return result


def test_generators_begin_anew_and_go_back(torch: Any) -> Any:
    seen = []
    g = torch.Generator().manual_seed(5)
    first, state = torch.rand(3, generator=g), g.get_state()
    second = torch.randn(3, generator=g)
    seen.append(torch.equal(torch.randn(3, generator=g.set_state(state)), second))
    seen.append(torch.equal(torch.rand(3, generator=g.manual_seed(5)), first))
    seen.append(torch.equal(torch.rand(3, generator=g.clone_state()), torch.rand(3, generator=g)))
    torch.manual_seed(1)
    with torch.random.fork_rng():
        inside = torch.rand(3)
    with torch.random.fork_rng(enabled=False):
        seen.append(torch.equal(torch.rand(3), inside))
    seen.append(torch.equal(torch.rand(3), inside))
    torch.random.manual_seed(1)
    seen.append(torch.equal(torch.rand(3), inside))
    seen.append((torch.initial_seed(), torch.random.initial_seed(), torch.default_generator.initial_seed()))
    state = torch.random.get_rng_state()
    torch.seed()
    torch.random.set_rng_state(state)
    return seen, torch.seed() == torch.initial_seed()


def test_draws_in_place_come_as_often_as_they_should(torch: Any) -> Any:
    torch.manual_seed(0)
    many = torch.empty(20000)
    close = [abs(many.exponential_(2.0).mean() - 0.5) < 0.02, abs(many.geometric_(0.25).mean() - 4) < 0.1]
    close += [abs(many.cauchy_(3.0, 2.0).median() - 3) < 0.1, abs(many.log_normal_(0.0, 0.5).log().std() - 0.5) < 0.02]
    close += [abs(many.bernoulli_(0.25).mean() - 0.25) < 0.02, abs(many.random_(4).mean() - 1.5) < 0.05]
    close += [abs(torch.poisson(torch.full((20000,), 3.0)).mean() - 3) < 0.1]
    close += [abs(torch.bernoulli(torch.full((20000,), 0.75)).mean() - 0.75) < 0.02]
    return close, sorted(set(many.random_(2, 5).tolist())), many.geometric_(0.5).min()
