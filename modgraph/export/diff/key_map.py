"""`--emit-map`: by which names a checkpoint of the old model is loaded into the new one, as a file of plain lines.

Each line that is no comment is `old.key: new.key`. What is more than another name (a merge, a split, a transpose) is a
line of Python in a comment, for somebody to read and to put into their code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from modgraph.changes.model import Changes
from modgraph.changes.weights import Carried
from modgraph.doors.printing import printable
from modgraph.export.diff.checkpoint import reshaped_words

LOADER = """\
def with_new_names(state, file):
    names = {}
    for line in open(file, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            old, new = line.rstrip("\\n").split(": ")
            names[old] = new
    renamed = {names.get(key, key): value for key, value in state.items()}
    if len(renamed) < len(state):
        raise ValueError("two keys of the checkpoint have one name now")
    return renamed
"""
"""What applies such a file; docs/checkpoints.md has the same."""
_MOST_LOST = 10_000
_ORDER = "in the order of their names"
_BY_PLACE = "in the order of registration, which shapes do not prove: look whether it is the right one"


def render(changes: Changes) -> str:
    """The file."""
    found = changes.checkpoint
    plain = [each for each in found.carried if each.how == "rename" and _is_plain(each)]
    others = [each for each in found.carried if each.how != "rename" or not _is_plain(each)]
    sides = [printable(side.target or side.name) for side in (changes.old, changes.new)]
    lines = [
        f"# keys of a checkpoint of {sides[0]}, and what they are called in {sides[1]}",
        "# how to load:",
        '#   state = torch.load("old.pt", weights_only=True)',
        '#   model.load_state_dict(with_new_names(state, "this file"))',
        "#",
        *(f"#   {line}".rstrip() for line in LOADER.splitlines()),
        "",
        *(f"{each.old[0]}: {each.new[0]}" for each in plain),
    ]
    if others:
        lines += ["", "# more than another name; these lines come after with_new_names, with `state` what it gave:"]
        names = found.renames
        lines += [line for each in others for line in ("#", *(f"# {text}" for text in _to_do(each, names)))]
    lines += _left_over(changes)
    return "\n".join(lines) + "\n"


def _is_plain(each: Carried) -> bool:
    """Whether both keys can stand in a line as they are."""
    return all(
        key == printable(key) and ": " not in key and not key.startswith("#") and key == key.strip() and key
        for key in (*each.old, *each.new)
    )


def _quoted(key: str) -> str:
    """As Python reads it, on one line and in ASCII."""
    written = ascii(key)
    return f'"{key}"' if written == f"'{key}'" and '"' not in key else written


def _to_do(each: Carried, names: Mapping[str, str]) -> Iterator[str]:
    """A sentence, and the line of Python."""
    olds, news = [[f"state[{_quoted(key)}]" for key in keys] for keys in (each.old, each.new)]
    popped = [f"state.pop({_quoted(key)})" for key in each.old]
    if each.how == "merge":
        yield f"merge, {_ORDER if each.named else _BY_PLACE}"
        yield f"  {news[0]} = torch.cat([{', '.join(popped)}])"
    elif each.how == "split":
        yield f"split, {_ORDER if each.named else _BY_PLACE}"
        yield f"  {', '.join(news)} = {popped[0]}.split({list(each.sizes)})"
    elif each.how == "transpose":
        yield "transpose"
        yield f"  {news[0]} = {popped[0]}.t().contiguous()"
    elif each.how == "copy":
        yield "the new model has this tensor under one name more"
        yield f"  {news[0]} = state[{_quoted(names.get(each.old[0], each.old[0]))}]"
    elif each.how == "drop":
        yield "the old model had this tensor under one name more"
        yield f"  del {olds[0]}"
    else:
        yield "rename"
        yield f"  {news[0]} = {popped[0]}"


def _left_over(changes: Changes) -> Iterator[str]:
    found, state = changes.checkpoint, changes.state
    shapes = reshaped_words(state)
    for title, keys in (
        ("the new model has no place for these, as far as is known; load_state_dict refuses them", found.lost),
        ("an old checkpoint has nothing for these, as far as is known; load_state_dict misses them", found.fresh),
        ("of another shape", [f"{key}: {shapes.get(key, '')}" for key in found.reshaped]),
        ("not known, as the source leaves open what is there", state.undecided if found.undecided else ()),
    ):
        yield from _listed(title, keys)


def _listed(title: str, keys: Iterable[str]) -> Iterator[str]:
    listed = list(keys)
    if listed:
        yield from ("", f"# {title}:")
        yield from (f"#   {printable(key)}" for key in listed[:_MOST_LOST])
        if len(listed) > _MOST_LOST:
            yield f"#   ... and {len(listed) - _MOST_LOST:,} more"
