"""What operations refuse, word for word PyTorch's (PyTorch 2.13): ops/core, and what several families say."""

DIM_RANGE = "Dimension out of range (expected to be in range of [{}, {}], but got {})"
NOT_EXPANDABLE = "size {{{}}} is not expandable to size {{{}}}."
DIM_TWICE = "dim {} appears multiple times in the list of dims"
WRITE_SHAPE = "output with shape {} doesn't match the broadcast shape {}"
ALPHA_KIND = "{}(): argument 'alpha' must be Number, not {}"
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
BROADCAST = "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}"
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
ADD_ALPHA = "index_add(): argument 'alpha' must be Number, not {}"
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
