"""The guards of the house: imports point down and not in circles, and the path a newcomer reads stays short."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from lab import CHECKOUT
from write_rooms import PAGE, README, ROW, SENTENCE, lines, sizes
from write_rooms import part_of as part_of_house

PACKAGE = CHECKOUT / "workbench"

# From top to bottom; the parts of one line are neighbors and may know each other.
LAYERS = (
    ("classroom",),
    ("callbacks", "widgets"),
    ("diffing", "live_recording", "watching"),
    ("views", "recording", "explanation", "asking", "serialization", "auditing", "tools"),
    ("stepper",),
    ("bridges",),
    ("scene",),
    ("health",),
    ("trace",),
    ("distributions",),
    ("backends", "compiler", "cuda", "jit", "random", "version"),
    ("amp", "compat", "fft", "func", "linalg", "utils", "nn", "optim"),
    ("ops",),
    ("autograd",),
    ("events", "errors", "absent"),
)
LEVEL = {part: level for level, parts in enumerate(reversed(LAYERS)) for part in parts}
# Folders of parts, which are nothing themselves.
GROUPS = {"pictures", "diagnosis"}
# Above the house: the package's front door and the command line may import anything.
DOORS = {"", "__main__", "cli"}
# Exercises are written as a user writes, through the front door.
WRITES_AS_A_USER = {"classroom"}
# Stricter than the layers: these know nothing of an engine.
KNOWS_ONLY = {
    "trace": {"trace", "events", "errors"},
    "health": {"health", "trace", "errors"},
    "scene": {"scene", "errors"},
}
ENGINE = {
    "absent",
    "autograd",
    "ops",
    "events",
    "errors",
    "fft",
    "func",
    "linalg",
    "utils",
    "nn",
    "optim",
    "distributions",
}
ENGINE |= {"amp", "backends", "compat", "compiler", "cuda", "jit", "random", "version"}

# What a newcomer reads, in this order, to follow `Square.apply(x).sum().backward()` to the gradient of the leaf.
READING_PATH = (
    "autograd/function.py",
    "autograd/node.py",
    "ops/core/dispatch.py",
    "autograd/tensor.py",
    "autograd/function_outputs.py",
    "ops/core/nodes.py",
    "autograd/backward.py",
    "autograd/engine.py",
    "autograd/builtin_node.py",
)
LONGEST_PATH = 3_500  # lines, all of each file counted


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def walked(path: Path) -> list[ast.AST]:
    """Every node of a file's tree."""
    return list(ast.walk(parsed(path)))


def part_of(module: str) -> str:
    """The part of the house that a dotted name inside the package lies in: "ops" for "workbench.ops.linear"."""
    if module == "workbench.compat.absent":
        return "absent"
    names = [name for name in module.split(".")[1:] if name not in GROUPS]
    return names[0] if names else ""


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Each module that a file imports, inside a function or not, and the line."""
    here = path.relative_to(CHECKOUT).with_suffix("").parts
    package = here[:-1]
    for node in walked(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                # "from workbench import ops" names a part; "from workbench import Tensor" the front door.
                inside = part_of(base) == "" and alias.name in PARTS
                yield f"{base}.{alias.name}" if inside else base, node.lineno


def is_allowed(source: str, target: str) -> bool:
    """Whether a file of the part `source` may import from the part `target`."""
    if source in DOORS or source == target:
        return True
    if target in DOORS:
        return target == "" and source in WRITES_AS_A_USER
    if source in KNOWS_ONLY:
        return target in KNOWS_ONLY[source]
    return LEVEL[target] <= LEVEL[source]


FILES = sorted(PACKAGE.rglob("*.py"))
PARTS = {place.stem for folder in ("", *GROUPS) for place in PACKAGE.joinpath(folder).iterdir()} - GROUPS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    source = part_of(".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix("__init__").rstrip("."))
    assert source in LEVEL or source in DOORS, f"give {source} a layer, in the design and in LAYERS"
    for module, line in imports(path):
        outside = module.split(".")[0]
        if outside == "workbench":
            target = part_of(module)
            assert is_allowed(source, target), f"line {line}: {source} may not import {target or module}"
        elif outside in ("anywidget", "ipywidgets"):
            assert source == "widgets", f"line {line}: only widgets may import {outside}"
        elif source in ENGINE:
            known = outside == "numpy" or outside in sys.stdlib_module_names
            assert known, f"line {line}: the engine stands on NumPy alone, not on {outside}"


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("ops", "autograd", True),
        ("autograd", "ops", False),
        ("trace", "autograd", False),
        ("views", "recording", True),
        ("live_recording", "widgets", False),
        ("recording", "widgets", False),
        ("scene", "trace", False),
        ("widgets", "", False),
        ("classroom", "", True),
        ("classroom", "cli", False),
        ("cli", "widgets", True),
    ],
)
def test_the_guard_itself_knows_up_from_down(source: str, target: str, allowed: bool) -> None:
    assert is_allowed(source, target) == allowed


def test_the_guard_reads_every_way_to_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CHECKOUT", tmp_path)
    path = tmp_path / "workbench" / "ops" / "linear.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import workbench.pictures.scene.svg\nfrom ..pictures.trace import reading\nfrom ..pictures import views\n"
        "from workbench import Tensor\n"
        "class A:\n    def f(self):\n        from . import core\n        import numpy as np\n"
    )
    assert list(imports(path)) == [
        ("workbench.pictures.scene.svg", 1),
        ("workbench.pictures.trace", 2),
        ("workbench.pictures.views", 3),
        ("workbench", 4),
        ("workbench.ops", 7),
        ("numpy", 8),
    ]


def test_importing_the_package_loads_nothing_of_jupyter_or_a_picture() -> None:
    heavy = {"IPython", "anywidget", "graphviz", "ipykernel", "ipywidgets", "jupyter_client", "jupyterlab"}
    heavy |= {"matplotlib", "nbformat", "pygraphviz", "torch", "traitlets", "workbench.cli"}
    code = f"import sys, workbench; print(sorted({heavy} & set(sys.modules)), 'numpy' in sys.modules)"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    assert seen.stdout == "[] True\n", seen.stderr


LARGEST_CIRCLE = 3  # files that import each other, inside functions and for type checkers too


def circles(known: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that all reach each other by imports, the largest first."""
    reached: dict[str, set[str]] = {}
    for module in known:
        seen, left = set(), [module]
        while left:
            new = known.get(left.pop(), set()) - seen
            seen |= new
            left += new
        reached[module] = seen
    groups = {
        frozenset(other for other in seen if module in reached.get(other, ())) for module, seen in reached.items()
    }
    return sorted((sorted(group) for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def imported_files() -> dict[str, set[str]]:
    """Which modules of the package each one imports: at the top, inside functions and for type checkers alone."""
    names = {
        path: ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__") for path in FILES
    }
    modules = set(names.values())
    found: dict[str, set[str]] = {}
    for path, name in names.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        seen = set[str]()
        for node in walked(path):
            if isinstance(node, ast.Import):
                seen |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                start = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*start, *([node.module] if node.module else [])])
                seen |= {f"{base}.{a.name}" if f"{base}.{a.name}" in modules else base for a in node.names}
        found[name] = (seen & modules) - {name}
    return found


def test_imports_make_no_large_circle() -> None:
    assert [circle for circle in circles(imported_files()) if len(circle) > LARGEST_CIRCLE] == []


def test_the_guard_finds_circles() -> None:
    known = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(known) == [["a", "b", "c"], ["d", "e"]]


def test_the_reading_path_is_short() -> None:
    length = {name: lines(PACKAGE / name) for name in READING_PATH}
    for name, count in length.items():
        print(f"{count:5} {name}")
    assert sum(length.values()) <= LONGEST_PATH


def test_the_page_and_the_readme_say_how_large_each_part_is() -> None:
    rows = re.findall(ROW, PAGE.read_text(encoding="utf-8"))
    assert rows == [*sizes()], "python tests/write_rooms.py"
    (said,) = SENTENCE.findall(README.read_text(encoding="utf-8"))
    told = int(re.sub(r"\D", "", said))
    assert abs(told - sizes()["core"]) < 0.05 * told, "python tests/write_rooms.py"


CORE = [path for path in FILES if part_of_house(path.relative_to(PACKAGE).as_posix()) == "core"]


def core_imports(path: Path) -> Iterator[tuple[str, int]]:
    """The files of the package that a file imports, but for what a module's `__getattr__` loads by name."""
    doors = [node for node in walked(path) if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"]
    behind = {id(each) for door in doors for each in ast.walk(door)}
    package = path.relative_to(CHECKOUT).parts[:-1]
    for node in walked(path):
        if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in behind:
            continue
        base = CHECKOUT.joinpath(*package[: len(package) - node.level + 1], *(node.module or "").split("."))
        for place in (base, *(base / alias.name for alias in node.names)):
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.exists() and file != PACKAGE / "__init__.py":
                    yield file.relative_to(PACKAGE).as_posix(), node.lineno


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_imports_nothing_of_the_other_parts(path: Path) -> None:
    other = [(name, line) for name, line in core_imports(path) if part_of_house(name) != "core"]
    assert other == []


WITHOUT_THE_REST = """
import sys, types
package = types.ModuleType("workbench")  # not the front door, which loads the library
package.__path__ = [sys.argv[1]]
sys.modules["workbench"] = package
import workbench.func
import workbench.ops
from workbench.autograd import Function, grad
from workbench.ops.creation import randn, tensor

class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad * x

x = tensor([1.0, 2.0], requires_grad=True)
Square.apply(x).sum().backward()
(second,) = grad(grad((x ** 3).sum(), x, create_graph=True)[0].sum(), x)
each = workbench.func.vmap(workbench.func.grad(lambda a: (a.sin() @ a).sum()))(randn(3, 2))
x.data.add_(1)
print(x.grad.tolist(), second.tolist(), tuple(each.shape), x.tolist())
print(*sorted(name for name in sys.modules if name.startswith("workbench.")))
"""


def test_the_core_works_without_the_other_parts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_REST, str(PACKAGE)], capture_output=True, text=True, check=True
    )
    said, loaded = done.stdout.splitlines()
    assert said == "[2.0, 4.0] [6.0, 12.0] (3, 2) [2.0, 3.0]"
    files = [PACKAGE.joinpath(*name.split(".")[1:]) for name in loaded.split()]
    names = [f"{place.relative_to(PACKAGE).as_posix()}{'/' if place.is_dir() else '.py'}" for place in files]
    assert {part_of_house(name) for name in names if name != "compat/"} == {"core"}  # the folder of compat/absent.py


LONGEST_FUNCTION = 80  # lines


def test_functions_are_short() -> None:
    for path in FILES:
        for node in walked(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, f"{path}, line {node.lineno}"


def test_a_constant_has_a_line_of_its_own() -> None:
    """And so a comment of its own."""
    for path in FILES:
        for node in parsed(path).body:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
                assert len(names) < 2 or not any(name.isupper() for name in names), f"{path}, line {node.lineno}"


# PyTorch's names for what the engine has and a trace tells of, and what PyTorch has twice.
PYTORCHS = {"Storage", "Variable", "GradScaler", "autocast"}


def test_no_two_classes_have_one_name() -> None:
    """But for private ones, kinds of events (each has the name of its record), and what lessons write as answers."""
    where: dict[str, list[str]] = {}
    for path in FILES:
        if path.name == "events.py" or path.name.startswith("lessons_"):
            continue
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in PYTORCHS:
                where.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def sentences(nodes: Iterable[ast.AST]) -> list[str]:
    """What a file raises and warns of in words written there and then, with `{}` for what is filled in."""
    found = []
    for node in nodes:
        calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)] if isinstance(node, ast.Raise) else []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn":
            calls = [node]
        for call in calls:
            if getattr(call.func, "id", "").endswith(("Error", "warn", "Iteration", "Exception")):
                found += [text for each in call.args if (text := template(each)) is not None]
    return found


def template(node: ast.expr) -> str | None:
    """The text of a literal."""
    if isinstance(node, ast.JoinedStr):
        return "".join([str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_no_sentence_is_written_twice() -> None:
    """One that is raised in two places has a name, in errors.py."""
    said: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        said.update(sentences(walked(path)))
        if path.name == "errors.py":
            values = [node.value for node in parsed(path).body if isinstance(node, ast.Assign)]
            said.update([text for value in values if (text := template(value)) is not None])
    assert len(said) > 400 and [text for text, times in said.items() if times > 1] == []


def test_the_guard_finds_sentences() -> None:
    named = "raise E(NO) from x\nwarn(NO.format('a'))\n"
    code = named + "raise TypeError('no')\nwarn(f'{a} is')\nraise failed(IndexError('none'), t)\n"
    assert sorted(sentences(ast.walk(ast.parse(code)))) == ["no", "none", "{} is"]


def test_a_function_without_a_body_is_a_row_of_a_table() -> None:
    """Otherwise it returns None, whatever type it is declared to return."""
    rows = []
    for path in [each for each in FILES if part_of_house(each.relative_to(PACKAGE).as_posix()) == "compat"]:
        functions = [node for node in walked(path) if isinstance(node, ast.FunctionDef)]
        rows += [node for node in functions if ast.unparse(node.body) == "..."]
    assert len(rows) > 40
    assert [node.name for node in rows if "row(" not in "".join(map(ast.unparse, node.decorator_list))] == []


def test_every_numbered_test_has_its_row() -> None:
    """tests/SEMANTICS.md says what the numbers in the names of tests mean."""
    tests = CHECKOUT / "tests"
    rows = set(re.findall(r"^\| (\d+\.\d+) \|", (tests / "SEMANTICS.md").read_text(encoding="utf-8"), re.MULTILINE))
    numbered = re.compile(r"^def test_(\d+)_(\d+)_", re.MULTILINE)
    for path in tests.rglob("test_*.py"):
        for section, row in numbered.findall(path.read_text(encoding="utf-8")):
            assert f"{section}.{row}" in rows, f"{path.name}: test_{section}_{row}"
    assert len(rows) > 300
