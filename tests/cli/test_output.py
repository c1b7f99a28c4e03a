"""Where `-o` and `--format` say that a result goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from modgraph.cli.output import destination
from modgraph.errors import ConfigError, ExportError
from modgraph.export import FORMATS

DEFAULT = ("svg", "json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "there.svg").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("output", "formats", "directory", "written", "asked"),
    [
        (None, None, "modgraph-out", DEFAULT, False),
        (None, "json", "modgraph-out", ("json",), True),
        ("build", None, "build", DEFAULT, False),
        ("build", "png,png,dot", "build", ("png", "dot"), True),
        ("out.d/", "json", "out.d", ("json",), True),
        ("net.html/", None, "net.html", DEFAULT, False),
        ("there.svg", "json", "there.svg", ("json",), True),
        (".", None, ".", DEFAULT, False),
        (".hidden", None, ".hidden", DEFAULT, False),
    ],
)
def test_a_directory(output, formats, directory, written, asked):
    where = destination(output, formats, default=DEFAULT)
    assert (where.directory, where.file, where.stdout) == (Path(directory), None, False)
    assert (where.formats, where.asked) == (written, asked)


@pytest.mark.parametrize(
    ("output", "formats", "written"),
    [
        ("net.svg", None, "svg"),
        ("net.SVG", "svg", "svg"),
        ("net.txt", None, "text"),
        ("net.txt", "text", "text"),
        ("build/net.v2.json", None, "json"),
    ],
)
def test_a_file(output, formats, written):
    where = destination(output, formats, default=DEFAULT)
    assert (where.directory, where.file, where.stdout) == (None, Path(output), False)
    assert (where.formats, where.asked) == ((written,), True)


def test_standard_output():
    assert destination("-", None, default=DEFAULT).formats == ("json",)
    where = destination("-", "dot", default=DEFAULT)
    assert (where.directory, where.file, where.stdout, where.formats) == (None, None, True, ("dot",))


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices as files")
def test_a_device_is_a_file_of_the_format_that_was_asked_for():
    where = destination("/dev/null", "json", default=DEFAULT)
    assert (where.file, where.formats) == (Path("/dev/null"), ("json",))


@pytest.mark.parametrize("formats", [None, "json", "svg"])
@pytest.mark.parametrize("output", ["net.htm", "out.d", "net.jpg", "net.text"])
def test_a_suffix_that_is_no_format_is_an_error(output, formats):
    with pytest.raises(ExportError, match="is no format") as caught:
        destination(output, formats, default=DEFAULT)
    assert f".{', .'.join(each.extension for each in FORMATS.values())}" in caught.value.hint
    assert f"a directory of that name is written {output}/" in caught.value.hint


def test_a_suffix_and_another_format_contradict_each_other():
    with pytest.raises(ConfigError) as caught:
        destination("net.svg", "json", default=DEFAULT)
    assert caught.value.message == "-o net.svg is a file of format svg, and --format asks for json"
    assert ".json" in caught.value.hint


def test_several_formats_do_not_fit_into_one_file():
    with pytest.raises(ConfigError, match=r"the formats svg, json do not fit into net\.svg"):
        destination("net.svg", "svg,json", default=DEFAULT).check(n_models=1)


@pytest.mark.parametrize(("output", "formats"), [("", None), (None, ","), (None, "")])
def test_nothing_is_no_place_and_no_format(output, formats):
    with pytest.raises(ConfigError, match="names no"):
        destination(output, formats, default=DEFAULT)
