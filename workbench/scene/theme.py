"""Themes: which colour each role of a picture has.

A scene names roles and a theme names colours; `static/picture.css` says where each role's colour goes. All
three drawings (the SVG and PNG faces and the live player) read these same two places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from . import palettes

# Three fonts that every platform has one of, all 0.60 em wide: the metric in metric.py relies on that width.
FONT = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', 'Liberation Mono', 'Courier New', monospace"


@dataclass(frozen=True, slots=True)
class Theme:
    """A colour for every role, by the role's name (a CSS custom property without its `--wb-`).

    A picture is drawn `scale` times as large as it is laid out, which makes its smallest text 12 px times that. `minus`
    are the dashes around a number below zero, where no hue tells it from one above. `scheme` is what the browser draws
    itself in: scroll bars, and what a reader types into.
    """

    name: str
    colours: Mapping[str, str]
    scale: float = 1.0
    minus: str = "none"
    scheme: str = "light"

    @property
    def values(self) -> dict[str, str]:
        """All that the stylesheets ask for, by name."""
        return {"font": FONT, "scale": f"{self.scale:g}", "minus": self.minus, "scheme": self.scheme, **self.colours}


LIGHT = Theme("light", MappingProxyType(palettes.LIGHT))
DARK = Theme("dark", MappingProxyType(palettes.DARK), scheme="dark")
PROJECTOR = Theme("projector", MappingProxyType(palettes.PROJECTOR), scale=1.5)
PRINT = Theme("print", MappingProxyType(palettes.PRINT), minus="4 3")

THEMES: Mapping[str, Theme] = MappingProxyType({theme.name: theme for theme in (LIGHT, DARK, PROJECTOR, PRINT)})


def theme_named(theme: str | Theme) -> Theme:
    """The theme of this name; a theme is its own answer."""
    if isinstance(theme, Theme):
        return theme
    if theme not in THEMES:
        raise ValueError(f"There is no theme named {theme!r}; choose one of {', '.join(sorted(THEMES))}.")
    return THEMES[theme]


def css_variables(theme: str | Theme = "light") -> str:
    """The theme as CSS declarations, to stand inside a rule: `--wb-function-fill: #0069a6; …`."""
    return " ".join(f"--wb-{name}: {value};" for name, value in theme_named(theme).values.items())


@cache
def picture_css() -> str:
    """The rules all drawings share: which part of a box or arrow takes which role's colour and width."""
    return files("workbench.scene").joinpath("static/picture.css").read_text(encoding="utf-8")


def live_css(root: str = ".wb-picture", variables: Callable[[str], str] = css_variables) -> str:
    """The stylesheet of a live page for elements matching `root`: light, or dark where the reader wants it.

    JupyterLab's own theme wins over the system's, because a light notebook may stand on a dark desktop; what the reader
    chooses in a player (`data-wb-theme` on it or around it) wins over both, and paper over all. `variables` gives the
    declarations of the theme of a name.
    """
    # Never `:has()`: at each change in a large picture the browser would look through all of it.
    said = {name: variables(name) for name in THEMES}
    chosen = "".join(
        f':is([data-wb-theme="{name}"] {root}, {root}[data-wb-theme="{name}"]) {{ {declared} }}\n'
        for name, declared in said.items()
    )
    return (
        f"{root} {{ {said['light']} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {root} {{ {said['dark']} }} }}\n"
        f'[data-jp-theme-light="true"] {root} {{ {said["light"]} }}\n'
        f'[data-jp-theme-light="false"] {root} {{ {said["dark"]} }}\n'
        f"{chosen}@media print {{ {root}:is(*, #wb) {{ {said['print']} }} }}\n"
        f"{picture_css()}"
    )
