"""What a write in place changes of what was put down before: whose result its node has saved, and whose history."""

from __future__ import annotations

from typing import Any

from ..events import tag
from .describe import entry_of, grad_of, maker_of, memory_of, version_of
from .hooks_seen import Host
from .records import GradChanged, NodeCreated, TensorsFound
from .source import Stack


class Scribe(Host):
    """Corrects a node that computed with a copy of what it writes, and tells of the one that a view's base gets."""

    def _correct(self, written: Any, node: Any) -> None:
        """Of the node that recorded a write: its result is what is written, which it was given as it was before."""
        serial = tag(node)
        places = range(len(self._raw) - 1, -1, -1) if serial in self._nodes and not self._repeating else ()
        for at in places:
            created = self._raw[at]
            if isinstance(created, NodeCreated.Raw) and created.node == serial:
                break
        else:
            return
        if tag(written) not in self._tensors and (given := [arg[0] for arg in created.args if type(arg) is tuple]):
            now: dict[int, tuple[Any, ...]] = {}
            self._describe(written, now)
            was = next((seen for seen in created.tensors if seen[0] == given[0]), None)
            if was is not None:
                version = version_of(written) - 1
                before = (written._tag, was[1], version, *was[3:6], *now.pop(written._tag)[6:])
                created = created._replace(tensors=(*now.values(), before, *created.tensors))
        if getattr(node, "keeps_result", False) and written._tag in self._tensors:
            own = {each[0]: each for each in self._saved_of(node, written, {}) if each[1] == written._tag}
            created = created._replace(saved=tuple([own.get(each[0], each) for each in created.saved]))
        self._raw[at] = created
        self._changed(at)

    def _put_grad(self, tensor: Any, name: str = "") -> None:
        """Put down what a known tensor's gradient is now; what a hook after its accumulation does is told with that."""
        if self._is_known(tag(tensor)) and not any([of == tensor._tag for *_, of in self._given.values()]):
            if tensor._tag not in self._tensors:  # an earlier chapter has told of it
                found: dict[int, tuple[Any, ...]] = {}
                self._describe(tensor, found)
                self._raw.append(TensorsFound.Raw(tuple(found.values())))
            self._hold(tensor)
            self._raw.append(GradChanged.Raw(tensor._tag, self._copy(grad_of(tensor)), name, self.outlook.stack()))

    def _put_grad_in(self, written: Any, name: str) -> None:
        """The same, if the memory of a gradient was written."""
        memory = memory_of(written)
        found = self._slots.get(id(memory))
        tensor = None if found is None else found()
        if tensor is not None and memory_of(grad_of(tensor)) is memory:
            self._put_grad(tensor, name)

    def _changed(self, at: int) -> None:
        """This one is no longer what it was."""

    def _saved_of(self, node: Any, written: Any, found: dict[int, Any]) -> list[tuple[Any, ...]]:
        """What a node has saved; of what is written the values too, as these are told only after it."""
        saved = self._saved(node, [written], found)
        return [
            (name, own, self._copy(written), *more) if own == written._tag else (name, own, copy, *more)
            for name, own, copy, *more in saved
        ]

    def _put_slices(self, written: Any, found: dict[int, Any], stack: Stack) -> int | None:
        """Put down the node that a write through a view has given its base; its number, if it is new."""
        base = None if written._meta is None else written._meta.base
        slices = None if base is None else maker_of(base)
        inner = getattr(slices, "fn", None)
        if slices is None or not hasattr(inner, "saved_items") or tag(slices) in self._nodes:
            return None
        known = self._is_known(tag(base))
        if not known and tag(inner) not in self._nodes:
            return None
        self._know(slices)
        edges = self._edges(slices, found)
        if not known:  # a constant until now: what is written is told again, as a view of it
            self._describe(base, found)
            self._describe(written, found)
        saved = tuple(self._saved_of(slices, written, found))
        runs = tag(inner) if tag(inner) in self._nodes else None
        self._raw.append(
            NodeCreated.Raw(
                node=slices._tag,
                name=slices.name(),
                cls=type(slices),
                found=True,
                edges=edges,
                args=(),
                tensors=tuple(found.values()),
                saved=saved,
                stack=stack,
                entry=entry_of(slices),
                outputs=slices.outputs,
                runs=runs,
            )
        )
        return tag(slices)
