"""Files are written whole or not at all, where and as they were asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from modgraph import export
from modgraph.errors import ExportError
from modgraph.export import FORMATS, files, formats, put_files
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import ModelInfo, ModuleNode
from modgraph.graph.serial import load


def graph(name: str = "Net"):
    builder = GraphBuilder(ModelInfo(name=name, class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net", predicted=True))
    return builder.build()


@pytest.fixture
def no_renderer(monkeypatch):
    """svg cannot be drawn here, dot can."""

    def missing(graph, options):
        raise ExportError("no Graphviz found", hint='pip install "modgraph[render]"')

    svg = formats.Format(render=missing, extension="svg", instead=("html", "dot"))
    html = formats.Format(render=lambda graph, options: "<!DOCTYPE html>\n", extension="html")
    dot = formats.Format(render=lambda graph, options: "digraph {}\n", extension="dot")
    monkeypatch.setitem(export.FORMATS, "svg", svg)
    monkeypatch.setitem(export.FORMATS, "dot", dot)
    monkeypatch.setitem(export.FORMATS, "html", html)


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_write_makes_the_directory_and_a_file_per_format(tmp_path: Path):
    written = export.write(graph(), ["json", "text"], tmp_path / "a" / "b")
    assert [path.name for path in written.paths] == ["Net.json", "Net.txt"]
    assert names(tmp_path / "a" / "b") == ["Net.json", "Net.txt"]
    assert load(written.paths[0]) == graph()
    assert written.notes == written.failures == ()


def test_files_are_readable_by_others_as_the_umask_says(tmp_path: Path):
    before = os.umask(0o022)
    try:
        path = export.write(graph(), ["json"], tmp_path).paths[0]
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_default_format_without_its_program_is_replaced(tmp_path: Path, no_renderer):
    written = export.write(graph(), ["svg", "json"], tmp_path, asked=False)
    assert names(tmp_path) == ["Net.dot", "Net.html", "Net.json"]
    assert written.failures == ()
    note = 'no Graphviz found, wrote Net.html and Net.dot instead of Net.svg (pip install "modgraph[render]")'
    assert written.notes == (note,)


def test_a_replacement_that_was_asked_for_too_is_written_once(tmp_path: Path, no_renderer):
    written = export.write(graph(), ["svg", "dot"], tmp_path, asked=False)
    assert [path.name for path in written.paths] == ["Net.html", "Net.dot"]


def test_a_format_asked_for_without_its_program_fails_beside_the_others(tmp_path: Path, no_renderer):
    written = export.write(graph(), ["svg", "json"], tmp_path)
    assert names(tmp_path) == ["Net.json"]
    assert [error.message for error in written.failures] == ["no Graphviz found"]


def test_where_nothing_else_was_to_be_written_the_error_is_raised(tmp_path: Path, no_renderer):
    with pytest.raises(ExportError, match="no Graphviz found"):
        export.write(graph(), ["svg"], tmp_path / "out")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("svgg", f"did you mean 'svg'? formats are {', '.join(FORMATS)}"),
        ("hmtl", f"did you mean 'html'? formats are {', '.join(FORMATS)}"),
        ("jpeg", f"formats are {', '.join(FORMATS)}"),
    ],
)
def test_an_unknown_format_names_those_there_are(tmp_path: Path, name: str, hint: str):
    with pytest.raises(ExportError, match=f"unknown format '{name}'") as caught:
        export.write(graph(), ["json", name], tmp_path / "out")
    assert caught.value.hint == hint
    assert not (tmp_path / "out").exists()


def test_save_takes_the_format_from_the_suffix(tmp_path: Path):
    graph().save(tmp_path / "net.JSON")
    assert load(tmp_path / "net.JSON") == graph()
    graph().save(str(tmp_path / "net.txt"))
    assert (tmp_path / "net.txt").read_text(encoding="utf-8") == export.render(graph(), "text")


@pytest.mark.parametrize("name", ["net", "net.jpg", "net.htm", "net.text", ".json"])
def test_save_refuses_a_suffix_that_is_no_format(tmp_path: Path, name: str):
    with pytest.raises(ExportError) as caught:
        graph().save(tmp_path / name)
    assert "svg" in caught.value.hint
    assert names(tmp_path) == []


def test_a_file_in_place_of_the_directory_is_named(tmp_path: Path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ExportError, match="cannot write"):
        export.write(graph(), ["json"], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_directory_in_place_of_the_file_is_named(tmp_path: Path):
    (tmp_path / "net.json").mkdir()
    with pytest.raises(ExportError, match="it is a directory"):
        graph().save(tmp_path / "net.json")
    assert names(tmp_path) == ["net.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ExportError, match="Permission denied"):
            export.write(graph(), ["json"], tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch):
    path = tmp_path / "net.json"
    path.write_text("old")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph().save(path)
    assert names(tmp_path) == ["net.json"]
    assert path.read_text() == "old"


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch):
    real = os.write

    def full(handle, data):
        real(handle, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ExportError, match="No space left on device"):
        graph().save(tmp_path / "net.json")
    assert names(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "net.json").symlink_to("real.json")
    graph().save(tmp_path / "net.json")
    assert (tmp_path / "net.json").is_symlink()
    assert load(tmp_path / "real.json") == graph()


def test_a_device_is_written_to_and_not_replaced():
    export.write_file("/dev/null", "text")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("Net", "Net"),
        ("resnet18", "resnet18"),
        ("Net(depth=4)", "Net_depth_4"),
        ("../../etc/passwd", "etc_passwd"),
        ("a b\nc", "a_b_c"),
        ("Füße", "Füße"),
        ("", "model"),
        ("..", "model"),
        ("con", "con_"),
        ("NUL.x", "NUL.x_"),
        ("中" * 200, "中" * 66),
    ],
)
def test_file_names_are_safe(name: str, stem: str):
    assert export.file_stem(name) == stem


def test_models_of_one_name_get_files_of_their_own():
    assert export.file_stems(["Net", "net", "Net_2", "Net", "Other"]) == ["Net", "net_2", "Net_2_2", "Net_3", "Other"]


def made_beforehand(folder: Path) -> list[Path]:
    folder.mkdir()
    files = [folder / "net.onnx.data", folder / "net.onnx"]
    for file in files:
        file.write_text("new", "utf-8")
    return files


def test_files_that_belong_together_are_put_in_place_all_or_none(tmp_path: Path):
    files, place = made_beforehand(tmp_path / "made"), tmp_path / "place"
    (place / "net.onnx").mkdir(parents=True)
    (place / "net.onnx.data").write_text("old", "utf-8")
    with pytest.raises(ExportError, match=r"net\.onnx: it is a directory"):
        put_files(files, place)
    assert sorted(path.name for path in place.iterdir()) == ["net.onnx", "net.onnx.data"]
    assert (place / "net.onnx.data").read_text("utf-8") == "old"
    (place / "net.onnx").rmdir()
    assert put_files(files, place) == (place / "net.onnx.data", place / "net.onnx")
    assert [path.read_text("utf-8") for path in sorted(place.iterdir())] == ["new", "new"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_no_file_takes_the_place_of_a_pipe(tmp_path: Path):
    files = made_beforehand(tmp_path / "made")
    os.mkfifo(tmp_path / "net.onnx")
    with pytest.raises(ExportError, match="a pipe or a device"):
        put_files(files, tmp_path)
    assert (tmp_path / "net.onnx").is_fifo()
    assert not (tmp_path / "net.onnx.data").exists()
