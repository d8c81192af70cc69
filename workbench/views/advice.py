"""What an error means and what to do, by the sentence it was raised with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .. import errors
from ..autograd.functional import NOT_TENSORS
from ..autograd.gradcheck import CHANGES, NO_INPUT, STRIDE_ZERO
from ..func.messages import GRAD_KIND, GRAD_SCALAR
from ..ops.convert import DEEPCOPY_NON_LEAF
from ..trace.schema import Phase


@dataclass(frozen=True, slots=True)
class Advice:
    """One sentence of what it means and one of what to do; `{node}` and `{tensor}` are what it is about.

    `{name}` is the user's variable that holds the tensor, or `y`.
    """

    sentence: str
    means: str
    do: str
    about: Literal["node", "tensor", "write"] = "node"  # what stands out: a node, a tensor, or also a write and a save
    phase: Phase = "backward"  # where it comes up

    def fits(self, words: str) -> bool:
        """Whether an error of these words is of this sort."""
        parts = [re.escape(part) for part in re.split(r"\{\w*\}", self.sentence)]
        return re.search(".*?".join(parts), words, re.DOTALL) is not None


_VIEW = "{{tensor}} is a view that was made in {mode} mode: a write into it cannot be recorded."
_FIX_VIEW = "Write both lines under the same mode, or make a new tensor in place of writing into the view."
ADVICE = (
    Advice(
        errors.MODIFIED_IN_PLACE,
        "{node} needs what it had saved in forward, but it was written over in the meantime.",
        "Make a new tensor ({name} = {name} * 2) where an operation writes in place ({name}.mul_(2), {name} *= 2, "
        "{name}[0] = ...), or give the write a copy: {name}.clone().",
        "write",
    ),
    Advice(
        errors.SECOND_BACKWARD,
        "{node} has run in an earlier backward, and let go what it had saved.",
        "Compute the loss anew before each backward, or keep the graph at the first: backward(retain_graph=True).",
    ),
    Advice(
        errors.SAVED_TAKEN,
        "{node} may read its saved tensors only once, and has read them before.",
        "Read ctx.saved_tensors once and keep the result, or leave clear_saved_tensors_on_access False.",
    ),
    Advice(
        errors.VIEW_OF_LEAF_IN_PLACE,
        "{tensor} is a view of a leaf: writing into it would write into the leaf, whose gradient belongs to its value.",
        "Write inside `with torch.no_grad():`, as a training step does, or make a new tensor.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} is a leaf, where gradients are collected: written into, it would become the result of something.",
            "Write inside `with torch.no_grad():`, as a training step does, or make a new tensor.",
            "tensor",
            "forward",
        )
        for sentence in (errors.LEAF_IN_PLACE, errors.LEAF_DIRTY)
    ),
    Advice(
        errors.NO_GRAD_FN,
        "{tensor} has no history: nothing that it was computed from requires grad, or nobody recorded how.",
        "Make the inputs with requires_grad=True, and compute outside of no_grad() and without detach().",
        "tensor",
    ),
    Advice(
        errors.ONLY_SCALAR_SEED,
        "{tensor} has more than one element, and a gradient is that of one number.",
        "Make one number of it, as in {name}.sum().backward(), or say the gradient to begin with: "
        "{name}.backward(gradient).",
        "tensor",
    ),
    Advice(
        errors.SEED_SHAPE,
        "The gradient to begin with has another shape than {tensor}.",
        "Pass a gradient of the same shape as the tensor that backward starts at.",
        "tensor",
    ),
    Advice(
        errors.WRONG_NUMBER_OF_GRADIENTS,
        "backward of {node} returned more or fewer gradients than forward has arguments.",
        "Return one gradient for each argument of forward (ctx aside), and None where there is none.",
    ),
    Advice(
        errors.GRADIENT_FOR_NON_TENSOR,
        "backward of {node} returned a gradient for an argument of forward that is no tensor.",
        "Return None in its place.",
    ),
    Advice(
        errors.EXPECTED_VARIABLE,
        "backward of {node} returned something that is neither a tensor nor None.",
        "Return a tensor for each argument, and None where there is no gradient.",
    ),
    Advice(
        errors.INVALID_GRADIENT_SHAPE,
        "backward of {node} returned a gradient of another shape than the input that it belongs to.",
        "Each gradient has the shape of its input: look for a sum, a transpose or a reshape that is missing.",
    ),
    Advice(
        errors.NO_BACKWARD,
        "{node} has no backward.",
        "Write `backward(ctx, grad_output)` as a static method of the Function.",
    ),
    Advice(
        errors.TWICE,
        "A gradient was to be differentiated again, through the backward of {marked}, which is marked "
        "@once_differentiable.",
        "Take the mark away and compute with tensors in backward, or do not ask for the graph of this gradient.",
    ),
    Advice(
        errors.UNUSED_INPUT,
        "{tensor} was not used to compute what is differentiated: no way leads from one to the other.",
        "Ask for the tensor that was used, not for a copy or a view of it; or pass allow_unused=True, and get None.",
        "tensor",
    ),
    Advice(
        errors.INPUT_WITHOUT_GRAD,
        "{tensor} does not require grad, so there is no gradient for it.",
        "Make it with requires_grad=True before it is used.",
        "tensor",
    ),
    *(
        Advice(errors.VIEW_REASONS[mode], _VIEW.format(mode=mode), _FIX_VIEW, "tensor", "forward")
        for mode in ("no_grad", "inference")
    ),
    Advice(
        errors.VIEW_REASONS["multi_output"],
        "{tensor} is one of several views that one operation returned, and none of these may be written.",
        "Make a new tensor in place of writing, or write into the tensor before it is split.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.VIEW_REASONS["custom"],
        "{tensor} is a view that a custom Function returned: writing into it would go past the Function's backward.",
        "Clone what the Function returns before writing into it.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} does not require grad: no gradient will ever come to it, for a hook to see or to be kept.",
            "Make it, or what it is computed from, with requires_grad=True, and compute outside of no_grad().",
            "tensor",
            "forward",
        )
        for sentence in (errors.HOOK_WITHOUT_GRAD, errors.RETAIN_WITHOUT_GRAD, errors.NO_GRADIENT_EDGE)
    ),
    Advice(
        errors.POST_ACCUMULATE_LEAF_ONLY,
        "{tensor} was computed: its gradient passes through and is not accumulated.",
        "Use register_hook for a gradient on its way, or register on the leaf where it is accumulated.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.CHANGE_NON_LEAF_FLAG,
        "{tensor} was computed: whether it requires grad follows from what it was computed from.",
        "Cut it off with t.detach(), or set the flag of the leaves before computing.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} has whole numbers or truth values: there is no slope between them, so no gradient.",
            "Convert it first, as in t.to(torch.float32), and ask for gradients of that.",
            "tensor",
            "forward",
        )
        for sentence in (errors.ONLY_FLOATS_ATTRIBUTE, errors.ONLY_FLOATS_METHOD)
    ),
    *(
        Advice(
            sentence,
            "What was to be {tensor}.grad does not fit {tensor}.",
            "Assign a tensor of the same shape and dtype, or None to clear it.",
            "tensor",
            "forward",
        )
        for sentence in (errors.GRAD_SHAPE, errors.GRAD_DTYPE, errors.GRAD_KIND, errors.GRAD_ITSELF)
    ),
    Advice(
        errors.BACKWARD_IN_TRANSFORM,
        "backward() adds to `.grad` of leaves, and a transform such as grad or vmap has none to add to.",
        "Return the value, and let the transform differentiate: torch.func.grad(f)(x), or vjp.",
        "tensor",
    ),
    Advice(
        "mismatch for output {} with respect to input {},",
        "Moving {tensor} a little changes the output by other amounts than backward says, or a tangent.",
        "See both side by side with workbench.check(f, inputs), and look at the rows that differ.",
        "tensor",
    ),
    *(
        Advice(
            sentence,
            "A function given to gradcheck has to say by requires_grad which numbers to move, and its gradients must "
            "follow from these.",
            "Make the inputs with requires_grad=True and dtype=torch.float64, and compute with tensors throughout.",
            "tensor",
        )
        for sentence in (NO_INPUT, CHANGES, STRIDE_ZERO)
    ),
    Advice(
        errors.EMPTY_INPUTS,
        "There is nothing to differentiate with respect to: `inputs` holds no tensor.",
        "Pass the tensors whose gradients you want, or leave `inputs` out of backward() for those of all leaves.",
    ),
    Advice(
        GRAD_SCALAR,
        "The function returns a tensor with dimensions, and a gradient is that of one number.",
        "Make one number of it, as in lambda x: f(x).sum(), or ask for all slopes with torch.func.jacrev(f)(x).",
        phase="forward",
    ),
    *(
        Advice(
            sentence,
            "What was given or returned is no tensor, so no history leads from it to the inputs.",
            "Compute with tensors throughout: .item(), float() and NumPy's functions leave the graph.",
            phase="forward",
        )
        for sentence in (GRAD_KIND, NOT_TENSORS)
    ),
    Advice(
        DEEPCOPY_NON_LEAF,
        "{tensor} was computed: a deep copy of it would need a copy of its whole history.",
        "Copy its value, as in t.detach().clone(), or copy the leaves and compute anew.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.NUMPY_REQUIRES_GRAD,
        "{tensor} requires grad, and NumPy records nothing: what it computes would be missing in the graph.",
        "Look at the values with t.detach().numpy(), or compute with the workbench's own functions.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.ANOMALY_NAN,
        "{node} received a gradient and made nan of it: anomaly mode stops at the first.",
        "Look at the values it saved: 0 / 0, log or sqrt of zero, or infinity minus infinity.",
    ),
)
OWN = Advice(
    "",
    "The error comes out of the backward of {node}.",
    'Look at the line of yours that raised it: record(lines=True) and show("function") play it line by line.',
)
# The same where its lines were recorded.
OWN_LINES = Advice("", OWN.means, 'Look at the line of yours that raised it: show("function") plays what led there.')
OTHER = Advice("", "The engine refused this.", "The words of the error say what it needs.", "tensor", "forward")


def advice_for(words: str, in_node: bool, lines: bool = False) -> Advice:
    """What is known about an error of these words; `in_node`: a node failed with it, `lines`: those were recorded."""
    own = OWN_LINES if lines else OWN
    return next((each for each in ADVICE if each.fits(words)), own if in_node else OTHER)
