r"""Text as LaTeX that sets it, in which no character has a meaning: ASCII alone, on one line, in any font encoding.

Every character outside `_PLAIN` becomes a command of LaTeX's own, one of the macros that the picture brings (`MARKS`),
or, where LaTeX's usual fonts have nothing for it, `\mgother`, a framed question mark.
"""

from __future__ import annotations

import string
import unicodedata

_PLAIN = frozenset(string.ascii_letters + string.digits + " !\"()*+./:;=@[]'`,-?")
_LIGATURES = frozenset("!'`,-?")
"""Two of them beside each other may be set as another sign: an empty group stands between."""

_ASCII = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "_": r"\textunderscore{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "%": r"\%", "$": r"\textdollar{}", "#": r"\#", "&": r"\&", "\u00a0": r"\ ",
}  # fmt: skip
_LETTERS = {
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}",
    "å": r"\aa{}", "Å": r"\AA{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "§": r"\S{}", "¶": r"\P{}",
    "©": r"\textcopyright{}", "¿": r"\textquestiondown{}", "¡": r"\textexclamdown{}", "£": r"\textsterling{}",
    "–": r"\textendash{}", "—": r"\textemdash{}", "‘": r"\textquoteleft{}", "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "…": "...",
    "•": r"\textbullet{}", "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}",
}  # fmt: skip
_MATHS = {
    "→": "rightarrow", "←": "leftarrow", "↑": "uparrow", "↓": "downarrow",
    "↔": "leftrightarrow", "⇒": "Rightarrow", "≥": "geq", "≤": "leq", "≠": "neq", "≈": "approx", "±": "pm",
    "‖": "Vert", "∞": "infty", "∑": "sum", "∏": "prod", "∂": "partial", "∇": "nabla", "∈": "in", "√": "surd",
    "∘": "circ", "⊕": "oplus", "⊗": "otimes", "⊙": "odot", "∅": "emptyset", "∀": "forall", "∃": "exists",
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho",
    "σ": "sigma", "ς": "varsigma", "τ": "tau", "υ": "upsilon", "φ": "varphi", "ϕ": "phi", "χ": "chi", "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ℓ": "ell",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
"""Of combining characters, the accent that LaTeX sets on the letter before."""
_SCRIPTS = {"<super>": "textsuperscript", "<sub>": "textsubscript"}

MARKS = {
    "·": ("mgdot", r"\raisebox{.45ex}{.}"),
    "×": ("mgtimes", r"\mgclose{\times}"),
    "÷": ("mgdiv", r"\mgclose{\div}"),
    "−": ("mgminus", r"\mgclose{-}"),
    "▸": ("mgclosed", r"\mgmark{\fill (.4,.2)--(.4,6.2)--(5.6,3.2)--cycle;}"),
    "◂": ("mgfrom", r"\mgmark{\fill (5.6,.2)--(5.6,6.2)--(.4,3.2)--cycle;}"),
    "▲": ("mgup", r"\mgmark{\fill (0,0)--(7,0)--(3.5,6.6)--cycle;}"),
    "●": ("mgdisc", r"\mgmark{\fill (3.3,3.3) circle (2.6);}"),
    "○": ("mgring", r"\mgmark{\draw[line width=.07em] (3.3,3.3) circle (2.4);}"),
    "◌": ("mgdots", r"\mgmark{\draw[line width=.1em,dash pattern=on .1em off .12em] (3.3,3.3) circle (2.4);}"),
    "◇": ("mgdiamond", r"\mgmark{\draw[line width=.07em] (0,3.3)--(3.3,6.6)--(6.6,3.3)--(3.3,0)--cycle;}"),
    "✕": ("mgcross", r"\mgmark{\draw[line width=.08em] (.8,.8)--(5.8,5.8) (.8,5.8)--(5.8,.8);}"),
    "✖": ("mgheavycross", r"\mgmark{\draw[line width=.16em] (.8,.8)--(5.8,5.8) (.8,5.8)--(5.8,.8);}"),
    "↺": (
        "mgagain",
        r"\mgmark{\draw[line width=.07em] (1.15,4.6) arc (150:-150:2.6); \fill (0,5.3)--(2.3,3.9)--(.2,2.8)--cycle;}",
    ),
}
"""Signs that LaTeX's usual fonts lack, or have too wide: a macro for each, and what it is, in tenths of an em."""
OTHER = r"\mgother{}"


def latex(text: str) -> str:
    """`text` as LaTeX."""
    written: list[str] = []
    bases = 0
    before = ""
    for char in unicodedata.normalize("NFC", text):
        accent = _ACCENTS.get(char)
        if unicodedata.combining(char) and accent and bases == 1 and len(before) == 1 and before.isalnum():
            written[-1] = _accented(accent, before)
            bases = 0
            continue
        if char in _PLAIN:
            spaced = char == " " and before in (" ", "")
            apart = "{}" if char in _LIGATURES and before in _LIGATURES else ""
            written.append(r"\ " if spaced else apart + char)
        else:
            written.append(_command(char))
        bases, before = 1, char
    if before == " ":
        written[-1] = r"\ "
    return "".join(written)


def _accented(accent: str, base: str) -> str:
    """ "\\'{e}"; of what is no letter of ASCII, the sign for what is not known."""
    return rf"\{accent}{{{base}}}" if base.isascii() else OTHER


def _command(char: str) -> str:
    if char in _ASCII:
        return _ASCII[char]
    if char in _LETTERS:
        return _LETTERS[char]
    if char in _MATHS:
        return rf"\ensuremath{{\{_MATHS[char]}}}"
    if char in MARKS:
        return rf"\{MARKS[char][0]}{{}}"
    kind, _, parts = unicodedata.decomposition(char).rpartition("> ")
    points = [chr(int(point, 16)) for point in parts.split()]
    if len(points) == 2 and not kind and points[1] in _ACCENTS and points[0].isascii() and points[0].isalpha():
        return _accented(_ACCENTS[points[1]], points[0])
    script = _SCRIPTS.get(f"{kind}>")
    if script and len(points) == 1 and points[0] in _PLAIN:
        return rf"\{script}{{{points[0]}}}"
    return OTHER
