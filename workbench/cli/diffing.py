"""Compare two saved recordings: `workbench diff`."""

from __future__ import annotations

import sys
from pathlib import Path

from workbench.cli import errors
from workbench.cli.answers import as_json as as_answer
from workbench.cli.errors import CommandError
from workbench.cli.tracing import Output
from workbench.diagnosis.diffing import Diff, diff

DIFFER = 1  # exit status; 0 says that both are the same
INCOMPARABLE = 2  # exit status


def compare(
    sources: tuple[Path, Path], output: Path | None, rtol: float | None, atol: float | None, as_json: bool
) -> int:
    """Print the diff of two recordings and return the exit status: 0 if they are the same, 1 if they differ.

    Args:
        sources: The two files.
        output: A file to write too: a page, a picture, or the data.
        rtol: The relative tolerance, or None for that of the dtype.
        atol: The absolute tolerance.
        as_json: Whether to print data instead of text.
    """
    try:
        target = None if output is None else _target(output, sources)
        found = _diff(sources, rtol, atol)
    except CommandError as error:
        raise CommandError(str(error), exit_code=INCOMPARABLE) from None
    content = {"wrote": None if target is None else str(target.told), **found.to_dict()}
    print(as_answer("diff", content) if as_json else found, flush=True)
    if target is not None:
        try:
            found.save(target.path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CommandError(errors.NOT_WRITTEN.format(target.told, reason), exit_code=INCOMPARABLE) from None
        print(f"Wrote {target.said}.", file=sys.stderr if as_json else sys.stdout, flush=True)
    return 0 if found.same else DIFFER


def _target(output: Path, sources: tuple[Path, Path]) -> Output:
    for source in sources:
        target = Output(output, source)
    return target


def _diff(sources: tuple[Path, Path], rtol: float | None, atol: float | None) -> Diff:
    for source in sources:
        if source.suffix == ".jsonl" and source.is_file():
            raise CommandError(errors.WATCHED_TWICE.format(source))
    try:
        return diff(*sources, rtol=rtol, atol=atol)
    except FileNotFoundError as error:
        raise CommandError(errors.NO_TRACE.format(error.filename)) from None
    except OSError as error:
        raise CommandError(errors.NOT_READ.format(error.filename, error.strerror)) from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    except Exception as error:  # Python would end with the status that says that they differ
        raise CommandError(errors.NOT_COMPARED.format(*sources, f"{type(error).__name__}: {error}")) from error
