"""Each finding leads to its entry in the documentation, once the project has an address."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import workbench as torch
from workbench.diagnosis.health import entries
from workbench.diagnosis.health.finding import Finding
from workbench.diagnosis.health.findings import Findings
from workbench.pictures.recording import Trace

PAGE = "https://example.org/team/workbench/blob/main/assets/docs/manual/findings.md"


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_repository", lambda: "https://example.org/team/workbench")


def cut() -> Trace:
    weight, other = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight, other], lr=0.1)
    with torch.record() as trace:
        for _ in range(3):
            optimizer.zero_grad()
            ((weight * 2).detach() * other - 1).square().sum().backward()
            optimizer.step()
    return trace


class Page(HTMLParser):
    """The links, the words and the open elements of a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str | None] = []
        self.words, self.open = "", list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for key, value in attrs if key == "href"]
        self.open += [tag] if tag != "br" else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.usefixtures("address")
def test_a_finding_in_a_notebook_links_to_its_entry() -> None:
    found = cut().findings()
    assert [each.entry for each in found] == [f"{PAGE}#{each.rule.replace(' ', '-')}" for each in found] != []
    page = Page(found._repr_html_() or "")
    assert page.links == [each.entry for each in found] and page.open == []
    plain = [text.replace("`", "") for each in found for text in (each.sentence, each.fix)]
    assert [text for text in plain if text not in page.words] == []
    assert "<code>weight</code>" in (found._repr_html_() or "")


@pytest.mark.usefixtures("address")
def test_questions_go_on_counting_below_the_certain_findings_and_nothing_is_markup() -> None:
    def of(certain: bool) -> Finding:
        return Finding("not finite", certain, "a <b> & c.", "Call `f(<x>)`.", None, 0)

    page = Page(text := Findings([of(True), of(False), of(False)], functions="<f>")._repr_html_() or "")
    assert page.open == [] and page.words.count("A <b> & c.") == 3 and "<f>." in page.words
    assert re.findall(r"<ol[^>]*>", text) == ["<ol>", '<ol start="2">']
    page = Page(text := Findings([of(False)])._repr_html_() or "")
    assert page.open == [] and page.words.startswith("Possibly intentional:") and text.count("<li>") == 1


@pytest.mark.usefixtures("address")
def test_the_health_picture_links_to_the_entry() -> None:
    trace = cut()
    (rule, *_) = [each.rule for each in trace.findings()]
    assert f"{PAGE}#{rule.replace(' ', '-')}" in trace.show("health").to_html()


def test_without_an_address_there_is_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_repository", lambda: "")
    trace = cut()
    (first, *_) = found = trace.findings()
    assert first.entry == "" and found._repr_html_() is None
    html = trace.show("health").to_html()
    assert f"{first.rule}, on the page Findings" in html and "findings.md" not in html


def test_only_a_web_address_becomes_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_repository", lambda: "javascript:alert(1)")
    assert entries.address_of("not finite") == ""
