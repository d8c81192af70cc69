"""The card of a Function: lines that run, variables and ctx, and that nothing is left tracing."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref

import pytest
from golden_programs import Scaled

import workbench as torch
from workbench.autograd.function import once_differentiable
from workbench.pictures.trace.call_records import LineReached, MethodCalled, MethodEnded


def recorded(program, *args):
    with torch.record(lines=True) as trace:
        program(*args)
    return trace


def scaled():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Scaled.apply(x, 3).sum().backward()


def captions(trace):
    return [step.caption for step in trace.show("function").storyboard.steps]


def state_at(trace, k):
    """The boxes by their titles, as they are after step k."""
    boxes = trace.show("function").storyboard.at(k).boxes.values()
    return {box.title.replace("\xa0", " ").strip(): box for box in boxes}


class Two(torch.Function):
    """Its context is set up in a method of its own, and it has a tangent."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(output)
        ctx.save_for_backward(output)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y

    @staticmethod
    def jvp(ctx, x_t):
        (y,) = ctx.saved_tensors
        return x_t * y


def test_setup_context_jvp_and_once_differentiable():
    def program():
        fwAD = torch.autograd.forward_ad
        Two.apply(torch.tensor([0.0], requires_grad=True)).backward()
        with fwAD.dual_level():
            Two.apply(fwAD.make_dual(torch.tensor([0.0]), torch.tensor([2.0])))

    trace = recorded(program)
    methods = [event.method for event in trace.events if isinstance(event, MethodCalled)]
    assert methods == ["forward", "setup_context", "backward", "forward", "setup_context", "jvp"]
    told = captions(trace)
    assert any("setup_context begins with inputs = (tensor (1,),) and output = [1.]" in each for each in told)
    assert "Two.jvp returns [2.]." in told
    assert "forward has no ctx" in str([box.lines for box in state_at(trace, 0).values()])


def test_an_error_is_told_at_its_line_and_leaves_no_tracing_on():
    class Wrong(torch.Function):
        @staticmethod
        def forward(ctx, x):
            x = x + 1
            raise ValueError("</script> no")

    with torch.record(lines=True) as trace:
        with pytest.raises(ValueError, match="no"):
            Wrong.apply(torch.ones(1))
    told = captions(trace)
    assert told[-1] == "Wrong.forward raises ValueError: </script> no."
    assert any(box.state == "error" and "raise ValueError" in title for title, box in state_at(trace, 2).items())
    assert sys.gettrace() is None or sys.version_info >= (3, 12)
    if sys.version_info >= (3, 12):
        assert all(sys.monitoring.get_tool(id) != "workbench" for id in range(6))


def test_an_error_that_is_caught_in_the_method_does_not_end_it():
    class Catching(torch.Function):
        @staticmethod
        def forward(ctx, x):
            try:
                {}["no"]
            except KeyError:
                pass
            return x * 2

    trace = recorded(lambda: Catching.apply(torch.ones(1)))
    (ended,) = [event for event in trace.events if isinstance(event, MethodEnded)]
    assert (ended.error, ended.returned[0].value.values) == ("", (2.0,))


def test_an_error_that_leaves_the_block_leaves_no_tracing_on():
    with pytest.raises(ZeroDivisionError), torch.record(lines=True):
        raise ZeroDivisionError
    assert sys.gettrace() is None or sys.version_info >= (3, 12)


def test_the_users_trace_function_is_left_as_it_is():
    in_the_way = sys.version_info < (3, 12)
    seen = []

    def users(frame, event, arg):
        seen.append(event)

    before = sys.gettrace()
    sys.settrace(users)
    try:
        with warnings.catch_warnings(record=True) as caught, torch.record(lines=True) as trace:
            warnings.simplefilter("always")
            scaled()
        assert sys.gettrace() is users
    finally:
        sys.settrace(before)
    said = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
    assert ["a debugger or a coverage tool" in text for text in said] == [True] * in_the_way
    assert seen and any(isinstance(event, LineReached) for event in trace.events) != in_the_way


def test_two_threads_at_once():
    begun = threading.Barrier(2, timeout=20)

    class Meeting(torch.Function):
        @staticmethod
        def forward(ctx, x):
            begun.wait()
            y = x * 2
            begun.wait()
            return y

    with torch.record(lines=True) as trace:
        threads = [threading.Thread(target=Meeting.apply, args=(torch.tensor([float(i)]),)) for i in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    calls = [event.call for event in trace.events if isinstance(event, MethodCalled)]
    assert len(calls) == 2
    for call in calls:
        lines = [event.line for event in trace.events if isinstance(event, LineReached) and event.call == call]
        assert [line - lines[0] for line in lines] == [0, 1, 2, 3]
    assert len(captions(trace)) == 10
    assert threading.gettrace() is None


def test_the_graph_does_not_mind():
    with torch.record() as plain:
        scaled()
    assert str(recorded(scaled).show()) == str(plain.show())


def test_a_strange_file_is_shown_all_the_same():
    data = recorded(scaled).to_dict()
    events = [event for event in data["events"] if event["kind"] in ("MethodCalled", "LineReached", "MethodEnded")]
    strange = [event | {"call": "m9", "ctx": "</script>"} for event in events if event["kind"] == "MethodCalled"]
    lost = [event | {"call": "none"} for event in events if event["kind"] != "MethodCalled"]
    trace = type(recorded(scaled)).from_dict(data | {"events": [*strange, *lost, *events]})
    assert "Scaled.backward (run 2) returns [6. 12.] and None." in captions(trace)
    assert "</script>" not in trace.show("function").to_html().split("<script")[2].split("</script>")[0]


def test_nothing_recorded_keeps_a_tensor_alive():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Scaled.apply(x, 3)
    with torch.record(lines=True) as trace:
        y = Scaled.apply(x, 3)
        y.sum().backward()
    gone = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert gone() is None
    finally:
        gc.enable()
    assert len(captions(trace)) == 10


def test_variables_are_not_asked_to_print_themselves():
    class Loud:
        def __repr__(self):
            raise AssertionError("asked")

    class Taking(torch.Function):
        @staticmethod
        def forward(ctx, x, thing, words):
            ctx.thing = thing
            return x * 1

    trace = recorded(lambda: Taking.apply(torch.ones(1), Loud(), "\u202e" + "x" * 10_000))
    text = str(trace.show("function"))
    assert "thing = a Loud" in text and "\u202e" not in text and max(map(len, text.splitlines())) < 350


def test_code_of_which_no_line_was_recorded_keeps_its_indentation():
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as trace:
        Scaled.apply(x, 3.0).backward()
    picture = trace.show("function")
    lines = {box.alt: box.title for box in picture.storyboard.scene.boxes.values() if box.kind == "line"}
    assert any(line.endswith("    y = x * x") for line in lines)
    assert all(title == line.replace(" ", "\u00a0") for line, title in lines.items())  # a browser keeps these spaces
    assert "y = x * x" in str(picture)
