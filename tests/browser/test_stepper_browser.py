"""The stepper in a real JupyterLab: every button and key, edits, branches, predictions, errors, and kernels that go."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import eventually, open_page, place_of, wait_until
from lab import Lab, assert_clean
from lesson_page import _RUN as RUN
from playwright.sync_api import Page, expect

SIZE = (1400, 900)
# How much of the notebook is in sight at once.
VISIBLE = "document.querySelector('.jp-WindowedPanel-outer').clientHeight"
SETUP = """import workbench
import workbench as torch
x = torch.tensor([1.0, 2.0])
w = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
with workbench.scope("model"):
    p = w * x + b
loss = ((p - torch.tensor([3.0, 5.0])) ** 2).mean()
s = workbench.step(loss)
s"""
FAILS = """class Fails(torch.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, grad):
        if broken: raise ZeroDivisionError("nothing to divide")
        print("it ran")
        return grad * 2
broken = True
a = torch.tensor(2.0, requires_grad=True)
f = workbench.step(Fails.apply(a))
f"""
# A cell says that it runs, and goes on when the test has seen what it waits for: each writes a file.
AWAIT = """import pathlib, time
def wait(seen=pathlib.Path("steps.seen")):
    (runs := pathlib.Path("steps.runs")).touch()
    while not seen.exists():
        time.sleep(0.02)
    seen.unlink()
    runs.unlink()
"""
# A computation that takes its time: a picture comes with an operation, and no more often than so many times a second.
LIVE = """import time
v = torch.tensor([1.0, 2.0], requires_grad=True)
h = v
with workbench.live() as trace:
    for _ in range(4):
        h = h * v
        time.sleep(0.2)
    h.sum().backward()"""

# However briefly a picture stands, the page notes the most operations that any has had.
COUNT_OPERATIONS = """() => {
  window.mostOperations = 0;
  const drawn = () => document.querySelectorAll(".wb-player:not(.wb-stepper) .wb-kind-op").length;
  new MutationObserver(() => { window.mostOperations = Math.max(window.mostOperations, drawn()); })
    .observe(document.body, { childList: true, subtree: true });
}"""

# Nothing is left of the test before: no cell, no output, no kernel.
AFRESH = """async () => {
  const { content, context, sessionContext } = window.jupyterapp.shell.currentWidget;
  content.model.sharedModel.deleteCellRange(1, content.model.cells.length);
  await window.jupyterapp.commands.execute("notebook:clear-all-cell-outputs");
  await sessionContext.ready;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const idle = () => sessionContext.session?.kernel?.status === "idle";
  for (let tries = 0; tries < 4; tries++) {  // once in many runs JupyterLab never hears that the kernel is there again
    const kernel = sessionContext.session?.kernel;
    await Promise.race([kernel ? sessionContext.restartKernel() : sessionContext.startKernel(), pause(15000)]);
    for (let waited = 0; !idle() && waited < 15000; waited += 50) await pause(50);
    if (idle()) return;
  }
  throw new Error("no kernel became idle");
}"""
# Whether a box is in sight in the window onto the picture, and is to be.
IN_SIGHT = """([box, wanted]) => { const at = box.querySelector(".wb-frame").getBoundingClientRect();
  const { top, bottom, left, right } = box.closest(".wb-view").getBoundingClientRect();
  return wanted === (at.top >= top && at.bottom <= bottom && at.left >= left && at.right <= right); }"""
START = RUN.replace('await app.commands.execute("notebook:run-cell")', 'app.commands.execute("notebook:run-cell")')
SQUARE = "(p - tensor([3.0, 5.0])) ** 2"  # the title of a box


class Stepper:
    """The stepper's view in a page."""

    def __init__(self, page: Page, title: str = "Graph of loss", nth: int = 0) -> None:
        self.page = page
        self.root = page.get_by_role("group", name=f"Stepper: {title}", exact=True).nth(nth)

    def answered(self) -> int:
        return int(self.root.get_attribute("data-answered"))

    def after(self, act) -> None:
        """Do something that asks the kernel, and wait for its answer."""
        before = self.answered()
        act()
        expect(self.root).not_to_have_attribute("data-answered", str(before))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.root.focus()
            self.after(lambda key=key: self.page.keyboard.press(key))

    def predict(self) -> None:
        """Turn predict mode on or off: the kernel isn't asked."""
        self.root.focus()
        self.page.keyboard.press("p")

    def click(self, action: str) -> None:
        wanted = self.root.locator(f'[data-action="{action}"]')
        if not wanted.is_visible():
            self.root.locator('[data-action="menu"]').click()
        self.after(wanted.click)

    def says(self, part: str) -> str:
        return self.root.locator(f".wb-{part}:not(.wb-predict *)").text_content()

    def box(self, title: str):
        """The box of a title, or of a node that sentences call so."""
        own = re.compile(rf"^{title}(?= |$)") if "Backward" in title else re.compile(rf"^{re.escape(title)}$")
        return self.root.locator(".wb-view:not(.wb-twin) .wb-box:not(.wb-kind-saved)", has=self.page.get_by_text(own))

    def lines(self, title: str) -> list[str]:
        return self.box(title).locator("text").all_text_contents()[1:]

    def state(self, title: str) -> str:
        return self.box(title).get_attribute("data-state")


@pytest.fixture(scope="module")
def opened(lab: Lab) -> Iterator[Page]:
    """The notebook, open."""
    lab.write("steps.ipynb", SETUP)
    with open_page(SIZE) as page:
        lab.open(page, "steps.ipynb")
        yield page
        lab.close()


@pytest.fixture
def page(opened: Page, lab: Lab) -> Iterator[Page]:
    """The notebook as it is when it was just run."""
    opened.evaluate(AFRESH)
    lab.run_all(opened)
    opened.wait_for_selector(".wb-stepper")
    yield opened
    assert_clean(opened)


@pytest.fixture
def low(page: Page) -> Iterator[Page]:
    """The same in a window so low that the picture does not fit into it."""
    page.set_viewport_size({"width": SIZE[0], "height": 600})
    yield page
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})


def run(page: Page, code: str) -> str:
    """Run a cell at the end; what it printed."""
    page.evaluate(RUN, code)
    idle = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
    wait_until(page, idle)
    return page.evaluate("""() => { const cells = window.jupyterapp.shell.currentWidget.content.widgets;
        return cells.at(-1).outputArea.node.innerText.trim(); }""")


def test_buttons_step_run_back_and_code_sees_it(page: Page) -> None:
    s = Stepper(page)
    assert s.says("sentence") == "Backward starts at loss with the gradient 1.0."
    assert s.says("standing") == "0 of 7 nodes run · next: loss = ((p - …) ** 2).mean()"
    s.click("step")
    assert s.state("MeanBackward0") == "running" and s.state("PowBackward0") == "ready"
    assert s.root.locator(".wb-sentence[aria-live=polite]").text_content() == (
        "loss = ((p - …) ** 2).mean() (MeanBackward0) receives the gradient 1.0; it sends [0.5 0.5] to "
        "(p - tensor([3.0, 5.0])) ** 2."
    )
    assert run(page, "print(s.position, s.done, w.grad)") == "1 False None"
    s.click("run")
    assert s.lines("w")[-1] == "grad -8.0" and s.state("w") == "done"
    assert run(page, "print(s.done, w.grad.item())") == "True -8.0"
    s.click("back")
    assert s.lines("w") == ["1.0"] and s.says("has") == "waits: -8.0"
    assert run(page, "print(w.grad); s.back(2)").startswith("None")
    expect(s.root.locator(".wb-standing")).to_have_text("4 of 7 nodes run · next: b")


def test_every_key(page: Page) -> None:
    s = Stepper(page)
    s.press("ArrowRight", "s")
    assert s.says("standing").startswith("2 of 7")
    s.press("ArrowLeft")
    assert s.says("standing").startswith("1 of 7")
    s.press("b")
    assert s.root.locator(".wb-box .wb-breakpoint").count() == 1
    assert s.box("PowBackward0").get_attribute("aria-label").endswith(", breakpoint")
    s.press("b")
    assert s.root.locator(".wb-box .wb-breakpoint").count() == 0
    s.root.focus()
    page.keyboard.press("u")
    page.keyboard.type("add")
    s.after(lambda: page.keyboard.press("Enter"))
    assert s.says("standing").endswith("next: p = w * x + b") and s.says("sentence").endswith("Stopped: add.")
    s.press("o")
    assert s.says("standing").startswith("6 of 7")
    s.press("r")
    assert s.says("sentence").endswith("the backward pass has finished.")
    s.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    s.root.focus()
    page.keyboard.press("e")
    page.keyboard.type("0.5")
    s.after(lambda: page.keyboard.press("Enter"))
    assert s.lines("b")[-1] == "changed to 0.5, was -5.0"
    page.keyboard.press("Escape")
    s.press("r")
    assert s.root.locator("[name=switch]").input_value() == "1"
    assert run(page, "print(b.grad.item())") == "0.5"
    s.root.focus()
    page.keyboard.press("x")
    expect(s.root.locator("[name=switch]")).to_be_focused()
    s.press("n")
    assert run(page, "print(s.branch.name, b.grad.item())") == "main -5.0"
    s.predict()
    assert s.root.locator('[data-action="predict"]').get_attribute("aria-checked") == "true"
    s.root.focus()
    page.keyboard.press("?")
    keys = s.root.locator(".wb-keys")
    assert keys.is_visible()
    for key in ("→ or s", "←", "r", "u", "o", "b", "w", "e", "x", "p", "n", "d", "?"):
        assert keys.locator("kbd", has_text=key).count()
    page.keyboard.press("Escape")
    assert not keys.is_visible()


def test_boxes_are_chosen_by_tab_and_opened_by_enter(page: Page) -> None:
    s = Stepper(page)
    s.box("MulBackward0").focus()
    assert s.says("node") == "w * x:"
    assert s.box("MulBackward0").locator(".wb-ring").evaluate("ring => getComputedStyle(ring).strokeWidth") == "3px"
    page.keyboard.press("Enter")
    assert s.says("panel-title") == "w * x"
    page.keyboard.press("Escape")
    assert not s.root.locator(".wb-details").is_visible()
    s.after(lambda: page.keyboard.press("b"))
    s.click("run")
    assert s.says("standing").endswith("next: w * x")


def test_a_gradient_is_edited_and_branches_are_switched(page: Page) -> None:
    s = Stepper(page)
    s.root.locator("[data-action=until]").click()  # nothing is typed yet: it goes to the field
    assert page.evaluate("document.activeElement.name") == "until" and s.says("said") == ""
    s.root.locator("[name=until]").fill("mul")
    s.click("until")
    s.root.locator("[name=edit]").fill("[0, 0]")
    s.click("edit")
    assert s.lines("MulBackward0")[-1] == "changed to [0. 0.], was [-2. -3.]"
    s.click("run")
    assert s.lines("w")[-1] == "grad 0.0"
    s.click("back")
    s.click("back")
    s.click("run")
    assert s.lines("w")[-1] == "grad -8.0"
    branches = s.root.locator("[name=switch]")
    assert branches.locator("option").all_text_contents() == ["main: 7 steps", "branch 1: 7 steps"]
    s.after(lambda: branches.select_option("0"))
    assert s.lines("w")[-1] == "grad 0.0"
    s.click("back")
    s.root.locator("[name=edit]").fill("two")
    s.click("edit")
    assert s.says("said").startswith("Type a number such as 0.5")


def test_what_is_watched_stands_in_sight_until_it_is_taken_off(low: Page) -> None:
    page, s = low, Stepper(low)
    rows = s.root.locator(".wb-desk p")
    s.box("w").focus()
    s.after(lambda: page.keyboard.press("w"))
    expect(rows).to_have_text(["wnothing yet"])
    s.box("PowBackward0").click()
    s.click("watch")
    assert s.root.locator('[data-action="watch"]').get_attribute("aria-pressed") == "true"
    assert s.box("PowBackward0").get_attribute("aria-label").endswith(", watched")
    page.keyboard.press("Escape")
    s.click("run")
    expect(rows).to_have_text(["w-8.0 (step 6)", f"{SQUARE}[0.5 0.5] (step 1)"])
    s.press("ArrowLeft")
    see(s, f"Show {SQUARE}", "PowBackward0")
    s.root.focus()
    page.keyboard.press("x")
    expect(s.root.get_by_role("button", name="Stop watching w")).to_be_focused()
    s.after(lambda: page.keyboard.press("Enter"))
    expect(s.root.get_by_role("button", name=f"Stop watching {SQUARE}")).to_be_focused()
    s.after(lambda: page.keyboard.press("Enter"))
    assert s.root.locator(".wb-box .wb-watched").count() == 0 and s.root.locator(".wb-desk").is_hidden()
    expect(s.root).to_be_focused()


def test_every_breakpoint_is_listed_and_taken_off(page: Page) -> None:
    s = Stepper(page)
    s.box("MulBackward0").focus()
    s.after(lambda: page.keyboard.press("b"))
    run(page, "s.breakpoint(over=4); s.breakpoint('add', nonfinite=True);")
    rows = s.root.locator(".wb-desk p")
    stops = ["before w * x", "after any node: a norm over 4", "after add: a gradient that is not finite"]
    expect(rows).to_have_text([f"Stops {stop}" for stop in stops])
    s.click("run")
    assert s.says("sentence").endswith("Stopped: a norm over 4.")
    s.after(s.root.get_by_role("button", name="Remove breakpoint: after any node: a norm over 4").click)
    expect(rows).to_have_text([f"Stops {stop}" for stop in (stops[0], stops[2])])
    page.keyboard.press("x")
    s.after(lambda: page.keyboard.press("Enter"))
    assert s.root.locator(".wb-box .wb-breakpoint").count() == 0
    s.after(lambda: page.keyboard.press("Enter"))
    s.click("run")
    assert run(page, "print(s.done, s.breakpoints)") == "True []"


def see(s: Stepper, name: str, title: str) -> None:
    """Press what brings a box into sight, which it was not."""
    wait_until(s.page, IN_SIGHT, [s.box(title).element_handle(), False])
    s.root.get_by_role("button", name=name, exact=True).click()
    wait_until(s.page, IN_SIGHT, [s.box(title).element_handle(), True])


def test_branches_stand_side_by_side_and_what_differs_first_comes_into_sight(low: Page) -> None:
    page, s = low, Stepper(low)
    table, first = s.root.locator(".wb-desk table"), s.root.locator(".wb-first")
    s.click("run")
    assert table.count() == 0
    s.click("back")
    for _ in range(5):
        s.press("ArrowLeft")
    s.root.locator("[name=edit]").fill("[1, 1]")
    s.click("edit")
    s.click("run")
    expect(first).to_have_text(f"Differs first at {SQUARE}: [1. 1.] here, [0.5 0.5] on main.")
    head, *rows = [row.locator("th, td").all_text_contents() for row in table.locator("tr").all()]
    assert head[0] == "Gradient of" and head[2] == "main" and s.root.locator("[name=switch]").input_value() == "1"
    assert rows == [
        [f"{SQUARE}first", "[1. 1.]", "[0.5 0.5]"],
        ["p - torch.tensor([3.0, 5.0])", "[-4. -6.]", "[-2. -3.]"],
        ["p = w * x + b", "[-4. -6.]", "[-2. -3.]"],
        ["b", "-10.0", "-5.0"],
        ["w * x", "[-4. -6.]", "[-2. -3.]"],
        ["w", "-16.0", "-8.0"],
    ]
    wait_until(page, IN_SIGHT, [s.box("PowBackward0").element_handle(), True])
    assert s.box("PowBackward0").get_attribute("aria-label").endswith(", differs")
    assert s.root.locator(".wb-box .wb-differs").count() == 12  # in both pictures
    _two_pictures_with_one_place_for_each_box(s)
    see(s, "Show w", "w")
    wait_until(page, ALIKE)
    s.press("n")  # on the other branch they differ at the same place, which comes into sight again
    assert first.text_content() == f"Differs first at {SQUARE}: [0.5 0.5] here, [1. 1.] on branch 1."
    wait_until(page, IN_SIGHT, [s.box("PowBackward0").element_handle(), True])
    see(s, "Show w", "w")
    page.keyboard.press("d")
    wait_until(page, IN_SIGHT, [s.box("PowBackward0").element_handle(), True])
    s.press(*["ArrowLeft"] * 7)
    assert first.text_content() == "No difference from branch 1 so far."
    assert s.root.locator(".wb-box .wb-differs").count() == 0


def test_in_a_narrow_window_one_branch_stands_above_the_other(page: Page) -> None:
    s = Stepper(page)
    page.set_viewport_size({"width": 1024, "height": 768})
    try:
        s.click("run")
        s.press(*["ArrowLeft"] * 6)
        s.root.locator("[name=edit]").fill("[1, 1]")
        s.click("edit")
        s.click("run")
        own, beside = [place_of(view) for view in s.root.locator(".wb-view").all()]
        assert own["width"] == beside["width"] == place_of(s.root)["width"] - 2
        assert beside["y"] > own["y"] + own["height"] and own["height"] == beside["height"] > 150
        assert place_of(s.root)["height"] <= page.evaluate(VISIBLE)
        for view in s.root.locator(".wb-view").all():
            box = view.locator(f'[data-id="{s.box("PowBackward0").get_attribute("data-id")}"]')
            wait_until(page, IN_SIGHT, [box.element_handle(), True])
        assert s.root.locator(".wb-body").evaluate(NAMES) == ['"branch 1, here"', '"main"']
    finally:
        page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})


# Whether the two pictures are as large and scrolled as far.
ALIKE = """() => { const [a, b] = document.querySelectorAll(".wb-view");
  const told = (view) => JSON.stringify([view.scrollLeft, view.scrollTop, view.clientWidth, view.clientHeight]);
  const at = (view) => view.querySelector("svg").getBoundingClientRect();
  return told(a) === told(b) && at(a).width === at(b).width && at(a).top === at(b).top
    && a.getBoundingClientRect().right <= b.getBoundingClientRect().left + 0.5; }"""

# What stands above the two, in a row of its own.
NAMES = """body => { const { top } = body.getBoundingClientRect(), told = (part) => getComputedStyle(body, part);
  return ["::before", "::after"].map((part, i) => {
    const { height, content } = told(part), view = body.querySelectorAll(".wb-view")[i];
    return view.getBoundingClientRect().top - top >= parseFloat(height) && content; }); }"""


def _two_pictures_with_one_place_for_each_box(s: Stepper) -> None:
    """The stepper's own branch and the one beside: the same boxes at the same places, each with its own values."""
    page = s.page
    wait_until(page, ALIKE)
    own, beside = s.root.locator(".wb-view").all()
    assert s.root.locator(".wb-body").evaluate(NAMES) == ['"branch 1, here"', '"main"']
    places = """view => { const port = view.getBoundingClientRect();
        const place = ({ left, top }) => [Math.round(left - port.left), Math.round(top - port.top)];
        return [...view.querySelectorAll(".wb-box")].map((box) =>
          [box.dataset.id, ...place(box.querySelector(".wb-frame").getBoundingClientRect())]); }"""
    assert beside.evaluate(places) == own.evaluate(places)
    w = beside.locator(f'[data-id="{s.box("w").get_attribute("data-id")}"]')
    assert w.locator("text").all_text_contents()[-1] == "grad -8.0" and s.lines("w")[-1] == "grad -16.0"
    first = beside.locator(f'[data-id="{s.box("PowBackward0").get_attribute("data-id")}"]')
    wait_until(page, IN_SIGHT, [first.element_handle(), True])
    beside.hover()
    page.mouse.wheel(0, 40)
    wait_until(page, ALIKE)
    first.click()
    assert s.root.locator(".wb-panel-title").text_content() == s.box("PowBackward0").locator(".wb-title").text_content()
    page.keyboard.press("Escape")
    found = Axe().run(page, ".wb-stepper")
    assert found.violations_count == 0, found.generate_report()


def test_predicting(page: Page) -> None:
    run(page, "q, r = (torch.tensor(v, requires_grad=True) for v in (2.0, 5.0))\nworkbench.step(-(q * r))")
    s = Stepper(page, "Autograd graph")
    s.root.wait_for()
    asks, said = s.root.locator(".wb-predict label"), s.root.locator(".wb-predict .wb-said")
    s.predict()
    assert asks.inner_text() == "What arrives at q * r?"
    page.keyboard.press("s")  # nothing is typed yet: it goes to the field
    for guess, place, told, question in (
        ("1", "q * r", "wrong sign", "What arrives at q?"),
        ("-2", "q", "right size, wrong place", "What is q.grad?"),
    ):
        page.keyboard.type(guess)
        s.after(lambda: page.keyboard.press("Enter"))
        assert said.inner_text() == f"Your prediction of what arrives at {place}: {told}."
        assert asks.inner_text() == question  # whose field has the keys
    for action in ("run", "until"):
        assert s.root.locator(f'[data-action="{action}"]').get_attribute("aria-disabled") == "true"
    s.after(s.root.locator('[data-action="reveal"]').click)
    assert said.inner_text() == "" and asks.inner_text() == "What is r.grad?"
    s.root.locator("[name=guess]").fill("-2.0")
    s.after(s.root.locator('[data-action="check"]').click)
    assert said.inner_text() == "Your prediction of r.grad: right." and not asks.is_visible()
    s.predict()
    assert not s.root.locator(".wb-predict").is_visible()


def test_of_an_array_the_shape_is_asked_for(page: Page) -> None:
    s = Stepper(page)
    s.predict()
    s.after(s.root.locator('[data-action="reveal"]').click)
    asks, said = s.root.locator(".wb-predict label"), s.root.locator(".wb-predict .wb-said")
    assert asks.inner_text() == "What arrives at p - torch.tensor([3.0, 5.0])? Its shape, or its numbers:"
    for guess, told in (
        ("(2,)", "p - torch.tensor([3.0, 5.0]): right"),
        ("[-3, -2]", "p = w * x + b: right size, wrong place"),
    ):
        s.root.locator("[name=guess]").fill(guess)
        s.after(lambda: page.keyboard.press("Enter"))
        assert said.inner_text() == f"Your prediction of what arrives at {told}."


def test_an_error_is_marked_and_what_is_printed_is_shown(page: Page) -> None:
    run(page, FAILS)
    s = Stepper(page, "Autograd graph")
    s.root.wait_for()
    s.click("step")
    assert s.says("said") == "ZeroDivisionError: nothing to divide"
    assert s.state("FailsBackward") == "error"
    run(page, "broken = False")
    s.click("back")
    s.click("run")
    assert s.says("printed") == "Printed: it ran\n" and s.lines("a")[-1] == "grad 2.0"
    s.click("back")
    assert s.lines("a") == ["2.0"] and s.says("has") == "waits: 2.0"


def test_two_views_of_one_stepper_show_the_same(page: Page) -> None:
    Stepper(page).click("step")
    run(page, "s")
    second = Stepper(page, nth=1)
    second.root.wait_for()
    assert second.says("standing") == Stepper(page).says("standing")
    second.click("step")
    expect(Stepper(page).root.locator(".wb-standing")).to_have_text(
        "2 of 7 nodes run · next: p - torch.tensor([3.0, 5.0])"
    )


def test_a_busy_kernel_is_said_to_be_busy(page: Page, lab: Lab) -> None:
    s = Stepper(page)
    runs, seen = (lab.folder / f"steps.{what}" for what in ("runs", "seen"))  # no other test's, nor of a run before
    runs.unlink(missing_ok=True)
    seen.unlink(missing_ok=True)
    page.evaluate(START, f"{AWAIT}wait()")
    eventually(runs.exists, True)
    s.root.locator('[data-action="step"]').click()
    expect(s.root.locator(".wb-standing")).to_have_text("The kernel is busy. The request waits.")
    seen.touch()
    expect(s.root.locator(".wb-standing")).to_contain_text("1 of 7")


def test_live_draws_the_graph_while_the_cell_runs(page: Page) -> None:
    page.evaluate(COUNT_OPERATIONS)
    page.evaluate(START, LIVE)
    wait_until(page, "() => window.mostOperations >= 2")  # before the rounds are alike enough to be one group
    player = page.get_by_role("group", name="Player: Autograd graph")
    player.wait_for()
    assert run(page, "print(repr(trace.show()).splitlines()[0])") == "Autograd graph"
    loop, operations = (
        player.locator('[aria-label^="for _ in range(4): 4 iterations (group); "]'),
        player.locator(".wb-kind-op"),
    )
    expect(operations).to_have_count(5)  # there is room for the rounds: their loop is open
    assert loop.get_attribute("aria-label").startswith(
        "for _ in range(4): 4 iterations (group); (2,) → (2,); 4 operations"
    )
    boxes = player.locator(".wb-box").count()
    assert boxes > 5 and "wb-kind-region" in loop.get_attribute("class")
    loop.focus()
    page.keyboard.press("Enter")
    expect(operations).to_have_count(1)
    assert "wb-kind-group" in loop.get_attribute("class") and player.locator(".wb-box").count() < boxes
    loop.focus()
    page.keyboard.press("Enter")
    expect(operations).to_have_count(5)
    expect(player.locator(".wb-box")).to_have_count(boxes)


def test_what_the_backward_records_appears_and_leaves_again(page: Page) -> None:
    run(page, "c = torch.tensor(2.0, requires_grad=True)\nt = workbench.step((c**3).sin(), create_graph=True)\nt")
    s = Stepper(page, "Autograd graph")
    s.root.wait_for()
    assert s.box("cos").count() == 0
    s.root.locator('[data-action="step"]').focus()
    s.after(lambda: page.keyboard.press("Enter"))
    assert s.box("cos").count() == 1
    expect(s.root.locator('[data-action="step"]')).to_be_focused()
    s.click("run")
    assert s.lines("c") == ["2.0, grad -1.746"]
    for title in ("mul", "mul, 2nd", "mul, 3rd"):
        expect(s.box(title)).to_have_count(1)
    s.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    expect(s.box("cos")).to_have_count(0)
    expect(s.root).to_be_focused()


# The last one: a start after a shutdown may be heard of late, and would end the cell of another test.
def test_a_kernel_that_goes_leaves_a_sentence_and_dim_buttons(page: Page, lab: Lab) -> None:
    s = Stepper(page)
    s.click("step")
    s.press("w")
    lab.shut_kernel_down(page)
    expect(s.root.locator(".wb-sentence")).to_contain_text("The kernel of this stepper has shut down")
    for action in ("step", "back", "run", "until", "over", "predict", "breakpoint", "watch", "edit", "off"):
        button = s.root.locator(f'[data-action="{action}"]')
        assert button.get_attribute("aria-disabled") == "true"
        button.evaluate("button => button.click()")
    assert s.state("MeanBackward0") == "running"  # what was shown stays
