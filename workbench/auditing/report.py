"""What an audit found: one row a check, as a table, as data, and as an error for a test."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import Any, Literal

Outcome = Literal["pass", "fail", "not applicable"]
_MARKS = {"pass": "✓", "fail": "✗", "not applicable": "–"}
_WIDE = 100  # columns of a table's text


@dataclass(frozen=True)
class Check:
    """One check of an audit.

    Attributes:
        name: What was checked, such as "gradient of any layout".
        outcome: "pass", "fail" or "not applicable".
        evidence: What was seen, with numbers; for "not applicable", why.
        advice: What to do about a failure.
        line: Where, as "file, line 12"; empty if unknown.
    """

    name: str
    outcome: Outcome
    evidence: str = ""
    advice: str = ""
    line: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return it as data."""
        return asdict(self)


@dataclass(frozen=True)
class Audit:
    """The checks of one Function, function or module; `print(audit)` shows them as a table.

    Attributes:
        title: What was audited.
        checks: All checks, in the order in which they ran.
    """

    title: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(each for each in self.checks if each.outcome == "fail")

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as data: `version`, `title`, `ok` and `checks`."""
        return {"version": 1, "title": self.title, "ok": self.ok, "checks": [each.to_dict() for each in self.checks]}

    def __str__(self) -> str:
        wide = max([len(each.name) for each in self.checks], default=0)
        passed = len([each for each in self.checks if each.outcome == "pass"])
        lines = [f"Audit of {self.title}: {passed} passed, {len(self.failures)} failed"]
        for each in self.checks:
            texts = [each.evidence if each.outcome != "pass" else "", each.line, each.advice and f"→ {each.advice}"]
            body = [line for text in texts if text for line in textwrap.wrap(text, _WIDE - wide)]
            lines.append(f"{_MARKS[each.outcome]} {each.name:{wide}}  {body[0] if body else ''}".rstrip())
            lines += [f"{'':{wide + 4}}{line}" for line in body[1:]]
        return "\n".join(lines)

    __repr__ = __str__
