"""The ready queue: a binary heap of nodes, the highest sequence number first.

Leaves all have the same, highest number, so which of several waiting leaves comes first depends on how the heap is
built. This one makes the same moves as the C++ standard library's `push_heap` and `pop_heap`, and so leaves receive
their gradients in the order in which PyTorch's engine gives them.
"""

from __future__ import annotations

from .node import Node


def push(heap: list[Node], node: Node) -> None:
    """Add a node."""
    heap.append(node)
    _sift_up(heap, len(heap) - 1, node)


def pop(heap: list[Node]) -> Node:
    """Take out the node to run next."""
    first, last = heap[0], heap.pop()
    size = len(heap)
    if size:
        hole = child = 0
        while child < (size - 1) // 2:
            child = 2 * (child + 1)
            if heap[child].seq < heap[child - 1].seq:
                child -= 1
            heap[hole] = heap[child]
            hole = child
        if size % 2 == 0 and child == (size - 2) // 2:
            child = 2 * (child + 1)
            heap[hole] = heap[child - 1]
            hole = child - 1
        _sift_up(heap, hole, last)
    return first


def _sift_up(heap: list[Node], hole: int, node: Node) -> None:
    while hole and heap[(hole - 1) // 2].seq < node.seq:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = node
