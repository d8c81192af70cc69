"""What is known of the errors of calls that do not fit: a Function's rules, saved-tensor hooks, transforms."""

from __future__ import annotations

from ... import errors
from .advice import Advice

_PACKING = (
    (
        "A saved tensor pack hook is modifying its input in place",
        "A pack hook wrote into its argument, a tensor that the program still uses.",
        "Work on a copy inside the pack hook: `t.clone()`.",
    ),
    (
        errors.FUNC_SAVED_HOOKS,
        "`grad`, `vjp`, `jacrev` and `hessian` of `torch.func` do not work with saved-tensor hooks, which "
        "`saved_tensors_hooks`,"
        " `save_on_cpu` and `checkpoint(use_reentrant=False)` use.",
        "Remove them from the transformed function and from the code around the transform, or call "
        "`torch.autograd.grad` instead.",
    ),
    (
        "Calling register_hooks on a saved tensor after it has been freed",
        "A backward pass has freed this saved tensor already.",
        "Register the hooks before `backward()`, or pass `retain_graph=True` to it.",
    ),
    (
        "Calling register_hooks on a saved tensor whose hooks have already been set",
        "This saved tensor has a pair of hooks already, and it takes one pair.",
        "Register one pair that does both, or leave out the `saved_tensors_hooks()` around the operation.",
    ),
    (
        "Calling register_hooks on a saved tensor with value None",
        "The operation saved `None` here, so there is nothing to pack.",
        "Skip the saved tensors whose `data` is `None`.",
    ),
    (
        "allow_mutation_on_saved_tensors contexts cannot be nested",
        "`allow_mutation_on_saved_tensors()` was entered inside another.",
        "Keep the outer one only.",
    ),
)
_FUNCTIONS = (
    (
        "Legacy autograd function with non-static forward method is deprecated",
        "An instance of a Function was called. Functions have no instances: their methods are static, and `apply` "
        "calls them.",
        "Write `@staticmethod` above `forward(ctx, ...)` and `backward(ctx, grad_output)`, and call `apply` on the "
        "class, `Name.apply(x)`, not `Name()(x)`. Pass what `__init__` took to `apply`, and keep it as an attribute of "
        "`ctx`.",
    ),
    (
        "Some elements marked as dirty during the forward method were not returned as output",
        "`forward` marked a tensor with `ctx.mark_dirty()` and did not return it.",
        "Return the tensor that was written, not one computed from it; or leave out `mark_dirty()` where nothing was "
        "written.",
    ),
    (
        "your Function cannot return more than one Tensor",
        "`forward` wrote into a view that it was given, and returns more than one tensor.",
        "Write into a clone of the input, or return the written tensor only.",
    ),
    *(
        (
            f"{method} {refusal}",
            f"`ctx.{method}()` was given something that is not a tensor.",
            f"Pass each tensor as an argument of its own: `ctx.{method}(a, b)`.",
        )
        for method, refusal in (
            ("mark_dirty", "can only accept variables"),
            ("mark_non_differentiable", "only accepts variable arguments"),
        )
    ),
    (
        "An input that has been returned as-is as output is being saved for backward",
        "`forward` returns an input unchanged, and `setup_context` saves that input: autograd cannot distinguish "
        "the two.",
        "Return `x.view_as(x)` in `forward`, or write `forward` with `ctx` and save there.",
    ),
    *(
        (
            f"{flag} must be a bool",
            f"`{flag}`, an attribute of a Function's class, is neither `True` nor `False`.",
            f"Write `{flag} = True`, or leave it out.",
        )
        for flag in ("clear_saved_tensors_on_access", "boxed_grads_call", "generate_vmap_rule")
    ),
    (
        "Function's jvp returned an invalid number of forward gradients",
        "`jvp` returned more or fewer tangents than `forward` returns tensors.",
        "Return one tangent for each output of `forward`, and `None` where there is none.",
    ),
    (
        "Function's jvp returned a gradient at position",
        "`jvp` returned a tangent for an output that is not differentiable.",
        "Return `None` in that place.",
    ),
    (
        "expected Variable or None (got {}) for grad output",
        "`jvp` returned something that is neither a tensor nor `None`.",
        "Return a tensor for each output of `forward`, and `None` where there is no tangent.",
    ),
    *(
        (
            sentence,
            "`forward` returns a view of its input, so `jvp` must return the same view of the tangent.",
            "Apply the same view in `jvp`, for example `tangent.view(-1)`, or return a clone in `forward`.",
        )
        for sentence in ("but the jvp is not returning a view", "jvp is not returning a view of the given grad input")
    ),
    *(
        (
            sentence,
            "`forward` modifies its input in place, so `jvp` must modify the tangent in place too.",
            "Modify the tangent in `jvp` and return it: `tangent.mul_(2); return tangent`.",
        )
        for sentence in (
            "is not modifying the forward mode gradients inplace",
            "is not returning the forward mode gradients as-is",
        )
    ),
    *(
        (
            sentence,
            "The `vmap` method of a Function must return two things: the output, and which dimension of the output is "
            "the batch.",
            "Return `(output, out_dims)`: `(y, 0)` for one output, `((y, z), (0, 0))` for two, `None` for what has "
            "no batch.",
        )
        for sentence in (
            "Expected the vmap staticmethod to have two returns",
            "vmap staticmethod returned an incompatible (output, out_dims) tuple",
        )
    ),
    (
        "Run vmap on autograd.Function with kwarg-only Tensor args",
        "`vmap` reached a Function that was given a tensor by keyword.",
        "Pass it by position: `Name.apply(x, scale)`, not `Name.apply(x, scale=scale)`.",
    ),
)
_MAPPED = (
    (
        "Expected all tensors to have the same size in the mapped dimension",
        "The mapped dimensions of the inputs have different sizes: the function is called once for each row, with that "
        "row of every input.",
        "Give the mapped dimensions one size. An input that is the same for every row takes `None`: "
        "`vmap(f, in_dims=(0, None))`.",
    ),
    (
        "some input, but that input is a Tensor of dimensionality",
        "`in_dims` names a dimension that an input does not have.",
        "Count the dimensions from 0, and write `None` for an input that is the same for every row.",
    ),
    *(
        (
            sentence,
            "`in_dims` does not match the inputs of the function.",
            "Pass one number for all inputs, or a tuple with a number or `None` for each: `vmap(f, in_dims=(0, "
            "None))`.",
        )
        for sentence in (
            "in_dims is not compatible with the structure of `inputs`",
            "expected `in_dims` to be int or a",
            "but in_dim must be either an integer dimension or None",
            "vmap: Expected at least one Tensor to vmap over",
        )
    ),
    (
        "We cannot vmap over non-Tensor arguments",
        "`vmap` takes a row of each argument, and one argument is not a tensor.",
        "Write `None` for it, `vmap(f, in_dims=(0, None))`, or pass a tensor with one entry per row.",
    ),
    (
        "(<inputs>): got no inputs",
        "`vmap` calls the function once for each row of its inputs, but there is no input.",
        "Pass the tensor whose rows the function should process.",
    ),
    (
        "must only return Tensors, got type",
        "The function under `vmap` returned something that is not a tensor.",
        "Compute with tensors throughout, and return tensors.",
    ),
    (
        "can not return a BatchedTensor when out_dim is None",
        "`out_dims` is `None`, which says that the output is the same for every row, but it depends on the row.",
        "Leave out `out_dims`, or give the dimension of the output that should be the batch.",
    ),
    *(
        (
            sentence,
            "`out_dims` does not match the outputs of the function.",
            "Pass one number for all outputs, or a tuple with a number or `None` for each.",
        )
        for sentence in (
            "out_dims is not compatible with the structure of `outputs`",
            "`out_dims` must be an int, None or a python collection",
        )
    ),
    (
        "We do not support batching operators that can support dynamic shape",
        "The size of the result depends on the values, so it could differ between the rows of `vmap`.",
        "Use a mask, which keeps the size: `torch.where(condition, x, 0)`. Or loop over the rows.",
    ),
    (
        errors.VMAP_DATA,
        "Inside a transform a tensor has no memory of its own, so `numpy()` and `data_ptr()` have nothing to read.",
        "Compute with tensors throughout, and convert what the transform returns.",
    ),
    (
        "there exists a Tensor `other` in extra_args that has more elements than `self`",
        "The function writes values that differ between the rows of `vmap` into a tensor that all rows share.",
        "Create the tensor from a mapped input, for example with `x.new_zeros(n)` or `torch.zeros_like(x)`, or "
        "compute a"
        " new one.",
    ),
)
_TRANSFORMS = (
    (
        "Thing passed to transform API must be Tensor",
        "A transform differentiates with respect to tensors, but it was given something else, such as a number.",
        "Convert it first, for example with `torch.tensor(3.0)`.",
    ),
    *(
        (
            sentence,
            "`argnums` does not match the arguments of the function.",
            "Count the positional arguments from 0: `argnums=0` for the first, `argnums=(0, 1)` for the first two.",
        )
        for sentence in (
            "Got argnum={}, but only",
            "argnums must be int or Tuple",
            "argnum must be int",
            "argnums must be non-empty",
            "argnums elements must be unique",
        )
    ),
    (
        "output of function f should be a tuple: (output, aux) if has_aux is True",
        "`has_aux=True` says that the function returns two things, and it returned one.",
        "Return `(value, other)`, or leave out `has_aux`.",
    ),
    (
        "that would mutate a captured Tensor",
        "The function writes into a tensor that was created outside it, and the transform cannot track that write.",
        "Pass the tensor as an argument and return its new value, or compute a new tensor.",
    ),
    (
        "attempting to call Tensor.requires_grad_()",
        "`requires_grad_()` was called inside a function that a transform differentiates.",
        "Remove the call. A transform differentiates with respect to the arguments that `argnums` selects, so pass the"
        " tensor as one of them.",
    ),
    *(
        (
            sentence,
            "`jvp` takes the inputs and their tangents as two matching tuples of tensors.",
            "Write `jvp(f, (x,), (tangent,))`, with one tangent for each input.",
        )
        for sentence in (
            "Expected primals to be a tuple",
            "Expected primals and tangents to have the same python structure",
            "jvp(f, primals, tangents): Expected {} to",
            "in flattened pytree doesn't match the shape {} of the corresponding primal",
            "to have the same argspec as the primals",
        )
    ),
    *(
        (
            sentence,
            "The function that is transformed returned something that is not a tensor.",
            "Compute with tensors throughout, and return a tensor: `.item()`, `float()` and NumPy leave the graph.",
        )
        for sentence in (
            "to return only tensors, got unsupported type",
            "to be a function that has non-empty output",
        )
    ),
    (
        "All outputs of f must be floating-point or complex",
        "The function returns integers or booleans, which have no slope.",
        "Return floating-point numbers, and look for `.long()`, `.int()`, `argmax()` and comparisons inside the "
        "function.",
    ),
    (
        "Expected pytree structure of cotangents to be the same",
        "The gradient that was given to the function from `vjp` does not have the structure of the output.",
        "Pass one tensor for each output, in the same tuple, list or dictionary.",
    ),
    *(
        (
            sentence,
            "`v`, the vector to multiply with, does not match the inputs or outputs of the function.",
            "Pass a tensor of the same shape for each input (`jvp`, `hvp`, `vhp`) or output (`vjp`). `v` may be "
            "left out only "
            "for a single number.",
        )
        for sentence in (
            "The vector v can only be None if",
            "v has invalid size: should be",
            "v is a tuple of invalid length",
            "The given v should contain a single Tensor",
        )
    ),
    *(
        (
            sentence,
            "The function must return one number: gradients and Hessians are defined for a single number.",
            "Reduce it to one number, for example with `lambda x: f(x).sum()`, or use `jacobian`.",
        )
        for sentence in ("given to {} should contain a single element", "given to {} should return a single Tensor")
    ),
    (
        errors.FUNCTIONAL_STRATEGY,
        "`strategy` selects how the Jacobian is computed: in reverse mode or in forward mode.",
        'Pass `strategy="reverse-mode"`, or `"forward-mode"` together with `vectorize=True`.',
    ),
    (
        "are not supported together",
        "Two options of `jacobian` or `hessian` exclude each other.",
        "Leave out one of the two that the error message names.",
    ),
    *(
        (
            sentence,
            "A forward-mode level was exited that is not open, or is not the innermost one.",
            "Use `with torch.autograd.forward_ad.dual_level():`, which leaves its own level.",
        )
        for sentence in ("Dual level must be a positive number", "Trying to exit a forward AD level")
    ),
    (
        "Expected allow_unused to be True or not passed when materialize_grads=True",
        "`materialize_grads=True` returns zeros for unused inputs, and `allow_unused=False` refuses unused inputs.",
        "Leave out `allow_unused`, or leave out `materialize_grads`.",
    ),
)
_TENSORS = (
    *(
        (
            sentence,
            "The `.data` of {tensor} was assigned a value that cannot be its data.",
            "Assign a tensor of floating-point numbers; for new values write `{name}.copy_(values)` under `no_grad()`.",
        )
        for sentence in (
            "Variable data has to be a tensor, but got",
            "data set to a tensor that requires gradients must be floating point or complex dtype",
            "Deleting tensor data is not allowed",
        )
    ),
    (
        "Inference tensors do not track version counter",
        "{tensor} was created in inference mode, and such a tensor does not count in-place writes.",
        "Clone it outside inference mode with `t.clone()`.",
    ),
)
_BACKWARD = (
    (
        "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context",
        "The graph was computed inside `with allow_mutation_on_saved_tensors():`, and its backward pass runs outside.",
        "Call `backward()` inside the block.",
    ),
    (
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed",
        "{function} defines both `backward` and `vjp`, two names for one rule.",
        "Keep one of the two.",
    ),
    (
        "can't replace a None gradient with a non-None value",
        "A hook{hook} was given `None`, because no gradient arrives there, but returned a gradient.",
        "Return `None` wherever the hook is given `None`, or just `None` to leave everything unchanged.",
    ),
    (
        "Backward pre hook returned an invalid number of grad_output",
        "A hook{hook} returned more or fewer gradients than it was given.",
        "Return one for each gradient it was given, or `None` to leave them all unchanged.",
    ),
    (
        "Tensor post accumulate grad hooks should return None",
        "A hook{hook} returned something. A post-accumulate hook changes the tensor's `.grad` instead.",
        "Return nothing, and write to `param.grad` inside the hook.",
    ),
    (
        "Backward is not reentrant",
        "`backward` returned different numbers when it ran again with the same values.",
        "Look for random numbers, counters and in-place writes in `backward`. If small differences are expected, pass "
        "nondet_tol=... to gradcheck.",
    ),
    (
        "While computing batched gradients, got",
        "gradcheck ran `backward` under `vmap` (`check_batched_grad=True`), and `backward` does not work on a batch.",
        "Compute with tensors throughout in `backward`, without `.item()` and `if` on values, or leave out "
        "check_batched_grad.",
    ),
    *(
        (
            sentence,
            "gradcheck called `backward` with `None` for an output that was not used, and `backward` did not expect "
            "that.",
            "Keep `set_materialize_grads(True)`, which passes zeros, or test each gradient for `None`. Or pass "
            "`check_undefined_grad=False`.",
        )
        for sentence in (
            "Expected backward function to handle undefined output grads",
            "Expected all input grads to be undefined or zero",
        )
    ),
)
CALLS = (
    *(Advice(*row, phase="forward") for row in (*_PACKING, *_FUNCTIONS, *_MAPPED, *_TRANSFORMS)),
    *(Advice(*row, "tensor", "forward") for row in _TENSORS),
    *(Advice(*row) for row in _BACKWARD),
)
