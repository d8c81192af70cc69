"""What is known of the errors that autograd raises: by their sentence what it means and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .. import errors
from .facts import Phase


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
        "Compute the loss anew before each backward, with all that it leads through: in a loop, cut what an earlier "
        "round made (h = h.detach()). For two losses of one graph, pass retain_graph=True to the first.",
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
        "{tensor} does not require grad: it has no graph that leads back to a tensor which does.",
        "Look for what cut it off: detach(), no_grad(), item(), argmax(), a backward that is once_differentiable, or "
        "weights that do not require grad. Run it inside of record(), and the error is explained with the line.",
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
        errors.SEED_COUNT,
        "backward was given another number of gradients to begin with than of tensors to begin at.",
        "Pass one gradient for each tensor, and None for one that is a single number.",
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
        "of BackwardHookFunction is a view and is being modified",
        "{tensor} is what a module with a full backward hook takes or returns, a view: a write would go past the hook.",
        "Make a new tensor in place of writing, or write into a clone: t = t.clone().",
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
        for sentence in (errors.ONLY_FLOATS_ATTRIBUTE, errors.ONLY_FLOATS_CONSTRUCTOR, errors.ONLY_FLOATS_METHOD)
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
        "When {tensor} is moved a little, the output changes by other amounts than backward, or a tangent, says.",
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
        for sentence in (errors.GRADCHECK_NO_INPUT, errors.GRADCHECK_CHANGES, errors.GRADCHECK_STRIDE_ZERO)
    ),
    Advice(
        errors.EMPTY_INPUTS,
        "There is nothing to differentiate with respect to: `inputs` holds no tensor.",
        "Pass the tensors whose gradients you want, or leave `inputs` out of backward() for those of all leaves.",
    ),
    Advice(
        errors.FUNC_GRAD_SCALAR,
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
        for sentence in (errors.FUNC_GRAD_KIND, errors.FUNCTIONAL_NOT_TENSORS)
    ),
    Advice(
        errors.DEEPCOPY_NON_LEAF,
        "{tensor} was computed: a deep copy of it would need a copy of its whole history.",
        "Copy its value, as in t.detach().clone(), or copy the leaves and compute anew.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.NUMPY_REQUIRES_GRAD,
        "{tensor} requires grad, and NumPy records nothing: what it computes would be missing in the graph.",
        "Look at the values with t.detach().numpy(), or compute with functions of tensors.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.INFERENCE_SAVED,
        "{tensor} was made in inference mode, and the gradient of this operation would have to be computed from it.",
        "Make a clone of it outside of inference mode, as in t.clone(), or compute it under no_grad() instead.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} was made in inference mode: outside of that it can neither be written nor require grad.",
            "Make a clone of it, as in t.clone(), or compute it under no_grad() instead of inference_mode().",
            "tensor",
            "forward",
        )
        for sentence in (errors.INFERENCE_WRITTEN, errors.INFERENCE_FLAG)
    ),
    Advice(
        errors.NO_JVP,
        "A tangent came to a custom Function that has no rule for tangents: forward mode does not use its backward.",
        "Write `jvp(ctx, *tangents)` as a static method of the Function, which returns a tangent for each output.",
        phase="forward",
    ),
    Advice(
        errors.NO_FORWARD,
        "A Function without a forward was applied.",
        "Write `forward(ctx, ...)` as a static method of the Function.",
        phase="forward",
    ),
    Advice(
        errors.SAVED_KIND,
        "ctx.save_for_backward was given something that is no tensor.",
        "Save tensors alone with it, each as an argument of its own, and keep other things as attributes: ctx.n = n.",
        phase="forward",
    ),
    Advice(
        errors.TRANSFORM_NEEDS_SETUP,
        "A transform (vmap, grad, jvp, jacrev) came to a Function whose forward takes ctx: they cannot run it.",
        "Write forward without ctx, and `setup_context(ctx, inputs, output)` as a static method that saves.",
        phase="forward",
    ),
    Advice(
        errors.VMAP_NO_RULE,
        "vmap came to a Function that does not say how it works on a batch.",
        "Set `generate_vmap_rule = True` in its class where forward and backward compute with tensors alone, or write "
        "`vmap(info, in_dims, *args)` as a static method.",
        phase="forward",
    ),
    Advice(
        errors.VMAP_BOTH_RULES,
        "A Function says twice how it works on a batch: by generate_vmap_rule, and by a vmap of its own.",
        "Keep one of the two.",
        phase="forward",
    ),
    *(
        Advice(
            sentence,
            "Inside of vmap a tensor stands for one row of many: it has no one number to decide by or to take out.",
            "Compute with tensors throughout: torch.where(condition, a, b) instead of `if`, the tensor instead of "
            ".item().",
            phase="forward",
        )
        for sentence in (errors.VMAP_ITEM, errors.VMAP_BOOL)
    ),
    Advice(
        errors.VMAP_DYNAMIC,
        "The size of what this operation returns depends on the values, and so could be another for each row of vmap.",
        "Use a mask, as in torch.where(condition, x, 0), which keeps the size, or a loop over the rows.",
        phase="forward",
    ),
    Advice(
        errors.VMAP_RANDOM,
        "A random number was drawn inside of vmap, which does not know whether all rows are to get the same.",
        'Say it, as in vmap(f, randomness="different") or "same", or draw the numbers before and pass them.',
        phase="forward",
    ),
    Advice(
        errors.HOOK_SIZE,
        "A hook{hook} returned a gradient of another shape than it was given.",
        "Return None to leave the gradient as it is, or a tensor of its shape.",
    ),
    *(
        Advice(
            sentence,
            "A hook{hook} returned something else than it may: a hook of a tensor returns a tensor or None, one of a "
            "node a tuple of them or None.",
            "Look at what it returns: without a `return` it is None, which leaves the gradient as it is.",
        )
        for sentence in (errors.HOOK_KIND, "hook '{}' has changed the type of value")
    ),
    *(
        Advice(
            sentence,
            "A hook{hook} returned more or fewer gradients than it was given.",
            "Return one for each that it was given, or None to leave all as they are.",
        )
        for sentence in (errors.HOOK_COUNT, errors.MODULE_HOOK_COUNT)
    ),
    Advice(
        errors.UNPACKED_KIND,
        "An unpack hook for saved tensors returned something that is no tensor.",
        "Return the tensor that the pack hook was given, or one that is equal to it.",
    ),
    Advice(
        errors.NO_CALLBACK,
        "queue_callback was called while no backward was running: there is no end for the callback to wait for.",
        "Call it in a hook or in the backward of a Function.",
        phase="forward",
    ),
    Advice(
        errors.OUT_REQUIRES_GRAD,
        "An operation that writes its result into `out` is not recorded, and one of its tensors requires grad.",
        "Leave `out` away and use what the operation returns, or call it under no_grad().",
        "tensor",
        "forward",
    ),
    Advice(
        "can't optimize a non-leaf Tensor",
        "{tensor} was computed, and an optimizer steps leaves: what it is computed from.",
        "Pass the leaves. In torch.ones(2, requires_grad=True).to(d) the leaf is lost: convert first, and then call "
        ".requires_grad_().",
        "tensor",
        "forward",
    ),
    Advice(
        "cannot resize variables that require grad",
        "{tensor} requires grad, and a graph may still need its memory as it is.",
        "Make a new tensor, as by slicing or torch.nn.functional.pad, or resize t.detach().",
        "tensor",
        "forward",
    ),
    Advice(
        errors.NO_DUAL_LEVEL,
        "A tangent was given to a tensor while no level of forward mode was open.",
        "Write it inside `with torch.autograd.forward_ad.dual_level():`, with what follows from it.",
        phase="forward",
    ),
    Advice(
        errors.DUAL_SIZE,
        "A tangent has another shape than the tensor that it belongs to.",
        "A tangent says for each number how it moves: give one, or let jvp return one, of the same shape.",
        phase="forward",
    ),
    Advice(
        errors.DUAL_KIND,
        "A tangent, and the tensor that it belongs to, have to be of a kind of numbers that can move a little.",
        "Convert both first, as in t.to(torch.float32).",
        phase="forward",
    ),
    Advice(
        "in strict mode",
        "The function's result does not depend on an input in a way that can be differentiated, which strict=True "
        "refuses.",
        "Look for detach(), no_grad() and .item() inside of the function, or leave strict=True away, and get zeros.",
        phase="forward",
    ),
    Advice(
        errors.DUAL_NESTED,
        "A level of forward mode was opened inside of another.",
        "Use torch.func.jvp, which nests, or one level alone.",
        phase="forward",
    ),
    Advice(
        errors.DETACH_VIEW,
        "{tensor} is a view, which detach_() cannot cut off from its base.",
        "Use t = t.detach().",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "In the place of this operation, which wrote into what it was given, the slope cannot be known afterwards: "
            "a negative slope mixes up both signs.",
            "Call it without `inplace=True` and without the underscore, or with a slope that is not negative.",
        )
        for sentence in errors.IN_PLACE_SLOPE.values()
    ),
    *(
        Advice(
            sentence,
            "{called}, which checkpoint runs again in backward, did something else than in forward: {differs}.",
            "All that {called} reads besides its arguments must be as it was in forward: counters, flags, train() and "
            "eval(), what it draws at random. A backward that reads ctx.saved_tensors twice does this, too.",
        )
        for sentence in (errors.CHECKPOINT_OTHERS, errors.CHECKPOINT_FEWER, errors.CHECKPOINT_MORE)
    ),
    Advice(
        errors.CHECKPOINT_READ_TWICE,
        "A tensor inside of {called}, which checkpoint runs again in backward, was taken twice: a backward read "
        "ctx.saved_tensors a second time.",
        "Read ctx.saved_tensors once in a backward, and keep the result in variables.",
    ),
    Advice(
        errors.CHECKPOINT_INPUTS,
        "A checkpoint with use_reentrant=True runs a backward of its own to all leaves, and cannot be asked for the "
        "gradients of some inputs.",
        "Pass use_reentrant=False to checkpoint(), or call backward() without `inputs`, and read .grad.",
    ),
    Advice(
        errors.CHECKPOINT_NOTHING,
        "{called} ran again for a checkpoint with use_reentrant=True, and nothing that it returned requires grad.",
        "Look for detach(), no_grad() or frozen weights inside of it, or pass use_reentrant=False to checkpoint().",
    ),
    Advice(
        errors.ANOMALY_NAN,
        "{node} received a gradient and made nan of it: anomaly mode stops at the first.",
        "Look at the values it saved: 0 / 0, log or sqrt of zero, or infinity minus infinity.",
    ),
)
