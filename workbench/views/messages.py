"""What views refuse: the sentences of their errors."""

from __future__ import annotations

NO_VIEW = "There is no view named {!r}; choose {} or {}."
NO_OPTION = "The view {!r} has no option {!r}; its {}."
AGAINST_KIND = "`against` is another trace, of record() or load(), but got {}."
AGAINST_MISSING = "The view {0!r} draws a trace beside another: say which, as show({0!r}, against=other)."
OPEN_KIND = "`open` names the groups of a graph to be open, but got {}."
DEPTH_KIND = "`depth` says how deep groups are open: a whole number from 0 up, but got {!r}."
STEP_KIND = "`step` is the number of a training step, from 1 up, but got {!r}."

NO_GROUP = "This graph has no group named {!r}{}."
NO_TRAINING_STEP = "There is no training step {!r} in this trace, which {}."
STEPS_JOINED = "The steps of this training cannot be shown alone: each goes on with the graph of others."

COMPARE_KIND = "compare() takes two traces, as record() gives them, but got {}."
COMPARE_TOO_LARGE = (
    "This trace is too large to be drawn beside another: its {:,} operations have {:,} arrows, saved tensors and "
    "boxes, and at most {:,} are drawn."
)
GRAPH_TOO_LARGE = (
    "This trace is too large to be drawn as a graph: its steps change too many boxes and arrows. "
    "The views 'memory', 'saved' and 'versions' show it."
)
CALLS_TOO_LARGE = "This trace is too large to be played line by line: too many variables are held at too many lines."
