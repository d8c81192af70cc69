"""The DOT face's clusters: each holds its nodes and what hangs on them, nested as the scopes are."""

from __future__ import annotations

import pygraphviz

import workbench as torch
from workbench.pictures.recording import record


def clusters(graph):
    """The clusters as Graphviz reads them: of each label the titles of what stands in it itself, and those within."""
    inner = [part for part in graph.subgraphs() if part.name and part.name.startswith("cluster")]
    held = {node for part in inner for node in part.nodes()}
    own = [node.attr["label"].split("\\n")[0] for node in graph.nodes() if node not in held]
    return own, {part.graph_attr["label"]: clusters(part) for part in inner}


def laid_out(picture, path):
    """A picture's DOT file laid out by Graphviz; it may warn of nothing."""
    picture.save(path)
    graph = pygraphviz.AGraph(str(path))
    graph.layout("dot")
    return graph


def test_clusters_hold_their_nodes_nested_as_the_scopes_are(tmp_path, recwarn):
    net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()), torch.nn.Linear(3, 1))
    x = torch.ones(1, 2)
    with record() as trace:
        loss = net(x).sum()
        loss.backward()
    graph = laid_out(trace.show(depth=9), tmp_path / "net.dot")
    own, parts = clusters(graph)  # at the end of the backward, where all that was saved is freed
    assert "loss = net(x).sum()" in own and "loss" in own and not [each for each in own if each.startswith("addmm")]
    assert list(parts) == ["net › Sequential"]
    nothing, inside = parts["net › Sequential"]
    assert nothing == [] and list(inside) == ["0 › Sequential", "1 › Linear"]
    relu, linear = inside["0 › Sequential"]
    assert relu == ["1 › ReLU", "saved result (freed)"]
    assert list(linear) == ["0 › Linear"] and {"addmm", "saved mat1 (x) (freed)"} <= {*linear["0 › Linear"][0]}
    assert {"addmm", "t"} <= {*inside["1 › Linear"][0]}
    boxes = {part.graph_attr["bb"] for part in graph.subgraphs() if part.name}  # Graphviz drew them
    assert None not in boxes and not [each for each in recwarn if "rankset" in str(each.message)]


def test_two_parts_of_one_name_stay_two(tmp_path):
    with record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y[0].mul_(3)
        y[1].mul_(4)
        y.sum().backward()
    graph = laid_out(trace.show(), tmp_path / "slices.dot")
    parts = [part for part in graph.subgraphs() if part.name and part.name.startswith("cluster")]
    assert [part.graph_attr["label"] for part in parts] == ["CopySlices"] * 2
    for part, which in zip(parts, ("", ", 2nd"), strict=True):
        held = {node.attr["label"].split("\\n")[0] for node in part.nodes()}
        assert {f"mul{which}", f"CopySlices{which}"} <= held
