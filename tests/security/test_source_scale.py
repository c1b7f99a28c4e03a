"""Predicting a model costs time and memory in proportion to its source, or says that the source is too much.

Work is counted, never timed: calls of functions, of Python and of C, while it is done. What grows with n doubles from 2n
to 4n what it adds from n to 2n; what grows with the square of n makes four of it.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from modgraph.errors import TargetError
from modgraph.prediction import predict_graph
from modgraph.prediction.code import whole_modules
from modgraph.prediction.entry import predict_target  # which imports the parts in their order

from modgraph.prediction.code import allowances, functions, import_order  # isort: skip
from modgraph.prediction.domain import budget  # isort: skip
from modgraph.prediction.project import mutating_calls  # isort: skip
from modgraph.prediction.answer import tree as graph_tree  # isort: skip
from modgraph.source import bases, call_arguments, modules, nesting, refusing_text, usage
from modgraph.source.index import read_index
from modgraph.source.methods import methods_of
from modgraph.source.roots import find_roots
from modgraph.source.targets import parse_target
from modgraph.source.tree_roots import find_tree_roots


def _shapes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("source_shapes", Path(__file__).parent / "source_shapes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHAPES = _shapes().SHAPES


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    modules._kept.clear()
    yield
    modules._kept.clear()


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "model.py"


@functools.cache
def torch_read() -> dict[str, modules.TextFacts]:
    """Torch's files that every model needs: read anew for each, they would be most of what is counted."""
    with tempfile.TemporaryDirectory() as folder:
        text = "from torch import nn\n\n\nclass Net(nn.Sequential):\n    def __init__(self):\n        super().__init__(nn.Linear(2, 2))\n"
        modules._kept.clear()
        predict_graph(parse_target(f"{written(Path(folder), {'model.py': text})}:Net"))
    return {each: facts for each, facts in modules._kept.items() if each != text}


def torch_was_read() -> None:
    """And no other file."""
    known = torch_read()
    modules._kept.clear()
    modules._kept.update(known)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, in all threads that it starts, where torch's own files have been read."""
    n_calls = 0
    torch_was_read()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return n_calls


def predicted(model: Path) -> None:
    predict_graph(parse_target(f"{model}:Net"))


def compared(model: Path) -> None:
    methods_of(parse_target(f"{model}:Net"), {"model.Net": ()})


def rooted(model: Path) -> None:
    find_roots(parse_target(str(model)))


def gathered(model: Path) -> None:
    find_tree_roots(model.parent, static=True)


GROWING: list[tuple[str, Callable[[Path], None], int]] = [
    ("layers", predicted, 40),
    ("branches", predicted, 15),
    ("tries", predicted, 15),
    ("private_names", predicted, 15),
    ("setattr_loop", predicted, 40),
    ("walks", predicted, 100),
    ("built_list", predicted, 40),
    ("mixins", predicted, 40),
    ("module_names", predicted, 200),
    ("dict_entries", predicted, 200),
    ("conditional_expressions", predicted, 20),
    ("repeated_list", predicted, 40),
    ("same_star_imports", predicted, 40),
    ("layered_bases", predicted, 20),
    ("named_values", predicted, 40),
    ("layered_star_imports", predicted, 10),
    ("class_values", predicted, 100),
    ("class_defaults", predicted, 100),
    ("library_defaults", predicted, 100),
    ("absent_names", predicted, 40),
    ("hostile_comments", predicted, 100),
    ("inherited_methods", compared, 10),
    ("classes", rooted, 40),
    ("inheritance", rooted, 40),
    ("instances", rooted, 100),
    ("factories", rooted, 100),
    ("doubled_diamonds", rooted, 20),
    ("different_names", rooted, 100),
    ("one_line_statements", rooted, 200),
    ("files", gathered, 10),
]


@pytest.mark.parametrize(("name", "work", "n"), GROWING, ids=[f"{name}-{work.__name__}" for name, work, _ in GROWING])
def test_work_grows_in_proportion(tmp_path: Path, name: str, work: Callable[[Path], None], n: int) -> None:
    models = [written(tmp_path / str(size), SHAPES[name](size)) for size in (n, 2 * n, 4 * n)]
    work(models[0])  # what is loaded once is not counted
    one, two, four = (calls_of(lambda model=model: work(model)) for model in models)
    assert four - two <= 3 * max(two - one, one // 20)


# ---- what would take twice as long with each line ----------------------------------------------------------------------


def test_lists_of_lists_are_no_arguments_that_a_text_says(tmp_path: Path) -> None:
    lists = "a0 = [1]\n" + "".join(f"a{k} = [a{k - 1}, a{k - 1}]\n" for k in range(1, 28))
    text = f"{lists}\nclass Net:\n    pass\n\nNet(a27)\nNet([2])\n"
    module = modules.SourceModule("model", written(tmp_path, {"model.py": text}), "model.py", False)
    calls = call_arguments.written_calls(ast.parse(text), module)
    found: list[object] = []
    n_calls = calls_of(lambda: found.extend(call_arguments.calls_with_values(calls["Net"])))
    assert found == [(([2],), ())]
    assert n_calls < 20 * call_arguments.MAX_VALUES


@pytest.mark.parametrize("value", ["[[0] * 4000] * 4000", "a + a + a + a"])
def test_long_arguments_are_not_written_out(tmp_path: Path, value: str) -> None:
    text = f"a = {'x' * 3000!r}\nNet({value})\n"
    module = modules.SourceModule("model", written(tmp_path, {"model.py": text}), "model.py", False)
    calls = call_arguments.written_calls(ast.parse(text), module)
    assert list(call_arguments.calls_with_values(calls["Net"])) == []


@pytest.mark.parametrize("kind", ["diamonds", "factories"])
def test_the_search_for_models_looks_at_each_thing_once(tmp_path: Path, kind: str) -> None:
    """Without it each of twenty levels doubles the search, or each of eight makes ten of it."""
    base = "from torch import nn\n\nclass D0(nn.Module):\n    pass\n"
    if kind == "diamonds":
        text = base + "".join(
            f"class L{k}(D{k - 1}):\n    pass\nclass R{k}(D{k - 1}):\n    pass\nclass D{k}(L{k}, R{k}):\n    pass\n"
            for k in range(1, 12)
        )
    else:
        several = "".join(f"    if flag == {k}:\n        return f@()\n" for k in range(10))
        text = f"{base}def f0(): return None\n" + "".join(
            f"def f{k}(flag=0):\n{several.replace('@', str(k - 1))}    return f{k - 1}()\n" for k in range(1, 9)
        )
        text += "net = f8()\n"
    model = written(tmp_path, {"model.py": text})
    assert calls_of(lambda: rooted(model)) < 200_000


def test_brackets_that_are_never_closed_are_looked_for_once() -> None:
    class Text(str):
        n_found = 0

        def find(self, *arguments: Any) -> int:  # type: ignore[override]
            Text.n_found += 1
            return super().find(*arguments)

    text = Text("'''\n" + "from a import (\n" * 100 + "'''\nimport b\n")
    assert [part for _, part in import_order._written_imports(text)] == ["import b"]
    assert Text.n_found == 1


def test_imports_in_brackets_are_read_to_the_bracket() -> None:
    text = "from a import (\n    b,\n    c)\nimport d\nfrom e import f, \\\n    g\n"
    assert [part for _, part in import_order._written_imports(text)] == [
        "from a import (\n    b,\n    c)",
        "import d",
        "from e import f, \\\n    g",
    ]


def test_statements_of_one_line_are_one_in_order() -> None:
    index = read_index("a = 1; b = 2; import c\nd = 4\n")
    assert [(statement.kind, statement.names) for statement in index.body] == [
        ("other", ("a", "b", "c")),
        ("assign", ("d",)),
    ]


# ---- limits ------------------------------------------------------------------------------------------------------------


def test_a_source_of_too_many_words_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusing_text, "MAX_TOKENS", 1_000)
    model = written(tmp_path, SHAPES["line_length"](3_000))
    with pytest.raises(TargetError, match="is not read: more than 1,000 words and signs"):
        rooted(model)


def test_what_looks_like_a_string_counts_too() -> None:
    assert modules.n_tokens('x = \'"""\'\n' + "1, " * 50 + '\n\'"""\'', 1_000) > 100


def test_a_method_of_too_many_words_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MAX_PARSED_TOKENS", 2_000)
    graph = predict_graph(parse_target(f"{written(tmp_path, SHAPES['line_length'](9_000))}:Net"))
    assert not graph.complete
    assert any("more than 2,000 words and signs of source are needed" in each.message for each in graph.problems)


def test_a_class_with_too_many_bases_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MAX_INHERITED", 20)
    model = written(tmp_path, SHAPES["inheritance"](40))
    graph = predict_graph(parse_target(f"{model}:Net39"))
    assert [problem.message for problem in graph.problems] == ["more than 20 classes are inherited from"]
    assert any(node.path == "?" for node in graph.modules)


def test_names_that_each_need_the_next_are_followed_to_a_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the module is not executed from top to bottom, in which order each is there before it is needed."""
    assert predict_graph(parse_target(f"{written(tmp_path, SHAPES['name_chain'](40))}:Net")).complete
    monkeypatch.setattr(whole_modules, "MAX_EXECUTED_WORK", 1)
    monkeypatch.setattr(allowances, "MAX_NAME_DEPTH", 20)
    graph = predict_graph(parse_target(f"{written(tmp_path, SHAPES['name_chain'](40))}:Net"))
    assert not graph.complete
    assert any("more than 20 names of modules" in each.message for each in graph.problems)


def test_a_super_that_is_not_known_may_do_what_the_real_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowances, "MAX_NAME_DEPTH", 20)
    model = written(tmp_path, SHAPES["files"](40))
    graph = predict_graph(parse_target(f"{model}:Net", path=[str(tmp_path)]))
    assert not any("raises" in each.message for each in graph.problems)
    assert "layer" in [node.path for node in graph.modules]
    assert not graph.complete


def test_paths_of_modules_inside_each_other_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_tree, "MAX_PATH_TEXT", 1_000)
    graph = predict_graph(parse_target(f"{written(tmp_path, SHAPES['nesting'](100))}:Net"))
    assert sum(len(node.path) for node in graph.modules) < 1_200
    assert any("more than 1000 characters of paths" in each.message for each in graph.problems)


def test_star_imports_behind_many_names_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "MAX_STARS_FOLLOWED", 100)
    files = {f"f{k}.py": "" for k in range(12)}
    classes = "".join(f"class N{k}(Absent{k}):\n    pass\n" for k in range(12))
    model = written(tmp_path, {**files, "model.py": "".join(f"from f{k} import *\n" for k in range(12)) + classes})
    with pytest.raises(TargetError, match="given up after 100 of them"):
        find_roots(parse_target(str(model), path=[str(tmp_path)]))


def test_star_imports_behind_many_names_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may bind each of the names anew."""
    work = []
    monkeypatch.setattr(whole_modules, "MAX_EXECUTED_WORK", 10**9)
    for n in (100, 200):
        model = written(tmp_path / str(n), SHAPES["rebinding_star_imports"](n))
        work.append(predict_target(parse_target(f"{model}:Net")).machine.work)
    assert work[1] - work[0] > 4 * (200 * 200 - 100 * 100)


def test_keys_of_a_template_that_are_not_closed_are_counted(tmp_path: Path) -> None:
    """Each is looked for to the end of the text."""
    work = []
    for n in (2_000, 4_000):
        text = SHAPES["long_text"](1)["model.py"] + f"        self.b = {'%(' * n!r} % unknown()\n"
        target = parse_target(f"{written(tmp_path / str(n), {'model.py': text})}:Net")
        work.append(predict_target(target).machine.work)
    assert work[1] - work[0] > (4_000 * 8_000 - 2_000 * 4_000) / 2_000


def test_a_stop_is_heard_where_statements_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of modules and of class bodies make no steps."""
    from modgraph.prediction.domain import stopping

    for name in ("class_values", "library_defaults"):
        asked: list[None] = []
        monkeypatch.setattr(stopping, "require_wanted", lambda asked=asked: asked.append(None))
        model = written(tmp_path / name, SHAPES[name](500))
        predict_graph(parse_target(f"{model}:Net"))
        assert len(asked) > 500


def test_tables_of_classes_that_are_gone_through_again_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MAX_LOOKS", 100)
    keeper = "class Net(nn.Module):\n    def __init_subclass__(cls):\n        TABLE[cls] = cls\n"
    classes = "".join(f"class Net{k}(Net):\n    pass\n" for k in range(40))
    model = written(tmp_path, {"model.py": f"from torch import nn\nTABLE = {{}}\n{keeper}{classes}"})
    with pytest.raises(TargetError, match="given up after 100 names"):
        rooted(model)


def test_a_file_of_many_models_is_analyzed_as_far_as_a_hundred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from modgraph.cli import analyze, main

    monkeypatch.setattr(analyze, "MAX_MODELS", 2)
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SHAPES["classes"](4))
    assert main(["analyze", "--static", "model.py", "--format", "json", "-o", "out"]) == 1
    assert sorted(os.listdir(tmp_path / "out")) == ["Net1.json", "Net2.json"]
    assert "has 4 models: taking the first 2; name others, as in model.py:Net3" in capsys.readouterr().err


def commanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *given: str) -> int:
    from modgraph.cli import main

    monkeypatch.chdir(tmp_path)
    return main(["analyze", "--static", *given, "--format", "json", "-o", "out"])


def test_models_of_one_command_share_what_they_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those for which nothing is left are graphs that say so."""
    from modgraph.api import load
    from modgraph.prediction import together

    written(tmp_path, SHAPES["classes"](6))
    assert commanded(tmp_path, monkeypatch, "model.py") == 0
    graphs = {path.stem: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    monkeypatch.setattr(together, "UNITS_OF_A_PREDICTION", together.MAX_SHARED_WORK // 2)
    assert commanded(tmp_path, monkeypatch, "model.py") == 1
    first, *_, last = sorted(graphs)
    assert (tmp_path / "out" / f"{first}.json").read_bytes() == graphs[first]
    told = [each.message for each in load(tmp_path / "out" / f"{last}.json").problems]
    assert any("that all models of one command may take together" in each for each in told)
    assert "may take together" in capsys.readouterr().err


def test_what_a_prediction_made_is_let_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: it stands in circles, in which Python would find it when the next prediction has made as much."""
    import gc
    import weakref

    from modgraph.prediction.domain.objects import ModuleObject

    made: list[weakref.ref[Any]] = []

    class Watched(ModuleObject):
        __slots__ = ("__weakref__",)

        def copy(self) -> Any:
            return self

    monkeypatch.setattr(
        "modgraph.prediction.code.calls.ModuleObject",
        lambda *given, **named: made.append(weakref.ref(one := Watched(*given, **named))) or one,
    )
    target = parse_target(f"{written(tmp_path, SHAPES['classes'](4))}:Net1")
    gc.disable()
    try:
        predict_graph(target)
        assert made
        assert all(each() is None for each in made)
    finally:
        gc.enable()


def test_models_of_one_command_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = 0
    real = modules.Parsed

    def counting(*given: Any) -> Any:
        nonlocal number
        number += 1
        return real(*given)

    monkeypatch.setattr(modules, "Parsed", counting)
    counts = []
    for n in (2, 4, 6):
        number = 0
        written(tmp_path, SHAPES["classes"](n))
        commanded(tmp_path, monkeypatch, "model.py", "-q")
        counts.append(number)
    assert counts[2] - counts[1] == counts[1] - counts[0] < counts[0]


@pytest.mark.parametrize("command", ["analyze", "diff"])
def test_a_configuration_names_so_many_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    import subprocess

    from modgraph.cli import configured, main

    monkeypatch.setattr(configured, "MAX_TARGETS", 2)
    written(tmp_path, SHAPES["classes"](5))
    names = [f"model.py:Net{number}" for number in range(1, 5)]
    (tmp_path / "pyproject.toml").write_text(f"[tool.modgraph]\ntargets = {names}\n")
    if command == "analyze":
        assert commanded(tmp_path, monkeypatch) == 2
        assert sorted(os.listdir(tmp_path / "out")) == ["Net1.json", "Net2.json"]
    else:
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
        for line in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
            subprocess.run([*git, *line], cwd=tmp_path, check=True)
        monkeypatch.chdir(tmp_path)
        assert main(["diff", "HEAD"]) == 2
    assert "names 4 models: only the first 2 are taken" in capsys.readouterr().err


def test_parts_are_told_from_circles() -> None:
    uses = {"a": "b", "b": "cd", "c": "b", "d": "", "e": "x", "x": "f", "f": ""}
    found = usage.used_by_others(dict.fromkeys("abcdef").keys(), lambda name: uses[name])
    assert found == {"b", "c", "d", "f"}


def test_steps_behind_many_undecided_loops_count_several_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them copies and joins states: the same number of them takes several times as long."""
    target = parse_target(f"{written(tmp_path, SHAPES['nested_loops'](12))}:Net")
    as_many = predict_target(target).machine.steps
    monkeypatch.setattr(budget, "UNDECIDED_STEPS", 1)
    assert as_many > 2 * predict_target(target).machine.steps


# ---- what the parser itself takes for ever for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tried",
    [
        "match x:\n            case [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]:\n                pass",
        "match x:\n            case ((((((((((((((((((((1)))))))))))))))))))):\n                pass",
        "match x:\n            case A(b=A(b=A(b=A(b=A(b=A(b=A(b=A(b=A(b=A(b=A(b=A(b=1)))))))))))):\n                pass",
        "match x:\n            case {1: {1: {1: {1: {1: {1: {1: {1: {1: {1: 1}}}}}}}}}}:\n                pass",
        "match x:\n            case 1 | [[[[\n [[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]:\n                pass",
        "y = 1; del ((((((((((((((((((((((((y,),),),),),),),),),),),),),),),),),),),),),),),)",
    ],
)
def test_brackets_of_which_both_readings_are_tried_are_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: str
) -> None:
    """Twenty of them take libcst longer than anyone waits, in a call that nothing interrupts."""
    from modgraph.source import lowering

    given: list[str] = []
    whole = lowering.cst.parse_module
    monkeypatch.setattr(
        lowering.cst, "parse_module", lambda text: given.append(text) or whole(text.replace(tried, "1"))
    )
    text = f"from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self, x=1):\n        super().__init__()\n        {tried}\n"
    graph = predict_graph(parse_target(f"{written(tmp_path, {'model.py': text})}:Net"))
    assert not any(tried in each for each in given)
    assert any("nested more than 6 levels deep" in each.message for each in graph.problems)


@pytest.mark.parametrize(
    "text",
    [
        "match x:\n    case [A(b=(1, 2)), {'a': [c]}] if f([[[[[[[[1]]]]]]]]) or 1:\n        f([[[[[[[[1]]]]]]]])\n",
        "del a[f(1)], (b, c)\nx = [[[[[[[[1]]]]]]]]\n",
        "case = [[[[[[[[1]]]]]]]]\n",
        "delete = [[[[[[[[1]]]]]]]]  # del\n",
    ],
)
def test_brackets_elsewhere_are_no_patterns(text: str) -> None:
    if "if f(" in text:  # a guard stands in the same line: it counts with the pattern
        assert nesting.readings_of(text.split("\n")).deepest_tried == 9
    else:
        assert nesting.readings_of(text.split("\n")).deepest_tried <= 2


@pytest.mark.parametrize(("name", "n"), [("wide_patterns", 300), ("wide_deleted", 300), ("wide_brackets", 4_000)])
def test_what_is_wide_inside_of_brackets_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, n: int
) -> None:
    """Four times as often for each bracket, whatever the depth: it is the product that counts."""
    from modgraph.source import lowering

    given: list[str] = []
    whole = lowering.cst.parse_module
    monkeypatch.setattr(lowering.cst, "parse_module", lambda text: given.append(text) or whole(text))
    graph = predict_graph(parse_target(f"{written(tmp_path, SHAPES[name](n))}:Net"))
    assert any("more than 200,000 readings" in each.message for each in graph.problems)
    assert not any(wide in text for text in given for wide in ("1|1|1|", "1,1,1,", "x,x,x,", "_,_,_,"))


def test_what_a_prediction_reads_again_is_limited_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MAX_ALL_READINGS", 1_000)
    text = "".join(f"def f{k}():\n    return {'[' * 20}{'1,' * 20}{']' * 20}\n" for k in range(9))
    calls = "".join(f"        self.l{k} = nn.Linear(2, f{k}())\n" for k in range(9))
    model = written(
        tmp_path,
        {
            "model.py": f"from torch import nn\n{text}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{calls}"
        },
    )
    graph = predict_graph(parse_target(f"{model}:Net"))
    assert any("more than 1,000 readings" in each.message for each in graph.problems)


def test_partials_that_hold_two_of_the_last_are_given_up(tmp_path: Path) -> None:
    graph = predict_graph(parse_target(f"{written(tmp_path, SHAPES['doubled_partials'](40))}:Net"))
    assert any("a partial of more than 100000 items" in each.message for each in graph.problems)


def test_names_that_stand_for_each_other_are_followed_once(tmp_path: Path) -> None:
    text = "n0 = f()\n" + "".join(f"n{k} = n{k - 1}\n" for k in range(1, 400)) + "n5.x = 1\n"
    module = modules.SourceModule("model", written(tmp_path, {"model.py": text}), "model.py", False)
    names = mutating_calls._Aliases(module)
    assert names.of("n0") == [f"n{k}" for k in range(1, 201)]
    assert names.of("n398") == ["n399"]
    assert names.of("n399") == []


def test_what_a_text_imports_is_read_once_for_all_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = written(tmp_path, SHAPES["classes"](4))
    read: list[str] = []
    whole = import_order._read_text
    monkeypatch.setattr(import_order, "_read_text", lambda text: read.append(text) or whole(text))
    for number in (1, 2, 3):
        predict_graph(parse_target(f"{model}:Net{number}"))
    assert read.count(model.read_text(encoding="utf-8")) == 1
