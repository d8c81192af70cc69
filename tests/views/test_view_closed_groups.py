"""What a closed group and the arrows at it tell: all that it sends, what it gives, and its parameters' gradients."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest

import workbench as torch
from workbench import nn
from workbench.pictures.recording import Trace

SENT = re.compile(r"it sends (.*?)(?:; |\.$)")


def recorded(program: Callable[[], object]) -> Trace:
    torch.manual_seed(0)
    with torch.record() as trace:
        program()
    return trace


def group(trace: Trace, title: str, **how: object) -> tuple[object, dict[str, object]]:
    board = trace.show(**how).storyboard
    scene = board.at(len(board.steps) - 1)
    (found,) = [box for box in scene.boxes.values() if box.title.startswith(title) and box.kind in ("group", "region")]
    return found, scene.boxes


def test_a_closed_group_says_all_that_it_sends_and_not_what_its_last_node_does() -> None:
    w, b = (torch.ones(2, requires_grad=True) for _ in range(2))

    def program() -> None:
        p, q = w.exp(), b.sin()
        with torch.scope("part"):
            y = (p * 3.0 + q).sum()
        (y * 2.0).backward()

    stops = recorded(program).show(open=[]).storyboard.stops
    caption = next(each for _, _, each in stops if each.startswith("`part` runs backward"))
    (sent,) = SENT.findall(caption)
    assert set(sent.split(" and ")) == {"[2. 2.] to `q = b.sin()`", "[6. 6.] to `p = w.exp()`"}


def test_several_gradients_for_one_leaf_are_told_as_their_sum() -> None:
    w = torch.ones(2, requires_grad=True)

    def program() -> None:
        with torch.scope("part"):
            y = w * 3.0 + w * w
        y.sum().backward()

    stops = recorded(program).show(open=[]).storyboard.stops
    caption = next(each for _, _, each in stops if each.startswith("`part` runs backward"))
    assert SENT.findall(caption) == ["[5. 5.] to `w`"] and w.grad.tolist() == [5.0, 5.0]


def test_an_iteration_gives_what_goes_out_of_it_and_not_what_it_computes_last() -> None:
    a = torch.tensor(7.0, requires_grad=True)

    def program() -> None:
        x = a
        for _ in range(2):
            x = 0.5 * (x + a / x)
            (x - 1.0).abs()
        x.backward()

    trace = recorded(program)
    first, _ = group(trace, "iteration 1", open=["for _ in range(2)"])
    second, _ = group(trace, "iteration 2", open=["for _ in range(2)"])
    assert first.brief[0] == "4.0" and second.brief[0] == "2.875"


def crossing(rounds: int) -> tuple[Trace, dict[str, torch.Tensor]]:
    weights = {name: torch.full((2, 2), value, requires_grad=True) for name, value in (("u", 0.3), ("v", 0.2))}
    u, v = weights.values()
    x = torch.ones(rounds, 1, 2)

    def program() -> None:
        h = torch.zeros(1, 2)
        for t in range(rounds):
            h = torch.tanh(x[t] @ u + h @ v)
        h.sum().backward()

    return recorded(program), weights


@pytest.mark.parametrize("rounds", [4, 9])
def test_what_all_iterations_use_leads_to_their_loop_with_the_whole_gradient(rounds: int) -> None:
    trace, weights = crossing(rounds)
    loop, boxes = group(trace, "for t in range", open=["for t in range(rounds)"])
    board = trace.show(open=["for t in range(rounds)"]).storyboard
    scene = board.at(len(board.steps) - 1)
    for name, weight in weights.items():
        leading = [arrow for arrow in scene.arrows.values() if boxes[arrow.source].title == name]
        assert [arrow.target for arrow in leading] == [loop.id]
        assert float(leading[0].norm) == pytest.approx(float(weight.grad.norm()), rel=1e-5)
    assert {arrow.target for arrow in scene.arrows.values() if boxes[arrow.source].title == "x"} == {loop.id}


def test_arrows_to_a_frame_end_at_its_upper_edge_each_at_its_own_place() -> None:
    trace, _ = crossing(9)
    board = trace.show(open=["for t in range(rounds)"]).storyboard
    (loop,) = [id for id, box in board.scene.boxes.items() if box.title.startswith("for t in range")]
    place = board.layout.boxes[loop]
    ends = [board.layout.arrows[id].points[-1] for id, arrow in board.at().arrows.items() if arrow.target == loop]
    assert len(ends) == 3 == len({round(x) for x, _ in ends})
    assert all(place.x < x < place.x + place.w and abs(y - place.y) < 6 for x, y in ends)


def test_a_closed_layer_tells_the_norm_of_its_parameters_gradients() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    trace = recorded(lambda: net(torch.ones(2, 3)).sum().backward())
    for at in (0, 2):
        box, _ = group(trace, f"{at} › Linear", depth=1)
        norm = math.hypot(*[float(each.grad.norm()) for each in net[at].parameters()])
        (told,) = [line for line in box.brief if "grad norm" in line]
        assert float(told.rpartition(" ")[2]) == pytest.approx(norm, rel=6e-3)


def test_a_layer_that_is_called_again_tells_no_norm_as_its_own() -> None:
    layer = nn.Linear(3, 3)
    trace = recorded(lambda: layer(layer(torch.ones(1, 3)).tanh()).sum().backward())
    boxes = trace.show(open=[]).storyboard.at().boxes.values()
    assert len([box for box in boxes if box.title.startswith("layer › Linear")]) == 2
    assert not [box for box in boxes if any("grad norm" in line for line in box.brief or ())]


def test_a_gate_is_no_skip_and_a_residual_block_has_room_for_its_skip() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.b(self.a(x).relu())

    block, cell = Residual(), nn.GRU(4, 4)
    trace = recorded(lambda: block(torch.ones(2, 4)).sum().backward())
    box, _ = group(trace, "block › Residual", open=[])
    assert box.skips == 1
    gru, _ = group(recorded(lambda: cell(torch.ones(5, 1, 4))[0].sum().backward()), "cell › GRU", open=[])
    assert gru.skips == 0


def test_what_grad_differentiates_on_its_line_is_not_in_the_group_of_what_it_recorded() -> None:
    critic = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))
    x = torch.randn(4, 2, requires_grad=True)

    def program() -> None:
        score = critic(x)
        (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        penalty = ((g.norm(dim=1) - 1) ** 2).mean()
        (score.mean() + 10 * penalty).backward()

    board = recorded(program).show().storyboard
    scene = board.at(len(board.steps) - 1)
    title = {id: box.title for id, box in scene.boxes.items()}
    of_grad = next(id for id, text in title.items() if "grad(" in text)
    users = {title[arrow.target] for arrow in scene.arrows.values() if arrow.source == of_grad}
    assert users == {next(text for text in title.values() if text.startswith("penalty"))}
