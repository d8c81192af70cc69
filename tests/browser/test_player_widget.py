"""The widget: the storyboard goes to the browser once, and `position` follows in both directions."""

from __future__ import annotations

import json

import pytest
from browser_page import wait_until
from ipywidgets.widgets import widget
from player_page import position
from player_story import storyboard
from traitlets import TraitError

from workbench.pictures.scene.payload import in_page, library
from workbench.pictures.scene.picture import Picture
from workbench.pictures.widgets import Player

STORY = storyboard().to_dict()
MODEL = """host => {
  const heard = {}, values = { storyboard: window.story, position: 4 };
  window.model = { saved: [], told: [], widget_manager: host, hears: () => Object.keys(heard),
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; heard[`change:${name}`]?.(); },
    on: (name, call) => { heard[name] = call; }, off(name) { delete heard[name]; },
    save_changes() { this.saved.push(values.position); this.told.push(values._selected); },
    python(value) { values.position = value; heard["change:position"](); } };
  window.player.destroy();
  window.leave = render({ model, el: document.getElementById("here") });
}"""


@pytest.fixture
def page(page):
    page.evaluate("story => { window.story = story }", STORY)
    return page


def test_the_widget_sends_the_library_and_its_storyboard():
    player, board = Player(storyboard()), storyboard()
    state = player.get_state()
    assert state["storyboard"] == board.to_dict()
    version, script = library()
    assert state["_esm"] == f"{script}\nexport default {in_page('following')};"
    assert version in script and "--wb-canvas" in script and ".wb-state-future" in script
    json.dumps(state["storyboard"], allow_nan=False)


def test_position_opens_where_the_player_does_and_stays_inside():
    player = Player(storyboard())
    assert player.position == 2
    player.position = 7
    for outside in (-1, 8):
        with pytest.raises(TraitError, match=f"There is no step {outside}; this player has 8, counted from 0."):
            player.position = outside
    assert player.position == 7
    with pytest.raises(TraitError):
        player.storyboard = {}


def test_the_browser_and_python_follow_each_other(page):
    page.evaluate(MODEL, {"kernel": {"status": "busy", "isDisposed": False}})
    assert position(page) == "5 / 8"
    page.locator(".wb-player").press("ArrowRight")
    assert page.evaluate("[model.get('position'), model.saved]") == [5, [5]]
    page.evaluate("model.python(1)")
    assert position(page) == "2 / 8"
    page.evaluate("leave()")
    assert page.evaluate("model.hears()") == []
    assert page.locator("#here").inner_html() == ""


def test_play_goes_on_though_the_model_tells_of_each_move(page):
    page.evaluate(MODEL, None)
    page.locator(".wb-player").press(" ")
    assert page.locator(".wb-player").get_attribute("data-playing") == "true"
    wait_until(page, "document.querySelector('.wb-player').dataset.position === '7'")
    assert page.evaluate("model.saved") == [5, 6, 7]


@pytest.mark.parametrize("kernel", [None, {"isDisposed": True}, {"status": "dead"}])
def test_without_a_kernel_it_goes_on_stepping_and_sends_nothing(page, kernel):
    page.evaluate(MODEL, {"kernel": kernel})
    page.locator(".wb-player").press("ArrowRight")
    page.locator(".wb-player").press("ArrowRight")
    assert position(page) == "7 / 8"
    assert page.evaluate("model.saved") == []


def test_a_host_that_says_nothing_of_kernels_is_told_each_move(page):
    page.evaluate(MODEL, None)
    page.locator(".wb-player").press("End")
    assert page.evaluate("model.saved") == [7]


def test_what_is_saved_of_it_plays_without_it():
    player = Player(storyboard())
    data = player._repr_mimebundle_()
    picture = Picture(storyboard())._repr_mimebundle_()
    assert data.keys() == {"text/plain", "text/html"}
    assert data["text/plain"] == picture["text/plain"]
    assert data["text/html"] == f'<div class="wb-live {player.place}">{picture["text/html"]}</div>'


def test_it_ends_with_its_layout():
    there = widget._instances  # the public name is deprecated
    before = set(there)
    player = Player(storyboard())
    assert len(there.keys() - before) == 2
    player.close()
    player.close()
    assert there.keys() == before


def test_a_page_says_where_a_reader_stands_and_nothing_else():
    player = Player(storyboard())
    told = player.get_state(["storyboard", "place"])
    for nonsense in (-1, 8, "3", None, {}):
        player.set_state({"position": nonsense})
        assert player.position == 2
    player.set_state({"position": 5, "storyboard": {}, "place": "elsewhere"})
    assert player.position == 5 and player.get_state(["storyboard", "place"]) == told


def test_python_knows_which_box_is_selected(page):
    page.evaluate(MODEL, {"kernel": {"status": "busy", "isDisposed": False}})
    box = page.locator(".wb-box:not([data-state=future])").first
    id = box.get_attribute("data-id")
    box.click()
    assert page.evaluate("model.told") == [id]
    page.locator(".wb-player").press("Escape")
    assert page.evaluate("model.told") == [id, None]


def test_what_is_selected_has_a_name_and_an_id_and_is_in_the_picture():
    player, heard = Player(storyboard()), []
    assert player.selected is None
    player.observe(lambda change: heard.append(change["new"]), "selected")
    (id, box), *_ = storyboard().scene.boxes.items()
    player.set_state({"_selected": id})
    assert (player.selected.name, player.selected.id) == (box.title, id)
    for nonsense in ("no such box", None):
        player.set_state({"_selected": nonsense})
        assert player.selected is None
    player.set_state({"_selected": id})
    player.set_state({"_selected": 3, "selected": "x"})
    assert player.selected.id == id and len(heard) == 3
    with pytest.raises(TraitError):
        player.selected = None
