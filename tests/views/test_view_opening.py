"""Which groups are open at first, and what a closed one tells at each moment of all that it holds."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from functools import cache

import golden_programs
import net_samples
import pytest
from text_programs import recorded

import workbench as torch
import workbench.nn.functional as F
from workbench import nn
from workbench.pictures.recording import record
from workbench.pictures.scene.labels import rounds_apart
from workbench.pictures.scene.layout import LayoutUnavailable
from workbench.pictures.scene.model import paths
from workbench.pictures.scene.reading import drawn_region
from workbench.pictures.scene.storyboard import LEGIBLE, Storyboard
from workbench.pictures.trace.frame import Frame
from workbench.pictures.views.graph import Graph
from workbench.pictures.views.opening import ROOM
from workbench.pictures.views.player_steps import tell

_COUNT = r"^([\d,]+) operations?(?: × ([\d,]+))?(?!.*\d freed)"
_URGENT = ("error", "running", "ready", "pending")  # of what is inside, the first of these is told


def scopes():
    """Scopes in scopes, a value used twice in one, an output in the middle of one, and a backward through it twice."""
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with record() as trace:
        y = x
        for n in range(3):
            with torch.scope(f"layer{n}"):
                h = (y * x).exp()
                with torch.scope("inner"):
                    y = (h * h).sin() + h.detach()
                y = y * 0.5
        loss = y.sum()
        loss.backward(retain_graph=True)
        loss.backward()
        del loss, y, h
    return trace


def chain():
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    with record() as trace:
        y = x
        for _ in range(60):
            y = (y * 1.01 + 0.1).sin()
        y.sum().backward()
    return trace


class Residual(nn.Module):
    def __init__(self, size, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(size // stride, size, 3, stride, 1, bias=False), nn.BatchNorm2d(size)
        self.conv2, self.bn2 = nn.Conv2d(size, size, 3, 1, 1, bias=False), nn.BatchNorm2d(size)
        down = nn.Conv2d(size // stride, size, 1, stride, bias=False), nn.BatchNorm2d(size)
        self.down = nn.Sequential(*down) if stride > 1 else nn.Identity()

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return torch.relu(out + self.down(x))


class ResNet18(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, size, 3, 1, 1, bias=False), nn.BatchNorm2d(size)
        self.relu, self.maxpool, self.fc = nn.ReLU(), nn.MaxPool2d(2), nn.Linear(8 * size, 5)
        self.layer1 = nn.Sequential(Residual(size), Residual(size))
        sizes = 2 * size, 4 * size, 8 * size
        layers = [nn.Sequential(Residual(each, 2), Residual(each)) for each in sizes]
        self.layer2, self.layer3, self.layer4 = layers

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        return self.fc(x.mean((-2, -1)))


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x):
        B, T, C = x.shape
        q = self.q(x).view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = self.k(x).view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = self.v(x).view(B, T, self.heads, C // self.heads).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / (C // self.heads) ** 0.5
        scores = scores.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
        weights = torch.softmax(scores, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.out(mixed)


class Layer(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(size), Attention(size, heads), nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, words, size, length):
        super().__init__()
        self.tok, self.pos = nn.Embedding(words, size), nn.Embedding(length, size)
        self.blocks = nn.ModuleList([Layer(size, 2) for _ in range(3)])
        self.ln, self.head = nn.LayerNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.to_mu, self.to_logvar = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2)
        self.dec = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 6))

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        z = mu + torch.randn(4, 2) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def resnet():
    net, x, y = ResNet18(4), torch.randn(2, 3, 16, 16), torch.tensor([1, 3])
    with record() as trace:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
    return trace


def masked_attention():
    net, x, y = Attention(8, 2), torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    with record() as trace:
        loss = F.mse_loss(net(x), y)
        loss.backward()
    return trace


def gpt():
    net, ids = GPT(11, 8, 5), torch.tensor([[1, 2, 3, 4, 5]])
    with record() as trace:
        loss = F.cross_entropy(net(ids).view(-1, 11), ids.view(-1))
        loss.backward()
    return trace


def vae():
    net, x = VAE(), torch.rand(4, 6)
    with record() as trace:
        recon, mu, logvar = net(x)
        rec = F.mse_loss(recon, x, reduction="sum")
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
        loss = rec + kl
        loss.backward()
    return trace


def gan():
    G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    D = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    real, z = torch.randn(4, 3), torch.randn(4, 2)
    bce = F.binary_cross_entropy_with_logits
    with record() as trace:
        fake = G(z)
        d_loss = bce(D(real), torch.ones(4, 1)) + bce(D(fake.detach()), torch.zeros(4, 1))
        d_loss.backward()
        g_loss = bce(D(fake), torch.ones(4, 1))
        g_loss.backward()
    return trace


# What is seen of each at first: the model's own parts.
MODELS = {
    "resnet": ["conv1 … maxpool", "layer1", "layer2", "layer3", "layer4", "return self.fc(x.mean((-2, -1)))"],
    "masked_attention": ["q = ", "k = ", "v = ", "scores = ", "torch.softmax(scores, -1)", "mixed = ", "out"],
    "gpt": ["tok … pos", "iteration 1: blocks.0", "iteration 2: blocks.1", "iteration 3: blocks.2", "ln … head"],
    "vae": ["h = ", "mu = to_mu", "logvar = to_logvar", "z = mu + ", "dec", "rec = ", "kl = "],
    "gan": ["G › Sequential", "D › Sequential", "D › Sequential, 2nd call", "g_loss = "],  # a line around the third
}
LONG = ("chain", "rnn20", "resnet18")  # programs of many steps
PROGRAMS = {program.__name__: program for program in (*net_samples.PROGRAMS, scopes, chain)}
ALL = PROGRAMS | {program.__name__: program for program in (resnet, masked_attention, gpt, vae, gan)}


def scale(board):
    """At which a picture is whole in the window of a notebook, at most as large as it is."""
    return min(1.0, ROOM[0] / board.layout.width, ROOM[1] / board.layout.height)


@cache
def told(name: str):
    torch.manual_seed(0)
    trace = ALL[name]()
    return trace, trace.show().storyboard


@pytest.mark.slow
@pytest.mark.parametrize("name", [program.__name__ for program in net_samples.PROGRAMS])
def test_about_25_boxes_are_seen_at_first(name):
    _, board = told(name)
    boxes = [box for box in board.at().boxes.values() if box.kind != "saved" and box.state != "future"]
    assert 5 <= len(boxes) <= 40
    assert 25 < len([box for box in board.scene.boxes.values() if box.kind in ("op", "leaf")]) or name == "mlp"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_much_is_open_at_first_as_a_screen_has_room_for(name):
    _, board = told(name)
    first = [group for group in board.opened if not paths(board.scene)[group]]
    assert (board.layout.width <= 1310 and board.layout.height <= 1100) or board.opened == set(first)
    for group in board.opened:
        assert board.opened.issuperset(paths(board.scene)[group])


def rounds(count):
    """A loop of so many iterations, in each of which a scope computes two things."""
    x = torch.tensor([1.0], requires_grad=True)
    with record() as trace:
        y = x
        for n in range(count):
            with torch.scope(f"part{n}"):
                y = y.sin().exp()
        y.backward()
    return trace.show().storyboard


def test_what_repeats_is_closed_at_first_and_what_is_equal_opens_together():
    board = rounds(2)
    assert board.opened == board.folding.groups and len(board.opened) == 3  # the loop, and what is in it
    closed = [box.title for box in told("chain")[1].at().boxes.values() if box.kind == "group"]
    assert closed == ["58 more iterations (2 to 59)", "iteration 60"]  # the loop and its first round have room
    assert scale(told("chain")[1]) >= LEGIBLE and [len(part) for part in told("chain")[1].order] == [1, 1]


def test_of_what_is_equal_the_first_opens_alone_if_there_is_no_room_for_all():
    board = rounds(4)
    loop, first = [board.scene.boxes[group].title for group in sorted(board.opened)]
    assert loop.endswith(": 4 iterations") and first == "iteration 1: part0"
    assert scale(board) >= LEGIBLE > scale(board.with_open(board.folding.groups))


@pytest.mark.slow
def test_groups_are_open_down_to_a_depth():
    trace, whole = told("two_blocks")
    depths = {group: len(path) for group, path in paths(whole.scene).items() if group in whole.folding.groups}
    for depth in range(max(depths.values()) + 2):
        board = trace.show(depth=depth).storyboard
        titles = sorted(whole.scene.boxes[group].title for group, around in depths.items() if around < depth)
        assert sorted(board.scene.boxes[group].title for group in board.opened) == titles


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_that_a_closed_group_makes_one_step_is_told_in_one_sentence(name):
    _, board = told(name)
    around, several = paths(board.scene), 0
    for group in board.folding.groups:
        closed = Storyboard(board.scene, board.steps, opened=around[group], runs=board.runs)
        for first, last, caption in closed.stops:
            place = board.steps[last].place
            if first < last and place is not None and closed.folding.visible_box[place] == group:
                several += 1
                assert (first, last, caption) in board.runs[group]
                title, _ = rounds_apart(board.scene.boxes[group].title)
                words = title.rpartition(": ")[2].split(" › ")  # the name, or the class
                assert caption.removeprefix("`").startswith((*words, words[-1].split(" ")[0])) or "/" in caption
    assert several or name == "mlp"


def test_a_run_tells_what_joined_and_what_came_and_went():
    trace = golden_programs.scopes()
    board = trace.show().storyboard
    ids = {box.title: id for id, box in board.scene.boxes.items()}
    inner, outer = ids["inner"], ids["outer"]
    assert [(first, last) for first, last, _ in board.runs[outer]] == [(0, 3), (5, 8)]
    forward, backward = (caption for _, _, caption in board.runs[inner])
    assert forward == ("`inner`: 2 operations join the graph: mul 1, exp 1; it saves 24 bytes for backward.")
    assert backward == (
        "`inner` runs backward: it receives the gradient [3. 3.]; 2 nodes run, `y = (x * 2.0).exp()` first, "
        "`x * 2.0` last; it sends [44.33 327.6] to `x`."
    )
    assert [caption for _, _, caption in trace.show("graph", open=["outer"]).storyboard.stops][:1] == [forward]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in PROGRAMS])
def test_a_closed_group_tells_at_every_step_of_all_that_it_holds(name):
    trace, board = told(name)
    view = Graph(trace.events)
    flat = tell(trace, view)
    assert len(flat.steps) == len(board.steps), "every group is told"
    around = paths(board.scene)
    holds = {group: [id for id, path in around.items() if group in path] for group in board.folding.groups}
    closed = {group: Storyboard(board.scene, board.steps, opened=around[group]) for group in holds}
    single = {group.id for group in view.program.groups() if group.single}
    frame, end = Frame(), 0
    for k in range(0, len(board.steps), max(1, len(board.steps) // 12)):
        begin, end = end, trace.steps[k]
        for event in trace.events[begin:end]:
            event.apply(frame)
        whole = flat.at(k)
        for group, inside in holds.items():
            box = closed[group].at(k).boxes[group]
            nodes = [whole.boxes[id] for id in inside if id in whole.boxes and whole.boxes[id].kind == "op"]
            nodes = [node for node in nodes if node.state != "future"]
            if not nodes:
                assert box.state == "future"
                continue
            states = [node.state for node in nodes]
            other = "over" if set(states) == {"over"} else "done" if "done" in states else "idle"
            assert box.state == next((state for state in _URGENT if state in states), other), (k, box.title)
            ids = {node.id for node in nodes}
            edges = [each for each in whole.arrows.values() if each.kind == "edge"]
            used = dict.fromkeys(each.source for each in edges if each.target in ids)
            leaves = [whole.boxes[id] for id in used if whole.boxes[id].kind == "leaf"]
            parameters = [leaf.refers or leaf.id for leaf in leaves if "." in leaf.title]
            if group in single and parameters:
                assert _rows(box) == {row: pytest.approx(norm) for row, norm in _expected(frame, parameters).items()}
            else:
                ((count, times),) = [found[0] for each in box.lines if (found := re.findall(_COUNT, each))]
                assert int(count.replace(",", "")) * int(times.replace(",", "") or 1) == len(nodes)
            crossing = [each for each in edges if each.state in ("flowing", "done")]
            came = [each for each in crossing if each.source in ids and each.target not in ids]
            gone = [each for each in crossing if each.target in ids and each.source not in ids]
            outside = [each for each in gone if each.source not in inside]
            said = "".join([detail.body for detail in box.details if detail.heading == "Gradient"])
            for way, arrows in (("in", came), ("out", outside)):
                found = re.search(rf"\b{way} (?:[①-⑳] )?(?:norm )?([^,]+?)(?: in ([\d,]+))?(?:,|$)", said)
                assert bool(found) == bool(arrows)
                # Gradients for one value add up: what they give is not told by their norms.
                if len(arrows) == 1:
                    assert math.isclose(abs(float(found[1])), norm(arrows[0].label), rel_tol=0.02, abs_tol=1e-9)
                elif len({each.source for each in arrows}) > 1:
                    assert "gradients" in found[1]


def _rows(box):
    """The parameters that a module of one operation tells, `weight (8, 4)`, with the norms of their gradients."""
    rows = re.findall(r"(\w+ \([\d, ]*\))(?:, grad norm ([^\s,;]+))?", "\n".join(box.lines))
    return {row: float(norm) if norm else None for row, norm in rows}


def _expected(frame, parameters):
    tensors = [frame.tensors[id] for id in parameters]
    names = [f"{frame.called(id).rpartition('.')[2]} {frame.tensors[id].value.shape}" for id in parameters]
    norms = [None if tensor.grad is None else float(f"{tensor.grad.norm:.3g}") for tensor in tensors]
    return dict(zip(names, norms, strict=True))


def norm(label):
    """The norm that stands at an arrow; one number is its own, and a slope may stand before it or below."""
    norms = re.findall(r"norm ([^\s,]+)", label) or re.findall(r"-?[\d.]+(?:e[-+]\d+)?", label.partition("\n")[0])
    return float(norms[-1])


def test_where_nothing_can_be_laid_out_a_picture_is_told_in_words_all_the_same(monkeypatch):
    def missing(dot):
        raise LayoutUnavailable("Graphviz is missing")

    trace, _ = told("two_blocks")
    drawn_region.cache_clear()
    monkeypatch.setattr("workbench.pictures.scene.siblings.placed", missing)
    assert "Sequential" in str(trace.show())


def test_a_module_of_one_operation_stays_closed_as_it_tells_its_parameters():
    net = torch.nn.Linear(2, 1)
    with record() as trace:
        net(torch.ones(1, 2)).backward()
    board = trace.show().storyboard
    (layer,) = work(board)
    assert not board.opened and layer.title == "net › Linear" and layer.kind == "group"
    assert _rows(layer).keys() == {"weight (1, 2)", "bias (1,)"} and None not in _rows(layer).values()
    titles = {box.title for box in board.scene.boxes.values() if box.region == layer.id}
    assert {"net.weight", "net.bias"} <= titles  # where it opens


def test_layers_that_would_not_fit_stay_closed():
    net = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(5)])
    with record() as trace:
        net(torch.ones(1, 3)).sum().backward()
    board = trace.show().storyboard
    assert not [id for id in board.opened if "Linear" in board.scene.boxes[id].title]
    assert board.layout.height <= 1100


def work(board):
    """The boxes of operations that are seen at first: nodes, and groups that are closed."""
    return [
        box
        for id, box in board.at(board.start).boxes.items()
        if id in board.layout.boxes and box.kind in ("op", "function", "group")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models_open_whole_with_their_parts(name):
    _, board = told(name)
    titles = [box.title for id, box in board.at(board.start).boxes.items() if id in board.layout.boxes]
    for part in MODELS[name]:  # in front of the class of a module
        assert any(
            title.startswith(part) if part.endswith((" = ", " + ")) else part in (title, title.partition(" › ")[0])
            for title in titles
        ), part
    assert scale(board) >= LEGIBLE


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_groups_open_outer_ones_first_as_long_as_all_can_be_read(name):
    _, board = told(name)
    around, opened = paths(board.scene), set()
    for part in board.order:
        opened |= part
        assert all(opened.issuperset(around[group]) for group in part)
        assert scale(board.with_open(opened)) >= LEGIBLE
    assert opened == board.opened
    assert len(work(board)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "two_blocks", "resnet18", "attention", "rnn20", "resnet", "gpt", "vae"])
def test_the_model_opens_before_the_loss(name):
    _, board = told(name)
    first, *others = [{board.scene.boxes[group].title for group in part} for part in board.order]
    models = "Sequential", "Attention", "Recurrent", "ResNet18", "GPT", "VAE"
    assert any(title.startswith(f"net › {each}") for title in first for each in models) and not any(
        "loss = " in title or ".mean()" in title for title in first
    )
    losses = [box.title for id, box in board.scene.boxes.items() if id not in board.layout.boxes]
    assert not first & {*losses}


def test_of_what_stands_side_by_side_that_which_holds_most_opens_first():
    x = torch.tensor([1.0], requires_grad=True)
    with record() as trace:
        with torch.scope("small"):
            y = x.sin().cos()
            y = y.exp()
        with torch.scope("large"):
            for operation in (torch.sin, torch.cos, torch.tanh):
                y = operation(y)
            y = y * 2
            y = y + 1
        y.backward()
    board = trace.show().storyboard
    titles = [sorted(board.scene.boxes[group].title for group in part) for part in board.order]
    assert titles[0][:1] != ["small"] and "large" in titles[0]


def in_a_row():
    """A scope around very many operations, of which no three repeat."""
    state, lines = 1, []
    for _ in range(500):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        lines.append(f"    x = torch.{('sin', 'cos', 'tanh')[(state >> 16) % 3]}(x)\n")
    return f"with torch.scope('all'):\n{''.join(lines)}    x.backward()"


ONE = {
    "scope": "with torch.scope('all'):\n    y = x.sin()\n    y = y.exp()\n    y.backward()",
    "model": "net(torch.ones(3, 2)).sum().backward()",
    "loop": "for _ in range(200):\n    x = x.sin() * 1.1\nx.backward()",
    "line": "(x * x.exp().sin().tanh() * x.cos() * x.sigmoid() * (x + 1).log() ** 3 / x.sqrt()).sum().backward()",
    "call": "def act(x):\n    h = (x * 2).exp()\n    return h.sum()\nact(x).backward()",
    "row": in_a_row(),
}


@pytest.mark.parametrize(
    "program", [pytest.param(text, marks=[pytest.mark.slow] * (name == "row"), id=name) for name, text in ONE.items()]
)
def test_a_graph_of_several_operations_never_opens_as_one_closed_box(program):
    net = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))))
    trace = recorded(program, net=net, x=torch.tensor([0.5], requires_grad=True))
    assert len(work(trace.show().storyboard)) > 1


@pytest.mark.parametrize("name", ALL)
def test_a_picture_opens_where_the_last_backward_is_over(name):
    _, board = told(name)
    assert board.steps[board.start].caption == "Backward pass finished."  # a mask of minus infinity is no error
    assert not [step for step in board.steps[board.start + 1 :] if step.phase == "backward" and step.caption]
    assert {box.state for box in work(board)} <= {"done", "over"}
    came = [arrow for arrow in board.at(board.start).arrows.values() if arrow.kind == "edge" and arrow.state == "done"]
    assert sum("norm " in arrow.label for arrow in came) >= 2
    assert not any("not finite" in line for box in board.scene.boxes.values() for line in box.lines)


# What is not finite in a program, and the node that is in focus.
NOT_FINITE = [
    ("y = x * 2.0\nz = y.log() * 0.0\nz.sum().backward()", "y.log()"),
    ("y = x * 1.0\ny.sqrt().sum().backward()", "y.sqrt()"),
]


@pytest.mark.parametrize(("program", "focus"), NOT_FINITE)
def test_the_first_node_that_gives_or_sends_what_is_not_finite_is_in_focus(program, focus):
    board = recorded(program, x=torch.tensor([0.0, 4.0], requires_grad=True)).show().storyboard
    step = board.steps[board.start]
    assert board.scene.boxes[step.focus].title == focus
    assert (
        step.caption.startswith("Backward pass finished.") and f"nonfinite values come from `{focus}`." in step.caption
    )


@pytest.mark.parametrize("name", ALL)
def test_an_arrow_for_several_gradients_tells_the_norm_of_their_sum_or_how_many_are_for_different_values(name):
    _, board = told(name)
    closed, opened = board.with_open([]), board.with_open(board.folding.groups)
    for k in range(0, len(board.steps), max(1, len(board.steps) // 12)):
        for seen in (closed, board):
            for id, arrow in seen.at(k).arrows.items():
                ways = [opened.scene.arrows[each] for each in seen.folding.members[id]]
                sources = {opened.scene.boxes[way.source].refers or way.source for way in ways}
                assert len(sources) > 1 or not re.search(r"\d gradients", arrow.label)
    apart, several = opened.at(board.start).arrows, 0
    for seen in (closed, board):
        merged = seen.at(board.start).arrows
        for id, members in seen.folding.members.items():
            ways = [apart[each] for each in members if each in apart]
            sources = {opened.scene.boxes[arrow.source].refers or arrow.source for arrow in ways}
            others = [arrow for each, arrow in apart.items() if each not in members and arrow.source in sources]
            if len(sources) > 1 or len(ways) < 2 or any(arrow.state == "done" for arrow in others):
                continue  # what is known is the sum of all gradients that came for one value
            if all(arrow.kind == "edge" and arrow.state == "done" for arrow in ways):
                several += 1
                assert re.search(r"^([①-⑳] )?(norm |-?\d)", merged[id].label)
    assert several or name not in ("resnet18", "resnet", "scopes", "gpt")


def test_a_label_stands_below_the_heading_of_its_frame():
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        y = x**3
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        slope.backward()
    board = trace.show().storyboard
    (frame,) = [id for id, box in board.scene.boxes.items() if box.kind == "region"]
    place, (wide, high) = board.layout.boxes[frame], board.sizes[0][frame]
    for label in [way.label for way in board.layout.arrows.values() if way.label.w]:
        beside = label.x > place.x + wide or label.x + label.w < place.x
        assert beside or label.y >= place.y + high or label.y + label.h <= place.y


def opening_calls(nodes, path):
    """How many functions are called until a trace from a file has its picture."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        y = x
        for _ in range(nodes // 2):
            y = y * 0.9999
            y = y.tanh()
        y.sum().backward()
    path.write_text(trace.to_json())
    read, calls = torch.load(path), Counter()
    sys.setprofile(lambda frame, what, called: calls.update([what]))
    try:
        assert read.show("graph", depth=0).storyboard.steps
    finally:
        sys.setprofile(None)
    return calls["call"] + calls["c_call"]


@pytest.mark.slow
def test_a_node_that_is_not_drawn_takes_few_calls_until_its_picture_is_there(tmp_path):
    """The time of an opening depends on the machine, the calls do not: of 100,000 nodes nearly all are not drawn."""
    path = tmp_path / "large.json"
    opening_calls(1_000, path)  # what is done once is done
    each = (opening_calls(2_000, path) - opening_calls(1_000, path)) / 1_000
    assert each < 400
