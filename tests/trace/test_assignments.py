"""What a line says of the tensors that it gives to an operation."""

from __future__ import annotations

from workbench.pictures.trace.assignments import operand_of


def test_an_operand_is_told_only_if_it_is_certainly_that_one() -> None:
    cases = {
        ('att.masked_fill(mask == 0, float("-inf"))', 1, 2, "masked_fill"): "mask == 0",
        ("att.masked_fill(mask == 0, -1e9)", 1, 2, "masked_fill"): "mask == 0",
        ("att.masked_fill(mask == 0, cfg.low)", 1, 2, "masked_fill"): "",
        ("F.mse_loss(net(x), torch.sin(3 * x))", 1, 2, "mse_loss"): "torch.sin(3 * x)",
        ("F.cross_entropy(net(x), y)", 1, 2, "nll_loss"): "y",
        ("F.cosine_similarity(p, z)", 1, 2, "div"): "",
        ("criterion(net(x), y)", 1, 2, "binary_cross_entropy_with_logits", "BCEWithLogitsLoss"): "y",
        ("torch.where(x > 0, x, y)", 0, 3, "where"): "x > 0",
        ("Round.apply(x, torch.ones(2))", 1, 2, "Round"): "torch.ones(2)",
        ("x @ torch.ones(4, 5)", 1, 2, "mm"): "torch.ones(4, 5)",
        ("x @ w", 1, 2, "mm"): "w",
        ("x @ w", 1, 2, "mul"): "",
        ("bag * mask", 1, 2, "mul"): "mask",
    }
    assert {case: operand_of(*case) for case in cases} == cases
