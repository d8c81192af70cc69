"""Draw eight programs with five tools, and write the page about them: `python assets/gallery/beside/draw.py`.

Needed are torch, IPython, Pillow, playwright with a Chromium, pygraphviz, and the four other tools. Of a tool that is
not installed the committed pictures stay.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOOLS = ("workbench", "torchvista", "torchlens", "torchviz", "torchview")
WINDOW = (986, 583)  # px that a player's window has in a notebook of 1440 × 900, beside the list of files
PAGE = (1020, 779)  # px of a page in which a player has that window
LARGEST = 60_000  # bytes of a picture

# What the three tools that draw modules are given where a program has none.
WRAPPED = {
    "scalar": """
        class Formula(nn.Module):
            def forward(self, a, b):
                c = a * b
                d = c + a**2
                e = d / (b - 1)
                return e.exp() + c

        model, inputs = Formula(), (a, b)""",
    "gradient penalty": """
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.critic = critic

            def forward(self, real, fake, t):
                between = (t * real + (1 - t) * fake).requires_grad_()
                score = self.critic(between)
                (slope,) = torch.autograd.grad(score.sum(), between, create_graph=True)
                penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
                return self.critic(fake).mean() - self.critic(real).mean() + 10 * penalty

        model, inputs = Loss(), (real, fake, t)""",
    "RNN": "model, inputs = net, (xs,)",
}
# These two run a module without gradients, so that torch.autograd.grad raises in it: they draw the critic alone.
NO_GRADIENTS = {("gradient penalty", tool): "model, inputs = critic, (real,)" for tool in ("torchvista", "torchview")}
# Who gives the better first glance, as a person judged who looked at the pictures: judge again when they change.
VERDICTS = {
    "scalar": "workbench: the only one with the user's own lines, their values and gradients, and whole; torchviz is a "
    "close second with larger text, but names no value and loses its last box at the lower edge.",
    "MLP": "workbench: the layers have their names, and each its parameters and the norms of their gradients; "
    "torchvista is as quick to read, but calls all three layers Linear.",
    "ResNet": "workbench: the only one whose stages can be read without zooming; it does not show that there are skip "
    "connections, which torchvista hides too and torchview shows for its first block.",
    "attention": "workbench: all is whole, and q, k, v, softmax and out have their names, though scores has only its "
    "expression; torchvista is whole, with text of 2.5 to 6.4 px, and torchview reads well as far as it is in sight.",
    "RNN": "workbench: the only one that folds twenty rounds, and the only one that can be read.",
    "VAE": "workbench: mu, logvar, z, the decoder and both parts of the loss, whole; torchvista shows what is inside "
    "encoder and decoder, but no loss and no names.",
    "gradient penalty": "workbench: by a little: of the three with a loss it alone is whole, "
    "and it names penalty and the critic; but its left half is nearly empty, slope is told without its name, "
    "and only create_graph=True says what is of second order. torchviz shows more "
    "operations, without telling what any of them is for.",
    "ten training steps": "workbench: it alone says what a step changed, and a slider in its bar goes through all ten; "
    "in the window itself it shows one step, and no curve of the loss.",
}

INTRODUCTION = f"""\
# Eight programs beside torchviz, torchvista, torchlens and torchview

`python assets/gallery/beside/draw.py` makes this page and its pictures from [programs.py](programs.py).

Each picture is the first glance: what a notebook shows before anybody clicks, scrolls or zooms, in a window of
{WINDOW[0]} × {WINDOW[1]} px. That is what a player of this package has in JupyterLab at 1440 × 900 beside the list of
files. One rule holds for all: **what does not choose its own size is shown as JupyterLab shows an image: at its own
size, made smaller only where it is wider than the window, and cut at the lower edge.** torchvista and this package have
a window of their own and fit the picture into it. The bars of this package's player stand outside the window.

- **workbench**: `with workbench.record(torch) as trace:` around the last paragraph of the program, then `trace.show()`.
- **torchvista**: `trace_model(model, inputs, height={WINDOW[1]})`; its page needs nothing from the network.
- **torchlens**: `torchlens.trace(model, inputs).draw()`.
- **torchviz**: `make_dot(loss, params=dict(model.named_parameters()))`.
- **torchview**: `draw_graph(model, input_data=inputs)`.

Only this package and torchviz draw what a program did up to its loss. The other three draw the forward of a module, so
the scalar program and the gradient penalty are wrapped in one for them, and of ten training steps they draw the model.
torchvista and torchview run it without gradients: of the gradient penalty, which raises then, they draw the critic.

The facts of a picture: its own size in px; how many of its boxes are whole in the window; the size of its smallest
and its largest text there in px; seconds from the call to the picture on two busy cores (of
this package with the whole program, of torchviz without its run, of the others with a forward of their own).
Versions: {{versions}}.

"""

_NODE = "svg g.node, svg g[class*=node_]"
_SIGHT = """([root, node]) => {
  const view = document.querySelector(".wb-view")?.getBoundingClientRect();
  const port = view ?? { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const whole = (e) => {
    const { width, left, top, right, bottom } = e.getBoundingClientRect();
    const across = left >= port.left - 1 && right <= port.right + 1;
    return width > 0 && across && top >= port.top - 1 && bottom <= port.bottom + 1;
  };
  const told = (e) => e.textContent.trim() && !/icon/.test(e.getAttribute("class")) && whole(e);
  const size = (e) => parseFloat(getComputedStyle(e).fontSize) * Math.abs(e.getScreenCTM().a);
  const nodes = [...document.querySelectorAll(node)];
  const sizes = [...document.querySelectorAll(`${root} text`)].filter(told).map(size);
  const text = [Math.min(...sizes), Math.max(...sizes)].map((px) => Math.round(10 * px) / 10);
  return { boxes: nodes.length, whole: nodes.filter(whole).length, text };
}"""
_OWN = """(root) => { const e = document.querySelector(root), s = e.style.maxWidth; e.style.maxWidth = "none";
  const b = e.getBoundingClientRect(); e.style.maxWidth = s; return [Math.round(b.width), Math.round(b.height)]; }"""
_VIEW = """() => { const { width, height } = document.querySelector(".wb-picture").viewBox.baseVal;
  return [Math.round(width), Math.round(height)]; }"""
_IMAGE = """<!doctype html><meta charset="utf-8"><style>body {{ margin: 0; background: white }}
body > svg {{ display: block; max-width: 100%; height: auto }}</style>{}"""


def cells() -> dict[str, str]:
    """The source of each program, by its name."""
    found = re.split(r"^# %% (.+)\n", (HERE / "programs.py").read_text(encoding="utf-8"), flags=re.M)[1:]
    return {name: source.strip() for name, source in zip(found[::2], found[1::2], strict=True)}


def picture(program: str, tool: str) -> str:
    """The name of a picture's file."""
    return f"{program.replace(' ', '_')}.{tool}.webp"


def page(facts: dict[str, Any]) -> str:
    """The page, of facts as `facts.json` keeps them."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    parts = [INTRODUCTION.replace("{versions}", versions)]
    for program, source in cells().items():
        shown = [_cell(program, tool, facts[program][tool]) for tool in TOOLS]
        rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in (shown[:3], shown[3:]))
        parts.append(
            f"## {program}\n\n**{VERDICTS[program]}**\n\n<table>\n{rows}\n</table>\n\n"
            f"<details open><summary>Source</summary>\n\n```python\n{source}\n```\n\n</details>\n\n"
        )
    return "".join(parts).rstrip() + "\n"


def _cell(program: str, tool: str, fact: dict[str, Any]) -> str:
    width, height = fact["size"]
    small, large = fact["text"]
    text = str(small) if small == large else f"{small}–{large}"
    boxes = f"{fact['whole']} of {fact['boxes']} boxes"
    told = f"{width} × {height} px · {boxes} · text {text} px · {fact['seconds']} s"
    name = picture(program, tool)
    image = f'<a href="{name}"><img src="{name}" width="320" alt="{program} by {tool}"></a>'
    return f'<td valign="top"><b>{tool}</b><br>{image}<br>{told}</td>'


def of_notebook(source: str) -> tuple[str, float]:
    """The page of our picture, from a program that runs as a cell of a notebook, and the seconds it took."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.reset(new_session=False)
    above, _, runs = source.rpartition("\n\n")
    for cell in ("import torch, workbench\n_ = torch.manual_seed(0)", above):
        shell.run_cell(cell).raise_error()
    start = time.perf_counter()
    recorded = f"with workbench.record(torch) as trace:\n{textwrap.indent(runs, '    ')}\npicture = trace.show();"
    shell.run_cell(recorded).raise_error()
    told = shell.user_ns["picture"].to_html()
    return told, time.perf_counter() - start


def of_other(program: str, tool: str, names: dict[str, Any]) -> tuple[str, float]:
    """The page of another tool's picture, and the seconds it took."""
    given = NO_GRADIENTS.get((program, tool)) or WRAPPED.get(program, "model, inputs = net, (x,)")
    exec("import torch\nfrom torch import nn\n" + textwrap.dedent(given), names)
    start = time.perf_counter()
    told = OTHERS[tool](names)
    return told, time.perf_counter() - start


def _torchvista(names: dict[str, Any]) -> str:
    import torchvista

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        place = Path(folder) / "page.html"
        torchvista.trace_model(names["model"], names["inputs"], height=WINDOW[1], export_path=str(place))
        return f"<!doctype html><style>body {{ margin: 0 }}</style>{place.read_text(encoding='utf-8')}"


def _torchlens(names: dict[str, Any]) -> str:
    import torchlens

    with tempfile.TemporaryDirectory() as folder, _dot(Path(folder)):
        place = Path(folder) / "graph"
        trace = torchlens.trace(names["model"], names["inputs"])
        trace.draw(vis_outpath=str(place), vis_fileformat="svg", vis_save_only=True)
        return _inline(place.with_suffix(".svg").read_text(encoding="utf-8"))


def _torchviz(names: dict[str, Any]) -> str:
    from torchviz import make_dot

    named = {"a": names["a"], "b": names["b"]} if "a" in names else dict(names["model"].named_parameters())
    return _drawn(make_dot(names["loss"], params=named).source)


def _torchview(names: dict[str, Any]) -> str:
    from torchview import draw_graph

    return _drawn(draw_graph(names["model"], input_data=names["inputs"]).visual_graph.source)


OTHERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "torchvista": _torchvista,
    "torchlens": _torchlens,
    "torchviz": _torchviz,
    "torchview": _torchview,
}


def _drawn(dot: str) -> str:
    from pygraphviz import AGraph

    return _inline(AGraph(string=dot).draw(format="svg", prog="dot").decode())


def _inline(svg: str) -> str:
    return _IMAGE.format(svg[svg.index("<svg") :])


@contextmanager
def _dot(folder: Path) -> Iterator[None]:
    """Let a tool that calls the program `dot` find one: pygraphviz draws in its place where there is none."""
    if shutil.which("dot"):
        yield
        return
    program = folder / "dot"
    program.write_text(f"#!{sys.executable}\n" + textwrap.dedent(_STANDS_IN), encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


_STANDS_IN = """
    import sys
    from pygraphviz import AGraph

    kind = next(word[2:] for word in sys.argv if word.startswith("-T"))
    data = AGraph(string=open(sys.argv[-1]).read()).draw(format=kind, prog="dot")
    place = sys.argv[sys.argv.index("-o") + 1] if "-o" in sys.argv else None
    open(place, "wb").write(data) if place else sys.stdout.buffer.write(data)
"""


def photograph(browser: Any, tool: str, document: str, place: Path) -> dict[str, Any]:
    """Write the picture of what the window shows at first, and measure it."""
    from PIL import Image

    ours = tool == "workbench"
    width, height = PAGE if ours else WINDOW
    sheet = browser.new_page(viewport={"width": width, "height": height})
    asked: list[str] = []
    sheet.on("request", lambda request: asked.append(request.url) if request.url.startswith("http") else None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(document, encoding="utf-8")
        sheet.goto(file.as_uri())
        sheet.wait_for_selector(".wb-picture" if ours else _NODE)
        sheet.wait_for_timeout(1500)
        root, node = (".wb-picture", ".wb-picture .wb-box:not(.wb-kind-region)") if ours else ("svg", _NODE)
        fact = sheet.evaluate(_SIGHT, [root, node])
        if ours:
            fact["size"] = sheet.evaluate(_VIEW)
        else:
            fact["size"] = sheet.evaluate(_OWN, "body > svg") if tool != "torchvista" else list(WINDOW)
        shot = sheet.locator(".wb-view").screenshot() if ours else sheet.screenshot()
    sheet.close()
    if asked:
        print(f"The page of {tool} asked the network for {', '.join(asked)}.")
    for quality in (80, 65, 50, 35):
        Image.open(io.BytesIO(shot)).convert("RGB").save(place, quality=quality, method=6)
        if place.stat().st_size <= LARGEST:
            break
    return fact


def usable(tool: str) -> bool:
    """Whether a tool can be drawn with; if not, it says what is missing."""
    try:
        importlib.import_module("torchlens.user_funcs" if tool == "torchlens" else tool)
    except ImportError as problem:
        print(f"{tool} cannot be used ({problem}), so its pictures stay as they are: `pip install {tool}`.")
        return False
    return True


def draw(wanted: list[str]) -> None:
    """Draw the programs of these names with every tool there is, and write the page."""
    try:
        import torch
        from playwright.sync_api import sync_playwright
    except ImportError as problem:
        sys.exit(f"Nothing can be drawn: {problem}.")
    from importlib.metadata import version

    place = HERE / "facts.json"
    facts: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {"versions": {}}
    facts["versions"] |= {"torch": torch.__version__.split("+")[0]}
    pages: list[tuple[str, str, str]] = []
    # Ours after those that pygraphviz draws: once it has laid out a picture of ours, its own drawing ends the process.
    # And torchlens last: it leaves its wrappers around the functions of torch.
    for tool in filter(usable, ("torchviz", "torchview", "workbench", "torchvista", "torchlens")):
        if tool != "workbench":
            facts["versions"][tool] = version(tool)
        for program in wanted or cells():
            torch.manual_seed(0)
            source, names = cells()[program], {}
            exec(source, names)  # a first run of its operations is slower for whoever comes first
            told, seconds = of_notebook(source) if tool == "workbench" else of_other(program, tool, names)
            facts.setdefault(program, {})[tool] = {"seconds": round(seconds, 2)}
            pages.append((program, tool, told))
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for program, tool, told in pages:
            facts[program][tool] |= photograph(browser, tool, told, HERE / picture(program, tool))
        browser.close()
    place.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    (HERE / "README.md").write_text(page(facts), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    draw(sys.argv[1:])
