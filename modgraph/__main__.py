"""`python -m modgraph` and the `modgraph` command: nothing but the way in."""

# No `from __future__`: that is an import too, and the first lines must not look for a file.
import sys


def main() -> int:
    """Run the command line on `sys.argv`; returns the exit status."""
    from modgraph.cli import main as run

    return run(sys.argv[1:])


def _forget_working_directory() -> None:
    """`python -m` looks for every module in the working directory first: there may be a stranger's `json.py`."""
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]


if __name__ == "__main__":
    _forget_working_directory()
    sys.exit(main())
