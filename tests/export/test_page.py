"""The interactive page as text: what its data says, that nothing in a name can break it, and where its parts come from."""

from __future__ import annotations

import hashlib
import io
import json
import re
import runpy
import tarfile
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main
from modgraph.errors import ExportError
from modgraph.export import formats
from modgraph.export.look.options import PictureOptions
from modgraph.export.page import html
from modgraph.export.picture import images
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import BufferInfo, Condition, Graph, HookInfo, SourceLocation, Statistics, TensorInfo

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def no_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages here have the summary for readers without scripting: drawing takes longer than all of these tests."""

    def missing(*_: object, **__: object) -> bytes:
        raise ExportError("no Graphviz found")

    monkeypatch.setattr(images, "render", missing)


def data_of(graph: Graph, **options: Any) -> dict[str, Any]:
    return html.page_data(graph, PictureOptions(**options))


def by_path(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {module["path"]: module for module in data["modules"]}


class Page(HTMLParser):
    """Scripts, styles and other elements of a page, as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data


# --- the data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["residual", "states", "predicted", "masked"])
def test_the_data_of_a_page(name: str, nets, golden: Callable[[str, str], None]):
    golden(f"page/{name}.json", json.dumps(data_of(nets[name]().graph()), indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", ["residual", "states", "predicted", "masked"])
def test_every_module_has_a_place(name: str, nets):
    graph = nets[name]().graph()
    data = data_of(graph)
    assert [module["path"] for module in data["modules"]] == [node.path for node in graph.modules]
    for module in data["modules"]:
        item = data["items"][module["item"]]
        assert item["type"] in ("container", "card")
        assert module.get("row", 0) < len(item.get("rows", [0]))


@pytest.mark.parametrize("name", ["residual", "states", "masked"])
def test_edges_of_a_container_join_what_is_in_it(name: str, nets):
    data = data_of(nets[name]().graph())
    for item in data["items"]:
        numbers = item.get("edges", [])
        inside = {html_port := -1, *item.get("items", [])}
        assert html_port in inside
        for tail, head, net, label, on_main_path in zip(*[iter(numbers)] * 5, strict=True):
            assert {tail, head} <= inside
            assert (tail, head) != (-1, -1)
            assert 0 <= net < len(data["items"])
            assert 0 <= label < len(data["labels"])
            assert on_main_path in (0, 1)


def test_blocks_that_are_alike_are_one_item_that_names_them_all(nets):
    data = data_of(nets["residual"]().graph())
    (fold,) = [item for item in data["items"] if item.get("copies")]
    assert fold["members"] == ["blocks.0", "blocks.1", "blocks.2"]
    assert fold["frame"][0] == "blocks.0 – 2"
    places = by_path(data)
    assert places["blocks.0"]["item"] == places["blocks.2"]["item"]
    inner, copy = places["blocks.0.act"], places["blocks.2.act"]
    assert (inner["item"], inner["row"]) == (copy["item"], copy["row"])
    assert data["items"][inner["item"]]["rows"][inner["row"]]["title"] == "ReLU"


def test_without_folding_each_block_is_an_item(nets):
    data = data_of(nets["residual"]().graph(), fold=False)
    assert not any(item.get("copies") for item in data["items"])
    assert len({by_path(data)[f"blocks.{number}"]["item"] for number in range(3)}) == 3


def test_a_block_that_differs_is_not_folded(nets):
    data = data_of(nets["residual"](3, 1).graph())
    assert len({by_path(data)[f"blocks.{number}"]["item"] for number in range(3)}) == 3


def test_states_are_those_of_the_pictures(nets):
    states = {
        path: [state for state, _ in module.get("states", [])]
        for path, module in by_path(data_of(nets["states"]().graph())).items()
    }
    assert states["layers[0]"] == ["unregistered"]
    assert states["head"] == ["runtime only"]
    assert states["blocks.1"] == ["static only"]
    assert states["blocks.2"] == ["never called"]
    assert states["again"] == ["shared"]
    assert states["unsure"] == ["unknown"]
    assert states["conv"] == []


def test_what_a_run_did_not_take_is_drawn_and_marked_and_is_no_call_of_it(sketch):
    net = sketch("Net")
    net.modules("fc Linear *", "aux Linear *")
    first = net.call("fc", "input:x")
    aux = net.call("aux", first)
    net.output(first)
    why = Condition(text="self.training", file="net.py", line=3)
    builder = GraphBuilder.of(net.graph())
    untaken = {"observed": False, "certain": False, "predicted": True, "condition": why}
    builder.calls[2] = replace(builder.calls[2], **untaken)
    builder.edges = [replace(edge, **untaken) if edge.consumer == aux else edge for edge in builder.edges]
    builder.modules = [replace(node, calls=(2,)) if node.path == "aux" else node for node in builder.modules]
    data = data_of(builder.build())
    (number,) = [i for i, item in enumerate(data["items"]) if any(r.get("of") == "aux" for r in item.get("rows", ()))]
    item = data["items"][number]
    assert item["rows"][0]["marks"] == [["conditional", "self.training; not taken"]]
    assert item["state"] == "conditional"
    edges = data["items"][0]["edges"]
    assert [edges[i + 4] for i in range(0, len(edges), 5) if edges[i + 1] == number] == [4]
    assert not any(edges[i + 4] & 4 for i in range(0, len(edges), 5) if edges[i + 1] != number)
    assert data["model"]["calls"] == 2
    assert "calls" not in next(module for module in data["modules"] if module["path"] == "aux")


def test_what_a_closed_container_hides_is_counted(sketch):
    net = sketch("Net")
    net.modules("block model.Block", "block.a Linear *", "block.b Linear *", "block.c Linear *")
    net.enter("block")
    x = net.call("block.a", "input:x")
    net.leave()
    net.output(x)
    data = data_of(net.graph())
    row = data["items"][by_path(data)["block"]["item"]]["row"]
    assert row["marks"] == [["inside", "✕ 2"]]
    assert row["detail"] == "3 × Linear"


def test_a_container_that_was_not_called_shows_what_is_registered_in_it(sketch):
    net = sketch("Net")
    net.modules("a Linear *", "spare Sequential", "spare.0 Linear *", "spare.1 Sequential", "spare.1.0 ReLU")
    net.output(net.call("a", "input:x"))
    data = data_of(net.graph())
    spare = data["items"][by_path(data)["spare"]["item"]]
    inner = [data["items"][number] for number in spare["items"]]
    assert [item["type"] for item in inner] == ["container", "card"] or [item["type"] for item in inner] == [
        "card",
        "container",
    ]
    assert by_path(data)["spare.1.0"]["item"] in data["items"][by_path(data)["spare.1"]["item"]]["items"]


def test_the_panel_is_told_everything(sketch):
    net = sketch("Net")
    net.module(
        "fc", "Linear", (4, 8),
        arguments={"in_features": 8, "bias": False, "act": {"$ref": "torch.nn.ReLU"}, "names": ["a", None]},
        buffers=(BufferInfo(name="scale", shape=(2,), dtype="float64", persistent=False),),
        hooks=(HookInfo(kind="forward", name="mine.log"),),
        source=SourceLocation("model.py", 7),
    )  # fmt: skip
    net.output(net.call("fc", "input:x", shape=(1, 4)))
    output = TensorInfo(name="output", shape=(1, 4), dtype="float32", statistics=Statistics(mean=0.5, nan=2))
    net.builder.calls[1] = type(net.builder.calls[1])(
        index=1, module="fc", parent=0, outputs=(output,), source=SourceLocation("model.py", 9), direct=True
    )
    data = data_of(net.graph())
    module = by_path(data)["fc"]
    facts = data["facts"][module["facts"]]
    assert facts["class"] == "torch.nn.modules.linear.Linear"
    assert facts["arguments"] == {"in_features": "8", "bias": "False", "act": "torch.nn.ReLU", "names": "('a', None)"}
    assert facts["parameters"] == [["weight", "4×8", "float32", True, None]]
    assert facts["buffers"] == [["scale", "2", "float64", False, None]]
    assert facts["hooks"] == [["forward", "mine.log"]]
    assert facts["count"] == "32"
    assert module["at"] == "model.py:7"
    (call,) = module["calls"]
    assert data["facts"][call["shapes"]] == [[], [["output", "1×4", "float32"]]]
    assert call["at"] == "model.py:9"
    assert call["direct"] is True
    assert call["statistics"] == [["output", "1×4", "float32", {"mean": 0.5, "nan": 2}]]


def test_many_calls_of_one_module_are_counted_and_not_listed(sketch):
    net = sketch("Net")
    net.modules("a Linear *")
    x = "input:x"
    for _ in range(40):
        x = net.op("torch.add", net.call("a", x), "input:x")
    net.output(x)
    module = by_path(data_of(net.graph()))["a"]
    assert len(module["calls"]) == 12
    assert module["called"] == 40


def test_deep_trees_are_no_problem(sketch):
    net = sketch("Deep")
    path = ""
    for _ in range(250):
        path = f"{path}.m" if path else "m"
        net.module(path, "model.Block")
        net.enter(path)
    net.module(f"{path}.fc", "Linear", (4, 4))
    net.output(net.call(f"{path}.fc", "input:x"))
    data = data_of(net.graph())
    assert by_path(data)[f"{path}.fc"]["item"] < len(data["items"])
    json.dumps(data)


# --- the page --------------------------------------------------------------------------------------------------------


def test_a_page_is_the_same_every_time_and_holds_its_data(nets):
    graph = nets["states"]().graph()
    text = html.render(graph)
    assert text == html.render(graph) == formats.render(graph, "html")
    (data,) = [script for script in Page(text).scripts if script.startswith("{")]
    assert json.loads(data) == json.loads(json.dumps(data_of(graph)))


def test_a_page_needs_nothing_from_elsewhere(nets):
    text = html.render(nets["residual"]().graph())
    page = Page(text)
    policy = [attributes["content"] for tag, attributes in page.tags if tag == "meta" and "http-equiv" in attributes]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"]
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "srcset", "action"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes)
    assert "sourceMappingURL" not in text
    assert "@import" not in text
    assert "url(http" not in text


def test_names_cannot_break_the_page(hostile, sketch):
    text = html.render(hostile.graph())
    text.encode("utf-8")
    plain = html.render(sketch("Net").graph())
    page, other = Page(text), Page(plain)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in other.tags]
    (data,) = [script for script in page.scripts if script.startswith("{")]
    assert "<" not in data
    assert json.loads(data)["modules"][1]["path"] == hostile.builder.model.name


def test_the_title_is_one_line_of_text(sketch):
    text = html.render(sketch("<b>&\nNet").graph())
    assert "<title>&lt;b&gt;&amp; Net</title>" in text


def test_without_scripting_the_summary_is_shown_or_the_picture(nets, monkeypatch: pytest.MonkeyPatch):
    graph = nets["residual"]().graph()
    static = re.search(r"<noscript>(.*?)</noscript>", html.render(graph), re.DOTALL)
    assert "<pre>Residual" in static[1]
    monkeypatch.setattr(images, "render", lambda *_: b'<?xml version="1.0"?><!DOCTYPE svg><svg id="drawn"></svg>')
    static = re.search(r"<noscript>(.*?)</noscript>", html.render(graph), re.DOTALL)
    assert '<svg id="drawn"></svg>' in static[1]
    assert "<pre>" not in static[1]
    assert "<?xml" not in static[1]


def test_save_takes_html(tmp_path: Path, nets):
    graph = nets["residual"]().graph()
    graph.save(tmp_path / "net.html")
    assert (tmp_path / "net.html").read_text(encoding="utf-8") == html.render(graph)


def test_render_draws_a_page_of_a_saved_graph(tmp_path: Path, nets, capsys: pytest.CaptureFixture[str]):
    graph = nets["residual"]().graph()
    graph.save(tmp_path / "net.json")
    assert main(["render", str(tmp_path / "net.json"), "--no-fold", "-o", str(tmp_path / "net.html")]) == 0
    assert (tmp_path / "net.html").read_text(encoding="utf-8") == html.render(graph, PictureOptions(fold=False))


def test_without_graphviz_the_default_is_the_page_and_dot(tmp_path: Path, nets, capsys: pytest.CaptureFixture[str]):
    nets["residual"]().graph().save(tmp_path / "net.json")
    assert main(["render", str(tmp_path / "net.json"), "-o", f"{tmp_path}/out/"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["Residual.dot", "Residual.html"]
    assert "no Graphviz found, wrote Residual.html and Residual.dot instead of Residual.svg" in capsys.readouterr().err


def test_a_module_called_again_is_one_member(sketch):
    net = sketch("Net")
    net.modules("block model.Block", "block.a Linear *", "block.b ReLU")
    x = "input:x"
    for _ in range(4):
        net.enter("block")
        x = net.chain("block.a block.b", x)
        net.leave()
    net.output(x)
    data = data_of(net.graph())
    assert not any("members" in item for item in data["items"])


# --- where its parts come from ---------------------------------------------------------------------------------------


def test_every_script_is_in_the_page_once():
    there = sorted(path.name for path in (html.VIEWER / "src").glob("*.js"))
    assert sorted(html.SCRIPTS) == there
    text = html.script_text()
    for name in html.SCRIPTS:
        assert text.count((html.VIEWER / "src" / name).read_text(encoding="utf-8")) == 1


def test_no_text_of_a_model_is_ever_read_as_markup():
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", html.script_text()
    )


def vendored() -> list[dict[str, Any]]:
    packages: list[dict[str, Any]] = json.loads((html.VIEWER / "vendor" / "vendor.json").read_text(encoding="utf-8"))
    return packages


def test_vendored_files_are_the_ones_that_are_pinned():
    folder = html.VIEWER / "vendor"
    pinned = {name: entry["sha256"] for package in vendored() for name, entry in package["files"].items()}
    there = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "vendor.json"
    }
    assert there == pinned
    for package in vendored():
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
        assert package["license"] == "MIT"


def test_the_library_in_the_page_is_the_vendored_one_with_its_licences():
    text = html.library_text()
    code = (html.VIEWER / html.DAGRE).read_text(encoding="utf-8").splitlines()
    assert [line for line in code if line in text.splitlines()] == code[:-2]
    assert all(line.startswith(("//#", "/*!")) for line in code[-2:])
    assert text.count("Permission is hereby granted") == 2
    assert "</" not in text.replace("</script", "")


def test_the_command_that_vendors_takes_the_pinned_archive_alone():
    tool = runpy.run_path(str(ROOT / "tests" / "tools" / "vendor_dagre.py"))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        entry = tarfile.TarInfo("package/dist/a.js")
        entry.size = 5
        tar.addfile(entry, io.BytesIO(b"code\n"))
    content = archive.getvalue()
    package = {
        "name": "a", "version": "1.0.0", "files": {"a.js": {"from": "dist/a.js"}},
        "integrity": "sha512-" + b64encode(hashlib.sha512(content).digest()).decode(),
    }  # fmt: skip
    assert tool["taken_from"](content, package) == {"a.js": b"code\n"}
    with pytest.raises(ValueError, match="its checksum is"):
        tool["taken_from"](content + b"x", package)
