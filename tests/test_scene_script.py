"""The browser's scripts as they are sent: what only a reader of the source needs is left out, and nothing else."""

from __future__ import annotations

import base64
import gzip
import re
from importlib.resources import files

import pytest

from workbench.scene.script import bare, dense

# What is written, and what is sent.
SCRIPTS = {
    "const a = \"x = 1 ;  { no , comment }\", b = '( , )';": "const a=\"x = 1 ;  { no , comment }\",b='( , )';",
    "say(`${one} , ${two + three} ( ; )`, 1);": "say(`${one} , ${two + three} ( ; )`,1);",
    "x = a + +b - -c + d - e; i++ + j;": "x=a + +b - -c+d-e;i++ + j;",
    "text.replace(/ [\"'`] = (\\/) , /g, y), z = / + /;": "text.replace(/ [\"'`] = (\\/) , /g,y),z=/ + /;",
    "const half = (all, n) => all / n / 2; // half\nreturn half;": "const half=(all,n)=>all / n / 2;return half;",
    "things\n  .map((each) => each ?? .5)\n  .filter(Boolean);": "things.map(each=>each??.5).filter(Boolean);",
    "if (x in y) {\n  delete x;\n} else return typeof y;\n": "if(x in y){delete x}else return typeof y;",
}


@pytest.mark.parametrize("source", SCRIPTS)
def test_only_what_a_browser_needs_not_is_left_out(source):
    assert bare(source).strip() == SCRIPTS[source]


def test_no_template_of_ours_holds_another():
    for path in files("workbench").joinpath("widgets", "static").iterdir():
        if path.name.endswith(".js"):
            assert not re.search(r"\$\{[^}`]*`", path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("text", ["", "a", "ab", "abc", "<script>" * 50, "\u2067אé🙂"])
def test_dense_text_needs_no_escape_and_comes_back(text):
    packed = dense(text)
    assert not set(packed) & set('<>&"\\$`{}\n ')
    back = packed.translate(str.maketrans(",./:[]'", "<>&$`{}"))
    assert gzip.decompress(base64.b85decode(back)).decode() == text
