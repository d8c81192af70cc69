"""What a line says of the tensors that it gives to an operation."""

from __future__ import annotations

from workbench.trace.assignments import operand_of


def test_an_operand_is_told_only_if_it_is_certainly_that_one() -> None:
    cases = {
        ('att.masked_fill(mask == 0, float("-inf"))', 1, 2): "mask == 0",
        ("att.masked_fill(mask == 0, -1e9)", 1, 2): "mask == 0",
        ("att.masked_fill(mask == 0, cfg.low)", 1, 2): "",
        ("F.mse_loss(net(x), torch.sin(3 * x))", 1, 2): "torch.sin(3 * x)",
        ("torch.where(x > 0, x, y)", 0, 3): "x > 0",
        ("x @ torch.ones(4, 5)", 1, 2): "torch.ones(4, 5)",
        ("Round.apply(x, torch.ones(2))", 1, 2): "torch.ones(2)",
        ("x @ w", 1, 2): "",
    }
    assert {case: operand_of(*case) for case in cases} == cases
