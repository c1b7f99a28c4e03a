"""`python -m modgraph` and the `modgraph` command: nothing but the way in."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line on `sys.argv`; returns the exit status."""
    from modgraph.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
