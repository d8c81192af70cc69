"""What holds for every view and every program: a file is shown as the trace is, and words of others do no harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trace_samples as samples
import transform_samples as transforms
from golden_programs import PAIRS, TAGS, losing

from workbench.pictures.recording import Trace
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views import VIEWS, storyboard
from workbench.pictures.views.program_tree import program_tree

# Besides these, programs that no golden text is of.
OTHERS = [*samples.PROGRAMS, *[program for program in transforms.PROGRAMS if program is not transforms.many]]
SHOWN = [(view, program) for view, several in TAGS.items() for program in several]
SHOWN += [("graph", program) for program in OTHERS] + [(view, losing) for view in ("graph", "flow", "saved")]
LINE = "</script><b>\u202e${1}`"
HOSTILE = {"name": "</script>\u202e" + "x" * 10_000, "text": LINE * 900, "op": '"><img src=x>' * 100}


def read(trace: Trace) -> Trace:
    """The trace, from a file."""
    return Trace.from_dict(json.loads(trace.to_json()))


def alike(one: Storyboard, other: Storyboard) -> bool:
    return (one.scene, one.steps, one.start, one.runs) == (other.scene, other.steps, other.start, other.runs)


@pytest.mark.slow
@pytest.mark.parametrize(("view", "program"), SHOWN)
def test_a_trace_from_a_file_is_shown_alike(view: str, program: Any) -> None:
    trace = program()
    assert alike(storyboard(read(trace), view), storyboard(trace, view))
    one, other = (program_tree(each.events) for each in (read(trace), trace))
    assert one.titles == other.titles and [each.title for each in one.groups()] == [
        each.title for each in other.groups()
    ]


@pytest.mark.parametrize("name", PAIRS)
def test_traces_from_files_are_compared_alike(name: str) -> None:
    first, second = PAIRS[name]()
    both = [storyboard(one, "compare", against=other) for one, other in ((read(first), read(second)), (first, second))]
    assert alike(*both)


def hostile(data: Any) -> Any:
    """The dictionary of a trace, in which every name and every line of a program is meant to harm."""
    if isinstance(data, list):
        return [hostile(each) for each in data]
    if isinstance(data, dict):
        return {
            key: HOSTILE[key] if key in HOSTILE and isinstance(each, str) else hostile(each)
            for key, each in data.items()
        }
    return data


@pytest.mark.parametrize("view", VIEWS)
def test_names_and_lines_of_others_stay_text(view: str) -> None:
    program = TAGS[view][0] if view in TAGS else samples.descent
    data = program().to_dict()
    data["parts"] = [[*part[:2], LINE * 20, *part[3:]] for part in data["parts"]]
    trace = Trace.from_dict({**data, "events": hostile(data["events"])})
    picture = trace.show(view, **({"against": trace} if VIEWS[view].compares else {}))
    page = picture.to_html()
    assert "\u202e" not in f"{picture}{picture.to_svg()}" and ("\u202e" not in page or view == "function")
    assert "</script><b>" not in page and "<img src=x>" not in page
    if view not in ("graph", "flow", "error", "function"):  # whose titles are whole
        assert all(len(line) <= 120 for line in str(picture).split("\n\n")[0].splitlines())
    assert picture.storyboard.layout.width < 3000 or view == "function"
