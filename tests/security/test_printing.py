"""What is printed does nothing: names and messages of others, on a terminal, in a log, in a document."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import runpy
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from modgraph.cli import main
from modgraph.doors import printing
from modgraph.export import FORMATS
from modgraph.export.diff.formats import FORMATS as DIFF_FORMATS
from modgraph.export.findings.formats import FINDING_FORMATS
from modgraph.export.page.html import library_text

ROOT = Path(__file__).parents[2]
_HOSTILE = runpy.run_path(str(Path(__file__).with_name("hostile.py")))
NASTY: str = _HOSTILE["NASTY"]
NASTY_FILE: str = _HOSTILE["NASTY_FILE"]
COLORS = _HOSTILE["COLORS"]
acting: Callable[[str], list[str]] = _HOSTILE["acting"]
commands: Callable[[str], list[str]] = _HOSTILE["commands"]
assert_inert: Callable[[str], None] = _HOSTILE["assert_inert"]

TEXTS = st.text(
    st.one_of(
        st.sampled_from("\x1b\x9b\x00\x07\x08\r\n\t\x0b\x0c\x1c\x1e\x7f\x85\u2028\u2029\u202e\u2066\u200b\ufeff\U000e0041:#[%<>-`@"),
        st.characters(exclude_categories=()),
    ),
    max_size=40,
)  # fmt: skip

# --- the functions -------------------------------------------------------------------------------------------------


@given(TEXTS)
@example(NASTY)
def test_a_printable_text_is_one_line_in_which_nothing_acts(text: str):
    shown = printing.printable(text)
    assert acting(shown) == []
    assert "\n" not in shown
    assert "\t" not in shown
    assert "##[" not in shown
    assert all(char in shown for char in text if char.isalnum() and not printing.acts(char))


SHOWN = {
    "printable": printing.printable, "excerpt": printing.excerpt, "block": printing.block, "clean": printing.clean,
    "xml_text": printing.xml_text, "json_text": lambda text: printing.json_text(json.dumps(text, ensure_ascii=False)),
    "markdown": printing.markdown, "markdown_code": printing.markdown_code,
}  # fmt: skip
ORDINARY = [
    "\u00e9t\u00e9", "e\u0301te\u0301", "Vie\u0302\u0323t", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
    "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0e17\u0e35\u0e48", "\u0f66\u0f92\u0fb2\u0f74\u0f56", "\u2764\ufe0f", "1\ufe0f\u20e3", "\u2139\ufe0f", "\u65e5\u672c\u8a9e", "x\u0305",
]  # fmt: skip
"""Words with accents, points, vowels and tones; a heart and a key cap in colour."""


def longest_stack(text: str) -> int:
    """The most marks on one base."""
    longest = now = 0
    for char in text:
        now = now + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        longest = max(longest, now)
    return longest


@pytest.mark.parametrize("name", SHOWN)
def test_marks_do_not_cover_what_stands_beside_them(name: str):
    for mark in ("\u0336", "\u20d2", "\ufe0f", "\u0300\u0336\u0489"):
        assert longest_stack(SHOWN[name](f"a{mark * 200}b")) <= 4
        assert longest_stack(SHOWN[name](f"\u05d0{mark * 200}\u05d1")) <= 4
        assert longest_stack(SHOWN[name](mark * 200)) <= 4


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize(
    "unseen", ["\u2800", "\U0001d159", "\ufffc", "a\ufe0f", "a\ufe0e", "\u2764\ufe0f\ufe0f", "1\ufe0f"]
)
def test_no_character_is_shown_as_nothing(name: str, unseen: str):
    assert not SHOWN[name](f"x{unseen}").endswith(unseen)


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("word", ORDINARY)
def test_ordinary_words_are_as_they_are(name: str, word: str):
    assert SHOWN[name](word).strip('"`') == word


@given(TEXTS)
@example(NASTY)
def test_an_excerpt_keeps_every_column(text: str):
    shown = printing.excerpt(text)
    assert_inert("x" + shown)
    assert "\n" not in shown
    assert len(shown) == len(text)


@given(TEXTS, st.booleans())
@example(NASTY, True)
@example("\x1b[1m::error::x\x1b[0m", True)
@example("   ::error::x", False)
def test_a_block_keeps_line_ends_and_our_styles_alone(text: str, styled: bool):
    shown = printing.block(f"{text}\n{printing.painted('ours', 'bold red')}", styled=styled)
    assert shown.count("\n") == text.count("\n") + 1
    assert_inert(COLORS.sub("", shown) if styled else shown)
    assert ("\x1b[1;31mours\x1b[0m" in shown) is styled
    assert (
        not set(COLORS.findall(shown))
        - {f"\x1b[{code}m" for code in (0, 1, 2, *range(31, 37))}
        - {f"\x1b[{weight};{code}m" for weight in (1, 2) for code in range(31, 37)}
    )


@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=5))
@example({NASTY: [NASTY]})
def test_json_says_the_same_with_nothing_that_acts(value: Any):
    for indent in (None, 2):
        dumped = json.dumps(value, ensure_ascii=False, indent=indent)
        written = printing.json_text(dumped)
        assert_inert(written)
        # A pair of halves is one character to whoever reads it.
        assert json.loads(written) == json.loads(json.dumps(value))


@given(TEXTS, TEXTS)
@example(NASTY, NASTY)
def test_a_workflow_command_is_one_line_with_its_own_properties(file: str, message: str):
    command = printing.workflow_command("error", {"file": file, "line": 3}, message)
    assert acting(command) == []
    assert "\n" not in command
    head, _, data = command.removeprefix("::error ").partition("::")
    assert [each.partition("=")[0] for each in head.split(",")] == ["file", "line"]
    assert "%" not in data.replace("%25", "").replace("%0D", "").replace("%0A", "")


@given(st.lists(TEXTS, min_size=2, max_size=2, unique=True))
@example(["a--b", "a-b"])
@example(["a>b", "ab"])
@example(["a\nb", "a%0Ab"])
@example(["x" * 1000, "x" * 1001])
def test_every_target_has_a_marker_of_its_own_that_nothing_closes(targets: list[str]):
    markers = [printing.comment_marker(target) for target in targets]
    assert markers[0] != markers[1]
    for marker in markers:
        assert_inert(marker)
        assert "\n" not in marker
        inner = marker.removeprefix("<!--").removesuffix("-->")
        assert "--" not in inner
        assert ">" not in inner
        assert len(marker) < 600


def test_the_marker_of_an_ordinary_target_is_the_target():
    assert printing.comment_marker("pkg/net.py:Net(depth=4)") == "<!-- modgraph:pkg/net.py:Net(depth=4) -->"


def test_a_name_that_looks_like_a_place_does_not_lead_elsewhere():
    assert printing.place("a.py", 3, 4) == "a.py:3:4"
    assert printing.place("b.py:1:2: error", 3, 4) == "b.py\\x3a1\\x3a2\\x3a error:3:4"
    assert printing.place("a\nb.py", 3) == "a\\nb.py:3"
    assert printing.place("C:/net.py", 3) == "C:/net.py:3"


# --- the commands --------------------------------------------------------------------------------------------------

NET = f"""\
from torch import nn

MODE = {NASTY!a}


class Conv2d(nn.Conv2d):
    def __init__(self, n, m, k, label=None):
        super().__init__(n, m, k)


class Net(nn.Module):
    def __init__(self, kind={NASTY!a}):
        super().__init__()
        self.add_module({"n" + NASTY.replace(".", "")!a}, Conv2d(3, WIDTH, 3, label={NASTY!a}))
        self.blocks = [nn.Linear(2, 2) for _ in range(3)]  # RAW
        self.by_name = nn.ModuleDict({{{NASTY!a}: nn.Linear(2, WIDTH)}})
        if kind == MODE:
            self.other = {{{NASTY!a}: nn.Linear(2, 2)}}

    def forward(self, x):
        assert x.shape[0] == 2, {NASTY!a}
        for block in self.blocks:
            x = block(x)
        return self.by_name[MODE](x)


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError({NASTY!a})
"""
RAW = "\x1b[31m\x0c ::error::pwned ##[add-mask]pwned \u202e\u2028"
"""Python takes all of it in a comment, and a form feed is no end of a line for it."""


def net(width: int = 4) -> str:
    return NET.replace("WIDTH", str(width)).replace("RAW", RAW)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of somebody else."""
    place = tmp_path / "repository"
    place.mkdir()
    monkeypatch.chdir(place)
    (place / NASTY_FILE).write_text(net(), "utf-8")
    (place / "net.py").write_text(net(), "utf-8")
    (place / "new.py").write_text(net(6), "utf-8")
    for variable in ("NO_COLOR", "FORCE_COLOR", "CI"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    return place


class _Stream(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="surrogatepass", newline="")

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("utf-8", "surrogatepass")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """The command in this process: status, standard output, standard error."""

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        out, err = _Stream(), _Stream()
        taken = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", taken)
            status = main(list(arguments))
        return status, out.text(), err.text()

    return run


@pytest.mark.parametrize("form", FINDING_FORMATS)
def test_check(run, folder: Path, form: str):
    status, out, err = run("check", "--format", form, "--select", "ALL", ".")
    assert status == 1
    assert "MG101" in out
    assert_inert(err)
    if form == "github":
        assert acting(out) == []
        for line in out.splitlines():
            assert line.startswith(
                ("::warning title=modgraph (MG", "::error title=modgraph (MG", "::notice title=modgraph (MG")
            )
    else:
        assert_inert(out)
    for painted in run("check", "--format", form, "--color", "always", "."):
        assert acting(COLORS.sub("", str(painted))) == []


ODD = [
    ("check", "--diff", "--unsafe-fixes", "."),
    ("check", "--statistics", "."),
    ("check", "--show-files", "."),
    ("check", "--show-settings", "net.py"),
    ("check", "--explain", NASTY),
    ("check", "--select", NASTY, "."),
    ("check", "--config", NASTY, "."),
    ("check", "--config", f"exclude=[{NASTY}]", "."),
    ("check", "--baseline", NASTY, "."),
    ("check", "--exclude", NASTY, "--show-settings", "."),
    ("check", NASTY, NASTY_FILE + "x"),
    ("check", "-o", f"nowhere/{NASTY}", "."),
    ("check", "--format", NASTY),
    ("check", "--jobs", NASTY),
    ("check", f"--{NASTY}"),
    (NASTY,),
    ("--debug", "check", "--select", NASTY),
    ("analyze", "--static", NASTY),
    ("analyze", "--static", f"{NASTY}:Net"),
    ("analyze", "--static", f"net.py:{NASTY}"),
    ("analyze", "--static", "net.py:Broken", "-o", "out"),
    ("analyze", "--static", "net.py:Net", "--format", NASTY),
    ("analyze", "--static", "net.py:Net", "--columns", NASTY),
    ("analyze", "--static", "net.py:Net", "--focus", NASTY),
    ("analyze", "--static", "net.py:Net", "--against", NASTY),
    ("analyze", "--static", "net.py:Net", "-o", f"nowhere.{NASTY}"),
    ("analyze", "net.py:Net", "--input", NASTY),
    ("analyze", "net.py:Net", "--timeout", NASTY),
    ("analyze", "--static", f"net.py:Net({NASTY})"),
    ("analyze", "--static", f"net.py:Net({NASTY!a})", "-o", "out"),
    ("analyze", "--static", "net.py", "-o", "out"),
    ("analyze", "--static", "--all", ".", "-o", "out", "--jobs", "1", "--format", "json"),
    ("analyze", "--static", "--all", NASTY),
    ("analyze", "--static", "--verbose", "--debug", "net.py:Broken", "-o", "out"),
    ("diff", NASTY, NASTY),
    ("diff", f"{NASTY}:net.py:Net", "net.py:Net"),
    ("diff", f"HEAD:{NASTY}.py:Net", "net.py:Net"),
    ("diff", NASTY),
    ("diff", "net.py:Net", "new.py:Net", "--format", "text", "-o", f"{NASTY[:40]}.txt"),
    ("render", NASTY),
    ("render", f"{NASTY}.json"),
    ("render", "net.py"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", ODD, ids=lambda arguments: ascii(" ".join(arguments))[1:50])
@pytest.mark.parametrize("color", ["never", "always"])
def test_every_other_way_of_asking(run, folder: Path, arguments: tuple[str, ...], color: str):
    arguments = tuple(each.replace("\x00", "") for each in arguments)
    _, out, err = run(
        *arguments, *(["--color", color] if arguments[0] in ("check", "analyze", "diff", "render") else [])
    )
    assert out or err
    for text in (out, err):
        assert_inert(COLORS.sub("", text) if color == "always" else text)
        assert "Traceback" not in text or "--debug" in arguments


@pytest.mark.parametrize("form", [name for name in FORMATS if name not in ("png", "pdf", "onnx")])
def test_a_model_in_every_format(run, folder: Path, form: str):
    _, out, err = run("analyze", "--static", "net.py:Net", "--format", form, "-o", "-")
    assert "Conv2d" in out
    assert_inert(out.replace(library_text(), ""))
    assert_inert(err)


@pytest.mark.parametrize("form", DIFF_FORMATS)
def test_a_change_in_every_format(run, folder: Path, form: str):
    status, out, err = run("diff", "net.py:Net", "new.py:Net", "--format", form)
    assert status == 1
    assert_inert(out)
    assert_inert(err)


def test_what_python_warns_of_in_a_source_is_not_shown(tmp_path: Path):
    source = 'from torch import nn\nX = 1if 1else 2  # \x1b[31m\nY = "\\d"\n\n\nclass Net(nn.Module):\n    pass\n'
    (tmp_path / "w\x1b[31m.py").write_text(source)
    (tmp_path / "w.py").write_text(source)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "always", "PYTHONSAFEPATH": "1"}
    for arguments in (
        ["check", "w\x1b[31m.py"],
        ["analyze", "--static", "w.py", "-o", "out"],
        ["analyze", "--static", "--all", "."],
    ):
        command = [sys.executable, "-m", "modgraph", *arguments]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
        assert_inert(ran.stdout)
        assert_inert(ran.stderr)
        assert "SyntaxWarning" not in ran.stderr
        assert "invalid decimal" not in ran.stderr


def test_standard_input(run, folder: Path):
    for options in ([], ["--format", "concise"], ["--diff", "--unsafe-fixes"]):
        status, out, err = run("check", "-", "--stdin-filename", NASTY_FILE, *options, stdin=net())
        assert status == 1
        assert_inert(out)
        assert_inert(err)


def test_a_patch_that_can_be_applied_is_printed_as_it_is(run, folder: Path):
    lines = ["from torch import nn", "class Net(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [
        "        self.blocks = [nn.Linear(2, 2)]  # ü",
        "    def forward(self, x):",
        "        return self.blocks[0](x)",
    ]
    plain = "".join(f"{line}\r\n" for line in lines)
    (folder / "windows.py").write_text(plain, "utf-8", newline="")
    status, out, _ = run("check", "--diff", "--unsafe-fixes", "windows.py")
    assert status == 1
    assert "\r\n+" in out


def test_lines_of_a_message_are_set_in(run, folder: Path):
    _, _, err = run("check", "--select", "gone\nerror: forged\n  --> forged.py:3\nwrote forged")
    assert "forged" in err
    assert all(line.startswith(("    ", "error: there is no rule")) for line in err.splitlines() if "forged" in line), (
        err
    )


# --- what is read --------------------------------------------------------------------------------------------------


def hostile_graph(run: Any) -> dict[str, Any]:
    _, out, _ = run("analyze", "--static", "net.py:Net", "--format", "json", "-o", "-")
    graph: dict[str, Any] = json.loads(out)
    graph["model"] |= {"name": NASTY, "class": NASTY, "target": f"net.py:{NASTY}"}
    graph["complete"] = False
    graph["problems"].append({"stage": "trace", "message": NASTY, "module": None, "file": NASTY, "line": 3})
    for module in graph["modules"]:
        if module["path"]:
            module["class"] = NASTY if module["class"] else None
    graph["findings"].append({"code": "MG101", "message": NASTY, "file": NASTY, "line": 3, "module": ""})
    return graph


@pytest.mark.parametrize("form", [name for name in FORMATS if name not in ("png", "pdf", "onnx")])
def test_a_graph_that_somebody_else_wrote(run, folder: Path, form: str):
    (folder / "graph.json").write_text(json.dumps(hostile_graph(run)), "utf-8")
    status, out, err = run("render", "graph.json", "--format", form, "-o", "-")
    assert status == 0, err
    assert_inert(out.replace(library_text(), ""))
    assert_inert(err)


@pytest.mark.parametrize("form", DIFF_FORMATS)
def test_a_change_of_graphs_that_somebody_else_wrote(run, folder: Path, form: str):
    (folder / "graph.json").write_text(json.dumps(hostile_graph(run)), "utf-8")
    _, out, err = run("diff", "net.py:Net", "graph.json", "--format", form)
    assert out
    assert_inert(out)
    assert_inert(err)


@pytest.mark.parametrize(
    "text",
    [
        "{" + json.dumps(NASTY) + ": 1}",
        json.dumps({"schema": NASTY}),
        json.dumps({"schema": "modgraph/1", NASTY: 2}),
        NASTY,
    ],
)
def test_a_graph_that_is_none(run, folder: Path, text: str):
    (folder / "graph.json").write_text(text, "utf-8", errors="surrogatepass")
    status, out, err = run("render", "graph.json")
    assert status == 2
    assert_inert(out)
    assert_inert(err)


def test_keys_of_a_checkpoint(run, folder: Path):
    header = json.dumps(
        {NASTY + str(n): {"dtype": "F32", "shape": [], "data_offsets": [4 * n, 4 * n + 4]} for n in range(3)}
    )
    data = struct.pack("<Q", len(header)) + header.encode() + bytes(12)
    (folder / "net.safetensors").write_bytes(data)
    status, out, err = run("analyze", "--static", "net.py:Net", "--against", "net.safetensors", "-o", "out")
    assert status == 1
    assert "unexpected" in out
    assert_inert(out)
    assert_inert(err)


CONFIGURATIONS = [
    f"[tool.modgraph]\n{json.dumps(NASTY.replace(chr(0xDC9B), ''))} = 1\n",
    f"[tool.modgraph]\nselect = [{json.dumps(NASTY.replace(chr(0xDC9B), ''))}]\n",
    f"[tool.modgraph]\nexclude = {json.dumps(NASTY.replace(chr(0xDC9B), ''))}\n",
    f"[tool.modgraph]\nbaseline = {json.dumps(NASTY.replace(chr(0xDC9B), ''))}\n",
    f"[tool.modgraph]\ntargets = [{json.dumps(NASTY.replace(chr(0xDC9B), ''))}]\n",
    f"[tool.modgraph]\nmodule-bases = [{json.dumps(NASTY.replace(chr(0xDC9B), ''))}]\n[tool.modgraph.per-file-ignores]\n"
    f"{json.dumps(NASTY.replace(chr(0xDC9B), ''))} = [{json.dumps(NASTY.replace(chr(0xDC9B), ''))}]\n",
    f"[tool.modgraph]\n{NASTY.replace(chr(0xDC9B), '')}\n",
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "net.py"),
        ("check", "--show-settings", "net.py"),
        ("analyze", "--static", "-o", "out"),
        ("diff", "HEAD"),
    ],
)
def test_a_configuration(run, folder: Path, git: Any, text: str, arguments: tuple[str, ...]):
    (folder / "pyproject.toml").write_text(text, "utf-8")
    git("init", "-q", "-b", "main", cwd=folder)
    git.commit("x.txt", "x", cwd=folder)
    _, out, err = run(*arguments)
    assert out or err
    assert_inert(out)
    assert_inert(err)


@pytest.mark.needs_torch
def test_what_a_run_says(run, folder: Path):
    for target in ("net.py", "net.py:Broken"):
        _, out, err = run("analyze", target, "-o", "out", "--input", "3x2")
        assert_inert(out)
        assert_inert(err)
    assert "ValueError" in out + err


def test_names_in_an_onnx_file(run, folder: Path):
    onnx = pytest.importorskip("onnx")
    name = NASTY.replace(chr(0xDC9B), "")
    value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2])
    out_value = onnx.helper.make_tensor_value_info("o" + name, onnx.TensorProto.FLOAT, [2])
    node = onnx.helper.make_node("Relu", [name], ["o" + name], name=name, domain="")
    graph = onnx.helper.make_graph([node], name, [value], [out_value])
    (folder / "net.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    for form in ("text", "json", "dot", "mermaid"):
        status, out, err = run("render", "net.onnx", "--format", form, "-o", "-")
        assert status == 0, err
        assert_inert(out)
        assert_inert(err)


# --- nobody goes round ---------------------------------------------------------------------------------------------

STREAMS = {"cli/__init__.py", "cli/console.py", "cli/progress.py", "cli/streams.py", "export/picture/images.py"}
"""Those that write on a standard stream; the last one is the text of a program that writes an image for us."""


def calls_in(file: Path, words: str) -> Iterator[tuple[ast.Call, str]]:
    """The calls of a file in which one of the words stands; to parse all would take seconds."""
    text = file.read_text("utf-8")
    if not re.search(rf"\b(?:{words})\b", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            yield node, written(node.func)


def written(node: ast.expr) -> str:
    """As it is written; most that is called is a name with dots, which needs no other way."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return f"{written(node.value)}.{node.attr}"
    return ast.unparse(node)


def sources() -> list[tuple[str, Path]]:
    package = Path(printing.__file__).parents[1]
    files = [(path.relative_to(package).as_posix(), path) for path in sorted(package.rglob("*.py"))]
    found = [(name, path) for name, path in files if "torch_stubs" not in name]
    assert len(found) > 200
    return found


def test_the_standard_streams_have_their_writers():
    for name, path in sources():
        for _, called in calls_in(path, "print|stdout|stderr|__stdout__|__stderr__"):
            assert called != "print", name
            if called.startswith(("sys.stdout.", "sys.stderr.", "sys.__stdout__", "sys.__stderr__")):
                assert name in STREAMS or called.endswith((".fileno", ".isatty", ".flush")), f"{name}: {called}"


def test_json_for_others_is_written_by_one_function():
    for name, path in sources():
        calls = list(calls_in(path, "dumps"))
        escaped = {id(each) for call, called in calls if called == "json_text" for each in ast.walk(call)}
        for call, called in calls:
            raw = any(keyword.arg == "ensure_ascii" for keyword in call.keywords)
            own = name.startswith(("graph/", "export/onnx/", "export/picture/mermaid"))
            if called == "json.dumps" and raw and not own:
                assert id(call) in escaped, f"{name}:{call.lineno}"


def test_text_of_others_is_escaped_nowhere_else():
    """Characters that act are named in one file."""
    for name, path in sources():
        if name == "doors/printing.py" or name.startswith(("prediction/", "tracing/", "inputs/", "source/", "rules/")):
            continue
        text = path.read_text("utf-8")
        assert not re.search(r"\\(?:x1b|033|u202e|u2028)|\\%0A|isprintable", text) or name == "cli/progress.py", name
