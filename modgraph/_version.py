"""The version, alone in a file so that packaging and `--version` read the same line without imports."""

__version__ = "0.1.0"
