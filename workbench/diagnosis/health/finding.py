"""A finding: a sentence with its place, and the next step; and the phrases that sentences share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...pictures.trace.assignments import sides_of
from ...pictures.trace.cuts import cut_said
from ...pictures.trace.facts import Cut, Hook, SourceLine
from ...pictures.trace.source import without_comment
from ...pictures.trace.values import Value, begun, code, number, series, shortened
from .entries import address_of
from .graph import RecordedGraph, RecordedNode
from .measures import size_of
from .training_run import TrainedParameter

_QUOTED = re.compile(r"([^\s(]+:\d+) `[^`]+`")  # what `place` returns
_NAMED = 3  # parameters that a sentence names
_TEXT = 60  # characters of a line that a sentence shows
_PRODUCT = "the matrix product"
# What a sentence calls operations that a program writes as an operator, or not by this name.
_CALLED = {
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "unsafe_view"), _PRODUCT),
    "dot": "the dot product",
    "add": "the addition",
    "sub": "the subtraction",
    "rsub": "the subtraction",
    "mul": "the multiplication",
    "div": "the division",
    "neg": "the negation",
    "t": "the transpose",
    "convolution": "the convolution",
    "native_batch_norm": "`batch_norm`",
    "native_layer_norm": "`layer_norm`",
    "native_group_norm": "`group_norm`",
    "to_copy": "the conversion",
    "index": "the indexing",
    "select": "the indexing",
    "slice": "the slice",
}
# Layers that compute with their weights by one operation, and those operations: the layer says it all.
_LAYERS = re.compile(r"(Lazy)?(Linear|Bilinear|Conv\w*|\w*Norm\w*|Embedding\w*|RNN|LSTM|GRU|\w+Cell)")
_OF_LAYERS = frozenset(
    "mm addmm bmm t unsafe_view convolution native_batch_norm native_layer_norm native_group_norm embedding".split()
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a training run: certain, or a possible issue that ends with a question.

    Attributes:
        rule: A short name, such as "not finite".
        certain: True if the finding is certain, False if it is a question.
        sentence: What happened and where, with numbers.
        next_step: What to do about the problem.
        line: The line of your code.
        event: The event that shows the problem: `trace.frame(event + 1)` is the graph at that moment.
        ids: The nodes and tensors that the finding is about.
    """

    rule: str
    certain: bool
    sentence: str
    next_step: str
    line: SourceLine | None
    event: int
    ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", begun(self.sentence))

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.fix}"

    @property
    def fix(self) -> str:
        """Return the advice as a line that begins with "Fix:"."""
        return f"Fix: {self.next_step}"

    @property
    def entry(self) -> str:
        """The address of the documentation's entry about this rule; empty while the project has no address."""
        return address_of(self.rule)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict that can be written as JSON."""
        line = self.line
        return {
            "rule": self.rule,
            "certain": self.certain,
            "sentence": self.sentence,
            "next_step": self.next_step,
            "file": line and line.file,
            "line": line and line.line,
            "event": self.event,
            "ids": list(self.ids),
        }


def asked(sentence: str, certain: bool = False) -> str:
    """Return the sentence of a finding, with the question whether it is intentional unless it is certain."""
    return sentence if certain else f"{sentence} Is this intentional?"


def place(line: SourceLine | None) -> str:
    r"""Return `train.py:18 \`h = self.fc(x)\``, or that the line isn't known."""
    if line is None:
        return "an unknown line"
    text = shortened(without_comment(line.text).strip(), _TEXT)
    return f"{line.file}:{line.line} `{text}`" if text else f"{line.file}:{line.line}"


def in_brackets(line: SourceLine | None) -> str:
    r"""Return ` (train.py:18 \`h = self.fc(x)\`)`, or nothing for a line that isn't known."""
    return "" if line is None else f" ({place(line)})"


def at_line(line: SourceLine | None) -> str:
    r"""Return ` at train.py:18 \`h = self.fc(x)\``, or nothing for a line that isn't known."""
    return "" if line is None else f" at {place(line)}"


def cut_off(cut: Cut, subject: str, ends: str) -> str:
    """Return what cuts a tensor off from the `ends`, which it was computed from."""
    return cut_said(cut, at_line(cut.source), f"cuts {subject} off from {ends}", f"{subject} isn't connected to {ends}")


def quoted_once(text: str) -> str:
    """Return a text in which only the first mention of a line quotes its code."""
    met: set[str] = set()

    def short(found: re.Match[str]) -> str:
        again, _ = found[0] in met, met.add(found[0])
        return found[1] if again else found[0]

    return _QUOTED.sub(short, text)


def operation_of(node: RecordedNode) -> str:
    """Return a node's operation as a sentence names it: `sqrt`, `the multiplication`; of a layer that layer."""
    made = node.made
    layer = next((part.module for part in reversed(made.path) if part.kind == "scope"), "")
    if made.scope and made.operation in _OF_LAYERS and _LAYERS.fullmatch(layer):
        return code(made.scope)
    operation = _CALLED.get(made.operation) or code(made.operation or made.name)
    return f"{operation} in {code(made.scope)}" if made.scope else operation


def describe(node: RecordedNode) -> str:
    r"""Return `\`sqrt\` in \`Net/head\` (train.py:18 \`h = x.sqrt()\`)`."""
    return operation_of(node) + in_brackets(node.line)


def hook_words(hook: Hook, node: RecordedNode | None) -> str:
    """Return a hook as a sentence names it; a module's runs as a node of its own."""
    if node is not None and node.made.operation == "BackwardHookFunction":
        return f"A full backward hook of {code(node.made.scope or 'a module')}"
    return f"the {hook.title.removesuffix(hook.name)}{code(hook.name)}"


def result_of(run: RecordedGraph, node: RecordedNode, output_nr: int = 0) -> str:
    """Return a node's result as a sentence names it: by its variable, its expression, or its operation."""
    name = variable_of(run, node, output_nr)
    return code(name) if name else f"the result of {expression_of(run, node) or operation_of(node)}"


def place_words(run: RecordedGraph, place: str, output_nr: int = 0) -> str:
    """Return a node's result, or a leaf, as a sentence names it."""
    if (node := run.nodes.get(place)) is not None:
        return result_of(run, node, output_nr)
    seen = run.tensors.get(place)
    return "a tensor that requires grad" if seen is None or not seen.name else code(seen.name)


def variable_of(run: RecordedGraph, node: RecordedNode, output_nr: int = 0) -> str:
    """Return the name of a variable that held a node's result; "" if none did."""
    results = [each for each in node.made.tensors if each.node == node.id and each.output_nr == output_nr]
    names = [run.tensors[each.id].name for each in results if each.id in run.tensors]
    return next(filter(None, names), "")


def expression_of(run: RecordedGraph, node: RecordedNode) -> str:
    """Return the user's expression that a node is the last step of, in backticks; "" if there is none."""
    part = node.made.path[-1] if node.made.path else None
    if part is None or part.kind != "expression":
        return ""
    users = [run.nodes[user] for user in run.users.get(node.id, ()) if user in run.nodes]
    return "" if any(part in user.made.path for user in users) else code(part.title)


def written_as(node: RecordedNode, id: str) -> str:
    """Return the code for an input that no variable holds any longer: `a` of `a @ f(x)`."""
    text = node.made.path[-1].title if node.made.path and node.made.path[-1].kind == "expression" else ""
    sides, given = sides_of(text), [arg.tensor for arg in node.made.args if arg.tensor is not None]
    return f"`{sides[given.index(id)]}`" if len(sides) == len(given) and id in given else ""


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """Return `a`, `a` and `b`, or `a`, `b`, `c` and 4 more: names and code in backticks."""
    return phrases(map(code, names), most)


def phrases(words: Iterable[str], most: int = _NAMED) -> str:
    """Return such a list of words that are no code."""
    all = list(dict.fromkeys(words))
    return series(all) if len(all) <= most + 1 else f"{', '.join(all[:most])} and {len(all) - most:,} more"


def named(parameters: Sequence[TrainedParameter]) -> str:
    """Return the names of parameters; of many, the first ones, and of a few without names the module once."""
    module = parameters[0].scope if len(parameters) > 1 else ""
    shapes = list(dict.fromkeys([str(each.shape) for each in parameters]))
    if module and len(shapes) <= _NAMED and all(not each.seen.name and each.scope == module for each in parameters):
        return f"the {series(shapes)} parameters used in {code(module)}"
    return listed([each.name for each in parameters])


def span(value: Value) -> str:
    """Return `from -1 to 3`, or `zero everywhere`."""
    if not size_of(value):
        return "no values at all"
    if value.min is None or value.max is None:
        return "not finite"
    if value.min == value.max:
        return "zero everywhere" if value.min == 0 else f"{number(value.min)} everywhere"
    ends = number(value.min), number(value.max)
    return f"about {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"


def ranges(value: Value, what: str = "its inputs") -> str:
    """Return `its inputs range from -1 to 3`, or `its inputs are zero everywhere`."""
    said = span(value)
    return f"{what} {'range' if said.startswith('from ') else 'are'} {said}"


def plural(count: int, word: str) -> str:
    """Return `1 step`, `3 steps`, `3 passes`."""
    return f"{count:,} {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"
