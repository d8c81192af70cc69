"""The commands `workbench trace` and `workbench show`, with scripts of the workbench's own engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lab import CHECKOUT

import workbench
from workbench.cli import main
from workbench.pictures.trace.backward_records import BackwardStarted
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.tensor_records import TensorWritten

SCRIPT = """
import sys
import workbench as torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = (net(torch.ones(3, 2)) - 1).square().sum()
    loss.backward()
    optimizer.step()
print(__name__, __file__, sys.argv, sys.path[0], loss.item())
"""
BY_HAND = """
import workbench as torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(5):
    (w * w).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a person sees who types `python` and these words in a folder."""
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )


def traced(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return typed(folder, "-m", "workbench", "trace", *words)


def counted(path: Path, kind: type) -> int:
    return sum(isinstance(event, kind) for event in workbench.load(path).events)


def test_a_script_runs_as_python_runs_it_and_its_first_steps_become_a_page(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "train.py").write_text(SCRIPT)
    words = ("scripts/train.py", "--steps", "9", "-o", "mine")  # the script's own
    plain, seen = typed(tmp_path, *words), traced(tmp_path, "--steps", "2", *words)
    assert plain.returncode == seen.returncode == 0
    assert seen.stdout == plain.stdout
    assert seen.stderr == (
        "workbench: wrote train.html: 2 steps of scripts/train.py, recorded from the workbench; "
        "the script continues unrecorded.\n"
    )
    assert "train.py" in (tmp_path / "train.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scripts", "train.html"]


@pytest.mark.slow
def test_the_steps_after_others_are_recorded_and_shown_later(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    seen = traced(tmp_path, "--from-step", "2", "--steps", "1", "-o", "some.json", "-m", "train", "-o", "x")
    assert seen.returncode == 0 and "wrote some.json: 1 step of train" in seen.stderr
    assert f"'{tmp_path / 'train.py'}', '-o', 'x'" in seen.stdout
    trace = workbench.load(tmp_path / "some.json")
    (made, *_) = [event for event in trace.events if isinstance(event, NodeCreated)]
    assert made.source is not None and made.source.text == "loss = (net(torch.ones(3, 2)) - 1).square().sum()"
    assert [part.title for part in made.path][:2] == ["for step in range(4)", "iteration 1"]
    assert counted(tmp_path / "some.json", BackwardStarted) == 1
    assert counted(tmp_path / "some.json", TensorWritten) == 2
    shown = typed(tmp_path, "-m", "workbench", "show", "some.json", "--view", "memory", "-o", "some.svg")
    assert (shown.stdout, shown.stderr) == ("Wrote some.svg.\n", "")
    assert (tmp_path / "some.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_the_health_of_a_saved_trace_and_of_a_watched_training(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    assert traced(tmp_path, "-o", "some.json", "train.py").returncode == 0
    shown = typed(tmp_path, "-m", "workbench", "health", "some.json", "-o", "some.svg")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == f"{workbench.load(tmp_path / 'some.json').findings()}\nWrote some.svg.\n"
    assert "Health" in (tmp_path / "some.svg").read_text()
    net = workbench.nn.Linear(2, 1)
    optimizer = workbench.optim.SGD(net.parameters(), lr=0.1)
    with workbench.watch(net, optimizer, every=1, path=tmp_path / "run.jsonl"):
        net(workbench.ones(3, 2)).sum().backward()
        optimizer.step()
    shown = typed(tmp_path, "-m", "workbench", "health", "run.jsonl")
    assert (shown.stdout, shown.stderr) == ("No findings in 1 watched step.\nWrote run.health.html.\n", "")
    shown = typed(tmp_path, "-m", "workbench", "show", "run.jsonl")
    assert shown.returncode == 1
    assert shown.stderr == "workbench: run.jsonl is a log of watch(). Run: workbench health run.jsonl\n"
    (tmp_path / "bad.jsonl").write_text("{}")
    bad = typed(tmp_path, "-m", "workbench", "health", "bad.jsonl")
    assert (bad.returncode, bad.stdout) == (1, "") and bad.stderr.startswith("workbench: bad.jsonl is no file that ")


def test_findings_that_name_a_call_of_the_trace_say_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    net = workbench.nn.Linear(2, 1)
    with workbench.record() as trace:
        workbench.sinh(net(workbench.ones(3, 2)).abs() + 1000).sum().backward()
    trace.save("bad.json")
    main(["health", "bad.json"])
    _, next_step, told, _ = capsys.readouterr().out.splitlines()
    assert "`trace.show()`" in next_step and told == "To run this, first type: trace = workbench.load('bad.json')"


@pytest.mark.slow
def test_a_page_of_each_command_has_its_own_name_and_writes_over_nothing_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "train.json").write_text("{}")
    seen = traced(tmp_path, "-o", "train.json", "train.py")
    assert "wrote train.json, replacing the file that was there: 3" in seen.stderr
    for again in range(2):
        for words, name in (
            (["health"], "train.health.html"),
            (["show", "--view", "saved"], "train.saved.html"),
            (["show"], "train.html"),
            (["show", "-o", "train.svg"], "train.svg" + ", replacing the file that was there" * again),
        ):
            assert main([*words, "train.json"]) == 0
            assert capsys.readouterr().out.endswith(f"Wrote {name}.\n")
    names = ["train.health.html", "train.html", "train.json", "train.py", "train.saved.html", "train.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    (tmp_path / "train.health.html").write_text("<p>")
    assert main(["health", "train.json"]) == 1
    assert capsys.readouterr().err == (
        "workbench: train.health.html already exists and isn't a page of the workbench. Choose another name with -o.\n"
    )


def test_where_there_is_no_optimiser_a_step_is_a_backward(tmp_path: Path) -> None:
    (tmp_path / "hand.py").write_text(BY_HAND)
    assert "2 steps" in traced(tmp_path, "--steps", "2", "--from-step", "1", "-o", "hand.json", "hand.py").stderr
    assert counted(tmp_path / "hand.json", BackwardStarted) == 2


def test_an_optimiser_that_never_takes_a_step_is_not_waited_for(tmp_path: Path) -> None:
    lines = "import workbench as torch\nw = torch.ones(2, requires_grad=True)\noptimizer = torch.optim.SGD([w])\n"
    (tmp_path / "train.py").write_text(f"{lines}for step in range(200):\n    (w * w).sum().backward()\n")
    seen = traced(tmp_path, "--steps", "1", "-o", "never.json", "train.py")
    assert "no whole step of train.py, recorded from the workbench; the script continues unrecorded" in seen.stderr
    assert counted(tmp_path / "never.json", BackwardStarted) == 101


ENDS = {
    "sys.exit(7)": (7, "the script had no more steps."),
    "raise ValueError('ü')": (1, "the script had no more steps."),
    "os.chdir('/'); w.sum().backward(); f = lambda: 1 / 0; f()": (1, "the script had no more steps."),
    # A process that was started in the background of a shell ignores this signal, if nothing else is said.
    "signal.signal(signal.SIGINT, signal.default_int_handler); signal.raise_signal(signal.SIGINT)": (
        -signal.SIGINT,
        "the script had no more steps.",
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a signal")
@pytest.mark.parametrize("end", ENDS)
def test_the_page_is_written_however_the_script_ends(end: str, tmp_path: Path) -> None:
    begin = "import os, signal, sys, time\nimport workbench as torch\nw = torch.ones(2, requires_grad=True)\n"
    (tmp_path / "ends.py").write_text(f"{begin}(w * w).sum().backward()\n{end}\n")
    plain, seen = typed(tmp_path, "ends.py"), traced(tmp_path, "ends.py")
    status, told = ENDS[end]
    assert seen.returncode == plain.returncode == status
    first, *rest = seen.stderr.splitlines()
    assert first.startswith("workbench: wrote ends.html: ") and first.endswith(told)
    assert rest == plain.stderr.splitlines()
    assert (tmp_path / "ends.html").exists()


@pytest.mark.slow
def test_steps_in_another_thread_are_counted_to_the_end(tmp_path: Path) -> None:
    begin, loop = SCRIPT.split("for step in range(4):")
    loop = "def train():\n    for step in range(4):" + loop.partition("print")[0].replace("\n", "\n    ")
    begin += f"import threading\n{loop}\nthread = threading.Thread(target=train)\nthread.start()\nthread.join()\n"
    (tmp_path / "train.py").write_text(begin)
    seen = traced(tmp_path, "-o", "train.json", "train.py")
    assert "4 steps of train.py, in another thread, recorded from" in seen.stderr
    assert counted(tmp_path / "train.json", BackwardStarted) == 4


@pytest.mark.slow
def test_what_never_ran_a_backward_leaves_no_page(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("import numpy as np; print(np.array([1.0]) / 0)")
    plain, seen = typed(tmp_path, "none.py"), traced(tmp_path, "none.py")
    assert (seen.stdout, seen.returncode) == (plain.stdout, 0)
    assert seen.stderr == (
        plain.stderr
        + "workbench: nothing recorded: none.py ran no backward pass. Trace a script that calls backward() itself, "
        "in its own process.\n"
    )
    (tmp_path / "broken.py").write_text("x = (")
    plain, seen = typed(tmp_path, "broken.py"), traced(tmp_path, "broken.py")
    assert seen.returncode == 1
    told = "workbench: nothing recorded: broken.py failed before its first backward pass.\n"
    assert seen.stderr == told + plain.stderr
    (tmp_path / "few.py").write_text(BY_HAND)
    assert "few.py ended after 5 steps, before --from-step 9" in traced(tmp_path, "--from-step", "9", "few.py").stderr
    assert not list(tmp_path.glob("*.html"))


def test_an_option_behind_the_script_is_the_scripts_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "options.py").write_text("import argparse; argparse.ArgumentParser().parse_args()")
    seen = traced(tmp_path, "options.py", "--steps", "3")
    assert seen.returncode == 2
    assert "everything after options.py is passed to it. Put the options of workbench trace before it" in seen.stderr
