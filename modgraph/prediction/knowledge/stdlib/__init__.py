"""Python's standard library: one file for a module or a kind of object."""
