"""The exercises of lesson 19, an engine's values and order, with their solutions, as `check` reads them."""

from contextlib import contextmanager

import workbench as torch
from workbench.classroom import Misconception, Unusable, exercise

# The lesson's own classes, as far as a probe of an answer that was written elsewhere needs them.


class Node:
    made = 0

    def __init__(self, name, edges, send):
        self.number = Node.made = Node.made + 1
        self.edges = edges
        self._name, self._send = name, send

    def name(self):
        return self._name

    def run(self, grad):
        return self._send(grad)


class Value:
    def __init__(self, data, requires_grad=False, grad_fn=None):
        self.data, self.grad = data, None
        self.requires_grad, self.grad_fn = requires_grad, grad_fn
        self._leaf_node = Leaf(self) if requires_grad and grad_fn is None else None

    def edge(self):
        return self.grad_fn or self._leaf_node


_OWN = {"Node": Node, "Value": Value}


def _own(answer, name):
    """The class of the learner's notebook."""
    return getattr(answer, "__globals__", {}).get(name, _OWN[name])


# 1. Accumulate.


class Leaf:
    edges = ()

    def __init__(self, variable):
        self.variable = variable


class AccumulateGrad(Leaf):
    def run(self, grad):
        leaf = self.variable
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad
        return ()


class _Replaced(Leaf):
    def run(self, grad):
        self.variable.grad = grad
        return ()


class _AddedToNone(Leaf):
    def run(self, grad):
        self.variable.grad += grad
        return ()


class _PlusNone(Leaf):
    def run(self, grad):
        self.variable.grad = self.variable.grad + grad
        return ()


class _KeptFirst(Leaf):
    def run(self, grad):
        if self.variable.grad is None:
            self.variable.grad = grad
        return ()


class _FirstTwice(Leaf):
    def run(self, grad):
        if self.variable.grad is None:
            self.variable.grad = grad
        self.variable.grad = self.variable.grad + grad
        return ()


class _FirstLost(Leaf):
    def run(self, grad):
        self.variable.grad = 0.0 if self.variable.grad is None else self.variable.grad + grad
        return ()


class _OntoTheValue(Leaf):
    def run(self, grad):
        self.variable.data = self.variable.data + grad
        return ()


class _Subtracted(Leaf):
    def run(self, grad):
        self.variable.grad = -grad if self.variable.grad is None else self.variable.grad - grad
        return ()


class _InTheNode(Leaf):
    grad = None

    def run(self, grad):
        self.grad = grad if self.grad is None else self.grad + grad
        return ()


class _NothingReturned(Leaf):
    def run(self, grad):
        leaf = self.variable
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad


class _HandedOn(Leaf):
    def run(self, grad):
        leaf = self.variable
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad
        return grad


_ARRIVING = ([2.0], [2.0, -0.5, 4.0], [0.0, 3.0, 3.0])


def _after_each(answer, read):
    found = []
    for gradients in _ARRIVING:
        leaf = Value(3.0, True)
        node = answer(leaf)
        for gradient in gradients:
            found.append(read(leaf, node.run(gradient)))
    return found


def _nothing_to_hand_on(leaf, returned):
    if returned is None:
        return "None"
    return "()" if isinstance(returned, tuple | list) and not returned else "another thing"


exercise(
    "accumulate-into-a-leaf",
    "What a leaf does with a gradient that arrives.",
    solution=AccumulateGrad,
    probes={
        "the leaf's grad": lambda answer: _after_each(answer, lambda leaf, returned: leaf.grad),
        "the leaf's data": lambda answer: _after_each(answer, lambda leaf, returned: leaf.data),
        "what run returns": lambda answer: _after_each(answer, _nothing_to_hand_on),
    },
    hints={
        "the leaf's grad": "Send two gradients to one leaf, and print leaf.grad after each.",
    },
    misconceptions=[
        Misconception(
            "gradients overwrite instead of add",
            "after a second gradient, nothing is left of the first one. Lesson 3 called backward twice: what was in "
            ".grad afterward?",
            _Replaced,
        ),
        Misconception(
            "a number is added to None",
            "when the first gradient arrives, leaf.grad is None, and None isn't a number.",
            _AddedToNone,
            (_PlusNone,),
        ),
        Misconception(
            "only the first gradient is kept",
            "the first gradient arrives, and all later ones are lost.",
            _KeptFirst,
        ),
        Misconception(
            "the first gradient counts twice",
            "follow your lines for the first gradient: how often is it put into leaf.grad?",
            _FirstTwice,
        ),
        Misconception(
            "the first gradient is lost",
            "a leaf that got one gradient has 0 in its .grad. Follow your lines for the first gradient.",
            _FirstLost,
        ),
        Misconception(
            "the value moves",
            "backward never changes leaf.data. That's the training loop's work.",
            _OntoTheValue,
        ),
        Misconception(
            "a minus too much",
            "a step goes against the gradient. The gradient itself is collected as it arrives.",
            _Subtracted,
        ),
        Misconception(
            "the leaf does not change",
            "when the gradients have arrived, the leaf's .grad is None, as before. The program will ask the leaf.",
            _InTheNode,
        ),
        Misconception(
            "nothing is returned",
            "the gradient is right. But the walk goes through what run returns, one gradient for each edge, and None "
            "isn't a tuple.",
            _NothingReturned,
        ),
        Misconception(
            "a leaf passes on",
            "the gradient is right. But this node has no edge, so it has nowhere to pass a gradient.",
            _HandedOn,
        ),
    ],
)


# 2. Record.


def _edges(operands):
    return [each.edge() if hasattr(each, "edge") else None for each in operands]


def record(name, data, operands, send):
    edges = tuple(each.edge() if isinstance(each, Value) else None for each in operands)
    if all(each is None for each in edges):
        return Value(data)
    return Value(data, True, Node(name + "Backward0", edges, send))


def _made_with(edges_of, requires_grad=True, wanted=any):
    """A record that makes the edges in its own way."""

    def recording(name, data, operands, send):
        if not wanted(edge is not None for edge in _edges(operands)):
            return Value(data)
        return Value(data, requires_grad, Node(name + "Backward0", edges_of(operands), send))

    return recording


def _always(each):
    return True


# What the operands of an operation are; the same letter is the same value.
_OPERANDS = ("lc", "cl", "cc", "ll", "rl", "cr", "rr", "c", "l", "ln", "nr", "nn", "cn", "lcr")


def _recorded(answer, read):
    found = []
    for kinds in _OPERANDS:
        value, node = _own(answer, "Value"), _own(answer, "Node")
        made = {
            "l": value(2.0, True),
            "c": value(3.0),
            "r": value(4.0, True, node("ExpBackward0", (), lambda grad: ())),
            "n": 7.0,
        }
        out = answer("Sum", 5.0, tuple(made[kind] for kind in kinds), lambda grad: grad * 2.0)
        if not isinstance(out, value):
            raise Unusable("your code didn't return a Value")
        found.append(read(out, made))
    return found


def _node_read(out, made):
    if out.grad_fn is None:
        return "no node"
    if not isinstance(out.grad_fn, Node) and not hasattr(out.grad_fn, "run"):
        raise Unusable("your grad_fn isn't a Node")
    return [out.grad_fn.name(), out.grad_fn.run(1.5)]


def _edges_read(out, made):
    if out.grad_fn is None:
        return "no node"
    if not isinstance(edges := getattr(out.grad_fn, "edges", None), list | tuple):
        return "no list"
    known = {id(made["l"].edge()): "the leaf's node", id(made["r"].grad_fn): "the result's node"}
    return ["None" if edge is None else known.get(id(edge), "another thing") for edge in edges]


exercise(
    "record-an-operation",
    "The result of an operation, with a node if one is needed.",
    solution=record,
    probes={
        "the number": lambda answer: _recorded(answer, lambda out, made: out.data),
        "requires_grad": lambda answer: _recorded(answer, lambda out, made: bool(out.requires_grad)),
        "the node": lambda answer: _recorded(answer, _node_read),
        "edges": lambda answer: _recorded(answer, _edges_read),
    },
    hints={
        "requires_grad": "Does one of the operands require a gradient? Then the result does, too.",
        "the node": "Print the node's name, and what its run returns.",
        "edges": "Print the edges: one for each operand, in the order of the operands.",
    },
    misconceptions=[
        Misconception(
            "constants leave a node",
            "an operation on constants gives a constant. No one will ever ask for its gradient, so it needs no node.",
            _made_with(_edges, wanted=_always),
        ),
        Misconception(
            "one constant is enough to stop the recording",
            "your result is a constant as soon as one operand is a constant. In w * x, where x is a constant, w still "
            "moves the result.",
            _made_with(_edges, wanted=all),
        ),
        Misconception(
            "constants have no place in the list",
            "run returns one gradient for each operand, and each goes to the node at the same place of the list. "
            "Your list is shorter than that if an operand is a constant.",
            _made_with(lambda operands: [edge for edge in _edges(operands) if edge is not None]),
        ),
        Misconception(
            "leaves are left out",
            "grad_fn only works for results. A leaf needs an edge too: which method returns the node of "
            "either kind of value?",
            _made_with(lambda operands: [getattr(each, "grad_fn", None) for each in operands]),
        ),
        Misconception(
            "results are left out",
            "you ask each operand for the node of a leaf. A result has a node as well: how does a value of either kind "
            "tell its node?",
            _made_with(lambda operands: [None if getattr(each, "grad_fn", 1) else each.edge() for each in operands]),
        ),
        Misconception(
            "arrows lead to values",
            "the entries of your list are the operands themselves. A walk calls the run of each node, and a "
            "Value has none.",
            _made_with(list),
        ),
        Misconception(
            "a number is asked for its node",
            "in w * 2.0 one operand is a float, and a float has no method edge.",
            _made_with(lambda operands: [each.edge() for each in operands]),
        ),
        Misconception(
            "each node is in the list once",
            "in w * w both operands are w, and run returns two gradients. Each needs a place in the list.",
            _made_with(lambda operands: list(dict.fromkeys(_edges(operands)))),
        ),
        Misconception(
            "the result does not require a gradient",
            "the node is there, but the next operation will take your result for a constant.",
            _made_with(_edges, requires_grad=False),
        ),
        Misconception(
            "a node without edges",
            "your node doesn't say where the gradients of the operands go.",
            _made_with(lambda operands: []),
        ),
    ],
    points=2,
)


# 3. Count. A graph in short: for each node, in the order in which they were made, where its gradients go, with slopes.

_DIAMOND = {"a": [], "p": [("a", 2.0)], "u": [("p", 3.0)], "v": [("p", 4.0)], "y": [("u", 1.0), ("v", 1.0)]}
_FORK = {"a": [], "p": [("a", 2.0), ("a", 2.0)], "s": [("p", 4.0), ("p", 4.0)], "y": [("s", 1.0), ("p", 1.0)]}
_CONSTANTS = {"w": [], "m": [("w", 2.0), (None, 3.0)], "y": [(None, 1.0), ("m", -1.0)]}
_TOWER = {"h0": []} | {f"h{n}": [(f"h{n - 1}", 1.0), (f"h{n - 1}", 1.0)] for n in range(1, 7)}
_CROSSED = {
    "a": [],
    "b": [],
    "v": [("a", 1.0)],
    "u": [("b", 2.0), ("a", 0.5)],
    "w": [("u", 1.0), (None, -1.0)],
    "y": [("v", 5.0), ("w", 7.0)],
    "z": [("y", 1.0), ("u", 3.0)],
}
_LONG = {"a": [], "p": [("a", 3.0)], "q": [("p", 2.0)], "r": [("q", 0.5)], "y": [("p", 1.0), ("r", -1.0)]}
_THREE = {
    "a": [],
    "k": [("a", 1.0)],
    "m": [("a", 2.0)],
    "n": [("a", 3.0)],
    "y": [("m", 1.0), ("n", -1.0), ("k", 0.5)],
}
_GRAPHS = (_THREE, _DIAMOND, _FORK, _CONSTANTS, _TOWER, _CROSSED, _LONG)
_MOST_RUNS = 500


def _nodes(answer, graph, ran):
    """The nodes of a graph by name; `ran` gets a pair of a name and a gradient for each node that runs."""
    nodes = {None: None}

    def send_of(name, slopes):
        def send(grad):
            if len(ran) >= _MOST_RUNS:
                raise Unusable("nodes run again and again and never stop")
            ran.append([name, grad])
            return tuple(slope * grad for slope in slopes)

        return send

    for name, arrows in graph.items():
        slopes = [slope for _, slope in arrows]
        nodes[name] = _own(answer, "Node")(name, tuple(nodes[to] for to, _ in arrows), send_of(name, slopes))
        if not arrows:
            nodes[name].number = float("inf")  # a leaf
    return nodes


def _called(node):
    return node.name() if callable(getattr(node, "name", None)) else str(node)


def _counted(answer):
    found = []
    for graph in _GRAPHS:
        root = _nodes(answer, graph, [])[list(graph)[-1]]
        counts = answer(root)
        if not isinstance(counts, dict):
            raise Unusable("your code didn't return a dict")
        waits = {_called(node): count for node, count in counts.items() if count}
        try:
            waits[_called(root)] = counts[root]  # a Counter says 0 of what it does not hold, as well
        except KeyError:
            pass
        found.append(waits)
    return found


def count_arrivals(root):
    arrivals, todo = {root: 0}, [root]
    while todo:
        for to in todo.pop().edges:
            if to is not None:
                if to not in arrivals:
                    arrivals[to] = 0
                    todo.append(to)
                arrivals[to] += 1
    return arrivals


def _per_path(root, counts=None):
    counts = {} if counts is None else counts
    for node in root.edges:
        if node is not None:
            counts[node] = counts.get(node, 0) + 1
            _per_path(node, counts)
    return counts


def _pairs(root):
    counts, waiting = {}, [root]
    while waiting:
        for node in dict.fromkeys(waiting.pop().edges):
            if node is not None:
                if node not in counts:
                    waiting.append(node)
                counts[node] = counts.get(node, 0) + 1
    return counts


def _once(root):
    counts, waiting = {}, [root]
    while waiting:
        for node in waiting.pop().edges:
            if node is not None and node not in counts:
                counts[node] = 1
                waiting.append(node)
    return counts


def _leaving(root):
    return {node: sum(each is not None for each in node.edges) for node in [root, *_once(root)]}


def _constants_too(root):
    counts, waiting = {}, [root]
    while waiting:
        for node in waiting.pop().edges:
            if node not in counts and node is not None:
                waiting.append(node)
            counts[node] = counts.get(node, 0) + 1
    return counts


def _start_too(root):
    return {root: 1} | {node: count for node, count in _constants_too(root).items() if node is not None}


def _direct(root):
    counts = {}
    for node in root.edges:
        if node is not None:
            counts[node] = counts.get(node, 0) + 1
    return counts


def _without_start(root):
    return {node: count for node, count in count_arrivals(root).items() if node is not root}


def _with_start(answer):
    return lambda root: {root: 0} | answer(root)


exercise(
    "count-the-arrivals",
    "For each node that can be reached from a node: how many gradients will arrive there.",
    solution=count_arrivals,
    probes={"the counts": _counted},
    misconceptions=[
        Misconception(
            "once per path",
            "you go on from a node each time you reach it, so everything after it is counted again. A node runs "
            "once, no matter how many paths lead to it, and passes its gradients on once.",
            _per_path,
            (_with_start(_per_path),),
        ),
        Misconception(
            "two arrows between the same nodes count as one",
            "in p * p two gradients go to the node of p. Your count says one.",
            _pairs,
            (_with_start(_pairs),),
        ),
        Misconception(
            "every node is counted once",
            "a node that you know already gets one more arrow. Count that arrow too, but don't go on from the node "
            "again.",
            _once,
            (_with_start(_once),),
        ),
        Misconception(
            "what leaves instead of what arrives",
            "you counted how many gradients a node passes on. How many arrive there?",
            _leaving,
        ),
        Misconception(
            "constants are counted",
            "None in the list means that the gradient goes nowhere. No node waits for it.",
            _constants_too,
            (_with_start(_constants_too),),
        ),
        Misconception(
            "the start waits, too",
            "no other node sends a gradient to the node where the walk begins.",
            _start_too,
        ),
        Misconception(
            "only the next nodes are counted",
            "you looked at what comes right after the first node. The nodes after these pass gradients on too.",
            _direct,
            (_with_start(_direct),),
        ),
        Misconception(
            "the start is left out",
            "the node where the walk begins is in the dict too. How many gradients arrive there from other nodes?",
            _without_start,
        ),
    ],
    points=2,
)


# 4. Walk.


def take_next(ready):
    node = max(ready, key=lambda each: each.number)
    ready.remove(node)
    return node


def walk(root, grad):
    waiting, grads, ready = count_arrivals(root), {root: grad}, [root]
    while ready:
        node = take_next(ready)
        for to, sent in zip(node.edges, node.run(grads.pop(node))):
            if to is not None:
                grads[to] = grads[to] + sent if to in grads else sent
                waiting[to] -= 1
                if waiting[to] == 0:
                    ready.append(to)


def _arrows(root):
    """How many edges lead to each node."""
    nodes, ends = [root], []
    for node in nodes:
        ends += [to for to in node.edges if to is not None]
        nodes += [to for to in dict.fromkeys(node.edges) if to is not None and to not in nodes]
    return {node: ends.count(node) for node in nodes}


def _newest(ready):
    return max(ready, key=lambda each: each.number)


def _walk_with(choose=_newest, add=lambda old, new: old + new, waits=True, given=lambda first, own: own):
    """A walk that chooses and adds in its own way, or does not wait for what has not arrived."""

    def walk(root, grad):
        waiting, grads, ready = _arrows(root), {root: grad}, [root]
        while ready:
            node = choose(ready)
            ready.remove(node)
            for to, sent in zip(node.edges, node.run(given(grad, grads.pop(node))), strict=True):
                if to is not None:
                    grads[to] = add(grads[to], sent) if to in grads else sent
                    waiting[to] -= 1
                    if (waiting[to] == 0 or not waits) and to not in ready:
                        ready.append(to)

    return walk


def _by_recursion(root, grad):
    for to, sent in zip(root.edges, root.run(grad), strict=True):
        if to is not None:
            _by_recursion(to, sent)


def _cleared(root, grad):
    waiting, grads, ready = _arrows(root), {root: grad}, [root]
    while ready:
        node = _newest(ready)
        ready.remove(node)
        handed_on = {}
        for to, sent in zip(node.edges, node.run(grads.pop(node)), strict=True):
            if to is not None:
                handed_on[to] = handed_on.get(to, 0.0) + sent
                waiting[to] -= 1
                if waiting[to] == 0:
                    ready.append(to)
        grads |= handed_on


@contextmanager
def _counting(answer, graph, nodes):
    """The count is another exercise: for this one it is right, as told by what the graph was made from."""
    ends = [to for arrows in graph.values() for to, _ in arrows]
    names = getattr(answer, "__globals__", {})
    before = dict(names)
    names["count_arrivals"] = lambda root: {nodes[name]: ends.count(name) for name in graph}
    try:
        yield
    finally:
        names.pop("count_arrivals")
        names.update({name: each for name, each in before.items() if name == "count_arrivals"})


def _walked(answer, read):
    found = []
    for graph in _GRAPHS:
        ran = []
        nodes = _nodes(answer, graph, ran)
        with _counting(answer, graph, nodes):
            answer(nodes[list(graph)[-1]], 1.5)
        found.append(read(ran))
    return found


def _gradients(ran):
    gradients = {}
    for name, grad in ran:
        gradients.setdefault(name, []).append(grad)
    return gradients


def _walk_checked(answer):
    """Whether gradcheck agrees with the learner's walk through the nodes of `p * p + p * v`, where `p = u * v`."""

    class ByOwnWalk(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u, v):
            ctx.save_for_backward(u, v)
            p = u * v
            return p * p + p * v

        @staticmethod
        def backward(ctx, grad_output):
            u, v = (each.item() for each in ctx.saved_tensors)
            p = u * v
            graph = {
                "u": [],
                "v": [],
                "p": [("u", v), ("v", u)],
                "s": [("p", p), ("p", p)],
                "m": [("p", v), ("v", p)],
                "y": [("s", 1.0), ("m", 1.0)],
            }
            ran = []
            nodes = _nodes(answer, graph, ran)
            with _counting(answer, graph, nodes):
                answer(nodes["y"], 1.0)
            sums = {name: sum(grad for each, grad in ran if each == name) for name in "uv"}
            return grad_output * sums["u"], grad_output * sums["v"]

    point = tuple(torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in (1.2, -0.7))
    return torch.autograd.gradcheck(ByOwnWalk.apply, point, raise_exception=False)


exercise(
    "walk-the-graph",
    "The walk back: every node once, when all its gradients have arrived, and of the ready nodes the newest first.",
    solution=walk,
    probes={
        "the gradients": lambda answer: _walked(answer, _gradients),
        "the order": lambda answer: _walked(answer, lambda ran: [name for name, _ in ran]),
        "gradcheck": _walk_checked,
    },
    misconceptions=[
        Misconception(
            "recursion once per path",
            "your node runs each time a gradient arrives: once for each path. The walk has to wait at a node until "
            "all have arrived.",
            _by_recursion,
        ),
        Misconception(
            "a node runs before everything has arrived",
            "your walk doesn't wait for the count: a node runs with a part of its gradient, and again with the rest.",
            _walk_with(waits=False),
            (_walk_with(lambda ready: ready[0], waits=False), _walk_with(lambda ready: ready[-1], waits=False)),
        ),
        Misconception(
            "the last gradient replaces the others",
            "several gradients arrive at a node, and only the last one is left when it runs.",
            _walk_with(add=lambda old, new: new),
        ),
        Misconception(
            "what waits is cleared too early",
            "what one node passes on adds up, but what another node passed on before is gone. It has to wait until "
            "the node has run.",
            _cleared,
        ),
        Misconception(
            "order by depth",
            "the gradients are right, and the order isn't: your queue is first come, first served. The node that "
            "became ready first may not be the newest.",
            _walk_with(lambda ready: ready[0]),
        ),
        Misconception(
            "the last one that became ready runs first",
            "the gradients are right, and the order isn't: the node that became ready last may not be the newest.",
            _walk_with(lambda ready: ready[-1]),
        ),
        Misconception(
            "the oldest first",
            "the gradients are right, and the order is the other way around: what was computed last goes back first.",
            _walk_with(lambda ready: min(ready, key=lambda each: each.number)),
        ),
        Misconception(
            "every node gets the first gradient",
            "each of your nodes runs with the gradient that the walk began with, whatever it received.",
            _walk_with(given=lambda first, own: first),
        ),
    ],
    points=3,
)
