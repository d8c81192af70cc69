"""What runs on GitHub: actions pinned by their commit, least rights, ends in time; issue forms; a release's changes."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab import CHECKOUT

import workbench

GITHUB = CHECKOUT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
PIN = re.compile(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")

# The rights of each job that has more than to read the repository.
RIGHTS = {
    ("site", "publish"): {"pages": "write", "id-token": "write"},
    ("release", "index"): {"id-token": "write"},
    ("release", "here"): {"contents": "write"},
}


def parsed(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


JOBS = [
    pytest.param(path.stem, name, job, id=f"{path.stem}-{name}")
    for path in WORKFLOWS
    for name, job in parsed(path)["jobs"].items()
]


def test_there_are_the_four_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["check", "release", "scheduled", "site"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit_and_one_action_by_one(path: Path) -> None:
    used = re.findall(r"uses:.*", path.read_text(encoding="utf-8"))
    assert used and [line for line in used if not PIN.fullmatch(line)] == []
    every = {line for each in WORKFLOWS for line in re.findall(r"uses:.*", each.read_text(encoding="utf-8"))}
    assert len({line.partition("@")[0] for line in every}) == len(every)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_does_not_run_beside_itself(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"].startswith(path.stem)
    assert "pull_request_target" not in workflow[True]  # YAML reads the word `on` as true
    assert "secrets." not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("workflow", "name", "job"), JOBS)
def test_a_job_has_an_end_and_the_rights_it_needs(workflow: str, name: str, job: dict[str, Any]) -> None:
    assert 0 < job["timeout-minutes"] < 360
    assert job.get("permissions", {}) == RIGHTS.get((workflow, name), {})
    assert "latest" not in str(job["runs-on"]) + str(job.get("strategy"))
    for step in job["steps"]:
        # What somebody else may have chosen, as the name of a branch, is no part of a program.
        assert "${{" not in step.get("run", "")
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize(("workflow", "name", "job"), JOBS)
def test_what_a_job_runs_is_there(workflow: str, name: str, job: dict[str, Any]) -> None:
    commands = "\n".join(step.get("run", "") for step in job["steps"])
    named = re.findall(r"(?<![\w/])(?:\.ci|tests|assets)/[\w./-]+", commands)
    assert [path for path in named if not (CHECKOUT / path).exists()] == []
    assert "actions/checkout" in str(job["steps"]) or not named


def test_the_schedule_runs_every_leg_and_changed_files_ask_for_legs_that_are_there() -> None:
    legs = re.findall(r"^run_(\w+)\(\)", (CHECKOUT / ".ci" / "scheduled").read_text(encoding="utf-8"), flags=re.M)
    assert parsed(GITHUB / "workflows" / "scheduled.yml")["jobs"]["leg"]["strategy"]["matrix"]["leg"] == legs
    asked = runpy.run_path(str(CHECKOUT / ".ci" / "asked"))["ASKS"]
    assert {*asked} == {*legs}
    folders = [CHECKOUT / name for name in ("workbench", "tests", "assets", "notebooks", ".hatch")]
    files = [path.relative_to(CHECKOUT).as_posix() for folder in folders for path in folder.rglob("*")]
    assert [leg for leg, pattern in asked.items() if not any(re.match(pattern, path) for path in files)] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_asks_and_says_what_for(path: Path) -> None:
    form = parsed(path)
    assert form["name"] and form["description"] and form["labels"]
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in asked}) == len(asked) > 0
    assert all(field["attributes"]["label"] for field in asked)
    assert any(field.get("validations", {}).get("required") for field in asked)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_of_the_pages_for_contributors_lead_somewhere(page: str) -> None:
    text = (GITHUB / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("http")]
    assert [link for link in links if not (GITHUB / link).exists()] == []


def test_the_changes_begin_with_this_version_and_so_does_how_to_cite_it() -> None:
    docs = CHECKOUT / "assets" / "docs"
    versions = re.findall(r"^## (\S+) \((.+)\)$", (docs / "changes.md").read_text(encoding="utf-8"), flags=re.M)
    assert versions[0][0] == workbench.__version__
    assert [when for _, when in versions[1:] if not re.fullmatch(r"\d{4}-\d\d-\d\d", when)] == []
    cited = {*re.findall(r"\b\d+\.\d+\.\d+\b", (docs / "citing.md").read_text(encoding="utf-8"))}
    assert cited <= {version for version, _ in versions} and len(cited) == 1


def test_a_release_says_what_changed_and_refuses_a_tag_of_another_version(tmp_path: Path) -> None:
    for name in ("workbench/__init__.py", "assets/docs/changes.md", ".ci/changes"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / ".ci" / "changes").write_text((CHECKOUT / ".ci" / "changes").read_text(encoding="utf-8"))
    (tmp_path / "workbench" / "__init__.py").write_text('__version__ = "0.2.0"\n')
    page = tmp_path / "assets" / "docs" / "changes.md"

    def told(tag: str) -> tuple[str, str]:
        command = [sys.executable, str(tmp_path / ".ci" / "changes"), tag]
        seen = subprocess.run(command, capture_output=True, text=True)
        return seen.stdout, seen.stderr

    page.write_text("# Changes\n\n## 0.2.0 (2026-12-01)\n\n- New.\n\n## 0.1.0 (2026-11-01)\n\nThe first.\n")
    assert told("v0.2.0") == ("- New.\n", "")
    assert told("v0.3.0") == ("", "the tag is v0.3.0, and workbench/__init__.py says 0.2.0\n")
    page.write_text("# Changes\n\n## 0.2.0 (to come)\n\n- New.\n")
    assert told("v0.2.0") == ("", 'assets/docs/changes.md has no part "## 0.2.0 (its date)"\n')
