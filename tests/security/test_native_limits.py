"""Single calls of native code that nothing interrupts, each in a process of its own: what they may take is bounded before
they are begun. Their time and memory are those of that process, not counts of calls."""

from __future__ import annotations

import ast
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CPU_SECONDS = 20
MEMORY = 1_500_000_000
"""The promise of docs/security.md."""

HEAD = "from torch import nn\n"
BEFORE = HEAD + "class Net(nn.Module):\n    def __init__(self, x=1):\n        super().__init__()\n"
LAYER = "        self.layer = nn.Linear(2, 2)\n"


_MEASURED = """
import re, resource, sys
from modgraph.__main__ import main
def kilobytes(field):
    return int(re.search(field + r":\\s*(\\d+)", open("/proc/self/status").read())[1])
before = kilobytes("VmRSS")
resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
part = int(sys.argv.pop(1))
parts = {"MAX_STEPS", "MAX_WORK", "MAX_MADE_ITEMS", "MAX_COPIED_OBJECTS", "MAX_MADE_MODULES", "MAX_READINGS", "MAX_ALL_READINGS"}
for module in [vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "modgraph"]:
    for name in parts & module.keys():
        module[name] //= part
status = main()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
seconds = sum(each.ru_utime + each.ru_stime for each in used)
open("used", "w").write(f"{seconds} {kilobytes('VmHWM') - before}")
sys.exit(status)
""".replace("CPU_SECONDS", str(CPU_SECONDS)).replace("MEMORY", str(MEMORY))
"""In a process that has imported everything before, so what it takes is what the command takes beside that."""
_IMPORTED = 100_000_000
"""Bytes that Python and the package take."""


@pytest.fixture
def run(run_code: Callable[..., subprocess.CompletedProcess[bytes]]) -> Callable[..., tuple[int, str]]:
    """run(FOLDER, WORD, ...): status and output of a command that kept within the promise; with `part`, within that part
    of it, with that part of the limits of a prediction and of what libcst reads."""

    def run(folder: Path, *command: str, part: int = 1) -> tuple[int, str]:
        process = run_code(
            _MEASURED, str(part), *command,
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        text = process.stdout.decode("utf-8", "replace")
        assert process.returncode >= 0, f"ended by signal {-process.returncode}: {text[-500:]}"
        assert "Traceback" not in text
        seconds, kilobytes = (folder / "used").read_text().split()
        assert float(seconds) < CPU_SECONDS // part + 2, text[-500:]
        assert int(kilobytes) * 1024 < (MEMORY - _IMPORTED if part == 1 else MEMORY // part), f"{kilobytes} kB"
        return process.returncode, text

    return run


@pytest.fixture
def analyzed(run: Callable[..., tuple[int, str]]) -> Callable[..., tuple[int, str]]:
    def analyzed(folder: Path, text: str | bytes, part: int = 1) -> tuple[int, str]:
        (folder / "model.py").write_bytes(text if isinstance(text, bytes) else text.encode())
        return run(folder, "analyze", "--static", "model.py:Net", "--format", "json", "-o", "net.json", part=part)

    return analyzed


# ---- libcst ------------------------------------------------------------------------------------------------------------

WIDE = {
    "alternatives": f"match x:\n            case {'{1:' * 6}{'1|' * 3_500}1{'}' * 6}: pass",
    "sequences": f"match x:\n            case {'[' * 6}{'1,' * 3_500}1{']' * 6}: pass",
    "classes": f"match x:\n            case {'A(' * 6}{'y,' * 32_500}y{')' * 6}: pass",
    "named": f"match x:\n            case {'A(a=' * 6}{'1|' * 3_500}1{')' * 6}: pass",
    "deleted": f"del {'(' * 6}{'y,' * 3_500}{'),' * 5})",
    "lists": f"y = {'[' * 90}{'1,' * 15_000}{']' * 90}",
    "calls": f"y = {'f(' * 90}{'1,' * 15_000}{')' * 90}",
    "parentheses": f"y = {'(' * 90}[{'1,' * 15_000}]{')' * 90}",
    "targets": f"{'(' * 90}{'y,' * 15_000}{',)' * 90} = x".replace(",,)", ",)", 1),
    "chain": "y = f" + f"({'1,' * 75})" * 225,
    "sums": "y = z" + f" + [{'1,' * 75}]" * 225,
    "strings": f"y = f'{{{'(' * 90}[{'1,' * 15_000}]{')' * 90}}}'",
}


@pytest.mark.parametrize("statement", WIDE.values(), ids=WIDE)
def test_what_libcst_would_read_again_and_again_is_not_parsed(analyzed, tmp_path: Path, statement: str) -> None:
    ast.parse(f"if 1:\n    if 1:\n        {statement}\n")
    status, _ = analyzed(tmp_path, f"{BEFORE}        {statement}\n{LAYER}", part=4)
    assert status == 1
    assert "readings" in (tmp_path / "net.json").read_text()


def test_the_check_ends_too(run, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(f"{BEFORE}        {WIDE['alternatives']}\n{LAYER}")
    run(tmp_path, "check", "model.py", part=4)


def test_blocks_inside_each_other_count(analyzed, tmp_path: Path) -> None:
    blocks = "".join(" " * (8 + k) + "if x:\n" for k in range(80))
    status, _ = analyzed(tmp_path, f"{BEFORE}{blocks}{(' ' * 88 + 'y = 1' + chr(10)) * 7_500}{LAYER}", part=8)
    assert status == 1
    assert "readings" in (tmp_path / "net.json").read_text()


# ---- codecs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["punycode", "idna", "unicode_escape", "zlib"])
def test_the_source_chooses_no_slow_decoder(analyzed, run, tmp_path: Path, encoding: str) -> None:
    status, said = analyzed(tmp_path, f"# coding: {encoding}\n{BEFORE}{LAYER}#{'a' * 400_000}-{'a' * 400_000}".encode())
    assert status == 2
    assert f"unknown encoding: {encoding}" in said
    status, said = run(tmp_path, "check", "model.py")
    assert status != 0
    assert f"unknown encoding: {encoding}" in said


# ---- YAML --------------------------------------------------------------------------------------------------------------

MERGED = (
    """'a0: &a0 {x: 1}' + ''.join(f'\\na{i}: &a{i} {{<<: [' + ','.join([f'*a{i-1}'] * 9) + ']}' for i in range(1, 9))"""
)
DATA = {
    "open brackets": "'[' * (90_000 - each)",
    "open brackets and quotations": "('[' + chr(34) + ']' * 8 + chr(34) + ',') * (8_000 - each)",
    "open brackets and comments": "('[#]]]]]]' + chr(10)) * (9_000 - each)",
    "numbers to the base of sixty": "'- ' + '1:' * (45_000 - each) + '1'",
    "merged in another encoding": f"({MERGED}).encode('utf-16')",
}


@pytest.mark.parametrize("text", DATA.values(), ids=DATA)
def test_data_that_is_read_again_and_again_ends(analyzed, tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    source = f"import yaml\n{BEFORE}        for each in range(200):\n            yaml.safe_load({text})\n{LAYER}"
    assert analyzed(tmp_path, source, part=8)[0] in (0, 1)


# ---- what functions of Python give -------------------------------------------------------------------------------------

MANY = {
    "split": "x.split('a')",
    "re.findall": "re.findall('a', x)",
    "re.split": "re.split('a', x)",
    "json.loads": "json.loads('[' + '[],' * 30_000 + '[]]')",
    "product": "list(itertools.product([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], repeat=4))",
    "combinations": "list(itertools.combinations(range(200), 2))",
    "zip_longest": "list(itertools.zip_longest(range(20_000), [1]))",
    "groupby": "[key for key, group in itertools.groupby(range(20_000))]",
    "items": "dict.fromkeys(range(20_000)).items()",
    "list": "list(range(20_000))",
    "literal": "ast.literal_eval('[' + '(1,),' * 9_000 + ']')",
    "sorted": "sorted(range(20_000))",
    "enumerate": "list(enumerate(range(20_000)))",
    "pairs": "list(zip(range(20_000), range(20_000)))",
}


@pytest.mark.parametrize("made", MANY.values(), ids=MANY)
def test_what_is_made_in_a_loop_is_weighed(analyzed, tmp_path: Path, made: str) -> None:
    imports = "import ast, itertools, json, re\n"
    loop = f"        x = 'a' * 90_000\n        kept = []\n        for k in range(2_000):\n            kept.append({made})\n"
    status, _ = analyzed(tmp_path, f"{imports}{BEFORE}{loop}{LAYER}", part=8)
    assert status == 1
    assert "more than" in (tmp_path / "net.json").read_text()


# ---- TOML --------------------------------------------------------------------------------------------------------------

NESTED = {
    "dotted": "[tool]\na" + ".a" * 20_000 + " = 1\n",
    "head": "[tool" + ".a" * 20_000 + "]\n",
    "spaced": "[tool]\na" + " . 'a'" * 20_000 + " = 1\n",
    "inline": "[tool]\nx = {a" + ".a" * 20_000 + " = 1}\n",
    "lists": "[tool]\nx = " + "[" * 20_000 + "]" * 20_000 + "\n",
    "long": "[tool]\nx = [" + "[1]," * 1_900_000 + "]\n",
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_a_project_file_is_read_in_bounds(analyzed, run, tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    status, _ = analyzed(tmp_path, BEFORE + LAYER)
    assert status == 0
    (tmp_path / "pyproject.toml").write_text(f"{text}[tool.modgraph]\n")
    status, said = run(tmp_path, "check", "model.py")
    assert status == 2
    assert "is not read: it " in said


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_directories_that_a_project_file_says_are_read_in_bounds(tmp_path: Path, text: str) -> None:
    from modgraph.source.source_roots import source_roots

    (tmp_path / "pyproject.toml").write_text(text)
    assert source_roots(tmp_path, "", [""], []) == [str(tmp_path)]


def test_directories_are_told_from_tables_inside_each_other(tmp_path: Path) -> None:
    from modgraph.source.source_roots import source_roots

    for name in ("one", "two", "three", "four"):
        (tmp_path / name).mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.a]\nwhere = ["one", "two"]\n[tool.a.b.c]\npackages = ["three/x"]\n[[tool.d]]\npackage-dir = {"" = "four"}\n'
    )
    said = [str(tmp_path / name) for name in ("one", "two", "three", "four")]
    assert source_roots(tmp_path, "", [""], []) == [*said, str(tmp_path)]


# ---- JSON --------------------------------------------------------------------------------------------------------------

LARGE: dict[str, Callable[[], str]] = {
    "lists": lambda: '{"schema":"modgraph/1","x":[' + "[]," * 33_000_000 + "[]]}",
    "objects": lambda: '{"schema":"modgraph/1","x":[' + '{"a":1},' * 12_000_000 + "{}]}",
    "texts": lambda: '{"schema":"modgraph/1","x":[' + '"ab",' * 20_000_000 + '""]}',
    "wide": lambda: '{"schema":"modgraph/1","x":"\U0001f600' + "a" * 85_000_000 + '","y":[' + "[]," * 6_000_000 + "0]}",
}
"""Made in their test: kept, they would be half a gigabyte of each process of the suite."""


@pytest.mark.parametrize("name", LARGE)
def test_a_graph_that_would_not_fit_into_memory_is_not_read(run, tmp_path: Path, name: str) -> None:
    (tmp_path / "net.json").write_text(LARGE[name](), encoding="utf-8")
    status, said = run(tmp_path, "render", "net.json", "-o", "net.svg")
    assert status == 2
    assert "it could take more than 1.4 GB of memory" in said


@pytest.mark.parametrize("value", ["[]", '{"a":1}', '"ab"', "1.5", '[{"a":[[1,"b"]]}]', '{"k":{"k":{"k":"v"}}}'])
def test_what_is_read_from_json_takes_no_more_than_is_told(value: str) -> None:
    import tracemalloc

    from modgraph.doors.data import memory_of_json, read_json

    for text in (f"[{','.join([value] * 20_000)}]", "{" + ",".join(f'"n{k}":{value}' for k in range(20_000)) + "}"):
        tracemalloc.start()
        _ = read_json(text)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < memory_of_json(text)


def test_headers_of_weights_are_held_to_less(tmp_path: Path) -> None:
    from modgraph.errors import InputError
    from modgraph.source.checkpoints import read_safetensors

    header = b'{"a":[' + b"[]," * 20_000_000 + b"0]}"
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(InputError, match="it could take more than 500 MB of memory"):
        read_safetensors([path])
