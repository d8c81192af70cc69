"""The stylesheet read in Python, for faces that have no browser to apply it.

It knows what `static/picture.css` uses: class selectors, descendants, and which rule wins.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from .theme import Theme, picture_css

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")

Rule = tuple[int, tuple[frozenset[str], ...], dict[str, str]]


@cache
def _bare_css() -> str:
    return re.sub(r"/\*.*?\*/\s*", "", picture_css(), flags=re.DOTALL)


def flat_css(theme: Theme) -> str:
    """The stylesheet with the theme's values in place of its variables, which not every SVG program knows."""
    values = theme.values
    return re.sub(r"var\(--wb-([\w-]+)\)", lambda found: values[found[1]], _bare_css())


def css_for(theme: Theme, classes: Collection[str]) -> str:
    """Of the stylesheet what applies where there are no other classes than these."""
    rules = []
    for selectors, body in _RULE.findall(flat_css(theme)):
        used = [each.strip() for each in selectors.split(",") if set(re.findall(r"\.([\w-]+)", each)) <= set(classes)]
        if used:
            rules.append(f"{', '.join(used)} {{{body}}}")
    return "\n".join(rules)


class Stylesheet:
    """What each shape looks like by a stylesheet without variables."""

    def __init__(self, css: str) -> None:
        self._rules: list[Rule] = []
        for selectors, body in _RULE.findall(css):
            properties = dict(re.findall(r"([\w-]+)\s*:\s*([^;]+?)\s*(?:;|$)", body))
            for selector in selectors.split(","):
                path = tuple(frozenset(part.strip(".").split(".")) for part in selector.split())
                self._rules.append((sum(map(len, path)), path, properties))
        self._rules.sort(key=lambda rule: rule[0])  # a stable sort: among equals the later rule wins
        self._seen: dict[tuple[str, str], dict[str, str]] = {}

    def of(self, group: str, role: str) -> dict[str, str]:
        """The declarations that apply to a shape of this class in a group of these classes."""
        if (group, role) not in self._seen:
            chain = (frozenset(["wb-picture"]), frozenset(group.split()), frozenset([role]))
            won: dict[str, str] = {}
            for _, path, properties in self._rules:
                if _matches(path, chain):
                    won |= properties
            self._seen[group, role] = won
        return self._seen[group, role]


def _matches(path: tuple[frozenset[str], ...], chain: tuple[frozenset[str], ...]) -> bool:
    if not path[-1] <= chain[-1]:
        return False
    above = iter(chain[:-1])
    return all(any(part <= classes for classes in above) for part in path[:-1])
