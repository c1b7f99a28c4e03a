"""What MkDocs is told beside `mkdocs.yml`: where the pages are, those that are generated, and files outside of `docs/`.

The pages of `docs/` are plain Markdown that reads well on a code host. A link of theirs to a file outside of `docs/`
leads there to that file, and here to a page made of it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
AWAITED = ("ci.md",)
"""Pages of the navigation that may be missing."""
HOME = {"README.md": "index.md", "LICENSE": "LICENSE.md"}
"""Files outside of `docs/` whose page is called otherwise."""
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "samples/README.md")
"""Files outside of `docs/` that are pages of the navigation."""
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".yml": "yaml", ".yaml": "yaml"}
_LINK = re.compile(r"""(?:(?<=\]\()|(?<=\ssrc=")|(?<=\ssrcset="))(?!\w+:|#|/)([^)"\s#]+)(#[^)"\s]*)?(?=[)"])""")
_FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """The folder of the configuration is that of the pages, and pages that are not there yet are left out."""
    config.docs_dir = str(DOCS)
    config.nav = _without(config.nav, {name for name in AWAITED if not (DOCS / name).exists()})
    return config


def _without(items: list[Any], missing: set[str]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        ((title, content),) = item.items()
        if isinstance(content, list):
            kept.append({title: _without(content, missing)})
        elif content not in missing:
            kept.append(item)
    return kept


def on_files(files: Files, config: Any) -> Files:
    """Adds what is generated, and every file outside of `docs/` that a page links to."""
    generated = {
        "reference/commands.md": _commands(),
        "reference/python.md": _python(),
        "reference/json.md": _json_reference(),
    }
    for name, text in generated.items():
        files.append(File.generated(config, name, content=text))
    waiting = list(PAGES)
    for file in files.documentation_pages():
        if file.generated_by is None:
            text = Path(str(file.abs_src_path)).read_text(encoding="utf-8")
            waiting += _outside(text, f"docs/{file.src_uri}")
    seen: set[str] = set()
    while waiting:
        source = waiting.pop()
        if source not in seen:
            seen.add(source)
            text = (ROOT / source).read_text(encoding="utf-8")
            level = InclusionLevel.INCLUDED if source in PAGES else InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, _page_of(source), content=_page(source, text), inclusion=level))
            waiting += _outside(text, source) if source.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of `docs/` become links to the pages that `on_files` made of those files."""
    source = f"docs/{page.file.src_uri}"
    return markdown if page.file.generated_by else _relinked(markdown, source, page.file.src_uri)


def _outside(text: str, source: str) -> list[str]:
    """The files outside of `docs/` that a page links to, as paths from the root."""
    found = [_target(match.group(1), source) for part in _prose(text) for match in _LINK.finditer(part)]
    return [path for path in found if not path.startswith("docs/") and (ROOT / path).is_file()]


def _prose(text: str) -> list[str]:
    return _FENCE.split(text)[::2]


def _target(link: str, source: str) -> str:
    """Where a link of the file `source` leads, from the root; a folder is its README."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    return f"{path}/README.md" if (ROOT / path / "README.md").is_file() else path


def _page_of(source: str) -> str:
    """The page of the site that a file is on, by its path from the root."""
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return HOME.get(source, source if source.endswith(".md") else f"{source}.md")


def _page(source: str, text: str) -> str:
    """A file outside of `docs/` as a page."""
    if source.endswith(".md"):
        return _relinked(text, source, _page_of(source))
    language = LANGUAGES.get(Path(source).suffix, "text")
    return f"# {source}\n\n````{language}\n{text}````\n"


def _relinked(text: str, source: str, page: str) -> str:
    """The text with every link as the page at `page` has to write it."""

    def changed(match: re.Match[str]) -> str:
        path = _target(match.group(1), source)
        if not (ROOT / path).is_file():
            return match.group(0)  # MkDocs says that it leads nowhere
        return posixpath.relpath(_page_of(path), posixpath.dirname(page) or ".") + (match.group(2) or "")

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(changed, part) for part in parts[::2]]
    return "".join(parts)


def _commands() -> str:
    """`--help` of every command, as this version prints it."""
    _package()
    from modgraph.cli import COMMANDS, main

    wide = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        sections = []
        for name in ("", *COMMANDS):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                main([*filter(None, [name]), "--help"])
            title = f"modgraph {name}".strip()
            sections.append(f"## {title}\n\n```text\n$ {title} --help\n{out.getvalue().rstrip()}\n```\n")
    finally:
        os.environ.pop("COLUMNS") if wide is None else os.environ.update(COLUMNS=wide)
    return "# Commands\n\nWhat each command says of itself.\n\n" + "\n".join(sections)


def _python() -> str:
    """The public names, for mkdocstrings to fill in from the docstrings: functions, what they return, errors."""
    modgraph = _package()
    first = ("analyze", "predict", "trace", "check", "diff", "load", "Graph", "Changes", "Finding")
    names = [*first, *(name for name in modgraph.__all__ if name not in first and not name.startswith("_"))]
    names.sort(key=lambda name: (name[0].isupper(), name.endswith("Error")))
    intro = "# Python\n\nEverything here is a name of the package: `modgraph.analyze`, `modgraph.Graph`, ...\n\n"
    return intro + "\n\n".join(f"::: {modgraph._HOMES[name]}.{name}" for name in names) + "\n"


def _package() -> Any:
    """The package beside these pages, whichever is installed."""
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module("modgraph")
    finally:
        sys.path.pop(0)


def _json_reference() -> str:
    """The JSON Schema as tables."""
    schema = json.loads((ROOT / "modgraph/graph/modgraph-1.schema.json").read_text(encoding="utf-8"))
    lines = [
        "# The graph as JSON",
        "",
        f"{schema['description']} These tables are made of the "
        "[JSON Schema](../modgraph/graph/modgraph-1.schema.json.md), against which every output validates.",
        "",
    ]
    for name, part in {"graph": schema, **schema["$defs"]}.items():
        lines += [f"## {name}", ""]
        if name != "graph" and "description" in part:
            lines += [part["description"], ""]
        if "properties" not in part:
            lines += [f"Type: {_type_of(part)}.", ""]
            continue
        lines += ["| field | type | |", "| --- | --- | --- |"]
        lines += [f"| `{field}` | {_type_of(kind)} | {_about(kind)} |" for field, kind in part["properties"].items()]
        lines.append("")
    return "\n".join(lines)


def _about(kind: dict[str, Any]) -> str:
    inside = kind.get("items", {}).get("properties", {})
    fields = f" Each with {', '.join(f'`{name}`' for name in inside)}." if inside else ""
    return (kind.get("description", "") + fields).replace("|", "\\|").strip()


def _type_of(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in kind:
        return f"`{json.dumps(kind['const'])}`"
    if "enum" in kind:
        return ", ".join(f"`{json.dumps(value)}`" for value in kind["enum"])
    for word in ("anyOf", "oneOf"):
        if word in kind:
            return " or ".join(_type_of(each) for each in kind[word])
    types = kind.get("type", "anything")
    names = [types] if isinstance(types, str) else list(types)
    if "array" in names and "items" in kind:
        inside = _type_of(kind["items"])
        names[names.index("array")] = f"array of ({inside})" if " or " in inside else f"array of {inside}"
    return " or ".join(names)
