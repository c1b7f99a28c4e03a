"""A function that gives on to a class what it is given says nothing where it is followed by itself: that is told by its
text alone, and only where it is true. The judge is what is found where each function is followed."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.arguments import calls_in_file, calls_in_project
from modgraph.arguments.call_sites import call_sites
from modgraph.arguments.candidates import candidates
from modgraph.arguments.followed import Followed, followed
from modgraph.arguments.passed_on import Calls, telling
from modgraph.arguments.project_files import script_of
from modgraph.prediction.calls_elsewhere import CallsElsewhere, Data, ReachedCall
from modgraph.source.targets import Unsaid, parse_target
from tests.arguments import projects

NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width, depth=1):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])
    """
GIVEN_ON = """
    def name(cfg): Net(cfg)
    def attribute(cfg): Net(cfg.model.width)
    def item(cfg): Net(cfg["width"], cfg["depth"])
    def method(cfg): Net(cfg.get("width"))
    def keyword(*, cfg): Net(width=cfg.width)
    def set_before(cfg):
        cfg.width = 4
        Net(cfg.width)
    def tested(cfg):
        assert cfg.width == 4
        Net(cfg.width)
    def asked(cfg, other):
        if isinstance(other, Net): Net(cfg)
    def by_module(cfg): net.Net(cfg)
    def annotated(cfg) -> Net: Net(cfg)
    class Holder:
        def __init__(self, cfg): self.net = Net(cfg.width)
    class Own:
        def __init__(self, width): self.width = width; self.net = Net(self.width)
    """
IN_PART = """
    def constant_beside(cfg): Net(cfg, depth=2)
    def other_default(cfg, depth=3): Net(cfg.width, depth)
    """
TELLING = """
    def constant(cfg): Net(4)
    def default(cfg=4): Net(cfg)
    def named_default(*, cfg=4): Net(cfg)
    def bound_anew(cfg):
        cfg = 4
        Net(cfg)
    def bound_by_a_loop(cfg):
        for cfg in (4, 5): Net(cfg)
    def bound_by_with(cfg):
        from contextlib import nullcontext
        with nullcontext(4) as cfg: Net(cfg)
    def bound_by_walrus(cfg):
        if (cfg := 4): Net(cfg)
    def bound_by_a_pattern(cfg):
        match 4:
            case cfg: Net(cfg)
    def in_a_comprehension(cfg): return [Net(cfg) for cfg in (4, 5)]
    def in_a_function(cfg):
        def build(cfg): return Net(cfg)
        build(4)
    def in_a_lambda(cfg): (lambda cfg: Net(cfg))(4)
    def bound_outside(cfg):
        def change():
            nonlocal cfg
            cfg = 4
        change()
        Net(cfg)
    def one_of_two(cfg): Net(cfg) if cfg.on else Net(4)
    def under_another_name(cfg):
        cls = Net
        Net(cfg) if cfg.on else cls(4)
    def by_text(cfg): Net(cfg) if cfg.on else getattr(net, "Net")(4)
    def build(width): return Net(width)
    def with_another(cfg): Net(cfg) if cfg.on else build(4)
    def between(): return build(4)
    def with_one_between(cfg): Net(cfg) if cfg.on else between()
    class Base:
        def __init__(self, width): self.net = Net(width)
    class Derived(Base):
        def __init__(self, cfg):
            super().__init__(4)
            Net(cfg)
    """
_IMPORTS = "import net\nfrom net import Net\n"


def _each(texts: str) -> list[str]:
    """Names of functions that stand at the left; of classes, that of their constructor."""
    found = ast.parse(textwrap.dedent(texts)).body
    return [f"{each.name}.__init__" if isinstance(each, ast.ClassDef) else each.name for each in found]  # type: ignore[attr-defined]


def _write(folder: Path, texts: str) -> Path:
    projects.write(folder, {"net.py": NET, "caller.py": _IMPORTS + textwrap.dedent(texts)})
    return folder / "caller.py"


def _found(folder: Path, scope: str) -> tuple[list[ReachedCall], list[ReachedCall]]:
    """What it says where it is followed: calls of which all is known, and others of which something is."""
    target = parse_target(f"{folder / 'net.py'}:Net")
    script = script_of(folder / "caller.py", target)
    assert script is not None
    data = Data(lambda path: None, lambda path: ())
    looked = CallsElsewhere(script, (folder / "net.py", "Net"), lambda module, name: None, 3, data)
    looked.look([scope], in_script=False)
    return looked.found, [call for call in looked.partly if not all(isinstance(each, Unsaid) for each in call.values)]


def _left(file: Path, scope: str, *, whole: bool) -> bool:
    """Whether it would be followed."""
    tree = ast.parse(file.read_text())
    sites = call_sites(tree, "Net")
    assert sites is not None
    calls = Calls(replace(sites, scopes=(scope,)), of_class=True, whole=whole)
    left = telling(tree, calls, packaged=True)
    return left is not None and scope in left.scopes


@pytest.mark.parametrize("scope", _each(GIVEN_ON))
def test_what_gives_on_what_it_is_given_is_not_followed(tmp_path: Path, scope: str) -> None:
    file = _write(tmp_path, GIVEN_ON)
    assert not _left(file, scope, whole=True)
    assert not _left(file, scope, whole=False)
    assert _found(tmp_path, scope) == ([], [])


@pytest.mark.parametrize("scope", _each(IN_PART))
def test_what_says_a_part_is_followed_where_no_answer_is_there(tmp_path: Path, scope: str) -> None:
    file = _write(tmp_path, IN_PART)
    assert not _left(file, scope, whole=True)
    assert _left(file, scope, whole=False)
    found, partly = _found(tmp_path, scope)
    assert not found
    assert partly


@pytest.mark.parametrize(
    "scope", [each for each in _each(TELLING) if each not in ("build", "between", "Base.__init__")]
)
def test_what_may_say_something_is_followed(tmp_path: Path, scope: str) -> None:
    file = _write(tmp_path, TELLING)
    assert _left(file, scope, whole=True)
    assert _left(file, scope, whole=False)


@pytest.mark.parametrize(
    "outside",
    ["build(4)", "for each in [4]:\n    build(each)", "TABLE = {'net': Net}", "class Here:\n    net = build(4)"],
)
def test_a_file_that_calls_its_own_function_is_followed(tmp_path: Path, outside: str) -> None:
    file = _write(tmp_path, f"\ndef build(width):\n    return Net(width)\n{outside}\n")
    tree = ast.parse(file.read_text())
    sites = call_sites(tree, "Net")
    assert sites is not None
    assert telling(tree, Calls(sites, of_class=True, whole=True), packaged=True) is not None


class _Counted:
    """The files that were followed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []

        def counted(script: Any, *given: Any, **named: Any) -> Followed:
            self.names.append(script.file.name)
            return followed(script, *given, **named)

        patch.setattr(calls_in_project, "followed", counted)
        patch.setattr(calls_in_file, "followed", counted)


CONFIGURED = """
    from dataclasses import dataclass
    from torch import nn

    @dataclass
    class Config:
        width: int = 3

    class Net(nn.Module):
        def __init__(self, config: Config):
            super().__init__()
            self.layer = nn.Linear(config.width, config.width)
    """
USING = "from pack.net import Net\nclass Head:\n    def __init__(self, config, name):\n        self.net = Net(config)\n"
USING_THAT = "from pack.head import Head\nclass Top:\n    def __init__(self, config):\n        self.head = Head(config, config)\n"


def test_files_of_a_package_that_give_on_a_configuration_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But the script is, which gives their constructors another one."""
    package = {"pack/__init__.py": "", "pack/net.py": CONFIGURED, "pack/head.py": USING, "pack/top.py": USING_THAT}
    projects.write(tmp_path, package)
    counted = _Counted(monkeypatch)
    alone = modgraph.predict(f"{tmp_path / 'pack/net.py'}:Net", forward=False)
    assert counted.names == []
    assert alone.model.arguments_from is not None
    assert alone.model.arguments_from.kind == "config"
    assert alone.model.arguments_from.others == ()

    script = "from pack.net import Config\nfrom pack.top import Top\nTop(Config(width=7))\n"
    projects.write(tmp_path, {**package, "train.py": script})
    told = modgraph.predict(f"{tmp_path / 'pack/net.py'}:Net", forward=False)
    assert counted.names == ["train.py"]
    assert told.model.arguments_from is not None
    assert [each.text for each in told.model.arguments_from.others] == ["config=Config(width=7)"]


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    calling = "from pack.net import Config, Net\ndef use(config):\n    Net(config)\n"
    package = {"pack/__init__.py": "", "pack/net.py": CONFIGURED, "pack/use.py": calling}
    projects.write(tmp_path, package)
    target = parse_target(f"{tmp_path / 'pack/net.py'}:Net")
    assert [each.origin.kind for each in candidates(target, brief=True)] == ["config"]
    projects.write(tmp_path, {**package, "pack/use.py": calling.replace("Net(config)", "Net(Config(9))")})
    assert [each.origin.kind for each in candidates(target, brief=True)] == ["config", "call"]
    projects.write(tmp_path, package)
    assert [each.origin.kind for each in candidates(target, brief=True)] == ["config"]


def test_where_the_first_answer_builds_nothing_all_others_are_sought(tmp_path: Path) -> None:
    """Also a call of which a part is known, which does not count beside an answer."""
    net = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width, act=None):
                super().__init__()
                if width < 1:
                    raise ValueError("no width")
                self.layer = nn.Linear(width, width)

        if __name__ == "__main__":
            Net(0)
        """
    use = "from net import Net\nfrom somewhere import act\nNet(4, act=act())\n"
    projects.write(tmp_path, {"net.py": net, "use.py": use})
    target = parse_target(f"{tmp_path / 'net.py'}:Net")
    assert [dict(each.arguments) for each in candidates(target, brief=True)] == [{"width": 0}]
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", forward=False, assume=True)
    assert graph.model.arguments_from is not None
    assert graph.model.arguments_from.kind == "assumed"
    assert [tuple(each.shape or ()) for each in graph.modules[1].parameters] == [(4, 4), (4,)]
