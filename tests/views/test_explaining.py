"""Errors as pictures: the words stay PyTorch's, the picture says node, save, write, line and what to do."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import warnings
import weakref
from contextlib import nullcontext

import pytest
from autograd_errors import CASES as ERRORS
from autograd_errors import HOOKS
from boxes import name_of
from error_samples import CASES, FORWARD, leaf, modified, own_error, write_leaf
from made_functions import function, raising

import workbench as torch
from workbench import events
from workbench.pictures.trace.advised import OTHER, known_error
from workbench.pictures.views.error import GOT, LEGEND


def error_of(program, record=True):
    try:
        with warnings.catch_warnings(), torch.record() if record else nullcontext():
            warnings.simplefilter("ignore")
            program()
    except Exception as error:
        return error
    raise AssertionError("no error")


@pytest.mark.parametrize(("program", "title", "told"), CASES, ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("record", [True, False])
def test_the_picture_says_what_happened(program, title, told, record):
    error = error_of(program, record)
    assert program is own_error or known_error(str(error)) is not None
    text = " ".join(str(error.explain()).split())
    board = error.explain().storyboard
    scene = board.at()
    flows = any(arrow.state != "idle" for arrow in scene.arrows.values())
    legend = f" {GOT if flows else LEGEND}" if len(scene.boxes) > 1 else ""  # the story is one
    assert text.startswith(f"{title}{legend} What happened: ") and " The full message: " in text
    for each in told:
        if record or "mul_" not in each and "add_" not in each:  # which line wrote is known from a recording alone
            assert each.replace("`", "") in text.replace("`", ""), text
    phases = [step.phase for step in board.steps]
    assert phases == ["forward"] * (len(phases) - 1) + ["forward" if program in FORWARD else "backward"]
    assert board.start == len(board.steps) - 1  # it opens where all is told


def test_a_meaning_begins_with_a_capital():
    text = " ".join(str(error_of(lambda: leaf(1.0, 2.0)[0].add_(1)).explain()).split())
    assert " The result of select is a view of a leaf: " in text


@pytest.mark.parametrize("program", [each[0] for each in CASES])
def test_the_error_stays_what_it_was(program, monkeypatch):
    error = error_of(program)
    monkeypatch.setattr(events, "explain", None)
    plain = error_of(program, record=False)
    assert not hasattr(plain, "explain")
    assert (str(error), repr(error), type(error), error.args) == (str(plain), repr(plain), type(plain), plain.args)


def test_what_failed_stands_out():
    scene = error_of(modified).explain().storyboard.at()
    states = {name_of(box): box.state for box in scene.boxes.values()}
    assert states["ExpBackward0"] == "error" and states["saved result (y)"] == "error"
    wrong = {name_of(box) for box in scene.boxes.values() if box.state == "error"}
    assert wrong == {"ExpBackward0", "saved result (y)"}


def written_in_place():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = (w * 2).exp()
    out = h.sum()
    h += 1
    out.backward()


def of_many_elements():
    hidden = torch.tensor([1.0, 2.0], requires_grad=True) * 2
    hidden.backward()


def test_the_cure_names_the_variable_as_the_user_wrote_it():
    assert "Create a new tensor (`h = h * 2`)" in " ".join(str(error_of(written_in_place).explain()).split())
    assert "for example `hidden.sum().backward()`" in " ".join(str(error_of(of_many_elements).explain()).split())


def test_a_bystander_is_smaller_than_what_failed_and_what_wrote():
    boxes = {name_of(box): box for box in error_of(written_in_place).explain().storyboard.at().boxes.values()}
    assert "saved other" not in boxes and "saved result (h)" in boxes
    assert len(boxes["MulBackward0"].lines) == len(boxes["SumBackward0"].lines) == 1
    assert boxes["ExpBackward0"].state == "error"
    writer = boxes["AddBackward0"]
    assert writer.state == "idle" and writer.lines[-1] == "add_ overwrote it"
    assert "not reached by backward" not in writer.lines


def test_the_steps_are_save_write_and_error():
    told = [step.caption for step in error_of(modified).explain().storyboard.steps]
    assert [each.split(" (")[0] for each in told[:2]] == [
        "ExpBackward0 saved `y` at version 0",
        "`mul_` wrote into `y`: version 1",
    ]
    assert len(told) == 3


@pytest.mark.parametrize(("program", "title", "told"), CASES, ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("record", [True, False])
def test_the_errors_own_words_are_told_once_and_its_reason_is_drawn_large(program, title, told, record):
    error = error_of(program, record)
    board = error.explain().storyboard
    (story,) = [box for box in board.at().boxes.values() if box.kind == "story"]
    shown = " ".join(" ".join(story.lines).split())
    words = " ".join(str(error).split())
    assert words in " ".join(story.details[0].body.split())
    reason, said = shown.split(" The full message: ")
    assert said == words and "What to do: " in reason  # first what the traceback above has not said
    # The line of the user that raised it has the words in it.
    assert shown.count(words) == 1 + (program is own_error)
    assert board.steps[-1].caption == f"{title}: see the picture."


def test_where_lines_were_recorded_they_can_be_looked_at():
    said = {}
    for lines in (False, True):
        with torch.record(lines=lines) as trace, pytest.raises(LookupError) as raised:
            own_error()
        said[lines] = " ".join(str(raised.value.explain()).split())
        assert " ".join(str(trace.show("error")).split()).count("record(lines=True)") == said[lines].count(
            "record(lines=True)"
        )
    assert "record(lines=True)" in said[False] and "record(lines=True)" not in said[True]
    assert '`show("function")` replays' in said[True]


def test_the_trace_tells_its_error_too():
    with torch.record() as trace, pytest.raises(RuntimeError):
        modified()
    assert "`mul_` wrote into `y`" in str(trace.show("error"))
    with torch.record() as trace:
        leaf(1.0).exp()
    assert "No error" in str(trace.show("error"))


def test_names_of_variables_are_harmless():
    with torch.record():
        names = {"torch": torch, "leaf": leaf}
        source = "ʼ = leaf(1.0)\nʼ.add_(1)"
        try:
            exec(compile(source, "</script><b>\u202e", "exec"), names)
        except RuntimeError as error:
            page = error.explain().to_html()
    assert "\u202e" not in page and "<b>" not in page.split("</head>")[1]


def test_an_error_without_a_graph_at_hand_tells_its_words():
    error = error_of(modified, record=False).with_traceback(None)
    gc.collect()
    assert "ExpBackward0 needs a tensor it saved" in str(error.explain())


def test_what_is_gone_keeps_its_name():
    error = error_of(write_leaf, record=False).with_traceback(None)
    assert "`w` is a leaf" in str(error.explain())
    assert "`w` is a leaf" in str(pickle.loads(pickle.dumps(error)).explain())


@pytest.mark.slow
def test_an_error_keeps_no_graph_alive():
    kept = []

    def program():
        x = leaf(1.0, 2.0)
        y = x.exp()
        kept.append(weakref.ref(x))
        y.mul_(2)
        y.sum().backward()

    for record in (True, False):
        gc.collect()
        gc.disable()
        try:
            error = error_of(program, record).with_traceback(None)
            assert kept[-1]() is None
            assert error.explain() is not None
        finally:
            gc.enable()


def test_an_error_can_be_copied_and_sent():
    error = error_of(modified)
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert str(other) == str(error)
        assert "ExpBackward0 needs a tensor it saved" in str(other.explain())


def test_a_name_of_the_users_own_is_left_alone():
    class Mine(Exception):
        explain = "mine"

    with pytest.raises(Mine) as raised:
        function("Failing", lambda x: x * 1, raising(Mine)).apply(leaf(1.0)).backward()
    assert raised.value.explain == "mine"


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("ask", ["register_hook", "register_post_accumulate_grad_hook", "retain_grad"])
def test_a_tensor_that_no_gradient_comes_to_is_named(ask, record):
    def program():
        weights = torch.ones(2)
        getattr(weights, ask)(*[print] * (ask != "retain_grad"))

    assert "`weights` does not require grad" in " ".join(str(error_of(program, record).explain()).split())


def test_a_large_graph_is_cut_to_what_matters():
    def program():
        x = leaf(0.1)
        y = x.exp()
        z = y
        for _ in range(60):
            z = z * 1.01
        y.mul_(2)
        z.sum().backward()

    picture = error_of(program).explain()
    assert "more nodes are not shown" in str(picture)
    assert len(picture.storyboard.scene.boxes) < 30


def test_of_a_large_graph_no_saved_tensor_is_shown_without_its_node():
    class Keeps(torch.Function):
        kept = None

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(Keeps.kept)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    def program():
        y = Keeps.kept = leaf(2.0).exp()
        far = leaf(1.0)
        for _ in range(30):
            far = Keeps.apply(far)
        y.sum().backward()
        (y + far).sum().backward()

    picture = error_of(program).explain()
    assert "more nodes are not shown" in str(picture) and "leaf(2.0).exp() (failed here): ExpBackward0" in str(picture)


def _program(*lines):
    """What a fresh Python prints."""
    start = ["import sys, workbench as torch", "w = torch.ones(2, requires_grad=True)"]
    run = [sys.executable, "-c", "\n".join([*start, *lines])]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def test_outside_of_notebooks_nothing_is_loaded_for_an_error():
    seen = _program(
        "try: w.add_(1)",
        "except RuntimeError as error: print(callable(error.explain))",
        "print([name for name in sys.modules if name in ('IPython', 'anywidget', 'workbench.pictures.views')])",
    )
    assert seen == "True\n[]\n"


def test_a_notebook_shows_the_picture_under_the_traceback():
    seen = _program(
        "import ipykernel",
        "from IPython.core.interactiveshell import InteractiveShell",
        "shell = InteractiveShell.instance(colors='NoColor', ast_node_interactivity='none')",
        "from unittest.mock import Mock",
        "shell.kernel, shell.user_ns['w'] = Mock(), w",
        "shell.user_ns['torch'] = torch",
        "for cell in ('w.add_(1)', 'w.add_(1)', '1 / 0'): shell.run_cell(cell)",
    )
    assert seen.count("RuntimeError: a leaf Variable that requires grad") == 2
    assert seen.count("What happened:") == 2
    assert seen.index("RuntimeError: a leaf") < seen.index("What happened:") < seen.index("ZeroDivisionError:")


def test_a_matrix_in_a_sentence_keeps_its_rows():
    Doubled = function("Doubled", lambda x: x * x, lambda grad: 2 * grad)
    x = leaf(3.0, 4.0).double().detach().requires_grad_()
    told = str(error_of(lambda: torch.autograd.gradcheck(Doubled.apply, (x,))).explain())
    rows = [line.replace("\u00a0", " ") for line in told.splitlines()]
    first = next(at for at, row in enumerate(rows) if "numerical:tensor([[" in row)
    assert rows[first + 1].lstrip() == "[0.0000, 8.0000]], dtype=torch.float64)"
    assert rows[first + 2].lstrip().startswith("analytical:tensor([[2., 0.],")


def test_an_error_fits_a_notebook_beside_the_list_of_files() -> None:
    """With text of 11 px in a window of 1440 px: what happened is told in narrower lines, and all of it."""
    w = torch.ones(3, requires_grad=True)
    with torch.record() as trace:
        p = torch.sigmoid(w)
        p += 1
        with pytest.raises(RuntimeError) as raised:
            p.sum().backward()
    board = trace.show("error").storyboard
    assert board.layout.width <= 1049
    lines = " ".join(line.strip() for line in board.at().boxes["story"].lines)
    assert f"The full message: {raised.value}" in lines


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("record", [True, False])
def test_every_error_of_autograd_has_a_cause_and_a_cure(name, record):
    program, says = ERRORS[name]
    text = " ".join(repr(torch.explain(error_of(lambda: program(torch), record))).split())
    assert OTHER.means not in text and "What to do: " in text
    plain = text.replace("`", "")
    assert [each for each in says if each.replace("`", "") not in plain] == [], text


@pytest.mark.parametrize("name", HOOKS)
def test_the_picture_and_the_findings_of_an_error_in_a_hook_name_it_with_its_line(name):
    with pytest.raises((LookupError, TypeError)), torch.record() as trace:
        ERRORS[name][0](torch)
    shown = " ".join(str(trace.show("error")).split()).replace("`", "")
    assert f"{HOOKS[name]} " in shown.split("What to do")[0]
    assert f"in the hook `{HOOKS[name]}` (autograd_errors.py:" in str(trace.findings())


def test_a_line_without_a_source_ends_with_its_place():
    program = "x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.mul_(2)\ny.sum().backward()"
    with torch.record(), pytest.raises(RuntimeError) as raised:
        exec(compile("pass\n" + program, "<no source>", "exec"), {"torch": torch})
    text = " ".join(str(raised.value.explain()).split())
    assert "This happened at <no source>, line 5 What to do" in text and ": ." not in text
