"""What operations refuse and warn of, word for word PyTorch's (PyTorch 2.13): what ops/core says, then each family.

What autograd says in the same words is in errors.py.
"""

SCALAR_TYPE = "expected scalar type {} but found {}"
NEGATIVE_SIZE = "Trying to create tensor with negative dimension {}: {}"
LIST_KIND = "expected Tensor as element {} in argument 0, but got {}"
UNPACK_SIZE = (
    "{}(): argument '{}' failed to unpack the object at pos {} with error \"type must be tuple of ints,but got {}\""
)
INDEX_RANGE = "index {} is out of bounds for dimension {} with size {}"
SELECT_NO_DIM = "index_select(): self indexing axis dim should be positive"
INDEX_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"
OUT_CAST = "result type {} can't be cast to the desired output type {}"
NO_KERNEL = "\"{}\" not implemented for '{}'"
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
PADDING_INDEX = "Padding_idx must be within num_embeddings"

PADDING_SAME_STRIDE = "padding='same' is not supported for strided convolutions"
