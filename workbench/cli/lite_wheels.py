"""Wheels of installed Python packages, for Python in a browser, which can't run their compiled parts.

A package's metadata list its dependencies, evaluated for a machine like the browser.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import workbench
from workbench.cli import errors
from workbench.cli.errors import CommandError

_BROWSER = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_system": "Emscripten",
    "python_full_version": "3.13.2",
    "python_version": "3.13",
    "sys_platform": "emscripten",
}
_COMPILED = {".so", ".pyd", ".dylib"}
_OF_THE_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
_THEN = (1980, 1, 1, 0, 0, 0)  # when each file in a wheel was written: the same files make the same wheel
_WHEEL = "Wheel-Version: 1.0\nGenerator: workbench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def installed_wheels(names: Iterable[str], elsewhere: Iterable[str], place: Path) -> None:
    """Write into `place` the wheels of these packages and of all dependencies, except those that come from elsewhere.

    Raises:
        CommandError: if a package isn't installed.
    """
    seen, waiting = {canonicalize_name(name) for name in elsewhere}, list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise CommandError(errors.NOT_INSTALLED.format(name)) from None
        if not _has_known_files(found):
            raise CommandError(errors.NO_RECORD.format(name))
        waiting += _needs(found)
        write_wheel(place, found.name, found.version, _files_of(found))


def _needs(found: Distribution) -> list[str]:
    asked = [Requirement(each) for each in found.requires or []]
    return [each.name for each in asked if each.marker is None or each.marker.evaluate({**_BROWSER, "extra": ""})]


def _has_known_files(found: Distribution) -> bool:
    """Return True if the files of a package are known: not without a RECORD, nor for an editable install."""
    if found.files is None:
        return False
    code = [file for file in found.files if not file.parts[0].endswith(".dist-info")]
    return not code or any(file.suffix != ".pth" and not file.name.startswith("__editable__") for file in code)


def _files_of(found: Distribution) -> dict[str, bytes]:
    """Return the files of a package by their places in its wheel, without those that another program wrote.

    Compiled files are left out too.
    """
    files = {}
    for file in found.files or []:
        inside = file.parts[0] != ".." and not Path(file).is_absolute() and "__pycache__" not in file.parts
        if inside and file.suffix not in _COMPILED and file.name not in _OF_THE_INSTALLER:
            in_metadata = len(file.parts) > 1 and file.parts[0].endswith(".dist-info")
            # The folder of the metadata is called as the wheel is.
            place = (
                "/".join((metadata_folder(found.name, found.version), *file.parts[1:])) if in_metadata else str(file)
            )
            files[place] = Path(str(found.locate_file(file))).read_bytes()
    return files


def own_wheel(place: Path) -> None:
    """Write the workbench's own wheel, without the lessons: the site has them as notebooks."""
    package = Path(workbench.__file__).parent
    files = {
        file.relative_to(package.parent).as_posix(): file.read_bytes()
        for file in sorted(package.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts and package / "lessons" not in file.parents
    }
    name, version = "autograd-workbench", workbench.__version__
    said = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    write_wheel(place, name, version, {**files, f"{metadata_folder(name, version)}/METADATA": said.encode()})


def write_wheel(place: Path, name: str, version: str, files: Mapping[str, bytes]) -> Path:
    """Write a wheel of these files into a folder and return its path; the same files give the same wheel."""
    metadata = metadata_folder(name, version)
    whole = {**files, f"{metadata}/WHEEL": _WHEEL.encode()}
    lines = [f"{file},sha256={_digest(text)},{len(text)}\n" for file, text in whole.items()]
    record = f"{metadata}/RECORD"
    whole[record] = "".join([*lines, f"{record},,\n"]).encode()
    path = place / f"{_stem(name, version)}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, text in whole.items():
            wheel.writestr(zipfile.ZipInfo(file, _THEN), text, zipfile.ZIP_DEFLATED)
    return path


def _digest(text: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


def _stem(name: str, version: str) -> str:
    return f"{canonicalize_name(name).replace('-', '_')}-{version}"


def metadata_folder(name: str, version: str) -> str:
    """Return the metadata folder of a wheel."""
    return f"{_stem(name, version)}.dist-info"
