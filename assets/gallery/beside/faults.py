"""Draw up `assets/docs/beside-other-tools.md`: which of 25 planted faults each tool names, from `faults.json`.

    python assets/gallery/beside/faults.py TOOL...

runs these tools on the programs of planted/, and writes both files; with no name it writes the page alone.
"functions" runs the audit and PyTorch's checks on the custom Functions. It needs
PyTorch; "histograms" needs tensorboard, and "torchlens" itself, which leaves its wrappers around PyTorch's functions
and so runs in a process of its own. The page says what counts as named.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
PAGE = CHECKOUT / "assets" / "docs" / "beside-other-tools.md"
FACTS = HERE / "faults.json"
FIRST = 3  # findings that are read
MOST = 3  # calls of a model that torchlens traces: the first two and the last

# The faults by their kind, in the order of the table.
KINDS = {
    "not finite": ("distance_of_a_twin", "log_of_a_forbidden_action"),
    "vanishing, exploding, dead": ("ten_sigmoids", "recurrence_that_doubles", "bias_far_below_zero"),
    "cut off, or frozen": (
        *("features_detached", "encoder_without_grad", "reconstruction_as_a_number"),
        *("nearest_code_cuts_the_encoder", "prefix_freezes_too_much"),
    ),
    "not in the optimizer, or twice": (
        *("optimizer_of_the_wrong_network", "temperature_made_late", "experts_in_a_list", "head_in_two_optimizers"),
    ),
    "the loop and its step": (
        *("cleared_before_the_loop", "warm_up_divides_integers", "rate_with_a_wrong_exponent", "loss_is_a_sum"),
        *("half_without_a_scaler", "clipped_before_unscaling", "still_in_eval_mode", "tied_by_a_copy"),
    ),
    "an error raised by PyTorch": ("state_carried_with_its_graph", "time_that_needs_no_gradient"),
    "a custom backward": ("swish_with_a_wrong_sign",),
}
TOOLS = {
    "findings": "findings()",
    "anomaly": "detect_anomaly",
    "gradcheck": "gradcheck",
    "histograms": "histograms",
    "torchlens": "torchlens",
}
# The sign of a tool that shows numbers which is the fault itself, and not something that follows from it.
FAULT = {
    "histograms": {
        "ten_sigmoids": "vanishing",
        "recurrence_that_doubles": "exploding",
        "bias_far_below_zero": "zero",
        "optimizer_of_the_wrong_network": "unchanged",
        "temperature_made_late": "unchanged",
        "warm_up_divides_integers": "unchanged",
        "rate_with_a_wrong_exponent": "jump",
    },
    "torchlens": {
        "ten_sigmoids": "vanishing",
        "recurrence_that_doubles": "exploding",
        "bias_far_below_zero": "dead",
    },
}


def sets() -> tuple[list[Any], list[Any]]:
    """The programs with a fault, and those without."""
    sys.path.insert(0, str(HERE / "planted"))
    import torch_bugs  # noqa: F401
    import torch_healthy  # noqa: F401
    from planted_entries import BUGS, HEALTHY

    return BUGS, HEALTHY


def execute(entry: Any) -> Exception | None:
    """Run a program as it is; the error with which it ended."""
    try:
        train = entry.program()
        if entry.prepared:
            train()
    except Exception as error:
        return error
    return None


# Tools that say sentences: what they say, and whether it names the fault by the words of the set.


def findings(entry: Any) -> dict[str, Any]:
    """The first three sentences of ours."""
    from planted_entries import run

    said = [(each.sentence, each.line and each.line.line) for each in run(entry)[0].findings()[:FIRST]]
    return {"said": [sentence for sentence, _ in said], "named": _is_named(entry, said)}


def anomaly(entry: Any) -> dict[str, Any]:
    """The error under `set_detect_anomaly`, with the innermost line of the program's file that it tells."""
    import torch

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with torch.autograd.set_detect_anomaly(True):
            error = execute(entry)
    if error is None:
        return {"said": [], "named": False}
    told = next((str(each.message) for each in warned if "Traceback of forward call" in str(each.message)), "")
    own = [line for line in told.splitlines() if f'{Path(entry.path).name}", line ' in line]
    own = own or [line for line in traceback.format_tb(error.__traceback__) if Path(entry.path).name in line]
    line = int(own[-1].partition(", line ")[2].partition(",")[0]) if own else None
    sentence = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return {"said": [f"{sentence} (line {line})"], "named": _is_named(entry, [(sentence, line)])}


def gradcheck(entry: Any) -> dict[str, Any] | None:
    """The check of a program's own Functions in float64; None where it has none."""
    import torch

    names = {"swish_with_a_wrong_sign": "ExactSwish"}
    if entry.name not in names:
        return None
    function = entry.program.__globals__[names[entry.name]]
    try:
        torch.autograd.gradcheck(function.apply, torch.randn(4, dtype=torch.float64, requires_grad=True))
    except RuntimeError as error:
        return {"said": [str(error).splitlines()[0]], "named": True}
    return {"said": [], "named": False}


def _is_named(entry: Any, said: list[tuple[str, int | None]]) -> bool:
    return hasattr(entry, "is_named_by") and any(entry.is_named_by(*each) for each in said)


# Tools that show numbers: fixed bounds decide what a person would notice.


def histograms(entry: Any) -> dict[str, Any]:
    """Histograms of each parameter and its gradient in each step, as TensorBoard writes and reads them."""
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    from torch.utils.tensorboard import SummaryWriter

    steps: list[dict[str, tuple[Any, Any]]] = []
    with _roots() as roots, tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:

        def write(optimizer: Any, *_: Any) -> None:
            seen: dict[str, tuple[Any, Any]] = {}
            for number, model in enumerate(roots):
                for name, weight in model.named_parameters():
                    seen[f"{number}.{name}"] = weight.detach().clone(), copy.deepcopy(weight.grad)
                    for kind, value in (("weight", weight), ("gradient", weight.grad)):
                        if value is not None and value.isfinite().all():  # of others there is none
                            writer.add_histogram(f"{number}.{name}/{kind}", value.detach().float(), len(steps))
            steps.append(seen)

        hook = register_optimizer_step_pre_hook(write)
        execute(entry)
        hook.remove()
    return {"signs": sorted({sign for sign in _signs(steps)})}


def _signs(steps: list[dict[str, tuple[Any, Any]]]) -> Iterator[str]:
    """What anybody sees who looks at all charts: `kind: parameter`."""
    names = [name for name in steps[-1] if steps] if steps else []
    for name in names:
        each = [step[name] for step in steps if name in step]
        weights, gradients = [weight for weight, _ in each], [grad for _, grad in each]
        known = [grad for grad in gradients if grad is not None]
        if not known:
            yield f"none: {name}"
        elif any(not grad.isfinite().all() for grad in known):
            yield f"not finite: {name}"
        elif all((grad == 0).all() for grad in known):
            yield f"zero: {name}"
        elif any(grad.norm() > 1e3 * weight.norm() > 0 for weight, grad in each if grad is not None):
            yield f"exploding: {name}"
        if len(weights) > 2 and known and all((weight == weights[0]).all() for weight in weights):
            yield f"unchanged: {name}"
        if any(after.norm() > 3 * before.norm() > 0 for before, after in zip(weights, weights[1:], strict=False)):
            yield f"jump: {name}"
    last = {name: grad for name, (_, grad) in (steps[-1] if steps else {}).items() if grad is not None}
    sizes = [(grad.float().norm().item() / grad.numel() ** 0.5, name) for name, grad in last.items() if grad.ndim > 1]
    if len(sizes) > 1 and 0 < sizes[0][0] < 1e-3 * max(sizes)[0]:
        yield f"vanishing: {sizes[0][1]}"


def torchlens(entry: Any) -> dict[str, Any]:
    """Traces of the model's calls with their backward, and torchlens' audits of them."""
    import torch
    import torchlens as lens

    with _calls() as calls:
        execute(entry)
    signs: set[str] = set()
    for at in sorted({0, 1, len(calls) - 1} & {*range(len(calls))})[:MOST]:
        model, given = calls[at]
        options = lens.options.CaptureOptions(save_grads="all", recurrence_detection=False)
        try:
            trace = lens.trace(model, list(given), capture=options)
            outputs = [trace[label].out for label in trace.output_layers]
            sums = [out.float().sum() for out in outputs if isinstance(out, torch.Tensor) and out.is_floating_point()]
            trace.log_backward(sum(sums))
        except Exception as error:
            signs.add(f"refused: {type(error).__name__}")
            continue
        for audit in (_flow, _dead, _nan):
            try:
                signs |= {*audit(lens, trace)}
            except Exception as error:
                signs.add(f"refused: {audit.__name__[1:]}, {type(error).__name__}")
    return {"signs": sorted(signs)}


def _flow(lens: Any, trace: Any) -> Iterator[str]:
    rows, _ = lens.debug.gradient_flow_audit_rows(trace)
    for row in rows:
        flags = [name for name in ("vanishing", "exploding", "dead") if row[name]]
        flags += ["nonfinite"] if row["verdict"] == "nonfinite" else []
        yield from (f"{flag}: {row['module'] or row['op']}" for flag in flags)


def _dead(lens: Any, trace: Any) -> Iterator[str]:
    table = lens.debug.dead_neurons(trace)
    yield from (f"dead: {row.op}" for row in table.itertuples() if row.dead_frac == 1 and "relu" in row.op)


def _nan(lens: Any, trace: Any) -> Iterator[str]:
    yield from (
        f"nonfinite: {f.message[:120]}" for f in lens.debug.audit_trace(trace).findings if "finite" in f.message
    )


@contextmanager
def _calls() -> Iterator[list[tuple[Any, list[Any]]]]:
    """Copies of the models that a program calls, as they were, and of what they were given."""
    import torch

    calls: list[tuple[Any, list[Any]]] = []

    def note(model: Any, given: Any) -> None:
        if torch.is_grad_enabled() and [*model.parameters()]:
            held = [each.detach().clone() if isinstance(each, torch.Tensor) else each for each in given]
            calls.append((copy.deepcopy(model), held))

    with _outermost(note):
        yield calls


@contextmanager
def _roots() -> Iterator[list[Any]]:
    """The models that a program calls."""
    roots: list[Any] = []

    def note(model: Any, given: Any) -> None:
        if not any(model is each for each in roots):
            roots.append(model)

    with _outermost(note):
        yield roots


@contextmanager
def _outermost(note: Callable[[Any, Any], None]) -> Iterator[None]:
    """Have a function told of each call of a module that lies in no other module's, before it runs."""
    import torch

    deep = 0

    def enter(model: Any, given: Any) -> None:
        nonlocal deep
        if not deep:
            note(model, given)
        deep += 1

    def leave(*_: Any) -> None:
        nonlocal deep
        deep -= 1

    of_all = torch.nn.modules.module
    hooks = [of_all.register_module_forward_pre_hook(enter)]
    hooks.append(of_all.register_module_forward_hook(leave, always_call=True))
    yield
    for hook in hooks:
        hook.remove()


RUNS: dict[str, Callable[[Any], dict[str, Any] | None]] = {
    "findings": findings,
    "anomaly": anomaly,
    "gradcheck": gradcheck,
    "histograms": histograms,
    "torchlens": torchlens,
}


# Custom Functions: a tool is run on the wrong one and on its correct twin.

CHECKS = {"audit": "audit()", "gradcheck": "gradcheck", "gradgradcheck": "gradgradcheck"}


def functions() -> dict[str, Any]:
    """What each tool says of each Function and of its twin, and whether that names the fault."""
    sys.path.insert(0, str(HERE / "planted"))
    from torch_functions import FUNCTIONS

    told: dict[str, Any] = {}
    for name, each in FUNCTIONS.items():
        told[name] = {"what": each.what}
        for tool in CHECKS:
            said, twin = [_messages(tool, function, each.inputs()) for function in (each.wrong, each.right)]
            kinds = {text.partition(" for ")[0] for text in twin}
            said = [text for text in said if text.partition(" for ")[0] not in kinds]  # it says that of a right one too
            named = any(word in text for word in each.words for text in said)
            told[name][tool] = {"said": said, "twin": twin, "named": named}
    return told


def _messages(tool: str, function: Any, inputs: list[Any]) -> list[str]:
    import torch

    import workbench

    torch.manual_seed(0)
    if tool == "audit":
        return [f"{each.name}: {each.evidence} ({each.line})" for each in workbench.audit(function, *inputs).failures]
    of_floats = [each.detach().double().requires_grad_() if _is_float(each) else each for each in inputs]
    try:
        getattr(torch.autograd, tool)(function.apply, of_floats)
    except Exception as error:
        return [str(error).splitlines()[0]]
    return []


def _is_float(thing: Any) -> bool:
    return hasattr(thing, "is_floating_point") and thing.is_floating_point()


def measure(tool: str, facts: dict[str, Any]) -> None:
    """Run a tool on every program."""
    import torch

    torch.set_num_threads(1)
    if tool == "functions":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            facts[tool] = functions()
        return
    bugs, healthy = sets()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts[tool] = {bug.name: RUNS[tool](bug) for bug in bugs}
        facts[f"{tool}, healthy"] = {entry.name: RUNS[tool](entry) for entry in healthy}
    facts["what"] = {bug.name: bug.what for bug in bugs}
    versions = {"torch": torch.__version__.partition("+")[0]}
    for tool, package in {"torchlens": "torchlens", "histograms": "tensorboard"}.items():
        versions |= {package: version(package)} if tool in sys.argv else {}
    facts["versions"] = facts.get("versions", {}) | versions
    facts["date"] = date.today().isoformat()


# The page.

INTRODUCTION = """\
# Comparison with other tools

We planted one bug in each of 25 small PyTorch training scripts (`assets/gallery/beside/planted/torch_bugs.py`) and
ran five tools on them, as of {date}, with {versions}. `python assets/gallery/beside/faults.py TOOL...` repeats the
measurement.

| Mark | Meaning |
|:-:|---|
| ● | the tool names the bug and its place: the layer, tensor or line, and what's wrong there |
| ○ | the tool shows a symptom: something is visibly wrong, but you still have to find the bug |
| (empty) | the tool shows nothing unusual |
| – | the tool isn't made for this kind of bug |

- **findings()** is this package. ● means that one of the first three findings contains a key word of the bug, and
  also its place or its line. The key words were chosen by people who didn't know the findings. The rules were then
  improved until they found the bugs in these programs. So `findings()` was tuned on these programs, and the other
  tools weren't.
- **detect_anomaly** is PyTorch's own error under `torch.autograd.set_detect_anomaly(True)`. ● means that the error
  contains a key word and the place or the line.
- **gradcheck** tests the only custom Function, in float64.
- **Histograms** show each weight and its gradient in each step, as in TensorBoard. A histogram doesn't say what's
  wrong, so we used fixed limits for what a person would notice: no gradient, not finite, all zero, never changed,
  more than three times as large as in the step before, a gradient a thousand times larger than its weight, or a first
  layer with a thousandth of the largest gradient. ● means that the visible problem is the bug itself. ○ means that
  it's a consequence of the bug.
- **torchlens** traces the first two calls and the last call of the model. It doesn't know the loss, so the backward
  pass starts at the sum of the outputs. Its audits look for non-finite values, problems of the gradient flow, and
  dead neurons. In the first program, a layer runs twice. There, torchlens reports the `nan`, but its search for the
  origin raises an error.

Other tools check training code differently. torchtest asserts in a test that parameters change and outputs are
finite. TrainCheck infers invariants from healthy runs and reports violations. torch-audit checks batches, optimizer
settings, gradients and layers against built-in rules while the program runs. We didn't measure these three tools.

"""

NOTES = """
## Where other tools do better

- **gradcheck** finds the wrong backward. `findings()` misses it in this program, because a recording of PyTorch
  stores only a summary of tensors with more than a hundred values. Always test a custom Function with gradcheck
  or `workbench.audit`.
- **detect_anomaly** needs no other package. The program stops at the backward operation that made the `nan`, and
  prints the whole stack of its forward call. A finding names only one line.
- **Histograms** cover days of training at negligible cost. They also show problems for which there is no rule, such
  as a distribution that drifts or has two peaks. For runs that take hours, this package has `workbench.watch`, which
  stores norms but no distributions.
- **torchlens** shows the values of every operation in a forward pass, and which units are dead. A finding only names
  the layer of dead units.

A tool should report nothing if nothing is wrong. We also ran the tools on 20 healthy programs. 17 of them are awkward
on purpose: they do something unusual that a tool could mistake for a bug. Each tool reported or showed a problem in
this number of healthy programs: {quiet}.

{functions}
## What each tool does

● means yes, ○ in part. An empty cell means no, or that we don't know. PyTorch's `gradcheck` audits the derivative of a
Function, and its private `DebugMode` compares the logs of two runs by hashes. torchlens compares the operations of two
forward passes, answers in JSON, and has a server for assistants. The marks of Netron and TensorBoard are from what we
know of them; we didn't run them for this table.

| What | this package | PyTorch itself | torchviz | torchlens | Netron | TensorBoard |
|---|:-:|:-:|:-:|:-:|:-:|:-:|
| audits a Function in one call | ● | ○ | | | | |
| compares two runs and names the first operation that differs | ● | ○ | | ● | | |
| gradient goldens in tests | ● | | | | | |
| answers for programs (JSON, SARIF, MCP) | ● | | | ○ | | |
| a picture on any page without a server | ● | | ● | ● | ● | |

## Pictures

The folder `assets/gallery/beside/` in the repository compares pictures of eight programs, drawn by this package,
torchviz, torchvista, torchlens and torchview.
"""


def mark(facts: dict[str, Any], tool: str, bug: str) -> str:
    """What a tool tells of a fault."""
    told = facts[tool][bug]
    if told is None:
        return "–"
    if "named" in told:
        return "●" if told["named"] else "○" if told["said"] and tool == "anomaly" else ""
    signs = {sign.partition(":")[0] for sign in told["signs"]} - {"refused"}
    return "●" if FAULT[tool].get(bug) in signs else "○" if signs else ""


def page(facts: dict[str, Any]) -> str:
    """The page, of facts as `faults.json` keeps them."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    lines = [INTRODUCTION.format(date=facts["date"], versions=versions)]
    lines += [f"| bug | {' | '.join(TOOLS.values())} |\n", f"|---|{':-:|' * len(TOOLS)}\n"]
    for kind, bugs in KINDS.items():
        lines.append(f"| **{kind}** |{' |' * len(TOOLS)}\n")
        for bug in bugs:
            marks = " | ".join(mark(facts, tool, bug) for tool in TOOLS)
            lines.append(f"| {facts['what'][bug]} | {marks} |\n")
    each = [[mark(facts, tool, bug) for bug in facts["what"]] for tool in TOOLS]
    totals = " | ".join(f"{marks.count('●')} ● {marks.count('○')} ○" for marks in each)
    lines.append(f"| **of {len(facts['what'])}** | {totals} |\n")
    return "".join(lines) + NOTES.format(quiet=_quiet(facts), functions=_functions_section(facts["functions"]))


OF_FUNCTIONS = """\
## A wrong custom Function

{count} custom Functions of PyTorch have one fault each (`assets/gallery/beside/planted/torch_functions.py`). We ran
three checks on each, and on the same Function without the fault: `workbench.audit` on inputs as a user gives them, and
PyTorch's `gradcheck` and `gradgradcheck` in float64. ● means that the message contains a key word of the fault; for
the checks by differences, that it names the derivative that is wrong. ○ means that the check raises without it. A
message that the correct Function gets as well doesn't count.

These are 12 of 44 Functions that were written before `audit` was run on them. We chose the 12, and the key words, when
we knew the results. At first, `audit` named 32 of the 44. It was then improved, and names 42 as failures and 2 as
questions.
"""


def _functions_section(told: dict[str, Any]) -> str:
    """The table of custom Functions."""
    told = {name: told[name] for name in sorted(told)}  # as the file keeps them
    lines = [OF_FUNCTIONS.format(count=len(told)), f"| fault | {' | '.join(CHECKS.values())} |"]
    lines.append(f"|---|{':-:|' * len(CHECKS)}")
    marks = {tool: [_of_function(each[tool]) for each in told.values()] for tool in CHECKS}
    for at, each in enumerate(told.values()):
        lines.append(f"| {each['what']} | {' | '.join(marks[tool][at] for tool in CHECKS)} |")
    totals = [f"{each.count('●')} ● {each.count('○')} ○" for each in marks.values()]
    lines.append(f"| **of {len(told)}** | {' | '.join(totals)} |")
    alarms = [f"`{name}` {sum(bool(each[tool]['twin']) for each in told.values())}" for tool, name in CHECKS.items()]
    lines += [
        f"\nThis number of the {len(told)} correct Functions doesn't pass: {', '.join(alarms)}. PyTorch's two checks",
        "don't repeat a dropout's random numbers, and `gradgradcheck` doesn't skip a `backward` that is",
        "`once_differentiable`.\n",
    ]
    return "\n".join(lines)


def _of_function(said: dict[str, Any]) -> str:
    return "●" if said["named"] else "○" if said["said"] else ""


def _quiet(facts: dict[str, Any]) -> str:
    """Say in how many healthy programs each tool reports something."""
    counts = {}
    for tool, called in TOOLS.items():
        told = [each for each in facts[f"{tool}, healthy"].values() if each]
        shown = [each.get("said") or each.get("signs") for each in told]
        counts[called] = sum(any(not str(sign).startswith("refused") for sign in each or ()) for each in shown)
    said = ", ".join(f"`{tool}` {count}" if "(" in tool else f"{tool} {count}" for tool, count in counts.items())
    return said.replace("`findings()`", "`findings()` (questions included)")


if __name__ == "__main__":
    facts = json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else {}
    for tool in sys.argv[1:]:
        measure(tool, facts)
    told = json.dumps(facts, indent=1, sort_keys=True).replace(f"{CHECKOUT}{os.sep}", "")
    FACTS.write_text(f"{told}\n", encoding="utf-8")
    PAGE.write_text(page(facts), encoding="utf-8")
