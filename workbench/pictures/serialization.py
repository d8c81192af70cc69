"""Tensors in files (torch.save, torch.load): NumPy's .npz, with arrays and a text, and never a pickle.

The member `structure` is JSON: how dictionaries, lists and numbers are nested, and the place of each tensor. The
members `tensor_0`, `tensor_1` … are the tensors. NumPy can read such a file without the workbench.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from collections import OrderedDict
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..autograd import dtypes
from ..autograd.levels import Lifted
from ..autograd.tensor import Parameter, Size, Tensor, wrap
from .recording import load as load_trace
from .scene.picture import write_whole

NOT_SAVED = (
    "torch.save can't save {}. A file can contain tensors, numbers, text, dtypes, and dictionaries, lists and tuples "
    "of these. For a module, save `module.state_dict()`."
)
CIRCLE = "torch.save can't save an object that contains itself or is nested a thousand levels deep."
NOT_READ = "{} isn't a file saved by the workbench's torch.save: {}."
FOREIGN = "it contains a pickle, which could run arbitrary code; in PyTorch, save NumPy arrays instead"
TOO_MUCH = "its header doesn't match its contents"
COMPRESSED = "its members are compressed"
OTHER_VERSION = "its arrays have a different version"
OTHER_KIND = "it contains an array of an unsupported kind"
CUT_SHORT = "an array is truncated"
MASK = "a bool array contains other values"
STRUCTURE = "its structure is damaged"
SEQUENCES = {"list": list, "tuple": tuple, "Size": Size}
MAPPINGS = {"dict": dict, "OrderedDict": OrderedDict}
NUMBERS = {each.np for each in dtypes.ALL}
HEADER = 1000  # bytes: more than any header of ours takes
PROBLEMS = (AttributeError, EOFError, IndexError, KeyError, OverflowError, RecursionError, RuntimeError, TypeError)
PROBLEMS += (UnicodeError, ValueError, struct.error, zipfile.BadZipFile)


def save(obj: Any, f: str | PathLike[str] | IO[bytes]) -> None:
    """Save a state dict, or other tensors, numbers and text in dicts, lists and tuples, to a file.

    If writing fails, no partial file is left. A tensor that occurs twice in `obj` is a single tensor again after
    `load`.

    Args:
        obj: The object to save, made of these types only.
        f: The path of the file, or a file opened for writing bytes.

    Raises:
        TypeError: if `obj` contains another type.
    """
    tensors: dict[int, Tensor] = {}
    try:
        structure = _plain_values(obj, tensors)
    except RecursionError:
        raise TypeError(CIRCLE) from None
    arrays = {f"tensor_{i}": t._array for i, t in enumerate(tensors.values())}
    text = np.frombuffer(json.dumps(structure).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, structure=text, **arrays)
    if isinstance(f, (str, PathLike)):
        write_whole(Path(f), content.getvalue())
    else:
        f.write(content.getvalue())


def _plain_values(thing: Any, tensors: dict[int, Tensor]) -> Any:
    """Return an object as JSON values, and collect its tensors."""
    kind = type(thing)
    if isinstance(thing, Tensor) and not isinstance(thing, Lifted):
        place = list(tensors).index(id(thing)) if id(thing) in tensors else len(tensors)
        tensors[id(thing)] = thing
        return {"tensor": place, "parameter": isinstance(thing, Parameter), "requires_grad": thing.requires_grad}
    if thing is None or kind in (bool, int, str):
        return thing
    if kind is float:
        return thing if math.isfinite(thing) else {"float": str(thing)}
    if kind is dtypes.dtype:
        return {"dtype": thing.name}  # pyright: ignore[reportAttributeAccessIssue]  its type was just compared
    if kind.__name__ in SEQUENCES and kind is SEQUENCES[kind.__name__]:
        return {kind.__name__: [_plain_values(each, tensors) for each in thing]}
    if kind.__name__ in MAPPINGS and kind is MAPPINGS[kind.__name__]:
        pairs = thing.items()  # pyright: ignore[reportAttributeAccessIssue]  its type was just compared
        return {kind.__name__: [[_plain_values(key, tensors), _plain_values(value, tensors)] for key, value in pairs]}
    raise TypeError(NOT_SAVED.format(f"a {kind.__name__}"))


def load(f: str | PathLike[str] | IO[bytes], map_location: Any = None, *, weights_only: bool | None = None) -> Any:
    """Read a file that `save` wrote, or a trace; nothing in the file is ever run.

    Args:
        f: The path of the file, or a file opened for reading bytes.
        map_location: Accepted for compatibility; it has no effect, because there is only one device.
        weights_only: Accepted for compatibility; it has no effect, because files contain only data.

    Raises:
        ValueError: if the file is of another kind.
    """
    if isinstance(f, (str, PathLike)):
        with open(f, "rb") as file:
            if file.read(2) != b"PK":
                return load_trace(f)
            return _read(file, repr(os.fspath(f)))
    return _read(f, "The file")


def _read(file: IO[bytes], name: str) -> Any:
    try:
        size = file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            members = {info.filename: info for info in archive.infolist()}
            if any([member.endswith(".pkl") for member in members]):
                raise ValueError(FOREIGN)
            if sum([info.file_size for info in members.values()]) > size:
                raise ValueError(TOO_MUCH)
            arrays = {member.removesuffix(".npy"): _array(archive, info) for member, info in members.items()}
        structure = json.loads(arrays.pop("structure").tobytes().decode())
        return _made(structure, arrays, {})
    except PROBLEMS as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__} in reading it"
        raise ValueError(NOT_READ.format(name, reason[:200])) from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Return one member as an array, allocated only after its header and its size match."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(COMPRESSED)
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(OTHER_VERSION)
        shape, fortran, kind = np.lib.format.read_array_header_1_0(member, max_header_size=HEADER)
        if kind not in NUMBERS or len(shape) > 32 or min(shape, default=0) < 0:
            raise ValueError(OTHER_KIND)
        content = member.read()
    if len(content) != math.prod(shape) * kind.itemsize:
        raise ValueError(CUT_SHORT)
    flat = np.frombuffer(bytearray(content), kind)
    if kind == np.bool_ and flat.view(np.uint8).max(initial=0) > 1:
        raise ValueError(MASK)
    return flat.reshape(shape, order="F" if fortran else "C")


def _made(thing: Any, arrays: dict[str, np.ndarray], made: dict[int, Tensor]) -> Any:
    """Return the object that JSON values describe."""
    if not isinstance(thing, dict):
        if thing is None or isinstance(thing, (bool, int, float, str)):
            return thing
        raise ValueError(STRUCTURE)
    kind = next(iter(thing), None)
    if kind == "tensor":
        place = thing["tensor"]
        if place not in made:
            t = wrap(arrays[f"tensor_{place}"])
            made[place] = Parameter(t, thing["requires_grad"]) if thing["parameter"] else t
            if thing["requires_grad"] and not thing["parameter"]:
                t.requires_grad_()
        return made[place]
    if kind == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[thing["float"]]
    if kind == "dtype":
        return dtypes.named(thing["dtype"])
    if kind in SEQUENCES:
        return SEQUENCES[kind]([_made(each, arrays, made) for each in thing[kind]])
    if kind in MAPPINGS:
        return MAPPINGS[kind]([(_made(key, arrays, made), _made(value, arrays, made)) for key, value in thing[kind]])
    raise ValueError(STRUCTURE)
