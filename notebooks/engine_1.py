"""The engine after lesson 19: single numbers, the graph that made them, and a backward in the right order."""

import math
from itertools import count


class Node:
    """One operation in the graph: where its gradients go and how they are computed."""

    numbers = count()

    def __init__(self, name, edges, send):
        self.number = next(Node.numbers)  # in the order in which the operations ran
        self.edges = edges  # for each operand the node that gets its gradient, or None
        self._name, self._send = name, send

    def name(self):
        return self._name

    def __repr__(self):
        return f"<{self.name()}>"

    def run(self, grad):
        """Return the gradients of the operands, given the gradient of the result."""
        return self._send(grad)


class AccumulateGrad(Node):
    """The end of every path: it adds the gradient to the `.grad` of a leaf."""

    number, edges = math.inf, ()  # it runs before all others that are ready

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        return "AccumulateGrad"

    def run(self, grad):
        leaf = self.variable
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad
        return ()


def count_arrivals(root):
    """Count the gradients that will arrive at each node."""
    arrivals, todo = {root: 0}, [root]
    while todo:
        for to in todo.pop().edges:
            if to is not None:
                if to not in arrivals:
                    arrivals[to] = 0
                    todo.append(to)
                arrivals[to] += 1
    return arrivals


def take_next(ready):
    """Take the newest node out of the list."""
    node = max(ready, key=lambda each: each.number)
    ready.remove(node)
    return node


def walk(root, grad):
    """Run each node once, when all gradients of its result have arrived."""
    waiting, grads, ready = count_arrivals(root), {root: grad}, [root]
    while ready:
        node = take_next(ready)
        for to, sent in zip(node.edges, node.run(grads.pop(node))):
            if to is not None:
                grads[to] = grads[to] + sent if to in grads else sent
                waiting[to] -= 1
                if waiting[to] == 0:
                    ready.append(to)


class Value:
    """A number that knows what made it."""

    def __init__(self, data, requires_grad=False, grad_fn=None):
        self.data, self.grad = data, None
        self.requires_grad, self.grad_fn = requires_grad, grad_fn
        self._leaf_node = None

    def __repr__(self):
        if self.grad_fn is not None:
            return f"Value({self.data:g}, grad_fn={self.grad_fn})"
        return f"Value({self.data:g}, requires_grad=True)" if self.requires_grad else f"Value({self.data:g})"

    def edge(self):
        """Return where its gradient goes: to the node that made it, into its own `.grad`, or nowhere."""
        if self.grad_fn is not None:
            return self.grad_fn
        if not self.requires_grad:
            return None
        if self._leaf_node is None:
            self._leaf_node = AccumulateGrad(self)  # one per leaf, shared by everything that uses the leaf
        return self._leaf_node

    def backward(self, gradient=1.0):
        if not self.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        walk(self.edge(), gradient)

    def __add__(self, other):
        return record("Add", self.data + data_of(other), (self, other), lambda grad: (grad, grad))

    def __sub__(self, other):
        return record("Sub", self.data - data_of(other), (self, other), lambda grad: (grad, -grad))

    def __mul__(self, other):
        a, b = self.data, data_of(other)
        return record("Mul", a * b, (self, other), lambda grad: (grad * b, grad * a))

    def __truediv__(self, other):
        a, b = self.data, data_of(other)
        return record("Div", a / b, (self, other), lambda grad: (grad / b, -grad * a / b**2))

    def __pow__(self, exponent):
        a = self.data
        return record("Pow", a**exponent, (self,), lambda grad: (grad * exponent * a ** (exponent - 1),))

    def __neg__(self):
        return record("Neg", -self.data, (self,), lambda grad: (-grad,))

    def exp(self):
        result = math.exp(self.data)
        return record("Exp", result, (self,), lambda grad: (grad * result,))

    def tanh(self):
        result = math.tanh(self.data)
        return record("Tanh", result, (self,), lambda grad: (grad * (1 - result**2),))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return Value(other) - self

    def __rtruediv__(self, other):
        return Value(other) / self


def data_of(thing):
    """Return the number in a Value, or the number itself."""
    return thing.data if isinstance(thing, Value) else thing


def record(name, data, operands, send):
    """Return the result of an operation, with a node if any operand requires a gradient."""
    edges = tuple(each.edge() if isinstance(each, Value) else None for each in operands)
    if all(each is None for each in edges):
        return Value(data)
    return Value(data, True, Node(name + "Backward0", edges, send))
