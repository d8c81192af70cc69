"""The wheel with Graphviz for Python in a browser, made from npm's package @viz-js/viz when a site is built.

That package starts its WebAssembly with promises, which complete only when Python yields to the browser: too late for a
picture in the first cell. A worker may start it immediately, so the words that wait are removed from its JavaScript.
"""

from __future__ import annotations

import json
import re
import tarfile
import zlib
from pathlib import Path

from ..pictures.scene.browser import FILE, PACKAGE
from .lite_wheels import metadata_folder, write_wheel

_WAITS = re.compile(r"\b(?:async|await)\b ?")
_BEGIN = "WebAssembly.instantiate(binary,imports)"
_AT_ONCE = "{instance: new WebAssembly.Instance(new WebAssembly.Module(binary), imports)}"
_VALUE = """
const viz = new Viz(Module());
return dot => viz.renderString(dot, {format: "json0"});
})()
"""


def graphviz_wheel(package: Path, folder: Path) -> Path:
    """Write the wheel into a folder, from npm's file (`.tgz`) of @viz-js/viz, and return its path.

    Raises:
        ValueError: if the file isn't this package, or is of a version that starts differently.
    """
    try:
        with tarfile.open(package) as archive:
            about, text = (_read(archive, name) for name in ("package.json", "dist/viz.js"))
        version, license = (str(json.loads(about)[key]) for key in ("version", "license"))
    except (EOFError, KeyError, OSError, TypeError, ValueError, tarfile.TarError, zlib.error) as error:
        raise ValueError(f"{package} is not npm's package @viz-js/viz: {error}") from None
    contents = {
        f"{PACKAGE}/__init__.py": f'"""Graphviz for Python in a browser: @viz-js/viz {version}."""\n',
        f"{PACKAGE}/{FILE}": javascript(text),
        f"{metadata_folder(PACKAGE, version)}/METADATA": f"Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {version}\n"
        f"Summary: Graphviz for Python in a browser: @viz-js/viz\nLicense-Expression: {license}\n",
    }
    return write_wheel(folder, PACKAGE, version, {name: content.encode() for name, content in contents.items()})


def javascript(module: str) -> str:
    """Return JavaScript for a function from DOT to JSON, made from the ES module of @viz-js/viz.

    Raises:
        ValueError: if the module starts differently from the known versions.
    """
    body, exports, _ = module.rpartition("export {")
    parts = ("function Module(", "class Viz", _BEGIN, "import.meta.url")
    missing = [part for part in parts if part not in body]
    if missing or not exports:
        raise ValueError(
            f"This version of @viz-js/viz is not known: its JavaScript has no {(missing or ['export'])[0]!r}."
        )
    body = _WAITS.sub("", body).replace(_BEGIN, _AT_ONCE).replace("import.meta.url", '""')
    return f"(() => {{\n{body}{_VALUE}"


def _read(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(f"package/{name}")
    if file is None:
        raise KeyError(name)
    return file.read().decode("utf-8")
