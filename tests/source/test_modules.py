"""Finding modules without importing them, reading any file, and the line of every statement and call."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from modgraph.source import nodes
from modgraph.source.class_bodies import ClassBodies
from modgraph.source.code_text import code_text
from modgraph.source.modules import (
    CompiledModule,
    ModuleFinder,
    NamespacePackage,
    SourceError,
    SourceModule,
    facts_of,
)


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def module(tmp_path: Path, content: str | bytes) -> SourceModule:
    write(tmp_path, {"m.py": content})
    found = ModuleFinder([tmp_path]).source("m")
    assert found is not None
    return found


def test_finds_packages_modules_namespaces_and_what_has_no_source(tmp_path):
    write(tmp_path, {"pkg/__init__.py": "", "pkg/sub/mod.py": "", "space/part.py": "", "single.py": "", "ext.so": b""})
    suffix = next(item for item in __import__("importlib.machinery").machinery.EXTENSION_SUFFIXES)
    write(tmp_path, {f"compiled{suffix}": b""})
    finder = ModuleFinder([tmp_path])
    package = finder.find("pkg")
    assert isinstance(package, SourceModule)
    assert package.is_package
    assert finder.source("pkg.sub.mod").file == "pkg/sub/mod.py"
    assert isinstance(finder.find("space"), NamespacePackage)
    assert finder.source("space.part").file == "space/part.py"
    assert isinstance(finder.find("compiled"), CompiledModule)
    assert isinstance(finder.find("sys"), CompiledModule)
    assert finder.find("absent") is None
    assert finder.find("single.absent") is None


def test_earlier_entries_of_the_path_win_and_fallback_only_fills_gaps(tmp_path):
    first = write(tmp_path / "first", {"a.py": "x = 1"})
    second = write(tmp_path / "second", {"a.py": "x = 2", "b.py": ""})
    stubs = write(tmp_path / "stubs", {"a.py": "", "only/__init__.py": ""})
    finder = ModuleFinder([first, second], (str(stubs),))
    assert finder.source("a").path == first / "a.py"
    assert finder.source("b").path == second / "b.py"
    assert finder.source("only").path == stubs / "only/__init__.py"


@pytest.mark.parametrize(
    ("name", "is_package", "module_", "level", "absolute"),
    [
        ("a.b.c", False, "d", 1, "a.b.d"),
        ("a.b.c", False, "", 2, "a"),
        ("a.b", True, "c", 1, "a.b.c"),
        ("a.b", True, "", 1, "a.b"),
        ("a.b", False, "x.y", 0, "x.y"),
    ],
)
def test_relative_imports(name, is_package, module_, level, absolute):
    assert SourceModule(name, Path("x.py"), "x.py", is_package).absolute(module_, level) == absolute


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfname = '\xc3\xa9'\n",
        "# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"),
        "name = 'é'\r\nother = 1\r\n".encode(),
        "\fname = 'é'\n".encode(),
    ],
)
def test_reads_any_encoding_and_line_ending(tmp_path, data):
    found = module(tmp_path, data)
    statement = found.index.statements["name"][0]
    node = found.statement(statement).statements[0]
    assert isinstance(node, nodes.Assign)
    assert ast.literal_eval(code_text(node.value)) == "é"


@pytest.mark.parametrize(("data", "line"), [(b"a = 1\nb = (\n", 2), (b"# coding: nonsense\n", 1), (b"a = '\xff'\n", 1)])
def test_what_is_no_python_is_an_error_with_its_place(tmp_path, data, line):
    with pytest.raises(SourceError) as caught:
        _ = module(tmp_path, data).index
    assert caught.value.file == "m.py"
    assert caught.value.line == line


def test_a_method_is_parsed_alone_and_its_strings_keep_their_indentation(tmp_path):
    found = module(tmp_path, 'class A:\n\tdef f(self):\n\t\treturn """x\n\ty"""\n\tdef g(self): pass\n')
    parsed = found.definition("A.f")
    node = parsed.statements[0]
    assert isinstance(node, nodes.FunctionDef)
    (statement,) = node.body
    assert isinstance(statement, nodes.Return)
    assert isinstance(statement.value, nodes.SimpleString)
    assert ast.literal_eval(statement.value.value) == "x\n\ty"
    assert parsed.line(node) == 2
    assert parsed.line(statement) == 3


def test_header_of_a_class_costs_nothing_of_its_body(tmp_path):
    found = module(tmp_path, "@d(\n  1)\nclass A(B,\n        C):\n    # comment\n    x = 1\n    def f(self): pass\n")
    node = found.header(found.index.definitions["A"]).statements[0]
    assert isinstance(node, nodes.ClassDef)
    assert [code_text(base.value) for base in node.bases] == ["B", "C"]
    assert len(node.body) == 1


def calls_with_lines(found: SourceModule) -> list[tuple[str, int]]:
    """Every call below the module's functions: its source and the line the module gives for it."""
    result: list[tuple[str, int]] = []
    for definition in found.index.definitions.values():
        if definition.kind != "function":
            continue
        parsed = found.definition(definition.qualname)

        def walk(node: nodes.Node, statement: nodes.Node | None, parsed=parsed) -> None:
            if isinstance(node, nodes.Statement):
                statement = node
            if isinstance(node, nodes.Call) and statement is not None:
                result.append((code_text(node.func).split(".")[-1], parsed.location(statement, node).line))
            for child in node.children:
                walk(child, statement)

        walk(parsed.statements[0], None)
    return result


SEVERAL_LINES = """
def f(x):
    a = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.ReLU(),
        *[nn.Linear(i,
                    i) for i in range(3)],
    )
    if (one(x) and
            two(x)):
        three(
            x)
    elif four(x): five(x); six(
        x)
    else:
        seven(x)
    for y in eight(x,
                   nine(x)):
        b = (ten()
             if eleven()
             else twelve())
    return (thirteen()
            .fourteen()
            .fifteen())
"""


def test_every_call_has_its_line(tmp_path):
    found = module(tmp_path, SEVERAL_LINES)
    expected = []
    for node in ast.walk(ast.parse(SEVERAL_LINES)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            expected.append((name, node.func.end_lineno))
    assert sorted(calls_with_lines(found)) == sorted(expected)


@pytest.mark.parametrize("name", ["argparse", "collections", "dataclasses", "json.decoder", "typing"])
def test_lines_of_statements_are_those_of_ast_throughout_the_standard_library(name):
    found = ModuleFinder(sys.path).source(name)
    assert found is not None
    lines = {node.lineno for node in ast.walk(ast.parse(found.text)) if isinstance(node, ast.stmt)}
    for statement in found.index.body:
        parsed = found.statement(statement)
        for node in parsed.statements:
            assert parsed.line(node) in lines
            assert statement.first_line <= parsed.line(node) <= statement.last_line


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("class Net: pass", True),
        ("other = 1  # no word of it", False),
        ("from .beside import *", True),
        ("globals()['N' + 'et'] = 1", True),
        ("import sys\nsetattr(sys.modules[__name__], 'N' + 'et', 1)", True),
        ("def __getattr__(name): return 1", True),
        (b"\xff", True),
        ("other = 1  # no wörd of it", False),
        ("class \uff2eet: pass  # Net, as Python reads it", True),
        ("g\u00f6 = \uff45xec('N' + 'et = 1')", True),
    ],
)
def test_a_module_that_cannot_bind_a_name_is_told_by_its_text(tmp_path, text, may):
    source = module(tmp_path, text)
    assert source.may_bind("Net") is may
    assert "index" not in vars(source)


def test_a_star_import_makes_no_index_of_files_without_the_name(tmp_path):
    from modgraph.prediction.domain.values import ClassValue
    from modgraph.prediction.interpreter import Interpreter

    names = [f"part{number}" for number in range(5)]
    write(tmp_path, {f"pkg/{name}.py": f"class {name.title()}:\n    pass\n" for name in names})
    write(tmp_path, {"pkg/__init__.py": "".join(f"from .{name} import *\n" for name in names)})
    finder = ModuleFinder([tmp_path])
    found = Interpreter(finder).resolve("pkg.Part0")
    assert isinstance(found, ClassValue)
    assert [name for name in names if "index" in vars(finder.source(f"pkg.{name}"))] == ["part0"]


def test_the_class_around_lines_is_the_innermost() -> None:
    text = "class A:\n    __a = 1\n    class B:\n        @f\n        class C:\n            x = 1\n        y = 2\n    z = 3\nclass D: pass\nw = 4\n"
    text += "class E:\n    def f(self):\n        class F:\n            v = 5\n        return F\n"
    bodies = ClassBodies(ast.parse(text))
    around = [bodies.around(line, line) for line in range(1, text.count("\n") + 1)]
    assert around == [None, "A", "A", "B", "B", "C", "B", "A", None, None, None, "E", "E", "F", "E"]
    assert (bodies.around(3, 7), bodies.around(2, 9), bodies.around(5, 7)) == ("A", None, "B")


def test_facts_of_all_files_that_a_model_of_a_large_package_reads_are_kept_for_the_next():
    texts = [f"X = {number}\n" + "y = 1\n" * 4_000 for number in range(250)]
    first = [facts_of(text) for text in texts]
    assert [facts_of("".join(text)) for text in texts] == first
