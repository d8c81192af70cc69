"""Where in the program each node was made: the scopes, loops, rounds, calls and expressions around it."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trace_samples as samples
from trace_samples import leaf

import workbench as torch
from workbench import nn
from workbench.pictures.recording import Trace, record
from workbench.pictures.trace.forward_records import NodeCreated


def told(trace: Any) -> list[str]:
    """Each node's path in short: loops and rounds as `for x in xs #2`, others by their titles."""
    found = []
    for event in trace.events:
        if isinstance(event, NodeCreated):
            words = []
            for part in event.path:
                if part.kind == "round":
                    words[-1] += f" #{part.number}"
                else:
                    words.append(f"[{part.title}]" if part.kind == "scope" else part.title)
            found.append(" > ".join(words))
    return found


def keys(trace: Any, kind: str) -> list[int]:
    """The keys of the parts of a kind, each once, in order."""
    made = [event for event in trace.events if isinstance(event, NodeCreated)]
    return list(dict.fromkeys(part.key for event in made for part in event.path if part.kind == kind))


def expressions(trace: Any) -> list[str]:
    return [event.path[-1].title for event in trace.events if isinstance(event, NodeCreated)]


def rounds_of(trace: Any) -> list[tuple[int, ...]]:
    """The numbers of the rounds around each node, of the outermost loop first."""
    made = [event for event in trace.events if isinstance(event, NodeCreated)]
    return [tuple(part.number for part in event.path if part.kind == "round") for event in made]


class Programs:
    """Each returns what its nodes' paths are, in short, or the numbers of the rounds around them."""

    def nested_expressions_have_their_own_text(w):
        b = leaf()
        ((w * 2.0 + b) - 7.0) ** 2
        return ["w * 2.0", "w * 2.0 + b", "(w * 2.0 + b) - 7.0", "((w * 2.0 + b) - 7.0) ** 2"]

    def what_is_written_over_several_lines_is_on_one(w):
        (
            w * 2.0  # doubled
            + 1.0
        ).sum(
            0,  # all
        )
        return ["w * 2.0", "w * 2.0 + 1.0", "….sum(0)"]

    def columns_are_those_of_characters(größe):
        "äöü", größe * 2.0, "ß", größe + größe
        return ["größe * 2.0", "größe + größe"]

    def rounds_of_a_loop(w):
        for x in (1.0, 2.0, 3.0):
            y = w * x
            y = y + 1.0
        y.sum()
        rounds = [f"for x in (1.0, 2.0, 3.0) #{n} > {text}" for n in (1, 2, 3) for text in ("w * x", "y + 1.0")]
        return [*rounds, "y.sum()"]

    def rounds_of_one_node_each(w):
        y = w
        for _ in range(4):
            y = y * 2.0
        return [f"for _ in range(4) #{n} > y * 2.0" for n in (1, 2, 3, 4)]

    def while_and_its_condition(w):
        n = 0
        while n < 3:
            w * float(n)
            n += 1
        while True:
            w + 1.0
            w + 2.0
            if n > 3:
                break
            n += 1
        first = [f"while n < 3 #{n} > w * float(n)" for n in (1, 2, 3)]
        return [*first, *[f"while True #{n} > w + {m}.0" for n in (1, 2) for m in (1, 2)]]

    def loops_inside_loops(w):
        for i in range(2):
            y = w * float(i)
            for j in range(2):
                y = y + float(j)
        texts = ("w * float(i)", *[f"for j in range(2) #{j} > y + float(j)" for j in (1, 2)])
        return [f"for i in range(2) #{i} > {text}" for i in (1, 2) for text in texts]

    def a_loop_again_after_another_is_another(w):
        for _ in range(2):
            for a in (1.0, 2.0):
                w * a
            for b in (1.0, 2.0):
                w + b
        texts = [f"for {x} in (1.0, 2.0) #{n} > w {sign} {x}" for x, sign in ("a*", "b+") for n in (1, 2)]
        return [f"for _ in range(2) #{n} > {text}" for n in (1, 2) for text in texts]

    def epochs_with_nothing_but_rounds_in_them(w):
        data = [torch.ones(2, dtype=torch.float64) for _ in range(4)]
        for _epoch in range(3):
            for x in data:
                (w * x).sum().backward()
                with torch.no_grad():
                    for p in (w, w):
                        p -= 0.1 * w.grad
        return [(epoch, n) for epoch in (1, 2, 3) for n in (1, 2, 3, 4) for _ in range(2)]

    def where_a_loop_variable_is_set_again_the_loop_inside_that_counts_anew_tells(w):
        for x in (1.0, 2.0):
            for _ in range(2):
                (w * x).sum().backward()
                x = x + 1.0
        return [(outer, n) for outer in (1, 2) for n in (1, 2) for _ in range(2)]

    def epochs_in_a_function_of_their_own(w):
        def train_epoch():
            for x in (1.0, 2.0):
                (w * x).sum().backward()

        for _epoch in range(3):
            train_epoch()
        return [(epoch, n) for epoch in (1, 2, 3) for n in (1, 2) for _ in range(2)]

    def rounds_that_differ(w):
        for n in range(6):
            if n % 2:
                y = w * 2.0
            else:
                y = w + 2.0
            y.sum().backward()
            if n % 3 == 0:
                continue
            y.exp()
        return [(n,) for n in (1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6)]

    def handlers_do_not_make_rounds(w):
        for n in range(3):
            try:
                y = w * 2.0
                if n == 1:
                    raise KeyError
                y = y + 1.0
            except KeyError:
                y = w * 5.0
            finally:
                y = y * 7.0
            y.sum()
        texts = [["w * 2.0", "w * 5.0" if n == 2 else "y + 1.0", "y * 7.0", "y.sum()"] for n in (1, 2, 3)]
        return [f"for n in range(3) #{n} > {text}" for n in (1, 2, 3) for text in texts[n - 1]]

    def what_comes_after_a_handler_is_of_the_same_round(w):
        for n in range(3):
            y = w * 1.0
            try:
                y = y * 2.0
                if n % 2:
                    raise KeyError
            except KeyError:
                y = y * 3.0
                y = y + 4.0
            with torch.scope("after"):
                y = y * 5.0
            y = y * 6.0
        return [(1,)] * 4 + [(2,)] * 6 + [(3,)] * 4

    def an_early_end_of_a_round_is_the_end_of_that_round(w):
        n = 0
        while n < 6:
            n += 1
            try:
                y = w * 1.0
                if n % 3 == 2:
                    raise KeyError
            except KeyError:
                y = w * 2.0
                continue
            else:
                y = y * 3.0
            finally:
                y = w * 4.0
            if n == 4:
                y = w * 5.0
                continue
            y.exp()
        return [(n,) for n, count in enumerate((4, 3, 4, 4, 3, 4), 1) for _ in range(count)]

    def branches_of_rounds_that_look_alike(w):
        n = 0
        while n < 5:
            match n % 3:
                case 0:
                    y = w * 1.0
                case 1 if n < 4:
                    y = w * 2.0
                case _:
                    y = w * 3.0
            n += 1
        while n > 0:
            y = w * 4.0 if n % 2 else w * 5.0
            n -= 1
        y.sum()
        return [*[(n,) for n in (1, 2, 3, 4, 5)] * 2, ()]

    def a_while_that_goes_on_early_is_one_loop(w):
        h, n = w * 1, 0
        while n < 4:
            n += 1
            for _ in range(2):
                h = h * w
            if n == 2:
                continue
            h = h + w
        inner = [(n, m) for n in (1, 2, 3, 4) for m in ((1, 2) if n == 2 else (1, 2, 0))]
        return [(), *[tuple(number for number in each if number) for each in inner]]

    def a_write_into_a_view_is_no_other_round(w):
        for _ in range(2):
            z = torch.zeros(3, dtype=torch.float64)
            z[:2].mul_(w)
            z[1:].mul_(w)
            z.sum()
        return [(1,)] * 6 + [(2,)] * 6

    def comprehensions_are_loops(w):
        xs = (1.0, 2.0)
        many = [(w * x).sum() for x in xs]
        sum(many)
        rounds = [f"for x in xs #{n} > {text}" for n in (1, 2) for text in ("w * x", "(w * x).sum()")]
        return [*rounds, "sum(many)", "sum(many)"]

    def comprehensions_of_several_loops(w):
        [w * x + y for x in (1.0, 2.0) if x for y in (3.0, 4.0)]
        return [(x, y) for x in (1, 2) for y in (1, 2) for _ in range(2)]

    def generators(w):
        def doubled(xs):
            for x in xs:
                yield w * x

        for y in doubled([1.0, 2.0]):
            y + 1.0
        return [(1, 1), (1,), (2, 2), (2,)]

    def a_generator_begins_anew_in_each_epoch(w):
        def batches():
            for x in (1.0, 2.0):
                yield w * x
                yield w + x

        for _epoch in range(2):
            for y in enumerate(batches()):
                y[1].exp()
        one = [(1, 1), (1,), (2, 1), (2,), (3, 2), (3,), (4, 2), (4,)]
        return [(epoch, *each) for epoch in (1, 2) for each in one]

    def a_while_in_a_generator_and_one_generator_in_another(w):
        def halves(y):
            while True:
                y = y / 2.0
                yield y

        def three():
            for n in range(3):
                yield from (y + n for _, y in zip(range(2), halves(w), strict=False))

        [y.exp() for y in three()]
        made = [(n, k) for n in (1, 2, 3) for k in (1, 2)]
        return [row for n, (k, i) in enumerate(made, 1) for row in ((n, k, i, i), (n, k, i), (n,))]

    def two_generators_of_one_function(w):
        def times(factor):
            for x in (1.0, 2.0, 3.0):
                yield w * (x * factor)

        def sums():
            for x in (1.0, 2.0, 3.0):
                yield w + x

        for a, b, c in zip(times(1.0), times(2.0), sums(), strict=True):
            a + b * c
        return [row for n in (1, 2, 3) for row in ((n, n), (n, n), (n, n), (n,), (n,))]

    def what_next_gets(w):
        def products():
            for x in (1.0, 2.0, 3.0):
                yield w * x

        for _epoch in range(2):
            each = products()
            for _ in range(3):
                next(each).exp()
        return [row for epoch in (1, 2) for n in (1, 2, 3) for row in ((epoch, n, n), (epoch, n))]

    def a_sum_over_a_generator_begins_anew_in_each_call(w):
        xs = [1.0, 2.0]
        for _ in range(2):
            sum(w * x for x in xs)
        return [row for n in (1, 2) for k in (1, 2) for row in ((n, k), (n,))]

    def a_helper_that_is_called_twice_has_two_calls(w):
        def act(x):
            return (x * 2.0).exp()

        act(w) + act(w)
        return [*["act(w) > x * 2.0", "act(w) > (x * 2.0).exp()"] * 2, "act(w) + act(w)"]

    def recursion_lambdas_methods_and_decorators(w):
        def power(x, n):
            return x * 1.0 if n == 0 else power(x, n - 1) * w

        def loudly(function):
            @functools.wraps(function)
            def around(*args):
                return function(*args)

            return around

        class Model:
            @loudly
            def step(self, x):
                return x.sin()

        double = lambda x: x * 2.0  # noqa: E731
        power(w, 2)
        double(w)
        Model().step(w)
        again = "power(x, n - 1)"
        powers = [f"power(w, 2) > {each}" for each in (f"{again} > {again} > x * 1.0", f"{again} > {again} * w")]
        return [
            *powers,
            f"power(w, 2) > {again} * w",
            "double(w) > x * 2.0",
            "Model().step(w) > function(*args) > x.sin()",
        ]

    def what_a_builtin_calls_again_is_another_call(w):
        def act(x):
            y = w * x
            return y + 1.0

        list(map(act, (1.0, 2.0, 3.0)))
        return [f"list(map(act, (1.0, 2.0, 3.0))) > {text}" for text in ("w * x", "y + 1.0")] * 3

    def a_module_called_twice_is_entered_twice(w):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.act = nn.Linear(2, 2), nn.Tanh()

            def forward(self, x):
                return self.act(self.fc(self.act(x)))

        Twice()(torch.ones(1, 2, requires_grad=True))
        fc = "[Twice] > [fc] > self.fc(self.act(x))"
        return ["[Twice] > [act] > self.act(x)", fc, fc, "[Twice] > [act] > self.act(self.fc(self.act(x)))"]

    def scopes_and_loops_lie_in_each_other_as_they_are_written(w):
        with torch.scope("outer"):
            for _n in range(2):
                with torch.scope("inner"):
                    w * 2.0
                    for _m in range(2):
                        w + 1.0
        texts = ("w * 2.0", *[f"for _m in range(2) #{m} > w + 1.0" for m in (1, 2)])
        return [f"[outer] > for _n in range(2) #{n} > [inner] > {text}" for n in (1, 2) for text in texts]

    def a_scope_that_a_round_enters_again_begins_another(w):
        for n in range(2):
            with torch.scope("part"):
                if n == 0:
                    w * 2.0
                else:
                    w + 1.0
        return ["for n in range(2) #1 > [part] > w * 2.0", "for n in range(2) #2 > [part] > w + 1.0"]

    def scopes_that_others_enter(w):
        @contextmanager
        def part(name):
            with torch.scope(name):
                yield

        with part("one"):
            w * 2.0
        with ExitStack() as stack:
            stack.enter_context(torch.scope("two"))
            w * 3.0
        return ["[one] > w * 2.0", "[two] > w * 3.0"]

    def what_computes_before_it_enters_a_scope_is_of_the_same_round(w):
        @contextmanager
        def part(name):
            w * 1.0
            with torch.scope(name):
                yield
            w * 2.0

        n = 0
        while n < 3:
            with part("one"):
                w * 3.0
                w * 4.0
            n += 1
        return [(n,) for n in (1, 2, 3) for _ in range(4)]


# How many parts of a kind a program has, where its paths do not tell.
PARTS = {
    "rounds_of_a_loop": {"loop": 1, "round": 3},
    "a_loop_again_after_another_is_another": {"loop": 5, "round": 10},
    "a_while_that_goes_on_early_is_one_loop": {"loop": 5},
    "a_helper_that_is_called_twice_has_two_calls": {"call": 3},
    "what_a_builtin_calls_again_is_another_call": {"expression": 6},
    "a_module_called_twice_is_entered_twice": {"scope": 4},
    "scopes_and_loops_lie_in_each_other_as_they_are_written": {"scope": 3},
}
PROGRAMS = {name: each for name, each in vars(Programs).items() if not name.startswith("_")}
CALL = "program(w) > "


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_path_is_where_its_node_was_made(name: str) -> None:
    program, w = PROGRAMS[name], leaf()
    with record() as trace:
        expected = program(w)
    if isinstance(expected[0], str):
        assert told(trace) == [f"{CALL}{each}" for each in expected]
    else:
        assert rounds_of(trace) == expected and all(path.startswith(CALL) for path in told(trace))
    for kind, count in PARTS.get(name, {}).items():
        assert len(keys(trace, kind)) == count


def test_paths_of_nodes_in_scopes_around_the_recording() -> None:
    w = leaf()
    with torch.scope("before"), record() as other:
        w * 4.0
    assert told(other) == ["[before] > w * 4.0"]


def test_modules_in_a_loop_have_rounds_around_them() -> None:
    layers = nn.ModuleList([nn.Sequential(nn.Linear(2, 2, bias=False), nn.Tanh()) for _ in range(2)])
    x = torch.ones(1, 2)
    with record() as trace:
        for layer in layers:
            x = layer(x)
    parts = ("[0 › Linear]", "[0 › Linear]", "[1 › Tanh]")
    assert told(trace) == [
        f"for layer in layers #{n} > [Sequential] > {part} > layer(x)" for n in (1, 2) for part in parts
    ]


def test_a_builtin_that_calls_many_times_makes_no_rounds_of_the_loop_around_it() -> None:
    w = leaf()
    with record() as trace:
        for _ in range(2):
            parts = list(map(lambda x: w * x, (1.0, 2.0, 3.0)))
            sum(w + x for x in (1.0, 2.0, 3.0))
            sum([functools.reduce(lambda one, other: one * other, parts)])
    made = [event for event in trace.events if isinstance(event, NodeCreated)]
    assert [event.path[1].number for event in made] == [1] * 12 + [2] * 12
    assert [event.path[2].title for event in made[3:9]] == ["sum(w + x for x in (1.0, 2.0, 3.0))"] * 6


def test_loops_that_wait() -> None:
    w = leaf()

    async def halves(count: int) -> Any:
        for n in range(count):
            yield w / float(n + 1)

    async def main() -> None:
        for _ in range(2):
            async for y in halves(2):
                y.exp()
        [y.sin() async for y in halves(2)]

    with record() as trace:
        asyncio.run(main())
    rounds = [text for text in told(trace) if text.endswith(("y.exp()", "y.sin()"))]
    head = "asyncio.run(main()) > for _ in range(2) #{} > async for y in halves(2) #{} > y.exp()"
    assert rounds == [
        *[head.format(outer, inner) for outer in (1, 2) for inner in (1, 2)],
        *[f"asyncio.run(main()) > for y in halves(2) #{n} > y.sin()" for n in (1, 2)],
    ]


def test_writes_and_unpacking_are_told_by_their_line() -> None:
    w = leaf()
    with record() as trace:
        y = w * 1.0
        y += 2.0
        y[0] = w[1] * 3.0  # a part
        first, second = y
        del first, second
    assert told(trace)[1:3] == ["y += 2.0", "w[1]"]
    assert set(told(trace)[4:]) == {"y[0] = w[1] * 3.0", "first, second = y"}


def test_what_one_expression_makes_has_one_part() -> None:
    q, k = torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 4, 3, requires_grad=True)
    with record() as trace:
        q @ k
    assert len(told(trace)) > 3 and set(told(trace)) == {"q @ k"}
    assert len(keys(trace, "expression")) == 1


def test_code_without_a_source_has_no_text() -> None:
    with record() as trace:
        exec("\n".join(["for n in range(2):", "    y = x * 2.0", "    y = y + 1.0"]), {"x": leaf()})  # nobody holds it
    assert expressions(trace) == [""] * 4 and rounds_of(trace) == [(1,), (1,), (2,), (2,)]


def test_loops_without_a_source_make_no_rounds_of_the_loop_around_them() -> None:
    space: dict[str, Any] = {"w": leaf()}
    exec("def twice():\n    for _ in range(2):\n        y = w * 2.0\n        y = y + 1.0", space)
    exec("def once():\n    y = w * 3.0\n    y = y + 1.0", space)
    n = 0
    with record() as trace:
        for _ in range(3):
            space["twice"]()
        while n < 3:
            space["once"]()
            n += 1
    inner = [(outer, inner) for outer in (1, 2, 3) for inner in (1, 1, 2, 2)]
    assert rounds_of(trace) == inner + [(n,) for n in (1, 2, 3) for _ in range(2)]


def test_a_comprehension_in_the_loops_of_a_module() -> None:
    """Python 3.13 runs it in the module's frame, and gives no other variables of the frame meanwhile."""
    text = (
        "for epoch in range(2):\n"
        "    for x in (1.0, 2.0):\n"
        "        parts = [w * x * k for k in (1.0, 2.0)]\n"
        "        sum(parts).sum().backward()\n"
    )
    with record() as trace:
        exec(text, {"w": leaf()})
    inner = [(1,), (1,), (2,), (2,), (), (), ()]
    assert rounds_of(trace) == [(n, k, *each) for n in (1, 2) for k in (1, 2) for each in inner]


def test_without_columns_the_line_is_told(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text(
        "import workbench as torch\nx = torch.ones(2, requires_grad=True)\nwith torch.record() as trace:\n"
        "    for n in range(2):\n        y = x * 2.0 + 1.0\n"
        "print([[part.title for part in event.path] for event in trace.events if hasattr(event, 'path')])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", str(tmp_path / "short.py")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[2], env={"PYTHONPATH": "."},
    )  # fmt: skip
    paths = [["for n in range(2)", f"iteration {n}", "y = x * 2.0 + 1.0"] for n in (1, 1, 2, 2)]
    assert ran.stdout.strip() == str(paths)


@pytest.mark.filterwarnings("error")
def test_no_text_of_the_source_is_warned_of(tmp_path: Path) -> None:
    text = "for x in '1\\d2'.split('\\d'):\n    w * float(x) * len('\\d')\n"
    (tmp_path / "escapes.py").write_text(text)
    with warnings.catch_warnings(action="ignore"):
        code = compile(text, str(tmp_path / "escapes.py"), "exec")
    with record() as trace:
        exec(code, {"w": leaf()})
    assert told(trace)[0].endswith("for x in '1\\d2'.split('\\d') #1 > w * float(x)")


def test_the_rounds_of_a_long_loop() -> None:
    lines = "".join(f"    y = y * {n}.0\n" for n in range(300))
    space = {"w": leaf()}
    with record() as trace:
        exec(f"for x in (1.0, 2.0, 3.0):\n    y = w * x\n    if x == 2.0: continue\n{lines}y = w + 1.0", space)
    assert rounds_of(trace) == [(1,)] * 301 + [(2,)] + [(3,)] * 301 + [()]


def test_the_head_of_a_long_loop_in_a_file(tmp_path: Path) -> None:
    lines = "".join(f"    y = y * {n}.0\n" for n in range(300))
    text = f"for x in (1.0, 2.0):\n    y = w * x\n{lines}n = 0\n"
    text += "while (n < 2\n       and n < 9):\n    n += 1\n    w * n\n"
    (tmp_path / "long.py").write_text(text)
    with record() as trace:
        exec(compile(text, str(tmp_path / "long.py"), "exec"), {"w": leaf()})
    titles = dict.fromkeys(event.path[1].title for event in trace.events if isinstance(event, NodeCreated))
    assert list(titles) == ["for x in (1.0, 2.0)", "while (n < 2 and n < 9)"]


def test_what_the_condition_of_a_while_computes_is_of_the_loop() -> None:
    w, n = leaf(), 0
    with record() as trace:
        while (w * float(n)).sum() < 5.0:
            n += 1
            w + 1.0
    paths = [text for text in told(trace) if text.endswith("w * float(n)")]
    assert len(paths) == 3 and paths[0] == "while (w * float(n)).sum() < 5.0 #1 > w * float(n)"
    assert [text for text in told(trace) if text.endswith("w + 1.0")] == [
        f"while (w * float(n)).sum() < 5.0 #{n} > w + 1.0" for n in (1, 2)
    ]


def test_the_head_of_a_loop_is_told_whole(tmp_path: Path) -> None:
    text = "for (a, b) in (  # both: a pair (\n    [(1.0, 2.0)]  # only one\n):\n    w * a + b\n"
    text += "for x in (1.0, 2.0): w * x\n[w * x for x in ([1.0])]\n"
    (tmp_path / "heads.py").write_text(text)
    with record() as trace:
        exec(compile(text, str(tmp_path / "heads.py"), "exec"), {"w": leaf()})
    heads = list(dict.fromkeys(text.split(" > ")[1].partition(" #")[0] for text in told(trace)))
    assert heads == ["for (a, b) in ([(1.0, 2.0)])", "for x in (1.0, 2.0)", "for x in ([1.0])"]


def test_a_deep_recursion_has_a_path_of_bounded_length() -> None:
    w = leaf()

    def down(x: Any, n: int) -> Any:
        return x.sin() if n == 0 else down(x, n - 1)

    with record() as trace:
        down(w, 300)
    (event,) = [event for event in trace.events if isinstance(event, NodeCreated)]
    assert len(event.path) == 64 and event.path[-1].title == "x.sin()"
    assert Trace.from_dict(trace.to_dict()).to_dict() == trace.to_dict()


# Backward.


def test_what_a_backward_records_is_of_its_call() -> None:
    w = leaf()
    with record() as trace:
        y = (w**3).sum()
        (g,) = torch.autograd.grad(y, w, create_graph=True)
    assert len(told(trace)) > 3
    assert set(told(trace)[2:]) == {"torch.autograd.grad(y, w, create_graph=True)"}


def test_a_custom_backward_is_a_call_within_it() -> None:
    w = leaf()
    with record() as trace:
        y = samples.Square.apply(w).sum()
        torch.autograd.grad(y, w, create_graph=True)
    assert told(trace)[0] == "samples.Square.apply(w)"
    assert "torch.autograd.grad(y, w, create_graph=True) > 2 * x" in told(trace)


def test_a_write_through_a_view_is_where_it_is_written() -> None:
    w = leaf()
    with record() as trace:
        base = w * 1.0
        base[:1].mul_(3.0)
    slices = [event for event in trace.events if isinstance(event, NodeCreated)][-1]
    assert slices.name == "CopySlices" and slices.path[-1].title == "base[:1].mul_(3.0)"
    assert slices.source is not None and slices.source.text == "base[:1].mul_(3.0)"


def test_what_was_there_before_has_no_path() -> None:
    w = leaf()
    y = w * 2.0
    with record() as trace:
        y + 1.0
    assert told(trace) == ["", "y + 1.0"]


# Files.


def test_a_part_stands_in_the_file_once() -> None:
    w = leaf()
    with record() as trace:
        for _ in range(50):
            (w * 2.0).sin()
    data = trace.to_dict()
    assert len(data["parts"]) == 1 + 50 * 3
    assert data["parts"][:3] == [[None, "loop", "for _ in range(50)", 0], [0, "round", "iteration 1", 1],
                                 [1, "expression", "w * 2.0", 1]]  # fmt: skip
    assert [event["path"] for event in data["events"][:2]] == [2, 3]


def test_a_file_without_paths_is_read() -> None:
    data = samples.twice().to_dict()
    del data["parts"]
    for event in data["events"]:
        event.pop("path", None)
    assert told(Trace.from_dict(data)) == [""]


def add(*part: Any) -> Any:
    return lambda d: d["parts"].insert(0, part[0] if len(part) == 1 else [*part])


def change(event: int, path: Any) -> Any:
    return lambda d: d["events"][event].update(path=path)


REFUSED = [
    (lambda d: d.update(parts={}), "This trace has no list of parts."),
    (add(3), "Part 0 of this trace doesn't have four to seven fields."),
    (add(0, "loop", "", 0), "Part 0 of this trace isn't inside an earlier part."),
    (add(True, "loop", "", 0), "Part 0 of this trace isn't inside an earlier part."),
    (add(None, "x", "", 0), "Part 0 of this trace has an invalid kind or text."),
    (add(None, "scope", "", 0, 1), "Part 0 of this trace has an invalid kind or text."),
    (add(None, [], "", 0), "Part 0 of this trace has an invalid kind or text."),
    (add(None, "loop", "x" * 2_000, 0), "Part 0 of this trace has an invalid kind or text."),
    (add(None, "round", "", -1), "Part 0 of this trace has an invalid number."),
    (add(None, "round", "", 1.5), "Part 0 of this trace has an invalid number."),
    (
        lambda d: d["parts"].extend([n or None, "call", "", 0] for n in range(len(d["parts"]) - 1, 300)),
        r"Part \d+ of this trace is inside 100 others, which is too deep.",
    ),
    (change(0, 99), "Event 1 of this trace refers to an unknown part."),
    (change(0, -1), "Event 1 of this trace refers to an unknown part."),
    (change(0, "0"), "Event 1 of this trace refers to an unknown part."),
    (change(0, None), "Event 1 of this trace refers to an unknown part."),
    (
        lambda d: d["events"][0].update(path=d["parts"].append([None, "loop", "", 0]) or len(d["parts"]) - 1),
        "Event 1 of this trace is in a loop, but in none of its iterations.",
    ),
    (change(1, 0), "Event 2 of this trace has a BackwardStarted with an unknown 'path'."),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED)
def test_wrong_parts_are_refused_with_one_sentence(change: Any, sentence: str) -> None:
    data = json.loads(json.dumps(samples.twice().to_dict()))
    change(data)
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Trace.from_dict(data)


def test_reading_while_it_is_recorded_changes_nothing() -> None:
    def run(looks: bool) -> list[str]:
        w = leaf()
        with record() as trace:
            for _ in range(3):
                for x in (1.0, 2.0):
                    (w * x).sum().backward()
                    if looks:
                        trace.events  # noqa: B018
        return told(trace)

    assert run(True) == run(False)
