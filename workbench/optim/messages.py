"""What optimisers refuse, word for word PyTorch's (PyTorch 2.13)."""

PARAMS_KIND = "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {}"
PARAMS_EMPTY = "optimizer got an empty parameter list"
GROUP_KIND = "param_group must be a dict, but got {}"
PARAMS_SET = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
    "change between runs. Please use a list instead."
)
SOME_NAMES = "all optimizer params should be with/without names. Some param names are missing"
GROUP_NAMES = (
    "all optimizer param groups should be with/without names. cannot add param group {} names to the optimizer"
)
PARAM_KIND = "optimizer can only optimize Tensors, but one of the params is {}"
NON_LEAF = "can't optimize a non-leaf Tensor"
TWICE_IN_GROUP = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
    "github.com/pytorch/pytorch/issues/40967 for more information"
)
TWICE = "some parameters appear in more than one parameter group"
STATE_GROUPS = "loaded state dict has a different number of parameter groups"
STATE_GROUP = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
HOOK_RESULT = "{} must return None or a tuple of (new_args, new_kwargs), but got {}."

INVALID = "Invalid {}: {}"
TENSOR_NUMBER = "Tensor {} must be 1-element"
NESTEROV = "Nesterov momentum requires a momentum and zero dampening"
BETAS = "betas must be either both floats or both Tensors"
FUSED = "`fused` does not support `differentiable`"
FUSED_FOREACH = "`fused` and `foreach` cannot be `True` together."

SCHEDULED_KIND = "{} is not an Optimizer"
NO_INITIAL_LR = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)
LAMBDAS = "Expected {} lr_lambdas, but got {}"
SCHEDULER_FIRST = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
LAST_LR = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
