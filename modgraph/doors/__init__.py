"""The doors to the world outside: git, files that are read and written, text of others that is shown.

Each file is the only place of its kind; `tests/security/test_doors.py` says that nobody goes round it.
"""
