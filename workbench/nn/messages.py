"""What modules refuse, word for word PyTorch's (PyTorch 2.13)."""

from __future__ import annotations

PARAMETERS_TOO_EARLY = "cannot assign parameters before Module.__init__() call"
PARAMETER_TOO_EARLY = "cannot assign parameter before Module.__init__() call"
MODULE_TOO_EARLY = "cannot assign module before Module.__init__() call"
BUFFER_TOO_EARLY = "cannot assign buffer before Module.__init__() call"
ATTRIBUTE_EXISTS = "attribute '{}' already exists"

NAME_KIND = "{} name should be a string. Got {}"
NAME_DOT = '{} name can\'t contain "."'
NAME_EMPTY = '{} name can\'t be empty string ""'
MODULE_NAME_DOT = 'module name can\'t contain ".", got: {}'

PARAMETER_KIND = "cannot assign '{}' object to parameter '{}' (torch.nn.Parameter or None required)"
PARAMETER_NON_LEAF = (
    "Cannot assign non-leaf Tensor to parameter '{0}'. Model parameters must be created explicitly. To express '{0}' "
    "as a function of another Tensor, compute the value in the forward() method."
)
BUFFER_KIND = "cannot assign '{}' object to buffer '{}' (torch Tensor or None required)"
MODULE_KIND = "{} is not a Module subclass"
AS_PARAMETER = "cannot assign '{}' as parameter '{}' (torch.nn.Parameter or None expected)"
AS_MODULE = "cannot assign '{}' as child module '{}' (torch.nn.Module or None expected)"
AS_BUFFER = "cannot assign '{}' as buffer '{}' (torch.nn.Buffer, torch.Tensor or None expected)"

UNEXPECTED_KEYWORD = "{}.__init__() got an unexpected keyword argument '{}'"
POSITIONAL = "{}.__init__() takes 1 positional argument but {} were given"
NO_FORWARD = 'Module [{}] is missing the required "forward" function'
PRE_HOOK_RESULT = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {}."
SILENCED_HOOK = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised "
    "in forward: {}"
)
MODE_KIND = "training mode is expected to be boolean"
ONLY_FLOATS = "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}"

STATE_KIND = "Expected state_dict to be dict-like, got {}."
STATE_ERRORS = "Error(s) in loading state_dict for {}:\n\t{}"
STATE_MISSING = "Missing key(s) in state_dict: {}. "
STATE_UNEXPECTED = "Unexpected key(s) in state_dict: {}. "
STATE_ENTRY_KIND = (
    'While copying the parameter named "{}", expected torch.Tensor or Tensor-like object from checkpoint but received '
    "{}"
)
STATE_SHAPE = "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in current model is {}."
STATE_COPY = (
    'While copying the parameter named "{}", whose dimensions in the model are {} and whose dimensions in the '
    "checkpoint are {}, an exception occurred : {}."
)

INDEX_RANGE = "index {} is out of range"
INSERT_RANGE = "Index out of range: {}"
INSERT_KIND = "module should be of type: <class 'torch.nn.modules.module.Module'>"
EXTEND_KIND = "ModuleList.extend should be called with an iterable, but got {}"
EMPTY_INIT = "Initializing zero-element tensors is a no-op"

BACKWARD_HOOK_OUTPUT = (
    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {}"
)
BACKWARD_HOOK_COUNT = "Backward hook returned an invalid number of grad_input, got {}, but expected {}"
BACKWARD_PRE_HOOK_COUNT = "Backward pre hook returned an invalid number of grad_output, got {}, but expected {}"
BACKWARD_HOOK_NO_INPUT = (
    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
)
BACKWARD_HOOK_OUTPUTS_ALONE = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)

INIT_SLOPE = "negative_slope {} not a valid number"
INIT_NONLINEARITY = "Unsupported nonlinearity {}"
INIT_MATRIX = "Only tensors with 2 dimensions are supported"
INIT_KERNEL = "Only tensors with 3, 4, or 5 dimensions are supported"
INIT_TWO = "Only tensors with 2 or more dimensions are supported"
INIT_GROUPS = "dim 0 must be divisible by groups"
INIT_FAN = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
INIT_MODE = "Mode {} not supported, please use one of {}"
INIT_OLD = "`nn.init.{}` is now deprecated in favor of `nn.init.{}`."
INIT_FAR_MEAN = (
    "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
)

CLIP_NONFINITE = (
    "The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
    "this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
)
CLIP_NOTHING = "`parameters` is an empty generator, no gradient clipping will occur."
VECTOR_KIND = "expected torch.Tensor, but got: {}"

CONV_GROUPS = "groups must be a positive integer"
CONV_CHANNELS = "{} must be divisible by groups"
CONV_MODE = "the workbench pads convolutions with zeros; padding_mode must be 'zeros', but got '{}'"
CONV_PADDING = "Invalid padding string {!r}, should be one of {}"
EMBEDDING_WEIGHT = "Shape of weight does not match num_embeddings and embedding_dim"
EMBEDDING_MATRIX = "Embeddings parameter is expected to be 2-dimensional"
BATCH_NORM_DIMS = "expected {} input (got {}D input)"

RNN_DROPOUT = "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
RNN_LAST_DROPOUT = (
    "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
    "than 1, but got dropout={} and num_layers={}"
)
RNN_KIND = "{} should be of type {}, got: {}"
RNN_POSITIVE = "{} must be greater than zero"
RNN_PROJECTION = "proj_size should be a positive integer or zero to disable projections"
RNN_LARGE_PROJECTION = "proj_size has to be smaller than hidden_size"
RNN_NO_PROJECTION = "proj_size argument is only supported for LSTM, not RNN or GRU"
RNN_NONLINEARITY = "Unknown nonlinearity '{}'. Select from 'tanh' or 'relu'."
RNN_DIMS = "{}: Expected input to be 2D or 3D, got {}D{} instead"
RNN_STATE_DIMS = "For {} input, {} should also be {} but got {}"
RNN_DTYPE = (
    "RNN input dtype ({0}) does not match weight dtype ({1}). Convert input: input.to({1}), or convert model: "
    "model.to({0})"
)
RNN_WIDTH = "input.size(-1) must be equal to input_size. Expected {}, got {}"
RNN_STATE_SIZE = "Expected {} size {}, got {}"
CELL_DIMS = "{}: Expected {} to be 1D or 2D, got {}D instead"
CELL_WIDTH = "input has inconsistent input_size: got {} expected {}"
CELL_BATCH = "Input batch size {} doesn't match hidden{} batch size {}"
CELL_STATE = "hidden{} has inconsistent hidden_size: got {}, expected {}"
CELL_NONLINEARITY = "Unknown nonlinearity: {}"

HEADS_POSITIVE = "embed_dim and num_heads must be greater than 0, got embed_dim={} and num_heads={} instead"
HEADS_DIVIDE = "embed_dim must be divisible by num_heads"
MASK_KIND = "only bool and floating types of {} are supported"
MASKS_DIFFER = "Support for mismatched {} and {} is deprecated. Use same type for both instead."
CAUSAL_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)
QUERY_DIMS = "query should be unbatched 2D or batched 3D tensor but received {}-D query tensor"
KEY_DIMS = "For {} `query`, expected `key` and `value` to be {}-D but found {}-D and {}-D tensors respectively"
MASK_DIMS = "For {} `query`, expected `{}` to be `None`{} but found {}-D tensor instead"
MASK_SHAPE = "The shape of the {}D attn_mask is {}, but should be {}."
PADDING_SHAPE = "Expected key_padded_mask.shape[{}] to be {}, but got {}"
ACTIVATION = "activation should be relu/gelu, not {}"
