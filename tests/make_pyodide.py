"""Make the folder from which a site runs Python in a test: `python tests/make_pyodide.py FOLDER NUMPY.whl`.

npm has Pyodide's own files and Graphviz for a browser, pip has micropip; a NumPy for Pyodide is nowhere there, so
that is given. Pyodide's list of packages is cut down to these, with what their files are.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

PYODIDE, GRAPHVIZ = "pyodide@0.29.0", "@viz-js/viz@3.31.0"
PYTHON = "3.13"


def make(folder: Path, numpy: Path) -> None:
    """Fill a new folder."""
    folder.mkdir(parents=True)
    subprocess.run(["npm", "pack", "--silent", "--pack-destination", folder, PYODIDE, GRAPHVIZ], check=True)
    (archive,) = folder.glob("pyodide-*.tgz")
    with tarfile.open(archive) as packed:
        for name in ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"):
            member = packed.extractfile(f"package/{name}")
            assert member is not None, f"{archive} has no {name}"
            (folder / name).write_bytes(member.read())
    archive.unlink()
    lock = json.loads((folder / "pyodide-lock.json").read_text())
    packages = {name: lock["packages"][name] for name in ("numpy", "micropip", "packaging")}
    shutil.copy(numpy, folder / packages["numpy"]["file_name"])
    wanted = [f"{name}=={packages[name]['version']}" for name in ("micropip", "packaging")]
    options = ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON, "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *options, *wanted], check=True)
    for each in packages.values():
        each["sha256"] = hashlib.sha256((folder / each["file_name"]).read_bytes()).hexdigest()
    (folder / "pyodide-lock.json").write_text(json.dumps(lock | {"packages": packages}))


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
