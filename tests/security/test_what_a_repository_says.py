"""Targets, baselines, configurations and manifests come with a repository: whatever stands in them, only errors that
are told come out."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.api import predict
from modgraph.batch import manifest, tasks
from modgraph.batch.manifest import Record
from modgraph.batch.running import analyze_all
from modgraph.batch.tasks import Outcome
from modgraph.cli import main
from modgraph.config import Configs
from modgraph.errors import ConfigError, ModgraphError, TargetError
from modgraph.findings import Finding
from modgraph.rules.baseline import VERSION, Baseline
from modgraph.rules.baseline import text as baseline_text
from modgraph.rules.one_file import Checker
from modgraph.rules.options import CheckOptions
from modgraph.source import cache_home
from modgraph.source.targets import Target, parse_target

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)

# --- targets -------------------------------------------------------------------------------------------------------

LITERALS = st.recursive(
    st.sampled_from(["1", "1e999", "-1j", "''", "b'\\xff'", "None", "...", "torch.nn.ReLU", "x", "f()", "*a"]),
    lambda inner: st.builds(
        lambda items, form: form % ", ".join(items),
        st.lists(inner, max_size=3),
        st.sampled_from(["[%s]", "(%s,)", "{%s}", "{%s: 1}", "{1: %s}", "{**{%s}}", "-(%s)", "f'{%s}'", "not (%s)"]),
    ),
    max_leaves=8,
)


@given(st.lists(LITERALS, max_size=3).map(", ".join) | st.text("aN.:(){}[]*,'=1\\ \n", max_size=20))
def test_a_target_is_understood_or_refused(arguments: str):
    for text in (f"pkg.net:Net({arguments})", f"pkg.net:{arguments}", arguments):
        with contextlib.suppress(TargetError):
            target = parse_target(text, path=[])
            assert isinstance(target, Target)


@pytest.mark.parametrize(
    "arguments", ["{[]: 1}", "{[1]}", "{{}: 1}", "[{(1, []): 2}]", "{{torch.nn.ReLU}}", "a={[torch.nn.ReLU]: 1}"]
)
def test_a_target_with_what_cannot_be_a_key_is_refused(arguments: str, tmp_path: Path, monkeypatch, capsys):
    # Oracle: CPython makes none of them.
    with pytest.raises(TypeError, match="unhashable"):
        eval(arguments.removeprefix("a=").replace("torch.nn.ReLU", "int"))
    (tmp_path / "m.py").write_text("class Net: ...\n")
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "--static", f"m.py:Net({arguments})"]) == 2
    assert "must be hashable" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["analyze", "diff"])
@pytest.mark.parametrize(
    "name", [".".join("a" * 2_000), f"Net({'.'.join('a' * 2_000)})", "(" * 5_000, "-" * 20_000 + "1"]
)
def test_a_target_may_have_a_name_of_any_length(command: str, name: str, tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "m.py").write_text("from torch import nn\nclass Net(nn.Module): ...\na = Net()\n")
    monkeypatch.chdir(tmp_path)
    target = f"m.py:{name}"
    status = main([command, target, target] if command == "diff" else [command, "--static", target, "-o", "out"])
    told = capsys.readouterr().err
    assert status == 2 or name.startswith("Net("), told
    assert "itself failed" not in told


# --- baselines -----------------------------------------------------------------------------------------------------


@given(
    JSON
    | st.fixed_dictionaries({"version": st.just(VERSION) | JSON, "findings": JSON})
    | st.fixed_dictionaries(
        {
            "version": st.just(VERSION),
            "findings": st.dictionaries(
                st.text(max_size=3),
                st.dictionaries(st.sampled_from(["MG101"]), st.dictionaries(st.text(max_size=3), JSON, max_size=2)),
            ),
        }
    )
)
def test_a_baseline_is_understood_or_refused(tmp_path: Path, data: Any):
    file = tmp_path / "base.json"
    file.write_text(json.dumps(data))
    with contextlib.suppress(ConfigError):
        found = Baseline.read(str(file))
        assert all(type(count) is int for count in found.known.values())
        found.hide([])
        found.stale([], ["m.py"])


@pytest.mark.parametrize("count", ["1e999", "-1", "true", "1.0", '"1"', "null", "[]", "1" + "0" * 30, "1" * 5_000])
def test_a_count_that_is_none_is_refused(tmp_path: Path, count: str):
    file = tmp_path / "base.json"
    file.write_text('{"version": 1, "findings": {"m.py": {"MG101": {"x": COUNT}}}}'.replace("COUNT", count))
    with pytest.raises(ConfigError, match=r"no baseline|no JSON"):
        Baseline.read(str(file))


def test_a_baseline_that_is_written_is_read_again(tmp_path: Path):
    file = tmp_path / "base.json"
    finding = Finding(
        code="MG101", name="n", severity="error", message="m", file=str(tmp_path / "m.py"), line=1, column=1
    )
    file.write_text(baseline_text(str(file), [finding, finding]))
    assert Baseline.read(str(file)).known == Counter({("m.py", "MG101", ""): 2})


# --- configurations ------------------------------------------------------------------------------------------------

WORDS = st.text(max_size=6) | st.sampled_from(
    ["MG101", "MG", "ALL", "*", "**/[", "[!", "a" * 2_000, "\\", "../..", "/"]
)
TABLES = st.dictionaries(
    st.sampled_from(["select", "extend-select", "ignore", "exclude", "module-bases", "hidden-names", "targets"])
    | st.sampled_from(["per-file-ignores", "force-exclude", "baseline", "x"]),
    JSON | st.lists(WORDS, max_size=3) | st.dictionaries(WORDS, st.lists(WORDS, max_size=2) | JSON, max_size=2),
    max_size=4,
)


def toml(value: Any) -> str:
    """A value in TOML: JSON but for what has no name there."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return {None: "[[]]"}.get(value, json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan"))


@given(TABLES)
def test_a_configuration_is_understood_or_refused(tmp_path: Path, table: dict[str, Any]):
    lines = [f"{json.dumps(key)} = {toml(value)}\n" for key, value in table.items()]
    (tmp_path / "modgraph.toml").write_text("".join(lines), encoding="utf-8", errors="replace")
    file = tmp_path / "m.py"
    file.write_text("from torch import nn\n")
    with contextlib.suppress(ConfigError):
        Configs().of(str(file))
        checker = Checker(CheckOptions())
        checker.settings(str(file))  # as a check of files does before any of them
        assert checker.check("m.py", str(file)).failure is None
    with contextlib.suppress(ModgraphError):
        predict(file)


# --- manifests -----------------------------------------------------------------------------------------------------


class Done:
    """An executor that analyzes nothing and says that it is done."""

    def submit(self, _function: Any, /, _task: Any) -> Any:
        from concurrent.futures import Future

        future: Future[Any] = Future()
        future.set_result(Outcome("complete", None, FACTS, {"Net.json": b"{}"}))
        return future


FACTS = {
    "class": "Net", "parameters": 3, "modules": 1, "calls": None, "problems": ["x"], "thumbnail": None,
    "findings": [{"code": "MG101", "message": "m", "file": "net.py", "line": 1}],
}  # fmt: skip
RECORD = Record("net.py:Net", "net.py", "k", "complete", None, FACTS, ("net/Net.json",), (manifest.hash_of(b"mine"),))
EVIL: list[tuple[str, Any]] = [
    ("state", "evil"), ("state", []), ("reason", 3), ("reason", ["x"]), ("name", []), ("name", {}), ("files", "net/x"),
    ("facts", []), ("facts", None), ("facts", {"parameters": "1"}), ("facts", {"modules": "1"}),
    ("facts", {"findings": 5}), ("facts", {"findings": [{"evil": 1}]}), ("facts", {"modules": True}),
    ("facts", {"class": {}}), ("facts", {"other": 1}), ("key", None), ("files", [None]), ("more", 1), ("hashes", []), ("hashes", [3]), ("hashes", "x"),
]  # fmt: skip


def marked(fields: dict[str, Any], folder: Path) -> str:
    """A line as this user's modgraph would write it there, whatever is in it."""
    return json.dumps({**fields, "mark": manifest._mark(fields, folder)})


def fields_of(record: Record) -> dict[str, Any]:
    found = json.loads(record.line(Path()))
    del found["mark"]
    return found


@pytest.mark.parametrize(("name", "value"), EVIL)
def test_a_line_with_a_field_of_another_type_counts_as_absent(tmp_path: Path, name: str, value: Any):
    """With a mark of ours too, as a task's own code has a say in what is written."""
    good = fields_of(RECORD)
    (tmp_path / manifest.NAME).write_text(
        f"{marked({**good, name: value}, tmp_path)}\n{marked({**good, 'name': 'net.py:B'}, tmp_path)}\n"
    )
    assert list(manifest.Manifest(tmp_path).records) == ["net.py:B"]


@pytest.mark.parametrize("line", ["[" * 100_000, '{"schema":' * 50_000, "1" * 5_000, '{"schema":[],"mark":1}', "null"])
def test_a_line_that_is_none_counts_as_absent(tmp_path: Path, line: str):
    (tmp_path / manifest.NAME).write_text(f"{line}\n{RECORD.line(tmp_path)}")
    assert list(manifest.Manifest(tmp_path).records) == ["net.py:Net"]


@settings(max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "15")))
@given(st.dictionaries(st.sampled_from(sorted(fields_of(RECORD))), JSON, max_size=3))
def test_whatever_a_manifest_says_can_be_shown(tmp_path: Path, changed: dict[str, Any]):
    tree = tmp_path / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "net.py").write_text("from torch import nn\nclass Net(nn.Module):\n    pass\n")
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    good = fields_of(RECORD)
    with contextlib.suppress(RecursionError):
        (out / manifest.NAME).write_text(f"{marked({**good, **changed}, out)}\n{json.dumps({**good, **changed})}\n")
    batch = analyze_all(tree, Done(), output=out, static=True)
    assert [record.name for record in batch.records] == ["net.py:Net"]


def test_what_a_manifest_of_others_lists_is_not_removed(tmp_path: Path):
    (tmp_path / "net").mkdir()
    mine = tmp_path / "net" / "Net.json"
    mine.write_text("mine")
    theirs = fields_of(RECORD)
    for mark in (None, "", "0" * 64, 3, "\u00e9", []):
        (tmp_path / manifest.NAME).write_text(json.dumps({**theirs, "mark": mark}) + "\n")
        manifest.Manifest(tmp_path).keep({})
        assert mine.is_file()
    # Of the line that is ours, another file with the same mark.
    other = json.loads(replace(RECORD, files=("net/Other.json",)).line(tmp_path))
    (tmp_path / manifest.NAME).write_text(json.dumps({**other, "files": ["net/Net.json"]}) + "\n")
    manifest.Manifest(tmp_path).keep({})
    assert mine.is_file()
    # Of another folder, and of another content.
    (tmp_path / manifest.NAME).write_text(RECORD.line(tmp_path / "net"))
    manifest.Manifest(tmp_path).keep({})
    mine.write_text("precious")
    (tmp_path / manifest.NAME).write_text(RECORD.line(tmp_path))
    manifest.Manifest(tmp_path).keep({})
    assert mine.is_file()
    mine.write_text("mine")
    (tmp_path / manifest.NAME).write_text(RECORD.line(tmp_path))
    manifest.Manifest(tmp_path).keep({})
    assert not mine.exists()


TWO = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)
class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Linear(1, 2)
"""


@pytest.mark.parametrize("moved", [False, True])
def test_a_line_of_ours_beside_other_files_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool
):
    """A fork of what was published keeps the manifest, and replaces the pages; it may be checked out at the same place."""
    monkeypatch.setattr(cache_home, "_kept", {})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MODGRAPH_CACHE", str(tmp_path / "cache"))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "model.py").write_text(TWO)

    def run(folder: Path) -> list[str]:
        batch = analyze_all(folder, output=folder / "docs", static=True, formats=["html", "json"])
        return [f"{record.name} {record.state} {batch.executed}" for record in batch.records]

    assert run(mine) == ["model.py:Net complete 2", "model.py:Old complete 2"]
    assert run(mine) == ["model.py:Net complete 0", "model.py:Old complete 0"]
    fork = mine.rename(tmp_path / "fork") if moved else mine
    page = fork / "docs" / "model" / "Net.html"
    page.write_text("<script>alert(document.domain)</script>")
    (fork / "docs" / "model" / "Old.json").write_text("precious")
    (fork / "model.py").write_text(TWO.partition("class Old")[0])
    assert run(fork) == ["model.py:Net complete 1"]
    assert "alert(" not in page.read_text()[:200]
    assert (fork / "docs" / "model" / "Old.json").read_text() == "precious"


@pytest.mark.parametrize("facts", [value for name, value in EVIL if name == "facts"])
def test_what_a_task_says_of_itself_is_looked_at(tmp_path: Path, facts: Any):
    (tmp_path / "files").mkdir()
    told = {"state": "complete", "reason": None, "facts": FACTS}
    (tmp_path / "outcome.json").write_text(json.dumps(told))
    assert tasks._told(tmp_path) == Outcome("complete", None, FACTS)
    (tmp_path / "outcome.json").write_text(json.dumps({**told, "facts": facts}))
    assert tasks._told(tmp_path) is None
