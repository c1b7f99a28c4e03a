"""What a file is: told by its content, and listed from one table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.errors import TargetError
from modgraph.source.kinds import (
    CONFIG,
    GGUF,
    GRAPH,
    INDEX,
    KINDS,
    NOTEBOOK,
    ONNX,
    SAFETENSORS,
    SHORT,
    kind_of,
    saved_file,
)

ROOT = Path(__file__).parents[2]


def test_the_guide_has_every_kind_in_its_words():
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\S+)` \| (.+?) \| (.+) \|$", guide.partition("### What can be named")[2], re.MULTILINE)
    assert rows[: len(KINDS)] == [(kind.example, kind.called, kind.said) for kind in KINDS]


def test_help_and_the_error_for_none_of_them_list_every_kind(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "--help"]) == 0
    helped = " ".join(capsys.readouterr().out.split())
    Path("notes.txt").write_text("words")
    assert main(["analyze", "notes.txt"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert SHORT in helped
    for kind in KINDS:
        assert kind.example in said


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"GGUF" + bytes(40), GGUF),
        (b"\x02" + bytes(7) + b"{}", SAFETENSORS),
        (json.dumps({"schema": "modgraph/1"}).encode(), GRAPH),
        (json.dumps({"metadata": {}, "weight_map": {"a": "b"}}).encode(), INDEX),
        (json.dumps({"cells": [], "nbformat": 4}).encode(), NOTEBOOK),
        (json.dumps({"_class_name": "Net"}).encode(), CONFIG),
        (b"\x08\x08\x12\x07pytorch", ONNX),
    ],
)
def test_a_name_that_says_nothing_does_not_matter(tmp_path: Path, content: bytes, kind: object):
    file = tmp_path / "unnamed"
    file.write_bytes(content)
    assert kind_of(file) is kind


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("net.h5", b"\x89HDF\r\n\x1a\n" + bytes(50), "it is an HDF5 file"),
        (
            "net.pt",
            b"version https://git-lfs.github.com/spec/v1\n",
            "is no checkpoint of PyTorch: it is a pointer of Git LFS",
        ),
        ("net.safetensors", b"hello", "is no safetensors file: it is a text of another kind"),
        ("net.gguf", b"", "is no GGUF file: it is empty"),
        ("data.bin", bytes(range(256)), "of no kind that is known here"),
    ],
)
def test_what_is_none_of_them_is_said_by_what_it_is(tmp_path: Path, name: str, content: bytes, said: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TargetError) as caught:
        saved_file(name, cwd=tmp_path)
    assert said in caught.value.message
    assert caught.value.hint
