"""Regular expressions for names: each covers what it stands for and no other name, which is tried on all of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

MOST_NUMBERS = 5
"""Parts of a name that are numbers, of which each may be left open; further ones stand as they are."""
_NUMBER = r"\d+"


def covering(names: Iterable[str], every: Collection[str]) -> list[str]:
    """Regular expressions, for `re.fullmatch`: each of these names fits exactly one, and no other of `every` fits any.

    Numbers are left open as far as all that fit then are among `names`.
    """
    own = dict.fromkeys(names)
    texts: dict[str, list[str]] = {}
    for name in every:
        for text in _opened(name):
            texts.setdefault(text, []).append(name)
    covered: set[str] = set()
    found: list[str] = []
    for name in own:
        if name in covered:
            continue
        for text in _opened(name):
            fitting = texts[text]
            if all(each in own and each not in covered for each in fitting):
                break
        covered.update(fitting)
        found.append(text)
    return _joined(found)


def _opened(name: str) -> Iterator[str]:
    """The name as a regular expression, with as many numbers as there are left open first, then with fewer."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts) if part.isdecimal()][:MOST_NUMBERS]
    for n_open in range(len(places), -1, -1):
        for chosen in combinations(places, n_open):
            yield r"\.".join(_NUMBER if place in chosen else re.escape(part) for place, part in enumerate(parts))


def _joined(texts: Iterable[str]) -> list[str]:
    r"""Those that begin alike, up to their last open number, as one: `a\.\d+\.(?:x|y)`."""
    heads: dict[str, list[str]] = {}
    for text in texts:
        head, number, tail = text.rpartition(_NUMBER)
        heads.setdefault(head + number, []).append(tail)
    found = []
    for head, tails in heads.items():
        if not head:
            found += [_either(tails)]
        elif len(tails) == 1 or "" in tails:
            found += [head + tail for tail in tails]
        else:
            found.append(head + r"\." + _either([tail.removeprefix(r"\.") for tail in tails]))
    return found


def _either(texts: list[str]) -> str:
    """Any of them; what they end in alike ("weight") stands once."""
    ends: dict[str, list[str]] = {}
    for text in texts:
        begin, dot, end = text.rpartition(r"\.")
        ends.setdefault(dot + end if dot else "", []).append(begin if dot else text)
    found = []
    for end, begins in ends.items():
        alike = end and len(begins) > 1
        found += [f"(?:{'|'.join(begins)}){end}"] if alike else [begin + end for begin in begins]
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def starred(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths with `*` in the place of numbers, each once: "layers.*.fc"."""
    return tuple(
        dict.fromkeys(".".join("*" if part.isdecimal() else part for part in path.split(".")) for path in paths)
    )


def starred_apart(paths: Sequence[str]) -> str:
    """Paths that differ in numbers alone, with `*` where they do and their number where they do not."""
    columns = list(zip(*(path.split(".") for path in paths), strict=True))
    return ".".join(parts[0] if len(set(parts)) == 1 else "*" for parts in columns)


def quoted(text: str) -> str:
    """A text as it is written in Python; a regular expression with its backslashes as they are."""
    plain = text.replace("\\", "")
    if repr(plain) == f"'{plain}'" and '"' not in text and not text.endswith("\\"):
        return f'r"{text}"' if "\\" in text else f'"{text}"'
    return repr(text)


def listed(name: str, texts: Iterable[str]) -> str:
    """An assignment of a list, on one line where it is short."""
    written = [quoted(text) for text in texts]
    line = f"{name} = [{', '.join(written)}]"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name} = [", *(f"    {each}," for each in written), "]"])
