"""Files of any name, and the files that are written for them: nothing is lost, mixed up, or left of an earlier run."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.batch import manifest as manifests
from modgraph.batch.manifest import NAME, Manifest
from modgraph.batch.places import folder_of
from modgraph.batch.running import Batch
from modgraph.batch.tasks import Outcome, Task

NET = "from torch import nn\nclass {0}(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"
posix = pytest.mark.skipif(os.name != "posix", reason="such names are not possible there")


class Canned:
    """An executor that starts no process: each model has a file of its own name."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def submit(self, _: Any, /, task: Task) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(Outcome("complete", files={f"{task.stem}.json": task.name.encode("utf-8", "replace")}))
        self.done.append(task.name)
        return future


def analyze(tree: Path, executor: Any = None, output: Path | None = None, **options: Any) -> Batch:
    options = {"static": True, "formats": ("json",), **options}
    return modgraph.analyze_all(tree, executor or Canned(), output=output or tree.parent / "out", **options)


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def put(tree: Path, *names: str, model: str = "Net") -> None:
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(NET.format(model))


# --- names ---------------------------------------------------------------------------------------------------------

HOSTILE = [
    "a.py",
    "a:b.py",
    "a%3Ab.py",
    "a b.py",
    "index.html.py",
    "manifest.jsonl.py",
    "Net.json/x.py",
    "é.py",
    "*.py",
]


@posix
def test_no_two_files_share_a_folder_and_none_is_called_as_a_file(tmp_path: Path):
    tree = tmp_path / "tree"
    names = [*HOSTILE, "Net.json.py", f"{':' * 200}.py", f"{'x' * 252}.py", "a.py:Net.py", "b\udcff.py", "b\udcfe.py"]
    put(tree, *names)
    batch = analyze(tree)
    assert sorted(one.name for one in batch.records) == sorted(f"{name}:Net" for name in names)
    assert len({file for one in batch.records for file in one.files}) == len(names)
    for one in batch.records:
        assert (batch.output / one.files[0]).read_bytes() == one.name.encode("utf-8", "replace")
    assert {"index.html", "index.md", NAME} <= set(files_of(batch.output))
    # Every name can be written down, and stored as an artifact.
    assert not [name for name in files_of(batch.output) if set(name) & set('":<>|*?\r\n\\') or not name.isprintable()]
    again = Canned()
    assert analyze(tree, again).executed == 0
    assert again.done == []


def test_usual_names_are_kept():
    assert folder_of("pkg/sub dir/résumé_net.py") == "pkg/sub dir/résumé_net"


@posix
def test_a_colon_in_the_name_of_a_file_is_part_of_it(tmp_path: Path):
    put(tmp_path / "w", "a:b.py", "a.py")
    batch = analyze(tmp_path / "w")
    page = (batch.output / "index.html").read_text("utf-8")
    assert '<div class="name">Net</div><div class="place"><code>a:b.py</code></div>' in page
    (tmp_path / "w" / "a:b.py").write_text(NET.format("Net").replace("(self)", "(self, n)"))
    assert [one.place for one in analyze(tmp_path / "w").left_out] == ["a:b.py:Net"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_a_name_that_is_no_text_is_analyzed_as_any_other(tmp_path: Path):
    tree = tmp_path / "tree"
    put(tree, "b\udcff.py", "good.py")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        batch = analyze(tree, pool, formats=("json", "svg"))
    assert [(one.name, one.state) for one in batch.records] == [
        ("b\udcff.py:Net", "complete"),
        ("good.py:Net", "complete"),
    ]
    assert [json.loads(line)["name"] for line in (batch.output / NAME).read_text("utf-8").splitlines()] == [
        "b\udcff.py:Net",
        "good.py:Net",
    ]
    page = (batch.output / "index.html").read_text("utf-8")
    assert "b\ufffd.py" in page
    assert 'href="b%25FF/Net.json"' in page


@posix
def test_a_link_that_leads_out_of_the_folder_is_left_out(tmp_path: Path):
    tree = tmp_path / "tree"
    put(tree, "good.py")
    put(tmp_path, "real.py")
    (tree / "link.py").symlink_to(tmp_path / "real.py")
    (tree / "inner.py").symlink_to("good.py")
    (tree / "loop.py").symlink_to("loop.py")
    batch = analyze(tree)
    assert [one.name for one in batch.records] == ["good.py:Net"]
    assert [(one.place, one.reason) for one in batch.left_out] == [
        ("link.py", "it is a link that leads out of the folder")
    ]


def test_hostile_names_are_text_on_the_index_page(tmp_path: Path):
    from modgraph.export.picture.overview import Entry, Overview, html, markdown

    name = '<img src=x onerror=alert(1)>"&`|`_*[x](y).py'
    facts = {"findings": [{"code": "MG101", "file": name, "line": 1, "message": "<script>alert(2)</script>"}]}
    entry = Entry(f"{name}:N<b>", name, "failed", "<script>alert(3)</script> | @someone #1", facts, (f"{name}/N.svg",))
    overview = Overview((entry,), ((name, "<script>alert(4)</script>"),))
    page, text = html(overview), markdown(overview)
    assert page.count("&lt;img src=x onerror=alert(1)&gt;&quot;&amp;") >= 4  # failure, left out, card, finding
    assert "N&lt;b&gt;" in page
    for hostile in ("<img src=x", "<script", "<b>"):
        assert hostile not in page
        # In Markdown a name stands in a span of code, which ends at as many backquotes as it began with.
        outside = "".join(part for number, part in enumerate(text.split("``")) if number % 2 == 0)
        assert hostile not in outside
    assert "`@someone` `#1`" in text  # spans of code, where they are no mention and no link
    assert text.count("@someone") == 1
    row = next(line for line in text.splitlines() if "✖ failed" in line)
    assert row.replace("\\|", "").count("|") == 8  # seven columns, whatever the name is


# --- what an earlier run has left ----------------------------------------------------------------------------------


def test_what_is_no_more_is_removed_and_nothing_else(tmp_path: Path):
    tree = tmp_path / "tree"
    put(tree, "gone.py", "sub/deep/gone.py", "stays.py", "sub/also.py")
    out = analyze(tree).output
    (out / "gone" / "mine.txt").write_text("not modgraph's")
    (out / "gone.py").write_text("not modgraph's")
    (tree / "gone.py").unlink()
    (tree / "sub" / "deep" / "gone.py").unlink()
    analyze(tree)
    assert files_of(out) == sorted(
        [NAME, "gone.py", "gone/mine.txt", "index.html", "index.md", "stays/Net.json", "sub/also/Net.json"]
    )
    assert not (out / "sub" / "deep").exists()
    assert "gone" not in (out / "index.md").read_text("utf-8")


def test_a_model_that_has_another_name_now_leaves_no_old_file(tmp_path: Path):
    tree = tmp_path / "tree"
    put(tree, "net.py", model="Old")
    analyze(tree)
    put(tree, "net.py", model="New")
    assert files_of(analyze(tree).output) == ["index.html", "index.md", NAME, "net/New.json"]


@pytest.mark.parametrize("file", ["../victim/Net.json", "net/../../victim/Net.json", "other/Net.json", "net/.."])
def test_a_manifest_that_lists_files_of_others_removes_none(tmp_path: Path, file: str):
    tree, victim = tmp_path / "tree", tmp_path / "victim"
    put(tree, "net.py")
    out = analyze(tree).output
    put(tmp_path, "victim/Net.json", "out/other/Net.json")
    line = {"schema": "modgraph-batch/3", "name": "net.py:X", "file": "net.py", "key": "", "state": "complete"}
    told = [{**line, "reason": None, "facts": {}, "files": [file], "hashes": [""]}]
    told += [{**told[0], "file": file.rpartition("/")[0] + ".py"}, {**told[0], "file": 3}, {**told[0], "files": [3]}]
    with (out / NAME).open("a") as manifest:
        manifest.writelines(json.dumps(each) + "\n" for each in told)
    analyze(tree)
    assert (victim / "Net.json").is_file()
    assert (out / "net" / "Net.json").is_file()
    if not file.startswith("other"):
        assert (out / "other" / "Net.json").is_file()


@posix
def test_nothing_that_a_link_leads_to_is_removed(tmp_path: Path):
    tree, elsewhere = tmp_path / "tree", tmp_path / "elsewhere"
    put(tree, "gone.py", "stays.py")
    out = analyze(tree).output
    (out / "gone").rename(elsewhere)
    (out / "gone").symlink_to(elsewhere)
    (tree / "gone.py").unlink()
    analyze(tree)
    assert (elsewhere / "Net.json").is_file()


def test_a_name_with_a_line_end_of_unicode_is_finished_all_the_same(tmp_path: Path):
    put(tmp_path / "tree", "a\u2028b.py", "c\x85d.py")
    first, second = Canned(), Canned()
    analyze(tmp_path / "tree", first)
    analyze(tmp_path / "tree", second)
    assert (len(first.done), second.done) == (2, [])


@pytest.mark.parametrize("cut", [b'{"schema":"mod', '{"schema":"modgraph-batch/3","name":"\u00fc'.encode()[:-1]])
def test_a_line_that_was_cut_off_costs_itself_alone(tmp_path: Path, cut: bytes):
    """Also that the next one is written behind it."""
    put(tmp_path / "tree", "a.py", "b.py")
    analyze(tmp_path / "tree")
    path = tmp_path / "out" / NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + cut)
    manifest = Manifest(path.parent)
    assert list(manifest.records) == ["a.py:Net"]
    manifest.add(replace(manifest.records["a.py:Net"], name="b.py:Net", file="b.py", files=(), hashes=()))
    assert list(Manifest(path.parent).records) == ["a.py:Net", "b.py:Net"]


def test_a_manifest_of_too_many_lines_counts_as_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It would take many times its size; the lines that are written then are read again."""
    put(tmp_path / "tree", "a.py", "b.py")
    analyze(tmp_path / "tree")
    path = tmp_path / "out" / NAME
    written = path.read_bytes()
    monkeypatch.setattr(manifests, "MAX_LINES", 10)
    path.write_bytes(written + b"1\n" * 8)
    assert len(Manifest(path.parent).records) == 2
    path.write_bytes(written + b"1\n" * 9)
    assert Manifest(path.parent).records == {}
    again = Canned()
    analyze(tmp_path / "tree", again)
    assert len(again.done) == 2
    assert len(Manifest(path.parent).records) == 2


def test_an_executor_that_takes_no_more_costs_what_it_did_not_take(tmp_path: Path):
    class Broken(Canned):
        def submit(self, function: Any, /, task: Task) -> Future[Any]:
            if self.done:
                raise RuntimeError("all workers are gone")
            return super().submit(function, task)

    put(tmp_path / "tree", "a.py", "b.py", "c.py")
    batch = analyze(tmp_path / "tree", Broken())
    assert [one.state for one in batch.records] == ["complete", "failed", "failed"]
    assert batch.records[1].reason == "the executor lost it: RuntimeError: all workers are gone"
    again = Canned()
    analyze(tmp_path / "tree", again, retry=True)
    assert len(again.done) == 2
