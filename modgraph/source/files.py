"""Finds the files of a check and reads them: any encoding that Python accepts, any line ending."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.doors.borders import CHECKED_FILES, border_below
from modgraph.doors.reading import SOURCE_BYTES, beginning, read, repository_of
from modgraph.source.ignored import ignored_by_git

if TYPE_CHECKING:
    from modgraph.errors import ModgraphError

SUFFIXES = (".py", ".pyi")
NOTEBOOK = ".ipynb"
DATA = (".yaml", ".yml", ".json", ".toml")
"""Files of plain values, which may say what a model is given."""
COMMANDS = (".md", ".rst", ".sh", ".bash", "Makefile")
"""Files that may say with what words a project starts its scripts."""
NEVER = frozenset(
    [
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pypackages__",
        "__pycache__",
        "_build",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    ]
)
"""Directories that hold no code of the project's own; by name."""


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """A pattern fits the whole path, its end, or the name of a directory above: `tests`, `*/generated/*`, `a/b.py`."""
    if not patterns:
        return False
    path = path.replace(os.sep, "/")
    parts = path.split("/")
    above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    for pattern in patterns:
        fitting = _fitting(pattern)
        for each in above if "/" in pattern.rstrip("/") else parts:
            if any(one.match(each) for one in fitting):
                return True
    return False


@lru_cache(maxsize=4_096)
def _fitting(pattern: str) -> tuple[re.Pattern[str], ...]:
    """What `fnmatch` makes of a pattern, which keeps few, and makes those of many patterns anew for each file."""
    from fnmatch import translate

    pattern = pattern.rstrip("/")
    if "/" not in pattern:
        return (re.compile(translate(pattern)),)
    whole = pattern.removeprefix("./").removeprefix("/")
    return re.compile(translate(whole)), re.compile(translate(f"*/{whole}"))


def lies_in_none_of_ours(path: str) -> bool:
    """A directory of the path is one that holds no code of the project's own."""
    return any(part in NEVER for part in path.replace(os.sep, "/").split("/")[:-1])


MAX_DEPTH = 100
"""Folders that a walk goes down below the one in which it began: what a folder costs grows with how deep it lies, and
no project's own folders lie near so deep."""


def too_deep(number: int, done: str) -> str:
    """Says of the first of so many folders below `MAX_DEPTH` what is not done, as in "nothing in it is checked"."""
    others = f"; nor is anything in {number - 1} more" if number > 1 else ""
    return f"the folder lies more than {MAX_DEPTH} folders deep, and nothing in it is {done}{others}"


class Skipped:
    """What was met below a folder and not looked at, or looked at though it should not be."""

    def __init__(self) -> None:
        self.links: list[str] = []
        """To files of Python and to folders that lie outside of the folder, or to files that are called otherwise."""
        self.misnamed: set[str] = set()
        """Of these, the last."""
        self.not_entered: list[str] = []
        """Folders that are called as none of the project's own is."""
        self.unreadable: list[tuple[str, str]] = []
        """Folders that cannot be listed, and why."""
        self.too_deep: list[str] = []
        """Folders that lie deeper than `MAX_DEPTH`."""
        self.distrusted: ModgraphError | None = None
        """Why it is not known what git ignores: somebody else owns its repository, or it would wait."""


def is_python(file: str) -> bool:
    """Whether a file that was named is meant to be Python, by its ending or its first line. Yes of what cannot be read:
    whoever reads it says so."""
    if file.lower().endswith((*SUFFIXES, ".pyw")):
        return True
    try:
        first = beginning(file, 200).partition(b"\n")[0]
    except OSError:
        return True
    return first.startswith(b"#!") and b"py" in first


def python_files(
    folder: str, skipped: Skipped | None = None, wanted: tuple[str, ...] = (*SUFFIXES, NOTEBOOK)
) -> Iterator[str]:
    """Files of Python below a folder, and notebooks, in the order of their paths; what git ignores is left out where
    there is git.

    Links to folders are not followed, so that a loop of them ends; nor are links to files that are not there, or that
    lie outside of the folder: somebody else may have put them there, and what is read is shown. Nor is what lies deeper
    than `MAX_DEPTH` walked.

    Args:
        skipped: is told what was met on the way.
        wanted: how the names of other files end that are looked for instead.
    """
    skipped = Skipped() if skipped is None else skipped
    top = repository_of(os.path.abspath(folder))
    ignored, unknown = (frozenset[str](), None) if top is None else ignored_by_git(folder, top, NEVER)
    skipped.distrusted = skipped.distrusted or unknown
    pending = [(folder, 0)]
    while pending:
        here, depth = pending.pop()
        below: list[str] = []
        for entry in _entries(here, skipped):
            path = entry.name if here == os.curdir else os.path.join(here, entry.name)
            is_file = entry.name.endswith(wanted) and _is_file(entry)
            if not is_file and not _is_folder(entry):
                continue
            if os.path.normpath(path) in ignored:
                continue
            if not is_file and entry.name in NEVER:
                skipped.not_entered.append(path)
                continue
            if entry.is_symlink() and not _may_be_walked(path, folder, is_file=is_file):
                skipped.links.append(path)
                if is_file and _may_be_walked(path, folder, is_file=False):
                    skipped.misnamed.add(path)
            elif is_file:
                yield path
            elif not entry.is_symlink():
                below.append(path)
        if depth < MAX_DEPTH:
            pending.extend((each, depth + 1) for each in reversed(below))
        else:
            skipped.too_deep.extend(below)


def _entries(folder: str, skipped: Skipped) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:  # it was there a moment ago
        return []
    except OSError as error:
        skipped.unreadable.append((folder, error.strerror or str(error)))
        return []


def _may_be_walked(link: str, folder: str, *, is_file: bool) -> bool:
    """Whether a link leads to something within the folder, and within the repository that it lies in, which may be a
    clone in the midst of the folder; one to a file, to source by its name too: `x.py` leads to `.env` to have it shown.
    """
    top = repository_of(os.path.realpath(os.path.dirname(link)))
    borders = [border_below(place) for place in (folder, top) if place is not None]
    return all(each.admits(link, CHECKED_FILES) if is_file else each.holds(link) for each in borders)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """A file, and no pipe or device, which one could wait for for ever."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """A folder, or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def text_of(path: str | os.PathLike[str], most: int = SOURCE_BYTES) -> str | None:
    """The text of a file of at most so many bytes; None where it cannot be read, or is no text."""
    try:
        return decode(read(path, most))
    except (OSError, ValueError, LookupError, SyntaxError):
        return None


def decode(data: bytes) -> str:
    """The text of a Python file; line endings stay as they are.

    Raises:
        SyntaxError: the encoding that it declares does not exist or does not fit.
    """
    encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = "utf-8" if encoding == "utf-8-sig" else encoding
        line = data.count(b"\n", 0, error.start) + 1
        raise SyntaxError(f"not {name}: byte {error.start} cannot be decoded", ("", line, 1, "")) from None
    except ValueError as error:  # cut off in the midst of a shift
        raise SyntaxError(f"encoding {encoding} cannot be used: {error}") from None


def encoding_of(data: bytes) -> str:
    """What a Python file says that it is encoded in; "utf-8-sig" for one that begins with a byte order mark.

    By bytes, as Python itself does it: `tokenize` refuses a line that declares another encoding and makes use of it.

    Raises:
        SyntaxError: no such encoding exists, or it is none of plain text.
    """
    marked = data.startswith(b"\xef\xbb\xbf")
    end = data.find(b"\n", data.find(b"\n") + 1)
    if data.find(b"coding", 0, end if end >= 0 else len(data)) < 0:
        return "utf-8-sig" if marked else "utf-8"
    import codecs

    declared = _declared(data[3:] if marked else data)
    if declared is None:
        return "utf-8-sig" if marked else "utf-8"
    name = _known_encoding(declared)
    if name is None:
        raise SyntaxError(f"unknown encoding: {declared}, which is none of Python's encodings of plain text")
    name = codecs.lookup(name).name
    if marked:
        if name != "utf-8":
            raise SyntaxError(f"encoding {declared}, and a byte order mark of utf-8")
        return "utf-8-sig"
    return name


_CODE_PAGES = (
    "037 273 424 437 500 720 737 775 850 852 855 856 857 858 860 861 862 863 864 865 866 869 874 875 932 949 950 1006 "
    "1026 1125 1140 1250 1251 1252 1253 1254 1255 1256 1257 1258"
)
_ENCODINGS = frozenset(
    [
        *("ascii", "utf_8", "utf_8_sig", "utf_7"),
        *("utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"),
        *("latin_1", *(f"iso8859_{part}" for part in range(1, 17) if part != 12)),
        *(f"cp{page}" for page in _CODE_PAGES.split()),
        *("koi8_r", "koi8_t", "koi8_u", "kz1048", "ptcp154", "hp_roman8", "tis_620", "palmos"),
        *(
            f"mac_{name}"
            for name in ("croatian", "cyrillic", "farsi", "greek", "iceland", "latin2", "roman", "romanian")
        ),
        *("mac_arabic", "mac_turkish"),
        *(
            "big5",
            "big5hkscs",
            "gb2312",
            "gbk",
            "gb18030",
            "hz",
            "johab",
            "shift_jis",
            "shift_jis_2004",
            "shift_jisx0213",
        ),
        *("euc_jp", "euc_jis_2004", "euc_jisx0213", "euc_kr"),
        *(f"iso2022_{name}" for name in ("jp", "jp_1", "jp_2", "jp_2004", "jp_3", "jp_ext", "kr")),
    ]
)
"""Modules of Python's encodings of text, each of which takes time in proportion. The others take the square of it
(`punycode`, `idna`), make no text, read escapes, or are of this system alone; and looking one up imports a module
whose name the source chose. Source: docs.python.org/3/library/codecs.html, "Standard Encodings"."""


def encoding_of_text(name: str) -> str | None:
    """The module of an encoding, found by name as Python finds it, without importing it; None where it is not used."""
    from encodings import normalize_encoding
    from encodings.aliases import aliases

    name = normalize_encoding(name.lower())
    found = next((each for each in (aliases.get(name), aliases.get(name.replace(".", "_"))) if each is not None), name)
    return found if found in _ENCODINGS else None


def _known_encoding(declared: str) -> str | None:
    """The module of the encoding that a file declares; None where it is not used."""
    found = encoding_of_text(declared)
    if found is not None:
        return found
    # What Python's tokenizer reads as the one or the other, whatever follows: `utf-8-unix` is what Emacs writes.
    plain = declared[:12].lower().replace("_", "-")
    if plain.startswith("utf-8-"):
        return "utf_8"
    return "latin_1" if plain.startswith(("latin-1-", "iso-8859-1-", "iso-latin-1-")) else None


def _declared(data: bytes) -> str | None:
    """Source: PEP 263: a comment in the first line, or in the second if there is no code in the first."""
    import re

    for line in re.split(rb"\r\n|\r|\n", data, maxsplit=2)[:2]:
        match = re.match(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", line)
        if match:
            return match[1].decode("ascii")
        if not re.match(rb"^[ \t\f]*(?:#|$)", line):
            return None
    return None


def lines_of(text: str) -> list[str]:
    """Its lines with their ends, where Python sees line ends: a form feed is none."""
    import io

    return io.StringIO(text, newline="").readlines()
