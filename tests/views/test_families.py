"""A box shows the family of its operation or module (a convolution, a loss, …) by a strip of color."""

from __future__ import annotations

import inspect

import pytest

import workbench as torch
from workbench import nn
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.views.families import family_of

# The module of the package that a class is written in: what it is, said by whoever put it there.
WRITTEN_IN = {"activation": "activation", "convolution": "convolution", "losses": "loss", "normalization": "norm"}
NONE = ("similarity", "padding", "resampling", "folds", "rnn", "containers", "module")
LAYERS = [each for each in vars(nn).values() if inspect.isclass(each) and issubclass(each, nn.Module)]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_a_module_is_of_the_family_that_it_is_written_with(layer: type[nn.Module]) -> None:
    file = layer.__module__.rpartition(".")[2]
    if file in WRITTEN_IN or file in NONE:
        assert family_of(layer.__name__) == WRITTEN_IN.get(file, "")
    if layer.__name__.endswith("Loss"):
        assert family_of(layer.__name__) == "loss"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("ConvolutionBackward0", "convolution"),
        ("NativeBatchNormBackward0", "norm"),
        ("LeakyReluBackward1", "activation"),
        ("MseLossBackward0", "loss"),
        ("ScaledDotProductFlashAttentionForCpuBackward0", "attention"),
        ("LinalgVectorNormBackward0", ""),  # a length, not a layer
        ("norm", ""),
        ("MulBackward0", ""),
        ("relevance", ""),
        ("convert", ""),
        ("", ""),
    ],
)
def test_a_name_is_in_a_family_only_if_it_says_so(name: str, family: str) -> None:
    assert family_of(name) == family


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(2, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.b = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.relu(self.norm(self.a(x)))) + x


def test_closed_modules_have_the_strip_of_their_class_and_a_skip_its_line() -> None:
    with torch.record() as trace:
        nn.Sequential(Residual(), nn.Conv2d(2, 1, 1))(torch.ones(1, 2, 4, 4)).sum().backward()
    picture = trace.show(open=["Sequential"])
    boxes = {box.title: box for box in picture.storyboard.scene.boxes.values() if box.kind == "group"}
    families = {title.partition(" ")[0]: box.family for title, box in boxes.items()}
    assert families["a"] == families["b"] == "convolution" and families["norm"] == "norm"
    assert [box.family for title, box in boxes.items() if "Residual" in title] == [""]
    svg = to_svg(picture.storyboard)
    assert svg.count('class="wb-skip"') == 1  # of the closed block
    opened = to_svg(trace.show(open=["Sequential", "0"]).storyboard)
    assert 'class="wb-skip"' not in opened  # its skip is an arrow now
    for family in ("convolution", "norm", "activation"):
        assert f'class="wb-strip-{family}"' in opened
