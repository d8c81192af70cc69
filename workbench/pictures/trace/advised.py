"""Which advice fits an error: by its message, else by what a user function was called for, or by what refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .advice import ADVICE, Advice
from .advice_on_calls import CALLS
from .backward_records import Failed
from .call_records import HookRan
from .facts import SourceLine
from .schema import Record
from .values import code

ALL = (*CALLS, *ADVICE)
_HOOK = re.compile(r"^hook '<?([^'>]+)>?'")
OWN = Advice(
    "",
    "The error comes out of the backward of {node}.",
    'Find the line of your code that raised it: `record(lines=True)` and `show("function")` replay it line by line.',
)
# The same where its lines were recorded.
OWN_LINES = Advice(
    "", OWN.means, 'Find the line of your code that raised it: `show("function")` replays what led there.'
)
# By what a function of the user's was called for, where that raised an error of its own.
CALLED = {
    "hook": Advice(
        "",
        "Your hook or callback {called} raised this when backward called it. The node is not to blame.",
        "Check the arguments of {called}, and what it does with them.",
    ),
    "module": Advice(
        "",
        "Your module hook {called} raised this, not the module's forward.",
        "Check the arguments of {called}, and what it does with them.",
        phase="forward",
    ),
    "pack": Advice(
        "",
        "{called}, the pack hook of `saved_tensors_hooks`, raised this. It is called with each tensor that an "
        "operation saves. The operation is not to blame.",
        "Check the tensor that {called} was given, and what it does with it.",
        phase="forward",
    ),
    "again": Advice(
        "",
        "{called} raised this in backward, where checkpoint runs it again. It did not in forward.",
        "Look at what {called} reads besides its arguments, and what has changed there since forward.",
    ),
    # Of a `.grad` that is None where Python wants a tensor; what is called is the tensor's name.
    "no gradient": Advice(
        "",
        "`{called}.grad` is None: no backward pass has reached `{called}`, or its gradient was cleared since, for "
        "example by `zero_grad()`.",
        "Call `backward()` before this line, on a loss that is computed from `{called}`. `why({called})` shows what "
        "cuts the path.",
        phase="forward",
    ),
    "no gradient of a result": Advice(
        "",
        "`{called}.grad` is None: `{called}` is not a leaf, and backward only stores gradients in leaves. A line like "
        "`{called} = {called} - step` creates a new tensor, which is not a leaf.",
        "Update the leaf in place: `with torch.no_grad(): {called} -= lr * {called}.grad`. To see the gradient of a "
        "result, call `{called}.retain_grad()` before `backward()`.",
        phase="forward",
    ),
    "no gradient required": Advice(
        "",
        "`{called}.grad` is None: `{called}` does not require grad.",
        "Create it with `requires_grad=True`, or call `{called}.requires_grad_()`, before it is used.",
        phase="forward",
    ),
    # Of an error that isn't autograd's; what is called is the layer, the expression or the function, with shapes.
    "outside one value": Advice(
        "",
        "{called} is in training mode and got one value per channel: that has no variance.",
        "To evaluate, call `eval()` on the model first. In training, use larger batches: "
        "`DataLoader(..., drop_last=True)` drops a last batch of one. `GroupNorm` and `LayerNorm` take a batch of one.",
        phase="forward",
    ),
    "outside one position": Advice(
        "",
        "{called} got one position per channel: that has no variance.",
        "Pass a larger input, or pool and stride less before this layer.",
        phase="forward",
    ),
    "outside product": Advice(
        "",
        "The shapes don't fit in {called}: a matrix product needs as many columns on the left as rows on the right.",
        "Look for a transpose, flatten or reshape that is missing. For `nn.Linear`, the last dimension of the input "
        "must be `in_features`.",
        phase="forward",
    ),
    "outside broadcast": Advice(
        "",
        "The shapes don't fit in {called}: counted from the last dimension, sizes must be equal, or one of them 1.",
        "Give both the same shape: look for a transpose, or add a dimension with `unsqueeze()` or `keepdim=True`.",
        phase="forward",
    ),
    "outside reshape": Advice(
        "",
        "The shapes don't fit in {called}: the numbers don't fill the new shape.",
        "Pass -1 for one dimension to have it computed, or look for a layer before it that returns another size.",
        phase="forward",
    ),
    "outside joined": Advice(
        "",
        "The shapes don't fit in {called}: `cat()` takes tensors that differ in one dimension only, `stack()` equal "
        "ones.",
        "Print the shapes of what is joined. Look for a missing `pad()`, `reshape()` or `dim`.",
        phase="forward",
    ),
    "outside channels": Advice(
        "",
        "The shapes don't fit in {called}: the input has another number of channels than the layer was made for.",
        "Channels are dimension 1 of the input, as in (batch, channels, height, width): look for a missing "
        "`permute()`, or change the layer.",
        phase="forward",
    ),
    "outside width": Advice(
        "",
        "The shapes don't fit in {called}: the layer was made for another size than its input has.",
        "Make the layer with the size of its input, or look for a missing transpose.",
        phase="forward",
    ),
    "outside target": Advice(
        "",
        "The shapes don't fit in {called}: the loss needs one target for each prediction.",
        "Print both shapes. Look for a `view(-1)` or `flatten()` that merges the batch with another dimension, or for "
        "a `squeeze(1)` that class targets of shape (N, 1) need.",
        phase="forward",
    ),
    "outside class": Advice(
        "",
        "A target in {called} isn't a class: with C scores per sample, the classes are 0 to C - 1.",
        "Compare the largest target with the model's number of outputs. Labels may begin at 1, or -1 may mark padding: "
        "pass `ignore_index=-1` then.",
        phase="forward",
    ),
    "outside index": Advice(
        "",
        "An index in {called} is out of range.",
        "Compare the largest index with the number of rows: for `nn.Embedding`, indices are below `num_embeddings`, "
        "those of padding and other special tokens too.",
        phase="forward",
    ),
    "outside probability": Advice(
        "",
        "{called} takes probabilities, but got numbers below 0 or above 1.",
        "Apply `sigmoid` to the scores first, or use `binary_cross_entropy_with_logits`, which takes scores.",
        phase="forward",
    ),
    "outside tensors": Advice(
        "",
        "Only tensors have `backward()`, and {called} was called on something else.",
        "Check that the loop that adds to the loss ran, that the function returns the loss, and that no `item()` or "
        "`float()` made a number of it.",
        phase="forward",
    ),
    "outside dtype": Advice(
        "",
        "The dtypes don't fit in {called}.",
        "Convert the data where it is made: inputs with `.float()`, class labels with `.long()`. Print both with "
        "`.dtype`.",
        phase="forward",
    ),
    "outside call": Advice(
        "",
        "{called} raised this. It isn't an error of autograd.",
        "Compare the arguments on that line with the error message.",
        phase="forward",
    ),
    "outside line": Advice(
        "",
        "{called} raised this. It isn't an error of autograd.",
        "Look at the values on that line.",
        phase="forward",
    ),
    "outside own code": Advice(
        "",
        "Your own code in {called} raised this. It isn't an error of autograd.",
        "Look at the line that raised it, and at the condition before it.",
        phase="forward",
    ),
    "outside": Advice(
        "",
        "This isn't an error of autograd, and its traceback contains none of your lines.",
        "Its message and its traceback say what there is to know.",
        phase="forward",
    ),
    # What autograd's own code refused, by the place that did.
    "forward's arguments": Advice(
        "",
        "`forward`, `setup_context`, `jvp` or `vmap` of a Function does not accept the arguments it was given.",
        "`forward` takes `ctx` and then the arguments of `apply`, by position. If `setup_context(ctx, inputs, output)` "
        "is overridden, it takes no `ctx`. `jvp` takes `ctx` and the tangents; `vmap` takes `info`, `in_dims` and the "
        "arguments.",
        phase="forward",
    ),
    "backward's arguments": Advice(
        "",
        "The backward of {function} does not accept its arguments: `ctx`, and one gradient for each tensor that "
        "`forward` returned.",
        "Write `backward(ctx, grad_output)` as a static method, with one more argument for each further output.",
    ),
    "no hooks": Advice(
        "",
        "`saved_tensors_hooks()` was used inside `disable_saved_tensors_hooks()`, or the other way round. The error "
        "message is the one passed to `disable_saved_tensors_hooks()`.",
        "Leave out one of the two: hooks such as those of `save_on_cpu()` and `checkpoint()` need to be allowed there.",
        phase="forward",
    ),
    "hook's result": Advice(
        "",
        "A module backward hook returned the wrong type. It may return a tuple of gradients, a tensor or `None`.",
        "Check what it returns. Without a `return` it is `None`, which leaves the gradient unchanged.",
    ),
    "refused": Advice(
        "",
        "Autograd itself rejected this call: an argument is not valid.",
        "Compare the arguments on that line with the error message and with the function's documentation.",
        phase="forward",
    ),
}
_UNKNOWN_NODE = Advice(
    "",
    "A node of the graph raised this in backward. The error does not name the node.",
    "Run the program inside `record()`, which shows the node and the line that created it.",
)
OTHER = Advice("", "The engine rejected this.", "The error message says what it needs.", "tensor", "forward")


def known_error(words: str) -> Advice | None:
    """Return what is known of errors with these words, if they are autograd's."""
    return next((each for each in ALL if each.fits(words)), None)


def hook_refused(events: Sequence[Record], failed: Failed) -> tuple[str, SourceLine | None] | None:
    """Return the hook that an error is about, and its line: one that returned what it may not.

    It is the last that ran at the node that failed, or the one that the words name.
    """
    advice = known_error(failed.message)
    if advice is None or "{hook}" not in advice.means:
        return None
    ran = next((each for each in reversed(events) if isinstance(each, HookRan) and each.task == failed.task), None)
    if ran is not None and ran.node == failed.node:
        return ran.hook.name.strip("<>"), ran.hook.source
    named = _HOOK.search(failed.message)
    return (named[1], None) if named else None


def plain_advice(words: str, tensor: str, node: str | None) -> tuple[str, str] | None:
    """Return what an error message means on its own, and what to do; None if that is unknown."""
    found = known_error(words)
    if found is None or (node is None and found.about == "node" and "{node}" in found.means):
        return None
    means, do = (text.replace("{node}", node or "") for text in (found.means, found.do))
    function = (node or "").removesuffix("Backward")
    means = means.replace("{function}", code(function)) if function else means
    means = means.replace("{counts}", counts_of(words)).replace("{tensor}", code(tensor))
    do = do.replace("{name}", tensor if tensor.isidentifier() else "y").replace("{tensor}", code(tensor))
    return None if "{" in means + do else (means, do)


def counts_of(words: str) -> str:
    """Return how many gradients the backward of a Function returned for how many arguments, by an error's words."""
    found = re.search(r"expected (\d+), got (\d+)", words)
    if found is None:
        return "more or fewer gradients than `forward` has arguments"
    expected, got = found.groups()
    gradients, arguments = ("" if each == "1" else "s" for each in (got, expected))
    return f"{got} gradient{gradients}, but `forward` has {expected} argument{arguments}"


def advice_for(words: str, in_node: bool, lines: bool = False, called: str = "", backward: bool = False) -> Advice:
    """Return what is known of an error with these words.

    `in_node`: a node failed with it, `lines`: those were recorded, `called`: what a function of the user's was for that
    raised it, `backward`: one was running.
    """
    own = CALLED.get(called) or (OWN_LINES if lines else OWN)
    return known_error(words) or (own if in_node or called else _UNKNOWN_NODE if backward else OTHER)
