"""An engine of somebody's own in the pictures and in the stepper: the one that is built in "Build the engine"."""

from __future__ import annotations

import ast
import contextlib
import gzip
import io
import json
import linecache
import re
import shutil
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from engines import driven
from lab import CHECKOUT

import workbench
from workbench.bridges.own_engine import drive
from workbench.pictures.trace.backward_records import BackwardFinished, Failed, GradAccumulated
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.tensor_records import TensorWritten
from workbench.pictures.views.stepper_picture import Stage

LESSON = "02-backward-one-node-at-a-time"
WORKBENCH = "import workbench as torch"


@pytest.fixture
def torch() -> Iterator[Any]:
    with driven() as engine:
        yield engine


def run_lesson(engine: str) -> tuple[list[str], list[Any]]:
    """What each code cell of the lesson prints and shows as text, and its recordings."""
    said: list[str] = []
    traces: list[Any] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    lesson = nbformat.read(CHECKOUT / "notebooks" / f"{LESSON}.ipynb", as_version=4)
    for at, cell in enumerate(cell for cell in lesson.cells if cell.cell_type == "code"):
        source = cell.source.replace(WORKBENCH, engine)
        file = f"<cell {at} of {engine}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        tree = ast.parse(source, file)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(tree, file, "exec"), names)
            shown = None
            if isinstance(last, ast.Expr):
                shown = eval(compile(ast.Expression(last.value), file, "eval"), names)
        said.append(out.getvalue() + ("" if shown is None else repr(shown)))
        if names.get("trace") not in (None, *traces):
            traces.append(names["trace"])
    return said, traces


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What the lesson gives under the workbench and on the engine."""
    place = tmp_path_factory.mktemp("lesson")
    shutil.copy(CHECKOUT / "notebooks" / f"{LESSON}.exercises.py", place)
    with contextlib.chdir(place), driven():
        yield run_lesson(WORKBENCH), run_lesson("import engine_4 as torch\nworkbench.drive(torch)")


def test_lesson_2_says_the_same_on_an_engine_that_a_student_has_built(both: Any) -> None:
    (reference, _), (own, _) = both
    assert own == reference


def told(trace: Any) -> Any:
    """What a saved trace says."""
    raw = trace.to_bytes()
    return plain(json.loads(raw if raw[:1] == b"{" else gzip.decompress(raw)))


def plain(value: Any) -> Any:
    """A trace without what may differ: formulas, the dtype of a number that is kept, and whose file it was."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if name not in ("code", "saved", "file")}
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_its_recordings_of_lesson_2_have_the_same_events_nodes_and_gradients(both: Any) -> None:
    (_, reference), (_, own) = both
    assert len(own) == len(reference) == 3
    for mine, other in zip(own, reference, strict=True):
        assert told(mine) == told(other)
        kinds = [type(event) for event in mine.events]
        assert NodeCreated in kinds and GradAccumulated in kinds
        saved = [{each.name for each in event.saved} for event in mine.events if isinstance(event, NodeCreated)]
        theirs = [{each.name for each in e.saved} for e in other.events if isinstance(e, NodeCreated)]
        assert saved == theirs


@pytest.mark.parametrize("view", ["graph", "flow", "saved", "memory", "versions"])
def test_every_view_draws_its_recording(both: Any, view: str) -> None:
    (_, reference), (_, own) = both

    def said(trace: Any) -> str:
        # A number that is kept has the other operand's dtype here, and so another size.
        text = re.sub(r"\b\d+ bytes|\b\d+ B\b", "so many bytes", repr(trace.show(view)))
        return text.replace("(freed): int64", "(freed)")

    for mine, other in zip(own, reference, strict=True):
        assert said(mine) == said(other)


def test_a_node_shows_the_code_that_its_author_wrote(torch: Any) -> None:
    a = torch.tensor(2.0, requires_grad=True)
    with workbench.record() as trace:
        a * a
    (node,) = [event for event in trace.events if isinstance(event, NodeCreated)]
    assert [code.name for code in node.code] == ["forward", "backward", "jvp"]
    assert "return None if b is None else grad * b" in node.code[1].text
    assert not node.custom


def test_a_function_of_the_notebooks_own_is_one_in_the_picture(torch: Any) -> None:
    class Cube(torch.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.Tensor(x.data**3)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with workbench.record() as trace:
        Cube.apply(x).sum().backward()
    made = [event for event in trace.events if isinstance(event, NodeCreated)]
    assert [(event.name, event.custom) for event in made] == [("CubeBackward", True), ("SumBackward0", False)]
    assert "CubeBackward" in repr(trace.show("graph")) and x.grad.tolist() == [3, 12]


def test_writes_and_views_are_told_as_the_workbench_tells_them(torch: Any) -> None:
    def program(kind: Any) -> Any:
        w = kind.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with workbench.record() as trace:
            x = w * 2
            view = x[1:]
            view.mul_(w[0])
            x.add_(w)
            x.sum().backward()
        return trace, w.grad.tolist()

    (mine, own), (other, theirs) = program(torch), program(workbench)
    assert own == theirs

    def writes(trace: Any) -> list[Any]:
        return [(e.name, e.version) for e in trace.events if isinstance(e, TensorWritten)]

    assert writes(mine) == writes(other) == [("mul_", 1), ("add_", 2)]
    names = [event.name for event in mine.events if isinstance(event, NodeCreated)]
    assert "CopySlices" in " ".join(names)
    assert "written" in repr(mine.show("versions")) or "version" in repr(mine.show("versions"))


def test_an_error_on_its_way_out_is_in_the_recording(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="modified by an inplace"), workbench.record() as trace:
        y = a.exp()
        loss = y.sum()
        y += 1
        loss.backward()
    (failed,) = [event for event in trace.events if isinstance(event, Failed)]
    assert "modified by an inplace operation" in failed.message
    with workbench.record() as after:
        (a * a).sum().backward()
    assert [type(event) for event in after.events].count(BackwardFinished) == 1


def test_gradients_that_are_asked_for_and_their_own_graph_are_recorded(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with workbench.record() as trace:
        (slope,) = torch.grad((x**3).sum(), x, create_graph=True)
        slope.sum().backward()
    assert x.grad.tolist() == [6, 12]
    kinds = [type(event).__name__ for event in trace.events]
    assert kinds.count("BackwardStarted") == 2 and kinds.count("GradCaptured") == 1
    assert "slope" in repr(trace.show())


def test_the_graph_of_a_tensor_is_drawn_without_a_recording(torch: Any) -> None:
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    out = a * b + a
    assert "out" in repr(workbench.show(out)) and "MulBackward0" in repr(workbench.show(out))


def loss_of(torch: Any) -> tuple[Any, Any, Any]:
    x, target = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    w, b = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    return w, b, ((w * x + b - target) ** 2).mean()


def test_each_step_runs_the_engines_own_node(torch: Any) -> None:
    w, b, loss = loss_of(torch)
    ran: list[str] = []
    run, add = torch.Node.run, torch.AccumulateGrad.run
    torch.Node.run = lambda self, grad: ran.append(self.name()) or run(self, grad)
    torch.AccumulateGrad.run = lambda self, grad: ran.append(self.name()) or add(self, grad)
    s = workbench.step(loss)
    while not s.done:
        s.step()
    assert ran == [step.name for step in s.steps] and len(ran) == 7
    assert s.grads[w] is w.grad and w.grad.item() == -8
    assert type(w.grad) is torch.Tensor and not w.grad.requires_grad


def test_the_steppers_picture_is_that_of_the_workbench(torch: Any) -> None:
    def scenes(kind: Any) -> list[Any]:
        w, b, loss = loss_of(kind)
        s = workbench.step(loss)
        stage, found = Stage(s), []
        for _ in range(4):
            found.append([(box.title, box.kind, tuple(box.lines)) for box in stage.scene.boxes.values()])
            s.step(2)
        return found

    assert scenes(torch) == scenes(workbench)


def test_back_takes_out_what_the_engine_has_added_and_freed(torch: Any) -> None:
    w, b, loss = loss_of(torch)
    loss.backward(retain_graph=True)
    before, numbers = w.grad, w.grad.item()
    s = workbench.step(loss)
    for _ in range(2):
        s.run()
        assert w.grad is before and w.grad.item() == 2 * numbers
        assert loss.grad_fn.edges[0].saved is None
        s.back(7)
        assert w.grad is before and w.grad.item() == numbers
        assert loss.grad_fn.edges[0].saved is not None
    s.run()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        workbench.step(loss)


def test_back_over_a_leaf_warns_only_of_a_gradient_that_somebody_changed(torch: Any) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    s = workbench.step((w * 3.0).sum()).run()
    s.back(1)
    assert w.grad is None and s.warnings == []
    s.run()
    w.grad.add_(1.0)
    s.back(1)
    assert [said for said in s.warnings if "was changed by other code after step 3" in said]


def test_memory_of_a_write_through_a_view_is_all_given_back(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with workbench.record() as trace:
        base = x * x
        base[1:].mul_(x[:2])
        base.sum().backward()
    said = str(trace.show("memory")._repr_mimebundle_()["text/plain"])
    assert "CopySlices has run and frees its saved tensors" in said and "0 bytes held" in said
    assert "saved_tensors[" not in said and "to the end" not in said


def test_an_accumulation_that_is_wrong_is_seen_to_be(torch: Any) -> None:
    w, b, loss = loss_of(torch)

    def overwrite(self: Any, grad: Any) -> Any:
        self.variable.grad = grad * 10
        return ()

    torch.AccumulateGrad.run = overwrite
    s = workbench.step(loss).run()
    assert w.grad.item() == -80
    left = [step.left for step in s.steps if step.leaf is not None]
    assert [value.values for value in left if value is not None] == [(-80.0,), (-50.0,)] or "-80" in repr(left)


def test_places_edits_and_inputs_are_the_engines_tensors_and_nodes(torch: Any) -> None:
    w, b, loss = loss_of(torch)
    s = workbench.step(loss)
    s.breakpoint(w)
    s.run()
    assert s.current is not None and s.reason is not None and w.grad is None
    s.edit(w, 0, torch.tensor(5.0))
    s.run()
    assert w.grad.item() == 5
    assert [number for number, _ in s.watch(b)][0] > 0
    w, b, loss = loss_of(torch)
    s = workbench.step(loss, inputs=(w, b)).run()
    assert [each.item() for each in s.grads.values()] == [-8, -5] and w.grad is b.grad is None
    s = workbench.step(loss_of(torch)[2], grad=torch.tensor(2.0))
    s.run(until="mul")
    assert s.pending[0].grad is not None
    with pytest.raises(ValueError, match="leave create_graph away"):
        workbench.step(loss_of(torch)[2], create_graph=True)


def test_an_error_in_a_backward_is_the_steps(torch: Any) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.exp()
    loss = y.sum()
    y += 1
    s = workbench.step(loss)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        s.run()
    assert s.error is not None
    s.back()
    assert s.error is None


def test_what_is_no_engine_is_told_what_it_lacks() -> None:
    with pytest.raises(TypeError, match="but got 3, which has none"):
        drive(3)  # pyright: ignore[reportArgumentType]
    small = types.ModuleType("small")
    with pytest.raises(TypeError, match="needs an engine, a module that has a class Tensor, but got <module 'small'>"):
        drive(small)


@pytest.mark.parametrize("stage", [2, 3])
def test_an_engine_that_tells_nothing_is_drawn_and_stepped(stage: int) -> None:
    with driven(stage) as torch:
        w, b, loss = loss_of(torch)
        assert "PowBackward0" in repr(workbench.show(loss)) and "w" in repr(workbench.show(loss))
        s = workbench.step(loss).run()
        assert (w.grad.item(), b.grad.item()) == (-8, -5)
        s.back(7)
        assert w.grad is b.grad is None
        s.run()
        assert w.grad.item() == -8


@pytest.mark.parametrize("stage", [3, 4])
def test_a_backward_through_a_write_into_a_view_steps_forwards_and_back(stage: int) -> None:
    with driven(stage) as torch:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        x = a * 2
        view = x[1:]
        view *= a[0]
        s = workbench.step((x * view[0]).sum())
        for _ in range(2):
            s.run()
            assert "CopySlices" in repr(s.steps)
            found = a.grad.tolist()
            s.back(len(s.steps))
            assert a.grad is None
        (x * view[0]).sum().backward()
        assert a.grad.tolist() == found


def test_what_a_tensor_or_a_node_lacks_is_one_sentence(torch: Any) -> None:
    a = torch.tensor(2.0, requires_grad=True)
    loss = a * a
    del a.grad
    with pytest.raises(AttributeError, match="ask for the grad of a Tensor, which has none: of a tensor they ask data"):
        workbench.show(loss)
    a.grad = None
    loss = a * a
    del loss.grad_fn.edges
    vars(loss.grad_fn).pop("_mirror_of_node", None)
    with pytest.raises(AttributeError, match="ask for the edges of a Node"):
        workbench.show(loss)


def test_driving_it_again_changes_nothing(torch: Any) -> None:
    count = len(torch.listeners)
    drive(torch)
    assert len(torch.listeners) == count == 1


def test_a_small_engine_needs_no_more_than_is_written(tmp_path: Path) -> None:
    """Without versions, views, Functions and classes for nodes and leaves."""
    file = tmp_path / "tiny.py"
    file.write_text(
        """
import numpy as np
listeners = []
class Tensor:
    def __init__(self, data, requires_grad=False, grad_fn=None):
        self.data, self.requires_grad, self.grad_fn, self.grad = np.asarray(data), requires_grad, grad_fn, None
        self.leaf = Leaf(self)
    def edge(self):
        return self.grad_fn or (self.leaf if self.requires_grad else None)
    def __mul__(self, other):
        node = Mul(self, other)
        out = Tensor(self.data * other.data, True, node)
        for each in listeners:
            each("created", node, (self, other), out)
        return out
class Mul:
    def __init__(self, a, b):
        self.a, self.b, self.edges = a, b, (a.edge(), b.edge())
    def name(self):
        return "MulBackward0"
    def run(self, grad):
        return Tensor(grad.data * self.b.data), Tensor(grad.data * self.a.data)
class Leaf:
    edges = ()
    def __init__(self, variable):
        self.variable = variable
    def name(self):
        return "AccumulateGrad"
    def run(self, grad):
        have = self.variable.grad
        self.variable.grad = grad if have is None else Tensor(have.data + grad.data)
        return ()
""",
        encoding="utf-8",
    )
    tiny: Any = types.ModuleType("tiny")
    tiny.__file__ = str(file)
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(tiny))
    workbench.drive(tiny)
    a, b = tiny.Tensor(2.0, True), tiny.Tensor(np.float32(5.0), True)
    with workbench.record() as trace:
        y = a * b * a
    assert "MulBackward0" in repr(trace.show())
    s = workbench.step(y).run()
    assert (float(a.grad.data), float(b.grad.data)) == (20, 4)
    s.back(4)
    assert a.grad is b.grad is None
