"""torch.save and torch.load: what comes back, what is not kept, files that are not what they seem."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import compare, same

import workbench as w


@same
def test_the_state_of_a_module(torch: Any) -> Any:
    net, other = (torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)) for _ in range(2))
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    state = torch.load(file)
    x = torch.ones(4, 2)
    keys = other.load_state_dict(state)
    return type(state).__name__, list(state), str(keys), torch.equal(net(x), other(x)), state["0.weight"].requires_grad


NESTS = {
    "numbers": lambda t: [1, -(2**70), 2.5, True, None, "text", float("inf"), -float("inf"), 0.1 + 0.2],
    "nan": lambda t: {"loss": float("nan")},
    "keys": lambda t: list({1: "a", "b": 2, (1, 2): 3, None: 4, 1.5: 5}.items()),
    "sequences": lambda t: ((), [], (1,), [[1], (2, [3])], t.Size([2, 3])),
    "dtypes": lambda t: {kind: t.ones(2, dtype=getattr(t, kind)) for kind in ("bool", "uint8", "int32", "float16")},
    "shapes": lambda t: [t.zeros(0, 3), t.tensor(2.5), t.arange(6).reshape(2, 3).t(), t.arange(6)[::2]],
    "a dtype": lambda t: [t.float64, t.int64],
    "requires grad": lambda t: [t.ones(2, requires_grad=True), t.ones(2), (t.ones(2, requires_grad=True) * 2).detach()],
    "a parameter": lambda t: {"p": t.nn.Parameter(t.ones(2)), "q": t.nn.Parameter(t.ones(2), requires_grad=False)},
}


@pytest.mark.parametrize("name", NESTS)
def test_a_nest(name: str) -> None:
    def program(torch: Any) -> Any:
        file = io.BytesIO()
        torch.save(NESTS[name](torch), file)
        file.seek(0)
        return torch.load(file, map_location="cpu", weights_only=True)

    compare(program)


def test_one_tensor_in_two_places_is_one_again(tmp_path: Path) -> None:
    t = w.arange(3.0)
    w.save({"a": t, "b": [t], "c": t.clone()}, tmp_path / "x.pt")
    found = w.load(str(tmp_path / "x.pt"))
    assert found["a"] is found["b"][0]
    assert found["a"] is not found["c"]
    found["a"].add_(1)  # what comes back can be written to
    assert found["a"].tolist() == [1.0, 2.0, 3.0]
    assert t.tolist() == [0.0, 1.0, 2.0]


def test_numpy_reads_the_file_and_finds_no_pickle(tmp_path: Path) -> None:
    w.save({"weight": w.ones(2, 2)}, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        assert file["tensor_0"].tolist() == [[1, 1], [1, 1]]
        assert json.loads(file["structure"].tobytes())["dict"][0][0] == "weight"


def test_keys_of_every_kind() -> None:
    given = {1: "a", "b": 2, (1, 2): 3, None: 4, 1.5: 5, w.float32: 6}
    file = io.BytesIO()
    w.save(given, file)
    assert w.load(file) == given


def test_a_trace_is_loaded_as_before(tmp_path: Path) -> None:
    with w.record() as trace:
        w.ones(2, requires_grad=True).sum().backward()
    trace.save(tmp_path / "x.json")
    assert repr(w.load(tmp_path / "x.json")) == repr(trace)


class Thing:
    """Something that a file cannot hold."""


REFUSED = {
    "Thing": lambda: {"a": [Thing()]},
    "Linear": lambda: w.nn.Linear(2, 1),
    "ndarray": lambda: np.ones(2),
    "set": lambda: {1, 2},
    "complex": lambda: 1j,
    "function": lambda: print and test_what_cannot_be_kept,
    "float64": lambda: np.float64(2.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_text("before")
    with pytest.raises(TypeError, match=f"^torch.save can't save a {name}. A file can contain tensors, "):
        w.save(REFUSED[name](), tmp_path / "x.pt")
    assert (tmp_path / "x.pt").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_holds_itself_and_what_a_transform_holds() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="contains itself"):
        w.save(circle, io.BytesIO())
    with pytest.raises(TypeError, match="torch.save can't save a"):
        w.vmap(lambda t: w.save(t, io.BytesIO()))(w.ones(2))


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pt"
    w.save([1], path)

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            w.save([2], path)
    assert w.load(path) == [1]
    assert len(list(tmp_path.iterdir())) == 1


def member(array: np.ndarray) -> bytes:
    """An array as NumPy's file holds it."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def told(structure: Any) -> bytes:
    """A structure as the file holds it."""
    return member(np.frombuffer(json.dumps(structure).encode(), np.uint8))


def header(shape: str, kind: str = "<f8", content: bytes = b"") -> bytes:
    """An array with a header of one's own."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


TENSOR = {"tensor": 0, "parameter": False, "requires_grad": False}
HOSTILE = {
    "a pickle": {"data.pkl": pickle.dumps(1), "structure.npy": told(1)},
    "a pickled array": {"structure.npy": told(TENSOR), "tensor_0.npy": member(np.array([Thing], object))},
    "no structure": {"tensor_0.npy": member(np.ones(2))},
    "no tensor": {"structure.npy": told(TENSOR)},
    "no JSON": {"structure.npy": member(np.frombuffer(b"[1, 2", np.uint8))},
    "another kind": {"structure.npy": told({"eval": "1"})},
    "a bare list": {"structure.npy": told([1])},
    "an empty object": {"structure.npy": told({})},
    "text as a tensor": {"structure.npy": told(TENSOR), "tensor_0.npy": member(np.array("a"))},
    "an array of structures": {"structure.npy": told(TENSOR), "tensor_0.npy": member(np.zeros(2, "i4,f4"))},
    "a huge array": {"structure.npy": told(TENSOR), "tensor_0.npy": header("(10000000000000,)")},
    "a negative size": {"structure.npy": told(TENSOR), "tensor_0.npy": header("(-1,)")},
    "a cut array": {"structure.npy": told(TENSOR), "tensor_0.npy": header("(4,)", content=b"1234")},
    "too many dimensions": {"structure.npy": told(TENSOR), "tensor_0.npy": header(str((1,) * 99), content=b"12345678")},
    "a mask of threes": {"structure.npy": told(TENSOR), "tensor_0.npy": header("(1,)", "|b1", b"\x03")},
    "integers that require grad": {
        "structure.npy": told(TENSOR | {"requires_grad": True}),
        "tensor_0.npy": member(np.ones(2, np.int64)),
    },
    "keys that cannot be keys": {"structure.npy": told({"dict": [[{"list": []}, 1]]})},
    "deep": {"structure.npy": member(np.frombuffer(b'{"list": [' * 50_000 + b"]}" * 50_000, np.uint8))},
    "no array": {"structure.npy": b"structure"},
    "a dtype that is none": {"structure.npy": told({"dtype": "__class__"})},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        for each, content in HOSTILE[name].items():
            archive.writestr(each, content)
    with pytest.raises(ValueError, match="isn't a file saved by the workbench's torch.save: ") as caught:
        w.load(tmp_path / "x.pt")
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def test_a_bomb_and_a_file_cut_short(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("structure.npy", told(TENSOR))
        archive.writestr("tensor_0.npy", member(np.zeros(10_000_000)))
    with pytest.raises(ValueError, match="its header doesn't match its contents"):
        w.load(tmp_path / "bomb.pt")
    w.save({"a": w.ones(100)}, tmp_path / "x.pt")
    whole = (tmp_path / "x.pt").read_bytes()
    for end in range(2, len(whole), 37):
        (tmp_path / "x.pt").write_bytes(whole[:end])
        with pytest.raises(ValueError, match="isn't a file saved by"):
            w.load(tmp_path / "x.pt")


def test_a_byte_changed_anywhere_is_refused_or_read(tmp_path: Path) -> None:
    w.save({"a": w.ones(3), "b": 2}, tmp_path / "x.pt")
    whole = (tmp_path / "x.pt").read_bytes()
    for place in range(2, len(whole), 3):
        file = io.BytesIO(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            w.load(file)
        except ValueError as error:
            assert str(error).startswith("The file isn't a file saved by")
