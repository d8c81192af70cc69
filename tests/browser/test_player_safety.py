"""The player is harmless and open to all: hostile text stays text, nothing leaks, axe finds nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page
from player_page import press, show, states
from player_story import storyboard

from workbench.scene import payload as scripts
from workbench.scene.images import to_svg
from workbench.scene.model import Arrow, Box, Detail, Scene, Step
from workbench.scene.payload import GIVEN, asset, bare, joined_modules, renamed, script, sent, short_names
from workbench.scene.picture import inline
from workbench.scene.storyboard import Storyboard

STORY = storyboard().to_dict()
HOSTILE = [
    "</script><script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    "\"quotes' & ${window.hurt = 1} `ticks` &lt;",
    "שלום \u202eright to left\u202c مرحبا",
    "x" * 10_000,
    "nan",
    "a\x00b\ud800c\n\nline]]>",
    "__proto__",
]

LARGE = """() => { for (const _ of "four") document.querySelector('[data-action="in"]').click(); }"""


@pytest.fixture(scope="module")
def browser_tab():
    with open_page() as page:
        yield page


@pytest.fixture
def page(browser_tab):
    yield browser_tab
    assert browser_tab.console_errors == []
    assert browser_tab.requests_outside == []


def hostile_board(text: str) -> Storyboard:
    value = {"name": text, "shape": [1], "dtype": text, "text": text, "norm": text}
    details = Detail(text, "code", text), Detail(text, "text", text), Detail(text, "value", value)
    boxes = {
        "a": Box("a", "leaf", text, (text, text), "future", details=details),
        "b": Box("b", "function", text, (text,), "future", alt=text),
        "c": Box("c", "saved", text, (text,), "future", holder="b"),
    }
    step = Step(text, "backward", {"file": text, "line": 1, "text": text}, "a")
    step.boxes = {id: {"state": "idle"} for id in boxes} | {"c": {"state": "freed"}}
    step.arrows = {"ab": {"state": "flowing", "label": text}}
    return Storyboard(Scene(text, boxes, {"ab": Arrow("ab", "a", "b", state="future")}), [step, step])


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_text_is_shown_as_text(page, text):
    show(page, hostile_board(text).to_dict())
    page.locator('[data-id="a"]').click()
    press(page, "step")
    assert page.evaluate("window.hurt") is None
    assert page.locator("#here script, #here img").count() == 0
    assert page.locator(".wb-details .wb-section").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("text", HOSTILE[:3])
def test_hostile_text_reaches_the_reader_unchanged(page, text):
    show(page, hostile_board(text).to_dict())
    page.locator('[data-id="a"]').click()
    assert page.locator(".wb-details pre code").text_content() == text
    assert page.locator(".wb-sentence").text_content() == text


def test_unknown_fields_and_ids_are_ignored(page):
    story = storyboard().to_dict()
    story["new"] = story["boxes"][0]["new"] = story["steps"][0]["new"] = {"a": 1}
    story["steps"][0]["boxes"]["nobody"] = {"state": "idle"}
    story["steps"][0]["boxes"]["x"]["id"] = "y"
    show(page, story)
    assert states(page) == {id: thing.state for part in ("boxes", "arrows")
                            for id, thing in getattr(storyboard().at(2), part).items()}  # fmt: skip


@pytest.mark.parametrize("story", [None, {}, [], {**STORY, "version": 2}, {**STORY, "format": "<b>else</b>"}])
def test_what_is_no_storyboard_gets_one_sentence(page, story):
    show(page, story)
    said = page.locator("#here").inner_text()
    assert said.startswith("This player reads workbench-storyboard 1 and was given ")
    assert page.locator("#here *").count() == 1
    page.evaluate("player.go(3); player.destroy()")


def test_a_still_picture_has_nothing_to_step(page):
    still = Storyboard(Scene("still", {"a": Box("a", "leaf", "a")}, {}))
    show(page, still.to_dict())
    assert states(page) == {"a": "idle"}
    assert not page.get_by_role("button", name="Step").is_visible()
    page.locator(".wb-player").press("ArrowRight")
    assert page.get_by_role("button", name="Fit").is_visible()
    press(page, "menu")
    assert page.get_by_role("menuitem", name="Zoom in").is_visible()
    assert page.get_by_role("menuitemcheckbox").count() == 0  # there is nothing to predict


@pytest.mark.parametrize("selector", [".wb-player", ".wb-button", ".wb-slider", '[data-id="n1"]', ".wb-view"])
def test_no_key_leaks_to_the_page(page, selector):
    show(page, STORY)
    page.evaluate(LARGE)  # what does not scroll takes no focus
    for key in ["b", "a", "d", "Enter", "Shift+Enter", "Escape", "ArrowRight", "Home", "Space", "?", "Tab"]:
        page.locator(selector).first.focus()
        page.keyboard.press(key)
    assert page.evaluate("leaked") == []


@pytest.mark.parametrize("selector", [".wb-player", ".wb-button", ".wb-slider", '[data-id="n1"]', ".wb-view"])
def test_a_host_that_hears_of_keys_first_is_told_to_leave_them(page, selector):
    # Notebook 7 looks at every key before the player does, and takes it unless the focused element says this.
    show(page, STORY)
    page.evaluate(LARGE)  # what does not scroll takes no focus
    page.locator(selector).first.focus()
    assert page.evaluate("document.activeElement.hasAttribute('data-lm-suppress-shortcuts')")


def test_the_hosts_own_shortcuts_still_reach_it(page):
    show(page, STORY)
    page.locator(".wb-player").focus()
    page.keyboard.press("Control+s")
    assert page.evaluate("leaked") == ["Control", "s"] or page.evaluate("leaked") == ["s"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("k", [1, 5, 7])
def test_axe_finds_no_violation(page, scheme, k):
    page.emulate_media(color_scheme=scheme)
    try:
        show(page, STORY)
        page.evaluate("k => player.go(k)", k)
        page.locator('[data-id="n1"]').click()
        press(page, "keys")
        found = Axe().run(page, ".wb-player")
        assert found.violations_count == 0, found.generate_report()
    finally:
        page.emulate_media(color_scheme="null")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_jupyterlabs_theme_wins_over_the_systems(page, scheme):
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    try:
        show(page, STORY)
        colour = "getComputedStyle(document.querySelector('.wb-player')).backgroundColor"
        before = page.evaluate(colour)
        light = "true" if scheme == "light" else "false"
        page.evaluate("light => { document.body.dataset.jpThemeLight = light }", light)
        after = page.evaluate(colour)
        assert (after == "rgb(255, 255, 255)") == (scheme == "light")
        assert before != after
    finally:
        page.emulate_media(color_scheme="null")


def test_all_scripts_are_small_together():
    text = sent("following.js", "stepper.js", "unpacking.js") + inline()
    assert len(text.encode()) <= 60_000


@pytest.mark.parametrize("name", ["following.js", "stepper.js"])
def test_a_script_is_plain(name):
    text = script(name)
    for never in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "import ",
        "export ",
        "fetch(",
    ):
        assert never not in text
    assert text.count("http") == 2  # the names of HTML and SVG, which are never asked for


def test_modules_can_be_joined():
    folder = Path(scripts.__file__).parents[1] / "widgets" / "static"
    modules = sorted(path.name for path in folder.glob("*.js") if path.name != "inline.js")
    for entry in ("following.js", "stepper.js", "unpacking.js"):
        lines = "\n".join(asset(name) for name in modules if bare(asset(name)) in joined_modules(entry))
        declared = re.findall(r"^(?:export )?(?:async )?(?:function|const|let) (\w+)", lines, re.MULTILINE)
        assert len(declared) > 3 and len({*declared}) == len(declared), "a name is declared in two modules"
    for name in modules:
        for line in asset(name).splitlines():
            assert line.count("`") % 2 == 0, f"{name}: a text over several lines would lose its indentation: {line}"
    # What the joined script lacks are comments, imports, exports and spaces, and no code.
    for name in modules:
        plain = re.sub(r"^/\*\*.*?\*/$|(^| )//\s[^\n]*$", "", asset(name), flags=re.MULTILINE | re.DOTALL)
        plain = re.sub(r"^\s*/\*\*.*?\*/$", "", plain, flags=re.MULTILINE | re.DOTALL)
        plain = re.sub(r"^import [^;]*;|^export (default[^;]*;|(?=const|function))", "", plain, flags=re.MULTILINE)
        assert spaceless(joined_modules(name)).endswith(spaceless(plain)), name


def spaceless(code: str) -> str:
    """Code without white space, what may end a block, and what may stand around a parameter."""
    return re.sub(r"[;,](?=\})|\((?=\w+\)=>)|(?<=\w)\)(?==>)", "", re.sub(r"\s", "", code))


GIVES = {
    "following.js": ["initialize", "render"],
    "stepper.js": ["initialize", "render"],
    "player.js": ["mount"],
    "unpacking.js": ["unpacked"],
}
# Names of the page that are variables of ours too.
OURS_TOO = "close closed event find frames length name open opener scroll status stop viewport when".split()


def test_only_names_that_a_script_declares_are_shortened(page):
    text = joined_modules("following.js", "stepper.js", "unpacking.js") + bare(asset("inline.js"))
    names = short_names(text)
    assert len(names) > 300 and len({*names.values()} | names.keys() | GIVEN) == 2 * len(names) + len(GIVEN)
    page.goto("about:blank")
    of_the_page = page.evaluate("names => names.filter((name) => name in window)", sorted(names))
    assert of_the_page == OURS_TOO, "is it declared in each module that uses it? If not, it belongs to GIVEN"
    assert page.evaluate("names => names.filter((name) => !(name in window))", sorted(GIVEN)) == []


@pytest.mark.parametrize("entry", ["following.js", "stepper.js", "player.js", "unpacking.js"])
def test_what_a_script_gives_keeps_its_name(page, entry):
    names = GIVES[entry]
    given = page.evaluate(
        """async (source) => {
          const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          return Object.keys((await import(url)).given);
        }""",
        f"{script(entry)}; export const given = {{ {', '.join(names)} }};",
    )
    assert given == names


def test_a_short_name_stands_where_the_variable_stood():
    text = (
        'const story={boxes,steps:steps.boxes,"boxes":`boxes ${boxes.map(boxes=>({boxes}))} boxes`};'
        "const{boxes:other,steps=boxes}=story;if(boxes){boxes?.boxes()}function steps(boxes,...steps){return{steps}}"
        "const odd=yes?boxes:{boxes};for(const{story}of[/boxes/gi,...boxes])story.boxes=boxes"
    )
    assert renamed(text, {"boxes": "a", "steps": "b", "story": "c"}) == (
        'const c={boxes:a,steps:b.boxes,"boxes":`boxes ${a.map(a=>({boxes:a}))} boxes`};'
        "const{boxes:other,steps:b=a}=c;if(a){a?.boxes()}function b(a,...b){return{steps:b}}"
        "const odd=yes?a:{boxes:a};for(const{story:c}of[/boxes/gi,...a])c.boxes=a"
    )
    assert short_names("const element=1,el=element+element.el;f(element)", ["f"]) == {"element": "a"}


def test_spaces_in_strings_patterns_and_between_signs_stay():
    text = 'const a = "x = 1" ;\nconst b = `${ a } = c`, d = /[ =] \\/ x/g;\nlet e = a + +b - -c ? 1 : [2,\n3, ];'
    assert bare(text) == 'const a="x = 1";const b=`${ a } = c`,d=/[ =] \\/ x/g;let e=a + +b - -c?1:[2,3,];'
    assert bare("function f() {\n  g();\n}\nconst h = 1;\n") == "function f(){g()}const h=1;"


def test_a_name_written_from_the_right_leaves_its_shape_alone(page):
    name = "\u05e8\u05e9\u05ea"
    board = Storyboard(Scene("a", {"a": Box("a", "leaf", "a", (f"{name} (2, 3) float32",))}))
    place = """text => { const range = document.createRange(), at = text.textContent.indexOf("(2");
        const left = (n) => (range.setStart(text.firstChild, n), range.setEnd(text.firstChild, n + 1),
          range.getBoundingClientRect().left);
        return [left(at), left(at + 1), left(at + 4), left(at + 7)]; }"""
    show(page, board.to_dict())
    in_player = page.locator("svg.wb-picture text.wb-text").evaluate(place)
    page.set_content(to_svg(board))
    for places in (in_player, page.locator("text.wb-text").evaluate(place)):
        assert places == sorted(places)
