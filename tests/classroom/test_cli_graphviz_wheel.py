"""The wheel with Graphviz for a browser: what becomes of npm's package, and what is refused."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from workbench.cli.graphviz_wheel import graphviz_wheel, javascript
from workbench.pictures.scene import browser

# As @viz-js/viz begins.
MODULE = """
async function Module(moduleArg={}){var Module=moduleArg;var _scriptName=import.meta.url;
async function instantiateArrayBuffer(imports){var binary=await findWasmBinary();
var instance=await WebAssembly.instantiate(binary,imports);return instance}
var load=async url=>{await instantiateAsync(url)};var result=await instantiateArrayBuffer({});
Module["instance"]=result["instance"];return Module;
function findWasmBinary(){return new Uint8Array([0,97,115,109,1,0,0,0])}}
class Viz { constructor(module) { this.module = module; }
renderString(dot, options) { return `${dot} as ${options.format}, ${typeof this.module.instance}`; } }
function instance() { return Module().then(m => new Viz(m)); }
export { instance };
"""


def package(path: Path, text: str) -> Path:
    files = {"package.json": json.dumps({"version": "3.31.0", "license": "MIT"}), "dist/viz.js": text}
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(f"package/{name}")
            about.size = len(content.encode())
            archive.addfile(about, io.BytesIO(content.encode()))
    return path


@pytest.mark.slow
def test_the_wheel_can_be_installed_and_is_found_where_a_picture_looks_for_it(tmp_path: Path) -> None:
    wheel = graphviz_wheel(package(tmp_path / "viz.tgz", MODULE), tmp_path)
    assert wheel.name == "workbench_graphviz-3.31.0-py3-none-any.whl"
    into = ["--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(tmp_path / "site")]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *into, str(wheel)], check=True)
    found = tmp_path / "site" / browser.PACKAGE / browser.FILE
    assert found.read_text("utf-8") == javascript(MODULE)
    again = tmp_path / "again"
    again.mkdir()
    assert graphviz_wheel(tmp_path / "viz.tgz", again).read_bytes() == wheel.read_bytes()


def test_the_javascript_waits_for_nothing() -> None:
    text = javascript(MODULE)
    assert "await" not in text and "async " not in text and "export" not in text and "instantiateAsync(url)" in text


@pytest.mark.parametrize("part", ["function Module(", "class Viz", "WebAssembly.instantiate(binary,imports)", "export"])
def test_a_version_that_begins_otherwise_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="^This version of @viz-js/viz is not known: its JavaScript has no '"):
        javascript(MODULE.replace(part, "something"))


def test_what_is_no_such_package_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.tgz"
    other.write_text("no archive")
    with pytest.raises(ValueError, match="other.tgz is not npm's package @viz-js/viz"):
        graphviz_wheel(other, tmp_path)
    with tarfile.open(other, "w:gz") as archive:
        archive.add(__file__, "package/package.json")
    with pytest.raises(ValueError, match="other.tgz is not npm's package @viz-js/viz"):
        graphviz_wheel(other, tmp_path)


def test_half_of_the_file_is_refused(tmp_path: Path) -> None:
    whole = package(
        tmp_path / "viz.tgz", MODULE + "".join(f"// {7919 * n % 10007}\n" for n in range(9000))
    ).read_bytes()
    for count in range(0, len(whole) - 600, 997):
        (tmp_path / "half.tgz").write_bytes(whole[:count])
        with pytest.raises(ValueError, match="half.tgz is not npm's package @viz-js/viz: "):
            graphviz_wheel(tmp_path / "half.tgz", tmp_path)
    (tmp_path / "half.tgz").write_bytes(whole[:600] + b"\0" * 300 + whole[900:])
    with pytest.raises(ValueError, match="half.tgz is not npm's package"):
        graphviz_wheel(tmp_path / "half.tgz", tmp_path)
