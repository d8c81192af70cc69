"""The first that was not finite is named, in findings and by `why`, and never who took it up later."""

from __future__ import annotations

import math

import pytest
from both_engines import each_engine, found, recorded, train, where

FIT = 0.01  # a learning rate


def net_and_data(torch):
    return torch.nn.Linear(3, 2), torch.ones(4, 3)


def only(findings):
    """The one finding about what is not finite, beside which nothing is certain."""
    (first,) = [each for each in findings if each.rule == "not finite"]
    assert not [each.sentence for each in findings if each.certain and each is not first]
    return first


def grows_in_the_third_step(torch):
    """A contrast normalised by its mean, whose exponentials overflow in the third step."""
    net, x = net_and_data(torch)
    scale = [1.0, 1.0, 1000.0, 1.0]

    def loss_of():
        away = torch.exp((net(x) * scale[0]).abs())  # overflows
        contrast = away - away.mean()  # inf - inf
        return contrast.pow(2).mean()

    def begin(at, optimizer):
        scale[0] = (1.0, 1.0, 1000.0, 1.0)[at]

    return train(torch, net, lr=FIT, loss_of=loss_of, begin=begin)


@each_engine
def test_who_made_the_infinity_is_named_and_not_who_made_nan_of_it(engine):
    first = only(found(engine, grows_in_the_third_step))
    assert first.sentence.startswith("exp (") and where(grows_in_the_third_step, "# overflows") in first.sentence
    assert " is the first to give inf: " in first.sentence and "its inputs were finite (from " in first.sentence
    assert ". Of these sub (" in first.sentence and where(grows_in_the_third_step, "# inf - inf") in first.sentence
    assert first.line.text.endswith("# overflows") and "subtract the largest" in first.next_step


@each_engine
def test_why_names_both(engine):
    told = recorded(engine, grows_in_the_third_step).why("net.weight").sentences
    assert "# inf - inf" in told[-2] and told[-2].endswith(" made nan in forward of a value that is not finite.")
    assert "# overflows" in told[-1] and told[-1].endswith(" made a value in forward that is not finite.")


def by_a_number(torch):
    """The weight of a penalty that is switched off by an infinite temperature."""
    net, x = net_and_data(torch)

    def loss_of():
        hot = net(x) * float("inf")  # the number
        return torch.relu(hot + 1).mean()

    return train(torch, net, lr=FIT, loss_of=loss_of)


@each_engine
def test_a_number_of_the_program_that_is_infinite_is_told(engine):
    trace = recorded(engine, by_a_number)
    first = only(trace.findings())
    assert first.sentence.startswith("mul (") and where(by_a_number, "# the number") in first.sentence
    assert "; it was given the number inf, and its inputs were finite (from " in first.sentence
    assert first.next_step == "Look at that number: the line has it, or computes it."
    assert "made a value in forward that is not finite: it was given the number inf." in str(trace.why("net.weight"))


def not_from_the_beginning_finite(torch, number, given=""):
    """Two layers, one of whose first has a weight that is not finite."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    with torch.no_grad():
        net[0].weight[1, 2] = number
    x = torch.ones(4, 3)
    if given == "zero":
        x[:, 2] = 0
    return train(torch, net, x, torch.tensor([0, 1, 0, 1]), lr=FIT)  # the training


@each_engine
def test_a_weight_that_is_nan_from_the_beginning(engine):
    trace = recorded(engine, lambda torch: not_from_the_beginning_finite(torch, math.nan))
    first = only(trace.findings())
    assert first.certain
    assert first.sentence.startswith("net.0.weight is not finite from the beginning: 1 of 12 values")
    assert " nan before the first step; " in first.sentence and " is the first to use it." in first.sentence
    assert first.line is not None and first.line.text.strip() == "loss = losses.cross_entropy(net(x), y)"
    told = str(trace.why("net.2.weight"))
    assert "was given net.0.weight in forward, which is not finite from the beginning." in told


@each_engine
def test_a_weight_that_is_infinite_is_asked_about_unless_something_comes_of_it(engine):
    asked = only(found(engine, lambda torch: not_from_the_beginning_finite(torch, math.inf)))
    assert not asked.certain
    assert asked.sentence.startswith("Is it meant that net.0.weight is not finite from the beginning? 1 of 12 values")
    told = only(found(engine, lambda torch: not_from_the_beginning_finite(torch, math.inf, "zero")))
    assert told.certain and told.sentence.startswith("net.0.weight is not finite from the beginning: 1 of 12 values")


def kept_for_the_next_step(torch):
    """A scale for the next step, which is the mean of this one's exponentials."""
    net, x = net_and_data(torch)
    scale = [torch.ones(2)]
    by = [1.0]

    def loss_of():
        h = net(x)
        far = torch.exp((h * by[0]).abs())  # overflows
        loss = (h * scale[0]).sum()
        scale[0] = far.detach() * 0.1
        return loss

    def begin(at, optimizer):
        by[0] = 1000.0 if at == 1 else 1.0

    return train(torch, net, lr=FIT, loss_of=loss_of, begin=begin)


@each_engine
def test_what_was_detached_in_a_step_before_is_followed_to_its_node(engine):
    first = only(found(engine, kept_for_the_next_step))
    assert first.sentence.startswith("exp (") and where(kept_for_the_next_step, "# overflows") in first.sentence


def computed_without_gradients(torch):
    """A scale that is infinite, computed of the weights under `no_grad`."""
    net, x = net_and_data(torch)

    def loss_of():
        h = net(x)
        with torch.no_grad():
            scale = torch.exp(h.abs() + 1000)  # overflows
        return (h * scale).sum()

    return train(torch, net, lr=FIT, loss_of=loss_of)


@each_engine
def test_what_was_computed_under_no_grad_is_told_with_its_line(engine):
    trace = recorded(engine, computed_without_gradients)
    first = only(trace.findings())
    assert first.sentence.startswith("`scale`, which mul (") and " is given, is not finite: 8 of 8" in first.sentence
    assert "; it was computed under `no_grad` (" in first.sentence
    assert where(computed_without_gradients, "# overflows") in first.sentence
    told = str(trace.why("net.weight"))
    assert "was given `scale` in forward, which is not finite: it was computed under no_grad (" in told
    assert "# overflows" in told


def written_by_the_program(torch, by):
    """A weight of the loss, or a layer's own, that the program divides by 0 after the second step."""
    net, x = net_and_data(torch)
    scale = torch.ones(2)

    def loss_of():
        return (net(x) * scale).sum()

    def end(optimizer):
        with torch.no_grad():
            if by == "constant":
                scale.div_(0.0)  # written
            else:
                net.weight.div_(0.0)  # the weight

    return train(torch, net, lr=FIT, loss_of=loss_of, end=end)


@each_engine
def test_a_write_to_what_takes_no_gradient_is_told(engine):
    trace = recorded(engine, lambda torch: written_by_the_program(torch, "constant"))
    first = only(trace.findings())
    assert first.sentence.startswith("div_ (") and where(written_by_the_program, "# written") in first.sentence
    assert " makes `scale` not finite: 2 of 2 values; mul (" in first.sentence
    assert type(trace.events[first.event]).__name__ == "TensorWritten"
    assert "was given `scale` in forward, which is not finite: div_ made it so (" in str(trace.why("net.weight"))


@each_engine
def test_a_write_to_a_weight_is_told_in_its_step(engine):
    first = only(found(engine, lambda torch: written_by_the_program(torch, "weight")))
    assert first.sentence.startswith("The program (") and where(written_by_the_program, "# the w") in first.sentence
    assert " makes net.weight not finite: 6 of 6 values" in first.sentence


def masked_entropy(torch, mask):
    """The entropy of chances some of which a mask of -inf has made 0, whose logarithms are -inf."""
    net, x = torch.nn.Linear(3, 4), torch.ones(2, 3)
    off = torch.tensor([[False, True, False, False]] * 2)
    far = torch.tensor([[0.0, -math.inf, 0.0, 0.0]] * 2)

    def loss_of():
        scores = net(x) + far if mask == "add" else net(x).masked_fill(off, -math.inf)  # the mask
        logs = torch.log_softmax(scores, -1)
        return -(logs.exp() * logs).sum()  # 0 * -inf

    return train(torch, net, lr=FIT, loss_of=loss_of)


@each_engine
@pytest.mark.parametrize("mask", ["add", "fill"])
def test_a_mask_is_meant_and_who_makes_nan_of_it_is_named(engine, mask):
    first = only(found(engine, lambda torch: masked_entropy(torch, mask)))
    assert first.sentence.startswith("mul (") and where(masked_entropy, "# 0 * -inf") in first.sentence
    assert " is the first to give nan: 2 of 8 values; its input had 2 infinite values of 8, from " in first.sentence
    assert where(masked_entropy, "# the mask") in first.sentence


def hooked(torch, what):
    """A gradient that a hook, or the caller of `backward`, makes infinite."""
    net, x = net_and_data(torch)

    def run():
        h = net(x)
        if what == "hook":
            h.register_hook(lambda grad: grad * math.inf)  # the hook
        h.sum().backward(torch.tensor(math.inf if what == "seed" else 1.0))  # the seed

    return run


@each_engine
def test_a_hook_and_a_seed_are_told_for_what_they_are(engine):
    hook = only(found(engine, lambda torch: hooked(torch, "hook")))
    assert where(hooked, "# the hook") in hook.sentence
    assert hook.sentence.endswith(" makes a gradient not finite that was finite before it.")
    seed = only(found(engine, lambda torch: hooked(torch, "seed")))
    assert seed.sentence.startswith("A backward (") and where(hooked, "# the seed") in seed.sentence
    assert seed.sentence.endswith(" is given a gradient to begin with that is not finite.")


def attention(torch):
    """Attention in which the third step leaves a row without a position that it may look at."""
    net, x = torch.nn.Linear(4, 4), torch.ones(2, 3, 4)
    rows = [torch.zeros(2, 3, 3).bool(), torch.ones(2, 3, 3).bool()]
    off = [rows[0]]

    def loss_of():
        scores = (net(x) @ net(x).transpose(-2, -1)).masked_fill(off[0], -math.inf)
        return (scores.softmax(-1) @ net(x)).mean()  # no position left

    def begin(at, optimizer):
        off[0] = rows[at == 2]

    return train(torch, net, lr=FIT, loss_of=loss_of, begin=begin)


@each_engine
def test_a_row_of_batched_attention_without_a_position_is_named_through_products(engine):
    trace = recorded(engine, attention)
    first = only(trace.findings())
    assert first.sentence.startswith("softmax (") and where(attention, "# no position") in first.sentence
    assert "leave one position of each row unmasked" in first.next_step
    assert "it was given the number -inf." in str(trace.why("net.weight"))


def stopped_before_its_backward(torch):
    """A training that stops at a result which is nan, and begins no backward there."""
    net, x = net_and_data(torch)

    def run():
        for at in range(3):
            h = net(x)
            if at == 2:
                h = (h / (h - h.detach())) * 0  # by 0
                return
            h.mean().backward()

    return run


@each_engine
def test_what_the_program_has_stopped_at_without_a_backward_is_told(engine):
    first = only(found(engine, stopped_before_its_backward))
    assert first.sentence.startswith("div (") and where(stopped_before_its_backward, "# by 0") in first.sentence


def left_out(torch):
    """A step whose loss is infinite is left out, and the training goes on."""
    net, x = net_and_data(torch)

    def run():
        for at in range(4):
            loss = net(x).pow(2).mean()
            if at == 2:
                loss = loss / 0.0
            if math.isfinite(loss.item()):
                loss.backward()

    return run


@each_engine
def test_a_step_that_is_left_out_is_meant(engine):
    assert not [each for each in found(engine, left_out) if each.rule == "not finite"]


def gathered(torch):
    """Gradients of two batches a step, cleared before each, one of which is nan in the first step."""
    net, x = net_and_data(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=FIT)

    def run():
        for at in range(2):
            optimizer.zero_grad()
            for part in range(2):
                h = net(x)
                loss = h.pow(2).mean()
                if at == 0 and part == 1:
                    loss = loss + (h * 0).sum().sqrt()  # infinite at 0
                loss.backward()
            optimizer.step()

    return run


@each_engine
def test_weights_that_stay_nan_are_not_taken_for_updates_of_unknown_lines(engine):
    first = only(found(engine, gathered))
    assert first.sentence.startswith("The backward of sqrt (")


def frozen_layer(torch):
    """The first layer takes no gradient, and one of its weights is nan."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    for parameter in net[0].parameters():
        parameter.requires_grad_(False)
    with torch.no_grad():
        net[0].weight[0, 0] = math.nan
    return train(torch, net, lr=FIT, loss_of=lambda: net(torch.ones(5, 3)).pow(2).mean())


@each_engine
def test_a_weight_that_takes_no_gradient_is_named(engine):
    first = only(found(engine, frozen_layer))
    assert first.sentence.startswith("What addmm in ") and "is given is not finite already: 5 of 20" in first.sentence
    assert first.sentence.endswith(" net.0.weight, which takes no gradient, has nan, too: 1 of 12 values.")


def of_a_gradient(torch, what):
    """A gradient that the program divides by 0, or a rate that is nan, in the third step."""
    net, x = net_and_data(torch)

    def run():
        optimizer = torch.optim.SGD(net.parameters(), lr=FIT)
        for at in range(4):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            if at == 2 and what == "gradient":
                net.weight.grad.div_(0.0)  # written
            optimizer.param_groups[0]["lr"] = math.nan if at == 2 and what == "rate" else FIT
            optimizer.step()

    return run


@each_engine
def test_who_wrote_into_a_gradient_and_a_rate_that_is_nan_are_told(engine):
    written = only(found(engine, lambda torch: of_a_gradient(torch, "gradient")))
    assert written.sentence.startswith("div_ (") and where(of_a_gradient, "# written") in written.sentence
    assert " makes the gradient of net.weight not finite in step 3: 6 of 6 values" in written.sentence
    rate = only(found(engine, lambda torch: of_a_gradient(torch, "rate")))
    assert rate.next_step == "Its learning rate (lr) was nan: look at what sets it."


def of_nothing(torch):
    """The mean of what a mask has left, which is nothing."""
    net, x = net_and_data(torch)
    return train(torch, net, lr=FIT, loss_of=lambda: net(x)[torch.zeros(4).bool()].mean())


@each_engine
def test_an_empty_input_is_told_for_what_it_is(engine):
    first = only(found(engine, of_nothing))
    assert "mean (" in first.sentence and first.sentence.endswith("; its input is empty.")
    assert first.next_step.startswith("What it computes of no values is nan: ")


def product_of_batches(torch):
    """Scores of a batch that overflow."""
    net, x = torch.nn.Linear(4, 4), torch.ones(2, 3, 4)

    def loss_of():
        many = net(x) * 1e30
        return (many @ many.transpose(-2, -1)).mean()  # overflows

    return train(torch, net, lr=FIT, loss_of=loss_of)


@each_engine
def test_a_product_of_batches_is_not_called_by_the_view_that_ends_it(engine):
    first = only(found(engine, product_of_batches))
    assert (
        first.sentence.startswith(("bmm (", "matmul (")) and where(product_of_batches, "# overflows") in first.sentence
    )
