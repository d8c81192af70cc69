"""Which nodes a backward will visit: how often each is used, and which of them lead to what was asked for."""

from __future__ import annotations

from .node import Node

Roots = list[tuple[Node, int]]


def count_uses(roots: Roots) -> dict[Node, int]:
    """How many edges lead to each node that can be reached from the roots."""
    uses: dict[Node, int] = {}
    stack: list[Node] = []
    for node, _ in roots:
        if node not in uses:
            uses[node] = 0
            stack.append(node)
    while stack:
        node = stack.pop()
        arity = node.arity
        if arity == 1:
            parents = (node.p0,)
        elif arity == 2:
            parents = (node.p0, node.p1)
        else:
            parents = [parent for parent, _ in node.edges()]
        for parent in parents:
            if parent in uses:
                uses[parent] += 1
            elif parent is not None:
                uses[parent] = 1
                stack.append(parent)
    return uses


def all_lead_to(targets: set[Node], uses: dict[Node, int]) -> bool:
    """Whether every path ends in a target."""
    for node in uses:
        arity = node.arity
        if arity == 1:
            ends = node.p0 is None
        elif arity == 2:
            ends = node.p0 is None is node.p1
        else:
            ends = all([parent is None for parent, _ in node.edges()])
        if ends and node not in targets:
            return False
    return True


def nodes_towards(targets: set[Node], roots: Roots, uses: dict[Node, int]) -> set[Node] | None:
    """The targets and the nodes with a path to one, of those that can be reached from the roots; None if all do."""
    if all_lead_to(targets, uses):
        return None
    needed, left = set(targets), uses.copy()
    order = [node for node in dict.fromkeys(node for node, _ in roots) if not left[node]]
    for node in order:  # grows: a node comes after all its uses, whatever their sequence numbers
        for parent, _ in node.edges():
            if parent is not None:
                left[parent] -= 1
                if not left[parent]:
                    order.append(parent)
    for node in reversed(order):
        for parent, _ in node.edges():
            if parent in needed:
                needed.add(node)
                break
    return needed
