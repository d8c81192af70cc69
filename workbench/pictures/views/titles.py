"""The words for the parts of a program and its nodes: titles on boxes, and what sentences call them by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from ..scene.labels import rounds_said
from ..scene.metric import GROUP_TITLE_COLUMNS, TITLE_COLUMNS, columns
from ..scene.model import WITHIN
from .expressions import UNKNOWN, fitted_text
from .items import Item

_SURE = TITLE_COLUMNS // 2  # columns of an expression that has room behind any variable and round
_WRITES = re.compile(r"\s*(\*\*|//|<<|>>|[-+*/@%&|^])=[^=]|\.\w+_\(")  # after the name of what is written into
_Key = TypeVar("_Key")
_TARGETS = re.compile(r"[\w.,()\s]+")  # of an assignment to variables
_BACKWARD = re.compile(r".+Backward(s|\d*)")  # the class of a node that an operation made
# Parts of operations' names that say which library or kernel computes them. Public functions don't have these.
_INNER = re.compile(r"^(native|cudnn|miopen|mkldnn|thnn|fused|slow|safe|unsafe)_|_(kernel|with_indices)$")
_FUNCTIONS = {"to_copy": "to", "reshape_alias": "reshape", "nll_loss2d": "nll_loss"}
_ATTENTION = "scaled_dot_product"


def function_title(name: str, operation: str) -> str:
    """Return what PyTorch's functions call a node's operation: `log_softmax` for LogSoftmaxBackward0.

    A node that no operation made has the name of its class: CopySlices.
    """
    if not _BACKWARD.fullmatch(name):
        return name
    if operation.startswith(_ATTENTION) and not operation.endswith("_backward"):
        return f"{_ATTENTION}_attention"
    plain = _INNER.sub("", operation)
    return _FUNCTIONS.get(plain, plain)


def tell_apart(whole: Item) -> None:
    """Distinguish modules of one class in sentences by the variables that call them."""
    variables: dict[str, set[str]] = {}
    modules: list[Item] = []
    todo = [whole]
    while todo:
        item = todo.pop()
        todo += item.items
        if item.scope == item.module and item.called != item.scope:
            modules.append(item)
            variables.setdefault(item.scope, set()).add(item.called)
    for item in modules:
        if len(variables[item.scope]) > 1:
            item.scope = item.called


def shorten(item: Item) -> None:
    """Titles of expressions: of those that are too long, what has a box of its own inside them is left out."""
    own: frozenset[tuple[str, str]] | None = None
    for each in item.items:
        if each.items:
            shorten(each)
        if not each.text:
            continue
        if len(each.text) > _SURE:
            if own is None:
                own = frozenset([pair for one in item.items for pair in _own(one)])
            each.inner, each.title = own, fitted_text(each.text, own, TITLE_COLUMNS)
        else:
            each.title = each.text


def _own(item: Item) -> list[tuple[str, str]]:
    """Return an expression's or a call's text, and what replaces it in others; for a scope, the text that called it."""
    inner = item
    while inner.kind == "scope":
        inner = inner.items[0]
    called = f"{item.called}({UNKNOWN})" if item.called and inner.text.endswith(")") else item.called
    return [(inner.text, called or UNKNOWN)] if inner.text else []


def entitled(called: str, module: str) -> str:
    """`layer1 › Sequential`; a module that has no name but its class's is that."""
    return f"{called}{WITHIN}{module}" if module and called.partition(" ")[0] != module else called


def join_words(outer: Item, inner: Item) -> None:
    """Join the words of the only thing in a scope: for a module in a module `model.net › Sequential`."""
    if not inner.scope:
        numbered = outer.title.isdigit() and inner.name
        inner.title = f"{outer.title}{WITHIN}{inner.name}" if numbered else outer.title
        inner.called, inner.module, inner.settings = outer.called, outer.module, outer.settings
    elif outer.module and inner.module and outer.called != outer.module:
        inner.called = f"{outer.called}.{inner.called}"
        inner.title = entitled(inner.called, inner.module)
    else:
        inner.title = f"{outer.title}{WITHIN}{inner.title}"


def variables_of(item: Item) -> str:
    """Return the variables that hold the results of an expression, or of a call that a statement assigns.

    In the order of their line: `out, h` of `out, h = rnn(x)`.
    """
    nodes: list[Item] = []
    todo = [item]
    while todo:
        each = todo.pop()
        nodes += [] if each.kind else [each]
        todo += each.items
    last = item.items[-1]
    targets = (item.line or last.line).partition("=")[0].strip()
    names = re.findall(r"[\w.]+", targets) if _TARGETS.fullmatch(targets) else []
    held = {node.variable.partition("[")[0] for node in nodes if item.line or node.line == last.line}
    said = [name for name in names if name in held]
    if len(said) > 1:
        return targets if said == names else ", ".join(said)
    if item.line:
        return "".join(said)
    whole = len(nodes) > 1 and said == [targets] and last.variable.startswith(f"{targets}[")
    return targets if whole else last.variable


def is_function(item: Item) -> bool:
    """Return True for a node that has no words but its operation's."""
    return not item.kind and item.title != item.name


def title_of(item: Item) -> str:
    """Return the words on a box: `round 2: y = x @ w`, `conv1 › Conv2d stride 2`."""
    begin = f"{item.turn}: " if item.turn else ""
    is_number = item.called.isdigit()  # of a module in a list: `h = 2` reads as a value
    if (
        item.variable
        and not is_number
        and (item.text or item.scope or is_function(item))
        and item.title != item.variable
    ):
        written = item.title.startswith(item.variable) and _WRITES.match(item.title[len(item.variable) :])
        begin += "" if written else f"{item.variable} = "
    title = item.title
    end = f"{item.which}{rounds_said(item.rounds)}"
    told = f"{begin}{title}{end}"
    if not item.settings and len(told) <= _SURE:
        return told
    room = (GROUP_TITLE_COLUMNS if item.kind else TITLE_COLUMNS) - columns(begin + end)
    if item.module and columns(title) > room:  # whose class a reader finds in the path of the module
        title = item.called
    if item.text and not item.scope:
        title = fitted_text(item.text, item.inner, room)
    between = " "
    for setting in item.settings.split(", ") if item.settings else ():
        if columns(more := f"{title}{between}{setting}") <= room:
            title, between = more, ", "
    return f"{begin}{title}{end}"


def words_of(item: Item, title: str, places: Sequence[str]) -> list[str]:
    """Return what sentences may call the box with this title, the shortest first: with its round, with what it lies in.

    Code is in backticks; a round, and the class that PyTorch has for a node, is not.
    """
    which = "" if title == item.found else item.which  # which then counts the nodes of one name
    main = title.removeprefix(f"{item.turn}: ") if item.turn else title
    if end := which + (rounds_said(item.rounds) if item.rounds else ""):
        main = main.removesuffix(end)
    plain = item.kind == "round" and not item.turn
    plain = plain if item.kind else not (item.text or item.scope or item.found or is_function(item))
    told = [(main if plain else f"`{main}`") + which]
    for place in (*([item.turn] if item.turn else ()), *places):
        told.append(f"{told[-1]} in {place}")
    return told


def names_of(words: Mapping[_Key, Sequence[str]]) -> dict[_Key, str]:
    """Return for each thing the first of its words that nothing else has, or the last."""
    count = Counter([each for several in words.values() for each in several])
    found: dict[_Key, str] = {}
    for key, own in words.items():  # no calls: a large graph has many nodes
        for found[key] in own:
            if count[found[key]] == 1:
                break
    return found
