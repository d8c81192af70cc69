"""Where the documentation explains a rule: its entry on the page about findings.

The project's address comes from `pyproject.toml`, which the installed package's metadata repeats. Without an address,
there is no link.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

_PACKAGE = "autograd-workbench"
_PAGE = "blob/main/assets/docs/manual/findings.md"


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
