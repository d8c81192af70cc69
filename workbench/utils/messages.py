"""What checkpointing refuses and warns of, word for word PyTorch's (PyTorch 2.13)."""

from __future__ import annotations

KIND = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
SEQUENTIAL_KIND = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
    "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if "
    "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
    "details on the differences between the two variants."
)
KEYWORDS = "Unexpected keyword arguments: {}"
ONLY_RECOMPUTED = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
DEBUG_CONTEXT = "debug=True is incompatible with non-default context_fn"
DETERMINISM = "determinism_check should be one of {}, but got {}"
ONLY_TUPLE = "Only tuple of tensors is supported. Got Unsupported input type: {}"

WITHOUT_GRAD = "None of the inputs have requires_grad=True. Gradients will be None"
NOT_NECESSARY = "none of output has requires_grad=True, this checkpoint() is not necessary"
INCOMPATIBLE = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)

TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your "
    "use case."
)
MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
)
COUNTS = """\
torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.
Number of tensors saved during forward: {}
Number of tensors saved during recomputation: {}.
"""
METADATA = """\
torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward \
pass.
{}.
"""
DIFFERENT = "tensor at position {}:\nsaved metadata: {}\nrecomputed metadata: {}\n"
TIP = """
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
LOG = """ \
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
OPERATOR = "{} = {}({})"
TRACED = "{}   ({} of {} in {})\n\n{}\n\n"
FRAME = "{}:{}:{}\n"

DATA_ITEM = "Subclasses of Dataset should implement __getitem__."
DATA_SIZES = "Size mismatch between tensors"
DATA_SHARE = "Fraction at index {} is not between 0 and 1"
DATA_EMPTY_PART = "Length of split at index {} is 0. This might result in an empty dataset."
DATA_PARTS = "Sum of input lengths does not equal the length of the input dataset!"
DATA_LENGTHS = "each element in list of batch should be of equal size"
DATA_KIND = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
DATA_SAMPLER = "sampler option is mutually exclusive with shuffle"
DATA_BATCH_SAMPLER = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
DATA_NO_BATCH = "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
DATA_BATCH_SIZE = "batch_size should be a positive integer value, but got batch_size={}"
DATA_EMPTY = "num_samples should be a positive integer value, but got num_samples=0"
