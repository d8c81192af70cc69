"""The browser's scripts as they are sent: what only a reader of the source needs is left out, and nothing else."""

from __future__ import annotations

import base64
import gzip
import re
from importlib.resources import files

import pytest

from workbench.scene.payload import bare, dense, tight

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


# What a browser is sent, as short names leave it.
TIGHT = {
    "const a=1;const b=2;b();const c=3;": "const a=1,b=2;b();const c=3;",
    "const a=1;[x,y]=[y,x];const b=2;(x)();const c=3;": "const a=1;[x,y]=[y,x];const b=2;(x)();const c=3;",
    "const f=()=>{const a=1;const[b]=a;return b};const{g}=f;": "const f=()=>{const a=1,[b]=a;return b},{g}=f;",
    "for(const a of b)c(a);const d=1;for(const e of[d])e();": "for(const a of b)c(a);const d=1;for(const e of[d])e();",
    "const a=1\nb();const c=2;let d=1;const e=2;": "const a=1\nb();const c=2;let d=1;const e=2;",
    'x=a / b- -c+ +d;if("e" in x)return "f g";': 'x=a/b- -c+ +d;if("e"in x)return"f g";',
    "y=`a  / ${ b + c } ${ typeof d } e;const f`;": "y=`a  / ${b+c} ${typeof d} e;const f`;",
}


@pytest.mark.parametrize("source", TIGHT)
def test_spaces_and_words_that_part_nothing_are_left_out(source):
    assert tight(source) == TIGHT[source]


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
