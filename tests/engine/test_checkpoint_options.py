"""What checkpoints check, and their options, beside PyTorch's (rows 30.4 to 30.7 of the semantic map)."""

from __future__ import annotations

import logging
import re
from typing import Any
from unittest import mock

import pytest
from functions import function, leaf64
from oracle import raised


def changing(first: Any, later: Any) -> Any:
    """A function that computes something else from its second run on."""
    runs = []

    def f(x):
        runs.append(x)
        return (first if len(runs) == 1 else later)(x)

    return f


def test_30_4_fewer_tensors_saved(torch):
    x = leaf64(torch, 1.0)
    f = changing(lambda x: x.sin().exp(), lambda x: x.sin())
    torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()


def test_30_4_more_tensors_saved(torch):
    def program(early_stop):
        x = leaf64(torch, 1.0)
        f = changing(lambda x: x.sin(), lambda x: x.sin().exp())
        y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False, early_stop=early_stop)
        return raised(y.sum().backward), x.grad

    return program(True), program(False)


def test_30_4_other_shapes_and_dtypes(torch):
    def program(later, **options):
        x = leaf64(torch, 1.0, 2.0, 3.0)
        f = changing(lambda x: (x * 1).sin().cos().sum(), later)
        y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False, **options)
        return raised(y.backward), x.grad

    changes = [lambda x: x[:2].sin().cos().sum(), lambda x: x.float().sin().cos().sum()]
    rounded, grad = program(changes[1], determinism_check="none")
    allowed = program(lambda x: (2 * x).sin().cos().sum()), rounded, grad.dtype
    return [program(later) for later in changes], allowed


def test_30_5_a_saved_tensor_is_there_once(torch):
    Twice = function(
        torch,
        lambda ctx, x: x * x,
        lambda ctx, grad: grad * (ctx.saved_tensors[0] + ctx.saved_tensors[0]),
        saves=True,
        name="Twice",
    )
    x = leaf64(torch, 3.0)
    y = torch.utils.checkpoint.checkpoint(lambda x: Twice.apply(x * 1), x, use_reentrant=False)
    return raised(y.sum().backward), issubclass(torch.utils.checkpoint.CheckpointError, RuntimeError)


def test_30_6_random_numbers_are_replayed(torch):
    def program(use_reentrant, preserve):
        drawn, x = [], leaf64(torch, 1.0, 2.0)

        def f(x):
            drawn.append(torch.rand(2).tolist())
            return (x * 2).sin()

        y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        torch.rand(3)
        before = torch.get_rng_state()
        y.sum().backward()
        return drawn[0] == drawn[1], bool((torch.get_rng_state() == before).all())

    return [program(kind, preserve) for kind in (True, False) for preserve in (True, False)]


def test_the_state_of_the_random_numbers(torch):
    state = torch.get_rng_state()
    first = torch.rand(3).tolist()
    torch.set_rng_state(state)
    return state.dtype, torch.rand(3).tolist() == first


class Entered:
    """A context that notes when it is entered and left, and whether gradients are on."""

    def __init__(self, torch: Any, name: str, story: list[Any]) -> None:
        self.torch, self.name, self.story = torch, name, story

    def __enter__(self) -> None:
        self.story.append((self.name, self.torch.is_grad_enabled()))

    def __exit__(self, *exc: object) -> None:
        self.story.append(("end of " + self.name, exc[0] is None))


def test_30_7_contexts_around_the_first_run_and_the_others(torch):
    story = []

    def contexts():
        story.append("made")
        return Entered(torch, "forward", story), Entered(torch, "again", story)

    def f(x):
        story.append("f")
        return x.sin().exp()

    def run():
        return torch.utils.checkpoint.checkpoint(f, leaf64(torch, 1.0), use_reentrant=False, context_fn=contexts).sum()

    y = run()
    y.backward(retain_graph=True)
    y.backward()
    with torch.no_grad():
        run()
    return story


def test_30_7_stopping_early(torch):
    module = torch.utils.checkpoint

    def program(early_stop, forced=None):
        story, x = [], leaf64(torch, 1.0)

        def f(x):
            story.append("f")
            y = x.sin().exp()
            story.append("end")
            return y

        if forced is None:
            y = module.checkpoint(f, x, use_reentrant=False, early_stop=early_stop)
        else:
            with module.set_checkpoint_early_stop(forced):
                y = module.checkpoint(f, x, use_reentrant=False, early_stop=early_stop)
        y.sum().backward()
        return story

    options = [(True,), (False,), (True, False), (False, True), (True, None)]
    return [program(*option) for option in options], module.set_checkpoint_early_stop(False)(lambda: 3)()


def test_30_7_hooks_of_the_user_around_inside_and_disabled(torch):
    story, graph = [], torch.autograd.graph

    def noting(name):
        def noted(t):
            story.append((name, t.tolist(), t.requires_grad))
            return t

        return graph.saved_tensors_hooks(noted, noted)

    def f(x, scale):
        with noting("inside"):
            y = (x * scale).sin()
        return y.exp()

    x, scale = leaf64(torch, 3.0), torch.ones(2, dtype=torch.float64)
    with noting("around"):
        y = torch.utils.checkpoint.checkpoint(f, x, scale, use_reentrant=False)
    story.append("backward")
    y.sum().backward()
    z = torch.utils.checkpoint.checkpoint(f, x, scale, use_reentrant=False)
    with graph.disable_saved_tensors_hooks("no hooks here"):
        disabled = raised(torch.utils.checkpoint.checkpoint, f, x, scale, use_reentrant=False), raised(z.sum().backward)
    return story, disabled, x.grad


def test_inputs_written_after_the_forward_are_noticed(torch):
    def program(use_reentrant):
        a = leaf64(torch, 1.0) * 1
        y = torch.utils.checkpoint.checkpoint(lambda a: a.sin(), a, use_reentrant=use_reentrant)
        a.mul_(2)
        return raised(y.sum().backward)

    return program(True), program(False)


def test_writes_inside_the_function(torch):
    def program(use_reentrant, f):
        x = leaf64(torch, 1.0)
        y = torch.utils.checkpoint.checkpoint(f, x * 2, use_reentrant=use_reentrant)
        return raised(y.sum().backward), x.grad

    def write_what_was_saved(x):
        a = x * 2
        b = a.sin()
        a.mul_(3)
        return b

    functions = [lambda x: x.mul_(3), lambda x: x.mul_(3).sin(), lambda x: (x * 2).mul_(3).sin(), write_what_was_saved]
    return [program(kind, f) for kind in (True, False) for f in functions]


def test_errors_in_the_first_run_and_in_the_second(torch):
    def fail(x):
        raise KeyError("inside")

    def program(use_reentrant):
        x, runs = leaf64(torch, 1.0), []

        def f(x):
            runs.append(x)
            return fail(x) if len(runs) == 2 else x.sin()

        first = raised(torch.utils.checkpoint.checkpoint, fail, x, use_reentrant=use_reentrant)
        y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=use_reentrant).sum()
        return first, raised(y.backward, retain_graph=True), raised(y.backward), len(runs), x.grad

    return program(True), program(False)


def test_30_7_sequences(torch):
    def program(segments, use_reentrant):
        runs, x = [], leaf64(torch, 1.0)

        def part(i):
            def f(x):
                runs.append((i, torch.is_grad_enabled()))
                return x.sin()

            return f

        parts = [part(i) for i in range(5)]
        y = torch.utils.checkpoint.checkpoint_sequential(parts, segments, x, use_reentrant=use_reentrant)
        runs.append("backward")
        y.sum().backward()
        return runs, x.grad

    return [program(segments, kind) for segments in range(1, 6) for kind in (True, False, None)]


def debug_log(torch: Any, first: Any, later: Any) -> Any:
    """What a checkpoint with debug=True raises where its second run is not as the first."""
    x = leaf64(torch, 1.0, 2.0)
    with mock.patch("platform.machine", return_value=""):  # or PyTorch looks up C++ frames, for seconds
        y = torch.utils.checkpoint.checkpoint(changing(first, later), x, use_reentrant=False, debug=True)
    try:
        y.sum().backward()
    except torch.utils.checkpoint.CheckpointError as error:
        return error
    finally:
        logging.getLogger("LoggingTensor").propagate = True  # or pytest listens to it, which cannot read its records


CUTS = ["|        1.", "Operations executed during the original", " ERROR:", " Note that", None]


@pytest.mark.parametrize("part", range(len(CUTS)))
def test_the_sections_of_a_debug_log(torch: Any, part: int) -> Any:
    """All but its operators and stack traces; a part at a time, for a long answer is not recorded."""
    text = str(debug_log(torch, lambda x: x.sin().exp(), lambda x: x.sin().reshape(2, 1).exp()))
    text = re.sub(r"^(.*:\d+:.*|.* = .*\(.*\)( +\(\d of \d in (original|recompute)\))?)\n", "", text, flags=re.M)
    starts = [0, *[text.index(cut) for cut in CUTS[:-1]], None]
    return re.sub(r"\n\n+", "\n\n", text[starts[part] : starts[part + 1]])


def worked_out(x: Any) -> Any:
    y = x.sin()
    y = y.exp_()
    return y * x + 2.0


def test_the_operators_of_a_debug_log(torch):
    error = debug_log(torch, worked_out, lambda x: worked_out(x.view(1, 2)))
    traces, _, log = str(error).partition("|       3.")
    forward, _, again = log.partition("during recomputation:")
    numbered = re.findall(r"^(.*\(1 of 4 in original\))$", traces, re.M)
    frames = [re.findall(rf"^{re.escape(__file__)}:\d+:(\w+)$", trace, re.M) for trace in traces.split("$1: ")[1:3]]
    ran = re.findall(r"^\$.* = .*$", forward, re.M), re.findall(r"aten\.(?!detach)(\w+\.\w+)", again)
    return numbered, ran, frames, str(error.__cause__).partition("Tip:")[0]


def test_a_debug_log_where_a_saved_tensor_is_asked_for_twice(torch):
    Twice = function(
        torch,
        lambda ctx, x: x.clone(),
        lambda ctx, g: g * ctx.saved_tensors[0] + ctx.saved_tensors[0],
        saves=True,
        name="Twice",
    )
    error = debug_log(torch, Twice.apply, Twice.apply)
    return str(error).count("1 of 1 in original"), str(error.__cause__)
