"""The command `workbench run`, and every way a command line is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from browser_page import eventually, open_page, require_chromium
from lab import CHECKOUT, heed_ctrl_c
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from patience import PATIENCE

import workbench
from workbench.cli import CommandError, main
from workbench.cli.grammar import HELP, VIEW_NAMES, parser
from workbench.cli.pages import execute
from workbench.pictures.views import VIEWS


def write(path: Path, *sources: str, **metadata: object) -> Path:
    """A notebook of code cells in a file."""
    nbformat.write(new_notebook(cells=[new_code_cell(text, metadata=metadata) for text in sources]), path)
    return path


def typed(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a person sees who types `python -m workbench` and these words."""
    places = {"PYTHONPATH": str(CHECKOUT)} | environment
    return subprocess.run(
        [sys.executable, "-m", "workbench", *words], capture_output=True, text=True, env=os.environ | places
    )


def test_the_version_is_told_without_loading_jupyter() -> None:
    assert typed("--version").stdout == f"workbench {workbench.__version__}\n"
    heavy = "{'IPython', 'ipykernel', 'jupyterlab', 'jupyter_server', 'nbconvert', 'nbformat', 'zmq', 'tqdm'}"
    code = f"""import sys
from workbench.cli import main
try: main(["--version"])
except SystemExit: print(sorted({heavy} & set(sys.modules)))"""
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    assert seen.stdout.splitlines()[-1] == "[]"


def test_the_help_of_each_command_has_examples_that_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for name, about in HELP.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        shown = capsys.readouterr().out
        assert shown.startswith(f"usage: workbench {name} ") and shown.isascii()
        assert " ".join(about.description.split()) in " ".join(shown.split())
        for typed_words, what in about.examples.items():
            assert f"  # {what}\n  {typed_words}\n" in shown
            assert parser().parse_args(typed_words.split()[1:] or ["lab"]).command == name
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {about.line}" in shown for name, about in HELP.items())


def test_the_help_names_every_view_of_a_single_trace() -> None:
    assert set(VIEW_NAMES) == {name for name, view in VIEWS.items() if not view.compares}


REFUSED = {
    "run": "the following arguments are required: NOTEBOOK",
    "run good.ipynb": "the following arguments are required: --html",
    "fly": "no command 'fly'. Commands: lab, run, ",
    "tarce good.py": "no command 'tarce'. Did you mean 'trace'?",
    "good.py": "no command 'good.py'. Did you mean 'workbench trace good.py'?",
    "show none.json --view grph": "argument --view: no view 'grph'. Did you mean 'graph'? Views: ",
    "run none.ipynb --html out": "no notebook none.ipynb.",
    "run good.ipynb none.ipynb --html out": "no notebook none.ipynb.",
    "run folder --html out": "cannot read folder: Is a directory.",
    "run text.ipynb --html out": "text.ipynb isn't a notebook.",
    "run list.ipynb --html out": "list.ipynb isn't a notebook.",
    "run empty.ipynb --html out": "empty.ipynb isn't a notebook.",
    "run cellless.ipynb --html out": "cellless.ipynb isn't a notebook.",
    "run binary.ipynb --html out": "binary.ipynb isn't a notebook.",
    "run good.ipynb bad.ipynb --html one.html": "one.html can hold only one notebook, not 2. Use a folder.",
    "run good.ipynb folder/good.ipynb --html out": "two notebooks have the same name",
    "run good.ipynb --html text.ipynb": "text.ipynb is a file. Use a folder for the pages.",
    "run good.ipynb --html text.ipynb/out": "cannot create the folder text.ipynb/out: Not a directory.",
    "run good.ipynb --html taken": "taken/good.html is a folder, so no page can be written there.",
    "run bad.ipynb --html out": "bad.ipynb, code cell 2: ValueError: wrong shape",
    "run killer.ipynb --html out": "killer.ipynb, code cell 1: the kernel died.",
    "present bad.ipynb": "bad.ipynb, code cell 2: ValueError: wrong shape",
    "present half.ipynb": "half.ipynb: cell 2 has a BEGIN or an END without its other half.",
    "present good.ipynb --handout none/paper.html": "cannot write none/paper.html: the folder does not exist",
    "lab text.ipynb": "text.ipynb is a file. Use a folder for the lessons.",
    "lab text.ipynb/mine": "cannot write the lessons into text.ipynb/mine: Not a directory.",
    "lab --port 0": "argument --port: '0' isn't a port. Use a number from 1 to 65535",
    "lab --port 65536": "argument --port: '65536' isn't a port",
    "lab --port http": "argument --port: 'http' isn't a port",
    "--port=-5": "argument --port: '-5' isn't a port",
    "--port {taken}": "port {taken} is in use. Choose another one with --port.",
    "present good.ipynb --handout paper.docx": "paper.docx doesn't end in .html or .pdf.",
    "grade folder/empty": "no notebooks in folder/empty.",
    "grade folder/empty --lessons folder": "no notebook in folder has an exercise file next to it.",
    "grade folder/empty -o folder": "cannot write folder: ",
    "progress folder/empty -o a.html": "no notebooks in folder/empty.",
    "progress folder/empty -o folder": "cannot write folder: ",
    "release good.ipynb --student .": "good.ipynb would overwrite itself. Choose another folder.",
    "release folder/empty --student out": "no notebooks in folder/empty.",
    "release none.ipynb --student out": "no notebook none.ipynb.",
    "release good.ipynb --student text.ipynb": "cannot write into text.ipynb: File exists.",
    "release good.ipynb": "one of the arguments --student --solutions --nbgrader --otter is required",
    "trace": "which script should be traced? For example: workbench trace train.py",
    "trace none.py": "no script none.py.",
    "trace folder": "folder is a folder. Name the script in it that should run.",
    "trace -o page.htm good.py": "use a name that ends in .html",
    "trace -o none/page.html good.py": "cannot write none/page.html: the folder does not exist",
    "trace -o folder.html good.py": "cannot write folder.html: a folder has this name",
    "trace -o taken.html taken.html": "taken.html would overwrite itself. Choose another name with -o.",
    "trace taken.py": "taken.html already exists and isn't a page of the workbench. Choose another name with -o.",
    "trace --steps 0 good.py": "argument --steps: '0' isn't a number of steps. Use a whole number, 1 or more",
    "grade --timeout 0 .": "argument --timeout: '0' isn't a number of seconds. Use a whole number from 1 to 86400",
    "trace --from-step -1 good.py": "argument --from-step: '-1' isn't a number of steps",
    "trace --view pie good.py": "argument --view: no view 'pie'. Views: graph, flow, ",
    "trace --view saved -o good.json good.py": "good.json stores the trace, not a view. Leave out --view",
    "show none.json": "no file none.json.",
    "show good.py": "good.py",
    "show -o shown.html folder": "cannot read folder: ",
}


def contents(folder: Path) -> dict[Path, bytes]:
    """What each file holds."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, marks=[pytest.mark.slow] * words.startswith(("run killer", "present bad")))
        for words in REFUSED
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken" / "good.html").mkdir(parents=True)
    (tmp_path / "folder" / "empty").mkdir(parents=True)
    (tmp_path / "folder.html").mkdir()
    for name in ("good.py", "taken.py", "taken.html"):
        (tmp_path / name).write_text("raise SystemExit('it ran')")
    write(tmp_path / "good.ipynb", "1 + 1")
    write(tmp_path / "folder" / "good.ipynb", "1 + 1")
    write(tmp_path / "bad.ipynb", "print('so far')", "\nraise ValueError('wrong shape\\nand more')", "2")
    write(tmp_path / "half.ipynb", "1", "# exercise: one-half\n### BEGIN SOLUTION\n1")
    write(tmp_path / "killer.ipynb", "import os; os._exit(3)")
    (tmp_path / "text.ipynb").write_text("not JSON")
    (tmp_path / "list.ipynb").write_text("[]")
    (tmp_path / "empty.ipynb").write_text("{}")
    (tmp_path / "cellless.ipynb").write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}')
    (tmp_path / "binary.ipynb").write_bytes(b"\xff\xfe\x00")
    before = contents(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert main(words.format(taken=taken).split()) in (1, 2)
    said, complaint = capfd.readouterr()
    assert said == ""
    assert complaint.startswith("workbench: ") and complaint.count("\n") == 1
    assert REFUSED[words].format(taken=taken) in complaint
    assert contents(tmp_path) == before


def test_a_folder_that_is_not_ones_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (other := tmp_path / "other").mkdir()
    notebook = write(tmp_path / "good.ipynb", "1 + 1")
    monkeypatch.setattr("workbench.cli.lab.checkout", lambda: None)
    monkeypatch.setattr("workbench.cli.lab.SHIPPED", tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    said = f"workbench: cannot write into {other}. Use a folder of your own for the "
    assert main(["lab", str(other)]) == 1
    assert capsys.readouterr().err == f"{said}lessons.\n"
    assert main(["run", str(notebook), "--html", str(other)]) == 1
    assert capsys.readouterr().err == f"{said}pages.\n"


@pytest.mark.slow
def test_notebooks_become_pages_in_a_folder_or_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "one.ipynb", "import os\nprint(os.path.basename(os.getcwd()), 'is where I am')")
    two = write(tmp_path / "two.ipynb", "print('two' * 2)")
    assert main(["run", str(one), str(two), "--html", str(tmp_path / "deep" / "pages")]) == 0
    pages = tmp_path / "deep" / "pages"
    assert sorted(pages.iterdir()) == [pages / "one.html", pages / "two.html"]
    assert f"{tmp_path.name} is where I am" in (pages / "one.html").read_text()
    assert "twotwo" in (pages / "two.html").read_text()
    assert capsys.readouterr().out == f"Wrote {pages / 'one.html'}.\nWrote {pages / 'two.html'}.\n"
    assert main(["run", str(two), "--html", str(tmp_path / "single.html")]) == 0
    assert "twotwo" in (tmp_path / "single.html").read_text()
    # The notebook itself is only read.
    assert nbformat.read(two, as_version=4).cells[0].outputs == []


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="file names are text on this system")
@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        pytest.param(["run", "{}.ipynb", "--html", "{}"], "", marks=pytest.mark.slow),
        pytest.param(["present", "{}.ipynb", "--handout", "{}.html"], "ascii", marks=pytest.mark.slow),
        (["release", "{}.ipynb", "--student", "{}"], "ascii"),
        (["release", "{}.ipynb", "--student", "{}"], "utf-8:strict"),
        (["run", "none {}.ipynb", "--html", "out"], "ascii"),
        (["{}"], "latin-1"),
    ],
    ids=lambda given: given or "none" if isinstance(given, str) else given[0],
)
def test_a_name_of_any_letters_is_told_in_any_locale(words: list[str], encoding: str, tmp_path: Path) -> None:
    name = "lesson ü日"
    write(tmp_path / f"{name}.ipynb", "print('ü→')")
    environment = ASCII | ({"PYTHONIOENCODING": encoding} if encoding else {})
    seen = subprocess.run(
        [sys.executable, "-m", "workbench", *(word.format(name) for word in words)],
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | environment | {"PYTHONPATH": str(CHECKOUT)},
    )
    told = (seen.stdout + seen.stderr).splitlines()
    assert told and all(line.startswith((b"Wrote ", b"workbench: ")) for line in told), told
    made = sorted(path.name for path in tmp_path.rglob("*.html"))
    if words[-1] == "{}" and words[0] == "run":
        assert made == [f"{name}.html"]
        assert "<title>lesson ü日</title>" in (tmp_path / name / made[0]).read_text("utf-8")
    if words[0] == "present":
        assert made == [f"{name}-slides.html", f"{name}.html"]


@pytest.mark.slow
def test_a_message_of_any_letters_is_told_in_any_locale(tmp_path: Path) -> None:
    write(tmp_path / "bad.ipynb", "raise ValueError('ü→')")
    strict = ASCII | {"PYTHONIOENCODING": "ascii:strict"}
    seen = typed("run", str(tmp_path / "bad.ipynb"), "--html", str(tmp_path), **strict)
    assert seen.stderr == f"workbench: {tmp_path / 'bad.ipynb'}, code cell 1: ValueError: \\xfc\\u2192\n"


@pytest.mark.slow
def test_half_of_a_character_in_a_cell_keeps_no_page_from_being_written(tmp_path: Path) -> None:
    cells = [new_markdown_cell("# One"), new_code_cell("x = 1")]
    text = nbformat.writes(new_notebook(cells=cells)).replace("# One", r"half \ud83d")
    (tmp_path / "half.ipynb").write_text(text)
    assert main(["run", str(tmp_path / "half.ipynb"), "--html", str(tmp_path)]) == 0
    assert r"half \ud83d" in (tmp_path / "half.html").read_text("utf-8")
    assert main(["release", str(tmp_path / "half.ipynb"), "--student", str(tmp_path / "out")]) == 0
    assert nbformat.read(tmp_path / "out" / "half.ipynb", as_version=4).cells[0].source == "half \ud83d"


@pytest.mark.slow
def test_a_failing_cell_leaves_the_page_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text("the page of last week")
    bad = write(tmp_path / "bad.ipynb", "1 / 0")
    assert main(["run", str(bad), "--html", str(tmp_path)]) == 1
    assert (tmp_path / "bad.html").read_text() == "the page of last week"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.html", "bad.ipynb"]
    shown = write(tmp_path / "shown.ipynb", "1 / 0", tags=["raises-exception"])
    assert main(["run", str(shown), "--html", str(tmp_path)]) == 0
    assert "ZeroDivisionError" in (tmp_path / "shown.html").read_text()


@pytest.mark.slow
def test_the_kernel_is_this_python_whatever_else_is_called_python3(tmp_path: Path) -> None:
    other = tmp_path / "kernels" / "python3"
    other.mkdir(parents=True)
    spec = {"argv": ["/bin/false"], "display_name": "Another", "language": "python"}
    (other / "kernel.json").write_text(json.dumps(spec))
    notebook = write(tmp_path / "who.ipynb", "import sys\nprint(sys.executable)")
    seen = typed("run", str(notebook), "--html", str(tmp_path / "who.html"), JUPYTER_PATH=str(tmp_path))
    assert (seen.returncode, seen.stderr) == (0, "")
    assert sys.executable in (tmp_path / "who.html").read_text()


@pytest.mark.slow
def test_ctrl_c_stops_a_run_with_one_sentence_and_no_page(tmp_path: Path) -> None:
    source = f"import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep({10 * PATIENCE})"
    notebook = write(tmp_path / "slow.ipynb", source)
    command = [sys.executable, "-m", "workbench", "run", str(notebook), "--html", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=CHECKOUT, preexec_fn=heed_ctrl_c)
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", True)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert (process.returncode, complaint) == (130, "workbench: stopped by Ctrl-C.\n")
    assert not (tmp_path / "slow.html").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.browser
def test_a_page_shows_everything_with_the_network_gone(tmp_path: Path) -> None:
    require_chromium()
    (tmp_path / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    cells = [
        new_markdown_cell("# A lesson\n\n![a dot](dot.svg)\n\nThe slope is $2x$."),
        new_code_cell("import ipywidgets\nipywidgets.IntSlider(value=7)"),
        new_code_cell("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);"),
        new_code_cell(
            "from IPython.display import HTML\n"
            "HTML('<p id=alive></p><script>document.getElementById(\"alive\").textContent = 6 * 7</script>')"
        ),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "lesson.ipynb")
    assert main(["run", str(tmp_path / "lesson.ipynb"), "--html", str(tmp_path / "lesson.html")]) == 0
    text = (tmp_path / "lesson.html").read_text()
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?!data:)\w", text)
    assert "widget-view" not in text
    (tmp_path / "dot.svg").unlink()
    with open_page(offline=True) as page:
        page.goto((tmp_path / "lesson.html").as_uri())
        assert page.locator("#alive").inner_text() == "42"
        assert "IntSlider(value=7)" in page.locator("main").inner_text()
        sizes = page.evaluate("[...document.images].map(image => image.naturalWidth > 0)")
        assert sizes == [True, True]
        assert (page.requests_outside, page.console_errors) == ([], [])


COUNTER = """
import anywidget, traitlets
class Counter(anywidget.AnyWidget):
    _esm = '''export default { render({ model, el }) {
      const button = document.createElement("button");
      const show = () => { button.textContent = `</script> ${model.get("count")}`; };
      button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
      model.on("change:count", show);
      show();
      el.append(button);
    } }'''
    _css = "button { color: rgb(1, 2, 3) }"
    count = traitlets.Int().tag(sync=True)
"""


@pytest.mark.slow
def test_a_widget_with_a_module_of_its_own_lives_on_in_the_page(tmp_path: Path) -> None:
    require_chromium()
    notebook = write(tmp_path / "live.ipynb", COUNTER, "Counter(count=4)", "Counter(count=40)")
    assert main(["run", str(notebook), "--html", str(tmp_path)]) == 0
    # The cell shows the style; the page holds it once for both.
    assert (tmp_path / "live.html").read_text().count("rgb(1, 2, 3)") == 2
    with open_page(offline=True) as page:
        page.goto((tmp_path / "live.html").as_uri())
        first, second = page.locator("main button").nth(0), page.locator("main button").nth(1)
        first.click()
        first.click()
        assert first.inner_text() == "</script> 6"
        assert second.inner_text() == "</script> 40"
        assert first.evaluate("button => getComputedStyle(button).color") == "rgb(1, 2, 3)"
        assert (page.requests_outside, page.console_errors) == ([], [])


@pytest.mark.slow
def test_a_page_cannot_fetch_what_a_cell_asks_for(tmp_path: Path) -> None:
    require_chromium()
    with socket.create_server(("127.0.0.1", 0)) as elsewhere, open_page() as page:
        address = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/a.png"
        asking = f'from IPython.display import HTML\nHTML(\'<img src="{address}" alt="a">\')'
        notebook = write(tmp_path / "asking.ipynb", asking)
        assert main(["run", str(notebook), "--html", str(tmp_path)]) == 0
        page.goto((tmp_path / "asking.html").as_uri())
        assert any("Content Security Policy" in said for said in page.console_errors)
        elsewhere.setblocking(False)  # what was refused is never sent
        with pytest.raises(BlockingIOError):
            elsewhere.accept()


def test_a_lesson_on_pytorch_keeps_its_outputs_where_pytorch_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = nbformat.v4.new_output("stream", name="stdout", text="as it was saved")
    cell = new_code_cell("import torch\n1 / 0", outputs=[saved])
    notebook = new_notebook(cells=[cell])
    monkeypatch.setattr("workbench.cli.pages.find_spec", lambda name: None)
    execute(notebook, tmp_path / "lesson.ipynb")
    assert notebook.cells[0].outputs == [saved]
    assert capsys.readouterr().out == (
        "lesson.ipynb needs PyTorch, which is not installed: it is shown as it was saved.\n"
    )
    cell.outputs = []  # nothing to show
    with pytest.raises(CommandError, match="code cell 1: "):
        execute(notebook, tmp_path / "lesson.ipynb")
