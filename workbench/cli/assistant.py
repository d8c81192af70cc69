"""What an assistant can ask for: recordings, findings, explanations, audits and pictures, in short texts.

`mcp_server.py` offers these functions as tools. Each answer is limited in length, says what it left out, and ends with
the next step. Files are those below one folder only.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from workbench.cli.grammar import VIEW_NAMES
from workbench.cli.tracing import is_ours
from workbench.errors import did_you_mean
from workbench.pictures.recording import load
from workbench.pictures.scene.text import to_mermaid

if TYPE_CHECKING:
    from workbench.pictures.recording import Trace

MOST = 4000  # characters of an answer, without its next step
_TAIL = 1500  # characters that are shown of what a script printed
_LARGEST_ANSWER = 1 << 24  # bytes that are read of what a command answers
_PATIENCE = 10  # seconds that a program has to end after Ctrl-C
_COMPARES = 300  # seconds that a comparison may take
_LONGEST = 3600  # seconds that a program may run
FORMATS = ("text", "mermaid")

OUTSIDE = "{!r} isn't below the folder {}, where the server was started. Only files below it can be used."
NO_FILE = "No file {!r} below {}.{}"
NOT_JSON = "{!r} doesn't end in .json, so no recording can be written there."
TAKEN = "{!r} already exists and isn't a recording of the workbench. Give another name for the output."
NO_TARGET = "{!r} names no Function. Write FILE.py:NAME, for example ops.py:Square."
NO_VIEW = "No view {!r}.{} Views: {}."
NO_FORMAT = "No format {!r}. Formats: {}."
TOO_LONG = "It ran longer than {} seconds, so it was stopped."


class AnswerError(Exception):
    """A question that can't be answered; its text says why, for the assistant."""

    def __init__(self, text: str) -> None:
        super().__init__(_encodable(text))


def _encodable(text: str) -> str:
    """Return a text without surrogates: a recording of others may have one in a name, and no protocol carries it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def answer(text: str, next_step: str, start: int = 0) -> str:
    """Return a part of a text that fits into an answer, what was left out of it, and the next step."""
    text = _encodable(text)
    start = max(0, min(start, len(text)))
    shown = text[start : start + MOST]
    before, after = start, len(text) - start - len(shown)
    left = [f"{before:,} characters before this part"] * (before > 0)
    left += [f"{after:,} characters after it: ask again with start={start + len(shown)}"] * (after > 0)
    cut = f"\n\n[Left out: {'; '.join(left)}.]" if left else ""
    return f"{shown}{cut}\n\nNext step: {next_step}"


class Assistant:
    """The questions, about files below the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve(strict=True)

    # Files.

    def path(self, name: str) -> Path:
        """Return the path that a name stands for, without links.

        Raises:
            AnswerError: if it isn't below the folder, also because of a link or `..`.
        """
        try:
            path = (self.root / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a zero byte, a circle of links
            raise AnswerError(OUTSIDE.format(name, self.root)) from None
        if not path.is_relative_to(self.root) or path == self.root:
            raise AnswerError(OUTSIDE.format(name, self.root))
        return path

    def file(self, name: str) -> Path:
        """Return the path of a file that exists."""
        path = self.path(name)
        if not path.is_file():
            near = did_you_mean(path.name, [each.name for each in self._beside(path)])
            raise AnswerError(NO_FILE.format(name, self.root, near))
        return path

    def _beside(self, path: Path) -> list[Path]:
        with suppress(OSError):
            return [each for each in path.parent.iterdir() if each.suffix == path.suffix]
        return []

    def _named(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _word(self, path: Path) -> str:
        """Return a path as a word of a command line, which is never an option."""
        return f"./{self._named(path)}"

    def _trace(self, name: str) -> Trace:
        path = self.file(name)
        try:
            return load(path)
        except (OSError, ValueError) as error:
            raise AnswerError(str(error)) from None

    # Questions.

    def record_script(
        self,
        script: str,
        arguments: Sequence[str] = (),
        steps: int = 3,
        until_finding: bool = False,
        output: str = "",
        timeout_seconds: int = 300,
    ) -> str:
        """Run a script and record its training steps; return what was recorded and found."""
        path = self.file(script)
        target = self.path(output or f"{script.removesuffix('.py')}.trace.json")
        if target.suffix != ".json":
            raise AnswerError(NOT_JSON.format(output))
        if target.exists() and not (target.is_file() and is_ours(target)):
            raise AnswerError(TAKEN.format(self._named(target)))
        options = ["--json", "--steps", str(max(1, steps)), "-o", self._word(target)]
        options += ["--until-finding"] * until_finding
        ran = self._run(["trace", *options, self._word(path), *arguments], timeout_seconds)
        try:
            told = json.loads(ran.out)
        except ValueError:
            raise AnswerError(ran.failure) from None
        lines = [f"{ran.stopped}{told['message'].replace(' ./', ' ')}"]
        if ran.status:
            lines.append(f"The script ended with status {ran.status}. Its last lines:\n{_tail(ran.err)}")
        if not told["wrote"]:
            return answer("\n".join(lines), "fix what stopped the script, or record one that calls backward().")
        name = self._named(target)
        count = len(told["findings"])
        lines.append(f"Findings: {count}.")
        lines += [f"- {each['sentence']}" for each in told["findings"][:3]]
        if count:
            return answer("\n".join(lines), f'list_findings(trace="{name}") shows each finding with its fix.')
        return answer(
            "\n".join(lines), f'explain_gradient(trace="{name}", tensor=…) or show_trace(trace="{name}") for more.'
        )

    def list_findings(self, trace: str, start: int = 0) -> str:
        """Return the findings of a recording, with their lines and fixes."""
        found = self._trace(trace).findings()
        if not found:
            return answer(str(found), f'show_trace(trace="{trace}") shows the recording.', start)
        first = found[0]
        where = "" if first.line is None else f", beginning at {first.line.file}, line {first.line.line}"
        certain = "change the code as each Fix says" if first.certain else "decide whether each is intentional"
        return answer(str(found), f"{certain}{where}, then call record_script again and compare.", start)

    def explain_gradient(self, trace: str, tensor: str, loss: str = "", start: int = 0) -> str:
        """Return why the gradient of a tensor is None, zero, not finite, or a sum."""
        try:
            why = self._trace(trace).why(tensor, loss or None)
        except ValueError as error:
            raise AnswerError(str(error)) from None
        changed = "make the change that it names, then call record_script again."
        other = f'if you expected another gradient, list_findings(trace="{trace}") looks at the whole run.'
        return answer(repr(why), changed if why.advice else other, start)

    def show_trace(self, trace: str, view: str = "graph", format: str = "text", start: int = 0) -> str:
        """Return a recording as text or as Mermaid source."""
        if view not in VIEW_NAMES:
            raise AnswerError(NO_VIEW.format(view, did_you_mean(view, VIEW_NAMES), ", ".join(VIEW_NAMES)))
        if format not in FORMATS:
            raise AnswerError(NO_FORMAT.format(format, ", ".join(FORMATS)))
        try:
            picture = self._trace(trace).show(view)
        except ValueError as error:
            raise AnswerError(str(error)) from None
        text = repr(picture) if format == "text" else to_mermaid(picture.storyboard)
        page = shlex.join(["workbench", "show", trace, "--view", view])
        return answer(text, f"`{page}` writes the page for a person to play.", start)

    def diff_traces(self, a: str, b: str, start: int = 0) -> str:
        """Return the first differences between two recordings."""
        ran = self._run(["diff", *[self._word(self.file(each)) for each in (a, b)]], _COMPARES)
        if not ran.out.strip():
            raise AnswerError(ran.failure)
        differ = "look at the first difference: those after it often follow from it."
        return answer(ran.out.strip(), differ if ran.status else "nothing to do: both recordings are the same.", start)

    def audit_function(self, target: str, inputs: Sequence[str] = (), timeout_seconds: int = 120) -> str:
        """Run all checks on a Function of a file; return which fail, and why."""
        name, _, function = target.rpartition(":")
        if not name.endswith(".py") or not function.replace(".", "_").isidentifier():
            raise AnswerError(NO_TARGET.format(target))
        path = self.file(name)
        options = [word for each in inputs for word in ("--input", each)]
        ran = self._run(["audit", *options, f"{self._word(path)}:{function}"], timeout_seconds)
        if not ran.stopped and ran.status not in (0, 1) or not ran.out.strip():
            raise AnswerError(ran.failure)
        todo = "fix the first failed check, then audit again." if ran.status else "no check failed; nothing to do."
        return answer(f"{ran.stopped}{ran.out.strip()}", todo)

    # Other processes.

    def _run(self, words: Sequence[str], timeout: int) -> Ran:
        """Run a command of this very workbench in the folder, with no input."""
        # -P: the folder may have a workbench.py.
        return Ran([sys.executable, "-P", "-m", "workbench", *words], self.root, max(1, min(timeout, _LONGEST)))


class Ran:
    """A program that has run: its exit status, what it printed, and whether it was stopped."""

    def __init__(self, words: Sequence[str], folder: Path, timeout: int) -> None:
        self.stopped = ""
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # and so in a group of its own, where there are groups
        )
        assert process.stdout is not None and process.stderr is not None
        out, err = _Last(process.stdout, _LARGEST_ANSWER), _Last(process.stderr, 8 * _TAIL)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stopped = f"{TOO_LONG.format(timeout)} "
            _send(process, signal.SIGINT)  # what was recorded so far is still written
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
        finally:
            _send(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # also what it started
            process.wait()
        self.status = process.returncode
        self.out, self.err = out.text(), err.text()

    @property
    def failure(self) -> str:
        """Return why there is no answer: that it was stopped, and the last of what it printed for people."""
        return f"{self.stopped}{_tail(self.err)}"


def _environment() -> dict[str, str]:
    """Return an environment in which this package is found; an installed one is without help."""
    place = Path(__file__).resolve().parents[2]
    if place.name in ("site-packages", "dist-packages"):
        return dict(os.environ)
    others = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{others}" if others else str(place)}


def _send(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.kill()


class _Last:
    """The last bytes that come out of a pipe, read in a thread."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        self._pipe, self._most, self._bytes = pipe, most, bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while part := os.read(self._pipe.fileno(), 1 << 16):
                self._bytes += part
                del self._bytes[: -self._most]

    def text(self) -> str:
        """Return them, once the pipe is closed; a process that left the group and holds it isn't waited for."""
        self._thread.join(_PATIENCE)
        return bytes(self._bytes).decode("utf-8", "replace")


def _tail(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _TAIL else f"[…] {text[-_TAIL:]}"
