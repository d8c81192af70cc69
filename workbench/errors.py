"""Errors and warnings used in several places, with PyTorch's exact messages where it has them (2.13).

Constants are whole messages; those with `{}` are filled in where they are raised.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from types import FrameType
from typing import Any

_SHAPES = re.compile(r"operands could not be broadcast together with shapes \(([\d,]*)\) \(([\d,]*)\)")


class LinAlgError(RuntimeError):
    """A matrix without an inverse, a Cholesky factor or singular values. PyTorch: torch.linalg.LinAlgError."""


LinAlgError.__module__, LinAlgError.__qualname__, LinAlgError.__name__ = "torch._C", "_LinAlgError", "_LinAlgError"


def is_users(frame: FrameType) -> bool:
    """Return True if a frame runs code outside the package."""
    return frame.f_globals.get("__name__", "").partition(".")[0] != __package__


def users_frames() -> Iterator[FrameType]:
    """Return the running frames, innermost first, without those of the package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            yield frame
        frame = frame.f_back


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: the innermost one outside the package."""
    frame, level = sys._getframe(1), 2
    while frame is not None and not is_users(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def check_installed(what: str, *packages: str, extra: str = "lab") -> None:
    """Raise ModuleNotFoundError, with the command to type, unless the packages of an extra are installed."""
    for name in packages:
        if find_spec(name) is None:
            package = {"PIL": "Pillow"}.get(name, name)
            raise ModuleNotFoundError(NOT_INSTALLED.format(what, package, extra), name=name)


def check_bool(given: Any, function: str, argument: str, position: int = 1) -> None:
    """Raise TypeError unless an argument is True or False."""
    if not isinstance(given, bool):
        raise TypeError(BOOL_KIND.format(function, argument, position, kind_of(given)))


def check_hooks(function: str, *hooks: Any, of: Any = None, named: dict[str, Any] | None = None) -> None:
    """Raise TypeError unless there are two callable positional hooks; `of` is their saved tensor."""
    if len(hooks) != 2 or named or not all(map(callable, hooks)):
        given = hooks if of is None else (of, *hooks)
        kind = "" if of is None else "self: torch._C._autograd.SavedTensor, "
        said = ", ".join(map(repr, given))
        if named:
            said += "; kwargs: " + ", ".join([f"{name}={hook!r}" for name, hook in named.items()])
        raise TypeError(
            f"{function}(): incompatible function arguments. The following argument types are "
            f"supported:\n    1. ({kind}arg0: collections.abc.Callable, arg1: "
            f"collections.abc.Callable) -> None\n\nInvoked with: {said}"
        )


def did_you_mean(given: Any, names: Iterable[str]) -> str:
    """Return " Did you mean 'graph'?" if names are close to the one given, to end an error's text, else nothing."""
    from difflib import get_close_matches  # not a part of `import workbench`

    near = get_close_matches(given, names, 3) if isinstance(given, str) else []
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def kind_of(given: Any) -> str:
    """Return the name of a rejected argument's type."""
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    return f"{package}.{kind.__name__}" if package in ("numpy", "torch") else kind.__name__


def of_shapes(error: BaseException) -> RuntimeError | None:
    """Return NumPy's error for two shapes that can't be broadcast in PyTorch's words; None for another error.

    It is also None for an error that the user's own code raised, for example in a hook.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    found = _SHAPES.match(str(error)) if type(error) is ValueError else None
    if found is None or trace is None or is_users(trace.tb_frame):
        return None
    return no_broadcast(*[[int(n) for n in shape.split(",") if n] for shape in found.groups()])


def no_broadcast(a: Sequence[int], b: Sequence[int]) -> RuntimeError | None:
    """Return the error for two shapes that can't be broadcast, which names the last dimension that differs."""
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), 1):
        if m != n and 1 not in (m, n):
            return RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton "
                f"dimension {max(len(a), len(b)) - back}"
            )
    return None


NOT_INSTALLED = '{} needs {}, which isn\'t installed. Run: pip install "autograd-workbench[{}]"'
SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
MODIFIED_IN_PLACE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} {shape}]"
    "{origin} is at version {version}; expected version {expected} instead. Hint: {hint}"
)
NO_FRESH_STACK = (
    "Python's stack is full: a backward inside {} others needs a stack of its own, and no thread can start here."
)
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
WRONG_NUMBER_OF_GRADIENTS = "function {} returned an incorrect number of gradients (expected {}, got {})"
GRADIENT_FOR_NON_TENSOR = (
    "function {} returned a gradient different than None at position {}, but the corresponding forward input was not "
    "a Variable"
)
INVALID_GRADIENT_SHAPE = (
    "Function {} returned an invalid gradient at index {} - got {} but expected shape compatible with {}"
)
EXPECTED_VARIABLE = "expected Variable or None (got {})"

NO_GRAD_FN = "element {} of tensors does not require grad and does not have a grad_fn"
ONLY_SCALAR_SEED = "grad can be implicitly created only for scalar outputs"
BATCHED_SEED_SHAPE = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{i}] has a shape of torch.Size({got}) and output[{i}] has a shape of torch.Size({want}). If "
    "you only want some tensors in `grad_output` to be considered batched, consider using vmap."
)
SEED_SHAPE = (
    "Mismatch in shape: grad_output[{i}] has a shape of torch.Size({got}) and output[{i}] has a shape of "
    "torch.Size({want})."
)
INDEX_0D = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)
BATCH_SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
EMPTY_INPUTS = "`inputs` argument to `{}()` cannot be empty."
INPUT_WITHOUT_GRAD = "One of the differentiated Tensors does not require grad"
UNUSED_INPUT = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set allow_unused=True if this "
    "is the desired behavior."
)

LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF_IN_PLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."
CHANGE_NON_LEAF_FLAG = "you can only change requires_grad flags of leaf variables."
CLEAR_NON_LEAF_FLAG = (
    f"{CHANGE_NON_LEAF_FLAG} If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)
NO_SUBCLASS = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
    "Make sure your class inherits from Tensor."
)
FLAG_KIND = "requires_grad must be a bool"
BOOL_KIND = "{}(): argument '{}' (position {}) must be bool, not {}"
NUMPY_REQUIRES_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
ONLY_REAL_SEED = "grad can be implicitly created only for real scalar outputs but got {}"
SEED_KIND = (
    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
    "grad_output[{0}] has a dtype of {1} and output[{0}] has a dtype of {2}."
)
GRADIENT_KIND = (
    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  "
    "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
)
GRADCHECK_PART = "While considering the {} part of complex {} only, "
OVERFLOW = "value cannot be converted to type {} without overflow"
COMPLEX_TO_REAL = "Casting complex values to real discards the imaginary part"
ONLY_FLOATS_ATTRIBUTE = "only Tensors of floating point and complex dtype can require gradients"
ONLY_FLOATS_CONSTRUCTOR = "Only Tensors of floating point and complex dtype can require gradients"
ONLY_FLOATS_METHOD = "only Tensors of floating point dtype can require gradients"
GRAD_KIND = "assigned grad expected to be a Tensor or None but got grad of type {}"
GRAD_ITSELF = "can't assign Variable as its own grad"
GRAD_SHAPE = (
    "attempting to assign a gradient of size '{}' to a tensor of size '{}'. Please ensure that the gradient and the "
    "tensor are the same size"
)
GRAD_DTYPE = (
    "attempting to assign a gradient with dtype '{}' to a tensor with grad_dtype '{}'. The gradient must match the "
    "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
    "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
    "its gradient may break downstream systems that assume they match."
)
GRAD_DTYPE_LEAF = "grad_dtype can only be {} on leaf tensors."
LEAF_DIRTY = "a leaf Variable that requires grad has been used in an in-place operation."
_MODE_REASON = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
VIEW_REASONS = {
    "no_grad": _MODE_REASON.format("no_grad"),
    "inference": _MODE_REASON.format("inference_mode"),
    "multi_output": (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    "custom": (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}

_SLOPE = (
    "In-place {0} backward calculation is triggered with a negative slope which is not supported. This is caused by "
    "calling in-place forward function with a negative slope, please call out-of-place version instead."
)
IN_PLACE_SLOPE = {
    "elu": _SLOPE.format("elu"),
    "leakyReLu": _SLOPE.format("leakyReLu")
    + " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
    "calculation with negative slope",
}

DIM_RANGE = "Dimension out of range (expected to be in range of [{}, {}], but got {})"
SLICE_NO_DIMS = "slice() cannot be applied to a 0-dim tensor."
NO_DIMS = "Dimension specified as {} but tensor has no dimensions"
BOOL_NEG = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
BOOL_RELU = "Boolean inputs not supported for relu"
EMPTY_DIM = "{}(): Expected reduction dim {} to have non-zero size."

HOOK_WITHOUT_GRAD = "cannot register a hook on a tensor that doesn't require gradient"
RETAIN_WITHOUT_GRAD = "can't retain_grad on Tensor that has requires_grad=False"
POST_ACCUMULATE_LEAF_ONLY = "post accumulate grad hooks cannot be registered on non-leaf tensors"

NO_GRADIENT_EDGE = "It is not possible to get the gradient edge for a Tensor that does not require gradients"
NO_EDGE_NODE = "Expected gradient function to be set"

SAVED_TAKEN = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)
DIRTY_NOT_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"

INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)
NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_JVP = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
SAVED_KIND = "save_for_backward can only save variables, but argument {} is of type {}"
INFERENCE_WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
INFERENCE_FLAG = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
NO_CALLBACK = "Final callbacks can only be installed during backward pass."
OUT_REQUIRES_GRAD = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad."
)
HOOK_SIZE = "hook '{}' has changed the size of value"
HOOK_KIND = "expected {}, but hook returned '{}'"
HOOK_COUNT = "hook '{}' has returned an incorrect number of values (got {}, but expected {})"
MODULE_HOOK_COUNT = "Backward hook returned an invalid number of grad_input, got {}, but expected {}"
UNPACKED_KIND = "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {}"
NO_DUAL_LEVEL = (
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
)
DUAL_SIZE = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
    "supported. Tensor is of size {} while the given forward gradient is of size {}."
)
ANOMALY_NAN = "Function '{}' returned nan values in its {}th output."

DETACH_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
    "torch/optim/optimizer.py as the solution."
)

DUAL_LEVEL = "Invalid level given to _{}"
DUAL_NESTED = "Nested forward mode AD is not supported at the moment"
DUAL_KIND = "Expected {} to be floating point or complex, but got: {}"

WRITE_OF_BATCH = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {1}. "
    "Please try to use out-of-place operators instead of {0}. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)
WRITE_TOO_WIDE = "output with shape {} doesn't match the broadcast shape {}"
BACKWARD_IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
    "instead or call backward() outside of functorch transforms."
)
EXTENDING = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
TRANSFORM_NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod. " + EXTENDING
)
VMAP_NO_RULE = (
    "You tried to vmap over {}, but it does not have vmap support. Please override and implement the vmap staticmethod "
    "or set generate_vmap_rule=True. " + EXTENDING
)
VMAP_BOTH_RULES = (
    "You tried to vmap over {}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please "
    "set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. " + EXTENDING
)
VMAP_INCOMPATIBLE = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={} "
    "to be compatible with the structure of `output`. out_dims has structure {} but output has structure {}. "
    + EXTENDING
)

VMAP_DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please "
    "file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)
VMAP_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
VMAP_BOOL = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
SEED_COUNT = "got {} tensors and {} gradients"
VMAP_RANDOM = "vmap: called random operation while in randomness error mode."
VMAP_DATA = "Cannot access data pointer of Tensor that doesn't have storage"
VMAP_NO_VIEW_RULE = "Batching rule not implemented for aten::{}; the fallback path doesn't work on out= or view ops."


FORWARD_UNEXPECTED = "forward() got an unexpected keyword argument '{}'"

# gradcheck and gradgradcheck
GRADCHECK_MISMATCH = "Jacobian mismatch for output {} with respect to input {},\nnumerical:{}\nanalytical:{}\n"
GRADCHECK_CHANGES = "Numerical gradient for function expected to be zero"
GRADCHECK_FORWARD_MISMATCH = GRADCHECK_MISMATCH.replace("Jacobian", "Jacobian computed with forward mode", 1)
GRADCHECK_RAISED = "While computing batched gradients, got: {}\n\n{}"
GRADCHECK_DIFFERENT = """\
For output {} and input {}:

{}

Got:
{}

Expected:
{}"""
GRADCHECK_BACKWARD = """\
gradcheck or gradgradcheck failed while testing batched gradient computation.
This could have been invoked in a number of ways (via a test that calls
gradcheck/gradgradcheck directly or via an autogenerated test).

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `check_batched_grad=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `check_batched_grad=False` and/or `check_batched_gradgrad=False`.

If you're modifying an existing operator that supports batched grad computation,
or wish to make a new operator work with batched grad computation, please read
the following.

To compute batched grads (e.g., jacobians, hessians), we vmap over the backward
computation. The most common failure case is if there is a 'vmap-incompatible
operation' in the backward pass. Please see
NOTE: [How to write vmap-compatible backward formulas]
in the codebase for an explanation of how to fix this."""
GRADCHECK_FORWARD = """
gradcheck failed while testing batched gradient computation with forward-mode AD.
This test is enabled automatically when both `check_batched_grad=True`
and `check_forward_ad=True`, but can be disabled in the following ways
dependong on how the test was invoked (via a test that calls gradcheck
directly or via an autogenerated test).

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `check_batched_forward_grad=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `check_batched_forward_grad=False`
"""
GRADCHECK_STRIDE_ZERO = (
    "The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able "
    "to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
    "gradcheck."
)
GRADCHECK_OTHER = "gradcheck takes tensors of this package, but got {}: use the gradcheck of its own engine."
GRADCHECK_NO_INPUT = (
    "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
)
GRADCHECK_UNDEFINED_IS_NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)
GRADCHECK_UNDEFINED_NOTES = (
    ' Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)
GRADCHECK_UNDEFINED_REFUSED = "Expected backward function to handle undefined output grads." + GRADCHECK_UNDEFINED_NOTES
GRADCHECK_UNDEFINED_LOST = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
    + GRADCHECK_UNDEFINED_NOTES
)
GRADCHECK_UNDEFINED_TANGENT = (
    "Mismatch in tangent values for output with index: ",
    " when input: ",
    " has an undefined tangent value. ",
    " Got: ",
    " but expected: ",
)

# autograd.functional

_STRICT = "This is not allowed in strict mode"
FUNCTIONAL_DETACHED = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
FUNCTIONAL_IGNORES = f"Output {{}} of the user-provided function is independent of input {{}}. {_STRICT}."
FUNCTIONAL_INDEPENDENT = f"The {{}} of the user-provided function is independent of input {{}}. {_STRICT}{{}}."
FUNCTIONAL_FLAT_JACOBIAN = FUNCTIONAL_INDEPENDENT.format("jacobian", "{}", " when create_graph=True")
FUNCTIONAL_FLAT_HESSIAN = FUNCTIONAL_INDEPENDENT.format("hessian", "{}", " when create_graph=True")
FUNCTIONAL_SEED_IGNORED = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    f"backward trick to compute forward mode gradients. {_STRICT}."
)
FUNCTIONAL_INNER_SEED_IGNORED = (
    f"The hessian of the user-provided function is independent of entry {{}} in the grad_jacobian. {_STRICT} as it "
    "prevents from using the double backward trick to replace forward mode AD."
)
FUNCTIONAL_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    f"independent of the input. {_STRICT}. You should ensure that your function is twice differentiable and that the "
    "jacobian depends on the inputs (this would be violated by a linear function for example)."
)
FUNCTIONAL_QUADRATIC = (
    f"The hessian of the user-provided function with respect to input {{}} is independent of the input. {_STRICT}. You "
    "should ensure that your function is thrice differentiable and that the hessian depends on the inputs."
)
FUNCTIONAL_SEED_ALONE = (
    f"The gradient with respect to input {{}} is independent of the inputs of the user-provided function. {_STRICT}."
)
FUNCTIONAL_OUTPUTS = "outputs of the user-provided function"
FUNCTIONAL_NOT_TENSORS = "The {} given to {} must be either a Tensor or a tuple of Tensors but the {} has type {}."
FUNCTIONAL_STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
FUNCTIONAL_NOT_TOGETHER = (
    "torch.autograd.functional.jacobian: `{0}=True` and `{1}` are not supported together{2}. Please either set "
    "`{0}=False` or `{3}`."
)
FUNCTIONAL_FORWARD = ('strategy="forward-mode"', " (yet)", 'strategy="reverse-mode"')

# Transforms of functions
FUNC_SAVED_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
    "Please open an issue with your use case."
)

FUNC_GRAD = "grad_and_value(f)(*args)"
FUNC_GRAD_KIND = FUNC_GRAD + ": Expected f(*args) to return a Tensor, got {}"
FUNC_GRAD_SCALAR = (
    FUNC_GRAD
    + ": Expected f(*args) to return a scalar Tensor, got tensor with {} dims. Maybe you wanted to use the vjp or "
    "jacrev APIs instead?"
)


FUNC_JVP = "jvp(f, primals, tangents)"
FUNC_PRIMALS_KIND = FUNC_JVP + ": Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
FUNC_STRUCTURES = (
    FUNC_JVP
    + ": Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
    "tensors, tangents also must be. Got primals with structure {} and tangents with structure {}"
)
FUNC_NO_TENSOR = FUNC_JVP + ": Expected {} to contain at least one Tensor."
FUNC_NOT_ONLY_TENSORS = FUNC_JVP + ": Expected {} to only contain Tensors, got {}"

FUNC_IN_DIM = "vmap({}, in_dims={}, ...)(<inputs>): Got in_dim={} for "
FUNC_IN_DIM_KIND = FUNC_IN_DIM + "an input but in_dim must be either an integer dimension or None."
FUNC_IN_DIM_INPUT = (
    FUNC_IN_DIM
    + "an input but the input is of type {}. We cannot vmap over non-Tensor arguments, please use None as the "
    "respective in_dim"
)
FUNC_IN_DIM_RANGE = (
    FUNC_IN_DIM + "some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim to satisfy "
    "-{ndim} <= in_dim < {ndim}."
)


# Checkpointing, and samples in batches


CHECKPOINT_OTHERS = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
    "forward pass.\n{}.\n"
)
CHECKPOINT_FEWER = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    "Number of tensors saved during forward: {}\nNumber of tensors saved during recomputation: {}.\n"
)
CHECKPOINT_MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
)
CHECKPOINT_READ_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your "
    "use case."
)
CHECKPOINT_INPUTS = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)
CHECKPOINT_NOTHING = "none of output has requires_grad=True, this checkpoint() is not necessary"
CHECKPOINT_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""


# What operations refuse and warn of.

SCALAR_TYPE = "expected scalar type {} but found {}"
NEGATIVE_LENGTH = "narrow(): length must be non-negative."
NEGATIVE_SIZE = "Trying to create tensor with negative dimension {}: {}"
LIST_KIND = "expected Tensor as element {} in argument 0, but got {}"
UNPACK_SIZE = (
    "{}(): argument '{}' failed to unpack the object at pos {} with error \"type must be tuple of ints,but got {}\""
)
FOUND_DTYPE = "Found dtype {} but expected {}"
NO_DIMENSION = "{} only supports a 0-dimensional value tensor, but got tensor with {} dimension(s)."
ONLY_MASKS = "{} only supports boolean masks, but got mask with dtype {}"
INDEX_RANGE = "index {} is out of bounds for dimension {} with size {}"
SELECT_NO_DIM = "index_select(): self indexing axis dim should be positive"
INDEX_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"
OUT_CAST = "result type {} can't be cast to the desired output type {}"
NO_KERNEL = "\"{}\" not implemented for '{}'"
RANDOM_RANGE = "random_ expects 'from' to be less than 'to', but got from={} >= to={}"
NO_ACCELERATOR = "Cannot access accelerator device when none is available."
NO_CUDA = "Torch not compiled with CUDA enabled"
EXACTLY = "Expected out tensor to have dtype {}, but got {} instead"
OUT_OF_RANGE = "index out of range in self"
BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
LONG_OVERFLOW = "Overflow when unpacking long long"
AT_LEAST_1D = "both arguments to {} need to be at least 1D, but they are {}D and {}D"
WITHOUT_DIM = "{}() received an invalid combination of arguments - got {} without dim"
EMPTY_ALL = (
    "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
    "argument."
)
DEEPCOPY_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)
EMPTY_LIST = "{} expects a non-empty TensorList"
DROPOUT_PROBABILITY = "dropout probability has to be between 0 and 1, but got {}"
MULTI_TARGET = "0D or 1D target tensor expected, multi-target not supported"
NOT_VALID = "{} is not valid"
PADDING_INDEX = "Padding_idx must be within num_embeddings"
ONE_VALUE = "Expected more than 1 value per channel when training, got input size {}"
PADDING_SAME_STRIDE = "padding='same' is not supported for strided convolutions"


# What modules refuse.

ATTRIBUTE_EXISTS = "attribute '{}' already exists"
NAME_KIND = "{} name should be a string. Got {}"
NAME_EMPTY = '{} name can\'t be empty string ""'
EMPTY_INIT = "Initializing zero-element tensors is a no-op"
INIT_MATRIX = "Only tensors with 2 dimensions are supported"
CELL_DIMS = "{}: Expected {} to be 1D or 2D, got {}D instead"
MASK_DIMS = "For {} `query`, expected `{}` to be `None`{} but found {}-D tensor instead"


def real_number(number: complex, kind: str) -> float:
    """Return a complex number as a real one, of the type that C++ calls `kind`; RuntimeError if it is none."""
    if type(number) is not complex:
        return number  # type: ignore[return-value]
    if number.imag:
        raise RuntimeError(OVERFLOW.format(kind))
    return number.real
