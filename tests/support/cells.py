"""Cells of a notebook, run by IPython's own shell in this process, and what a recording says of their lines."""

from __future__ import annotations

from typing import Any


def _lines(*lines: str) -> str:
    return "\n".join(lines)


# By name: cells, and where the line of `log` is shown to be (in `%%capture`, as IPython itself counts, from behind it).
_BODY = "y = (w * 0.0).log()\ny.sum().backward()"
_IN_RECORD = "with RECORD as trace:\n    y = (w * 0.0).log()\n    y.sum().backward()"
CELLS: dict[str, tuple[list[str], str]] = {
    "a timed cell": ([f"%%time\n# a comment\n{_IN_RECORD}"], "cell:4"),
    "a timed cell with a result": ([f"%%time\n{_IN_RECORD}\n3"], "cell:3"),
    "a function in a timed cell": (
        [
            _lines(
                "%%time",
                "def f():",
                "    y = (w * 0.0).log()",
                "    return y.sum()",
                "with RECORD as trace:",
                "    f().backward()",
            )
        ],
        "cell:3",
    ),
    "a function of an earlier timed cell": (
        [
            _lines("%%time", "z = w * 2", "def f():", "    y = (w * 0.0).log()", "    return y.sum()"),
            _lines("with RECORD as trace:", "    f().backward()"),
        ],
        "cell:2 `f().backward()`",
    ),
    "a captured cell": ([f"%%capture\n{_IN_RECORD}"], "cell:2"),
    "a captured and timed cell": ([f"%%capture\n%%time\n{_IN_RECORD}"], "cell:3"),
    "a repeated cell": (
        [
            _lines("recording = RECORD", "trace = recording.__enter__()"),
            f"%%timeit -n 1 -r 2\n{_BODY}",
            "recording.__exit__(None, None, None)",
        ],
        "cell:2",
    ),
    "a timed line": (
        [_lines("with RECORD as trace:", "    %time y = (w * 0.0).log()", "    y.sum().backward()")],
        "cell:2",
    ),
    "a repeated line": (
        [_lines("with RECORD as trace:", "    %timeit -n 1 -r 1 -q (w * 0.0).log().sum().backward()")],
        "cell:2",
    ),
    "a line behind a shell's": (
        [
            _lines(
                "with RECORD as trace:",
                "    found = !true",
                "    home = %env HOME",
                "    y = (w * 0.0).log()",
                "    y.sum().backward()",
            )
        ],
        "cell:4",
    ),
    "a pasted session": (
        [_lines(">>> with RECORD as trace:", "...     y = (w * 0.0).log()", "...     y.sum().backward()")],
        "cell:2",
    ),
    "an indented cell": (
        [_lines("    with RECORD as trace:", "        y = (w * 0.0).log()", "        y.sum().backward()")],
        "cell:2",
    ),
    "a cell that awaits": (
        [
            _lines(
                "async def f():",
                "    return (w * 0.0).log()",
                "with RECORD as trace:",
                "    y = await f()",
                "    y.sum().backward()",
            )
        ],
        "cell:2",
    ),
    "a generator": (
        [
            _lines(
                "def f():",
                "    for k in range(2):",
                "        yield (w * 0.0).log()",
                "with RECORD as trace:",
                "    sum(f()).sum().backward()",
            )
        ],
        "cell:3",
    ),
    "exec of a string": (
        [_lines("text = 'y = (w * 0.0).log()\\ny.sum().backward()'", "with RECORD as trace:", "    exec(text)")],
        "<string>:1 `y = (w * 0.0).log()`",
    ),
    "exec of what was compiled": (
        [
            _lines(
                "text = 'y = (w * 0.0).log()\\ny.sum().backward()'",
                "with RECORD as trace:",
                "    exec(compile(text, 'mine', 'exec'))",
            )
        ],
        "mine:1 `y = (w * 0.0).log()`",
    ),
    "eval": (
        [_lines("with RECORD as trace:", "    y = eval('(w * 0.0).log()')", "    y.sum().backward()")],
        "<string>:1 `(w * 0.0).log()`",
    ),
    "a function that exec defined": (
        [
            _lines(
                "names = {}",
                "exec('def f(w):\\n    y = (w * 0.0).log()\\n    return y.sum()', names)",
                "with RECORD as trace:",
                "    names['f'](w).backward()",
            )
        ],
        "cell:4 `names['f'](w).backward()`",
    ),
    "exec of what nobody holds": (
        [
            _lines(
                "lines = ['', 'y = (w * 0.0).log()', 'y.sum().backward()']",
                "with RECORD as trace:",
                "    exec(chr(10).join(lines))",
            )
        ],
        "cell:3 `exec(chr(10).join(lines))`",
    ),
}


def recorded(cells: list[str], engine: Any, recording: str) -> Any:
    """The trace that cells leave in `trace`, of an engine with the name torch."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns.update(torch=engine, workbench=__import__("workbench"))
    for cell in ("w = torch.ones(3, requires_grad=True)", *cells):
        outcome = shell.run_cell(cell.replace("RECORD", f"workbench.record({recording})"), store_history=True)
        outcome.raise_error()
    return shell.user_ns["trace"]


def lines_are_told(cells: list[str], place: str, engine: Any, recording: str = "") -> None:
    """Assert that every event's line has a text, and that the finding about `log` quotes the right one."""
    trace = recorded(cells, engine, recording)
    sources = [each.source for each in trace.events if hasattr(each, "source") and each.source is not None]
    assert len(sources) >= 4 and all(each.text for each in sources)
    told = str(trace.findings()).replace("\u00a0", " ")
    assert f"comes from `log` ({place}" in told
    assert "`" in place or "log" in told.split("`")[3]
