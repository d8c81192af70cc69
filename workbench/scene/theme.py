"""Themes: which colour each role of a picture has.

A scene names roles and a theme names colours; `static/picture.css` says where each role's colour goes. All
three drawings (the SVG and PNG faces and the live player) read these same two places. The hues are those of
Okabe and Ito ("Color Universal Design", 2008), darkened or lightened until text on them
has a contrast of 4.5:1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

# Three fonts that every platform has one of, all 0.60 em wide: the metric in metric.py relies on that width.
FONT = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', 'Liberation Mono', 'Courier New', monospace"


@dataclass(frozen=True, slots=True)
class Theme:
    """A colour for every role, by the role's name (a CSS custom property without its `--wb-`)."""

    name: str
    colours: Mapping[str, str]


LIGHT = Theme(
    "light",
    MappingProxyType(
        {
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
            "gradient-ink": "#a84700",
            "gradient-fill": "#b84e00",
            "gradient-on": "#ffffff",
            "gradient-glow": "#fbd9bf",
            "error": "#9c1458",
            "error-on": "#ffffff",
            "error-glow": "#f3cfe0",
        }
    ),
)

DARK = Theme(
    "dark",
    MappingProxyType(
        {
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
            "gradient-ink": "#ffa766",
            "gradient-fill": "#ff8a33",
            "gradient-on": "#1d0f00",
            "gradient-glow": "#5a3110",
            "error": "#ff8fc0",
            "error-on": "#2b0016",
            "error-glow": "#5a1a3a",
        }
    ),
)

THEMES: Mapping[str, Theme] = MappingProxyType({theme.name: theme for theme in (LIGHT, DARK)})


def theme_named(theme: str | Theme) -> Theme:
    """The theme of this name; a theme is its own answer."""
    if isinstance(theme, Theme):
        return theme
    if theme not in THEMES:
        raise ValueError(f"There is no theme named {theme!r}; choose one of {', '.join(sorted(THEMES))}.")
    return THEMES[theme]


def css_variables(theme: str | Theme = "light") -> str:
    """The theme as CSS declarations, to stand inside a rule: `--wb-function-fill: #0069a6; …`."""
    colours = theme_named(theme).colours
    return f"--wb-font: {FONT}; " + " ".join(f"--wb-{role}: {colour};" for role, colour in colours.items())


@cache
def picture_css() -> str:
    """The rules all drawings share: which part of a box or arrow takes which role's colour and width."""
    return files("workbench.scene").joinpath("static/picture.css").read_text(encoding="utf-8")


def live_css(root: str = ".wb-picture") -> str:
    """The stylesheet of a live page for elements matching `root`: light, or dark where the reader wants it.

    JupyterLab's own theme wins over the system's, because a light notebook may stand on a dark desktop.
    """
    light, dark = css_variables(LIGHT), css_variables(DARK)
    return (
        f"{root} {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {root} {{ {dark} }} }}\n"
        f'[data-jp-theme-light="true"] {root} {{ {light} }}\n'
        f'[data-jp-theme-light="false"] {root} {{ {dark} }}\n'
        f"{picture_css()}"
    )
