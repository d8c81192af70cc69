"""An error that isn't autograd's: which layer, call or line raised it, and the shapes that it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import corpus
import pytest

import workbench
from workbench.pictures.recording import Trace

Fails = Callable[[Any, Any], object]  # of the engine, and of its functions


def net(torch: Any, *layers: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 6), *layers)


def batch_of_one(torch: Any, F: Any) -> None:
    model, x = net(torch, torch.nn.BatchNorm1d(6)), torch.ones(5, 4)
    for part in x.split(2):
        model(part).sum().backward()


def one_pixel(torch: Any, F: Any) -> None:
    norm = torch.nn.BatchNorm2d(3)
    norm(torch.ones(1, 3, 1, 1))


def another_width(torch: Any, F: Any) -> None:
    model = net(torch, torch.nn.ReLU(), torch.nn.Linear(5, 2))
    model(torch.ones(3, 4))


def not_flattened(torch: Any, F: Any) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(32, 2)

        def forward(self, image: Any) -> Any:
            return self.head(image)

    Net()(torch.ones(2, 2, 4, 4))


def no_transpose(torch: Any, F: Any) -> None:
    x, w = torch.ones(4, 3), torch.ones(2, 3, requires_grad=True)
    (x @ w).sum().backward()


def named_twice(torch: Any, F: Any) -> None:
    x = torch.ones(4, 3, requires_grad=True)
    (x * (x @ x)).sum().backward()


def vector_of_another_size(torch: Any, F: Any) -> None:
    a, b = torch.ones(4), torch.ones(3)
    a @ b


def batches(torch: Any, F: Any) -> None:
    q, k = torch.ones(2, 3, 4), torch.ones(2, 3, 4)
    torch.bmm(q, k)


def residual(torch: Any, F: Any) -> None:
    x, h = torch.ones(5, 4), torch.ones(5, 6)
    x + h


def target_of_another_shape(torch: Any, F: Any) -> None:
    scores, labels = torch.ones(4, 3), torch.tensor([0, 1])
    F.cross_entropy(scores, labels)


def targets_in_a_column(torch: Any, F: Any) -> None:
    scores, labels = torch.ones(4, 3), torch.zeros(4, 1, dtype=torch.int64)
    F.cross_entropy(scores, labels)


def label_beyond_the_classes(torch: Any, F: Any) -> None:
    scores, labels = torch.ones(2, 3), torch.tensor([0, 3])
    F.cross_entropy(scores, labels)


def reshaped(torch: Any, F: Any) -> None:
    x = torch.ones(2, 3)
    x.view(4, 2)


def joined(torch: Any, F: Any) -> None:
    one, other = torch.ones(2, 3), torch.ones(2, 4)
    torch.cat([one, other])


def channels(torch: Any, F: Any) -> None:
    conv = torch.nn.Conv2d(3, 4, 3)
    conv(torch.ones(1, 8, 8, 3))


def normalized(torch: Any, F: Any) -> None:
    norm = torch.nn.LayerNorm(5)
    norm(torch.ones(2, 6))


def integers_for_a_layer(torch: Any, F: Any) -> None:
    layer, pixels = torch.nn.Linear(2, 2), torch.tensor([[0, 255]])
    layer(pixels)


def two_precisions(torch: Any, F: Any) -> None:
    x, w = torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2)
    x @ w


def labels_with_a_fraction(torch: Any, F: Any) -> None:
    scores, labels = torch.ones(2, 2), torch.tensor([0.0, 1.0])
    F.cross_entropy(scores, labels)


def index_beyond_the_table(torch: Any, F: Any) -> None:
    table = torch.nn.Embedding(3, 4)
    table(torch.tensor([3]))


def scores_for_probabilities(torch: Any, F: Any) -> None:
    scores, labels = torch.tensor([2.0, -1.0]), torch.tensor([1.0, 0.0])
    F.binary_cross_entropy(scores, labels)


def loss_of_an_empty_loop(torch: Any, F: Any) -> None:
    loss = sum(x.sum() for x in ())
    loss.backward()  # pyright: ignore[reportAttributeAccessIssue]


KNOWN: dict[Fails, tuple[str, ...]] = {
    batch_of_one: (
        "model.1 (BatchNorm1d",
        "with an input of shape (1, 6)",
        "one value per channel",
        "call eval()",
        "drop_last",
    ),
    one_pixel: ("norm (BatchNorm2d", "with an input of shape (1, 3, 1, 1)", "one value per channel"),
    another_width: ("model.2 (Linear(in_features=5", "with an input of shape (3, 6)", "must be in_features"),
    not_flattened: ("self.head (Linear(in_features=32", "with an input of shape (2, 2, 4, 4)", "flatten"),
    no_transpose: ("`x @ w` (x is (4, 3) and w is (2, 3))", "Look for a transpose"),
    named_twice: ("x @ x", "(x is (4, 3))", "Look for a transpose"),
    vector_of_another_size: ("`a @ b` (a is (4,) and b is (3,))",),
    batches: ("`torch.bmm(q, k)` (q is (2, 3, 4) and k is (2, 3, 4))", "transpose"),
    residual: ("`x + h` (x is (5, 4) and h is (5, 6))", "one of them 1"),
    target_of_another_shape: ("scores is (4, 3) and labels is (2,)", "one target for each prediction"),
    targets_in_a_column: ("scores is (4, 3) and labels is (4, 1)", "squeeze(1)"),
    label_beyond_the_classes: ("scores is (2, 3)", "the classes are 0 to C - 1"),
    reshaped: ("`x.view(4, 2)` (x is (2, 3))", "don't fill"),
    joined: ("one is (2, 3) and other is (2, 4)", "cat() takes"),
    channels: ("conv (Conv2d", "with an input of shape (1, 8, 8, 3)", "permute()"),
    normalized: ("norm (LayerNorm", "with an input of shape (2, 6)", "made for another size"),
    integers_for_a_layer: ("layer (Linear(in_features=2", "with an input of dtype int64", ".float()"),
    two_precisions: ("`x @ w` (x is float64 and w is float32)",),
    labels_with_a_fraction: ("labels is float32", ".long()"),
    index_beyond_the_table: ("table (Embedding(3, 4))", "out of range", "num_embeddings"),
    scores_for_probabilities: ("scores is (2,)", "takes probabilities", "binary_cross_entropy_with_logits"),
    loss_of_an_empty_loop: ("Only tensors have backward()", "loss.backward", "Check that the loop"),
}


def said_of(error: BaseException) -> str:
    return " ".join(str(workbench.explain(error)).split())


def error_of(engine: str, program: Fails, record: bool = False) -> tuple[BaseException, Trace | None]:
    torch = corpus.engine_named(engine)
    if not record:
        with pytest.raises(Exception) as raised:
            program(torch, torch.nn.functional)
        return raised.value, None
    recording = workbench.record() if engine == "workbench" else workbench.record(torch)
    with pytest.raises(Exception) as raised, recording as trace:
        program(torch, torch.nn.functional)
    return raised.value, trace


@corpus.each_engine
@pytest.mark.parametrize(("program", "facts"), KNOWN.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_shapes_and_values_that_a_layer_refuses_are_explained(
    engine: str, program: Fails, facts: tuple[str, ...]
) -> None:
    said = said_of(error_of(engine, program)[0])
    plain = said.replace("`", "")
    assert [fact for fact in facts if fact.replace("`", "") not in plain] == []
    assert "This happened at" in said and "The cross" not in said
    error, trace = error_of(engine, program, record=True)
    assert said_of(error) == said
    assert trace is not None
    (finding,) = trace.findings()
    assert finding.rule == "stopped" and finding.certain and finding.line is not None
    shown = " ".join(str(trace.show("error")).split()).replace("`", "")
    for text in (str(finding).replace("`", ""), shown):
        assert [fact for fact in facts if fact.replace("`", "") not in text] == []
    assert "This happened at" in shown


def own_words(torch: Any, F: Any) -> None:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            if x.shape[1] != 4:
                raise ValueError("four numbers a row")
            return x

    Net()(torch.ones(2, 3))


def missing_key(torch: Any, F: Any) -> None:
    x, cache = torch.ones(2), {}
    x * cache["mean"]


def missing_attribute(torch: Any, F: Any) -> None:
    h = torch.ones(2, 3)
    h.sizes()


def beyond_the_end(torch: Any, F: Any) -> None:
    x = torch.ones(2, 3)
    x[2]


def wrong_argument(torch: Any, F: Any) -> None:
    torch.nn.GroupNorm(4, 6)


def unused_input(torch: Any, F: Any) -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.grad((a * a).sum(), [a, b])


def group_that_is_a_tensor(torch: Any, F: Any) -> None:
    class Bag:
        def __init__(self) -> None:
            self._parameters = torch.ones(2)

    bag = Bag()
    bag.weight @ bag.weight  # type: ignore[attr-defined]  # the program's mistake


@corpus.each_engine
@pytest.mark.parametrize("program", [unused_input, group_that_is_a_tensor], ids=lambda each: each.__name__)
def test_a_recording_passes_on_the_error_that_ended_it(engine: str, program: Fails) -> None:
    alone, error = error_of(engine, program)[0], error_of(engine, program, record=True)[0]
    assert (type(error), str(error)) == (type(alone), str(alone))
    said_of(error)


OTHERS: dict[Fails, tuple[str, ...]] = {
    own_words: ("Your own code in Net.forward", "four numbers a row"),
    missing_key: ('`cache["mean"]` raised this',),
    missing_attribute: ("`h.sizes", "h is (2, 3)"),
    beyond_the_end: ("`x[2]` (x is (2, 3))",),
    wrong_argument: ("`torch.nn.GroupNorm(4, 6)` raised this",),
}


@corpus.each_engine
@pytest.mark.parametrize(("program", "facts"), OTHERS.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_any_other_error_is_said_not_to_be_autograd_s(engine: str, program: Fails, facts: tuple[str, ...]) -> None:
    error, trace = error_of(engine, program, record=True)
    said = said_of(error)
    plain = said.replace("`", "")
    assert [fact for fact in facts if fact.replace("`", "") not in plain] == []
    assert "It isn't an error of autograd" in plain
    assert trace is not None and trace.findings() == []


def test_an_error_that_was_never_raised_has_no_line_to_show() -> None:
    assert "its traceback contains none of your lines" in said_of(ValueError("another"))
