"""The picture for LaTeX: what Graphviz drew, in TikZ; no text of a model has a meaning in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from modgraph.errors import ExportError
from modgraph.export import render
from modgraph.export.look import kinds, style
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture import images, latex_text, tikz
from modgraph.export.picture.latex_text import latex

SANS, MONO = "Arial, 'Liberation Sans', Helvetica, sans-serif", "'Courier New', 'Liberation Mono', monospace"
HOSTILE = [
    r"\input{/etc/passwd}", r"\immediate\write18{touch owned}", r"^^5cinput{x}", "}}\\end{document}{{", "a\nb\r\n\nc", "%",
    "#1 & $x$ ~ _y^z", r"\\", "\\catcode`\\@=11", "--''``,,<<>>?`!`", "\u202e\u2028\x00\x1b[31m", r"\csname end\endcsname",
]  # fmt: skip


def text(
    x: float, y: float, said: str, *, size: float = 12, bold: bool = False, mono: bool = False, **more: str
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    anchor, fill = more.get("anchor", "start"), more.get("fill", "#111827")
    return (
        f'<text text-anchor="{anchor}" x="{x}" y="{y}" font-family="{MONO if mono else SANS}"{weight} '
        f'font-size="{size:.2f}" fill="{fill}">{escape(said)}</text>'
    )


def rectangle(left: float, top: float, right: float, bottom: float, fill: str, stroke: str = "transparent") -> str:
    corners = f"{left},{bottom} {left},{top} {right},{top} {right},{bottom} {left},{bottom}"
    return f'<polygon fill="{fill}" stroke="{stroke}" points="{corners}"/>'


def group(kind: str, id: str, *inside: str) -> str:
    drawn, link = "\n".join(inside), quoteattr(f"a_{id}")
    return f'<g id={quoteattr(id)} class="{kind}">\n<g id={link}><a xlink:title="x">\n{drawn}\n</a>\n</g>\n</g>'


def svg(*parts: str, size: tuple[float, float] = (200, 300), printed: float = 1.0) -> bytes:
    """As Graphviz writes it: y grows downwards from minus the height, the page's white first."""
    width, height = size
    page = rectangle(-4, 4 - height, width - 4, 4, "white")
    drawn = "\n".join((page, *parts))
    return (
        f'<svg width="{width * printed:.2f}pt" height="{height * printed:.2f}pt"\n viewBox="0.00 0.00 {width} {height}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">\n'
        f'<g id="picture" class="graph" transform="scale(1 1) rotate(0) translate(4 {height - 4})">\n{drawn}\n</g>\n</svg>\n'
    ).encode()


def sample() -> bytes:
    """A frame with a badge, a card of two rows, a pill, an arrow with a label, a circle."""
    badge = '<path fill="#0072b2" stroke="transparent" d="M152,-280C152,-280 140,-280 140,-280 134,-280 134,-260 140,-260"/>'
    pill = '<path fill="#1f2937" stroke="#1f2937" stroke-width="1.2" d="M102,-40C102,-40 40,-40 40,-40 34,-40 34,-20 40,-20 40,-20 102,-20 102,-20 108,-20 108,-40 102,-40"/>'
    return svg(
        text(5, -285, "Net", size=20, bold=True),
        group(
            "cluster", "frame:layer", rectangle(10, -290, 180, -120, "#f6f7f9", "#b6bec9"),
            text(16, -275, "layer", bold=True), badge, text(137, -266, "×3", size=13, bold=True, fill="white"),
        ),
        group(
            "node", "layer.0",
            rectangle(20, -240, 170, -200, "white"),
            rectangle(21, -239, 30, -220, "#0072b2"), rectangle(30, -239, 110, -220, "#dcebf7"),
            text(33, -226, "Conv2d", bold=True), text(79, -226, " "), text(83, -226, "3×3", size=10, fill="#4b5563"),
            rectangle(110, -239, 130, -220, "#dcebf7"), text(113, -226, "w_0", size=10, mono=True),
            rectangle(130, -239, 169, -220, "#dcebf7"), text(149, -226, "448", size=10, fill="#4b5563"),
        ),
        group("node", "sum", '<ellipse fill="white" stroke="#4b5563" stroke-width="1.4" cx="80" cy="-100" rx="10.8" ry="10.8"/>',
              text(80, -95.5, "+", size=15, anchor="middle")),
        group("node", "output:0", pill, text(46, -26, "output", bold=True, fill="white"), text(83.5, -26, " \u00a0"),
              text(90.5, -26, "8", size=10, fill="white")),
        group(
            "edge", "a:to:b",
            '<path fill="none" stroke="#6b7280" stroke-width="1.3" stroke-dasharray="5,2" d="M80,-200C80,-180 80,-150 80,-112"/>',
            '<polygon fill="#6b7280" stroke="#6b7280" stroke-width="1.3" points="82,-112 80,-108 78,-112 82,-112"/>',
            text(84, -150, "\u00a016×8×8", size=10, fill="#374151"),
        ),
    )  # fmt: skip


def lines_of(tex: str) -> list[str]:
    return [line for line in tex.splitlines() if line.startswith("\\mgline")]


def test_a_picture(golden):
    golden("picture.tex", tikz.write_tikz(sample()))


def test_a_line_is_set_against_what_it_stood_at():
    sides = {}
    for line in lines_of(tikz.write_tikz(sample())):
        _, side, said = re.split(r"\}([lcr])\{", line, maxsplit=1)
        sides["|".join(re.findall(r"\\mg[sbt]\{[\d.]+\}\{\w+\}\{(.*?)\}(?=\\mg[sbt]\{|\}$)", said))] = side
    assert sides == {
        "Net": "l", "layer": "l", r"\mgtimes{}3": "c", r"Conv2d|\ |3\mgtimes{}3": "l", r"w\textunderscore{}0": "l",
        "448": "r", "+": "c", r"output|\ \ |8": "c", r"16\mgtimes{}8\mgtimes{}8": "l",
    }  # fmt: skip


def test_places_are_those_of_the_page():
    tex = tikz.write_tikz(sample())
    assert "(0,0) rectangle (200,300);" in tex
    assert "\\path[fill=mgf6f7f9,draw=mgb6bec9,line width=1bp] (14,6) rectangle (184,176);" in tex
    assert "dash pattern=on 5bp off 2bp] (84,96)..controls (84,116) and (84,146)..(84,184);" in tex


def test_a_figure_is_printed_at_its_size():
    tex = tikz.write_tikz(svg(rectangle(10, -290, 180, -120, "#f6f7f9"), text(5, -50, "Net"), printed=0.5))
    assert "paperwidth=100bp,paperheight=150bp" in tex
    assert "(7,3) rectangle (92,88);" in tex
    assert "{0.602}" in tex  # 6 points, in tenths of LaTeX's 72.27 to the inch


def test_what_is_larger_than_tex_knows_is_smaller():
    tex = tikz.write_tikz(svg(text(5, -50, "Net"), size=(100, 28_000)))
    assert "paperwidth=50bp,paperheight=14000bp" in tex


@pytest.mark.parametrize("broken", [b"", b"<svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"])
def test_what_is_no_picture_of_graphviz_is_an_error_of_ours(broken: bytes):
    with pytest.raises(ExportError):
        tikz.write_tikz(broken)


ALLOWED = {
    *"%#& ", *latex_text._ACCENTS.values(), "ensuremath", "textsuperscript", "textsubscript",
    "textbackslash", "textbraceleft", "textbraceright", "textunderscore", "textasciitilde", "textasciicircum", "textless",
    "textgreater", "textbar", "textdollar", "mgother", "ss", "ae", "AE", "oe", "OE", "o", "O", "aa", "AA", "l", "L", "i",
    "S", "P", "textcopyright", "textquestiondown", "textexclamdown", "textsterling", "textendash", "textemdash",
    "textquoteleft", "textquoteright", "textquotedblleft", "textquotedblright", "textbullet", "textdagger", "textdaggerdbl",
    *latex_text._MATHS.values(), *(name for name, _ in latex_text.MARKS.values()),
}  # fmt: skip
ACTIVE = {"input", "include", "openin", "openout", "read", "write", "immediate", "special", "def", "let", "catcode", "csname",
          "end", "begin", "expandafter", "directlua", "loop", "the", "show", "endinput"}  # fmt: skip


def assert_plain(written: str) -> None:
    """One line of ASCII, its braces in pairs, no command but those that set a sign."""
    assert written.isascii()
    assert written.isprintable()
    commands = re.findall(r"\\([A-Za-z]+|.)", written)
    assert set(commands) <= ALLOWED, set(commands) - ALLOWED
    rest = re.sub(r"\\([A-Za-z]+|.)", "", written)
    assert not set(rest) & set("\\%$#&_^~<>|")
    depth = 0
    for char in rest:
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0


@given(st.text(st.one_of(st.characters(), st.sampled_from("\\{}^%#&$_~-'`!?,<>|×→▸↺é\u0301 \n")), max_size=30))
@example("".join(HOSTILE))
@example("a\u0301\u0302 \u0301 -\u0301 \u3000\u0301")
def test_no_text_is_a_command(said: str):
    assert not ALLOWED & ACTIVE
    assert_plain(latex(said))
    if re.fullmatch(r"[A-Za-z0-9.:/()]*", said):
        assert latex(said) == said


@pytest.mark.parametrize("pair", ["--", "''", "``", ",,", "<<", ">>", "?`", "!`"])
def test_two_signs_beside_each_other_are_no_third(pair: str):
    assert re.fullmatch(r"(?:\\text\w+)?(.?)\{\}(?:\\text\w+\{\}|.)", latex(pair))


def test_every_sign_of_the_pictures_is_set():
    signs = {*"".join(kinds.SIGNS), *"".join(kinds.NOTATION), *"".join(each.sign for each in style.STATES.values())}
    signs |= {*"▸◂×·…≥–→↑−"}
    assert not [sign for sign in signs if latex(sign) == latex_text.OTHER]
    assert latex("日") == latex_text.OTHER
    assert latex("é") == latex("e\u0301") == "\\'{e}"
    assert latex("x₁²") == "x\\textsubscript{1}\\textsuperscript{2}"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_does_anything_in_a_file(name: str):
    """Neither in its texts nor in the remarks that say what is what; characters that are none of XML do not get here."""
    name = "".join(char for char in name if char in "\n\r" or unicodedata.category(char)[0] != "C")
    tex = tikz.write_tikz(svg(group("node", name, text(10, -50, name))))
    for line in tex[tex.index("\\begin{tikzpicture}") :].splitlines():
        if line.startswith("\\mgline"):
            assert_plain(re.sub(r"\\mg(line|[sbt])(?=\{)", "", line))
        else:
            assert re.match(
                r"% (picture|node) [\w.:\[\]~-]+$|\\(path|begin|end|endgroup|modgraphend|useasboundingbox)", line
            )


# --- with LaTeX ------------------------------------------------------------------------------------------------------

needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX here")


def compiled(folder: Path, source: str) -> str:
    """What pdflatex says of a file."""
    (folder / "main.tex").write_text(source)
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.search(r"^!|Overfull|Missing character", done.stdout, re.MULTILINE)
    return done.stdout


@needs_latex
def test_it_stands_alone_and_in_a_paper(tmp_path):
    """Every character that is known, in the file's own fonts and in those of a paper where half of ASCII is active."""
    known = "".join([*map(chr, range(32, 127)), *latex_text._LETTERS, *latex_text._MATHS, *latex_text.MARKS, "éüřx₁日"])
    written = [text(10, -50, known, size=3), text(10, -20, "".join(HOSTILE[:4]), size=3, bold=True)]
    picture = tikz.write_tikz(sample().replace(b"</g>\n</svg>", "\n".join([*written, "</g>\n</svg>"]).encode()))
    assert "(1 page" in compiled(tmp_path, picture)
    (tmp_path / "net.tex").write_text(picture)
    active = "".join(rf"\act\{char}" for char in ":;!?\"=<>|'`-")
    said = compiled(
        tmp_path,
        r"\documentclass[twocolumn]{article}\usepackage{tikz}\newsavebox\held\begin{document}"
        r"\parindent=0pt \sbox\held{\itshape\input{net}}\typeout{SIZE \the\wd\held, \the\ht\held, \the\dp\held}"
        r"\resizebox{\linewidth}{!}{\input{net}}\par"
        r"\def\act#1{\catcode`#1=13 \begingroup\lccode`\~=`#1 \lowercase{\endgroup\def~}{\undefined}}"
        rf"{active} \input{{net}}\typeout{{\meaning\mgline}}\end{{document}}",
    )
    assert "SIZE 200.7" in said, said  # points of TeX: 200 of PDF, and nothing beside the picture
    assert "undefined" in said  # nothing of it is left in the paper


@pytest.mark.needs_dot
@pytest.mark.skipif(not shutil.which("dot"), reason="there is no Graphviz here")
def test_a_graph_is_drawn_as_its_svg_is(nets):
    graph = nets["residual"](2).graph()
    options = PictureOptions(style="paper", width="3.25in")
    tex = render(graph, "tex", options)
    assert tex == tikz.write_tikz(images.render(graph, options, "svg"))
    assert {"Linear", "ReLU"} & set(re.findall(r"\w+", str(tex)))
    assert str(tex).isascii()
