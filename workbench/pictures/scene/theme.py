"""Themes: the color of each role in a picture, and the stylesheet made of them.

`Stylesheet` reads it in Python, for formats without a browser to apply it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_LIGHT = {
    "canvas": "#ffffff",
    "ink": "#16202e",
    "muted": "#55606f",
    "panel": "#f4f6f9",
    "rule": "#d5dbe3",
    "accent": "#0069a6",
    "function-fill": "#0069a6",
    "function-stroke": "#00446d",
    "function-ink": "#ffffff",
    "function-soft": "#e2f1fc",
    "op-fill": "#eff2f6",
    "op-stroke": "#7b8796",
    "op-ink": "#16202e",
    "op-soft": "#4b5665",
    "leaf-fill": "#dff3eb",
    "leaf-stroke": "#00855f",
    "leaf-ink": "#0a2f24",
    "leaf-soft": "#2a5a4b",
    "constant-fill": "#ffffff",
    "constant-stroke": "#7b8796",
    "constant-ink": "#16202e",
    "constant-soft": "#55606f",
    "output-fill": "#ffffff",
    "output-stroke": "#16202e",
    "output-ink": "#16202e",
    "output-soft": "#55606f",
    "saved-fill": "#fff4d6",
    "saved-stroke": "#b57f00",
    "saved-ink": "#3d2c00",
    "saved-soft": "#6b5313",
    "tangent-fill": "#efecfb",
    "tangent-stroke": "#5b4bb5",
    "tangent-ink": "#221a52",
    "tangent-soft": "#4a4080",
    "shade-4": "#b84e00",
    "shade-3": "#e07b2e",
    "shade-2": "#f3b07c",
    "shade-1": "#fbe0cb",
    "shade-0": "#ffffff",
    "shade--1": "#d6e8f5",
    "shade--2": "#96c4e6",
    "shade--3": "#3d8fc4",
    "shade--4": "#00568a",
    "shade-ink": "#16202e",
    "shade-on": "#ffffff",
    "region-fill": "#f8f9fb",
    "region-stroke": "#7b8796",
    "freed-fill": "#f6f7f9",
    "freed-stroke": "#a7b0bc",
    "freed-ink": "#626d7b",
    "edge-stroke": "#8a95a3",
    "edge-ink": "#3d4856",
    "gradient": "#d55e00",
    "gradient-past": "#dd9560",
    "gradient-ink": "#a84700",
    "gradient-fill": "#b84e00",
    "gradient-on": "#ffffff",
    "gradient-glow": "#fbd9bf",
    "error": "#9c1458",
    "error-on": "#ffffff",
    "error-glow": "#f3cfe0",
    "above": "#b84e00",
    "below": "#00568a",
    "family-convolution": "#4a5fc1",
    "family-norm": "#1f7f8a",
    "family-activation": "#6f7c00",
    "family-attention": "#9a55bd",
    "family-loss": "#16202e",
    "bar-fill": "#0069a6",
    "bar-stroke": "none",
    "bar-ink": "#ffffff",
}

_DARK = {
    "canvas": "#12171f",
    "ink": "#e8edf4",
    "muted": "#a3afbf",
    "panel": "#1b222d",
    "rule": "#333d4b",
    "accent": "#6cbcf0",
    "function-fill": "#0f6ca6",
    "function-stroke": "#7cc8f8",
    "function-ink": "#ffffff",
    "function-soft": "#e0f1fd",
    "op-fill": "#232c38",
    "op-stroke": "#8794a5",
    "op-ink": "#e8edf4",
    "op-soft": "#b4bfcd",
    "leaf-fill": "#10352b",
    "leaf-stroke": "#37bd93",
    "leaf-ink": "#dcf7ed",
    "leaf-soft": "#a3d8c5",
    "constant-fill": "#12171f",
    "constant-stroke": "#8794a5",
    "constant-ink": "#e8edf4",
    "constant-soft": "#a3afbf",
    "output-fill": "#12171f",
    "output-stroke": "#e8edf4",
    "output-ink": "#e8edf4",
    "output-soft": "#a3afbf",
    "saved-fill": "#3a2f10",
    "saved-stroke": "#dfa928",
    "saved-ink": "#ffefc4",
    "saved-soft": "#e0cb93",
    "shade-4": "#ff9d52",
    "shade-3": "#c96a1f",
    "shade-2": "#86491b",
    "shade-1": "#452c18",
    "shade-0": "#12171f",
    "shade--1": "#14304a",
    "shade--2": "#1d5078",
    "shade--3": "#3a86bd",
    "shade--4": "#8fd0ff",
    "shade-ink": "#e8edf4",
    "shade-on": "#0b1016",
    "tangent-fill": "#29244a",
    "tangent-stroke": "#a99bf2",
    "tangent-ink": "#eeebff",
    "tangent-soft": "#cdc5f7",
    "region-fill": "#171d27",
    "region-stroke": "#76839a",
    "freed-fill": "#1a212b",
    "freed-stroke": "#5b6777",
    "freed-ink": "#929eae",
    "edge-stroke": "#76839a",
    "edge-ink": "#c3ccd8",
    "gradient": "#ff8a33",
    "gradient-past": "#a8652f",
    "gradient-ink": "#ffa766",
    "gradient-fill": "#ff8a33",
    "gradient-on": "#1d0f00",
    "gradient-glow": "#5a3110",
    "error": "#ff8fc0",
    "error-on": "#2b0016",
    "error-glow": "#5a1a3a",
    "above": "#ff9d52",
    "below": "#8fd0ff",
    "family-convolution": "#8fa2ff",
    "family-norm": "#63c9d4",
    "family-activation": "#c3d04a",
    "family-attention": "#d09af0",
    "family-loss": "#e8edf4",
    "bar-fill": "#6cbcf0",
    "bar-stroke": "none",
    "bar-ink": "#12171f",
}

_PROJECTOR = {
    "canvas": "#ffffff",
    "ink": "#000000",
    "muted": "#333b45",
    "panel": "#f0f2f5",
    "rule": "#8a93a0",
    "accent": "#004a80",
    "function-fill": "#004a80",
    "function-stroke": "#002a4a",
    "function-ink": "#ffffff",
    "function-soft": "#ffffff",
    "op-fill": "#eef1f5",
    "op-stroke": "#3b4653",
    "op-ink": "#000000",
    "op-soft": "#222b36",
    "leaf-fill": "#d8f3e6",
    "leaf-stroke": "#005a3e",
    "leaf-ink": "#00261a",
    "leaf-soft": "#00382a",
    "constant-fill": "#ffffff",
    "constant-stroke": "#3b4653",
    "constant-ink": "#000000",
    "constant-soft": "#333b45",
    "output-fill": "#ffffff",
    "output-stroke": "#000000",
    "output-ink": "#000000",
    "output-soft": "#222b36",
    "saved-fill": "#ffeeb8",
    "saved-stroke": "#7a5200",
    "saved-ink": "#2b1d00",
    "saved-soft": "#422f00",
    "tangent-fill": "#e9e4ff",
    "tangent-stroke": "#3d2c99",
    "tangent-ink": "#150e40",
    "tangent-soft": "#2a1f66",
    "shade-4": "#8f3a00",
    "shade-3": "#ec9350",
    "shade-2": "#f6bb8c",
    "shade-1": "#fde4d0",
    "shade-0": "#ffffff",
    "shade--1": "#d3e7f6",
    "shade--2": "#8fc3ea",
    "shade--3": "#14588a",
    "shade--4": "#00355c",
    "shade-ink": "#000000",
    "shade-on": "#ffffff",
    "region-fill": "#f7f8fa",
    "region-stroke": "#3b4653",
    "freed-fill": "#f2f4f6",
    "freed-stroke": "#66707d",
    "freed-ink": "#465060",
    "edge-stroke": "#4a5563",
    "edge-ink": "#1f2833",
    "gradient": "#b34700",
    "gradient-past": "#b9723f",
    "gradient-ink": "#7d3200",
    "gradient-fill": "#8f3a00",
    "gradient-on": "#ffffff",
    "gradient-glow": "#ffd9b8",
    "error": "#8a0045",
    "error-on": "#ffffff",
    "error-glow": "#f6c6dc",
    "above": "#8f3a00",
    "below": "#00355c",
    "family-convolution": "#2f43a8",
    "family-norm": "#006873",
    "family-activation": "#586200",
    "family-attention": "#7a35a0",
    "family-loss": "#000000",
    "bar-fill": "#004a80",
    "bar-stroke": "none",
    "bar-ink": "#ffffff",
}

_PRINT = {
    "canvas": "#ffffff",
    "ink": "#000000",
    "muted": "#404040",
    "panel": "#ffffff",
    "rule": "#8c8c8c",
    "accent": "#000000",
    "function-fill": "#ffffff",
    "function-stroke": "#000000",
    "function-ink": "#000000",
    "function-soft": "#262626",
    "op-fill": "#ffffff",
    "op-stroke": "#595959",
    "op-ink": "#000000",
    "op-soft": "#262626",
    "leaf-fill": "#ffffff",
    "leaf-stroke": "#000000",
    "leaf-ink": "#000000",
    "leaf-soft": "#262626",
    "constant-fill": "#ffffff",
    "constant-stroke": "#595959",
    "constant-ink": "#000000",
    "constant-soft": "#262626",
    "output-fill": "#ffffff",
    "output-stroke": "#000000",
    "output-ink": "#000000",
    "output-soft": "#262626",
    "saved-fill": "#ffffff",
    "saved-stroke": "#595959",
    "saved-ink": "#000000",
    "saved-soft": "#262626",
    "tangent-fill": "#ffffff",
    "tangent-stroke": "#000000",
    "tangent-ink": "#000000",
    "tangent-soft": "#262626",
    "shade-4": "#bdbdbd",
    "shade-3": "#d0d0d0",
    "shade-2": "#e2e2e2",
    "shade-1": "#f2f2f2",
    "shade-0": "#ffffff",
    "shade--1": "#eeeeee",
    "shade--2": "#dddddd",
    "shade--3": "#cacaca",
    "shade--4": "#b6b6b6",
    "shade-ink": "#000000",
    "shade-on": "#000000",
    "region-fill": "#ffffff",
    "region-stroke": "#737373",
    "freed-fill": "#ffffff",
    "freed-stroke": "#8c8c8c",
    "freed-ink": "#595959",
    "edge-stroke": "#737373",
    "edge-ink": "#404040",
    "gradient": "#000000",
    "gradient-past": "#8c8c8c",
    "gradient-ink": "#000000",
    "gradient-fill": "#ffffff",
    "gradient-on": "#000000",
    "gradient-glow": "#e4e4e4",
    "error": "#000000",
    "error-on": "#ffffff",
    "error-glow": "#d6d6d6",
    "above": "#000000",
    "below": "#000000",
    "family-convolution": "none",
    "family-norm": "none",
    "family-activation": "none",
    "family-attention": "none",
    "family-loss": "none",
    "bar-fill": "#e6e6e6",
    "bar-stroke": "#000000",
    "bar-ink": "#000000",
}


# The face of words and numbers: a column of the metric in metric.py has room for its widest common form, DejaVu Sans.
WORDS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
# Three fonts that every platform has one of, all 0.60 em wide: the metric in metric.py relies on that width.
FONT = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', 'Liberation Mono', 'Courier New', monospace"


@dataclass(frozen=True, slots=True)
class Theme:
    """A color for every role, by the role's name (a CSS custom property without its `--wb-`).

    A picture is drawn `scale` times as large as its layout, which makes its smallest text 12 px times that. `minus` are
    the dashes around a negative number, if no hue distinguishes it from a positive one. `scheme` is for what the
    browser draws itself: scroll bars, and input fields.
    """

    name: str
    colors: Mapping[str, str]
    scale: float = 1.0
    minus: str = "none"
    scheme: str = "light"

    @property
    def values(self) -> dict[str, str]:
        """Return all values that the stylesheets need, by name."""
        return {
            "font": FONT,
            "words": WORDS,
            "scale": f"{self.scale:g}",
            "minus": self.minus,
            "scheme": self.scheme,
            **self.colors,
        }


LIGHT = Theme("light", MappingProxyType(_LIGHT))
DARK = Theme("dark", MappingProxyType(_DARK), scheme="dark")
PROJECTOR = Theme("projector", MappingProxyType(_PROJECTOR), scale=1.5)
PRINT = Theme("print", MappingProxyType(_PRINT), minus="4 3")

THEMES: Mapping[str, Theme] = MappingProxyType({theme.name: theme for theme in (LIGHT, DARK, PROJECTOR, PRINT)})


def theme_named(theme: str | Theme) -> Theme:
    """Return the theme of this name; a theme returns itself."""
    if isinstance(theme, Theme):
        return theme
    if theme not in THEMES:
        raise ValueError("There is no theme named {!r}; choose one of {}.".format(theme, ", ".join(sorted(THEMES))))
    return THEMES[theme]


def css_variables(theme: str | Theme = "light") -> str:
    """Return the theme as CSS declarations, to put inside a rule: `--wb-function-fill: #0069a6; …`."""
    return " ".join(f"--wb-{name}: {value};" for name, value in theme_named(theme).values.items())


@cache
def picture_css() -> str:
    """Return the rules that all drawings share: which part of a box or arrow takes which role's color and width."""
    return files("workbench.pictures.scene").joinpath("static/picture.css").read_text(encoding="utf-8")


def live_css(root: str) -> str:
    """Return the themes' values for elements matching `root` on a live page: light, or dark where the reader wants it.

    JupyterLab's own theme wins over the system's, because a light notebook may stand on a dark desktop; what the reader
    chooses in a player (`data-wb-theme` on it or around it) wins over both, and paper over all.
    """
    # Never `:has()`: at each change in a large picture the browser would look through all of it.
    variables = {name: css_variables(name) for name in THEMES}
    chosen = "".join(
        f':is([data-wb-theme="{name}"] {root}, {root}[data-wb-theme="{name}"]) {{ {declared} }}\n'
        for name, declared in variables.items()
    )
    return (
        f"{root} {{ {variables['light']} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {root} {{ {variables['dark']} }} }}\n"
        f'[data-jp-theme-light="true"] {root} {{ {variables["light"]} }}\n'
        f'[data-jp-theme-light="false"] {root} {{ {variables["dark"]} }}\n'
        f"{chosen}@media print {{ {root}:is(*, #wb) {{ {variables['print']} }} }}\n"
    )


_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")

Rule = tuple[int, tuple[frozenset[str], ...], dict[str, str]]


@cache
def overlay_css() -> str:
    """Return the rules for boxes with numbers of the user's own, which follow those that all drawings share."""
    return files("workbench.pictures.scene").joinpath("static/overlay.css").read_text(encoding="utf-8")


@cache
def _bare_css() -> str:
    return re.sub(r"/\*.*?\*/\s*", "", picture_css() + overlay_css(), flags=re.DOTALL)


def flat_css(theme: Theme) -> str:
    """Return the stylesheet with the theme's values instead of variables, which some SVG programs don't know."""
    values = theme.values
    return re.sub(r"var\(--wb-([\w-]+)\)", lambda found: values[found[1]], _bare_css())


def css_for(theme: Theme, classes: Collection[str]) -> str:
    """Return the part of the stylesheet that applies if there are no classes other than these."""
    rules: list[str] = []
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
        """Return the declarations that apply to a shape of this class in a group of these classes."""
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
