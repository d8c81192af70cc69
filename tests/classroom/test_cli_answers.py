"""Answers for programs: `--json`, `--sarif`, `--fail-on`, as the page about them describes them."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lab import CHECKOUT
from test_cli_trace import SCRIPT, traced, typed

import workbench
from workbench.cli import main
from workbench.cli.answers import FOUND, KINDS
from workbench.cli.sarif import sarif_of
from workbench.diagnosis.health.finding import Finding
from workbench.diagnosis.health.findings import Findings
from workbench.pictures.trace.facts import SourceLine

DOCS = CHECKOUT / "assets" / "docs"
PAGE = (DOCS / "manual" / "answers-for-programs.md").read_text(encoding="utf-8")
SCHEMA = json.loads((DOCS / "_static" / "answer-1.schema.json").read_text(encoding="utf-8"))
UNCLEARED = SCRIPT.replace("    optimizer.zero_grad()\n", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a script that forgets zero_grad(), and its recording."""
    place = tmp_path_factory.mktemp("checkout")
    (place / ".git").mkdir()
    (place / "src").mkdir()
    (place / "src" / "train.py").write_text(UNCLEARED)
    seen = traced(place, "--json", "--sarif", "run.sarif", "--fail-on", "certain", "-o", "run.json", "src/train.py")
    (place / "trace.out").write_text(seen.stdout)
    (place / "trace.err").write_text(seen.stderr)
    assert seen.returncode == FOUND, seen.stderr
    return place


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the checkout, as the current folder."""
    copied = tmp_path / "checkout"
    shutil.copytree(folder, copied)
    monkeypatch.chdir(copied)
    return copied


def answered(text: str) -> Any:
    """The object that a command printed, which is as the schema and the page say."""
    told = json.loads(text)
    jsonschema.validate(told, SCHEMA)
    documented = re.findall(r"^\| `(\w+)` \|", _part("Every answer") + _part(f"`{told['kind']}`"), flags=re.M)
    if told["kind"] == "trace":
        documented += [each for each in re.findall(r"^\| `(\w+)` \|", _part("`findings`"), flags=re.M)]
        documented.remove("sources")
        documented = list(dict.fromkeys(documented))
    assert sorted(told) == sorted(documented)
    return told


def _part(heading: str) -> str:
    """The part of the page below a heading."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_page_has_every_kind_and_the_fields_of_a_finding() -> None:
    assert {kind for kind in KINDS if f"\n## `{kind}`\n" in PAGE} == {*KINDS}
    assert SCHEMA["properties"]["kind"]["enum"] == [*KINDS]
    finding = Finding("not finite", True, "It is nan.", "Look.", None, 0)
    fields = re.findall(r"^\| `(\w+)` \|", _part("One finding"), flags=re.M)
    assert sorted(fields) == sorted(finding.to_dict()) == sorted(SCHEMA["$defs"]["finding"]["required"])


def test_a_diff_and_an_audit_are_answers_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--json", "run.json", "run.json"]) == 0
    assert answered(capsys.readouterr().out)["same"] is True
    (here / "cube.py").write_text("def cube(x):\n    return x**3\n")
    assert main(["audit", "--json", "cube.py:cube"]) == 0
    assert [each["ok"] for each in answered(capsys.readouterr().out)["audits"]] == [True]


def test_the_example_of_the_page_is_what_the_command_prints(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "--json", "run.json"]) == 0
    seen = capsys.readouterr()
    told = answered(seen.out)
    example = re.search(r"```json\n(.*?)```", PAGE, flags=re.S)
    assert example is not None and json.loads(example[1]) == told, f"write on the page:\n{seen.out}"
    assert example[1] == seen.out
    assert seen.err.startswith("1. Gradients accumulate") and seen.err.endswith("Wrote run.health.html.\n")
    assert workbench.load("run.json").findings().to_dict().items() <= told.items()


def test_what_the_script_prints_goes_elsewhere_and_the_recording_is_described(folder: Path) -> None:
    told = answered((folder / "trace.out").read_text())
    assert (told["script"], told["wrote"], told["steps"]) == ("src/train.py", "run.json", 3)
    assert (told["engine"], told["kind"]) == ("the workbench", "trace")
    errors = (folder / "trace.err").read_text()
    assert f"workbench: {told['message']}\n" in errors and "__main__" in errors  # the script's own
    assert [each["rule"] for each in told["findings"]] == ["gradients not cleared"]


def test_a_picture_as_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--json", "--view", "health", "run.json"]) == 0
    seen = capsys.readouterr()
    told = answered(seen.out)
    assert (told["view"], told["wrote"], seen.err) == ("health", "run.health.html", "Wrote run.health.html.\n")
    assert told["text"] == repr(workbench.load("run.json").show("health"))


def test_a_log_of_watch_and_a_failed_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = workbench.nn.Linear(2, 1)
    optimizer = workbench.optim.SGD(net.parameters(), lr=0.1)
    with workbench.watch(net, optimizer, every=1, path=here / "run.jsonl"):
        net(workbench.ones(3, 2)).sum().backward()
        optimizer.step()
    assert main(["health", "--json", "--fail-on", "finding", "run.jsonl"]) == 0
    told = answered(capsys.readouterr().out)
    assert (told["findings"], told["looked_at"], told["sources"]) == ([], "1 watched step.", ["run.jsonl"])
    assert main(["health", "--sarif", "x.sarif", "run.jsonl"]) == 1
    assert "has no lines of code" in capsys.readouterr().err
    for words in (["--json", "none.json"], ["--json", "--sarif", "run.json", "run.json"]):
        assert main(["health", *words]) == 1
        seen = capsys.readouterr()
        assert seen.out == "" and seen.err.startswith("workbench: ")


@pytest.mark.parametrize(
    ("fail_on", "statuses"), [("certain", (FOUND, 0)), ("finding", (FOUND, FOUND)), ("never", (0, 0))]
)
def test_the_status_says_whether_there_are_findings_that_count(
    fail_on: str, statuses: tuple[int, int], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["health", "--fail-on", fail_on, "run.json"]) == statuses[0]
    question = Findings([Finding("dead", False, "It is zero.", "Look.", None, 0)])
    monkeypatch.setattr(workbench.pictures.recording.Trace, "findings", lambda self: question)
    assert main(["health", "--fail-on", fail_on, "run.json"]) == statuses[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "status"),
    [
        (UNCLEARED + "sys.exit(0)\n", FOUND),
        (UNCLEARED + "sys.exit(7)\n", 7),
        (UNCLEARED + "raise ValueError\n", 1),
        (SCRIPT, 0),
        ("print(1)\n", 1),  # nothing was recorded, so nothing was checked
    ],
)
def test_the_scripts_own_status_comes_first(script: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(script)
    seen = traced(tmp_path, "--json", "--sarif", "run.sarif", "--fail-on", "finding", "train.py")
    assert seen.returncode == status
    assert (tmp_path / "run.sarif").exists() == (script != "print(1)\n")
    assert (answered(seen.stdout)["wrote"] is None) == (script == "print(1)\n")
    assert ("Fix: " in seen.stderr) == ("Gradients accumulate" in seen.stdout)
    plain = typed(tmp_path, "-m", "workbench", "trace", "train.py")
    assert plain.returncode == (0 if status in (FOUND, 0) or script == "print(1)\n" else status)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a fork")
def test_a_forked_process_answers_nothing(tmp_path: Path) -> None:
    fork = "import os\nif os.fork() == 0:\n    raise SystemExit(0)\nos.wait()\nos.system('echo a child')\n"
    (tmp_path / "train.py").write_text(UNCLEARED + fork)
    seen = traced(tmp_path, "--json", "train.py")
    assert answered(seen.stdout)["steps"] == 3 and "a child" in seen.stderr


# SARIF.


def checked(log: Any) -> list[Any]:
    """The results of a log that has what SARIF 2.1.0 and code scanning require."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] and len({each["id"] for each in rules}) == len(rules)
    for rule in rules:
        texts = [rule[name]["text"] for name in ("shortDescription", "fullDescription", "help")]
        assert all(texts) and len(texts[1]) <= 1024 and re.fullmatch(r"[a-z0-9-]+", rule["id"])
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert rule.get("helpUri", "https://").startswith("https://")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("note", "warning") and result["message"]["text"]
        for place in result.get("locations", ()):
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"(?!/)[\w./%~-]+", uri) and ".." not in uri.split("/") and "\\" not in uri
            assert place["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1
    return run["results"]


def test_findings_are_on_the_lines_of_the_checkout(here: Path) -> None:
    (traced_result,) = checked(json.loads((here / "run.sarif").read_text()))
    (here / "src" / "deeper").mkdir()
    (here / "src" / "deeper" / "train.py").write_text("# another one of this name\n")
    assert main(["health", "--sarif", "again.sarif", "run.json"]) == 0
    (result,) = checked(json.loads((here / "again.sarif").read_text()))
    assert result == traced_result and result["level"] == "warning"
    line = UNCLEARED.splitlines().index("    optimizer.step()") + 1
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/train.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": line, "snippet": {"text": "optimizer.step()"}},
    }
    assert result["message"]["text"].endswith("before its first backward pass.")


def test_a_finding_without_its_file_is_at_the_script_or_nowhere(tmp_path: Path) -> None:
    lines = [SourceLine("odd name é.py", 2, "y = x"), SourceLine("twice.py", 1, "z"), None, SourceLine("cell", 1, "q")]
    for name, text in {
        "odd name é.py": "\n  y = x\n",
        "a/twice.py": "z",
        "b/twice.py": "z",
        "venv/pyvenv.cfg": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "venv" / "odd name é.py").write_text("\n  y = x\n", encoding="utf-8")
    found = Findings([Finding("watch", at == 0, "A </script> é.", "Look.", line, 0) for at, line in enumerate(lines)])
    results = checked(json.loads(json.dumps(sarif_of(found, tmp_path))))
    assert [each["level"] for each in results] == ["warning", "note", "note", "note"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    assert {each["artifactLocation"]["uri"] for each in places} == {"odd%20name%20%C3%A9.py"}
    assert [each.get("region", {}).get("startLine") for each in places] == [2, None, None, None]
    assert all("locations" not in each for each in checked(sarif_of(Findings(found[1:]), tmp_path)))
    assert checked(sarif_of(Findings(), tmp_path)) == []
