"""Rules about what autograd doesn't see: writes to memory and gradients between creation and use."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...pictures.trace.backward_records import NodeStarted
from ...pictures.trace.call_records import HooksFound
from ...pictures.trace.facts import Saved, TensorSeen
from ...pictures.trace.gap_records import EventLost
from ...pictures.trace.tensor_records import DATA, UNREPORTED, TensorWritten
from ...pictures.trace.values import Value, begun, code, format_value
from .backwards import RecordedBackward
from .finding import Finding, asked, describe, hook_words, phrases, place
from .graph import Grads, RecordedNode
from .measures import distance, is_same
from .training_run import TrainingRun
from .zero_gradient import ITSELF, MASKS, PRODUCTS

# What computes its gradients from all the numbers that it saved.
_READ = frozenset(
    "mul div exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal pow square tanh sigmoid sin cos softmax "
    "log_softmax mm addmm bmm baddbmm mv dot matmul mse_loss".split()
)
# What saves a tensor for its shape alone.
_READ_SHAPES = frozenset(
    "gather masked_select take nll_loss nll_loss2d max_pool2d_with_indices max_pool3d_with_indices avg_pool2d "
    "avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d index_put".split()
)
_NEAR = 1e-3  # as a share of both norms: what was computed again, or summed in another order


def saved_written(run: TrainingRun) -> Iterator[Finding]:
    """Find nodes that read a saved tensor in backward that was written since, where autograd didn't see it."""
    written: dict[str, TensorWritten] = {}  # owner of memory -> the last such write
    assigned: dict[str, tuple[int, TensorWritten]] = {}  # tensor -> the last `w.data = ...`
    values: dict[str, Value] = {}
    told_of: set[object] = set()
    for at, event in enumerate(run.events) if _writes_unseen(run) else ():
        values.update([(seen.id, seen.value) for seen in getattr(event, "tensors", ())])
        if isinstance(event, TensorWritten) and event.tensor in run.tensors:
            values[event.tensor] = event.value
            if event.name == DATA:
                assigned[event.tensor] = at, event
            elif event.name == UNREPORTED or (_is_data(run, event) and event.node is None):
                written[run.tensors[event.tensor].base or event.tensor] = event
        elif isinstance(event, NodeStarted) and written and (node := run.nodes.get(event.node)) is not None:
            for saved in node.made.saved:
                seen = run.tensors.get(saved.tensor or "")
                write = None if seen is None else written.get(seen.base or seen.id)
                if seen is None or write is None or saved.packed is not None:
                    continue
                if write.name == UNREPORTED and seen.id in assigned and assigned[seen.id][0] > node.event:
                    write = assigned[seen.id][1]
                was, now = node.saved.get(saved.name), values.get(seen.id)
                if was is None or now is None or not _differ(was, now) or _is_same_mask(node, was, now):
                    continue
                if (node.line, write.source) in told_of or not _is_data(run, write) and _is_unread(node, saved, seen):
                    continue
                told_of.add((node.line, write.source))
                yield _written_finding(run, node, seen, saved.name, write, (was, now))


def _written_finding(
    run: TrainingRun, node: RecordedNode, seen: TensorSeen, slot: str, write: TensorWritten, values: tuple[Value, Value]
) -> Finding:
    owner = run.tensors.get(seen.base or "")
    name = seen.name or (owner.name if owner is not None else None)
    what = code(name) if name else "its result" if slot in ITSELF else "its input"
    certain = _is_data(run, write) or node.made.operation in _READ
    how, fix = _written_how(write)
    was, now = map(format_value, values)
    many = was.removeprefix("values from ")
    saved = (
        f"it saved {what} as {was}, then"
        if many == was
        else f"when it saved {what}, the values ranged from {many}. Then"
    )
    return Finding(
        "saved memory written",
        certain,
        asked(
            f"The gradient of {describe(node)} is computed from overwritten values: {saved} {how}. "
            f"Backward saw {now} instead.",
            certain,
        ),
        fix,
        write.source or node.line,
        node.started[0],
        (node.id, seen.id),
    )


def _written_how(write: TensorWritten) -> tuple[str, str]:
    """Return what wrote into saved memory, and what to do."""
    if write.name == UNREPORTED:
        return (
            "before its backward something else wrote into that memory, which autograd can't detect: through "
            "NumPy (`x.numpy()`, or the array of `from_numpy(array)`), for example",
            "Compute a new array or write into a copy (`array.copy()`, `x.clone()`), or write only after the backward "
            "pass.",
        )
    if write.name == DATA:
        return (
            f"an assignment to `.data` ({place(write.source)}) replaced the tensor's memory, which autograd can't "
            "detect",
            "Assign to `.data` only after the backward pass. Or write under `no_grad` (`w.copy_(...)`), where autograd "
            "detects a wrong write.",
        )
    return (
        f"{code(write.name)} ({place(write.source)}) overwrote that memory through `.data`, which autograd "
        "can't detect",
        "Write into a copy: `clone()`. If you must write into it, do it after the backward pass, through `detach()` or "
        "under `no_grad`, where autograd can detect a wrong write.",
    )


def _writes_unseen(run: TrainingRun) -> bool:
    writes = [event for event in run.events if isinstance(event, TensorWritten)]
    return any(event.name == UNREPORTED or _is_data(run, event) for event in writes)


def _is_unread(node: RecordedNode, saved: Saved, seen: TensorSeen) -> bool:
    """Return True if a node's gradients may not depend on the numbers of what it saved."""
    operation, targets = node.made.operation, [edge.target for edge in node.made.edges if edge.target is not None]
    if operation in _READ_SHAPES and saved.name in ("self", "input"):
        return True
    return operation in PRODUCTS and len(targets) == 1 and targets[0] in (seen.id, seen.node)


def _is_data(run: TrainingRun, event: TensorWritten) -> bool:
    seen = run.tensors.get(event.tensor)
    return seen is not None and seen.cut is not None and seen.cut.word == "data" and seen.base is not None


def _differ(one: Value, other: Value) -> bool:
    """Return True if two values are known to differ by more than rounding."""
    if one.shape != other.shape or one.dtype != other.dtype or not (one.is_known and other.is_known):
        return False
    if one.nonfinite or other.nonfinite:
        return not is_same(one, other)
    return distance(one, other) > _NEAR * (one.norm + other.norm)


def _is_same_mask(node: RecordedNode, was: Value, now: Value) -> bool:
    """Return True if only the signs of a saved tensor matter, and they may be unchanged."""
    if node.made.operation not in MASKS:
        return False
    known = was.values is not None and now.values is not None
    return not known or all(
        math.copysign(bool(a), a) == math.copysign(bool(b), b)
        for a, b in zip(was.values or (), now.values or (), strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Changed:
    """A gradient that arrived with other values than it was sent with."""

    backward: RecordedBackward
    sent: list[tuple[str, Value]]  # each with the node that sent it; what arrives is the sum
    receiver: str
    got: Value

    @property
    def sender(self) -> str:
        """The first of the nodes that sent it."""
        return self.sent[0][0]


def gradient_written(run: TrainingRun) -> Iterator[Finding]:
    """Find gradients that changed between the node that sent them and the next one, without a hook of either."""
    if any(isinstance(event, EventLost) for event in run.events):
        return  # another node may have sent some of it
    hooked = {each.node for event in run.events if isinstance(event, HooksFound) for each in event.places if each.hooks}
    found: dict[object, _Changed] = {}
    for backward in run.backwards:
        for each in _changed(run, backward):
            if not hooked.intersection([each.receiver, *[sender for sender, _ in each.sent]]):
                found.setdefault((run.source(each.sender), run.source(each.receiver)), each)
    by_culprit: dict[object, tuple[_Changed, str]] = {}
    for each in found.values():
        node, who = _who(run, each)
        by_culprit.setdefault(node.line if node is not None else who, (each, who))
    for each, who in by_culprit.values():
        receiver = run.nodes.get(each.receiver)
        to = describe(receiver) if receiver is not None else code(run.tensors[each.receiver].name or "a leaf")
        sender = run.nodes[each.sender]
        received = (
            f"{format_value(each.got)} instead of the {format_value(each.sent[0][1])} that {describe(sender)} sent"
        )
        if len(each.sent) > 1:
            senders = phrases([describe(run.nodes[id]) for id, _ in each.sent])
            received = f"{format_value(each.got)}, which is not the sum of what {senders} sent"
        yield Finding(
            "gradient written",
            True,
            f"{begun(who)}. {begun(to)} shares that memory, so it received {received}.",
            "Compute a new gradient, for example `grad = grad * 0.5`, instead of writing into it (`grad *= 0.5`, "
            "`mul_`).",
            sender.line if receiver is None else receiver.line,
            each.backward.event,
            (each.receiver, each.sender),
        )


def _changed(run: TrainingRun, backward: RecordedBackward) -> Iterator[_Changed]:
    """Return the gradients that changed on their way, among those from a single node."""
    came: dict[tuple[str, int], list[tuple[str, Value]]] = {}
    for root in backward.roots:
        if root.seed is not None:
            came.setdefault((root.node, root.output_nr), []).append(("", root.seed))
    for id, sent in backward.sent.items():
        edges = run.nodes[id].made.edges if id in run.nodes else ()
        for edge, grad in zip(edges, sent, strict=False):
            if edge.target is not None and grad is not None:
                came.setdefault((edge.target, edge.output_nr), []).append((id, grad))
    for (receiver, nr), sent in came.items():
        got = next(iter(backward.received.get(receiver, ())[nr : nr + 1]), None)
        if (
            got is not None
            and all(sender in run.nodes for sender, _ in sent)
            and _is_another([v for _, v in sent], got)
        ):
            yield _Changed(backward, sent, receiver, got)


def _is_another(sent: list[Value], got: Value) -> bool:
    """Return True if the gradient that arrived is known not to be the sum of those sent."""
    if len(sent) == 1:
        return _differ(sent[0], got)
    lists = [value.values for value in (*sent, got)]
    if len({(value.shape, value.dtype) for value in (*sent, got)}) > 1 or got.dtype not in ("float32", "float64"):
        return False
    if any(value.nonfinite for value in (*sent, got)) or None in lists:
        return False
    parts = [each for each in lists if each is not None]
    off = math.dist([sum(each) for each in zip(*parts[:-1], strict=True)], parts[-1])
    return off > _NEAR * sum(value.norm for value in (*sent, got))


def _who(run: TrainingRun, changed: _Changed) -> tuple[RecordedNode | None, str]:
    """Return the node that received the same gradient in between, and wrote into it."""
    order, sent = [*changed.backward.received], [value for _, value in changed.sent]
    between = {*order[order.index(changed.sender) + 1 : order.index(changed.receiver)]}
    hooks = [each for each in changed.backward.hooks if each.node in between and _is_one_of(sent, each.before)]
    hooks = [each for each in hooks if each.changed]
    nodes = [run.nodes[id] for id in between if id in run.nodes and run.nodes[id].made.custom]
    nodes = [each for each in nodes if _is_one_of(sent, changed.backward.received[each.id])]
    if len(hooks) + len(nodes) != 1:
        return None, "a hook or the backward of a Function overwrites the gradient that it receives"
    if hooks:
        line = hooks[0].hook.source
        at = f" ({place(line)})" if line is not None else ""
        node, hook = run.nodes.get(hooks[0].node), hooks[0].hook
        return node, f"{hook_words(hook, node)}{at} overwrites the gradient that it receives"
    node = nodes[0]
    text = next((each.text for each in node.made.code if each.name == "backward"), "")
    line = _writing(text)
    by = f", with `{line}`" if line else ""
    return node, f"the backward of {describe(node)} overwrites the gradient that it receives{by}"


def _is_one_of(sent: list[Value], given: Grads) -> bool:
    return any(each is not None and is_same(each, grad) for each in given for grad in sent)


def _writing(backward: str) -> str:
    """Return the line in a `backward` that writes to one of its arguments, if there is only one."""
    try:
        function = next(each for each in ast.walk(ast.parse(backward)) if isinstance(each, ast.FunctionDef))
    except (SyntaxError, StopIteration):
        return ""
    names = {each.arg for each in [*function.args.args[1:], *filter(None, [function.args.vararg])]}
    found: list[str] = []
    for each in ast.walk(function):
        target: ast.expr | None = None
        if isinstance(each, ast.AugAssign):
            target = each.target
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Subscript):
            target = each.targets[0]
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr.endswith("_"):
            target = each.func.value
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name) and target.id in names:
            found.append(ast.unparse(each))
    return found[0] if len(found) == 1 else ""
