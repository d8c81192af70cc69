"""What a package has beside pyproject.toml: Graphviz where it can be installed, exercises, a README for an index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import sys_tags

# pygraphviz's wheels, which bring Graphviz. Elsewhere pip would compile it, and fail without Graphviz's headers. No
# environment marker can say whether a Linux has musl or an old glibc, and whether Python is free-threaded.
_PLATFORMS = "manylinux_2_28_x86_64 manylinux_2_28_aarch64 macosx_11_0_x86_64 macosx_11_0_arm64 win_amd64"
WHEELS = {f"cp310-abi3-{platform}" for platform in _PLATFORMS.split()}

_LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:)([^)]*)\)")


def has_graphviz(tags: Iterable[str]) -> bool:
    """Whether a Python that takes wheels of these tags can install pygraphviz with Graphviz in it."""
    return not WHEELS.isdisjoint(tags)


def elsewhere(readme: str, repository: str) -> str:
    """Return the README for a package index, which has no files beside it: links and images have their address.

    Without an address of the repository, a link is its words, and an image is left out.
    """

    def absolute(found: re.Match[str]) -> str:
        image, text, path = found.groups()
        if not repository:
            return "" if image else text
        return f"{image}[{text}]({repository}/{'raw' if image else 'blob'}/main/{path})"

    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(absolute, readme))


# The exercises without their solutions: it runs them, and needs NumPy.
_SEAL = """
import sys
from pathlib import Path
from workbench.classroom.sealing import seal_folder
seal_folder(*map(Path, sys.argv[1:]))
"""


class Wheel(BuildHookInterface[Any]):
    """Makes the extra "graphviz" a dependency, but on a machine where it cannot be installed; seals the exercises."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if has_graphviz(map(str, sys_tags())):
            build_data["dependencies"] += self.metadata.core.optional_dependencies["graphviz"]
        self._folder = TemporaryDirectory()
        if version == "editable":  # there the lessons are the checkout's
            return
        command = [sys.executable, "-c", _SEAL, str(Path(self.root) / "notebooks"), self._folder.name]
        path = os.pathsep.join(filter(None, [self.root, os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": path}
        subprocess.run(command, cwd=self.root, env=environment, check=True)
        for file in sorted(Path(self._folder.name).iterdir()):
            build_data["force_include"][str(file)] = f"workbench/lessons/{file.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()


class Readme(MetadataHookInterface):
    """The text that a package index shows, and the project's address, to which findings link."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        project = tomllib.loads((Path(self.root) / "pyproject.toml").read_text("utf-8"))
        repository = project["tool"]["autograd-workbench"]["repository"]
        text = elsewhere(text, repository)
        metadata["urls"] = {"Repository": repository} if repository else {}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
