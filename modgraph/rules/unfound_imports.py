"""What the files that are checked import and nothing is found for, so that nothing is known of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from modgraph.rules.names import Project
from modgraph.source.summaries import Summary
from modgraph.source.torch_place import is_of_torch


def unfound(project: Project, path: str) -> list[str]:
    """The modules that a file imports, as they are written, of which no file is read."""
    file = os.path.abspath(path)
    summary = project.summary(file)
    return [] if summary is None else sorted(set(_missing(project, file, summary)))


def _missing(project: Project, file: str, summary: Summary) -> Iterator[str]:
    named = [(module, level) for module, _, level in summary.imports.values()]
    for module, level in dict.fromkeys((*named, *summary.stars)):
        if not level and (is_of_torch(module) or module.partition(".")[0] in sys.stdlib_module_names):
            continue
        if module and project.find_file(file, module, level) is None:
            yield "." * level + module
