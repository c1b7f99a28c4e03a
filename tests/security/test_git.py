"""git runs nothing that a repository names, whichever of its files names it, and its answers are bounded."""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main
from modgraph.doors import git as door
from modgraph.doors import reading
from modgraph.doors.programs import find
from modgraph.errors import TargetError
from modgraph.export.picture import images
from modgraph.source import checkouts, ignored
from modgraph.source.revisions import parse_revision, the_revision

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the traps are shell scripts")

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, {size})
"""

# What git-config(1) documents as a command, the path of one, or a switch that makes git start one. {} is the trap.
COMMANDS = """\
core.fsmonitor={}
core.fsmonitorHookVersion=2
core.hooksPath={folder}
core.pager={}
core.editor={}
core.askPass={}
core.sshCommand={}
core.gitProxy={}
core.alternateRefsCommand={}
core.untrackedCache=true
core.attributesFile={folder}/attributes
pager.diff={}
pager.diff-tree={}
pager.ls-tree={}
pager.ls-files={}
pager.rev-parse={}
pager.cat-file={}
pager.log={}
pager.merge-base={}
alias.ls-files=!{}
alias.ls-tree=!{}
alias.cat-file=!{}
alias.rev-parse=!{}
alias.diff-tree=!{}
alias.log=!{}
alias.merge-base=!{}
browser.evil.cmd={}
browser.evil.path={}
web.browser=evil
help.browser=evil
man.viewer=evil
man.evil.cmd={}
man.evil.path={}
credential.helper=!{}
credential.https://example.org.helper=!{}
diff.external={}
diff.evil.command={}
diff.evil.textconv={}
diff.trustExitCode=true
difftool.evil.cmd={}
difftool.evil.path={}
diff.tool=evil
diff.guitool=evil
merge.tool=evil
mergetool.evil.cmd={}
mergetool.evil.path={}
merge.evil.driver={}
filter.evil.clean={}
filter.evil.smudge={}
filter.evil.process={}
filter.evil.required=true
filter.lfs.process={}
gpg.program={}
gpg.openpgp.program={}
gpg.x509.program={}
gpg.ssh.program={}
gpg.ssh.defaultKeyCommand={}
log.showSignature=true
commit.gpgSign=true
guitool.evil.cmd={}
gc.recentObjectsHook={}
gc.auto=1
hook.evil.command={}
hook.evil.event=post-index-change
imap.tunnel={}
init.templateDir={folder}
instaweb.httpd={}
instaweb.browser={}
interactive.diffFilter={}
maintenance.auto=true
lfs.customtransfer.evil.path={}
receive.procReceiveRefs=refs
remote.origin.promisor=true
remote.origin.partialCloneFilter=blob:none
remote.origin.url=ext::{} %S
remote.origin.uploadpack={}
remote.origin.receivepack={}
remote.origin.vcs=evil
remotes.default=origin
rebase.instructionFormat=%G?
sendemail.smtpServer={}
sendemail.sendmailCmd={}
sendemail.toCmd={}
sendemail.ccCmd={}
sendemail.headerCmd={}
sequence.editor={}
ssh.variant=simple
stash.showPatch=true
submodule.recurse=true
submodule.evil.update=!{}
tar.evil.command={}
tar.tar.gz.command={}
trailer.evil.command={}
trailer.evil.cmd={}
uploadpack.packObjectsHook={}
uploadarchive.allowUnreachable=true
url.ext::{}.insteadOf=https://
protocol.allow=always
protocol.ext.allow=always
protocol.file.allow=always
protocol.evil.allow=always
color.ui=always
diff.submodule=diff
fetch.recurseSubmodules=true
"""
HOOKS = (
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "fsmonitor-watchman",
    "pre-auto-gc",
    "pre-commit",
)


def checkpoint() -> str:
    """A safetensors file beside the repository, of the model of its first commit."""
    entries = {"layer.weight": ([2, 2], [0, 16]), "layer.bias": ([2], [16, 24])}
    header = {key: {"dtype": "F32", "shape": shape, "data_offsets": ends} for key, (shape, ends) in entries.items()}
    text = json.dumps(header).encode()
    Path("../old.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(24))
    return "../old.safetensors"


FORMS: dict[str, Callable[[], list[str]]] = {
    "diff of two targets": lambda: ["diff", "HEAD:net.py:Net", "net.py:Net"],
    "diff of two revisions": lambda: ["diff", "HEAD~1:old.py:Net", "HEAD:net.py:Net"],
    "diff of what is configured": lambda: ["diff", "HEAD~1"],
    "check of the tree": lambda: ["check", "."],
    "check of a file": lambda: ["check", "net.py"],
    "the files of a check": lambda: ["check", "--show-files"],
    "analyze": lambda: ["analyze", "--static", "net.py", "-o", "-"],
    "analyze of a revision": lambda: ["analyze", "--static", "HEAD:net.py:Net", "-o", "-"],
    "history": lambda: ["history", "net.py:Net", "--since", "HEAD~1"],
    "bisect": lambda: ["bisect", checkpoint(), "net.py:Net", "HEAD~1..HEAD"],
    "analyze of all": lambda: ["analyze", "--all", "--static", "--format", "json", "-o", "out", "."],
}


class Trap:
    """A program that leaves a mark, and a folder of links to it under the names of hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.mark = folder / "MARK"
        self.program = folder / "trap"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\nexit 1\n')
        self.program.chmod(0o755)
        (folder / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
        for name in (*HOOKS, "git-remote-evil"):
            shutil.copy(self.program, folder / name)

    @property
    def ran(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""


@pytest.fixture
def repository(tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits with a file that was renamed, a configured target, and files that are ignored."""
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    git("init", "-q")
    git.commit("old.py", NET.format(size=2), "pyproject.toml", '[tool.modgraph]\ntargets = ["old.py:Net"]\n')
    git("mv", "old.py", "net.py")
    toml = '[tool.modgraph]\ntargets = ["net.py:Net"]\n'
    git.commit("net.py", NET.format(size=3), "pyproject.toml", toml, ".gitignore", "ignored/\n*_gen.py\n")
    (root / "ignored").mkdir()
    (root / "ignored" / "a.py").write_text(NET.format(size=4))
    (root / "b_gen.py").write_text("x = 1\n")
    return root


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


def arm(config: Path, trap: Trap) -> None:
    """Every option, written as git writes it."""
    for line in COMMANDS.splitlines():
        key, _, value = line.replace("{folder}", str(trap.folder)).replace("{}", str(trap.program)).partition("=")
        if "{" in line.partition("=")[0]:  # the trap is part of the key
            key, _, value = line.replace("{}", str(trap.program)).rpartition("=")
        subprocess.run(["git", "config", "-f", str(config), key, value], check=True)


def run(arguments: list[str]) -> int:
    return main(arguments)


def test_the_traps_are_armed(repository: Path, trap: Trap):
    arm(repository / ".git" / "config", trap)
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False)
    assert trap.ran


@pytest.mark.parametrize("form", FORMS)
def test_no_option_of_a_repository_is_run(repository: Path, trap: Trap, form: str, capfd):
    for name in HOOKS:
        shutil.copy(trap.program, repository / ".git" / "hooks" / name)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    arm(repository / ".git" / "config", trap)
    assert run(FORMS[form]()) in (0, 1, 2)
    assert trap.ran == ""
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "form", ["diff of two targets", "diff of what is configured", "check of the tree", "bisect", "history"]
)
def test_the_answer_is_that_of_a_repository_without_traps(repository: Path, trap: Trap, form: str, capfd):
    clean = run(FORMS[form]()), *capfd.readouterr()
    arm(repository / ".git" / "config", trap)
    assert (run(FORMS[form]()), *capfd.readouterr()) == clean


def elsewhere(repository: Path, trap: Trap) -> None:
    """`.git` is a file, which leads to another folder."""
    (repository / ".git").rename(repository.parent / "evil")
    (repository / ".git").write_text("gitdir: ../evil\n")
    arm(repository.parent / "evil" / "config", trap)


def included(repository: Path, trap: Trap) -> None:
    arm(repository / "included", trap)
    subprocess.run(["git", "config", "include.path", "../included"], cwd=repository, check=True)


def of_the_worktree(repository: Path, trap: Trap) -> None:
    subprocess.run(["git", "config", "extensions.worktreeConfig", "true"], cwd=repository, check=True)
    arm(repository / ".git" / "config.worktree", trap)


def watched(repository: Path, trap: Trap) -> None:
    """The index itself says that a monitor knows what has changed."""
    subprocess.run(["git", "update-index", "--fsmonitor"], cwd=repository, check=True, capture_output=True)
    arm(repository / ".git" / "config", trap)
    trap.mark.unlink(missing_ok=True)


def bare(repository: Path, trap: Trap) -> None:
    """What looks like a bare repository, among the files."""
    inner = repository / "inner"
    subprocess.run(["git", "clone", "-q", "--bare", str(repository), str(inner)], check=True)
    (inner / "net.py").write_text(NET.format(size=3))
    arm(inner / "config", trap)
    os.chdir(inner)


@pytest.mark.parametrize("form", ["diff of two targets", "check of the tree"])
@pytest.mark.parametrize("way", [elsewhere, included, of_the_worktree, watched, bare])
def test_no_other_way_to_configure_one_is_gone(repository: Path, trap: Trap, way, form: str):
    way(repository, trap)
    run(FORMS[form]())
    assert trap.ran == ""


@pytest.mark.parametrize("url", ["ext::{} %S", "{repository}", "evil::x", "ssh://example.org/x"])
def test_what_a_partial_clone_lacks_is_not_fetched(repository: Path, trap: Trap, url: str, monkeypatch, git):
    git("config", "uploadpack.allowFilter", "true")
    part = repository.parent / "part"
    git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository}", str(part))
    shutil.copy(repository / "net.py", part)
    arm(part / ".git" / "config", trap)
    wanted = url.replace("{repository}", str(repository)).replace("{}", str(trap.program))
    git("config", "remote.origin.url", wanted, cwd=part)
    git("config", "--unset", "remote.origin.vcs", cwd=part)
    monkeypatch.setenv("PATH", f"{trap.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(part)
    before = door.environment
    # As git of before 2.45 has it, which does not know that variable.
    monkeypatch.setattr(door, "environment", lambda: {**before(), "GIT_NO_LAZY_FETCH": "0"})
    assert run(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 2
    assert trap.ran == ""


@pytest.mark.parametrize(
    "variable",
    ["GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND"],
)
def test_no_variable_of_the_caller_names_a_program(repository: Path, trap: Trap, variable: str, monkeypatch):
    monkeypatch.setenv(variable, str(trap.program))
    assert run(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 0
    assert trap.ran == ""


def test_no_variable_of_the_caller_sets_options_names_another_repository_or_has_files_written(
    repository: Path, trap: Trap, monkeypatch, capfd
):
    traces = repository.parent / "trace"
    for name in ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_PACKET", "GIT_TRACE_SETUP"):
        monkeypatch.setenv(name, str(traces))
    for name, value in {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(trap.program),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{trap.program}'",
        "GIT_DIR": str(repository.parent / "nowhere"),
        "GIT_WORK_TREE": "/",
        "GIT_INDEX_FILE": str(trap.folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(trap.folder),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(trap.folder),
        "GIT_EXEC_PATH": str(trap.folder),
        "GIT_NAMESPACE": "other",
    }.items():
        monkeypatch.setenv(name, value)
    assert run(["diff", "HEAD~1:old.py:Net", "net.py:Net"]) == 1
    assert run(["check", "--show-files"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "net.py"
    assert trap.ran == ""
    assert not traces.exists()


@pytest.mark.parametrize("path", ["{here}", "", ".", "bin"])
def test_git_is_not_taken_from_the_working_directory(repository: Path, trap: Trap, path: str, monkeypatch):
    (repository / "bin").mkdir()
    for place in (repository, repository / "bin"):
        shutil.copy(trap.program, place / "git")
    monkeypatch.setenv("PATH", f"{path.format(here=repository)}{os.pathsep}{os.environ['PATH']}")
    assert run(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 0
    assert trap.ran == ""


@pytest.mark.parametrize("path", ["{here}", "", "."])
def test_graphviz_is_not_taken_from_the_working_directory(repository: Path, trap: Trap, path: str, monkeypatch):
    shutil.copy(trap.program, repository / "dot")
    monkeypatch.delenv("MODGRAPH_DOT", raising=False)
    monkeypatch.setenv("PATH", path.format(here=repository))
    try:
        assert images.find_engine().dot is None
    except images.RendererMissingError:
        assert find("dot") is None


def test_every_call_of_git_carries_the_guards(repository: Path, tmp_path: Path, monkeypatch):
    told = tmp_path / "told"
    fake = tmp_path / "fake"
    fake.mkdir()
    told.mkdir()
    real = find("git")
    script = f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}/$$.arguments\nenv > {told}/$$.variables\nexec {real} "$@"\n'
    (fake / "git").write_text(script)
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    asked = set()
    for form in FORMS.values():
        run(form())
    for file in told.glob("*.arguments"):
        arguments = file.read_text().splitlines()
        guards = list(door.GUARDS)
        assert arguments[: len(guards)] == guards
        asked.add(arguments[len(guards)])
        variables = dict(
            line.partition("=")[::2] for line in file.with_suffix(".variables").read_text().splitlines() if "=" in line
        )
        assert variables["GIT_ALLOW_PROTOCOL"] == "none"
        assert variables["GIT_NO_LAZY_FETCH"] == "1"
        assert variables["GIT_OPTIONAL_LOCKS"] == "0"
        assert "GIT_DIR" not in variables
    assert asked == {"rev-parse", "ls-tree", "ls-files", "cat-file", "diff-tree", "log", "merge-base"}


@pytest.mark.parametrize("name", ["--all", "-h", "--git-dir", "--upload-pack=x", "-", "--", "--exec=x"])
def test_a_revision_is_no_option(repository: Path, name: str):
    with pytest.raises(TargetError, match="is no revision"):
        parse_revision(f"{name}:net.py:Net")
    with pytest.raises(TargetError, match="is no revision"):
        the_revision(name)


def test_a_revision_with_a_nul_is_an_error_like_any_other(repository: Path):
    with pytest.raises(TargetError):
        the_revision("HEAD\0")


@pytest.mark.parametrize("place", ["/", "..", "elsewhere"])
def test_a_working_tree_elsewhere_is_refused(repository: Path, place: str, git):
    (repository.parent / "elsewhere").mkdir()
    where = str(repository.parent / "elsewhere") if place == "elsewhere" else place
    git("config", "core.worktree", where if where == "/" else os.path.abspath(where))
    with pytest.raises(TargetError):
        the_revision("HEAD")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_repository_of_another_user_is_refused_in_one_message(repository: Path, capfd):
    for path in (repository, repository / ".git"):
        os.chown(path, 12345, 12345)
    assert run(["diff", "HEAD:net.py:Net", "net.py:Net"]) == 2
    said = capfd.readouterr().err
    assert "belongs to another user" in said
    assert "safe.directory" in said
    assert run(["check", "net.py"]) == 0


# --- Bounds --------------------------------------------------------------------------------------------------------


@pytest.fixture
def instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Another program in the place of git."""

    def put(script: str) -> None:
        folder = tmp_path / "instead"
        folder.mkdir()
        (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.mark.parametrize(
    "script", ["exec sleep 600", "sleep 600 & exit 0", "trap '' TERM INT; while :; do sleep 1; done"]
)
def test_a_git_that_hangs_is_ended(repository: Path, instead, script: str, monkeypatch):
    instead(script)
    monkeypatch.setattr(door, "SECONDS", 0.3)
    with pytest.raises(TargetError, match=r"did not answer `git rev-parse` within 0\.3 s"):
        the_revision("HEAD")


def test_a_git_that_goes_on_talking_is_ended(repository: Path, instead, monkeypatch):
    instead("exec yes")
    monkeypatch.setattr(door, "OUTPUT_BYTES", 1024**2)
    with pytest.raises(TargetError, match="more than 1 MB"):
        the_revision("HEAD")


def test_a_configuration_that_waits_is_ended(repository: Path, git, monkeypatch):
    os.mkfifo(repository / "pipe")
    git("config", "include.path", "../pipe")
    monkeypatch.setattr(door, "SECONDS", 0.3)
    with pytest.raises(TargetError, match="did not answer"):
        the_revision("HEAD")


def test_a_git_that_hangs_is_told_and_what_it_ignores_is_checked_too(repository: Path, instead, monkeypatch, capfd):
    instead("exec sleep 600")
    monkeypatch.setattr(ignored, "GIT_SECONDS", 0.3)
    (repository / ".gitignore").write_text("left_out.py\n")
    (repository / "left_out.py").write_text("")
    assert run(["check", "--show-files"]) == 0
    said = capfd.readouterr()
    assert "left_out.py" in said.out.splitlines()
    assert "what git ignores is checked too: git did not answer" in said.err


def included(repository: Path, git) -> None:
    (repository / "more").write_text('[Include]\n\tPath = "pi\\\npe"\n')
    git("config", "include.path", "../more")
    os.mkfifo(repository / "pipe")


def linked(repository: Path, git) -> None:
    os.mkfifo(repository / "pipe")
    shutil.rmtree(repository / ".git/info")
    (repository / ".git/info").mkdir()
    (repository / ".git/info/exclude").symlink_to("../../pipe")


def pipe_at(*places: str) -> Callable[..., None]:
    def make(repository: Path, git=None) -> None:
        for place in places:
            (repository / place).parent.mkdir(parents=True, exist_ok=True)
            (repository / place).unlink(missing_ok=True)
            os.mkfifo(repository / place)

    return make


def named(key: str) -> Callable[..., None]:
    def make(repository: Path, git) -> None:
        os.mkfifo(repository / "pipe")
        git("config", key, "pipe" if key.startswith("core") else "../pipe")

    return make


WAITING: dict[str, tuple[Callable[..., None], str]] = {
    ".gitignore": (pipe_at(".gitignore"), ".gitignore"),
    "one below": (pipe_at("a/b/.gitignore"), "a/b/.gitignore"),
    "info/exclude": (pipe_at(".git/info/exclude"), ".git/info/exclude"),
    "a link": (linked, ".git/info/exclude"),
    "index": (pipe_at(".git/index"), ".git/index"),
    "HEAD of one below": (pipe_at("a/.git/HEAD"), "a/.git/HEAD"),
    "core.excludesFile": (named("core.excludesFile"), "pipe"),
    "include.path": (named("include.path"), "pipe"),
    "includeIf": (named("includeIf.gitdir:/**.path"), "pipe"),
    "an include that includes": (included, "pipe"),
}


@pytest.mark.parametrize("kind", WAITING)
def test_what_git_would_wait_for_is_seen_before_it_is_asked(repository: Path, git, kind: str, monkeypatch, capfd):
    make, place = WAITING[kind]
    make(repository, git)
    monkeypatch.setattr(door, "conversation", forbidding_ls_files(door.conversation))
    assert run(["check"]) == 0
    said = capfd.readouterr()
    assert f"{place} is a pipe or a device, for which git would wait" in said.err
    (repository / "bad.py").write_text(BAD)
    assert run(["check"]) == 1
    assert "MG101" in capfd.readouterr().out


def test_a_gitignore_above_the_folder_is_looked_at_too(repository: Path, capfd):
    (repository / "a/b").mkdir(parents=True)
    pipe_at(".gitignore")(repository)
    assert run(["check", "a/b"]) == 0
    assert ".gitignore is a pipe" in capfd.readouterr().err


BAD = """\
from torch import nn

class Bad(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2)]

    def forward(self, x):
        return self.layers[0](x)
"""


def forbidding_ls_files(real: Callable[..., Any]) -> Callable[..., Any]:
    def conversation(arguments: Sequence[str], *given: Any, **more: Any) -> Any:
        assert "ls-files" not in arguments, "git was asked, which waits"
        return real(arguments, *given, **more)

    return conversation


def test_what_names_ordinary_files_is_obeyed(repository: Path, git, capfd):
    """Among them the null device, and files that are not there; also in a working tree beside the first."""
    git("worktree", "add", "../beside", "-q")
    (repository / "ignored_here").write_text("x.py\n")
    (repository / ".git/more").write_text("[core]\n\texcludesFile = ignored_here\n")
    git("config", "include.path", "more")
    git("config", "includeIf.gitdir:/nowhere/.path", "/dev/null")
    for name in ("x.py", "y.py"):
        (repository / name).write_text("")
        (repository.parent / "beside" / name).write_text("")
    (repository.parent / "beside" / "ignored_here").write_text("y.py\n")
    assert run(["check", "--show-files"]) == 0
    assert run(["check", "--show-files", "../beside"]) == 0
    said = capfd.readouterr()
    assert [Path(line).name for line in said.out.splitlines()] == ["net.py", "y.py", "net.py", "x.py"]
    assert said.err == ""


def test_a_tree_of_too_many_files_is_refused(repository: Path, git, monkeypatch):
    git.commit(*(part for number in range(5) for part in (f"f{number}.py", "")))
    monkeypatch.setattr(checkouts, "MOST_FILES", 3)
    with (
        pytest.raises(TargetError, match="files that would be read, more than 3"),
        checkouts.files_of(the_revision("HEAD")),
    ):
        pass


def test_files_that_are_too_large_together_are_refused(repository: Path, monkeypatch):
    monkeypatch.setattr(checkouts, "MOST_OF_ALL", 100)
    with pytest.raises(TargetError, match="together are larger than"), checkouts.files_of(the_revision("HEAD")):
        pass


def test_a_file_that_is_too_large_is_not_read_and_said_so(repository: Path, git, monkeypatch, capfd):
    git.commit("net.py", NET.format(size=3) + "# " + "x" * 5000 + "\n")
    monkeypatch.setattr(reading, "SOURCE_BYTES", 1000)
    with checkouts.files_of(the_revision("HEAD")) as files:
        assert not (files.root / "net.py").exists()
        with pytest.raises(TargetError, match=r"net\.py is larger than 0\.001 MB"):
            files.place_of("net.py")


def test_a_tree_with_one_name_twice_is_no_traceback(repository: Path, git):
    """Such a tree is nothing that git makes; a folder and a file of one name cannot lie side by side."""
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], input=b"x = 1\n", cwd=repository, capture_output=True, check=True
    ).stdout.strip()
    inner = subprocess.run(
        ["git", "mktree"], input=b"100644 blob " + blob + b"\tb.py\n", cwd=repository, capture_output=True, check=True
    ).stdout.strip()
    tree = b"100644 a.py\0" + bytes.fromhex(blob.decode()) + b"40000 a.py\0" + bytes.fromhex(inner.decode())
    made = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        input=tree, cwd=repository, capture_output=True, check=True,
    ).stdout.strip()  # fmt: skip
    commit = subprocess.run(
        ["git", "commit-tree", made.decode(), "-m", "x"], cwd=repository, capture_output=True, check=True
    ).stdout.strip()
    with (
        pytest.raises(TargetError, match="git cannot read the files"),
        checkouts.files_of(the_revision(commit.decode())),
    ):
        pass


def test_nothing_is_written_into_the_repository(repository: Path):
    def state() -> list[tuple[str, int, int]]:
        found = sorted((repository / ".git").rglob("*"))
        return [
            (str(path), path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in found
            if stat.S_ISREG(path.lstat().st_mode)
        ]

    os.utime(repository / "net.py")  # what makes git want to refresh its index
    before = state()
    for form in FORMS.values():
        run(form())
    assert state() == before
