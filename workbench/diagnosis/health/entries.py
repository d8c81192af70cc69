"""Where the documentation explains a rule: its entry on the page about findings, and the text of that entry.

The project's address comes from `pyproject.toml`, which the installed package's metadata repeats. Without an address,
there is no link. An installed package has a copy of the page; in a checkout it is the page itself.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

_PACKAGE = "autograd-workbench"
_PAGE = "blob/main/assets/docs/manual/findings.md"
_PAGES = (Path(__file__).with_name("findings.md"), Path(__file__).parents[3] / "assets/docs/manual/findings.md")


@cache
def _repository() -> str:
    try:
        links = metadata(_PACKAGE).get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a folder, and not installed
        return ""
    return dict([link.split(", ", 1) for link in links]).get("Repository", "").rstrip("/")


def anchor_of(rule: str) -> str:
    """Return the anchor of a rule's entry: `not-finite`, as Sphinx and Git hosts name that heading."""
    return rule.replace(" ", "-")


def address_of(rule: str) -> str:
    """Return the address of a rule's entry, or an empty string while the project has no address."""
    return f"{_repository()}/{_PAGE}#{anchor_of(rule)}" if _repository().startswith("https://") else ""


def explained(rule: str) -> str:
    """Return the text of a rule's entry, in Markdown without links; empty if the page isn't installed."""
    return _entries().get(rule, "")


@cache
def _entries() -> dict[str, str]:
    page = next((each for each in _PAGES if each.is_file()), None)
    text = "" if page is None else page.read_text(encoding="utf-8")
    found = re.findall(r"^### `([^`\n]+)`\n\n(.*?)(?=^##|\Z)", text, flags=re.M | re.S)
    return {rule: re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", entry).strip() for rule, entry in found}
