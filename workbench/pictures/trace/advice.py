"""What is known of the errors that autograd raises: by their sentence what it means and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ... import errors
from .facts import Phase


@dataclass(frozen=True, slots=True)
class Advice:
    """One sentence of what it means and one of what to do; `{node}` and `{tensor}` are what it is about.

    `{function}` is the Function of a node, and `{counts}` how many gradients it returned.

    `{name}` is the user's variable that holds the tensor, or `y`.
    """

    sentence: str
    means: str
    do: str
    about: Literal["node", "tensor", "write"] = "node"  # what stands out: a node, a tensor, or also a write and a save
    phase: Phase = "backward"  # where it comes up

    def fits(self, words: str) -> bool:
        """Return True if an error message is of this sort."""
        parts = [re.escape(part) for part in re.split(r"\{\w*\}", self.sentence)]
        return re.search(".*?".join(parts), words, re.DOTALL) is not None


NO_HISTORY = "has no gradient history: it wasn't computed from any tensor with `requires_grad=True`."
_VIEW = "{{tensor}} is a view that was created in {mode} mode, so a write into it cannot be recorded."
_FIX_VIEW = "Put both lines under the same mode, or create a new tensor instead of writing into the view."
ADVICE = (
    Advice(
        errors.MODIFIED_IN_PLACE,
        "{node} needs a tensor it saved in forward, but that tensor has been changed in place since then.",
        "Create a new tensor (`{name} = {name} * 2`) instead of writing in place (`{name}.mul_(2)`, `{name} *= 2`, "
        "`{name}[0] = ...`), or write into a copy: `{name}.clone()`.",
        "write",
    ),
    Advice(
        errors.SECOND_BACKWARD,
        "{node} already ran in an earlier backward pass and freed its saved tensors.",
        "Recompute the loss and everything it depends on before each backward pass. In a loop, cut what an earlier "
        "iteration computed (`h = h.detach()`): `retain_graph=True` would lead back through all earlier iterations. "
        "For two losses of one graph, pass `retain_graph=True` to the first.",
    ),
    Advice(
        errors.SAVED_TAKEN,
        "{node} may read its saved tensors only once, and has already read them.",
        "Read `ctx.saved_tensors` once and keep the result, or leave `clear_saved_tensors_on_access` at `False`.",
    ),
    Advice(
        errors.VIEW_OF_LEAF_IN_PLACE,
        "{tensor} is a view of a leaf: writing into it would change the leaf, whose gradient belongs to its value.",
        "Write inside `with torch.no_grad():`, as a training step does, or create a new tensor.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} is a leaf, which collects gradients. A recorded write would turn it into the result of an "
            "operation.",
            "Write inside `with torch.no_grad():`, as a training step does, or create a new tensor.",
            "tensor",
            "forward",
        )
        for sentence in (errors.LEAF_IN_PLACE, errors.LEAF_DIRTY)
    ),
    Advice(
        errors.NO_GRAD_FN,
        f"{{tensor}} {NO_HISTORY}",
        "Look for what cuts the gradient path: `detach()`, `no_grad()`, `item()`, `argmax()`, a Function marked "
        "`@once_differentiable`, or weights that don't require grad. Run the program inside `record()` to see the "
        "line.",
        "tensor",
    ),
    Advice(
        errors.ONLY_SCALAR_SEED,
        "{tensor} has more than one element, but backward starts from a single number.",
        "Reduce it first, for example `{name}.sum().backward()`, or pass the gradient to start with: "
        "`{name}.backward(gradient)`.",
        "tensor",
    ),
    Advice(
        errors.SEED_SHAPE,
        "The gradient to start with has a different shape than {tensor}.",
        "Pass a gradient with the shape of the tensor that backward starts at.",
        "tensor",
    ),
    Advice(
        errors.SEED_COUNT,
        "backward got a different number of gradients than of tensors to start at.",
        "Pass one gradient for each tensor, and `None` for one that is a single number.",
    ),
    Advice(
        errors.WRONG_NUMBER_OF_GRADIENTS,
        "The backward of {function} returned {counts}.",
        "Return one gradient for each argument of `forward` (except `ctx`), and `None` where there is none.",
    ),
    Advice(
        errors.GRADIENT_FOR_NON_TENSOR,
        "The backward of {function} returned a gradient for an argument of `forward` that is not a tensor.",
        "Return `None` for that argument.",
    ),
    Advice(
        errors.EXPECTED_VARIABLE,
        "The backward of {function} returned something that is neither a tensor nor `None`.",
        "Return a tensor for each argument, and `None` where there is no gradient.",
    ),
    Advice(
        errors.INVALID_GRADIENT_SHAPE,
        "The backward of {function} returned a gradient whose shape differs from the shape of its input.",
        "Each gradient must have the shape of its input. Look for a missing sum, transpose or reshape.",
    ),
    Advice(
        errors.NO_BACKWARD,
        "{function} has no backward.",
        "Write `backward(ctx, grad_output)` as a static method of the Function.",
    ),
    Advice(
        errors.TWICE,
        "The program differentiates a gradient again, through the backward of {marked}, which is marked "
        "`@once_differentiable`.",
        "Remove the decorator and compute with tensors in `backward`, or leave out `create_graph=True`.",
    ),
    Advice(
        errors.UNUSED_INPUT,
        "{tensor} was not used to compute the differentiated result: there is no path between them.",
        "Check that {tensor} is really used in the result. If you passed a copy or a view, pass the original. Or pass "
        "`allow_unused=True` to get `None`.",
        "tensor",
    ),
    Advice(
        errors.INPUT_WITHOUT_GRAD,
        "{tensor} does not require grad, so there is no gradient for it.",
        "Create it with `requires_grad=True` before it is used.",
        "tensor",
    ),
    *(
        Advice(errors.VIEW_REASONS[mode], _VIEW.format(mode=mode), _FIX_VIEW, "tensor", "forward")
        for mode in ("no_grad", "inference")
    ),
    Advice(
        errors.VIEW_REASONS["multi_output"],
        "{tensor} is one of several views that one operation returned, and none of them may be modified in place.",
        "Create a new tensor instead, or write into the tensor before it is split.",
        "tensor",
        "forward",
    ),
    Advice(
        "of BackwardHookFunction is a view and is being modified",
        "{tensor} is an input or output of a module with a full backward hook. It is a view, and a write would "
        "bypass the hook.",
        "Create a new tensor instead, or write into a clone: `t = t.clone()`.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.VIEW_REASONS["custom"],
        "{tensor} is a view that a custom Function returned: writing into it would bypass the Function's backward.",
        "Clone what the Function returns before writing into it.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} does not require grad: no gradient will ever reach it, so there is nothing to hook or to retain.",
            "Create it, or the tensors it is computed from, with `requires_grad=True`, and compute outside "
            "`no_grad()`.",
            "tensor",
            "forward",
        )
        for sentence in (errors.HOOK_WITHOUT_GRAD, errors.RETAIN_WITHOUT_GRAD, errors.NO_GRADIENT_EDGE)
    ),
    Advice(
        errors.POST_ACCUMULATE_LEAF_ONLY,
        "{tensor} is not a leaf: its gradient passes through and is not accumulated.",
        "Use `register_hook` to see a gradient that passes through, or register on the leaf where it accumulates.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.CHANGE_NON_LEAF_FLAG,
        "{tensor} is not a leaf: whether it requires grad follows from its inputs.",
        "Cut the path with `t.detach()`, or set `requires_grad` on the leaves before computing.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} holds integers or booleans, which have no slope and so no gradient.",
            "Convert it first, for example with `t.to(torch.float32)`, and require gradients of the result.",
            "tensor",
            "forward",
        )
        for sentence in (errors.ONLY_FLOATS_ATTRIBUTE, errors.ONLY_FLOATS_CONSTRUCTOR, errors.ONLY_FLOATS_METHOD)
    ),
    *(
        Advice(
            sentence,
            "The new `.grad` of {tensor} doesn't match it.",
            "Assign a tensor of the same shape and dtype, or `None` to clear it.",
            "tensor",
            "forward",
        )
        for sentence in (errors.GRAD_SHAPE, errors.GRAD_DTYPE, errors.GRAD_KIND, errors.GRAD_ITSELF)
    ),
    Advice(
        errors.BACKWARD_IN_TRANSFORM,
        "`backward()` adds to `.grad` of leaves, and inside a transform such as `grad` or `vmap` there is none to add "
        "to.",
        "Return the value, and let the transform differentiate: `torch.func.grad(f)(x)`, or `vjp`.",
        "tensor",
    ),
    Advice(
        "mismatch for output {} with respect to input {},",
        "Small changes to {tensor} change the output by other amounts than backward, or the tangent, predicts.",
        "Compare both with `workbench.check(f, inputs)`, and look at the rows that differ.",
        "tensor",
    ),
    *(
        Advice(
            sentence,
            "gradcheck varies the inputs that require grad, and the result of the function must depend on them.",
            "Create the inputs with `requires_grad=True` and `dtype=torch.float64`, and compute with tensors "
            "throughout.",
            "tensor",
        )
        for sentence in (errors.GRADCHECK_NO_INPUT, errors.GRADCHECK_CHANGES, errors.GRADCHECK_STRIDE_ZERO)
    ),
    Advice(
        errors.EMPTY_INPUTS,
        "There is nothing to differentiate with respect to: `inputs` contains no tensor.",
        "Pass the tensors whose gradients you want, or leave `inputs` out of `backward()` to get those of all leaves.",
    ),
    Advice(
        errors.FUNC_GRAD_SCALAR,
        "The function returns a tensor with dimensions, but a gradient is defined for a single number.",
        "Reduce it to one number, for example with `lambda x: f(x).sum()`, or compute all slopes with "
        "`torch.func.jacrev(f)(x)`.",
        phase="forward",
    ),
    *(
        Advice(
            sentence,
            "An input or result is not a tensor, so it has no history that connects it to the inputs.",
            "Compute with tensors throughout: `.item()`, `float()` and NumPy functions leave the graph.",
            phase="forward",
        )
        for sentence in (errors.FUNC_GRAD_KIND, errors.FUNCTIONAL_NOT_TENSORS)
    ),
    Advice(
        errors.DEEPCOPY_NON_LEAF,
        "{tensor} is not a leaf: a deep copy of it would need a copy of its whole history.",
        "Copy its value with `t.detach().clone()`, or copy the leaves and compute it again.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.NUMPY_REQUIRES_GRAD,
        "{tensor} requires grad, but NumPy records nothing: its operations would be missing from the graph.",
        "Read the values with `t.detach().numpy()`, or compute with tensor operations.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.INFERENCE_SAVED,
        "{tensor} was created in inference mode, but the gradient of this operation would be computed from it.",
        "Clone it outside inference mode with `t.clone()`, or compute it under `no_grad()` instead.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "{tensor} was created in inference mode: outside that mode it can neither be modified in place nor "
            "require grad.",
            "Clone it with `t.clone()`, or compute it under `no_grad()` instead of `inference_mode()`.",
            "tensor",
            "forward",
        )
        for sentence in (errors.INFERENCE_WRITTEN, errors.INFERENCE_FLAG)
    ),
    Advice(
        errors.NO_JVP,
        "A tangent reached a custom Function that has no jvp: forward mode does not use its backward.",
        "Write `jvp(ctx, *tangents)` as a static method of the Function. It returns a tangent for each output.",
        phase="forward",
    ),
    Advice(
        errors.NO_FORWARD,
        "The Function that was applied has no forward.",
        "Write `forward(ctx, ...)` as a static method of the Function.",
        phase="forward",
    ),
    Advice(
        errors.SAVED_KIND,
        "`ctx.save_for_backward` was given something that is not a tensor.",
        "Save only tensors with it, each as its own argument, and store anything else as an attribute: `ctx.n = n`.",
        phase="forward",
    ),
    Advice(
        errors.TRANSFORM_NEEDS_SETUP,
        "A transform (vmap, grad, jvp, jacrev) reached a Function whose forward takes ctx, which transforms cannot "
        "run.",
        "Write `forward` without `ctx`, and `setup_context(ctx, inputs, output)` as a static method that saves.",
        phase="forward",
    ),
    Advice(
        errors.VMAP_NO_RULE,
        "vmap reached a Function that has no rule for batches.",
        "If forward and backward use only tensor operations, set `generate_vmap_rule = True` in the class. Otherwise"
        " write `vmap(info, in_dims, *args)` as a static method.",
        phase="forward",
    ),
    Advice(
        errors.VMAP_BOTH_RULES,
        "The Function has two rules for batches: generate_vmap_rule and its own vmap.",
        "Keep one of the two.",
        phase="forward",
    ),
    *(
        Advice(
            sentence,
            "Inside vmap a tensor represents one of many rows: there is no single number to branch on or to take out.",
            "Compute with tensors throughout: `torch.where(condition, a, b)` instead of `if`, the tensor instead of "
            "`.item()`.",
            phase="forward",
        )
        for sentence in (errors.VMAP_ITEM, errors.VMAP_BOOL)
    ),
    Advice(
        errors.VMAP_DYNAMIC,
        "The size of the result depends on the values, so it could differ between the rows of vmap.",
        "Use a mask, which keeps the size: `torch.where(condition, x, 0)`. Or loop over the rows.",
        phase="forward",
    ),
    Advice(
        errors.VMAP_RANDOM,
        "A random number was drawn inside vmap, and vmap cannot know whether all rows should get the same one.",
        'Choose with `vmap(f, randomness="different")` or `"same"`, or draw the numbers beforehand and pass them.',
        phase="forward",
    ),
    Advice(
        errors.HOOK_SIZE,
        "A hook{hook} returned a gradient whose shape differs from the one it was given.",
        "Return `None` to leave the gradient unchanged, or a tensor of its shape.",
    ),
    *(
        Advice(
            sentence,
            "A hook{hook} returned the wrong type. A tensor hook returns a tensor or `None`; a node hook returns a "
            "tuple of them or `None`.",
            "Check what it returns. Without a `return` it is `None`, which leaves the gradient unchanged.",
        )
        for sentence in (errors.HOOK_KIND, "hook '{}' has changed the type of value")
    ),
    *(
        Advice(
            sentence,
            "A hook{hook} returned more or fewer gradients than it was given.",
            "Return one for each gradient it was given, or `None` to leave them all unchanged.",
        )
        for sentence in (errors.HOOK_COUNT, errors.MODULE_HOOK_COUNT)
    ),
    Advice(
        errors.UNPACKED_KIND,
        "An unpack hook for saved tensors returned something that is not a tensor.",
        "Return the tensor that the pack hook was given, or an equal one.",
    ),
    Advice(
        errors.NO_CALLBACK,
        "queue_callback was called while no backward pass was running, so there is no end to wait for.",
        "Call it in a hook or in the backward of a Function.",
        phase="forward",
    ),
    Advice(
        errors.OUT_REQUIRES_GRAD,
        "An operation with `out=` is not recorded, but one of its tensors requires grad.",
        "Leave out `out` and use the result, or call the operation under `no_grad()`.",
        "tensor",
        "forward",
    ),
    Advice(
        "can't optimize a non-leaf Tensor",
        "{tensor} is not a leaf, and an optimizer only updates leaves.",
        "Pass the leaves. `torch.ones(2, requires_grad=True).to(d)` loses the leaf: convert first, then call "
        "`.requires_grad_()`.",
        "tensor",
        "forward",
    ),
    Advice(
        "cannot resize variables that require grad",
        "{tensor} requires grad, and a graph may still need its memory unchanged.",
        "Create a new tensor, for example by slicing or with `torch.nn.functional.pad`, or resize `t.detach()`.",
        "tensor",
        "forward",
    ),
    Advice(
        errors.NO_DUAL_LEVEL,
        "A tangent was given to a tensor outside dual_level().",
        "Move this line, and those that use its result, inside `with torch.autograd.forward_ad.dual_level():`.",
        phase="forward",
    ),
    Advice(
        errors.DUAL_SIZE,
        "The shape of a tangent differs from its tensor's.",
        "A tangent has one entry for each number of its tensor. Pass one of the same shape, or have jvp return one.",
        phase="forward",
    ),
    Advice(
        errors.DUAL_KIND,
        "A tangent and its tensor must have a floating-point or complex dtype.",
        "Convert both first, for example with `t.to(torch.float32)`.",
        phase="forward",
    ),
    Advice(
        "in strict mode",
        "The function's result has no differentiable path to one of its inputs, which `strict=True` does not allow.",
        "Look for `detach()`, `no_grad()` and `.item()` in the function, or leave out `strict=True` to get zeros.",
        phase="forward",
    ),
    Advice(
        errors.DUAL_NESTED,
        "dual_level() was entered inside another dual_level().",
        "Use `torch.func.jvp`, which nests, or a single level.",
        phase="forward",
    ),
    Advice(
        errors.DETACH_VIEW,
        "{tensor} is a view, and `detach_()` cannot cut a view off from its base.",
        "Use `t = t.detach()`.",
        "tensor",
        "forward",
    ),
    *(
        Advice(
            sentence,
            "This in-place operation overwrote its input. With a negative slope, the sign of the input can no longer"
            " be recovered from the result.",
            "Call it without `inplace=True` and without the underscore, or with a slope that is not negative.",
        )
        for sentence in errors.IN_PLACE_SLOPE.values()
    ),
    *(
        Advice(
            sentence,
            "{called} did something different when checkpoint ran it again in backward: {differs}.",
            "Everything that {called} reads besides its arguments must be the same as in forward: counters, flags, "
            "`train()` and `eval()`, random numbers. Reading `ctx.saved_tensors` twice in `backward` causes this too.",
        )
        for sentence in (errors.CHECKPOINT_OTHERS, errors.CHECKPOINT_FEWER, errors.CHECKPOINT_MORE)
    ),
    Advice(
        errors.CHECKPOINT_READ_TWICE,
        "A tensor inside {called}, which checkpoint runs again in backward, was used twice: `backward` read "
        "`ctx.saved_tensors` a second time.",
        "Read `ctx.saved_tensors` once in each `backward`, and keep the result in variables.",
    ),
    Advice(
        errors.CHECKPOINT_INPUTS,
        "A checkpoint with `use_reentrant=True` runs its own backward pass to all leaves, so it cannot compute the "
        "gradients of selected inputs.",
        "Pass `use_reentrant=False` to `checkpoint()`, or call `backward()` without `inputs`, and read `.grad`.",
    ),
    Advice(
        errors.CHECKPOINT_NOTHING,
        "{called} ran again for a checkpoint with `use_reentrant=True`, and none of its results requires grad.",
        "Look for `detach()`, `no_grad()` or frozen weights in it, or pass `use_reentrant=False` to `checkpoint()`.",
    ),
    Advice(
        errors.ANOMALY_NAN,
        "{node} turned a valid gradient into nan. Anomaly mode stops at the first one.",
        "Check its saved values for 0 / 0, log or sqrt of zero, or infinity minus infinity.",
    ),
)
