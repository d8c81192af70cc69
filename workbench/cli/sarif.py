"""Findings as SARIF 2.1.0, which code hosts show on the lines of a pull request.

A trace has the base name of a source file, the number of a line and its text, but no folder. The file is looked up in
the checkout: it's the one with this name and this line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import workbench
from workbench.diagnosis.health.entries import address_of, anchor_of, explained
from workbench.pictures.trace.facts import SourceLine

if TYPE_CHECKING:
    from workbench.diagnosis.health.findings import Findings

_VERSION = "2.1.0"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"  # what SARIF calls the root of the checkout
_MOST_FILES = 100_000  # that are looked at
_LARGEST = 1 << 22  # bytes of a source file that is read
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__"})


def sarif_of(found: Findings, folder: Path, fallback: Path | None = None) -> dict[str, Any]:
    """Return findings as a SARIF log.

    Args:
        found: The findings.
        folder: A folder in the checkout, or any folder that contains the source files.
        fallback: The file for findings without a line, such as the script.
    """
    root = _checkout(folder.resolve())
    lines = {each.line for each in found if each.line is not None}
    paths = _paths_of(lines, root)
    if fallback is None or not fallback.is_relative_to(root):
        fallback = next(iter(paths.values()), None)
    rules = list(dict.fromkeys(each.rule for each in found))
    results = []
    for each in found:
        path = paths.get(each.line) if each.line is not None else None
        result: dict[str, Any] = {
            "ruleId": anchor_of(each.rule),
            "ruleIndex": rules.index(each.rule),
            "level": _level(each.certain),
            "message": {"text": f"{each.sentence}\n{each.fix}"},
        }
        if path is not None and each.line is not None:
            result["locations"] = [_location(path, root, each.line)]
        elif fallback is not None:
            result["locations"] = [_location(fallback, root, None)]
        results.append(result)
    certain = {each.rule for each in found if each.certain}
    driver: dict[str, Any] = {
        "name": "workbench",
        "version": workbench.__version__,
        "rules": [_rule(rule, rule in certain) for rule in rules],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": _VERSION, "runs": [run]}


def _level(certain: bool) -> str:
    return "warning" if certain else "note"


def _rule(rule: str, certain: bool) -> dict[str, Any]:
    """Return the entry of a rule, with the text of the page about findings and a link to it."""
    text = explained(rule) or f"{rule}."
    described: dict[str, Any] = {
        "id": anchor_of(rule),
        "name": rule,
        "shortDescription": {"text": rule[:1].upper() + rule[1:]},
        "fullDescription": {"text": " ".join(text.partition("\n\n")[0].split())},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _level(certain)},
    }
    if address := address_of(rule):
        described["helpUri"] = address
    return described


def _location(path: Path, root: Path, line: SourceLine | None) -> dict[str, Any]:
    name = path.relative_to(root).as_posix().encode("utf-8", "surrogateescape")
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(name), "uriBaseId": _ROOT}}
    if line is not None:
        physical["region"] = {"startLine": line.line, "snippet": {"text": line.text}}
    return {"physicalLocation": physical}


def _checkout(folder: Path) -> Path:
    """Return the root of the Git checkout that a folder is in, or the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def _paths_of(lines: Iterable[SourceLine], root: Path) -> dict[SourceLine, Path]:
    """Return the files that have these lines; a line that no file or several files have is left out."""
    wanted: dict[str, list[SourceLine]] = {}
    for line in lines:
        wanted.setdefault(line.file, []).append(line)
    found: dict[SourceLine, list[Path]] = {}
    for path in _files(root) if wanted else ():
        if path.name in wanted:
            texts = _texts(path)
            for line in wanted[path.name]:
                if 0 < line.line <= len(texts) and texts[line.line - 1].strip() == line.text.strip():
                    found.setdefault(line, []).append(path)
    return {line: paths[0] for line, paths in found.items() if len(paths) == 1}


def _files(root: Path) -> Iterator[Path]:
    """Yield the files below a folder, without hidden folders, environments and links."""
    seen = 0
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(each for each in inner if not each.startswith(".") and each not in _SKIPPED)
        if "pyvenv.cfg" in names:
            inner.clear()
            continue
        seen += len(names)
        if seen > _MOST_FILES:
            return
        yield from (path for name in names if not (path := Path(folder, name)).is_symlink())


def _texts(path: Path) -> list[str]:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
