"""What the paths of a graph say: places that are left open, full names of parameters, one path as seen from another."""

from __future__ import annotations

from collections.abc import Container, Sequence


def is_open_place(path: str) -> bool:
    """Whether `path` is a place where further children may stand ("heads.?"), not a module."""
    return path == "?" or path.endswith(".?")


def is_below(path: str, above: Container[str]) -> bool:
    """Whether `path` lies below one of `above`, however many these are; the root, path "", is none of them."""
    end = len(path)
    while (end := path.rfind(".", 0, end)) > 0:
        if path[:end] in above:
            return True
    return False


def parameter_path(module: str, name: str) -> str:
    """Full path of a parameter or buffer: parameter_path("encoder", "weight") == "encoder.weight"."""
    return f"{module}.{name}" if module else name


def relative_path(path: str, start: str) -> tuple[int, str]:
    """`path` as seen from `start`: how many levels up, then the way down; so that like blocks say the same."""
    own, other = start.split("."), path.split(".")
    shared = 0
    while shared < min(len(own), len(other)) and own[shared] == other[shared]:
        shared += 1
    return (len(own) - shared, ".".join(other[shared:]))


def common_path(paths: Sequence[str], modules: Container[str]) -> str:
    """The innermost of these modules that holds all paths, or is one of them: "layers" of "layers.0.fc" and "layers.1".

    A plain list is no module: "" of "blocks[0]" and "blocks[1]".
    """
    ends = {path: _ends(path) for path in paths}
    shared = min(ends.values(), key=len, default=[])
    for place in reversed(shared):
        if place in modules and all(place in others for others in ends.values()):
            return place
    return ""


def _ends(path: str) -> list[str]:
    """The path, and those of all around it, outermost first."""
    return [path[:place] for place, character in enumerate(path) if character in ".["] + [path]
