"""Colours, signs and fonts of the pictures, by meaning; every format takes them from here."""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.export.look.parts import Kind, State


@dataclass(frozen=True, slots=True)
class KindStyle:
    fill: str
    strong: str
    legend: str


@dataclass(frozen=True, slots=True)
class StateStyle:
    """`frame` is a line style: solid, dashed, dotted, double or thick; "" leaves the frame as it is."""

    sign: str
    words: str
    strong: str
    frame: str
    frame_color: str
    legend: str


KINDS: dict[Kind, KindStyle] = {
    "weights": KindStyle("#DCEBF7", "#0072B2", "weights"),
    "norm": KindStyle("#FFF4CC", "#D9A400", "norm"),
    "activation": KindStyle("#FBE6DA", "#9A3412", "activation"),
    "shape": KindStyle("#DDF3EA", "#006B4F", "shape / pool"),
    "attention": KindStyle("#F6E3EE", "#7A2E74", "attention"),
    "other": KindStyle("#E9ECF1", "#9CA3AF", "other"),
}

STRIPES: dict[Kind, str] = {
    "weights": "###",
    "norm": "# #",
    "activation": "#  ",
    "shape": " # ",
    "attention": "## ",
    "other": "   ",
}
"""What tells the kinds apart where there is no colour: the bar, in three stripes."""

RAMP = (
    KindStyle("#FAF6EE", "#CFBB9A", ""),
    KindStyle("#F6E6CF", "#C4A47B", ""),
    KindStyle("#F3D5B1", "#BA8C5E", ""),
    KindStyle("#F2C395", "#AF7442", ""),
    KindStyle("#F2AF7B", "#A55A27", ""),
    KindStyle("#F19963", "#994009", ""),
    KindStyle("#F0834E", "#8C2000", ""),
)
"""Costs, from little to most: even steps of lightness in OKLCH, so that it reads in grey too; text has 6.8:1."""

STATES: dict[State, StateStyle] = {
    "removed": StateStyle("−", "removed", "#9A3412", "dashed", "#9A3412", "dashed"),
    "added": StateStyle("+", "added", "#006B4F", "thick", "#006B4F", "green"),
    "changed": StateStyle("~", "changed", "#0072B2", "thick", "#0072B2", "blue"),
    "failed": StateStyle("✖", "failed here", "#B0124F", "thick", "#B0124F", "thick"),
    "unregistered": StateStyle("▲", "unregistered", "#B0124F", "double", "#B0124F", "double"),
    "runtime only": StateStyle("●", "runtime only", "#5B3A8C", "thick", "#5B3A8C", "thick"),
    "static only": StateStyle("◌", "static only", "#4B5563", "dashed", "#6B7280", "dashed"),
    "never called": StateStyle("✕", "never called", "#6B7280", "dotted", "#6B7280", "dotted"),
    "unseen": StateStyle("◇", "scripted, not observable", "#4B5563", "dotted", "#6B7280", "dotted"),
    "unknown": StateStyle("?", "unknown", "#4B5563", "dashed", "#6B7280", "dashed"),
    "conditional": StateStyle("○", "depends on", "#4B5563", "dotted", "#6B7280", "dotted"),
    "taken": StateStyle("○", "only if", "#4B5563", "", "", ""),
    "weights used": StateStyle("→", "weights used", "#4B5563", "", "", ""),
    "shared": StateStyle("↺", "same as", "#4B5563", "", "", ""),
    "also": StateStyle("↺", "also", "#4B5563", "", "", ""),
    "again": StateStyle("↺", "call", "#4B5563", "", "", ""),
    "called": StateStyle("↺", "called", "#4B5563", "", "", ""),
    "inside": StateStyle("", "inside", "#4B5563", "", "", ""),
}

TEXT = "#111827"
MUTED = "#4B5563"
FADED = "#6B7280"
LINE = "#374151"
CARD_BORDER = "#9CA3AF"
FRAME_BORDER = "#B6BEC9"
FRAME_FILLS = ("#F6F7F9", "#FFFFFF")
"""By turns, from the outermost inwards."""
REPEAT = "#0072B2"
PILL = "#1F2937"
TAG_FILL = "#F3F4F6"

OPEN = "from this step, or from before one that gave the tensor back as it was"
"""What a dotted arrow says."""
CONDITIONAL = "data goes there on a condition only"
"""What a dashed arrow says."""

FONT = "Arial"
MONO = "Courier New"
TITLE_SIZE = 20
SUBTITLE_SIZE = 11
CLASS_SIZE = 12
DETAIL_SIZE = 10
MARK_SIZE = 11
PAPER_SIZE = 7
"""Points that the smallest text of a figure has at least, as it is printed."""
FIGURE_SCALE = DETAIL_SIZE / PAPER_SIZE
"""How many times larger than it is printed a figure may be drawn."""
