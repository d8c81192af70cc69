"""Draw the layers of the package from its own imports: `python assets/layers.py`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import workbench
from workbench.pictures.scene.model import Arrow, Box, Scene
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg

PACKAGE = Path(workbench.__file__).parent
GROUPS = {"pictures", "diagnosis"}  # folders of parts
DOORS = {"__init__", "__main__", "cli"}  # they may import anything
SHARED = {"compat.absent", "errors", "events"}  # nearly all parts import these
LESSONS = {"classroom"}  # written as a user writes, by `import workbench`
PURPOSES = {
    "amp": "mixed precision: off",
    "autograd": "Tensor, Function, engine",
    "backends": "switches without effect",
    "bridges": "PyTorch in our records",
    "callbacks": "in other trainers",
    "compat": "names without effect",
    "compiler": "nothing is compiled",
    "cuda": "no such device",
    "asking": "why a gradient is so",
    "explanation": "an error's picture",
    "distributions": "drawing numbers",
    "fft": "Fourier transforms",
    "func": "grad, vjp, jvp, vmap",
    "linalg": "matrices",
    "health": "what is wrong",
    "jit": "nothing is compiled",
    "live_recording": "pictures while it runs",
    "watching": "statistics of hours",
    "nn": "layers and losses",
    "ops": "operations",
    "optim": "optimizers",
    "random": "where numbers come from",
    "recording": "record(), show()",
    "scene": "pictures to text, SVG, HTML",
    "serialization": "tensors in files",
    "stepper": "one node at a time",
    "tools": "record and draw",
    "trace": "events to frames",
    "utils": "checkpoints, batches",
    "version": "of what this is",
    "views": "frames to pictures",
    "auditing": "what is wrong with a Function",
    "diffing": "what differs first in two runs",
    "widgets": "live in a notebook",
}


def part_of(path: Path) -> str:
    """The part that a file is in: a folder, or a file next to them."""
    return part_named(path.relative_to(PACKAGE).with_suffix("").parts)


def part_named(names: Sequence[str]) -> str:
    """The part in a path, which may be in one of the groups."""
    if ".".join(names) in SHARED:
        return ".".join(names)
    return next((name for name in names if name not in GROUPS), "__init__")


def imported(path: Path) -> set[str]:
    """Return the parts that a file imports at load time; imports in functions come later."""
    found: set[str] = set()
    package = ("workbench", *path.relative_to(PACKAGE).parts[:-1])
    left: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            continue
        left += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = (*base, *(node.module or "").split(".")) if node.module else base
            within = part_named(name[1:])
            parts = [each.name for each in node.names] if within == "__init__" else [within]
            found.update(parts if name[0] == "workbench" else ())
    return found


def layers() -> Storyboard:
    """A box for each part, and arrows down to what it imports, unless another arrow's way leads there."""
    files: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if part_of(path) not in DOORS | SHARED | LESSONS:
            files.setdefault(part_of(path), []).append(path)
    known = {part: set().union(*map(imported, paths)) & files.keys() - {part} for part, paths in files.items()}
    reached: dict[str, set[str]] = {}
    for part in known:
        left = set(known[part])
        while left:
            new = left.pop()
            if new not in reached.setdefault(part, set()):
                reached[part].add(new)
                left |= known[new]
    scene = Scene(title="The layers: each part and what it imports")
    for part in files:
        scene.boxes[part] = Box(part, "op", part, (PURPOSES[part],))
    for part, below in known.items():
        for other in sorted(below):
            if not any(other in reached.get(between, ()) for between in below - {other}):
                scene.arrows[f"{part}-{other}"] = Arrow(f"{part}-{other}", part, other)
    return Storyboard(scene)


if __name__ == "__main__":
    Path(__file__).with_name("layers.svg").write_text(to_svg(layers()), encoding="utf-8")
