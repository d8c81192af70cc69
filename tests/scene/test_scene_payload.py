"""The library that a browser is sent: made of the modules and stylesheets as they are now, and harmless."""

from __future__ import annotations

import base64
import gzip
import json
import re

import pytest
import write_player

from workbench.pictures.scene.payload import compressed, inline, library

AGAIN = "its sources have changed: run `python tests/write_player.py`"


@pytest.mark.parametrize("name", write_player.FILES)
def test_what_is_sent_was_made_of_the_modules_and_stylesheets_as_they_are(name):
    head, _, text = write_player.PLACES[name].joinpath(name).read_text(encoding="utf-8").partition("\n")
    _, version, digest, _ = head.split(" ", 3)
    assert version == write_player.version(), AGAIN
    assert digest == f"{write_player.digest(text)}:", "it was changed by hand"


@pytest.mark.slow
def test_making_it_again_gives_the_same():
    if not write_player.can_make():
        pytest.skip("esbuild is not installed")
    for name, text in write_player.made().items():
        assert write_player.PLACES[name].joinpath(name).read_text(encoding="utf-8") == text, AGAIN


def test_a_change_of_any_source_changes_the_version(tmp_path, monkeypatch):
    before = write_player.version()
    for path in write_player.STATIC.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(write_player, "STATIC", tmp_path)
    assert write_player.version() == before
    sources = [path for path in tmp_path.iterdir() if path.name not in write_player.FILES]
    assert {path.suffix for path in sources} == {".js", ".css"} and len(sources) > 15
    for path in sources:
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}/**/", encoding="utf-8")
        assert write_player.version() != before, path.name
        path.write_text(text, encoding="utf-8")


def test_every_rule_of_the_stylesheet_lies_in_the_class_of_the_version():
    version, text = library()
    style = re.search(r'LIBRARY_STYLE = ("(?:[^"\\]|\\.)*");', text)
    nested = json.loads(style[1])
    assert nested.startswith(f".{version}{{") and nested.endswith("}")
    depths = [nested[: place + 1].count("{") - nested[: place + 1].count("}") for place in _braces(nested)]
    assert depths[-1] == 0 and 0 not in depths[:-1]
    assert not re.search(r"@(keyframes|font-face|property|layer|import)", nested), "its name would hold in all the page"


def _braces(text: str) -> list[int]:
    return [found.start() for found in re.finditer(r"[{}]", text)]


NEVER = "innerHTML outerHTML insertAdjacent document.write eval( import( fetch( XMLHttp </script <!--".split()


@pytest.mark.parametrize("never", NEVER)
def test_it_makes_no_markup_of_text_and_fetches_nothing(never):
    assert never not in library()[1] and never not in inline()


def test_it_names_two_addresses_which_are_never_asked_for():
    found = set(re.findall(r"https?:[^\"'`]*", library()[1]))
    assert found == {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"} and "http" not in inline()


@pytest.mark.parametrize("text", ["", "a", "<script>" * 50, "\u2067אé🙂"])
def test_packed_text_needs_no_escape_and_comes_back(text):
    packed = compressed(text)
    assert re.fullmatch(r"[\w+/=]*", packed)
    assert gzip.decompress(base64.b64decode(packed)).decode() == text
