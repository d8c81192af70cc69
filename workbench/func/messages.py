"""What the transforms of functions refuse, word for word PyTorch's (PyTorch 2.13)."""

from __future__ import annotations

ARGNUMS_KIND = "argnums must be int or Tuple[int, ...], got: {}"
ARGNUM_KIND = "argnum must be int, got: {}"
ARGNUM_RANGE = "Got argnum={}, but only {} positional inputs"
ARGNUMS_EMPTY = "argnums must be non-empty"
ARGNUMS_TWICE = "argnums elements must be unique, got {}"
INPUT_KIND = "Thing passed to transform API must be Tensor, got {}"
OUTPUT_KIND = "Expected tensors, got unsupported type {}"
SAVED_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
    "Please open an issue with your use case."
)
AUX = "{}: output of function f should be a tuple: (output, aux) if has_aux is True"

GRAD = "grad_and_value(f)(*args)"
GRAD_KIND = GRAD + ": Expected f(*args) to return a Tensor, got {}"
GRAD_SCALAR = (
    GRAD + ": Expected f(*args) to return a scalar Tensor, got tensor with {} dims. Maybe you wanted to use the vjp or "
    "jacrev APIs instead?"
)

VJP = "vjp(f, *primals)"
NOTHING = "{}: Expected f to be a function that has non-empty output (got output = {})"
ONLY_TENSORS = "{}: expected f(*primals) to return only tensors, got unsupported type {}"
VJP_FLOATS = "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {}"
COTANGENTS = (
    "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
    "cotangents: {}, primal output: {}"
)
JACREV_CHUNK = "jacrev: `chunk_size` should be greater than 0."

JVP = "jvp(f, primals, tangents)"
PRIMALS_KIND = JVP + ": Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
STRUCTURES = (
    JVP + ": Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
    "tensors, tangents also must be. Got primals with structure {} and tangents with structure {}"
)
NO_TENSOR = JVP + ": Expected {} to contain at least one Tensor."
NOT_ONLY_TENSORS = JVP + ": Expected {} to only contain Tensors, got {}"
INDEPENDENT = (
    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
    "strict=True."
)
LINEAR_STRUCTURE = "Expected the tangents {} to have the same argspec as the primals {}"
LINEAR_FACT = (
    "tangent:{i} with {what} {got} in flattened pytree doesn't match the {what} {want} of the corresponding primal."
)

RANDOMNESS = "Only allowed values for randomness are 'error', 'different', or 'same'. Got {}"
CHUNK = "vmap: chunk_size should be None or greater than 0. (got {})"
OUT_DIMS_KIND = (
    "vmap({}, ..., out_dims={}): `out_dims` must be an int, None or a python collection of ints representing where in "
    "the outputs the vmapped dimension should appear."
)
IN_DIMS_KIND = (
    "vmap({}, in_dims={}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the "
    "structure of inputs, got: {}."
)
NO_INPUTS = (
    "vmap({})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with "
    "no inputs. The latter is unsupported."
)
IN_DIMS_STRUCTURE = (
    "vmap({}, in_dims={}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has "
    "structure {} but inputs has structure {}."
)
IN_DIM = "vmap({}, in_dims={}, ...)(<inputs>): Got in_dim={} for "
IN_DIM_KIND = IN_DIM + "an input but in_dim must be either an integer dimension or None."
IN_DIM_INPUT = (
    IN_DIM + "an input but the input is of type {}. We cannot vmap over non-Tensor arguments, please use None as the "
    "respective in_dim"
)
IN_DIM_RANGE = (
    IN_DIM + "some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim to satisfy "
    "-{ndim} <= in_dim < {ndim}."
)
NOTHING_MAPPED = "vmap: Expected at least one Tensor to vmap over"
SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
OUT_DIMS_STRUCTURE = (
    "vmap({}, ..., out_dims={})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
    "structure {} but outputs has structure {}."
)
BATCHED_OUTPUT = "vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
OUTPUT_NOT_TENSOR = (
    "vmap({name}, ...): `{name}` must only return Tensors, got type {kind}. Did you mean to set out_dims= to None for "
    "output?"
)
NO_CHUNKS = "arg_spec must not be None"

CALL_KIND = "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {}"
CALL_KINDS = "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
CALL_REPEATED = "{} appeared in multiple dictionaries; behavior of functional call is ambiguous"
CALL_TIED = "functional_call got multiple values for keys {}, which are tied. Consider using tie_weights=False"
CALL_NAMES = "Error(s) in reparametrizing for {}:\n\t{}"
CALL_UNEXPECTED = "Unexpected key(s): {}."
CALL_MISSING = "Missing key(s): {}."
CALL_NO_ATTRIBUTE = "{} has no attribute `{}`"
NOT_A_TENSOR = "{} is not an instance of torch.Tensor"

STACK_NONE = "stack_module_state: Expected at least one model, got 0."
STACK_MODES = "stack_module_state: Expected all models to have the same training/eval mode."
STACK_CLASSES = "stack_module_state: Expected all models to be of the same class."
STACK_GRADS = "Expected {} from each model to have the same .requires_grad"
