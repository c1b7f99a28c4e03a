"""Finds the arguments of a class that needs some, or does not build without, and is named without any. Nothing is
executed for that.

`candidates` gives the ways to build it in the order in which they count: a configuration class whose defaults it takes
(`annotated.py`), a call in its own file (`calls_in_file.py`), calls in the project, the nearest first
(`calls_in_project.py`), configuration files that name the class (`named_in_files.py`) or have all that it reads
(`config_files.py`), and at last values that the names of the parameters suggest (`assumed.py`).
"""

from __future__ import annotations

from modgraph.arguments.candidates import Candidate, candidates

__all__ = ["Candidate", "candidates"]
