"""The bytes of a file become text in one way only, whoever reads it: that of Python itself."""

from __future__ import annotations

import ast
import codecs
import encodings
import importlib.util
import pkgutil
from encodings.aliases import aliases
from pathlib import Path

import pytest

from modgraph.source.files import _ENCODINGS, decode, encoding_of
from modgraph.source.modules import SourceError, SourceModule, decode_source

FILES = {
    "plain": b"x = 1\n",
    "mark": b"\xef\xbb\xbfx = '\xc3\xa9'\n",
    "latin": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    "as Emacs writes it": b"# -*- coding: utf-8-unix -*-\nx = '\xc3\xa9'\n",
    "latin as Emacs writes it": b"# -*- coding: Latin_1-dos -*-\nx = '\xe9'\n",
    "its other name": b"# -*- coding: iso-8859-1-unix -*-\nx = '\xe9'\n",
    "its third name": b"# -*- coding: iso-latin-1-unix -*-\nx = '\xe9'\n",
    "marked as Emacs does": b"\xef\xbb\xbf# coding: utf-8-mac\nx = '\xc3\xa9'\n",
    "second line": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
    "far to the right": b"#" + b" " * 600 + b"coding: latin-1\nx = '\xe9'\n",
    "not in a comment": b"x = 'coding: latin-1'\nx = '\xc3\xa9'\n",
    "behind code": b"x = 1\n# coding: latin-1\nx = '\xc3\xa9'\n",
    "third line": b"\n\n# coding: latin-1\nx = '\xc3\xa9'\n",
    "old line ends": b"# coding: latin-1\rx = '\xe9'\r",
    "mark and its name": b"\xef\xbb\xbf# coding: utf-8\nx = '\xc3\xa9'\n",
}
REFUSED = {
    "another encoding than the mark": b"\xef\xbb\xbf# coding: latin-1\nx = 1\n",
    "no such encoding": b"# coding: nonsense\nx = 1\n",
    "of another name": b"# coding: cp1252-unix\nx = 1\n",
    "does not fit": b"x = 1\ny = '\xe9'\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_text_is_what_python_sees(data: bytes):
    def value(source: str | bytes) -> object:
        return ast.literal_eval(ast.parse(source).body[-1].value)  # type: ignore[attr-defined]

    assert value(decode(data)) == value(decode_source(data)) == value(data)
    assert "\r" not in decode_source(data)


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_python_refuses_is_refused(data: bytes, tmp_path: Path):
    with pytest.raises(SyntaxError):
        ast.parse(data)
    with pytest.raises(SyntaxError) as one:
        decode(data)
    with pytest.raises(SyntaxError) as other:
        decode_source(data)
    assert one.value.msg == other.value.msg
    path = tmp_path / "model.py"
    path.write_bytes(data)
    with pytest.raises(SourceError) as told:
        _ = SourceModule("model", path, "model.py", is_package=False).text
    assert (told.value.message, told.value.line) == (one.value.msg, one.value.lineno or 1)


NOT_PLAIN = [
    "punycode",
    "idna",
    "unicode_escape",
    "raw-unicode-escape",
    "rot13",
    "hex",
    "zip",
    "undefined",
    "mbcs",
    "charmap",
]


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_an_encoding_that_is_not_plain_text_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch):
    """Its decoder may take the square of the length; and looking it up imports a module that the source chose."""
    monkeypatch.setattr(codecs, "lookup", lambda name: pytest.fail(name))
    with pytest.raises(SyntaxError, match=f"unknown encoding: {name}"):
        decode(f"# coding: {name}\nx = 1\n".encode())


@pytest.mark.parametrize("module", sorted(_ENCODINGS))
def test_every_name_of_an_encoding_means_what_python_means(module: str):
    assert importlib.util.find_spec(f"encodings.{module}") is not None
    for name in (module, *(alias for alias, meant in aliases.items() if meant == module and alias.islower())):
        for written in (name, name.upper(), name.replace("_", "-")):
            declared = f"# coding: {written}\n".encode()
            assert encoding_of(declared) == codecs.lookup(written).name


def test_encodings_of_text_are_all_known():
    """Those of Python that a table or a state machine decodes."""
    other = {"aliases", "bz2_codec", "base64_codec", "charmap", "hex_codec", "idna", "mbcs", "oem", "punycode"}
    other |= {"quopri_codec", "raw_unicode_escape", "rot_13", "undefined", "unicode_escape", "uu_codec", "zlib_codec"}
    of_windows = {"cp65001"}
    found = {module.name for module in pkgutil.iter_modules(encodings.__path__)}
    assert found - other - of_windows - _ENCODINGS <= {"_win_cp_codecs"}
