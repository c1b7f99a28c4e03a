"""A checkpoint that only torch can read takes bounded time and memory, also where no limit is given."""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from modgraph import isolation
from modgraph.errors import InputError
from modgraph.isolation import read_checkpoint_in_process
from modgraph.options import TraceOptions
from modgraph.tracing.loading.checkpoints import read_checkpoint


def archive(path: Path, pickled: bytes, compression: int = zipfile.ZIP_STORED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        made.writestr("archive/data.pkl", pickled)
        made.writestr("archive/version", "3\n")
        made.writestr("archive/byteorder", "little")
        for name, data in members.items():
            made.writestr(f"archive/{name}", data)
    return path


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def encoded(count: int, codec: str, start: bytes) -> bytes:
    """A dict whose only value is a text, encoded so many times."""
    calls = b"c_codecs\nencode\n" * count + start + (text(codec) + b"\x86R") * count
    return b"\x80\x02}" + text("w") + calls + b"s."


@pytest.mark.parametrize("codec", ["punycode", "idna", "hex_codec", "zlib", "utf-7", "rot13", "no codec", "x" * 5000])
def test_texts_are_encoded_as_pickle_does_and_in_no_other_way(tmp_path: Path, codec: str):
    path = archive(tmp_path / "net.pt", encoded(1, codec, text("abc")))
    with pytest.raises(InputError, match="it encodes a text as") as caught:
        read_checkpoint([str(path)])
    assert len(caught.value.message) < 300


def test_what_doubles_each_time_is_refused(tmp_path: Path):
    inner = b"c_codecs\nencode\n" + text("abcdefgh") + text("latin1") + b"\x86R"
    path = archive(tmp_path / "net.pt", encoded(40, "hex_codec", inner))
    with pytest.raises(InputError, match="it encodes what is no text"):
        read_checkpoint([str(path)])


def test_bytes_of_old_protocols_are_read(tmp_path: Path):
    torch.save({"w": torch.zeros(2), "about": b"\xff\x00"}, tmp_path / "net.pt")
    assert b"_codecs" in zipfile.ZipFile(tmp_path / "net.pt").read("net/data.pkl")
    assert read_checkpoint([str(tmp_path / "net.pt")])[""]["w"] == [2]


def test_what_torch_calls_is_as_it_was_afterwards(tmp_path: Path):
    from _codecs import encode

    from torch._weights_only_unpickler import _get_allowed_globals

    torch.save({"w": torch.zeros(2)}, tmp_path / "net.pt")
    read_checkpoint([str(tmp_path / "net.pt")])
    assert _get_allowed_globals()["_codecs.encode"] is encode


@pytest.mark.parametrize("member", ["data.pkl", "data/0"])
def test_a_compressed_member_is_refused_before_it_is_inflated(tmp_path: Path, member: str):
    data = bytes(100_000_000)
    path = tmp_path / "net.pt"
    if member == "data.pkl":
        archive(path, data, zipfile.ZIP_DEFLATED)
    else:
        archive(path, encoded(1, "latin1", text("a")), zipfile.ZIP_DEFLATED, **{member: data})
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match="100 MB of it are compressed"):
        read_checkpoint([str(path)])


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited")
def test_memory_has_a_limit_where_none_is_given(tmp_path: Path):
    asked = b"c__builtin__\nbytearray\n" + b"\x8a\x08" + struct.pack("<q", 1 << 33) + b"\x85R"
    path = archive(tmp_path / "net.pt", b"\x80\x02}" + text("w") + asked + b"s.")
    with pytest.raises(InputError, match="out of memory"):
        read_checkpoint_in_process([path], TraceOptions())


def test_limits_are_ours_where_none_are_given(tmp_path: Path):
    (tmp_path / "net.pt").write_bytes(b"x" * 1000)
    ours = isolation._bounded([tmp_path / "net.pt", tmp_path / "none.pt"], TraceOptions(device="fake", stats=True))
    assert (ours.timeout, ours.memory_limit) == (isolation.CHECKPOINT_SECONDS, 1000 + isolation.CHECKPOINT_BYTES)
    given = isolation._bounded([tmp_path / "net.pt"], TraceOptions(timeout=3, memory_limit=5))
    assert (given.timeout, given.memory_limit) == (3, 5)


def test_the_limit_of_time_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torch.save({"w": torch.zeros(2)}, tmp_path / "net.pt")
    worker = isolation._BOOTSTRAP.replace(
        "from modgraph.worker import main\n",
        "from modgraph.worker import main\nimport time, modgraph.worker as worker\n"
        "worker._read_checkpoint = lambda request, out: (out.say(stage='reading the checkpoint', begins=True),"
        " time.sleep(1000))\n",
    )
    monkeypatch.setattr(isolation, "_BOOTSTRAP", worker)
    monkeypatch.setattr(isolation, "CHECKPOINT_SECONDS", 0.2)
    with pytest.raises(
        InputError, match=r"the time limit of 0\.2 s was reached while reading the checkpoint"
    ) as caught:
        read_checkpoint_in_process([tmp_path / "net.pt"], TraceOptions())
    assert "--timeout" in (caught.value.hint or "")
