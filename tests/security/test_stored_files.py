"""Weights, exported programs and notebooks that lie about themselves: one clear error, in bounded work, and nothing runs."""

from __future__ import annotations

import importlib.util
import io
import json
import pickle
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main
from modgraph.errors import ModgraphError
from modgraph.source import notebooks
from modgraph.stored import contents, pickles, tree


def _written() -> Any:
    file = Path(__file__).parents[1] / "stored" / "written.py"
    spec = importlib.util.spec_from_file_location("written_hostile", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["written_hostile"] = module
    spec.loader.exec_module(module)
    return module


written = _written()
MOST_MEMORY = 150_000_000
"""Bytes that refusing any of these may take."""


def archive(path: Path, members: dict[str, bytes], packed: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", packed) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def refused(path: Path) -> str:
    """What is said of a file that is not read; fails where it is read, or takes much."""
    tracemalloc.start()
    try:
        with pytest.raises(ModgraphError) as caught:
            modgraph.load(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()
    return caught.value.message


def test_a_gguf_that_claims_more_than_there_can_be(tmp_path: Path):
    path = tmp_path / "net.gguf"
    assert "claims 1,152,921,504,606,846,976 tensors" in refused(written.gguf(path, [], counts=(2**60, 0)))
    assert "claims" in refused(written.gguf(path, [], counts=(0, 2**60)))
    assert "cut off" in refused(written.gguf(path, [], counts=(1_000, 0), data=0))
    assert "cut off" in refused(written.gguf(path, [("w", [2**40], 0, 0)]))
    assert "more elements than" in refused(written.gguf(path, [("w", [2**62, 2**62], 0, 0)]))
    assert "twice" in refused(written.gguf(path, [("w", [2], 0, 0), ("w", [2], 0, 0)]))
    assert "dimensions" in refused(_with_dimensions(path))
    long_name = [written.entry("k", 8, struct.pack("<Q", 2**60))]
    assert "cut off" in refused(written.gguf(path, [], long_name))
    many = [written.entry("k", 9, struct.pack("<IQ", 8, 2**60))]
    assert "texts in lists" in refused(written.gguf(path, [], many))
    wide = [written.entry("k", 9, struct.pack("<IQ", 10, 2**61))]
    assert "cut off" in refused(written.gguf(path, [], wide))


def _with_dimensions(path: Path) -> Path:
    path.write_bytes(
        b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + written.text("w") + struct.pack("<I", 2**32 - 1) + bytes(64)
    )
    return path


def test_a_lying_safetensors_header(tmp_path: Path):
    path = tmp_path / "net.safetensors"
    for length in (2**63, 2**27, 500):
        path.write_bytes(struct.pack("<Q", length) + b"{}" + bytes(50))
        assert "safetensors" in refused(path)
    path.write_bytes(struct.pack("<Q", 2) + b"{}" + bytes(50))
    assert "belong to none" in refused(path)
    written.safetensors(path, {"w": ("F32", [2**40], 4)})
    assert "has not the size of its shape" in refused(path)


def test_zip_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from modgraph.stored import exported_programs, torch_files

    monkeypatch.setattr(torch_files, "MAX_PICKLE", 1_000_000)
    monkeypatch.setattr(exported_programs, "MAX_PROGRAM", 1_000_000)
    bomb = bytes(20_000_000)
    path = archive(tmp_path / "net.pt", {"net/data.pkl": bomb, "net/version": b"3"}, zipfile.ZIP_DEFLATED)
    assert "data.pkl in it is larger than 1 MB" in refused(path)
    path = archive(tmp_path / "net.pt2", {"net/models/model.json": bomb, "net/v": b""}, zipfile.ZIP_DEFLATED)
    assert "is larger than 1 MB" in refused(path)


def test_an_archive_whose_directory_lies(tmp_path: Path):
    path = archive(tmp_path / "net.pt", {"net/data.pkl": b"x", "net/version": b"3"})
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<I", 2**31)  # how long the directory is
    path.write_bytes(data)
    assert "damaged" in refused(path)
    path.write_bytes(bytes(data[:end]))
    assert "its end is missing" in refused(path)
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "its end is missing" in refused(path)


def instructions(*parts: bytes) -> bytes:
    return b"\x80\x02" + b"".join(parts) + b"."


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02",
        b"\x80\x02.",
        instructions(b"0"),
        instructions(b"a"),
        instructions(b"h\x07"),
        instructions(b"(((("),
        instructions(b"t"),
        instructions(b"}(K\x01u"),
        instructions(b"X\xff\xff\xff\x7fabc"),
        instructions(b"\x8a\xff" + b"\xff" * 10),
        instructions(b"I" + b"9" * 5000 + b"\n"),
        instructions(b"}", b")" * 1, b"\x85" * 200_000, b"K\x01s"),
        instructions(b"]" + b"2a" * 3),
    ],
)
def test_broken_and_strange_pickles_end_in_an_error(tmp_path: Path, data: bytes):
    (tmp_path / "net.pt").write_bytes(data)
    assert refused(tmp_path / "net.pt")


def test_a_pickle_with_too_many_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pickles, "MAX_OPCODES", 1_000)
    (tmp_path / "net.pt").write_bytes(instructions(b"N" * 2_000))
    assert "more than 1,000 instructions" in refused(tmp_path / "net.pt")


def test_lists_within_lists_cost_what_they_are_written_with(tmp_path: Path):
    """Each of fifty lists holds the one before twice: 2**50 of them if they were followed one by one."""
    doubling = b"]q\x00" + b"".join(b"](h" + bytes([n]) + b"h" + bytes([n]) + b"eq" + bytes([n + 1]) for n in range(50))
    (tmp_path / "net.pt").write_bytes(instructions(doubling))
    assert "no state dict" in refused(tmp_path / "net.pt")


def test_a_module_that_holds_itself_and_modules_without_end(tmp_path: Path):
    held = b"}(X\x08\x00\x00\x00_modulesh\x01X\x0b\x00\x00\x00_parameters}X\x08\x00\x00\x00_buffers}u"
    itself = b"cmodel\nNet\n)\x81q\x00" + b"}q\x01X\x01\x00\x00\x00xh\x00s0" + b"h\x00" + held + b"b"
    (tmp_path / "net.pt").write_bytes(instructions(itself))
    graph = modgraph.load(tmp_path / "net.pt")
    assert [(node.path, node.alias_of) for node in graph.modules] == [("", None), ("x", "")]


def test_names_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    deep = ".".join("a" * 20_000) + ".w"
    graph = modgraph.load(written.safetensors(tmp_path / "net.safetensors", {deep: ("U8", [1], 1)}))
    assert len(graph.modules) == 1
    monkeypatch.setattr(tree, "MAX_TENSORS", 50)
    wide = {f"m{number}.w": ("U8", [1], 1) for number in range(60)}
    assert "more than 50 modules" in refused(written.safetensors(tmp_path / "net.safetensors", wide))
    assert contents.MAX_TENSORS == 200_000


def test_a_json_of_two_gigabytes_is_not_read(tmp_path: Path):
    for name in ("net.json", "net.ipynb", "net.safetensors.index.json"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(b'{"cells": [')
            file.truncate(2_100_000_000)
        assert refused(path) or name == "net.ipynb"


def _notebook(path: Path, cells: list[str], **about: Any) -> Path:
    made = [{"cell_type": "code", "source": text, "metadata": {}} for text in cells]
    path.write_text(json.dumps({"nbformat": 4, "metadata": about, "cells": made}))
    return path


def test_a_notebook_of_a_million_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.ipynb").write_bytes(
        b'{"nbformat": 4, "cells": [' + b",".join([b'{"cell_type":"code"}'] * 1_000_000) + b"]}"
    )
    assert main(["analyze", "net.ipynb", "--static"]) == 2
    assert "1,000,000 cells, and at most 20,000 are read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no notebook"),
        (b"[]", "it has no cells"),
        (b'{"cells": 3}', "it has no cells"),
        (b'{"cells": [1, null, {"cell_type": "code", "source": [1, null]}]}', None),
        (b'{"cells": [], "metadata": {"language_info": {"name": "R"}}}', "in R, not in Python"),
        (b"[" * 100_000, "no notebook"),
        (b"\xff\xfe", "no notebook"),
    ],
)
def test_notebooks_that_are_none(data: bytes, said: str | None):
    if said is None:
        assert notebooks.read_notebook(data).text.strip() == ""
        return
    with pytest.raises(notebooks.NotebookError, match=said):
        notebooks.read_notebook(data)


def test_code_beside_a_configuration_is_read_and_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "remote"
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps({"architectures": ["Net"], "auto_map": {"AutoModel": "modeling.Net"}, "width": 3})
    )
    (folder / "modeling.py").write_text(
        f"open({str(tmp_path / 'marker')!r}, 'w').write('ran')\nfrom torch import nn\n"
        "class Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
        "        self.a = nn.Linear(width, width)\n"
    )
    graph = modgraph.analyze("remote", static=True)
    assert [node.path for node in graph.modules] == ["", "a"]
    assert graph.modules[1].parameters[0].shape == (3, 3)
    assert not (tmp_path / "marker").exists()


def test_a_configuration_names_no_file_outside_of_its_folder(tmp_path: Path):
    folder = tmp_path / "remote"
    folder.mkdir()
    (tmp_path / "outside.py").write_text("class Net: pass\n")
    for mapped in ("../outside.Net", "/etc/passwd.Net", "..outside.Net"):
        (folder / "config.json").write_text(json.dumps({"architectures": ["Net"], "auto_map": {"AutoModel": mapped}}))
        with pytest.raises(ModgraphError, match="names the class Net, which no file"):
            modgraph.predict(str(folder), path=[str(folder)])


def test_pickles_are_not_loaded_by_the_readers():
    for file in (Path(modgraph.__file__).parent / "stored").glob("*.py"):
        assert "pickle.load" not in file.read_text()
    assert pickles.read_pickle(pickle.dumps([1, "a", None, (2, 3)])) == [1, "a", None, (2, 3)]
    assert pickles.read_pickle(io.BytesIO(pickle.dumps({"a": {1, 2}}))) is not None
