"""What an audit found: one row a check, as a table, as data, and as an error for a test."""

from __future__ import annotations

import re
import textwrap
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ...pictures.scene.picture import Picture

Outcome = Literal["pass", "fail", "question", "note", "not applicable"]
_MARKS = {"pass": "✓", "fail": "✗", "question": "?", "note": "·", "not applicable": "–"}
_WIDE = 100  # columns of a table's text


@dataclass(frozen=True)
class Check:
    """One check of an audit.

    Attributes:
        name: What was checked, such as "gradient of any layout".
        outcome: "pass", "fail", "question" (it may be intended), "note" (right, but could be better), or
            "not applicable".
        evidence: What was seen, with numbers; for "not applicable", why.
        advice: What to do about it.
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
        picture: If a derivative is wrong, the Jacobians by `backward` and by differences; else None.
    """

    title: str
    checks: tuple[Check, ...]
    picture: Picture | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """Whether no check failed, and at least one could be run."""
        return not self.failures and any(each.outcome != "not applicable" for each in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(each for each in self.checks if each.outcome == "fail")

    @property
    def questions(self) -> tuple[Check, ...]:
        """The checks that ask whether something is intended."""
        return tuple(each for each in self.checks if each.outcome == "question")

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as data: `title`, `ok` and `checks`."""
        return {"title": self.title, "ok": self.ok, "checks": [each.to_dict() for each in self.checks]}

    def __str__(self) -> str:
        wide = max([len(each.name) for each in self.checks], default=0)
        passed = len([each for each in self.checks if each.outcome == "pass"])
        asks = len(self.questions)
        asked = f", {asks} question{'s' * (asks > 1)}" if asks else ""
        lines = [f"Audit of {self.title}: {passed} passed, {len(self.failures)} failed{asked}"]
        for each in self.checks:
            texts = [each.evidence if each.outcome != "pass" else "", each.line, each.advice and f"→ {each.advice}"]
            body = [line for text in texts if text for line in textwrap.wrap(text, _WIDE - wide)]
            lines.append(f"{_MARKS[each.outcome]} {each.name:{wide}}  {body[0] if body else ''}".rstrip())
            lines += [f"{'':{wide + 4}}{line}" for line in body[1:]]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the same as a table for a notebook, with the picture; every text in it is escaped."""
        first, *_ = str(self).partition("\n")
        rows = [
            f'<tr><td title="{each.outcome}">{_MARKS[each.outcome]}</td><th scope="row" style="text-align:left">'
            f'{_html(each.name)}</th><td style="text-align:left">{_told(each)}</td></tr>'
            for each in self.checks
        ]
        head = "".join(
            f'<th scope="col" style="text-align:left">{each}</th>' for each in ("", "Check", "What it found")
        )
        return (
            f'<table><caption style="text-align:left">{_html(first)}</caption><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>{self._image()}"
        )

    def _image(self) -> str:
        from ...pictures.scene.layout import LayoutUnavailable
        from ...pictures.scene.picture import img

        if self.picture is None:
            return ""
        with suppress(LayoutUnavailable):
            return img(self.picture.storyboard)
        return ""


def _told(check: Check) -> str:
    """Return what a row says of a check, as HTML."""
    texts = [check.evidence if check.outcome != "pass" else "", check.line, check.advice and f"→ {check.advice}"]
    return "<br>".join(_html(each) for each in texts if each)


def _html(text: str) -> str:
    """Return a text with what is in backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")
