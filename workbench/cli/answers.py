"""Answers for programs: one JSON object on standard output, a SARIF file, and an exit status that depends on findings.

The page "Answers for programs" of the documentation describes the objects, field by field.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import workbench

from . import errors
from .errors import CommandError

if TYPE_CHECKING:
    from workbench.diagnosis.health.findings import Findings
    from workbench.pictures.recording import Trace

# The version of the objects: it changes if a field is removed or means something else, not if one is added.
SCHEMA = 1
KINDS = ("findings", "trace", "picture", "audit", "diff")
# The exit status for what `--fail-on` names: 1 is an error, and 2 a wrong command line.
FOUND = 3
FAIL_ON = {"certain": "certain findings", "finding": "all findings", "never": "none"}


def as_json(kind: str, content: Mapping[str, Any]) -> str:
    """Return the answer of a command as the JSON object that it prints: ASCII only, and never `NaN`."""
    assert kind in KINDS
    answer = {"workbench": workbench.__version__, "schema": SCHEMA, "kind": kind, **content}
    return json.dumps(answer, indent=2, allow_nan=False)


@dataclass(frozen=True)
class Answering:
    """What a command line asks about its answer: `--json`, `--sarif FILE` and `--fail-on WHAT`."""

    json: bool = False
    sarif: Path | None = None
    fail_on: str = "never"

    @classmethod
    def of(cls, asked: argparse.Namespace, sources: Sequence[Path] = ()) -> Answering:
        """Return what a parsed command line asks; refuse a SARIF file that can't be written or is a source.

        Raises:
            CommandError: before any work is done.
        """
        sarif = getattr(asked, "sarif", None)
        if sarif is not None:
            from workbench.pictures.scene.picture import check_place

            sarif = sarif.absolute()  # a script may go to another folder
            try:
                check_place(sarif)
                if any(sarif.exists() and each.exists() and sarif.samefile(each) for each in sources):
                    raise CommandError(errors.OVER_SOURCE.format(asked.sarif))
            except OSError as error:
                raise CommandError(errors.NOT_WRITTEN.format(asked.sarif, error.strerror)) from None
        return cls(asked.json, sarif, getattr(asked, "fail_on", "never"))

    @property
    def words(self) -> TextIO:
        """The stream for what people read: with `--json`, standard output has the object only."""
        return sys.stderr if self.json else sys.stdout

    @property
    def asks(self) -> bool:
        """True if the findings matter to the answer."""
        return self.json or self.sarif is not None or self.fail_on != "never"

    def say(self, text: object) -> None:
        """Print a text for people."""
        print(text, file=self.words, flush=True)

    def put(self, kind: str, content: Mapping[str, Any], to: TextIO | None = None) -> None:
        """Print the object, if it's asked for."""
        if self.json:
            print(as_json(kind, content), file=to or sys.stdout, flush=True)

    def status(self, found: Findings) -> int:
        """Return the exit status for these findings."""
        counts = [each for each in found if each.certain or self.fail_on == "finding"]
        return FOUND if self.fail_on != "never" and counts else 0

    def write_sarif(self, found: Findings, root: Path, fallback: Path | None = None) -> None:
        """Write the SARIF file, if it's asked for; its places are relative to the checkout around `root`."""
        if self.sarif is None:
            return
        from workbench.cli.sarif import sarif_of
        from workbench.pictures.scene.picture import write_whole

        text = json.dumps(sarif_of(found, root, fallback), indent=1, allow_nan=False)
        try:
            write_whole(self.sarif, f"{text}\n".encode())
        except OSError as error:
            raise CommandError(errors.NOT_WRITTEN.format(self.sarif, error.strerror or error)) from None


PLAIN = Answering()


class TraceAnswer:
    """The answer of `workbench trace`: what was recorded, or why nothing was.

    With `--json`, what the script prints goes to standard error, from its first line to its last.
    """

    def __init__(self, asked: Answering, script: str, path: Path) -> None:
        self._asked, self._script, self._pid = asked, script, os.getpid()
        self._root = Path.cwd()  # a script may go to another folder
        self._path = path.resolve() if path.is_file() else None
        self._trace: Trace | None = None
        self._about: dict[str, Any] = {"wrote": None, "engine": None, "steps": 0}
        self._message = ""
        self._out = _output_on_stderr() if asked.json else None

    def took(self, trace: Trace, **about: Any) -> None:
        """Store what was recorded: `wrote` is the file or None, and `engine` and `steps` are as in the message."""
        self._trace = trace
        self._about |= about

    def said(self, message: str) -> None:
        """Print a message for people, and store it for the object."""
        self._message = message.removeprefix("workbench: ")
        print(message, file=sys.stderr, flush=True)

    def after(self, run: Callable[[], int]) -> int:
        """Run the script, give the answer however the script ends, and return the exit status: the script's is first.

        Raises:
            BaseException: what ended the script.
        """
        try:
            status = run()
        except SystemExit as error:
            status = self._given()
            if error.code not in (None, 0) or not status:
                raise
        except BaseException:
            self._given()
            raise
        else:
            status = status or self._given()
        return status

    def _given(self) -> int:
        """Print and write what the command line asks for; return the exit status for the findings."""
        if self._pid != os.getpid() or not self._asked.asks:  # a process that the script forked
            return 0
        from workbench.diagnosis.health.findings import Findings

        found = Findings() if self._trace is None else self._trace.findings()
        try:
            if self._trace is not None:  # an empty file would say that nothing is wrong
                self._asked.write_sarif(found, self._root, self._path)
        except CommandError as error:
            print(f"workbench: {error}", file=sys.stderr, flush=True)
            return error.exit_code
        finally:
            content = {"script": self._script, **self._about, "message": self._message, **found.to_dict()}
            self._asked.put("trace", content, self._out)
        if self._trace is None and self._asked.fail_on != "never":
            return 1  # a check that saw nothing has not passed
        status = self._asked.status(found)
        if status and str(found) not in self._message:  # as --until-finding has it there
            print(found, file=sys.stderr, flush=True)
        return status


def _output_on_stderr() -> TextIO:
    """Send the standard output of this process and its children to standard error; return the real one."""
    try:
        sys.stdout.flush()
        out = open(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
    except (AttributeError, OSError) as error:
        raise CommandError(errors.NOT_WRITTEN.format("the standard output", error)) from None
    return out
