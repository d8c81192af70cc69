"""Rules about numbers: gradients that vanish or explode from layer to layer, values that grow, dead units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from ...pictures.trace.call_records import MODULE_HOOKS
from ...pictures.trace.values import code, number, unit_axis
from .backwards import RecordedBackward
from .finding import Finding, asked, describe, named, phrases, plural, ranges
from .graph import RecordedNode
from .measures import is_nothing, is_zero, size_of, units_off
from .training_run import TrainedParameter, TrainingRun, TrainingStep
from .zero_gradient import PRODUCTS, canceled_at, lost_at, with_a_slope, zero_factors, zeroed_by, zeroed_words

_LEAST_LAYERS = 4  # that a trend needs
_LEAST_ROUNDS = 8
_LONGEST = 400  # of a chain, its last nodes
_FAR = 3_000  # nodes between two of a chain
_LAYERS = 1e3  # a factor over all layers that is reported
_LAYERS_VANISH = 1e4  # what layers of ReLUs with PyTorch's own init let vanish is less
_WEAK = 0.2  # a factor a layer that no init of ReLUs has
_ROUNDS_VANISH = 1e8  # a recurrent net forgets the past by design: only a total loss is reported
_ROUNDS_USUAL = 1e20  # the same by factors a round that the usual init of a recurrent net has
_WEAK_ROUND = 0.4  # a smaller factor has no usual init
_ROUNDS_EXPLODE = 1e4
_GROWS = 100.0  # values of layers
_EACH = 1.25  # a factor of each layer, below which there is no trend
_ONE_PLACE = 0.6  # a trend is none where one place makes more than this part of it
_LEAST_DEAD = 16  # numbers of an output that is zero everywhere
_DEAD = 0.5  # the share of units that is reported
_MANY_SAMPLES = 64
_MOST_DEAD = 0.9
_LOW = 4.0
_NARROW = 16  # units of a layer, of fewer half are off by chance
_NARROW_LOW = 20.0
_FEW_SAMPLES = 4  # in a smaller batch a unit is off by chance
_MAY_END = ("relu", "threshold", "clamp_min", MODULE_HOOKS)  # the last has hooks of a module, told as such
_TURNS = ("t", "transpose", "permute", "mT")
_STEPS = 3  # before exact zeros are reported


def trends(run: TrainingRun) -> Iterator[Finding]:
    """Find gradients that vanish or explode over layers or iterations, and values that grow."""
    steps = [step for step in run.steps if step.backwards]
    if not steps:
        return
    found: dict[str, Finding] = {}
    for chain, is_recurrent in _chains(run, steps[0]):
        norms = [_received(node) for node in chain]
        least = _LEAST_ROUNDS if is_recurrent else _LEAST_LAYERS
        if all(norm is not None for norm in norms) and len(norms) >= least:
            for finding in _gradients(chain, [norm or 0.0 for norm in norms], is_recurrent):
                found.setdefault(finding.rule, finding)
        outputs = [node.outputs[0] for node in chain if node.outputs and node.outputs[0].is_known]
        same = len({value.shape for value in outputs}) == 1 and len(outputs) == len(chain) >= _LEAST_LAYERS
        if same and not any(value.nonfinite for value in outputs):
            for finding in _values(chain, [value.norm for value in outputs], is_recurrent):
                found.setdefault(finding.rule, finding)
    if "exploding" in found:
        found.pop("values grow", None)
    yield from found.values()


def _received(node: RecordedNode) -> float | None:
    """Return the norm of a node's incoming gradients; None if they aren't known or not finite."""
    norms = [grad.norm for grad in node.gradients if grad is not None]
    known = bool(norms) and all(map(math.isfinite, norms))
    return math.hypot(*norms) if known else None


def _chains(run: TrainingRun, step: TrainingStep) -> Iterator[tuple[list[RecordedNode], bool]]:
    """Return nodes of one kind, in similarly named layers or in iterations, each computed from the one before."""
    groups: dict[tuple[str, str], list[RecordedNode]] = {}
    for node in run.nodes_of(step):
        scope = re.sub(r"\d+", "#", node.made.scope or "")
        groups.setdefault((node.made.name, scope), []).append(node)
    recurrent = _reused(run, step)
    for group in groups.values():
        if len(group) < _LEAST_LAYERS:
            continue
        chain = _on_one_way(run, group)
        if len(chain) >= _LEAST_LAYERS:
            several = len(chain) // recurrent if recurrent >= _LEAST_ROUNDS and not len(chain) % recurrent else 1
            chain = chain[several - 1 :: several]  # of a round that has several of the kind, the last
            is_recurrent = recurrent * 2 >= len(chain)
            yield chain, is_recurrent


def _reused(run: TrainingRun, step: TrainingStep) -> int:
    """Return the maximum number of uses of a weight in a step."""
    counts = [0]
    for parameter in run.trained:
        if len(parameter.shape) > 1:
            used = [id for id in parameter.used if step.begin <= run.nodes[id].event < step.end]
            again = [run.users.get(id, ()) for id in used if run.nodes[id].made.operation in ("t", "transpose")]
            counts.append(max(len(used), sum(map(len, again))))
    return max(counts)


def _on_one_way(run: TrainingRun, group: Sequence[RecordedNode]) -> list[RecordedNode]:
    """Return those of a group that the last was computed from, each from the one before it."""
    chain = [group[-1]]
    for node in reversed(group[-_LONGEST:-1]):
        if _is_computed_from(run, chain[-1], node):
            chain.append(node)
    chain.reverse()
    return chain


def _is_computed_from(run: TrainingRun, later: RecordedNode, node: RecordedNode) -> bool:
    left, seen = [later.id], {later.id}
    while left and len(seen) < _FAR:
        at = run.nodes.get(left.pop())
        if at is None or at.event < node.event:
            continue
        if at is node:
            return True
        for edge in at.made.edges:
            if edge.target is not None and edge.target not in seen:
                seen.add(edge.target)
                left.append(edge.target)
    return False


def _is_spread(numbers: Sequence[float], factor: float) -> bool:
    """Return True if a factor from first to last comes from many places instead of one."""
    logs = [math.log(each) for each in numbers]
    gaps = [abs(after - before) for before, after in zip(logs, logs[1:], strict=False)]
    return bool(gaps) and max(gaps) <= _ONE_PLACE * abs(math.log(factor))


def _gradients(chain: Sequence[RecordedNode], norms: Sequence[float], is_recurrent: bool) -> Iterator[Finding]:
    first, last = norms[0], norms[-1]
    if min(norms) <= 0:
        return
    factor, count = first / last, len(chain) - 1
    each = factor ** (1 / count)
    if 1 / _EACH < each < _EACH or not _is_spread(norms, factor):
        return
    where = "time steps" if is_recurrent else "layers"
    facts = (
        f"its norm goes from {last:.3g} at {describe(chain[-1])} to {first:.3g} at "
        f"{_short(chain[0], chain[-1])}, a factor "
        f"of {each:.2g} from each of these {count + 1} {where} to the one before"
    )
    end = "first time steps" if is_recurrent else "input"
    ids = tuple([node.id for node in chain])
    event = (chain[0].started or [chain[0].event])[0]
    if factor < 1 / _vanishing(each, is_recurrent):
        next_step = (
            "Check the scale of the recurrent weight; gates (LSTM, GRU) or a shorter path through time keep gradients "
            "alive."
            if is_recurrent
            else "Try a non-saturating activation, normalization, residual connections or another initialization."
        )
        certain = not is_recurrent or each < _WEAK_ROUND
        sentence = asked(f"The gradient vanishes on the way to the {end}: {facts}.", certain)
        yield Finding("vanishing", certain, sentence, next_step, chain[0].line, event, ids)
    elif factor > (_ROUNDS_EXPLODE if is_recurrent else _LAYERS):
        sentence = f"The gradient explodes on the way to the {end}: {facts}."
        next_step = "Clip the gradient norm, and check the scale of these weights."
        yield Finding("exploding", True, sentence, next_step, chain[0].line, event, ids)


def _vanishing(each: float, is_recurrent: bool) -> float:
    """Return the factor from first to last to report, from the factor per layer or iteration."""
    if is_recurrent:
        return _ROUNDS_VANISH if each < _WEAK_ROUND else _ROUNDS_USUAL
    return _LAYERS if each < _WEAK else _LAYERS_VANISH


def _short(node: RecordedNode, other: RecordedNode) -> str:
    """Return the node's scope and line, or that it's the first of several alike."""
    if node.line == other.line and node.made.scope == other.made.scope:
        return "the first of them"
    return describe(node)


def _values(chain: Sequence[RecordedNode], norms: Sequence[float], is_recurrent: bool) -> Iterator[Finding]:
    if min(norms) <= 0:
        return
    factor, count = norms[-1] / norms[0], len(chain) - 1
    if factor < _GROWS or factor ** (1 / count) < _EACH or not _is_spread(norms, factor):
        return
    step, where = ("time step", "time steps") if is_recurrent else ("layer", "layers")
    yield Finding(
        "values grow",
        False,
        asked(
            f"Activations grow from {step} to {step}: the norm of the output is {norms[0]:.3g} at "
            f"{describe(chain[0])} and "
            f"{norms[-1]:.3g} at the last of {count + 1} {where}, a factor of {factor ** (1 / count):.2g} each."
        ),
        "Scale the branches of a sum, normalize between layers, or start with smaller weights.",
        chain[0].line,
        chain[-1].event,
        tuple([node.id for node in chain]),
    )


def dead_units(run: TrainingRun) -> Iterator[Finding]:
    """Find ReLUs that return zero for every input, and units after one that never get a gradient."""
    calls: dict[object, list[RecordedNode]] = {}
    found: dict[str, Finding] = {}
    for node in run.nodes.values():
        if node.made.operation in ("relu", "threshold", "clamp_min") and node.outputs and not node.inside:
            calls.setdefault(_call(run, node), []).append(node)
    for nodes in calls.values():
        first = nodes[0]
        outputs = [node.outputs[0] for node in nodes]
        if all(is_zero(value) and size_of(value) >= _LEAST_DEAD for value in outputs):
            given = f"; {ranges(first.inputs[0])}" if first.inputs else ""
            yield Finding(
                "dead units",
                True,
                f"Every output of {describe(first)} is zero, {size_of(outputs[0])} values in "
                f"{plural(len(nodes), 'call')}"
                f"{given}. No gradient gets through.",
                "Check the bias and scale of the layer before it, and look for an update that was too large.",
                first.line,
                first.event,
                tuple([node.id for node in nodes]),
            )
        elif finding := _dead_by_bias(run, nodes) or _dead_by_output(nodes):
            found.setdefault(finding.sentence, finding)  # a layer that a line calls twice is one layer
    yield from found.values()


def _call(run: TrainingRun, node: RecordedNode) -> object:
    """Return which ReLU of the program a node is: a line may have several, and one in a loop follows several layers."""
    before = [run.nodes[edge.target].made for edge in node.made.edges if edge.target in run.nodes]
    weights = [edge.target for made in before for edge in made.edges if edge.target in run.parameters]
    expression = node.made.path[-1].title if node.made.path else ""
    return node.made.scope, node.line, expression, *[made.scope for made in before], *weights


def _dead_by_bias(run: TrainingRun, nodes: Sequence[RecordedNode]) -> Finding | None:
    """Return units whose bias, directly before the ReLU, has had a gradient of exactly zero in every step."""
    for id in dict.fromkeys([edge.target for node in nodes for edge in node.made.edges if edge.target in run.nodes]):
        for edge in run.nodes[id or ""].made.edges:
            parameter = run.parameters.get(edge.target or "")
            if parameter is None or len(parameter.shape) != 1:
                continue
            samples = size_of(nodes[0].outputs[0]) // max(parameter.shape[0], 1)
            grads = [each.own.values for each in parameter.gradients]
            if len(grads) < _STEPS or samples < _FEW_SAMPLES or any(grad is None for grad in grads):
                continue
            units = parameter.shape[0]
            dead = [unit for unit in range(units) if all(grad is not None and grad[unit] == 0 for grad in grads)]
            share = len(dead) / units
            sure = samples >= _MANY_SAMPLES and share >= _MOST_DEAD
            if units >= _FEW_SAMPLES and _DEAD <= share < 1 and (sure or _lies_low(nodes, units)):
                return _dead(parameter, nodes[0], dead, len(grads))
    return None


def _dead_by_output(nodes: Sequence[RecordedNode]) -> Finding | None:
    """Return units of a ReLU that are zero for the whole batch, many of them in each call."""
    shape = nodes[0].outputs[0].shape
    counts = [units_off(node.outputs[0]) for node in nodes]
    if len(nodes) < _STEPS or any(count is None for count in counts) or len(shape) < 2:
        return None
    units, least = shape[unit_axis(len(shape))], min([count for count in counts if count is not None])
    samples, share = size_of(nodes[0].outputs[0]) // max(units, 1), least / max(units, 1)
    few = samples < _MANY_SAMPLES or units < _FEW_SAMPLES  # of few samples other units may be off each time
    if few or not _DEAD <= share < 1 or not (share >= _MOST_DEAD or _lies_low(nodes, units)):
        return None
    node = nodes[0]
    return Finding(
        "dead units",
        True,
        f"At least {least} of {units} units of {describe(node)} are dead in each of {plural(len(nodes), 'call')}: they "
        f"are zero for all {samples} {'samples' if len(shape) == 2 else 'positions'}.",
        "Check the bias and scale of the layer before it, and look for an update that was too large.",
        node.line,
        node.event,
        tuple([each.id for each in nodes]),
    )


def _lies_low(nodes: Sequence[RecordedNode], units: int) -> bool:
    """Return True if the inputs of ReLUs reach much further below zero than above, so not by chance."""
    given, low = [node.inputs[0] for node in nodes if node.inputs], _NARROW_LOW if units < _NARROW else _LOW
    return any(each.min is not None and each.max is not None and -each.min > low * each.max for each in given)


def _dead(parameter: TrainedParameter, node: RecordedNode, dead: Sequence[int], steps: int) -> Finding:
    units = parameter.shape[0]
    return Finding(
        "dead units",
        True,
        f"{len(dead)} of {units} units of {describe(node)} are dead: in {plural(steps, 'backward pass')} the "
        "gradient of "
        f"{parameter.words} is exactly zero for them (units {phrases([str(unit) for unit in dead])}).",
        "Check the bias and scale of the layer before it, and look for an update that was too large.",
        node.line,
        node.event,
        (node.id, parameter.id),
    )


def zero_gradients(run: TrainingRun) -> Iterator[Finding]:
    """Find a node that sends exact zeros in every step, though a gradient reaches it."""
    nodes: dict[object, list[RecordedNode]] = {}
    for node in run.nodes.values():
        if node.finished and not node.inside:
            nodes.setdefault((node.made.name, node.made.scope, node.line), []).append(node)
    weights = [
        each
        for each in run.trained
        if len(each.gradients) >= _STEPS and all(is_zero(got.own) for got in each.gradients)
    ]
    if (locked := _locked(run, weights)) is not None:
        yield locked
        return
    ways = {parameter.id: run.before(parameter.id) for parameter in weights if len(parameter.shape) > 1}
    for same in nodes.values():
        if len(same) < _STEPS or same[0].made.operation in _MAY_END:
            continue
        if not all(_ends(node) for node in same):
            continue
        lost = [run.parameters[id] for id, way in ways.items() if same[0].id in way]
        if lost:
            grad = next(grad for grad in same[0].gradients if grad is not None)
            yield Finding(
                "zero gradient",
                False,
                asked(
                    f"No gradient gets through {describe(same[0])}: in {plural(len(same), 'backward pass')} it "
                    "received a "
                    f"gradient of norm {number(grad.norm, digits=3)} and passed on exact zeros, so the gradient of "
                    f"{named(lost)} is exactly zero."
                ),
                with_a_slope(run, same[0]),
                same[0].line,
                same[0].finished[0],
                (same[0].id, *[each.id for each in lost]),
            )
            return
    if (starved := _without_input(run, [each for each in weights if len(each.shape) > 1])) is not None:
        yield starved
        return
    offsets = [each for each in weights if _is_offset(run, each)]
    if len(offsets) < len(weights):
        yield from _zeros_between_nodes(run, [each for each in weights if each not in offsets])


def _locked(run: TrainingRun, weights: Sequence[TrainedParameter]) -> Finding | None:
    """Find weights that are all zero and multiplied by zeros: neither factor ever gets a gradient."""
    zero = {each.id: each for each in weights if len(each.shape) > 1 and is_zero(each.value)}
    behind: dict[str, tuple[RecordedNode, TrainedParameter]] = {}  # weight -> the product that stops its gradient
    for weight in weights:
        for node in _sinks(run, weight):
            for target in dict.fromkeys(_factors(run, node)):
                if target in zero and target != weight.id:
                    behind.setdefault(weight.id, (node, zero[target]))
    stopped = [each for each in weights if each.id in behind]
    if not stopped:
        return None
    node, factor = behind[stopped[0].id]
    names, one = named(stopped), len(stopped) == 1
    return Finding(
        "zero gradient",
        False,
        asked(
            f"{names} {'is' if one else 'are'} multiplied only by zeros: in "
            f"{plural(len(stopped[0].gradients), 'backward pass')} {'its gradient' if one else 'the gradient of each'} "
            f"is exactly zero, because all of {factor.words} is 0 in {describe(node)}. The gradient of "
            f"{factor.words} is "
            "exactly zero too, so no step changes it."
        ),
        f"Start only one of two factors with zeros: initialize {factor.words}, or what it's multiplied by, randomly, "
        "for example with `torch.nn.init.kaiming_uniform_`.",
        node.line,
        node.event,
        (*[each.id for each in stopped], factor.id),
    )


def _without_input(run: TrainingRun, weights: Sequence[TrainedParameter]) -> Finding | None:
    """Find weights that are multiplied by data that are all zeros."""
    found: list[tuple[TrainedParameter, RecordedNode, str]] = []
    for weight in weights:
        for product in [each for each in _sinks(run, weight) if each.made.operation in PRODUCTS]:
            zeros = zero_factors(run, product.id, weight.id)
            seen = run.tensors.get(zeros[0].tensor or "") if zeros else None
            if seen is not None and seen.node is None and not seen.requires_grad:
                found.append((weight, product, seen.name or ""))
    if not found:
        return None
    node, name = found[0][1:]
    starved = [weight for weight, at, _ in found if at is node]
    return Finding(
        "zero gradient",
        False,
        asked(
            f"{code(name) if name else 'The input'} is all zeros in {describe(node)}: in "
            f"{plural(len(starved[0].gradients), 'backward pass')} the gradient of {named(starved)} is exactly zero."
        ),
        "Check where the data come from: a weight that is multiplied by zeros gets no gradient.",
        node.line,
        node.event,
        (node.id, *[each.id for each in starved]),
    )


def _reaching(run: TrainingRun, weight: str) -> list[RecordedBackward]:
    return [each for each in run.backwards if not each.inner and not each.failed and weight in each.added]


def _sinks(run: TrainingRun, weight: TrainedParameter) -> list[RecordedNode]:
    """Return the nodes that sent only zeros toward a weight in the last backward pass that reached it."""
    whole = _reaching(run, weight.id)
    sinks = lost_at(run, whole[-1], weight.id, is_nothing) if whole else []
    return [run.nodes[id] for id in sinks if id in run.nodes]


def _factors(run: TrainingRun, node: RecordedNode) -> list[str]:
    """Return the leaves that a product multiplies by, possibly transposed."""
    near = [edge.target for edge in node.made.edges if edge.target is not None]
    turned = [id for id in near if id in run.nodes and run.nodes[id].made.operation in _TURNS]
    return [*near, *[to for id in turned for to in run.targets(id)]]


def _is_offset(run: TrainingRun, weight: TrainedParameter) -> bool:
    """Return True if only the bias of a layer gets zeros: a loss of differences has no gradient for an offset."""
    module, _, _ = weight.name.rpartition(".")
    beside = [each for each in run.trained if module and each.name.rpartition(".")[0] == module and each is not weight]
    return len(weight.shape) == 1 and any(not is_zero(got.own) for each in beside for got in each.gradients)


def _zeros_between_nodes(run: TrainingRun, weights: list[TrainedParameter]) -> Iterator[Finding]:
    """Find a hook that makes gradients zero in every step, or gradients that cancel each other in every step."""
    first, *others = [each.id for each in weights]
    whole = _reaching(run, first)
    before = run.before(first)
    hooks = [hook for each in whole if (hook := zeroed_by(each, before)) is not None]
    sums = [at for each in whole if (at := canceled_at(run, each, before)) is not None]
    names = named(weights)
    if len(hooks) == len(whole) >= _STEPS:
        node, line = run.nodes.get(hooks[0].node), hooks[0].hook.source
        what, advice = zeroed_words(run, hooks[0])
    elif len(sums) == len(whole) >= _STEPS:
        node = run.nodes.get(sums[0])
        line = node.line if node is not None else None
        what = f"The gradients that reach {f'the result of {describe(node)}' if node else weights[0].words} cancel out"
        advice = "Detach the difference, as in `x + (q - x).detach()`."
    else:
        return
    yield Finding(
        "zero gradient",
        False,
        asked(f"{what} in {plural(len(whole), 'backward pass')}, so the gradient of {names} is exactly zero."),
        advice,
        line,
        whole[0].event,
        (*([node.id] if node is not None else []), first, *others),
    )


def _ends(node: RecordedNode) -> bool:
    """Return True if a node receives a nonzero gradient and sends only zeros."""
    sent = [grad for grad in node.sent if grad is not None]
    came = [grad for grad in node.gradients if grad is not None]
    return bool(sent) and all(map(is_zero, sent)) and any(grad.norm > 0 for grad in came)
