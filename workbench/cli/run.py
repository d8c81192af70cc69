"""Execute notebooks without a browser and write each one as a page that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from workbench.cli.command import CommandError, check_loopback
from workbench.cli.execute import execute, read
from workbench.cli.page import page
from workbench.scene.save import check_place, write_whole


def run(notebooks: Sequence[Path], out: Path) -> None:
    """Execute each notebook and write its page into `out`; the first failing cell ends it."""
    # Everything that can be refused is refused before the first cell runs.
    read_in = [read(path) for path in notebooks]
    targets = _targets(notebooks, out)
    check_loopback()
    for path, notebook, target in zip(notebooks, read_in, targets, strict=True):
        execute(notebook, path)
        text = page(notebook, path)
        try:
            write_whole(target, text.encode())
        except OSError as error:
            raise CommandError(f"cannot write {target}: {error.strerror}.") from None
        print(f"Wrote {target}.", flush=True)


def _targets(notebooks: Sequence[Path], out: Path) -> list[Path]:
    """The page of each notebook, in a folder that is there when this returns."""
    if out.suffix == ".html" and len(notebooks) > 1:
        raise CommandError(f"{out} can hold one notebook, not {len(notebooks)}: give a folder.")
    single = out.suffix == ".html" and not out.is_dir()
    targets = [out] if single else [out / f"{path.stem}.html" for path in notebooks]
    if len(set(targets)) < len(targets):
        raise CommandError("two of the notebooks have the same name: give each its own folder of pages.")
    folder = out.parent if single else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise CommandError(f"{folder} is a file: give a folder for the pages.") from None
    except OSError as error:
        raise CommandError(f"cannot make the folder {folder}: {error.strerror}.") from None
    if not os.access(folder, os.W_OK):
        raise CommandError(f"cannot write into {folder}: give a folder of your own for the pages.")
    for target in targets:
        if target.is_dir():
            raise CommandError(f"{target} is a folder: a page cannot be written there.")
        try:
            check_place(target)
        except OSError as error:
            raise CommandError(f"cannot write {target}: {error.strerror}.") from None
    return targets
