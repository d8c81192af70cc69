"""Tests of what only newer versions of PyTorch than the oldest that is recorded can tell, or word so."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

# By version: what is kept in a slot of a node, hooks or not; what a compiled function returns;
# shards on a CPU.
_FROM_2_12 = """
test_a_compiled_part_is_neither_compiled_again_nor_run_otherwise
test_a_write_over_what_was_saved_names_the_node_and_where_recorded_both_lines
test_a_second_backward_names_the_node_that_is_freed
test_the_first_nan_is_told_with_the_line_that_made_its_node
test_hooks_of_a_graph_that_was_there_before_are_told
test_below_an_error_of_a_backward_is_its_picture_recorded_or_not
test_the_lines_of_a_function_are_told_as_the_workbench_tells_its_own
test_a_tensor_whose_memory_holds_other_numbers_is_unknown[0]
test_a_backward_has_run_and_the_gradient_is_gone[torch]
test_a_way_cut_while_the_tensor_before_it_lives[torch-detach]
test_a_way_cut_while_the_tensor_before_it_lives[torch-data]
test_a_tensor_that_required_a_gradient_too_late[torch]
test_zeros_that_may_have_been_set[torch]
test_the_first_node_that_sent_what_is_not_finite[torch]
test_what_is_compiled_as_a_whole_is_one_box_with_what_it_takes_and_gives
test_a_recording_inside_of_another_sees_the_same_and_leaves_it_going
test_all_is_put_back_and_what_is_compiled_first_while_recorded_is_a_box_too
test_ranks_that_are_healthy_have_no_findings
test_what_is_planted_in_one_rank_is_told_first
test_the_step_that_went_wrong_is_recorded_on_the_rank_where_it_did
test_under_torchrun_each_rank_writes_its_own_trace
"""
_FROM_2_13 = """
test_a_program_has_the_same_trace_under_both_engines[broken]
test_an_input_that_is_not_used_is_refused_in_the_end_as_grad_refuses_it
"""


def version() -> tuple[int, int]:
    """That of PyTorch; a high one where it is not installed."""
    try:
        found = re.match(r"(\d+)\.(\d+)", installed("torch"))
    except PackageNotFoundError:
        found = None
    return (99, 0) if found is None else (int(found[1]), int(found[2]))


def too_new() -> frozenset[str]:
    """The names of tests for which the PyTorch that is installed is too old."""
    names = _FROM_2_12.split() if version() < (2, 12) else []
    return frozenset([*names, *(_FROM_2_13.split() if version() < (2, 13) else [])])
