"""What the stepper refuses, in sentences."""

NOT_A_TENSOR = "step() needs the tensor (or a list of tensors) to run the backward of, but got {}."
COUNT = "{}() takes how many steps to go, as an int that is not negative, but got {!r}."
FAILED = "The backward failed in {} at step {}. Call back() to stand before it again, and go on from there."
TOO_FAR_BACK = "Cannot go back {}: only {} so far."
NO_SUCH_PLACE = (
    "No node of this backward, and no scope, is called {!r}. Its nodes are {}; its leaves are {}; its scopes are {}."
)
NOT_IN_TASK = "{} is no node of this backward."
NO_HISTORY = "This tensor does not require grad, so no gradient will ever arrive at it."
NOT_WATCHED = "watch() follows the gradient of a tensor, and was given {}."
NOT_A_PLACE = "Name a place by an operation, a scope, a node or a tensor, but not by {}."
NOT_A_STOP = "A stop is an operation, a scope, a node, a tensor or a function of the step just taken, but not {}."
EMPTY_STOP = "A breakpoint needs to know where or when to stop: a place, nonfinite=True, over=, under= or a function."
NO_SCOPE = 'No node of this backward was made inside `with workbench.scope("{}")`; its scopes are {}.'
NOTHING_WAITS = "No gradient waits at {} (input_nr {}), so there is none to change. Gradients wait at {}."
SEVERAL_WAIT = "Gradients wait at {} nodes called {!r}: name the one you mean by the node itself."
EDIT_SHAPE = "The gradient waiting at {} has the shape {}, but the new value has {}: give that shape, or a number."
EDIT_KIND = "A gradient is changed to a number, an array or a tensor, not to {}."
EDIT_NUMBERS = "A gradient is changed to numbers, in rows of the same length, not to {}."
EDIT_DTYPE = "The gradient waiting at {} is of {}, but the tensor given for it of {}: convert it with .to({})."
INPUT_NR = "The output of a node whose gradient is meant is named by its number, an int, not by {!r}."
BOUND = "over= and under= are bounds of a gradient's norm, so numbers, not {!r}."
NO_BRANCH = "There is no branch called {!r}; the branches are {}."
NO_NUMBERS = "Type a number such as 0.5, -2e-3 or 1/3, or a list of numbers such as [1, 2], not {!r}."

GRAD_REPLACED = "{}.grad was not what step {} had left there: what other code made of it is gone, now it is {} again."
RECORDED = "The recording that is on keeps the steps taken back: in its pictures, what runs again runs a second time."
NO_RECORDING = "A stepped backward of PyTorch's records no graph of its own: leave create_graph away."
RUN_AGAIN = (
    "Going back, PyTorch's backward was stopped and run again up to here: hooks and Functions' backward ran again."
)
HOOK_STAYS = "Step {} ran a {} of {}: what it did besides changing gradients could not be undone."
