"""Files from which others are generated, and which are not run as they are."""

from __future__ import annotations

import os

from modgraph.rules.subject import FileSubject

MAX_BESIDE = 100
"""Files of a folder that are looked at."""


def is_template(file: FileSubject) -> bool:
    """Another file beside it says that it is generated from this one, which then is not run as it is."""
    folder, own = os.path.split(file.path)
    file.project.read[folder] = None
    try:
        beside = sorted(name for name in os.listdir(folder) if name.endswith(".py") and name != own)
    except OSError:
        return False
    for name in beside[:MAX_BESIDE]:
        path = os.path.join(folder, name)
        if not file.project.may_reach(path, file.path):
            continue
        head = (file.project.text(path) or "")[:2_000]
        if own in head and "generated from" in head:
            return True
    return False
