"""Run a script as Python does and record its first steps; open a trace that was saved."""

from __future__ import annotations

import gzip
import importlib.machinery
import io
import os
import runpy
import sys
import types
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar

import numpy as np

import workbench
from workbench.cli import errors
from workbench.cli.answers import PLAIN, Answering, TraceAnswer
from workbench.cli.errors import CommandError
from workbench.cli.first_steps import EngineSteps, FirstSteps, guarded
from workbench.cli.until_finding import UntilFinding
from workbench.diagnosis.health.finding import plural
from workbench.diagnosis.health.findings import Findings
from workbench.diagnosis.health.log import WatchLog, of_this_process, read_log
from workbench.diagnosis.health.ranks import read_ranks
from workbench.pictures.recording import Trace, load
from workbench.pictures.scene.picture import Picture, check_place, check_suffix
from workbench.pictures.views.health import health_of_log

WROTE = "workbench: wrote {page}: {steps} of {script}{where}, recorded from {engine}; {rest}."
UNRECORDED = "the script continues unrecorded"
ENDED = "the script had no more steps"
NO_BACKWARD = (
    "workbench: nothing recorded: {script} ran no backward pass. Trace a script that calls backward() itself, in its "
    "own process."
)
FAILED_BEFORE = "workbench: nothing recorded: {script} failed before its first backward pass."
NOT_REACHED = (
    "workbench: nothing recorded: {script} ended after {steps}, before --from-step {first}. Use a smaller value."
)
NOT_WRITTEN = "workbench: {}"
OURS = b'id="storyboard"', b'{"format": "workbench-trace"'  # a part of every page, and the start of every trace
OVER = ", replacing the file that was there"
OPTIONS = frozenset({"--steps", "--from-step", "--until-finding", "--view", "-o", "--json", "--sarif", "--fail-on"})
OPTIONS_AFTER = "workbench: everything after {script} is passed to it. Put the options of workbench trace before it."
# Their frames are left out of the traceback of a script that fails: without the workbench it wouldn't have them.
_PACKAGE = os.path.dirname(os.path.abspath(workbench.__file__)) + os.sep
_HIDDEN = tuple(os.path.join(_PACKAGE, room) + os.sep for room in ("cli", "bridges"))


class Output:
    """The file that a command writes; a wrong name is reported before any work is done.

    A .json file has the trace, and if it `carries` that, the picture too.
    """

    def __init__(
        self, path: Path | None, source: Path | None = None, view: str | None = None, carries: bool = False
    ) -> None:
        shown = "" if view in (None, "graph") else f".{view}"
        self.told = of_this_process(path or Path("trace.html" if source is None else f"{source.stem}{shown}.html"))
        self.path = self.told.absolute()  # a script may go to another folder
        self._is_over = False
        self.view = view
        try:
            suffix = check_suffix(self.told)
            check_place(self.path)
            if self.path.exists():
                if source is not None and source.exists() and self.path.samefile(source):
                    raise CommandError(errors.OVER_SOURCE.format(self.told))
                self._is_over = not is_ours(self.path)
                if path is None and self._is_over:
                    raise CommandError(errors.NOT_OURS.format(self.told))
        except (ValueError, ModuleNotFoundError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(errors.NOT_WRITTEN.format(self.told, error.strerror)) from None
        self._carries = carries and suffix == ".json"
        if suffix == ".json" and view is not None and not carries:
            raise CommandError(errors.NO_VIEW_IN_DATA.format(self.told))

    @property
    def said(self) -> str:
        """Return the name of the file, and whether it replaced one that isn't the workbench's."""
        return f"{self.told}{OVER if self._is_over else ''}"

    def write(self, trace: Trace) -> None:
        """Write the picture of a trace, or the trace itself, completely or not at all."""
        self.save(lambda: trace.show(self.view or "graph") if self.view or self._carries else trace)

    def save(self, made: Callable[[], Trace | Picture]) -> None:
        """Write the trace or picture that `made` returns, completely or not at all."""
        try:
            # The program may have turned floating-point warnings into errors.
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                made().save(self.path)
        except OSError as error:
            raise CommandError(errors.NOT_WRITTEN.format(self.told, error.strerror or error)) from None
        except Exception as error:
            raise CommandError(errors.NOT_WRITTEN.format(self.told, f"{type(error).__name__}: {error}")) from None


def is_ours(path: Path) -> bool:
    """Return True if a file is a page of the workbench or a trace."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
            content = file.read(100)
    return OURS[0] in content or content.startswith(OURS[1])


def show(source: Path, output: Path | None, view: str | None, answering: Answering = PLAIN) -> None:
    """Render a saved trace."""
    target = Output(output, source, view, carries=True)
    if source.suffix == ".jsonl" and source.is_file():
        raise CommandError(errors.WATCHED.format(source))
    trace = _read(load, source)
    target.write(trace)
    answering.say(f"Wrote {target.said}.")
    if answering.json:
        picture = trace.show(view or "graph")
        about = {"source": str(source), "wrote": str(target.told), "view": view or "graph"}
        steps = len(picture.storyboard.steps)
        answering.put("picture", {**about, "title": picture.storyboard.title, "steps": steps, "text": repr(picture)})


def health(sources: list[Path], output: Path | None, answering: Answering = PLAIN) -> int:
    """Print the findings of a training run and write its health report; return the exit status.

    Args:
        sources: A saved trace, a log of `watch`, or several logs, one per process.
        output: The file to write; by default it is named after the source.
        answering: How to answer a program.
    """
    sources = _matching(sources)
    if answering.sarif is not None and sources[0].suffix == ".jsonl":
        raise CommandError(errors.NO_LINES.format(sources[0]))
    if len(sources) > 1:
        found, target = _health_of_ranks(sources, output, answering)
    elif sources[0].suffix == ".jsonl":
        target = Output(output, sources[0], "health")
        found = _health_of(_read(read_log, sources[0]), target, answering)
    else:
        source = sources[0]
        target = Output(output, source, "health")
        trace = _read(load, source)
        found = trace.findings()
        answering.say(found)
        if any("`trace." in each.next_step for each in found):
            answering.say(f"To run this, first type: trace = workbench.load({str(source)!r})")
        target.write(trace)
        answering.write_sarif(found, Path.cwd())
    answering.say(f"Wrote {target.said}.")
    answering.put("findings", {"sources": list(map(str, sources)), "wrote": str(target.told), **found.to_dict()})
    return answering.status(found)


def _health_of_ranks(sources: list[Path], output: Path | None, answering: Answering) -> tuple[Findings, Output]:
    for each in sources:
        if each.suffix != ".jsonl":
            raise CommandError(errors.NOT_OF_WATCH.format(each))
    together = Path(f"{sources[0].stem.partition('.rank')[0]}.ranks.jsonl")
    target = Output(output, together, "health")
    return _health_of(_read(lambda _: read_ranks(sources), together), target, answering), target


def _health_of(log: WatchLog, target: Output, answering: Answering) -> Findings:
    found = Findings(log.found, f"{plural(len(log.table.steps), 'watched step')}.")
    answering.say("\n".join([each.sentence for each in found]) or str(found))
    target.save(lambda: Picture(health_of_log(log)))
    return found


def _matching(sources: list[Path]) -> list[Path]:
    """Return the files, with patterns that the shell didn't expand replaced by what they match."""
    found: list[Path] = []
    for each in sources:
        if each.exists() or not any(sign in each.name for sign in "*?["):
            found.append(each)
        else:
            found += sorted(each.parent.glob(each.name)) or [each]
    return list(dict.fromkeys(found))


_Read = TypeVar("_Read")


def _read(how: Callable[[Path], _Read], source: Path) -> _Read:
    try:
        return how(source)
    except FileNotFoundError as error:
        raise CommandError(errors.NO_TRACE.format(error.filename or source)) from None
    except OSError as error:
        raise CommandError(errors.NOT_READ.format(error.filename or source, error.strerror)) from None
    except ValueError as error:
        raise CommandError(str(error)) from None


class Script:
    """A script or a module, run the way Python runs it."""

    def __init__(self, words: list[str], is_module: bool) -> None:
        self.name, self.arguments, self._is_module = words[0], words[1:], is_module
        self.path = Path(f"{self.name.rpartition('.')[2]}.py" if is_module else self.name)
        self.frame: FrameType | None = None  # the outermost one
        if not is_module:
            try:
                with io.open_code(os.path.abspath(self.name)) as file:
                    self._source = file.read()
            except FileNotFoundError:
                raise CommandError(errors.NO_SCRIPT.format(self.name)) from None
            except IsADirectoryError:
                raise CommandError(errors.SCRIPT_IS_FOLDER.format(self.name)) from None
            except OSError as error:
                folder = os.path.isdir(self.name)  # which Windows refuses to open
                reason = errors.SCRIPT_IS_FOLDER.format(self.name)
                raise CommandError(
                    reason if folder else errors.NOT_READ.format(self.name, error.strerror or error)
                ) from None

    def is_outermost(self, frame: FrameType) -> bool:
        """Return True if this frame runs the program's top-level code."""
        found = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if found:
            self.frame = frame
        return found

    def run(self) -> None:
        """Run it as the main module; its errors pass through."""
        sys.argv[:] = [self.name, *self.arguments]
        if self._is_module:
            _put_first(os.getcwd())
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
            return
        file = os.path.abspath(self.name)
        _put_first(os.path.dirname(os.path.realpath(file)))
        if b"workbench" not in self._source:  # which sets what NumPy says of a division by zero
            np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
        code = compile(self._source, file, "exec", dont_inherit=True)
        main = types.ModuleType("__main__")
        main.__file__ = file
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", file)
        vars(main).update(__builtins__=__builtins__, __cached__=None)
        sys.modules["__main__"] = main
        exec(code, vars(main))


def _put_first(folder: str) -> None:
    """Search for modules in this folder instead of the folder of the command `workbench`."""
    if sys.flags.safe_path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def trace(program: Script, target: Output, first: int, count: int, until: bool, answer: TraceAnswer) -> int:
    """Run a program, record `count` steps after skipping `first`, and write them; the program's errors pass through.

    Messages go to stderr, so that the program's output and exit status stay its own.

    Args:
        program: The script or module to run.
        target: The file to write.
        first: Number of steps to skip.
        count: Number of steps to record.
        until: Record until a problem is found, and keep the last `count` steps.
        answer: Gets the recording and the messages.
    """
    written: list[EngineSteps] = []
    failed = interrupted = False
    search = UntilFinding(count) if until else None

    def write(rest: str) -> None:
        engine = steps.most if search is None else search.engine
        if engine is None or engine.trace is None or written or not steps.is_of_this_process:
            return
        taken = min(engine.steps, first + count) - first
        recorded = engine.recorded if search is not None else max(0, taken) or engine.elsewhere
        answer.took(engine.trace, engine=engine.name, steps=recorded)
        try:
            target.write(engine.trace)
            answer.took(engine.trace, wrote=str(target.told))
            named = {"page": target.said, "script": program.name, "engine": engine.name}
            where = "" if taken > 0 or not engine.elsewhere else ", in another thread"
            steps_said = _steps(max(0, taken) or engine.elsewhere)
            said = WROTE.format(**named, steps=steps_said, where=where, rest=rest)
            if search is not None:
                said = search.message(program.name, target.said, rest)
        except CommandError as error:
            said = NOT_WRITTEN.format(error)
        written.append(engine)
        answer.said(said)

    lines = target.view == "function"
    if search is None:
        steps = FirstSteps(first, first + count, lines, lambda: write(UNRECORDED))
    else:
        steps = search.steps = FirstSteps(first, None, lines, lambda: write(UNRECORDED), search.took)
    steps.begin_with(program.is_outermost)
    try:
        program.run()
    except BaseException as error:
        failed, interrupted = not isinstance(error, SystemExit), isinstance(error, KeyboardInterrupt)
        _hide_own_frames(program)
        if isinstance(error, SystemExit) and error.code == 2 and OPTIONS.intersection(program.arguments):
            print(OPTIONS_AFTER.format(script=program.name), file=sys.stderr)
        raise
    finally:
        guarded(steps.leave)
        if search is not None:
            guarded(lambda: search.ended(interrupted))
        write(ENDED)
        if not written and steps.is_of_this_process:
            answer.said(_nothing(program, steps, first, failed))
    return 0


def _nothing(program: Script, steps: FirstSteps, first: int, failed: bool) -> str:
    """Explain why nothing was recorded."""
    taken = max([each.steps for each in steps.engines], default=0)
    if 0 < taken <= first:
        return NOT_REACHED.format(script=program.name, steps=_steps(taken), first=first)
    return (FAILED_BEFORE if failed else NO_BACKWARD).format(script=program.name)


def _steps(count: int) -> str:
    return f"{count} step{'s' * (count > 1)}" if count else "no whole step"


def _hide_own_frames(program: Script) -> None:
    """Make the traceback of the error that ends the program start at the program's own lines."""
    hook: Callable[..., Any] = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, way: TracebackType | None) -> None:
        error.__traceback__ = way = of_program(way, program.frame)
        hook(kind, error, way)

    sys.excepthook = show


def of_program(way: TracebackType | None, outermost: FrameType | None) -> TracebackType | None:
    """Return the traceback from the program's outermost frame on, without the recorder's frames."""
    frames: list[TracebackType] = []
    while way is not None:
        hidden = way.tb_frame.f_code.co_filename.startswith(_HIDDEN)
        if way.tb_frame is outermost or (hidden and outermost is None):  # none: it has not begun
            frames = []
        if not hidden:
            frames.append(way)
        way = way.tb_next
    for each in reversed(frames):
        way = TracebackType(way, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return way
