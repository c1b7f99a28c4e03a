"""What is written lies where it was asked for: no link leads it elsewhere, and nobody can foresee a name."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.doors import keeping, temporary, writing
from modgraph.errors import ExportError, ResourceError
from modgraph.export import file_stem, put_files, write_file
from modgraph.rules import one_file, results_cache
from modgraph.rules.options import CheckOptions
from modgraph.rules.paths import check_paths
from modgraph.source import cache_home, index_cache
from modgraph.source.index import read_index

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links are made")

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2), nn.Linear(2, 2)]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
FIX = ["check", "--fix", "--unsafe-fixes", "-q", "--no-cache"]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the user's outside of the tree."""
    file = tmp_path / "home" / "authorized_keys"
    file.parent.mkdir()
    file.write_text("ssh-ed25519 mine\n")
    return file


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "net.py").write_text(NET)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("MODGRAPH_CACHE", raising=False)
    return root


def untouched(secret: Path) -> bool:
    return secret.read_text() == "ssh-ed25519 mine\n" and os.listdir(secret.parent) == [secret.name]


ANALYZE = ["analyze", "--static", "net.py", "--format", "json", "-q"]
ALL = ["analyze", "--all", "--static", "--format", "json", "-q"]


@pytest.mark.parametrize("where", [[], ["-o", "out"], ["-o", "out/"], ["-o", "./out/deep"]])
def test_a_link_among_the_results_is_replaced(tree: Path, secret: Path, where: list[str]):
    folder = tree / (where[1] if where else "modgraph-out")
    folder.mkdir(parents=True)
    (folder / "Net.json").symlink_to(secret)
    assert main([*ANALYZE, *where]) in (0, 1)
    assert untouched(secret)
    assert not (folder / "Net.json").is_symlink()
    assert json.loads((folder / "Net.json").read_text())["model"]["name"] == "Net"


@pytest.mark.parametrize("link", ["index.html", "index.md", "manifest.jsonl", "net/Net.json", "net"])
def test_a_link_among_the_results_of_all_is_not_followed(tree: Path, secret: Path, link: str, capfd):
    (tree / "modgraph-out").mkdir()
    place = tree / "modgraph-out" / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(secret.parent if link == "net" else secret)
    status = main(ALL)
    assert untouched(secret)
    if link in ("net", "manifest.jsonl"):
        assert status == 2
        assert "is a link" in capfd.readouterr().err
    else:
        assert status in (0, 1)
        assert not place.is_symlink()


@pytest.mark.parametrize("arguments", [ANALYZE, ALL])  # with `-o` it is the word of the user
def test_the_default_folder_is_no_link(tree: Path, secret: Path, arguments: list[str], capfd):
    (tree / "modgraph-out").symlink_to(secret.parent)
    assert main(arguments) == 2
    assert untouched(secret)
    assert "modgraph-out is a link" in capfd.readouterr().err


def test_a_dangling_link_in_place_of_the_default_folder_makes_nothing(tree: Path, tmp_path: Path):
    (tree / "modgraph-out").symlink_to(tmp_path / "made")
    assert main(ANALYZE) == 2
    assert not (tmp_path / "made").exists()


def test_what_the_user_named_is_followed(tree: Path, tmp_path: Path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "results").mkdir()
    (tree / "net.json").symlink_to(tmp_path / "real.json")
    (tree / "out").symlink_to(tmp_path / "results")
    assert main([*ANALYZE, "-o", "net.json"]) in (0, 1)
    assert main([*ANALYZE, "-o", "out"]) in (0, 1)
    assert json.loads((tmp_path / "real.json").read_text())["model"]["name"] == "Net"
    assert (tmp_path / "results" / "Net.json").is_file()


def test_no_name_can_be_foreseen(tree: Path, secret: Path, monkeypatch):
    """Every name that a file had before it came to its place, over several writes."""
    made: list[str] = []
    real = os.replace

    def replace(source, target, **options):
        made.append(os.path.basename(source))
        real(source, target, **options)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(writing, "_NAMELESS", 0)  # as on a system whose files all have names
    for name in (f".modgraph-{os.getpid()}.tmp", f".modgraph-{os.getpid()}-0.tmp"):
        (tree / name).symlink_to(secret)
    for _ in range(3):
        write_file(tree / "a.json", "x", below=tree)
    (tree / "made").mkdir()
    (tree / "made" / "b.onnx").write_text("x")
    put_files([tree / "made" / "b.onnx"], tree)
    assert main([*FIX, "net.py"]) == 0
    assert len(set(made)) == len(made) == 5
    assert not any(str(os.getpid()) in name for name in made)
    assert untouched(secret)


@pytest.mark.parametrize(
    "name", ["../x.json", "a/../../x.json", "..", ".", "", "a/..", "x\0.json", "/tmp/x.json", "a/../.."]
)
def test_nothing_lies_outside_of_the_folder(tree: Path, tmp_path: Path, name: str):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((OSError, ValueError)):
        writing.put(os.path.join(tree / "out", name), b"x", below=tree / "out")
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and path != tree / "out"] == []


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "a\0b", "CON", "x" * 5000, "..", "a/b", "a\\b", "C:x", "\u202e", "-o"]
)
def test_a_model_of_any_name_lies_in_the_folder(tree: Path, name: str):
    place = tree / f"{file_stem(name)}.json"
    write_file(place, "x", below=tree)
    assert place.parent == tree
    assert place.name in os.listdir(tree)


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(tree: Path, secret: Path, monkeypatch):
    (tree / "out" / "inner").mkdir(parents=True)
    real = writing._Folder.make

    def make(self, mode):
        (tree / "out" / "inner").rename(tree / "out" / "moved")
        (tree / "out" / "inner").symlink_to(secret.parent)
        return real(self, mode)

    monkeypatch.setattr(writing._Folder, "make", make)
    writing.put(tree / "out" / "inner" / "x.json", b"x", below=tree / "out")
    assert untouched(secret)


def test_a_pipe_among_the_results_is_not_written_to(tree: Path):
    os.mkfifo(tree / "Net.json")
    with pytest.raises(ExportError, match="it is a pipe or a device"):
        write_file(tree / "Net.json", "x", below=tree)
    assert (tree / "Net.json").is_fifo()


def test_a_device_that_was_named_is_written_to():
    write_file("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tree: Path):
    before = os.umask(0o027)
    try:
        write_file(tree / "new.json", "x", below=tree)
        (tree / "old.json").write_text("old")
        (tree / "old.json").chmod(0o600)
        write_file(tree / "old.json", "x", below=tree)
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tree / name).stat().st_mode) for name in ("new.json", "old.json")] == [0o640, 0o600]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_nothing_is_left_of_a_file_that_could_not_be_written(tree: Path, failure, monkeypatch):
    before = os.listdir(tree)

    def fail(*_):
        raise failure

    monkeypatch.setattr(writing, "_write", fail)
    with pytest.raises(failure if isinstance(failure, type) else OSError):
        writing.put(tree / "x.json", b"x", below=tree)
    assert os.listdir(tree) == before


# --- Fixes ---------------------------------------------------------------------------------------------------------


def test_a_fix_changes_nothing_outside_of_the_folder(tree: Path, tmp_path: Path):
    other = tmp_path / "other.py"
    other.write_text(NET)
    (tree / "link.py").symlink_to(other)
    (tree / "folder").symlink_to(tmp_path)
    assert main([*FIX, "."]) == 0
    assert other.read_text() == NET
    assert "ModuleList" in (tree / "net.py").read_text()


def test_a_fix_follows_a_link_that_was_named(tree: Path, tmp_path: Path):
    other = tmp_path / "other.py"
    other.write_text(NET)
    (tree / "link.py").symlink_to(other)
    assert main([*FIX, "link.py"]) == 0
    assert "ModuleList" in other.read_text()
    assert (tree / "link.py").is_symlink()


def test_a_fix_leaves_the_other_name_of_a_file(tree: Path, tmp_path: Path):
    os.link(tree / "net.py", tmp_path / "other.py")
    assert main([*FIX, "."]) == 0
    assert "ModuleList" in (tree / "net.py").read_text()
    assert (tmp_path / "other.py").read_text() == NET


def test_a_fix_leaves_what_has_changed_since_it_was_read(tree: Path, monkeypatch, capfd):
    whole = one_file.check_text

    def check(*arguments):
        (tree / "net.py").write_text(NET + "# mine\n")
        return whole(*arguments)

    monkeypatch.setattr(one_file, "check_text", check)
    assert main([*FIX, "net.py"]) == 2
    assert (tree / "net.py").read_text() == NET + "# mine\n"
    assert "changed since it was read" in capfd.readouterr().err


# --- What is kept between runs -------------------------------------------------------------------------------------


def kept(home: Path) -> keeping.Kept:
    cache_home._kept.clear()
    return cache_home.kept_in(str(home))


@pytest.mark.parametrize("place", ["kept", "tree/kept"])
def test_what_is_kept_is_read_again(tree: Path, tmp_path: Path, place: str):
    kept(tmp_path / place).write("a/b.json", b"content")
    assert kept(tmp_path / place).read("a/b.json") == b"content"
    assert kept(tmp_path / place).read("a/c.json") is None


def test_the_folder_and_the_key_are_for_this_user_alone(tree: Path, tmp_path: Path):
    before = os.umask(0)
    try:
        kept(tmp_path / "kept").write("a.json", b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "kept" / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("key", [None, "theirs"])
def test_what_came_with_a_repository_is_not_taken_for_true(tree: Path, tmp_path: Path, key: str | None):
    """Made by modgraph itself on another machine, with whatever key, and committed."""
    made = kept(tmp_path / "elsewhere")
    made.write("a.json", b"poison")
    if key is None:
        (tmp_path / "elsewhere" / "key").unlink()
    (tmp_path / "elsewhere").rename(tree / "kept")
    assert kept(tree / "kept").read("a.json") is None


def test_an_entry_is_not_taken_for_another(tree: Path, tmp_path: Path):
    kept(tmp_path / "kept").write("a.json", b"content")
    (tmp_path / "kept" / "a.json").rename(tmp_path / "kept" / "b.json")
    assert kept(tmp_path / "kept").read("b.json") is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o703])
def test_a_folder_that_others_may_write_to_is_not_used(tree: Path, tmp_path: Path, mode: int):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(mode)
    place = kept(tmp_path / "kept")
    place.write("a.json", b"content")
    assert not place.usable
    assert os.listdir(tmp_path / "kept") == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_user_is_not_used(tree: Path, tmp_path: Path):
    (tmp_path / "kept").mkdir(mode=0o755)
    os.chown(tmp_path / "kept", 12345, 12345)
    assert not kept(tmp_path / "kept").usable


def test_the_users_own_folder_is_fixed_and_what_was_sealed_in_it_is_gone(tree: Path, tmp_path: Path):
    own = Path(cache_home.cache_home())
    kept(own).write("a.json", b"content")
    own.chmod(0o777)
    assert kept(own).usable
    assert kept(own).read("a.json") is None
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


def test_a_link_in_the_folder_is_not_written_through(tree: Path, tmp_path: Path, secret: Path):
    (tree / "kept").mkdir()
    (tree / "kept" / "check").symlink_to(secret.parent)
    place = kept(tree / "kept")
    place.write(f"check/{secret.name}", b"x")
    assert place.usable
    assert untouched(secret)


def test_findings_that_came_with_the_project_are_not_believed(tree: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(one_file, "ALWAYS_KEPT_FROM", 0)
    monkeypatch.setattr(results_cache, "_RACY", 0)
    options = CheckOptions(cache="kept")
    assert [each.code for each in check_paths(["net.py"], options).findings] == ["MG101"]
    (shard,) = (tree / "kept").rglob("*.json")
    sealed = shard.read_bytes()
    body = json.loads(sealed.partition(b"\n")[2])
    for entry in body["files"].values():
        entry[2] = []  # as if nothing had been found
    poison = json.dumps(body).encode()
    shard.write_bytes(sealed.partition(b"\n")[0] + b"\n" + poison)
    cache_home._kept.clear()
    assert [each.code for each in check_paths(["net.py"], options).findings] == ["MG101"]
    # The test can fail: what is sealed is believed.
    kept(tree / "kept").write(shard.relative_to(tree / "kept").as_posix(), poison)
    assert check_paths(["net.py"], options).findings == []


def test_an_index_that_came_with_the_project_is_not_believed(tree: Path, monkeypatch):
    monkeypatch.setenv("MODGRAPH_CACHE", "kept")
    text = NET + "# filler\n" * 600
    index_cache.indexed(text, "net.py")
    (entry,) = (tree / "kept").rglob("*.json")
    entry.write_bytes(entry.read_bytes().replace(b"Net", b"Bad"))
    assert index_cache.indexed(text, "net.py") == read_index(text)


def test_a_relative_folder_of_caches_is_ignored(tree: Path, monkeypatch):
    """Source: XDG Base Directory Specification."""
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_home.cache_home() == os.path.join(os.environ["HOME"], ".cache", "modgraph")


# --- Temporary folders ---------------------------------------------------------------------------------------------


def test_a_temporary_folder_is_for_this_user_alone_and_goes():
    with temporary.folder() as first, temporary.folder() as second:
        assert first != second
        assert stat.S_IMODE(first.stat().st_mode) == 0o700
    assert not first.exists()


def test_no_place_for_temporary_files_is_one_message(tree: Path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    with pytest.raises(ResourceError, match="no place for temporary files"), temporary.folder():
        pass


def test_the_working_directory_is_no_place_for_temporary_files(tree: Path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tree))
    with pytest.raises(ResourceError) as caught, temporary.folder():
        pass
    assert "TMPDIR" in caught.value.hint
    assert os.listdir(tree) == ["net.py"]


def test_a_full_place_for_temporary_files_is_one_message(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "mkdir", full)
    with pytest.raises(ResourceError, match="No space left on device"), temporary.folder():
        pass
