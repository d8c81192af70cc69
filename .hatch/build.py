"""What a package says beside pyproject.toml: Graphviz where it can be installed, and a README for an index."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import sys_tags

# pygraphviz's wheels, which bring Graphviz. Elsewhere pip would compile it, and fail without Graphviz's headers. No
# environment marker can say whether a Linux has musl or an old glibc, and whether Python is free-threaded.
_PLATFORMS = "manylinux_2_28_x86_64 manylinux_2_28_aarch64 macosx_11_0_x86_64 macosx_11_0_arm64 win_amd64"
WHEELS = {f"cp310-abi3-{platform}" for platform in _PLATFORMS.split()}

_IMAGE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", re.M)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")


def has_graphviz(tags: Iterable[str]) -> bool:
    """Whether a Python that takes wheels of these tags can install pygraphviz with Graphviz in it."""
    return not WHEELS.isdisjoint(tags)


def elsewhere(readme: str) -> str:
    """The README where the repository's files are not beside it: no relative links, no images from them."""
    return _LINK.sub(r"\1", _IMAGE.sub("", readme))


class Graphviz(BuildHookInterface[Any]):
    """Makes the extra "graphviz" a dependency, but on a machine where it cannot be installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if has_graphviz(map(str, sys_tags())):
            build_data["dependencies"] += self.metadata.core.optional_dependencies["graphviz"]


class Readme(MetadataHookInterface):
    """The text that a package index shows."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": elsewhere(text)}
