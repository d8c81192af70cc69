"""What operations refuse and warn of, word for word PyTorch's (PyTorch 2.13): what ops/core says, then each family.

What autograd says in the same words is in errors.py.
"""

NOT_EXPANDABLE = "size {{{}}} is not expandable to size {{{}}}."
DIM_TWICE = "dim {} appears multiple times in the list of dims"
PRODUCT_NDIM = (
    "Shape mismatch: Got incorrect dims for {}(a, b). a has dim {}and b has dim {}but expected them to have dim {} "
    "and dim {}"
)
DOT_SHAPES = "Got wrong shapes for dot"
THREE_ARGUMENTS = "{}() takes 2 positional arguments but {} were given"
DEPRECATED_ORDER = (
    "This overload of {0} is deprecated:\n\t{0}(Tensor input, Number alpha, Tensor other, *, Tensor out = None)\n"
    "Consider using one of the following signatures instead:\n"
    "\t{0}(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
)
DEPRECATED_METHOD = (
    "This overload of {0} is deprecated:\n\t{0}(Number alpha, Tensor other)\nConsider using one of the following "
    "signatures instead:\n\t{0}(Tensor other, *, Number alpha = 1)"
)
ALPHA_BOOL = "Boolean alpha only supported for Boolean results."
NO_METHOD_OF = "descriptor '{}' for 'torch._C.TensorBase' objects doesn't apply to a '{}' object"
ALPHA_FRACTION = "For integral input tensors, argument alpha must not be a floating point number."
SUBTRACT_MASKS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
    "operator instead."
)
SUBTRACT_MASK = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
    "use the `~` or `logical_not()` operator instead."
)
EXPAND_COUNT = (
    "expand({}{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number of "
    "dimensions in the tensor ({})"
)
PERMUTE_COUNT = (
    "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
    "ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}"
)
PERMUTE_TWICE = "permute(): duplicate dims are not allowed."
DOT_NDIM = "1D tensors expected, but got {}D and {}D tensors"
DOT_DTYPE = "dot : expected both vectors to have same dtype, but found {}"
DOT_SIZE = (
    "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements, but got "
    "{} and {} elements respectively"
)
MM_SHAPES = "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})"
MM_DTYPE = "expected m1 and m2 to have the same dtype, but got: {} != {}"
MV_NDIM = "vector + matrix @ vector expected, got 1, {}, {}"
MV_DTYPE = "addmv input tensors must have the same dtype, but got {}, {}, and {}"
MV_SIZE = "size mismatch, got input ({}), mat ({}x{}), vec ({})"
BMM_SIZE = "Expected size for first two dimensions of batch2 tensor to be: {} but got: {}."
SCALAR_TYPE = "expected scalar type {} but found {}"
NEGATIVE_SIZE = "Trying to create tensor with negative dimension {}: {}"
MISSING_ARGUMENT = '{}() missing 1 required positional arguments: "{}"'
ARGUMENT_TWICE = "{}() got multiple values for argument '{}'"
TOO_MANY_ARGUMENTS = "{}() takes 1 positional argument but {} were given"
OVERFLOW = "value cannot be converted to type {} without overflow"
NO_CUDA = "Torch not compiled with CUDA enabled"
ONLY_CPU = "the workbench computes on the cpu alone: leave device={!r} out"
LIST_KIND = "expected Tensor as element {} in argument 0, but got {}"
CAT_NDIM = "Tensors must have same number of dimensions: got {} and {}"
EXPAND_LEADING = "The expanded size of the tensor ({}) isn't allowed in a leading, non-existing dimension {}"
EXPAND_SIZE = (
    "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}.  "
    "Target sizes: {}.  Tensor sizes: {}"
)
MATRIX = "{} must be a matrix"
BATCH_OF_MATRICES = "{} must be a 3D tensor"
ZEROS_SIZE = "zeros: Dimension size must be non-negative."
DEVICE_TYPE = "Expected one of {} device type at start of device string: {}"
CAT_SIZE = (
    "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor number "
    "{} in the list."
)
UNPACK_SIZE = (
    "{}(): argument '{}' failed to unpack the object at pos {} with error \"type must be tuple of ints,but got {}\""
)
GATHER_INDEX_DTYPE = "{}(): Expected dtype int32/int64 for index"
SCATTER_DTYPE = "{}(): Expected self.dtype to be equal to src.dtype"
INDEX_NDIM = "Index tensor must have the same number of dimensions as {} tensor"
INDEX_NDIM_OF_SOURCE = "Index tensor must have the same number of dimensions as src tensor"
GATHER_SIZE = (
    "Size does not match at dimension {} expected index {} to be no larger than self {} apart from dimension {}"
)
SCATTER_SIZE = "Expected index {} to be {}"
INDEX_RANGE = "index {} is out of bounds for dimension {} with size {}"
SELECT_VECTOR = "index_select(): Index is supposed to be a vector"
SELECT_OF_SCALAR = "index_select(): Index to scalar can have only 1 value, got {} value(s)"
SELECT_DTYPE = "index_select(): Expected dtype int32 or int64 for index"
ADD_VECTOR = "index_add_(): Index is supposed to be a vector, but got dim: {} with type: {} and size: {}"
ADD_INDEX_DTYPE = "index_add_(): Expected dtype int32/int64 for index but got: {}"
ADD_DTYPE = "index_add_(): self ({}) and source ({}) must have the same scalar type"
ADD_DIM = "index_add_(): Indexing dim {} is out of bounds of the source tensor with dim {}"
ADD_COUNT = "index_add_(): Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}"
ADD_SHAPE = (
    "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} "
    "source.shape = {}"
)
MASK_DTYPE = "masked_fill_ only supports boolean masks, but got mask with dtype {}"
TOO_MANY_INDICES = "too many indices for tensor of dimension {} (got {})"
PUT_SHAPE = "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}"
SELECT_NO_DIM = "index_select(): self indexing axis dim should be positive"
ADD_RANGE = "INDICES element is out of DATA bounds, id={} axis_dim={}"
INDEX_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"
INDEX_SHAPES = "shape mismatch: indexing tensors could not be broadcast together with shapes {}"
MASK_SHAPE = "The shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}"
OUT_KIND = "{}(): argument 'out' must be Tensor, not {}"
OUTS_KIND = "{}(): argument 'out' must be tuple of Tensors, not {}"
OUTS_COUNT = "expected tuple of 2 elements but got {}"
OUT_CAST = "result type {} can't be cast to the desired output type {}"
OUT_ELEMENT_KIND = "expected Tensor as element {} in argument 3, but got {}"
NO_KERNEL = "\"{}\" not implemented for '{}'"
EXACTLY = "Expected out tensor to have dtype {}, but got {} instead"
NO_GRADIENT = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
    "grad."
)
RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
    "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
    "t.resize_(0)."
)
OUT_OF_RANGE = "index out of range in self"
SEQUENCE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
    "which will result either in an error or a different result"
)
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

NEW_DATA = "new(): data must be a sequence (got {})"
NEW_DTYPE = (
    "expected TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false "
    "(default), memory_format=(nullopt)) (got TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false "
    "(default), pinned_memory=false (default), memory_format=(nullopt)))"
)
DATA_IS_TEXT = "new(): invalid data type 'str'"
NOT_A_SEQUENCE = "not a sequence"
SEQUENCE_LENGTH = "expected sequence of length {} at dim {} (got {})"
DATA_KIND = "new(): invalid data type '{}'"
NOT_A_REAL_NUMBER = "must be real number, not {}"
DIMENSIONS_OF_TEXT = "too many dimensions 'str'"
NO_COMPLEX = "the workbench has no complex tensors; give real and imaginary parts as two tensors."
DTYPE_OF_ELEMENT = "Could not infer dtype of {}"
FULL_SIZE = "full(): argument 'size' (position 1) must be tuple of ints, not {}"
EYE_SIZE = "{} must be greater or equal to 0, got {}"
LINSPACE_STEPS = "number of steps must be non-negative"
ARANGE_ARGUMENTS = "arange() received an invalid combination of arguments"
ARANGE_RANGE = "unsupported range: {:g} -> {:g}"
ARANGE_STEP = "step must be nonzero"
ARANGE_SIGN = "upper bound and lower bound inconsistent with step sign"

RNG_KIND = "expected a torch.ByteTensor, but got {}"
RNG_DTYPE = "RNG state must be a torch.ByteTensor"
RNG_SIZE = "Expected an RNG state of size 64 but found one of size {}"
RANDINT_SIZE = "randint(): argument 'size' (position 2) must be tuple of ints, not {}"
RANDINT_RANGE = "random_ expects 'from' to be less than 'to', but got from={} >= to={}"

NEGATIVE_STRIDES = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)
READ_ONLY_ARRAY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)
ASARRAY_GRAD = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
    "requires_grad=False explicitly to get the old behavior and silence this warning."
)
DEEPCOPY_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)
AUTOGRAD_DTYPE = "Autograd not support dtype: {}"
TYPE_NAME = "invalid type: '{}'"
FROM_NUMPY_KIND = "expected np.ndarray (got {})"
CONTAINS_KIND = "Tensor.__contains__ only supports Tensor or scalar, but you passed in a {}."

NEGATIVE_POWER = "Integers to negative integer powers are not allowed."
ZERO_DIVISION = "ZeroDivisionError"
NO_DERIVATIVE = "derivative for aten::{} is not implemented"
NO_FORWARD_AD = "Trying to use forward AD with aten::{} that does not support it."
COMBINATION = "{}() received an invalid combination of arguments - got ({}, {})"
ROUNDING_MODE = "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'"

CLAMP_NO_LIMIT = "torch.clamp: At least one of 'min' or 'max' must not be None"
WHERE_CONDITION = "where expected condition to be a boolean tensor, but got a tensor with dtype {}"
INVERT_KIND = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
ISCLOSE_DTYPES = "{} did not match {}"

MEAN_INPUT = (
    "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {}"
)
MEAN_DTYPE = (
    "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: {}"
)
NO_BOOL_INPUT = "{}(): does not support bool input"
EMPTY_EXTREME = "{}(): Expected reduction dim to be specified for input.numel() == 0."
NORM_EMPTY = (
    "linalg.vector_norm cannot compute the {:g} norm on an empty tensor because the operation does not have an identity"
)
NORM_EMPTY_DIM = (
    "linalg.vector_norm cannot compute the {:g} norm on the dimension {}because this dimension is empty and the "
    "operation does not have an identity"
)
SPREAD_DTYPE = "std and var only support floating point and complex dtypes"
SPREAD_FREEDOM = (
    "{}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
    "divided by output numel)."
)
NORM_DTYPE = "linalg.vector_norm: dtype should be floating point or complex, but got {}"
NORM_NARROWING = (
    "linalg.vector_norm: the dtype of the input ({}) should be convertible without narrowing to the specified dtype "
    "({})"
)
NORM_NUCLEAR = "the workbench has no nuclear norm; p may be 'fro' or a number."
NORM_INPUT = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}"
TOPK_BOOL = "topk does not support bool dtypes on CPU"
TOPK_RANGE = "selected index k out of range"

MASKED_FILL_VALUE = "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s)."
MASKED_SELECT_MASK = "masked_select: expected BoolTensor for mask"
PUT_DTYPE = (
    "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source."
)
SLICE_0D = "slice() cannot be applied to a 0-dim tensor."
INDEX_KIND = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
TOO_MANY_PLACES = "too many indices for tensor of dimension {}"
SLICE_STEP = "step must be greater than zero"

VIEW_ARGUMENTS = (
    "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype dtype)\n "
    "* (tuple of ints size)\n"
)
VIEW_STRIDES = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead."
)
INFER_ONE = "only one dimension can be inferred"
INFER_AMBIGUOUS = (
    "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any value and "
    "is ambiguous"
)
VIEW_SIZE = "shape '{}' is invalid for input of size {}"
T_NDIM = "{}() expects a tensor with <= 2 dimensions, but self is {}D"
T_0D_OLD = "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
T_OLD = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
    "1, -1, -1))` to reverse the dimensions of a tensor."
)
MT_0D_OLD = "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases."
MT_1D = "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."
FLATTEN_DIMS = "flatten() has invalid args: start_dim cannot come after end_dim"
UNFLATTEN_0D = "unflatten got an unexpected error:\n"
UNFLATTEN_EMPTY = "unflatten: sizes must be non-empty"
UNFLATTEN_SIZES = "unflatten: Provided sizes {} don't multiply up to the size of dim {} ({}) in the input tensor"
ROLL_COUNTS = "shifts and dimensions must align. shifts: {}, dims:{}"
REPEAT_COUNT = "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
TRIANGLE_NDIM = "{}: input tensor must have at least 2 dimensions"

NARROW_0D = "narrow() cannot be applied to a 0-dim tensor."
NARROW_LENGTH = "narrow(): length must be non-negative."
NARROW_START = "start out of range (expected to be in range of [{}, {}], but got {})"
NARROW_END = "start ({}) + length ({}) exceeds dimension size ({})."
SELECT_0D = "select() cannot be applied to a 0-dim tensor."
SELECT_RANGE = "select(): index {} out of range for tensor of size {} at dimension {}"
DIAGONAL_DIMS = "diagonal dimensions cannot be identical {}, {}"
SPLIT_0D = "split expects at least a 1-dimensional tensor"
SPLIT_SIZES = "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {}"
SPLIT_SIZE = "split expects split_size be non-negative, but got split_size={}"
SPLIT_SIZE_ZERO = "split_size can only be 0 if dimension size is 0, but got dimension size of {}"
SECTIONS_NEGATIVE = "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}"
SECTIONS_SUM = (
    "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got "
    "split_sizes={}"
)
CHUNK_0D = "chunk expects at least a 1-dimensional tensor"
CHUNK_COUNT = "chunk expects `chunks` to be greater than 0, got: {}"
ITERATE_0D = "iteration over a 0-d tensor"
CAT_EMPTY = "torch.cat(): expected a non-empty list of Tensors"
CAT_0D = "zero-dimensional tensor (at position {}) cannot be concatenated"
EMPTY_LIST = "{} expects a non-empty TensorList"
STACK_SIZE = "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}"

OUT_OF_DUAL = "Trying to use forward AD with {} that does not support it{}"
OUT_OF_BATCH = "Batching rule not implemented for aten::{}.out; the fallback path doesn't work on out= or view ops."
RANDOM_WRITE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)
UNIFORM_RANGE = "uniform_ expects to return a [from, to) range, but found from={:g} > to={:g}"
NORMAL_STD = "normal expects std >= 0.0, but found std {:g}"
FILL_VALUE = "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions."
ASSIGN_KIND = "can't assign a {} to a torch.{}Tensor"

ADDMM_NDIM = "{} must be a matrix, got {}-D tensor"
ADDMM_DTYPE = "{} and mat2 must have the same dtype, but got {} and {}"
OUTER_NDIM = "outer: Expected 1-D argument {}, but got {}-D"
EINSUM_NOTHING = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
    "list"
)
EINSUM_KIND = "expected Tensor as element {} in argument 1, but got {}"
EINSUM_FEWER = "einsum(): fewer operands were provided than specified in the equation"
EINSUM_MORE = "einsum(): more operands were provided than specified in the equation"
EINSUM_LABEL_TWICE = "einsum(): output subscript {} appears more than once in the output"
EINSUM_NEW_LABEL = "einsum(): output subscript {} does not appear in the equation for any input operand"
EINSUM_OUTPUT_DOTS = "einsum(): found '.' for output but an ellipsis (...) was already found"
EINSUM_DOTS = "einsum(): found '.' for {} for which an ellipsis was already found"
EINSUM_OUTPUT_DOT = "einsum(): found '.' for output that is not part of any ellipsis (...)"
EINSUM_DOT = "einsum(): found '.' for {} that is not part of any ellipsis"
EINSUM_LETTER = "einsum(): invalid subscript given at index {} in the equation string, subscripts must be in [a-zA-Z]"
EINSUM_TOO_MANY = (
    "einsum(): the number of subscripts in the equation ({}) is more than the number of dimensions ({}) for operand {}"
)
EINSUM_NDIM = (
    "einsum(): the number of subscripts in the equation ({}) does not match the number of dimensions ({}) for operand "
    "{} and no ellipsis was given"
)
EINSUM_REPEATED = "einsum(): subscript {} is repeated for operand {} but the sizes don't match, {} != {}"
EINSUM_BROADCAST = (
    "einsum(): subscript {} has size {} for operand {} which does not broadcast with previously seen size {}"
)

GELU_APPROXIMATE = "approximate argument must be either none or tanh."

REDUCE_OLD = "size_average and reduce args will be deprecated, please use reduction='{}' instead."
REDUCTION = "{} is not a valid value for reduction"
LOSS_SIZE = (
    "Using a target size ({}) that is different to the input size ({}). This will likely lead to incorrect results due "
    "to broadcasting. Please ensure they have the same size."
)
HUBER_DELTA = "huber_loss does not support non-positive values for delta."
SMOOTH_BETA = "smooth_l1_loss does not support negative values for beta."
BCE_SIZE = (
    "Using a target size ({}) that is different to the input size ({}) is deprecated. Please ensure they have the same "
    "size."
)
BCE_RANGE = "all elements of {} should be between 0 and 1"
BCE_LOGITS_SIZE = "Target size ({}) must be the same as input size ({})"
NOT_DIFFERENTIABLE = (
    "The function '{}' is not differentiable with respect to argument '{}'. This input cannot have requires_grad True."
)
TARGET_RANGE = "Target {} is out of bounds."
NLL_0D = "Expected 1 or more dimensions (got 0)"
NLL_BATCH = "Expected input batch_size ({}) to match target batch_size ({})."
NLL_TARGET_NDIM = "0D or 1D target tensor expected, multi-target not supported"
NLL_TARGET_SIZE = "For 1D input, 1D target must have size 1, but got target size: {}"
NLL_SPATIAL = "only batches of spatial targets supported (3D tensors) but got targets of dimension: {}"
NLL_SPATIAL_SIZE = "size mismatch (got input: {} , target: {}"
NLL_SIZE = "Expected target size {}, got {}"
NLL_DTYPE = "expected target dtype to be Long or Byte, but got {}"
NLL_WEIGHT = (
    "weight tensor should be defined either for all {} classes or no classes but got weight tensor of shape: {}"
)
LABEL_SMOOTHING = "label_smoothing must be between 0.0 and 1.0. Got: {:g}"
PROBABILITIES_DTYPE = "Expected floating point type for target with class probabilities, got {}"
PROBABILITIES_IGNORE = "ignore_index is not supported for floating point target"
PROBABILITIES_WEIGHT = (
    "cross_entropy: weight tensor should be defined either for all {} classes or no classes but got weight tensor of "
    "shape: {}"
)

LAYER_NORM_KIND = "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"
LAYER_NORM_NDIM = (
    "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
    "normalized_shape = []"
)
LAYER_NORM_PARAMETER = (
    "Expected {} to be of same shape as normalized_shape, but got {} of shape {} and normalized_shape = {}"
)
LAYER_NORM_INPUT = "Given normalized_shape={}, expected input with shape [*, {}], but got input of size{}"
LAYER_NORM_MIXED = "mixed dtype (CPU): all inputs must share same datatype."
LAYER_NORM_DTYPE = "mixed dtype (CPU): expect parameter to have scalar type of Float"
BATCH_NORM_VALUES = "Expected more than 1 value per channel when training, got input size {}"
BATCH_NORM_RUNNING = "{} must be defined in evaluation mode"
BATCH_NORM_SIZE = "{} should contain {} elements not {}"
BATCH_NORM_ONE_RUNNING = "running_mean and running_var must either both be None or neither be None"
DROPOUT_PROBABILITY = "dropout probability has to be between 0 and 1, but got {}"
PADDING_INDEX = "Padding_idx must be within num_embeddings"
EMBEDDING_DTYPE = (
    "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {} "
    "instead (while checking arguments for embedding)"
)
EMBEDDING_WEIGHT = "'weight' must be 2-D"
ONE_HOT_DTYPE = "one_hot is only applicable to index tensor of type LongTensor."
ONE_HOT_EMPTY = "Can not infer total number of classes from empty tensor."
ONE_HOT_NEGATIVE = "Class values must be non-negative."
ONE_HOT_CLASSES = "Class values must be smaller than num_classes."
ATTENTION_NDIM = (
    "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and "
    "value.dim: {} instead."
)
ATTENTION_MASK = "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"

CONV_PAIR = (
    "expected {} to be a single integer value or a list of 2 values to match the convolution dimensions, but got {}={}"
)
CONV_INPUT_NDIM = "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: {}"
PADDING_NAME = "Invalid padding string: '{}'"
PADDING_SAME_STRIDE = "padding='same' is not supported for strided convolutions"
PADDING_EVEN_KERNEL = (
    "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
    "created"
)
CONV_NEGATIVE = "{} is not supported"
CONV_STRIDE_COUNT = (
    "expected stride to be a single integer value or a list of {} values to match the convolution dimensions, but got "
    "stride={}"
)
CONV_GROUPS = (
    "Given groups={}, expected weight to be divisible by {} at dimension 0, but got weight of size [{}] instead"
)
CONV_CHANNELS = "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels instead"
CONV_BIAS_SIZE = (
    "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead"
)
CONV_KERNEL_SIZE = (
    "Calculated padded input size per channel: ({} x {}). Kernel size: ({} x {}). Kernel size can't be greater than "
    "actual input size"
)
CONV_WEIGHT_TYPE = (
    "Input type ({}) and weight type ({}) should be the same or input should be a MKLDNN tensor and weight is a dense "
    "tensor"
)
CONV_BIAS_TYPE = "Input type ({}) and bias type ({}) should be the same"
POOL_DIVISOR = "divisor must be not zero"
POOL_STRIDE = "stride should not be zero"
POOL_INPUT_NDIM = "non-empty 3D or 4D (batch mode) tensor expected for input"
POOL_PADDING = "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}"
POOL_TOO_SMALL = "Given input size: ({}x{}x{}). Calculated output size: ({}x{}x{}). Output size is too small"

WRITE_EXPANDED = (
    "Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This "
    "also applies to advanced indexing e.g. tensor[{}"
)

MODULE_ATTRIBUTE = "module {!r} has no attribute {!r}"
