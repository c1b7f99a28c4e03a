"""The colours of `style.py` on a dark ground, those of the page in the dark."""

from __future__ import annotations

import re

GROUND = "#12161D"

DARK = {
    "white": GROUND,
    "#FFFFFF": GROUND,
    # text and lines
    "#111827": "#E6EAF0",
    "#4B5563": "#AEB7C4",
    "#6B7280": "#939DAD",
    "#374151": "#9AA5B5",
    "#9CA3AF": "#6B7686",
    "#B6BEC9": "#3F4A5A",
    "#F6F7F9": "#1A202A",
    "#1F2937": "#DDE3EC",
    "#F3F4F6": "#252D39",
    # kinds of layers
    "#DCEBF7": "#16324A",
    "#0072B2": "#4FAAE3",
    "#FFF4CC": "#3B3212",
    "#D9A400": "#D9A400",
    "#FBE6DA": "#43261A",
    "#9A3412": "#E58A66",
    "#DDF3EA": "#14372D",
    "#006B4F": "#36B08A",
    "#F6E3EE": "#3A2238",
    "#7A2E74": "#C983C2",
    "#E9ECF1": "#262D38",
    # states
    "#B0124F": "#FF7FA8",
    "#5B3A8C": "#B79CE6",
    # costs, from little to most: as even steps, towards the light
    "#FAF6EE": "#1C1B1A",
    "#CFBB9A": "#4A4338",
    "#F6E6CF": "#2C241B",
    "#C4A47B": "#6A553A",
    "#F3D5B1": "#40301E",
    "#BA8C5E": "#8A683F",
    "#F2C395": "#563A20",
    "#AF7442": "#A97843",
    "#F2AF7B": "#6C4320",
    "#A55A27": "#C78746",
    "#F19963": "#834B1F",
    "#994009": "#E3964A",
    "#F0834E": "#9A521D",
    "#8C2000": "#FFA64F",
}
"""Each colour of a picture, and what stands for it. Where white is text, it lies on what becomes light."""

_COLOR = re.compile(r'(?P<name>\w*color)="(?P<color>#[0-9A-F]{6}|white)(?P<alpha>[0-9A-F]{2})?"|"(?:\\.|[^"\\])*"')
"""A colour, or another text in quotes, in which nothing is a colour. Quotes in labels are entities."""


def darkened(dot: str) -> str:
    """A picture in DOT with its colours for a dark ground; nothing else is changed.

    Raises:
        KeyError: a colour has none that stands for it.
    """

    def changed(found: re.Match[str]) -> str:
        if found["color"] is None:
            return found[0]
        return f'{found["name"]}="{DARK[found["color"]]}{found["alpha"] or ""}"'

    return _COLOR.sub(changed, dot)


def with_dark_rules(svg: str) -> str:
    """An SVG that is drawn for a light ground, with rules by which it has its other colours where its reader, or what
    it is shown in, asks for dark ones."""
    rules = "".join(
        f'[{part}="{color}"]{{{part}:{DARK[known]}}}'
        for part in ("fill", "stroke")
        for color in sorted(set(re.findall(rf'\b{part}="(#[0-9a-fA-F]{{6}}|white)"', svg)))
        if (known := color.upper() if color.startswith("#") else color) in DARK
    )
    end = svg.index(">", svg.index("<svg ")) + 1
    return f"{svg[:end]}\n<style>@media (prefers-color-scheme:dark){{{rules}}}</style>{svg[end:]}"
