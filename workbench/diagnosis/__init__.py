"""What is wrong, and why: findings, audits, statistics of long runs, and answers about one gradient."""

from typing import Any

from ..compat.absent import refusal


def __getattr__(name: str) -> Any:
    if name in ("Why", "why"):
        from . import asking

        return getattr(asking, name)
    raise refusal(f"module {__name__!r}", __name__, name)
