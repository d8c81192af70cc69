"""What a stepper sends to the browser: golden/sessions.txt contains the sessions, line by line.

The name of a session says what it shows. To add one, write its name and its lines, each after `> `, and let
`WORKBENCH_WRITE_GOLDEN=1 pytest tests/stepper/test_sessions.py` write what changes after each. When words change, run
this command again, and read the diff.
"""

from __future__ import annotations

import ast
import linecache
from pathlib import Path
from typing import Any
from zlib import crc32

from golden import check_golden, programs, quoted
from made_functions import function, raising
from stepped import Browser, called, fork, leaf, line

import workbench as torch

GOLDEN = Path(__file__).parent / "golden" / "sessions.txt"
QUIET = ("answered", "next", "beside", "ran")  # of a status, what other fields tell too


def double(grad: Any) -> Any:
    return grad * 2


def clip(tensor: Any) -> None:
    tensor.grad = tensor.grad.clamp(max=1.0)


class Session:
    """A session: runs lines, and notes what each of them changes in the browser."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {each.__name__: each for each in (fork, line, leaf, double, clip)}
        self.names |= {"Fails": function("Fails", lambda x: x * 2, raising(ZeroDivisionError("nothing to divide")))}
        self.names |= {"torch": torch, "start": self.start, "print": lambda s: self.lines.append(repr(s))}
        self.browser: Browser | None = None
        self.before: dict[str, str] = {}

    def start(self, loss: Any, **options: Any) -> None:
        """Begin with a program that ends with a stepper, or with a tensor."""
        s = loss()[-1] if callable(loss) else torch.step(loss, **options)
        self.browser = browser = Browser(s)
        self.names |= {"s": s, "ask": browser.ask, "at": browser.id}

    def run(self, program: str) -> str:
        """Run the lines; what changed is below each."""
        file = f"session_{crc32(program.encode()):08x}.py"
        linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
        for part in ast.parse(program).body:
            self.lines.append(quoted(ast.get_source_segment(program, part) or ""))
            if self.browser is not None:
                self.browser.view._last = float("inf")  # as if all of the line were quick: it is shown once, at its end
            exec(compile(ast.Module([part], []), file, "exec"), self.names)
            if self.browser is not None:
                self.browser.view.update()
                now = self.seen(self.browser)
                self.lines += [f"   {key}: {said}" for key, said in now.items() if self.before.get(key, "") != said]
                self.before = now
        return "\n".join(self.lines)

    @staticmethod
    def seen(browser: Browser) -> dict[str, str]:
        """What a reader sees."""
        seen = {key: str(value or "") for key, value in browser.status.items() if key not in QUIET}
        for id, box in browser.boxes.items():
            if box["kind"] != "saved":
                seen[f"{called(box)} ({id})"] = "; ".join([*box["lines"], box["state"]])
        beside = browser.status["beside"]
        for id, box in beside.get("boxes", {}).items() if beside else ():
            if browser.boxes[id]["kind"] != "saved":
                seen[f"beside on {beside['name']}, {id}"] = "; ".join([*box.get("lines", ()), box["state"]])
        return seen


def test_a_session_is_told_as_it_was() -> None:
    check_golden(GOLDEN, {name: Session().run(program) for name, program in programs(GOLDEN).items()})
