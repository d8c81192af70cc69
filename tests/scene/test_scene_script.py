"""The browser's scripts as they are sent: what only a reader of the source needs is left out, and nothing else."""

from __future__ import annotations

import base64
import gzip
import re
from importlib.resources import files

import pytest

from workbench.scene.payload import bare, dense, tight, with_texts_once

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
    "const a=1;const b=2;b();const c=3;": "let a=1,b=2;b();let c=3;",
    "const a=1;[x,y]=[y,x];const b=2;(x)();const c=3;": "let a=1;[x,y]=[y,x];let b=2;(x)();let c=3;",
    "const f=()=>{const a=1;const[b]=a;return b};const{g}=f;": "let f=()=>{let a=1,[b]=a;return b},{g}=f;",
    "for(const a of b)c(a);const d=1;for(const e of[d])e();": "for(let a of b)c(a);let d=1;for(let e of[d])e();",
    "const a=1\nb();const c=2;let d=1;const e=2;": "let a=1\nb();let c=2,d=1,e=2;",
    'f({a:true});return false||"true";': 'f({a:!0});return!1||"true";',
    'x=a / b- -c+ +d;if("e" in x)return "f g";': 'x=a/b- -c+ +d;if("e"in x)return"f g";',
    "y=`a  / ${ b + c } ${ typeof d } e;const f`;": "y=`a  / ${b+c} ${typeof d} e;const f`;",
}


@pytest.mark.parametrize("source", TIGHT)
def test_spaces_and_words_that_part_nothing_are_left_out(source):
    assert tight(source) == TIGHT[source]


# Texts that a script has several times, and where they stand then.
REPEATED = {
    'f("a longer text");g("a longer text");': 'let a="a longer text";f( a );g( a );',
    'f("a","a","a");': 'f("a","a","a");',
    'f({"a text":1,b:c?"a text":2});case "a text":return"a text"':
        'let a="a text";f({[a]:1,b:c? a :2});case  a :return a ',
    'a("a text");x=/a text/;y="a text"+`"a text" ${f("a text")}`;':
        'let b="a text";a( b );x=/a text/;y= b +`"a text" ${f( b )}`;',
}  # fmt: skip


@pytest.mark.parametrize("source", REPEATED)
def test_a_text_that_a_script_has_several_times_stands_in_it_once(source):
    assert with_texts_once(source) == REPEATED[source]


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
