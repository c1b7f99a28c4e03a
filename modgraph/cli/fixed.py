"""What applied fixes mean for a checkpoint and for the comments beside them: told to whoever applies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from modgraph.rules.false_comments import said_of

if TYPE_CHECKING:
    from modgraph.findings import Finding
    from modgraph.rules.outcomes import Change

_NEW_KEYS = ("MG101", "MG102", "MG103")
"""Rules whose fixes register what was not registered."""
_SHOWN = 5


def notes(changes: Sequence[Change]) -> list[str]:
    """Sentences about the fixes of some files."""
    fixed = [finding for change in changes for finding in change.fixed]
    keys = dict.fromkeys(_name(each) for each in fixed if each.code in _NEW_KEYS)
    found: list[str] = []
    if keys:
        shown = ", ".join(list(keys)[:_SHOWN]) + (f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")
        found.append(f"new keys in the state dict, and new parameters to train: {shown}; older checkpoints lack them")
    if any(each.code == "MG105" for each in fixed):
        names = ", ".join(dict.fromkeys(each.class_name or str(each.file) for each in fixed if each.code == "MG105"))
        found.append(f"parameters are no longer shared, so there are more to train: {names}")
    for each in fixed:
        said = said_of(each.fix) if each.fix is not None else ""
        if said:
            found.append(f"{each.file}: {said}")
    return found


def _name(finding: Finding) -> str:
    return ".".join(part for part in (finding.class_name, finding.attribute) if part) or str(finding.file)
