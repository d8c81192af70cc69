"""Which advice fits an error: by its words, else by what a function of the user's was called for, or who refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .advice import ADVICE, Advice
from .advice_on_calls import CALLS
from .call_records import HookRan
from .facts import SourceLine
from .records import Failed
from .schema import Record

ALL = (*CALLS, *ADVICE)
_HOOK = re.compile(r"^hook '<?([^'>]+)>?'")
OWN = Advice(
    "",
    "The error comes out of the backward of {node}.",
    'Look at the line of yours that raised it: record(lines=True) and show("function") play it line by line.',
)
# The same where its lines were recorded.
OWN_LINES = Advice("", OWN.means, 'Look at the line of yours that raised it: show("function") plays what led there.')
# By what a function of the user's was called for, where that raised an error of its own.
CALLED = {
    "hook": Advice(
        "",
        "{called} raised this, a hook or callback of yours that backward had called. The node is not to blame.",
        "Look at {called}: at what it was given, and what it does with that.",
    ),
    "module": Advice(
        "",
        "{called} raised this, a hook of yours that the call of a module had called; not the module's forward.",
        "Look at {called}: at what it was given, and what it does with that.",
        phase="forward",
    ),
    "pack": Advice(
        "",
        "{called} raised this, the pack hook of saved_tensors_hooks: it is called with each tensor that an operation "
        "saves. The operation is not to blame.",
        "Look at {called}: at the tensor that it was given, and what it does with that.",
        phase="forward",
    ),
    "again": Advice(
        "",
        "{called} raised this in backward, where checkpoint runs it again: in forward it had not.",
        "Look at what {called} reads besides its arguments, and what has changed there since forward.",
    ),
    # Of a `.grad` that is None where Python wants a tensor; what is called is the tensor's name.
    "no gradient": Advice(
        "",
        "{called}.grad is None: no backward has brought {called} a gradient, or it was cleared since, as zero_grad() "
        "does.",
        "Call backward() before this line, on a loss that is computed from {called}: why({called}) names what cuts it "
        "off.",
        phase="forward",
    ),
    "no gradient of a result": Advice(
        "",
        "{called}.grad is None: {called} was computed, and backward keeps the gradients of leaves only. A line like "
        "{called} = {called} - step makes a new tensor, which is no leaf.",
        "Update the leaf in its place, with torch.no_grad(): {called} -= lr * {called}.grad. If the gradient of a "
        "result is to be looked at, call {called}.retain_grad() before backward().",
        phase="forward",
    ),
    "no gradient required": Advice(
        "",
        "{called}.grad is None: {called} does not require grad.",
        "Make it with requires_grad=True, or call {called}.requires_grad_(), before it is used.",
        phase="forward",
    ),
    # What autograd's own code refused, by the place that did.
    "forward's arguments": Advice(
        "",
        "forward, setup_context, jvp or vmap of a Function cannot be called with what it was given.",
        "forward takes ctx, and then the arguments of apply, by position; without ctx where setup_context(ctx, inputs, "
        "output) is overridden. jvp takes ctx and the tangents, vmap takes info, in_dims and the arguments.",
        phase="forward",
    ),
    "backward's arguments": Advice(
        "",
        "backward of {node} cannot be called with what it was given: ctx, and one gradient for each tensor that "
        "forward returned.",
        "Write `backward(ctx, grad_output)` as a static method, with one more argument for each further output.",
    ),
    "no hooks": Advice(
        "",
        "saved_tensors_hooks() was used inside disable_saved_tensors_hooks(), or the other way round. The error "
        "message is the one that disable_saved_tensors_hooks() was given.",
        "Leave out one of the two: hooks such as those of save_on_cpu() and checkpoint() need to be allowed there.",
        phase="forward",
    ),
    "hook's result": Advice(
        "",
        "A backward hook of a module returned something else than it may: a tuple of gradients, a tensor or None.",
        "Look at what it returns: without a `return` it is None, which leaves the gradient as it is.",
    ),
    "refused": Advice(
        "",
        "Autograd itself refused this call: an argument is not what it takes.",
        "Compare the arguments on that line with the error message, and with the help of the function.",
        phase="forward",
    ),
}
_UNKNOWN_NODE = Advice(
    "",
    "A node of the graph raised this as backward ran it; the error does not say which.",
    "Run it inside of record(), which knows the node, and the line that made it.",
)
OTHER = Advice("", "The engine refused this.", "The words of the error say what it needs.", "tensor", "forward")


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


def forward_advice(words: str, tensor: str) -> tuple[str, str] | None:
    """What an error of these words means that came before any backward, and what to do; None where nobody knows."""
    found = known_error(words)
    if found is None or found.phase != "forward":
        return None
    return found.means.replace("{tensor}", tensor), found.do.replace("{name}", tensor)


def advice_for(words: str, in_node: bool, lines: bool = False, called: str = "", backward: bool = False) -> Advice:
    """Return what is known of an error with these words.

    `in_node`: a node failed with it, `lines`: those were recorded, `called`: what a function of the user's was for that
    raised it, `backward`: one was running.
    """
    own = CALLED.get(called) or (OWN_LINES if lines else OWN)
    return known_error(words) or (own if in_node or called else _UNKNOWN_NODE if backward else OTHER)
