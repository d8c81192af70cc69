"""Audit a Function of a file, or all Functions that a script applies: `workbench audit`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import workbench
from workbench.cli import errors
from workbench.cli.answers import as_json as as_answer
from workbench.cli.errors import CommandError
from workbench.cli.first_steps import ImportWatch
from workbench.cli.grammar import is_name_in_file
from workbench.cli.tracing import Script, of_program
from workbench.diagnosis.auditing import Audit, audit
from workbench.diagnosis.auditing.applied import LARGEST, AppliedFunctions
from workbench.diagnosis.auditing.case import engine_of
from workbench.diagnosis.auditing.checks import CHECKS
from workbench.diagnosis.auditing.inputs import InputError, read_inputs

COULD_NOT = 2  # the exit code of an audit that couldn't be run


def audit_command(words: list[str], inputs: Sequence[str], checks: Sequence[str], as_json: bool) -> int:
    """Audit what a command line names, print what was found, and return the exit code.

    Args:
        words: `FILE:NAME`, or a script with its arguments.
        inputs: The descriptions of the inputs.
        checks: The checks to run; by default all.
        as_json: Print data instead of tables.
    """
    if unknown := [each for each in checks if each not in CHECKS]:
        names = ", ".join(map(repr, CHECKS))
        raise CommandError(errors.NO_CHECK.format(unknown[0], names), COULD_NOT)
    place, _, name = words[0].rpartition(":")
    if is_name_in_file(words[0]):
        if len(words) > 1:
            raise CommandError(errors.AUDIT_TAKES_NO_MORE.format(words[0], words[1]), COULD_NOT)
        found = [_of_name(place, name, inputs, checks)]
        failed, is_ok = False, found[0].ok
    else:
        if inputs:
            raise CommandError(errors.INPUT_OF_SCRIPT.format(words[0]), COULD_NOT)
        found, failed = _of_script(words, checks, as_json)
        is_ok = not any(each.failures for each in found)  # one without a gradient is nothing wrong in a script
    if as_json:
        print(as_answer("audit", {"wrote": None, "audits": [each.to_dict() for each in found]}), flush=True)
    else:
        print("\n\n".join(map(str, found)), flush=True)
    return COULD_NOT if failed else int(not is_ok)


def _of_name(place: str, name: str, texts: Sequence[str], checks: Sequence[str]) -> Audit:
    """Audit a Function of a file or a module."""
    module = _imported(place)
    target: Any = module
    for part in name.split("."):
        if not hasattr(target, part):
            near = workbench.errors.did_you_mean(part, _auditable(module))
            raise CommandError(errors.NO_NAME_IN.format(place, name, near), COULD_NOT)
        target = getattr(target, part)
    if not callable(target):
        raise CommandError(errors.NOT_AUDITABLE.format(name, type(target).__name__), COULD_NOT)
    engine = _engine(module, target)
    try:
        inputs = read_inputs(engine, target, texts)
    except InputError as error:
        raise CommandError(str(error), COULD_NOT) from None
    try:
        found = audit(target, *inputs, checks=checks or None)
    except ValueError as error:
        raise CommandError(f"{error} {errors.GIVE_INPUT}", COULD_NOT) from None
    first = found.checks[0]
    if not texts and first.outcome == "fail" and not checks and _raises_by_itself(engine, target, inputs):
        shapes = ["float32[3,4]", "float32[4,2]", *["float32[4]"] * len(inputs)][: max(1, len(inputs))]
        example = " ".join(f"--input '{each}'" for each in shapes)
        raise CommandError(errors.DEFAULT_FAILED.format(name, first.evidence, example), COULD_NOT)
    return found


def _raises_by_itself(engine: ModuleType, target: Any, inputs: Sequence[Any]) -> bool:
    """Return True if calling the target raises: the inputs that were guessed may be wrong."""
    call = target.apply if isinstance(target, type) and issubclass(target, engine.autograd.Function) else target
    try:
        call(*inputs)
    except Exception:
        return True
    return False


def _auditable(module: ModuleType) -> list[str]:
    return [name for name, each in vars(module).items() if callable(each) and not name.startswith("__")]


def _engine(module: ModuleType, target: Any) -> ModuleType:
    """Return the engine of a target: that of its class, or the one that its module uses."""
    torch: Any = sys.modules.get("torch")
    found = engine_of(target, ())
    if found is workbench and torch is not None and not _is_ours(target):
        used = [each for each in vars(module).values() if isinstance(each, ModuleType)]
        return torch if torch in used and workbench not in used else workbench
    return found


def _is_ours(target: Any) -> bool:
    kinds = (workbench.autograd.Function, workbench.nn.Module)
    return isinstance(target, kinds) or (isinstance(target, type) and issubclass(target, kinds))


def _imported(place: str) -> ModuleType:
    """Import a file or a module, whose `if __name__ == "__main__"` doesn't run."""
    path = Path(place)
    is_file = path.suffix == ".py" or path.is_file()
    if is_file and not path.is_file():
        raise CommandError(errors.NO_SCRIPT.format(place), COULD_NOT)
    sys.path.insert(0, str(path.resolve().parent if is_file else Path.cwd()))
    try:
        if not is_file:
            return importlib.import_module(place)
        name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else "audited"
        spec = importlib.util.spec_from_file_location(name, path.resolve())
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as error:
        raise CommandError(errors.NOT_IMPORTED.format(place, type(error).__name__, error), COULD_NOT) from None


def _of_script(words: list[str], checks: Sequence[str], as_json: bool) -> tuple[list[Audit], bool]:
    """Run a script, and audit each Function that it applied; also return whether the script failed."""
    try:
        program = Script(words, is_module=False)
    except CommandError as error:
        raise CommandError(str(error), COULD_NOT) from None
    failed = False
    with AppliedFunctions() as applied:
        applied.watch(workbench)
        watch = ImportWatch("torch", lambda: applied.watch(sys.modules["torch"]))
        try:
            with redirect_stdout(sys.stderr if as_json else sys.stdout):
                program.run()
        except SystemExit as error:
            failed = error.code not in (None, 0)
        except Exception as error:
            traceback.print_exception(error.with_traceback(of_program(error.__traceback__, None)))
            failed = True
        finally:
            watch.remove()
    for each in applied.too_large:
        print(f"workbench: {errors.TOO_LARGE.format(each.__name__, f'{LARGEST:,}')}", file=sys.stderr)
    if failed:
        print(f"workbench: {errors.SCRIPT_FAILED.format(words[0])}", file=sys.stderr)
    found = [each.audit(checks or None) for each in applied]
    if not found and not failed:
        raise CommandError(errors.NOTHING_APPLIED.format(words[0]), COULD_NOT)
    return found, failed
