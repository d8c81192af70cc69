"""Rules about memory: what a graph saves for backward, if one place saves most of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from .finding import Finding, asked, describe, plural
from .graph import RecordedNode
from .training_run import TrainingRun

_LEAST = 64 * 2**20  # bytes in all that are worth a word
_MOST = 0.5  # the share of one place that is reported
_BITS = re.compile(r"\d+")


def saved_tensors(run: TrainingRun) -> Iterator[Finding]:
    """Find one place that saves more than half of everything in a step, if that is much."""
    for step in run.steps[:1]:
        kept: dict[str, int] = {}  # by what is in memory: each counts once
        places: dict[object, dict[str, int]] = {}
        nodes: dict[object, RecordedNode] = {}
        for node in run.nodes_of(step):
            place = node.made.name, node.made.scope, node.line
            nodes.setdefault(place, node)
            for saved in node.made.saved:
                seen = run.tensors.get(saved.tensor or "")
                if saved.tensor in run.parameters or (seen is not None and seen.base in run.parameters):
                    continue
                value = saved.value or (seen.value if seen is not None else None)
                if value is None or (saved.tensor or "") in run.frozen:
                    continue
                own = (seen.base or seen.id) if seen is not None else saved.storage.id if saved.storage else node.id
                if own not in kept:
                    bits = _BITS.search(value.dtype)
                    size = math.prod(value.shape) * (int(bits[0]) // 8 if bits else 1)
                    kept[own] = places.setdefault(place, {})[own] = size
        total = sum(kept.values())
        if total < _LEAST:
            return
        place, most = max(places.items(), key=lambda each: sum(each[1].values()))
        size = sum(most.values())
        if size <= _MOST * total:
            return
        node = nodes[place]
        yield Finding(
            "saved tensors",
            False,
            asked(
                f"{describe(node)} saves {size / 2**20:,.0f} MiB for backward in {plural(len(most), 'tensor')}: "
                f"{size / total:.0%} of the {total / 2**20:,.0f} MiB that the whole graph saves."
            ),
            'Check its shape (was something broadcast?), and see `trace.show("memory")`; a checkpoint saves less.',
            node.line,
            node.event,
            (node.id,),
        )
