"""Every sentence that autograd, func and utils refuse with or warn of, word for word PyTorch's (PyTorch 2.13).

Constants are whole sentences; those with `{}` are filled in where they are raised.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs code outside the package."""
    return frame.f_globals.get("__name__", "").partition(".")[0] != __package__


def users_frames() -> Iterator[FrameType]:
    """The frames that run now, the innermost first, without the package's own."""
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


def check_bool(given: Any, function: str, argument: str, position: int = 1) -> None:
    """TypeError unless an argument is True or False."""
    if not isinstance(given, bool):
        raise TypeError(BOOL_KIND.format(function, argument, position, kind_of(given)))


def check_hooks(function: str, *hooks: Any, of: Any = None, named: dict[str, Any] | None = None) -> None:
    """TypeError unless there are two hooks that can be called, none by name; `of` is the saved tensor they are for."""
    if len(hooks) != 2 or named or not all(map(callable, hooks)):
        given = hooks if of is None else (of, *hooks)
        kind = "" if of is None else "self: torch._C._autograd.SavedTensor, "
        said = ", ".join(map(repr, given))
        if named:
            said += "; kwargs: " + ", ".join([f"{name}={hook!r}" for name, hook in named.items()])
        raise TypeError(HOOKS_KIND.format(function, kind, said))


def kind_of(given: Any) -> str:
    """What a refused argument is called."""
    kind = type(given)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def of_shapes(error: BaseException) -> RuntimeError | None:
    """NumPy's error for two shapes that cannot be broadcast together as PyTorch says it; None for another error.

    None too for one that the user's own code raised, in a hook perhaps.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    found = re.match(_SHAPES, str(error)) if type(error) is ValueError else None
    if found is None or trace is None or is_users(trace.tb_frame):
        return None
    return no_broadcast(*[[int(n) for n in shape.split(",") if n] for shape in found.groups()])


def no_broadcast(a: Sequence[int], b: Sequence[int]) -> RuntimeError | None:
    """The error for two shapes that cannot be broadcast together, which names the last dimension that differs."""
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), 1):
        if m != n and 1 not in (m, n):
            return RuntimeError(BROADCAST.format(m, n, max(len(a), len(b)) - back))
    return None


_SHAPES = r"operands could not be broadcast together with shapes \(([\d,]*)\) \(([\d,]*)\)"
BROADCAST = "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}"
SAVED_TENSOR_MADE = "Trying to create a SavedTensor object from Python is forbidden."
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
HINT_ENABLE_ANOMALY = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
SAVE_ONLY_TENSORS = "save_for_backward can only save variables, but argument {} is of type {}"
MATERIALIZE_BOOL = "set_materialize_grads received an invalid combination of arguments - got ({}), but expected (bool)"
NON_DIFFERENTIABLE_ONLY_TENSORS = "mark_non_differentiable only accepts variable arguments, but got "
NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
NO_JVP = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
BOTH_BACKWARD_AND_VJP = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)
NO_SETUP_CONTEXT = "setup_context is not implemented."
WRONG_NUMBER_OF_GRADIENTS = "function {} returned an incorrect number of gradients (expected {}, got {})"
GRADIENT_FOR_NON_TENSOR = (
    "function {} returned a gradient different than None at position {}, but the corresponding forward input was not "
    "a Variable"
)
INVALID_GRADIENT_SHAPE = (
    "Function {} returned an invalid gradient at index {} - got {} but expected shape compatible with {}"
)
EXPECTED_VARIABLE = "expected Variable or None (got {})"
NOT_INSTANTIATED = (
    "{} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the "
    "class itself. Instantiating an autograd function will raise an error in a future version of PyTorch."
)
LEGACY_FUNCTION = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)

NO_GRAD_FN = "element {} of tensors does not require grad and does not have a grad_fn"
ONLY_SCALAR_SEED = "grad can be implicitly created only for scalar outputs"
SEED_SHAPE = (
    "Mismatch in shape: grad_output[{i}] has a shape of torch.Size({got}) and output[{i}] has a shape of "
    "torch.Size({want})."
)
SEED_COUNT = "got {} tensors and {} gradients"
OUTPUT_KIND = "Expected output to be a torch.Tensor"
INPUT_KIND = "all inputs have to be Tensors or GradientEdges, but got {}"
SEED_KIND = "gradients can be either Tensors or None, but got {}"
BATCHED_SEED_SHAPE = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{i}] has a shape of torch.Size({got}) and output[{i}] has a shape of torch.Size({want}). If "
    "you only want some tensors in `grad_output` to be considered batched, consider using vmap."
)
INDEX_0D = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)
BATCHED_SEED_NONE = (
    "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of dimensionality 0 "
    "so expected in_dim to satisfy 0 <= in_dim < 0."
)
BATCH_SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
BATCH_EMPTY = "index 0 is out of bounds for dimension 0 with size 0"
EDGE_SHAPE = (
    "this GradientEdge does not know the shape of its tensor: make it with get_gradient_edge, or pass the gradient to "
    "begin with as grad_outputs."
)
EDGE_NODE = "GradientEdge's first object must be an autograd.graph.Node but got {}"
EDGE_MATERIALIZE = "materialize_grads cannot be used when the given input is a GradientEdge"
SEED_TWICE = (
    "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
    "`grad_tensors`."
)
INPUTS_MAPPING = "`inputs` argument to `{}()` must be a dict, not {}. Other Mapping types are not supported."
EMPTY_INPUTS = "`inputs` argument to `{}()` cannot be empty."
INPUT_WITHOUT_GRAD = "One of the differentiated Tensors does not require grad"
UNUSED_INPUT = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set allow_unused=True if this "
    "is the desired behavior."
)
MATERIALIZE_NEEDS_UNUSED = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
)
BACKWARD_CREATE_GRAPH = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
    "the cycle and avoid the leak."
)

LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF_IN_PLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."
CHANGE_NON_LEAF_FLAG = "you can only change requires_grad flags of leaf variables."
CLEAR_NON_LEAF_FLAG = (
    f"{CHANGE_NON_LEAF_FLAG} If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)
FLAG_KIND = "requires_grad must be a bool"
BOOL_KIND = "{}(): argument '{}' (position {}) must be bool, not {}"
NO_PICKLE = "cannot pickle '{}' object"
DATA_KIND = "Variable data has to be a tensor, but got {}"
AMBIGUOUS_TRUTH = "Boolean value of Tensor with {} is ambiguous"
NO_DTYPE = (
    "the workbench has no tensors of dtype {}; it has {}: convert the array first, e.g. with array.astype('float64')."
)
DATA_INTEGERS = "data set to a tensor that requires gradients must be floating point or complex dtype"
ONE_ELEMENT = "only one element tensors can be converted to Python scalars"
FLOAT_OF_GRAD = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
TENSOR_OF_TENSOR = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)
NUMPY_REQUIRES_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
ONLY_FLOATS_ATTRIBUTE = "only Tensors of floating point and complex dtype can require gradients"
ONLY_FLOATS_CONSTRUCTOR = "Only Tensors of floating point and complex dtype can require gradients"
ONLY_FLOATS_METHOD = "only Tensors of floating point dtype can require gradients"
GRAD_OF_NON_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
    "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)
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
GRAD_DTYPE_KIND = "grad_dtype must be a torch.dtype or None, but got {}"
GRAD_DTYPE_TAKEN = (
    "Cannot set grad_dtype to '{0}' because there is already a gradient with dtype '{1}'. Please clear the gradient "
    "(.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
)
ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
    "of the graph, please use torch.autograd.backward."
)
LEAF_DIRTY = "a leaf Variable that requires grad has been used in an in-place operation."
ELEMENTS_ARE_ONE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)
VIEW_MADE = "A view was created in"
VIEW_OF_VIEW_MADE = "Output {} of {} is a view of a view which was created in"
VIEW_IN_NO_GRAD = " no_grad mode and {} modified inplace with grad mode enabled."
VIEW_IN_INFERENCE = " inference mode and {} modified inplace in normal mode."
VIEW_WRITTEN = "Output {} of {} is a view and {} modified inplace."
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

MOVEDIM_COUNT = (
    "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as "
    "destination ({} dims)"
)
MOVEDIM_TWICE = "movedim: repeated dim in `{}` ({})"
DIM_RANGE = "Dimension out of range (expected to be in range of [{}, {}], but got {})"
NO_DIMS = "Dimension specified as {} but tensor has no dimensions"
WHERE_BYTES = (
    "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
    "PyTorch. Use a boolean condition instead."
)
BOOL_NEG = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
BOOL_POS = "The `+` operator, on a bool tensor is not supported."
BOOL_RELU = "Boolean inputs not supported for relu"
EMPTY_DIM = "{}(): Expected reduction dim {} to have non-zero size."

HOOK_WITHOUT_GRAD = "cannot register a hook on a tensor that doesn't require gradient"
RETAIN_WITHOUT_GRAD = "can't retain_grad on Tensor that has requires_grad=False"
POST_ACCUMULATE_LEAF_ONLY = "post accumulate grad hooks cannot be registered on non-leaf tensors"
POST_ACCUMULATE_NONE = "Tensor post accumulate grad hooks should return None."
HOOK_FROM_NONE = "can't replace a None gradient with a non-None value"
HOOK_KIND = "expected Variable, but hook returned '{}'"
HOOK_TUPLE = "expected tuple, but hook returned '{}'"
HOOK_COUNT = "hook '{}' has returned an incorrect number of values (got {}, but expected {})"
HOOK_SIZE = "hook '{}' has changed the size of value"
HOOK_TYPE = "hook '{}' has changed the type of value (was {} got {})"

PACK_HOOK_WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
    "perform in-place operations on the input to a pack hook."
)
UNPACK_HOOK_KIND = "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {}"
HOOKS_ON_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved variables after calling backward."
)
VERSION_OF_NOTHING = "increment_version expect a Iterable[Tensor] as input"
VERSION_OF_OTHERS = "increment_version expects each element of the iterable to be a tensor"
HOOKS_KIND = (
    "{}(): incompatible function arguments. The following argument types are supported:\n    1. ({}arg0: "
    "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked with: {}"
)
HOOKS_ALREADY_SET = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
    "allowed at a time."
)
NO_GRADIENT_EDGE = "It is not possible to get the gradient edge for a Tensor that does not require gradients"
NO_EDGE_IN_INFERENCE = "'NoneType' object has no attribute 'next_functions'"
NO_EDGE_NODE = "Expected gradient function to be set"
MULTI_HOOK_LEAF = (
    "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
    "currently not supported."
)
MULTI_HOOK_MODE = "Expects mode to be one of ('all', 'any') but got {}"
MUTATION_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
    "recorded."
)
MUTATION_NESTED = "allow_mutation_on_saved_tensors contexts cannot be nested"

SAVE_FOR_FORWARD = (
    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
)
MARK_SHARED_STORAGE = (
    "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
    "`set_()` are not tracked"
)
SAVED_TAKEN = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)
FLAG_NOT_BOOL = "{} must be a bool, got {}"
DELETED_DATA = "Deleting tensor data is not allowed. Delete tensor instead!"
NOT_WRITABLE = "attribute '{}' of 'torch._C.TensorBase' objects is not writable"
NO_HOOKS_LEFT = (
    'is_initialized && !tls.stack.empty() INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/'
    'SavedTensorHooks.cpp":69, please report a bug to PyTorch. '
)
RETURNED_INPUT_SAVED = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup "
    "ctx inside the forward function itself."
)
DIRTY_ONLY_TENSORS = "mark_dirty can only accept variables, but argument "
DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
DIRTY_NOT_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
DIRTY_VIEW_SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"

INFERENCE_VERSION = "Inference tensors do not track version counter."
INFERENCE_REQUIRES_GRAD = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)
INFERENCE_WRITE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
HINT_ANOMALY = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)
ANOMALY_ON = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
)
ANOMALY_NAN = "Function '{}' returned nan values in its {}th output."
ANOMALY_TRACE = "Error detected in {}. Traceback of forward call that caused the error:\n{}"
ANOMALY_INDUCED = (
    "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous calculation:\n{}"
)
ANOMALY_NO_TRACE = (
    "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)

NESTING = "Auto nesting doesn't know how to process an input object of type {}"
NESTING_TAKES = ". Accepted types: {}, or lists/tuples of them"
CLASS_DECORATED = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
    "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
    "and nothing else."
)
SAVED_DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please "
    "use out-of-place `.detach()` instead"
)
DETACH_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
    "torch/optim/optimizer.py as the solution."
)
CALLBACK_OUTSIDE = "Final callbacks can only be installed during backward pass."

DUAL_LEVEL = "Invalid level given to _{}"
DUAL_NO_LEVEL = (
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
)
DUAL_NO_SUCH_LEVEL = (
    "Trying to access a forward AD level with an invalid index. This index was either not created or is already "
    "deleted."
)
DUAL_NESTED = "Nested forward mode AD is not supported at the moment"
DUAL_EXIT = "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
DUAL_NO_LEVEL_TO_EXIT = "Dual level must be a positive number."
DUAL_KIND = "Expected {} to be floating point or complex, but got: {}"
DUAL_TWICE = (
    "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
)
DUAL_TANGENT = "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
DUAL_SIZE = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
    "supported. Tensor is of size {} while the given forward gradient is of size {}."
)
DUAL_UNPACK = "_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {}"

CAPTURED_WRITE = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
    "(aten::{}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
    "transformed to explicitly accept the mutated Tensor(s) as inputs."
)
WRITE_OF_BATCH = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {1}. "
    "Please try to use out-of-place operators instead of {0}. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)
WRITE_TOO_WIDE = "output with shape {} doesn't match the broadcast shape {}"
RANDOM_UNDER_VMAP = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
RANDOM_IN_BATCH = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
    "vmap as a workaround"
)
FLAG_IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
    "a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)
RETAIN_IN_TRANSFORM = (
    "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
    "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
    "call retain_grad() outside of a function being transformed instead."
)
DATA_UNDER_VMAP = "mutating directly with `.data` under vmap transform is not allowed."
DATA_IN_TRANSFORM = "mutating directly with `.data` inside functorch transform is not allowed."
BACKWARD_IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
    "instead or call backward() outside of functorch transforms."
)
JVP_COUNT = "Function's jvp returned an invalid number of forward gradients (expected {} but got {})"
JVP_KIND = "expected Variable or None (got {}) for grad output {}."
JVP_NO_TANGENT = "Expected both tensor and its forward grad to be floating point or complex"
JVP_UNDEFINED = "cannot call get_autograd_meta() on undefined tensor"
JVP_NOT_DIFFERENTIABLE = (
    "Function's jvp returned a gradient at position {}, but  the corresponding forward output is not a differentiable "
    "Tensor.You should return None at that position instead."
)
JVP_NO_VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
JVP_OTHER_VIEW = "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
JVP_DIRTY_NOT_INPUT = (
    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it "
    "to mark_dirty()."
)
JVP_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
    "input inplace, then the jvp function must modify the corresponding gradient inplace."
)
JVP_NOT_AS_IS = (
    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying an "
    "input inplace, then the jvp function must modify the gradient inplace and return it as-is."
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
VMAP_KEYWORD = (
    "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to "
    "autograd.Function. Got: {}"
)
VMAP_RETURNS_COUNT = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
    "the output. Got {} returns instead"
)
VMAP_RETURNS_KIND = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
    "the output. Got a {} instead"
)
VMAP_INCOMPATIBLE = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={} "
    "to be compatible with the structure of `output`. out_dims has structure {} but output has structure {}. "
    + EXTENDING
)
NO_VMAP = (
    "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
)

VMAP_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)
VMAP_MASKED_SELECT = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
    "batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
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
VMAP_DATA = "Cannot access data pointer of Tensor that doesn't have storage"
NO_STORAGE = "Cannot access storage of {}"
VMAP_DETACHED = "accessing `data` under vmap transform is not allowed"
VMAP_NO_VIEW_RULE = "Batching rule not implemented for aten::{}; the fallback path doesn't work on out= or view ops."
VMAP_NO_RULE_FOR = "Batching rule not implemented for aten::{}. We could not generate a fallback."
VMAP_EQUAL = "Batching rule not implemented for aten::equal. We could not generate a fallback."
VMAP_ALLCLOSE = (
    "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues "
    "if you need this feature."
)
VMAP_ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
    "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
    "`gen_vmap_plumbing` Please file an issue if it looks like the latter"
)
VMAP_RUNNING = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
    "resources on how to patch your module to work with vmap"
)

EXPLAIN_KIND = "explain() takes an error, but got {}."
EXPLAIN_OTHER = "This {} was not raised by a backward, so there is no graph to explain it with."
SHOW_KIND = "show() draws the graph of a Tensor, but got {}."
OWN_ALONE = "{}() records the programs of this package alone, and none of {}."
NO_ENGINE = "record() records the programs of this package, or record(torch) those of PyTorch, but not those of {}."
LAST_KIND = "record(last=...) takes how many events to keep, a whole number, but got {}."
LAST_FEW = "record(last=...) takes how many events to keep, at least 1, but got {}."

GRAD_VARIABLES_OLD = "`grad_variables` is deprecated. Use `grad_tensors` instead."
DTYPE_KIND = "{}(): argument 'dtype' must be torch.dtype, not {}"
DEFAULT_DTYPE = "only floating-point types are supported as the default type"
MATERIALIZE_NOT_READABLE = "attribute 'materialize_grads' of 'torch._C._FunctionBase' objects is not readable"
FORWARD_UNEXPECTED = "forward() got an unexpected keyword argument '{}'"
SAVED_VARIABLES_OLD = "'saved_variables' is deprecated; use 'saved_tensors'"
FORWARD_MULTIPLE = "forward() got multiple values for argument '{}'"
FORWARD_MISSING = "forward() missing required argument: '{}' (position {})"
TRANSFORM_UNEXPECTED = "custom_function_call_grad() got an unexpected keyword argument '{}'"
NODE_NOT_WRITABLE = "attribute '{}' of 'torch._C._FunctionBase' objects is not writable"
NODE_CALL_COUNT = "expected {} arguments, got {} instead"
NODE_CALL_NAMED = "keyword arguments are not supported"
NODE_CALL_KIND = "argument {} is not a Variable"
HOOKS_ON_NONE = "Calling register_hooks on a saved tensor with value None is forbidden"
SCOPE_KIND = "A scope's name must be a string, but got {}."
SCOPE_EMPTY = "A scope needs a name that is not empty."
LEN_0D = "len() of a 0-d tensor"
NOT_A_SCALAR = "a Tensor with {} elements cannot be converted to Scalar"
INDEX_KIND = "only integer tensors of a single element can be converted to an index"
VIEW_OUTSIDE = "A view's gradient has another dtype than the view, or the view has left its base's memory."
NO_ATTRIBUTE = "'{}' object has no attribute '{}'"
NOT_SAVED = "'{}' object has not saved {!r}, which nothing reads here"

# gradcheck and gradgradcheck
GRADCHECK_INPUT_FLAG = "Expected input to have requires_grad=True"
GRADCHECK_NOTHING_CHECKED = "Expected at least one of check_forward_ad or check_backward_ad to be True"
GRADCHECK_BATCHED_NEEDS_BACKWARD = "Setting check_batched_grad=True requires check_backward_ad to be True"
GRADCHECK_BATCHED_NEEDS_FORWARD = "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
GRADCHECK_NOTHING_CHECKED_TWICE = "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
GRADCHECK_UNDEFINED_NEEDS_REVERSE = "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
GRADCHECK_BATCHED_NEEDS_REVERSE = "Setting check_batched_grad=True requires check_rev_over_rev to be True"
GRADCHECK_NOT_MULTIPLIED = "backward not multiplied by grad_output"
GRADCHECK_GRADIENT_SIZE = "Analytical gradient has incorrect size"
GRADCHECK_PERTURBED = (
    "Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but got: "
    "{what}s {one} and {other}."
)
GRADCHECK_MISMATCH = "Jacobian mismatch for output {} with respect to input {},\nnumerical:{}\nanalytical:{}\n"
GRADCHECK_CHANGES = "Numerical gradient for function expected to be zero"
GRADCHECK_FAST_FAILED = """
The above quantities relating the numerical and analytical jacobians are computed \n\
in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n\
about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:

Numerical:
 {}
Analytical:
{}

The max per-element difference (slow mode) is: {}.
"""
GRADCHECK_SLOW_WOULD_PASS = """\
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`"""
GRADCHECK_NOT_REENTRANT = """\
Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different \
values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""
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
GRADCHECK_OLD = (
    "`{}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed "
    "in a future version of PyTorch. If you have a specific use for this or feature request for this to be a stable "
    "API, please file us an issue at https://github.com/pytorch/pytorch/issues/new"
)
GRADCHECK_SCALED = "Expected grad_out to be 1.0. {} no longer supports values of grad_out != 1.0."
GRADCHECK_NOT_DOUBLE = (
    "Input #{} requires gradient and is not a double precision floating point or complex. This check will likely fail "
    "if all the inputs are not of double precision floating point or complex. "
)
GRADCHECK_STRIDE_ZERO = (
    "The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able "
    "to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
    "gradcheck."
)
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
FUNCTIONAL_NO_OUTPUTS = "Expected at least one tensor"
FUNCTIONAL_VECTOR_COUNT = "v is a tuple of invalid length: should be {} but got {}."
FUNCTIONAL_VECTOR_ALONE = "The given v should contain a single Tensor."
FUNCTIONAL_NOT_ONE_TENSOR = "The function given to {} should return a single Tensor"
FUNCTIONAL_NOT_ONE_ELEMENT = "The Tensor returned by the function given to {} should contain a single element"
FUNCTIONAL_VECTOR_SIZE = "{}v has invalid size: should be {} but got {}."

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
FUNCTIONAL_STRATEGY_HINT = (
    ' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
    'prefer to use "reverse-mode".'
)
FUNCTIONAL_NOT_TOGETHER = (
    "torch.autograd.functional.jacobian: `{0}=True` and `{1}` are not supported together{2}. Please either set "
    "`{0}=False` or `{3}`."
)
FUNCTIONAL_FORWARD = ('strategy="forward-mode"', " (yet)", 'strategy="reverse-mode"')
FUNCTIONAL_FORWARD_LOOP = (
    "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
)
FUNCTIONAL_NO_VECTOR = "The vector v can only be None if the {} a single Tensor with a single element."

# Transforms of functions
FUNC_ARGNUMS_KIND = "argnums must be int or Tuple[int, ...], got: {}"
FUNC_ARGNUM_KIND = "argnum must be int, got: {}"
FUNC_ARGNUM_RANGE = "Got argnum={}, but only {} positional inputs"
FUNC_ARGNUMS_EMPTY = "argnums must be non-empty"
FUNC_ARGNUMS_TWICE = "argnums elements must be unique, got {}"
FUNC_INPUT_KIND = "Thing passed to transform API must be Tensor, got {}"
FUNC_OUTPUT_KIND = "Expected tensors, got unsupported type {}"
FUNC_SAVED_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
    "Please open an issue with your use case."
)
FUNC_AUX = "{}: output of function f should be a tuple: (output, aux) if has_aux is True"

FUNC_GRAD = "grad_and_value(f)(*args)"
FUNC_GRAD_KIND = FUNC_GRAD + ": Expected f(*args) to return a Tensor, got {}"
FUNC_GRAD_SCALAR = (
    FUNC_GRAD
    + ": Expected f(*args) to return a scalar Tensor, got tensor with {} dims. Maybe you wanted to use the vjp or "
    "jacrev APIs instead?"
)

FUNC_VJP = "vjp(f, *primals)"
FUNC_NOTHING = "{}: Expected f to be a function that has non-empty output (got output = {})"
FUNC_ONLY_TENSORS = "{}: expected f(*primals) to return only tensors, got unsupported type {}"
FUNC_VJP_FLOATS = "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {}"
FUNC_COTANGENTS = (
    "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
    "cotangents: {}, primal output: {}"
)
FUNC_JACREV_CHUNK = "jacrev: `chunk_size` should be greater than 0."

FUNC_JVP = "jvp(f, primals, tangents)"
FUNC_PRIMALS_KIND = FUNC_JVP + ": Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
FUNC_STRUCTURES = (
    FUNC_JVP
    + ": Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
    "tensors, tangents also must be. Got primals with structure {} and tangents with structure {}"
)
FUNC_NO_TENSOR = FUNC_JVP + ": Expected {} to contain at least one Tensor."
FUNC_NOT_ONLY_TENSORS = FUNC_JVP + ": Expected {} to only contain Tensors, got {}"
FUNC_INDEPENDENT = (
    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
    "strict=True."
)
FUNC_LINEAR_STRUCTURE = "Expected the tangents {} to have the same argspec as the primals {}"
FUNC_LINEAR_FACT = (
    "tangent:{i} with {what} {got} in flattened pytree doesn't match the {what} {want} of the corresponding primal."
)

FUNC_RANDOMNESS = "Only allowed values for randomness are 'error', 'different', or 'same'. Got {}"
FUNC_CHUNK = "vmap: chunk_size should be None or greater than 0. (got {})"
FUNC_OUT_DIMS_KIND = (
    "vmap({}, ..., out_dims={}): `out_dims` must be an int, None or a python collection of ints representing where in "
    "the outputs the vmapped dimension should appear."
)
FUNC_IN_DIMS_KIND = (
    "vmap({}, in_dims={}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the "
    "structure of inputs, got: {}."
)
FUNC_NO_INPUTS = (
    "vmap({})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with "
    "no inputs. The latter is unsupported."
)
FUNC_IN_DIMS_STRUCTURE = (
    "vmap({}, in_dims={}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has "
    "structure {} but inputs has structure {}."
)
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
FUNC_NOTHING_MAPPED = "vmap: Expected at least one Tensor to vmap over"
FUNC_OUT_DIMS_STRUCTURE = (
    "vmap({}, ..., out_dims={})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
    "structure {} but outputs has structure {}."
)
FUNC_BATCHED_OUTPUT = "vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
FUNC_OUTPUT_NOT_TENSOR = (
    "vmap({name}, ...): `{name}` must only return Tensors, got type {kind}. Did you mean to set out_dims= to None for "
    "output?"
)
FUNC_NO_CHUNKS = "arg_spec must not be None"

FUNC_CALL_KIND = "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {}"
FUNC_CALL_KINDS = "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
FUNC_CALL_REPEATED = "{} appeared in multiple dictionaries; behavior of functional call is ambiguous"
FUNC_CALL_TIED = "functional_call got multiple values for keys {}, which are tied. Consider using tie_weights=False"
FUNC_CALL_NAMES = "Error(s) in reparametrizing for {}:\n\t{}"
FUNC_CALL_UNEXPECTED = "Unexpected key(s): {}."
FUNC_CALL_MISSING = "Missing key(s): {}."
FUNC_CALL_NO_ATTRIBUTE = "{} has no attribute `{}`"
FUNC_NOT_A_TENSOR = "{} is not an instance of torch.Tensor"

FUNC_STACK_NONE = "stack_module_state: Expected at least one model, got 0."
FUNC_STACK_MODES = "stack_module_state: Expected all models to have the same training/eval mode."
FUNC_STACK_CLASSES = "stack_module_state: Expected all models to be of the same class."
FUNC_STACK_GRADS = "Expected {} from each model to have the same .requires_grad"

# Checkpointing, and samples in batches
CHECKPOINT_KIND = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
CHECKPOINT_SEQUENTIAL_KIND = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
    "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if "
    "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
    "details on the differences between the two variants."
)
CHECKPOINT_KEYWORDS = "Unexpected keyword arguments: {}"
CHECKPOINT_ONLY_RECOMPUTED = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
CHECKPOINT_DEBUG_CONTEXT = "debug=True is incompatible with non-default context_fn"
CHECKPOINT_DETERMINISM = "determinism_check should be one of {}, but got {}"
CHECKPOINT_ONLY_TUPLE = "Only tuple of tensors is supported. Got Unsupported input type: {}"

CHECKPOINT_WITHOUT_GRAD = "None of the inputs have requires_grad=True. Gradients will be None"
CHECKPOINT_NOT_NECESSARY = "none of output has requires_grad=True, this checkpoint() is not necessary"
CHECKPOINT_INCOMPATIBLE = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)

CHECKPOINT_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your "
    "use case."
)
CHECKPOINT_MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
)
CHECKPOINT_COUNTS = """\
torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.
Number of tensors saved during forward: {}
Number of tensors saved during recomputation: {}.
"""
CHECKPOINT_METADATA = """\
torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward \
pass.
{}.
"""
CHECKPOINT_DIFFERENT = "tensor at position {}:\nsaved metadata: {}\nrecomputed metadata: {}\n"
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
CHECKPOINT_LOG = """ \
An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+
|        1. Stack traces of the operators that ran in the original forward     |
+------------------------------------------------------------------------------+

{}
+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+
|        2. Stack traces of the operators that ran during recomputation        |
+------------------------------------------------------------------------------+

{}
+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+
|       3. Log of operators in the original forward and recomputation          |
+------------------------------------------------------------------------------+
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

IMPORTANT: Differences in "detach" calls between the original forward and the
           recomputation are expected. They are introduced by the checkpointing
           mechanism and can be ignored.

Operations executed during the original forward:

{}

Operations executed during recomputation:

{}

+------------------------------------------------------------------------------+
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
--------------------------------------------------------------------------------
"""
CHECKPOINT_OPERATOR = "{} = {}({})"
CHECKPOINT_TRACED = "{}   ({} of {} in {})\n\n{}\n\n"
CHECKPOINT_FRAME = "{}:{}:{}\n"

DATA_ITEM = "Subclasses of Dataset should implement __getitem__."
DATA_SIZES = "Size mismatch between tensors"
DATA_SHARE = "Fraction at index {} is not between 0 and 1"
DATA_EMPTY_PART = "Length of split at index {} is 0. This might result in an empty dataset."
DATA_PARTS = "Sum of input lengths does not equal the length of the input dataset!"
DATA_LENGTHS = "each element in list of batch should be of equal size"
DATA_BATCH_KIND = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
DATA_SAMPLER = "sampler option is mutually exclusive with shuffle"
DATA_BATCH_SAMPLER = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
DATA_NO_BATCH = "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
DATA_BATCH_SIZE = "batch_size should be a positive integer value, but got batch_size={}"
DATA_EMPTY = "num_samples should be a positive integer value, but got num_samples=0"
