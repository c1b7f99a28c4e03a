"""What goes into a comment on a pull request is shown, and nothing in it is live: read by a parser of Markdown, and by
what GitHub and GitLab look for in the text that comes out of one."""

from __future__ import annotations

import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from modgraph.cli import main
from modgraph.doors import printing
from modgraph.export.diff.markdown import not_comparable, one_side
from modgraph.export.findings.formats import FindingView, render_findings
from modgraph.export.picture.overview import Entry, Overview, markdown
from modgraph.findings import Finding

HOSTILE = runpy.run_path(str(Path(__file__).with_name("hostile.py")))
LIVE = [
    "@octocat", "(@octocat)", "x@octocat", "@org/team", "octocat#1", "#1", "GH-1", "GL-1", "GHSA-jfh8-c2jp-5v3q", "owner/repo#12", "0123456789abcdef",
    "owner/repo@0123456", "https://evil.example/x", "HTTP://evil.example", "www.evil.example", "mailto:a@b.example",
    "a@b.example", "xmpp:a@b.example", "ftp://evil.example", "[x](https://evil.example)", "[x](javascript:alert)",
    "![x](https://evil.example/x.png)", "[x]: https://evil.example", "[x][y]", "[^1]", "<https://evil.example>", "<img src=x>",
    "<script>alert(1)</script>", "<!-- hidden", "--> shown", "</details>", "</sub>", "</summary>", "<![CDATA[x]]>", "<?x?>",
    "&lt;img&gt;", "&#64;octocat", "`code", "``", "```", "~~~", "`@octocat`", "` @octocat `", "\\`@octocat\\`", "\\", "\\\\@octocat",
    "**bold**", "__x__", "~~x~~", "| a | b |", "a\\|b", "|", "# heading", "## x", "- item", "+ item", "* item", "1. item", "1) item",
    "> quote", "> [!WARNING]", "- [x] task", "---", "===", "    indented", ":tada:", ":octocat:", "$x^2$", "$`x`$", "$$",
    "x_www.evil.example", "_www.evil.example", "x_0123456789", "x_GH-1", "~www.evil.example", "::stop-commands::x", "  ::set-output name=x::y",
    "/close", "/approve", "!1", "%1", "~bug", "&1", "~\"a b\"", "%\"a b\"", "^alert#1", "$1", "*iteration:1", "[issue:1]",
]  # fmt: skip
"""What GitHub or GitLab would make something of."""
TOKENS = st.lists(
    st.sampled_from(
        [*LIVE, " ", "\n", "\n\n", "\t", "x", "x_", "_", "~", "*", "`", "|", "\\", "\r\n", "\u2028", "\x1b[31m"]
    ),
    max_size=8,
)
TEXTS = TOKENS.map("".join) | TOKENS.map(" ".join)

# Source: the filters of gjtorikian/html-pipeline and of GitLab's Banzai, that look into text outside of code.
REFERENCES = re.compile(
    r"""(?<![\w`])@[\w] | \w@\w | (?<!\w)(?:\w[\w./-]*)?\#\d | (?<![^\W_])G[HL]-\d | (?<![^\W_])GHSA-\w | (?<![^\W_])[0-9a-f]{7,40}(?![^\W_]) | ://\w
    | (?<![^\W_])www\.\w | (?<![^\W_])(?:mailto|xmpp):\S
    | (?<!\w)[!%~&^$]["\w] | :[\w+-]+: | \$\S+\$""",
    re.VERBOSE | re.IGNORECASE,
)


class _Shown(HTMLParser):
    """The elements of a page, and its text outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.comments: list[str] = []
        self.code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.code += tag == "code"
        assert not {name for name, _ in attrs} - {"class", "style"}

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self.code:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def unknown_decl(self, data: str) -> None:
        self.tags.add(data)


def shown(text: str) -> _Shown:
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    page = _Shown()
    page.feed(html)
    page.close()
    return page


def assert_dead(text: str, *, comments: int = 0, tags: str = "") -> _Shown:
    page = shown(text)
    assert page.tags <= {"p", "code", *tags.split()}, page.tags
    assert len(page.comments) == comments
    found = REFERENCES.search(" ".join(page.text))
    assert found is None, found
    assert HOSTILE["acting"](text) == []
    assert not re.search(r"^\s*::", text, re.MULTILINE)  # a command to GitHub, where it is printed in a log
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"^\s*/[a-z]", outside, re.MULTILINE)  # a quick action of GitLab
    return page


@given(TEXTS)
@pytest.mark.parametrize("before", ["", "- ", "### ", "**x** "])
def test_text_is_shown_and_dead(before: str, text: str):
    assert_dead(before + printing.markdown(text), tags="ul li h3 strong")


@pytest.mark.parametrize("text", LIVE)
def test_each_is_dead_by_itself(text: str):
    page = assert_dead(printing.markdown(text))
    assert page.tags <= {"p", "code"}
    assert_dead(printing.markdown_code(text))


@given(TEXTS)
@example("a`@b")
def test_code_is_one_piece_of_code(text: str):
    written = printing.markdown_code(text)
    page = assert_dead(f"{written} after" if written else "after")
    assert "".join(page.text).strip() == "after"


@given(TEXTS, TEXTS)
@example("a|b", "c\\|d")
@example("`|`", "\\")
def test_a_row_of_a_table_has_its_cells_and_no_more(place: str, words: str):
    cells = [printing.in_cell(printing.markdown_code(place)), printing.in_cell(printing.markdown(words))]
    written = f"| a | b | c |\n|---|---|---|\n| {cells[0]} | {cells[1]} | end |\n\nafter"
    html = MarkdownIt("commonmark").enable("table").render(written)
    assert html.count("<td>") == 3
    assert "<td>end</td>" in html
    assert_dead(written, tags="table thead tbody tr th td")


@given(TEXTS)
@example("```\n@octocat\n```")
@example("~~~~\n````\n")
def test_a_block_of_code_is_left_by_nothing_in_it(text: str):
    page = assert_dead(f"{printing.markdown_block(text)}\n\nafter", tags="pre")
    assert "".join(page.text).strip() == "after"


@given(TEXTS, TEXTS)
def test_what_is_said_of_a_model_that_one_side_has(target: str, why: str):
    for written in (one_side(target, "removed", why), not_comparable(target, why)):
        page = assert_dead(written, comments=1, tags="h3 strong")
        assert written.split("\n", 1)[0] == printing.comment_marker(target)
        assert written.split("\n", 2)[1] == ""
        assert "h3" in page.tags


@given(TEXTS, TEXTS, TEXTS)
def test_the_index_of_many_models(name: str, place: str, reason: str):
    facts = {"parameters": 1, "modules": 2, "findings": [{"code": "MG101", "file": name, "line": 1, "message": reason}]}
    written = markdown(Overview((Entry(name, place, "failed", reason, facts, ()),), ((place, reason),)))
    assert_dead(written, tags="h1 h2 table thead tbody tr th td ul li")


# --- whole comments ------------------------------------------------------------------------------------------------

NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({{{plain!a}: nn.Linear(2, {width}), "kept": nn.Linear(2, 2)}})
        self.add_module("x" + {plain!a}, {made})

    def forward(self, x):
        return self.layers[{plain!a}](x)
"""


@pytest.mark.parametrize(
    "text", [*LIVE, "".join(LIVE[:30]), " ".join(LIVE), HOSTILE["NASTY"]], ids=lambda text: ascii(text)[1:20]
)
def test_a_comment_on_a_change(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str):
    plain = text.replace(".", "")
    for file, width, made in (("old", 2, "None"), ("new", 3, "nn.Linear(2, 2)")):
        source = NET.format(plain=plain, width=width, made=made)
        (tmp_path / f"{file}.py").write_text(source, "utf-8")
        status = main(
            ["analyze", "--static", f"{tmp_path / file}.py:Net", "--format", "json", "-o", f"{tmp_path / file}.json"]
        )
        assert status <= 1
        graph = json.loads((tmp_path / f"{file}.json").read_text("utf-8"))
        hostile(graph, text)
        (tmp_path / f"{file}.json").write_text(json.dumps(graph), "utf-8")
    capsys.readouterr()
    assert main(["diff", f"{tmp_path / 'old.json'}", f"{tmp_path / 'new.json'}", "--format", "markdown"]) == 1
    written = capsys.readouterr().out
    assert written.partition("\n")[0] == printing.comment_marker(text)
    assert_dead(written, comments=1, tags="h3 strong table thead tbody tr th td details summary pre ul li sub")


def hostile(graph: dict[str, Any], text: str) -> None:
    """Put it wherever a graph holds a text of its model."""
    graph["complete"] = False
    graph["model"] |= {"name": text, "class": text, "target": text}
    graph["problems"] = [{"stage": "predict", "message": text, "module": "layers", "file": text, "line": 3}]
    graph["findings"] = [
        {"code": "MG101", "message": text + str(len(graph["modules"])), "file": text, "line": 3, "module": "layers"}
    ]
    for module in graph["modules"]:
        if module["class"] == "torch.nn.modules.linear.Linear":
            module["class"] = f"{text}{len(module['path'])}.{text}"
            module["arguments"] |= {"note": text}


@given(TEXTS)
def test_nothing_is_live_in_the_message_that_reviewdog_posts(text: str):
    finding = Finding(code="MG101", name="n", severity="error", message=text, file="a.py", line=1, column=1)
    (posted,) = json.loads(render_findings(FindingView([finding]), "rdjson"))["diagnostics"]
    assert_dead(posted["message"])
