"""What an assistant can ask: in short answers, about files of one folder; with a real client where the SDK is there."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import absent
import pytest
from lab import CHECKOUT
from test_cli_answers import UNCLEARED

from workbench.cli import main
from workbench.cli.assistant import MOST, AnswerError, Assistant, answer

FUNCTION = """
import workbench as torch
print("loaded")

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a script that forgets zero_grad(), and its recording."""
    place = tmp_path_factory.mktemp("outside") / "project"
    place.mkdir()
    (place / "train.py").write_text(UNCLEARED)
    (place / "ops.py").write_text(FUNCTION)
    (place.parent / "secret.json").write_text("{}")
    Assistant(place).record_script("train.py")
    return place


def test_an_answer_is_short_and_says_what_it_leaves_out() -> None:
    assert answer("all of it", "do it.") == "all of it\n\nNext step: do it."
    text = "".join(chr(97 + at % 26) for at in range(3 * MOST))
    parts, start = "", 0
    while start < len(text):
        part = answer(text, "read on.", start)
        assert len(part) < MOST + 200 and part.endswith("\n\nNext step: read on.")
        body = part.partition("\n\n[Left out: ")[0]
        assert (f"{start:,} characters before" in part) == (start > 0)
        parts, start = parts + body, start + len(body)
        assert (f"ask again with start={start}" in part) == (start < len(text))
    assert parts == text
    assert answer("a \ud800 name", "go.").startswith("a ? name") and str(AnswerError("\ud800")) == "?"


def test_a_recording_its_findings_and_an_explanation(folder: Path) -> None:
    assistant = Assistant(folder)
    told = assistant.record_script("train.py", ["--epochs", "2"], steps=2, output="two.json")
    assert "wrote two.json: 2 steps of train.py" in told and "Findings: 1." in told
    assert told.endswith('Next step: list_findings(trace="two.json") shows each finding with its fix.')
    told = assistant.list_findings("two.json")
    assert "Fix: Call `optimizer.zero_grad()`" in told and "beginning at train.py, line " in told
    assert "It's the sum of" in assistant.explain_gradient("two.json", "net.weight")
    with pytest.raises(AnswerError, match="Close names: net.weight"):
        assistant.explain_gradient("two.json", "net.wieght")
    assert "Boxes are operations" in assistant.show_trace("two.json")
    assert "flowchart TD" in assistant.show_trace("two.json", format="mermaid")
    with pytest.raises(AnswerError, match="Did you mean 'graph'"):
        assistant.show_trace("two.json", "grph")


def test_an_audit_runs_in_a_process_of_its_own(folder: Path) -> None:
    told = Assistant(folder).audit_function("ops.py:Square", ["float64[2,3]"])
    assert "✗ derivative" in told and told.endswith("Next step: fix the first failed check, then audit again.")
    assert "ops" not in sys.modules
    for target in ("ops.py:Cube", "ops.py", "ops:Square", "none.py:Square"):
        with pytest.raises(AnswerError):
            Assistant(folder).audit_function(target)


@pytest.mark.parametrize(
    "name", ["../secret.json", "/etc/passwd", ".", "", "a/../../secret.json", "link.json", "\0", "d/x"]
)
def test_only_files_below_the_folder_are_read_and_written(name: str, folder: Path) -> None:
    if name in ("link.json", "d/x"):
        if not hasattr(os, "symlink") or os.name == "nt":
            return
        target, link = (folder.parent / "secret.json", folder / "link.json") if "link" in name else ("..", folder / "d")
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    asked: list[Callable[[], str]] = [
        lambda: Assistant(folder).list_findings(name),
        lambda: Assistant(folder).record_script(name),
        lambda: Assistant(folder).audit_function(f"{name}.py:f" if name == "d/x" else f"{name}:f"),
    ]
    if name:  # else the output is named after the script
        asked.append(lambda: Assistant(folder).record_script("train.py", output=name))
    for each in asked:
        with pytest.raises(AnswerError, match="isn't below the folder|names no Function"):
            each()
    assert (folder.parent / "secret.json").read_text() == "{}"


def test_a_recording_replaces_no_other_file_and_a_script_that_hangs_is_stopped(folder: Path) -> None:
    (folder / "settings.json").write_text("{}")
    for output, words in (("settings.json", "already exists"), ("train.py", "doesn't end in .json")):
        with pytest.raises(AnswerError, match=words):
            Assistant(folder).record_script("train.py", output=output)
    (folder / "hangs.py").write_text(UNCLEARED + "print('é' * 9999)\nwhile True:\n    pass\n")
    told = Assistant(folder).record_script("hangs.py", timeout_seconds=5)
    assert told.startswith("It ran longer than 5 seconds, so it was stopped.") and len(told) < MOST
    assert os.name != "posix" or "wrote hangs.trace.json: 3 steps" in told


def test_without_the_sdk_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("workbench.errors.find_spec", lambda name: None)
    assert main(["mcp"]) == 1
    assert 'pip install "autograd-workbench[mcp]"' in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason=absent.MCP)
def test_a_client_finds_a_missing_zero_grad_and_sees_that_the_fix_helps(folder: Path) -> None:
    import asyncio

    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "workbench", "mcp"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )

    async def talk() -> list[tuple[bool, str]]:
        async with stdio_client(started) as (reads, writes), ClientSession(reads, writes) as client:
            await client.initialize()
            tools = {each.name for each in (await client.list_tools()).tools}
            needed = {"record_script", "list_findings", "explain_gradient", "audit_function", "show_trace"}
            assert needed <= tools <= needed | {"diff_traces"}
            page = (CHECKOUT / "assets" / "docs" / "guides" / "assistants.md").read_text("utf-8")
            assert [name for name in tools if f"| `{name}` |" not in page] == []

            async def ask(name: str, **given: Any) -> tuple[bool, str]:
                result = await client.call_tool(name, given)
                (content,) = result.content
                return result.is_error, content.text

            said = [await ask("record_script", script="train.py"), await ask("list_findings", trace="train.trace.json")]
            (folder / "train.py").write_text(
                UNCLEARED.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
            )
            said += [await ask("record_script", script="train.py"), await ask("list_findings", trace="../secret.json")]
            return said

    first, findings, fixed, refused = asyncio.run(talk())
    assert first[0] is False and "Findings: 1." in first[1]
    assert findings[0] is False and "Fix: Call `optimizer.zero_grad()`" in findings[1] and len(findings[1]) < MOST
    assert fixed[0] is False and "Findings: 0." in fixed[1]
    assert refused[0] is True and "isn't below the folder" in refused[1]
