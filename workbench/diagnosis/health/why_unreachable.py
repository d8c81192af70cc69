"""Why there is no path from a loss to a tensor: the cut, the leaf in the tensor's place, and what looks alike."""

from __future__ import annotations

from ...pictures.trace.cuts import cut_words, in_effect, instead
from ...pictures.trace.facts import Cut
from ...pictures.trace.values import begun, code
from .finding import at_line, cut_off, describe
from .graph import way_in
from .inquiry import Answer
from .measures import is_same
from .question import NAMED, GradientQuestion

_RERUNS = "CheckpointFunctionBackward"
LOOK_ALIKE = (
    "`detach()` or `.data` is between them, and the tensor before it is gone",
    "a part was computed under `no_grad()` or `inference_mode()`",
    "a value went through a plain number or another library: `item()`, `float()`, `numpy()`, `tensor(...)`",
    "a result without gradients is between them, for example from `argmax` or a comparison",
)


class UnreachedGradient(GradientQuestion):
    """An explanation of why the tensor isn't reached."""

    def _not_reached(self, made: Answer, head: str) -> Answer:
        made.sentences = [f"{head}: there's no path from {self._end} to {self.asked.words}."]
        tells = (
            self._cut_recorded,
            self._tell_siblings,
            self._tell_twins,
            self._cut_shared,
            self._used_too_early,
            self._tell_new_leaf,
            self._tell_hidden,
            self._tell_others,
        )
        next(filter(None, (tell(made) for tell in tells)), None)  # the first that knows it
        if not made.behind and self.place is not None:
            made.behind = [self.place]
            made.marks.setdefault(self.place, "not reachable from the loss")
        return made

    def _tell_others(self, made: Answer) -> bool:
        """Report where paths lead instead, and possible causes."""
        self._tell_copies(made)
        self._tell_leaves(made)
        words = self.asked.words
        if self.recorded:
            self._tell_dead_end(made)
            met = {cut: self.frame.variable(id) for cut, id, _ in self.graph.cuts_met(self.found)}
            for cut, name in [*met.items()][:NAMED]:
                at = f" before {code(name)}" if name else ""
                made.possible.append(f"{cut_words(cut)}{at}{at_line(cut.source)} cuts {words} off")
            return True
        made.possible = [f"{words} wasn't used, or another tensor was used instead", *LOOK_ALIKE]
        made.possible.append(f"{words} was used before `requires_grad` was set")
        if self.live.freed:
            made.sentences.append("A backward pass has already freed the saved tensors, so a cut may not show anymore.")
        made.advice = self._record()
        return True

    def _cut_of(self, tensor: str | None) -> Cut | None:
        known = self.graph.cuts.get(tensor or "")
        return None if known is None else known[1]

    def _leads_to(self, cut: Cut) -> bool:
        """Return True if a cut path would have led to the tensor, not to another result of its node."""
        leading = self._before()
        own = None if self.asked.id is None else self.graph.tensors[self.asked.id]
        sibling = cut.node == self.place and own is not None and cut.output_nr != own.output_nr
        return any(end in leading for end in (cut.others if sibling else cut.ends))

    def _cut_recorded(self, made: Answer) -> bool:
        """Report the cuts that the tensor is beyond."""
        after, told = self.asked.cut_after, set[Cut]()
        for cut, id, node in self.graph.cuts_met(self.found):
            if cut in told or not (id in after or self._leads_to(cut)):
                continue
            told.add(cut)
            if not made.cut:
                made.way = way_in(self.found, node)
                made.marks[node] = f"gradient cut: {cut.word}"
                made.advice = f"Fix: {instead(cut)}"
            name = self.frame.variable(id)
            self._tell_cut(made, cut, code(name) if name else f"the input of {self._called(node)}", id in after)
        return bool(told)

    def _tell_cut(self, made: Answer, cut: Cut, result: str, after_asked: bool = False) -> None:
        source = "a tensor that requires grad" if cut.node is None else self._output(cut.node, cut.output_nr)
        if self.place in cut.ends or (after_asked and cut.node is None):
            source = self.asked.words
        made.sentences.append(f"{begun(cut_off(cut, result, source))}.")
        if not made.cut:
            made.cut = cut.word
            if cut.ends and self.place is not None:
                made.behind = self.graph.way(cut.ends, self.place)

    def _tell_siblings(self, made: Answer) -> bool:
        """Report that paths lead to other results of the node that computed it."""
        node = None if self.place is None or self.place not in self.found else self.graph.nodes.get(self.place)
        if node is None:
            return False
        users = [self.graph.nodes[user] for user in self.graph.users.get(node.id, ()) if user in self.found]
        others = sorted({edge.output_nr for user in users for edge in user.made.edges if edge.target == node.id})
        if not others:
            return False
        led = self._listed([self._output(node.id, nr) for nr in others])
        made.sentences.append(
            f"{begun(describe(node))} produced {self.asked.words} and other results. {self._end_first} depends only on "
            f"{led}."
        )
        made.way = way_in(self.found, node.id)
        if self.recorded:
            self._tell_dead_end(made)
        return True

    def _tell_hidden(self, made: Answer) -> bool:
        """Report that the graph is incomplete: a reentrant checkpoint runs its part again in backward."""
        nodes = [self.graph.nodes[place] for place in self.found if place in self.graph.nodes]
        if self.backward is not None or not any(node.made.name == _RERUNS for node in nodes):
            return False
        made.sentences.append(
            "A checkpoint on the path reruns its forward during backward, and that graph doesn't exist yet. "
            f"{begun(self.asked.words)} may still get its gradient there."
        )
        made.advice = self._record()
        return True

    def _cut_shared(self, made: Answer) -> bool:
        """Report where a node got the memory of a tensor from which a path leads on."""
        for node, tensor, name in self.live.shared:
            behind = self._behind(tensor)
            if node is None or node not in self.found or not behind:
                continue
            who = self._described(node)
            own = behind == [self.place]
            led = "" if own else f", which depends on {self.asked.words},"
            early = f", or it was used before {code(name)} required grad" if own else ""
            made.sentences.append(
                f"{begun(who)} uses the values of {code(name)}{led} but not its history: there's a `detach()` or "
                f"`.data` between them{early}."
            )
            made.way, made.behind, made.cut = way_in(self.found, node), behind, "detach"
            made.marks[node] = f"given the memory of {name}"
            made.advice = self._record()
            return True
        return False

    def _used_too_early(self, made: Answer) -> bool:
        """Report that it was used before it required grad."""
        users = self.graph.constants.get(self.asked.id or "", ())
        node = next((user for user in users if user in self.found), None)
        if node is None:
            return False
        made.sentences.append(f"{begun(self._described(node))} used {self.asked.words} before it required grad.")
        made.advice = f"Fix: Call `{self.asked.name or 'tensor'}.requires_grad_()` before the forward pass."
        made.way, made.marks = way_in(self.found, node), {node: f"used {self.asked.name or 'it'} as a constant"}
        return True

    @property
    def _leaves(self) -> list[str]:
        """Return the leaves that the loss leads to."""
        return [place for place in self.found if place not in self.graph.nodes]

    def _tell_twins(self, made: Answer) -> bool:
        """Report another leaf over the same memory, which gets the gradient."""
        twins = [place for place in self._leaves if place in self.live.twins]
        if twins:
            made.sentences.append(
                f"From {self._end} there's a path to {self._listed(map(self._called, twins))}, which shares memory "
                f"with {self.asked.words} but is a different tensor: {self.asked.words} was made from it or has "
                "replaced it."
            )
            made.way = way_in(self.found, twins[0])
        return bool(twins)

    def _tell_new_leaf(self, made: Answer) -> bool:
        """Report that the loss wasn't computed from anything."""
        if any(root in self.graph.nodes for root in self.roots):
            return False
        if self.loss is not None and not self.loss.requires_grad:
            made.sentences.append(f"{self._end_first} itself doesn't require grad.")
            return True
        made.sentences.append(
            f"{self._end_first} is itself a leaf. It wasn't computed from anything that requires grad: it was probably "
            "created from a number, as in `tensor(x.item())`, or `requires_grad_()` was called on it."
        )
        if self.recorded:
            self._tell_dead_end(made)
        made.advice = self._record()
        return True

    def _tell_copies(self, made: Answer) -> None:
        """Report the leaves that have the same values."""
        own = self.graph.values.get(self.asked.id or "")
        leaves = [] if own is None or own.min is None or own.min == own.max else self._leaves
        values = {each: self.graph.tensors[each].value for each in leaves}
        alike = [each for each, value in values.items() if own and value.dtype == own.dtype and is_same(value, own)]
        if alike:
            made.sentences.append(
                f"From {self._end} there's a path to {self._listed(map(self._called, alike))}, which has the same "
                f"values: {self.asked.words} may be a copy of what was used."
            )

    def _tell_leaves(self, made: Answer) -> None:
        if leaves := self._leaves:
            made.way = way_in(self.found, leaves[0])
            led = self._listed(map(self._called, leaves))
            if not any(led in sentence for sentence in made.sentences[1:]):  # told with what it looks like
                made.sentences.append(f"(From {self._end} there's a path to {led}.)")

    def _tell_dead_end(self, made: Answer) -> None:
        """Report how far the results of the tensor go, in a recording without a known cut."""
        asked, graph = self.asked, self.graph
        if not self.users:
            made.sentences.append(
                f"No recorded operation that can carry a gradient used {asked.words}. Either the forward pass doesn't "
                f"use {asked.words}, or it uses another tensor instead, such as a copy."
            )
            return
        onward = self._before()
        ends = [node for node in graph.nodes if node in onward and not graph.users.get(node)]
        if ends:
            last = ends[-1]
            made.behind = graph.way([last], self.place or "")
            made.marks[last] = "nothing has used its result"
            lines = {graph.nodes[node].line or node: node for node in ends}  # of several iterations the last
            where = self._listed(map(self._described, [*lines.values()][-NAMED:]))
            cut = next((cut for _, cut in graph.cuts.values() if any(end in onward for end in cut.ends)), None)
            if cut is None:
                used = "If its value was used, it was as a plain number: `item()`, `float()`, `numpy()` or `tolist()`."
            else:
                at = f"{in_effect(cut)}{at_line(cut.source)}"
                used = f"But {cut_words(cut)}{at} makes a tensor of its values without a graph."
            made.sentences.append(
                f"The computation from {asked.words} ends at {where}: nothing uses that result. {used}"
            )

    def _tell_memory(self, made: Answer) -> bool:
        """Report whose memory it is that doesn't require grad."""
        shared = next((each for each in self.live.shared if each.node is None), None)
        if shared is None:
            return False
        made.sentences.append(
            f"It shares memory with {code(shared.name)}, which does require grad. Between the two there is a "
            "`detach()`, a `.data`, or a view made under `no_grad()`."
        )
        made.cut, made.behind = "detach", self._behind(shared.tensor)
        return True

    def _behind(self, tensor: str) -> list[str]:
        """Return the path to the tensor of the question from another one, beyond a cut."""
        start = self.graph.places.get(tensor, tensor)
        return [] if self.place is None else self.graph.way([start], self.place)
