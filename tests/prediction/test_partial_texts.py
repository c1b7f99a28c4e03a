"""Names of which only the beginning or the end is known: what they cannot be stays known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

_NAMES = {
    "f-string": 'f"u{k}"',
    "f-string, converted": 'f"u{k!r:>3}"',
    "f-string, of a partly known text": '(lambda name: f"{name}_x")(f"u{k}")',
    "sum": '"u" + str(k)',
    "sum of three": '"u" + str(k) + "_x"',
    "percent": '"u%d" % k',
    "percent, of several": '"u%s_%02d%%" % ("a", k)',
    "format": '"u{}".format(k)',
    "format, by name": '"u{k:02d}_{{}}".format(k=k)',
    "join": '"_".join(["u", str(k)])',
    "either of two": '(f"u{k}" if k else f"u_{k}")',
}


def _net(body: str) -> str:
    return f"""
class Net(nn.Module):
    shared = 3
    def __init__(self, k):
        super().__init__()
        self.a = nn.Linear(1, 2)
        self.x = nn.ReLU()
        self.size = 4
        {body.replace(chr(10), chr(10) + "        ")}
"""


def _rows(graph: Graph) -> list[tuple[str, str | None]]:
    return [(node.path, node.class_name and node.class_name.rpartition(".")[2]) for node in graph.modules[1:]]


@pytest.mark.parametrize("name", _NAMES.values(), ids=_NAMES.keys())
@pytest.mark.parametrize(
    "write",
    [
        "setattr(self, {name}, nn.Tanh())",
        "self.add_module({name}, nn.Tanh())",
        "self._modules[{name}] = nn.Tanh()",
        "self.__setattr__({name}, nn.Tanh())",
    ],
)
def test_other_names_stay_known(predict_source: Callable[..., Graph], name: str, write: str) -> None:
    graph = predict_source(
        _net(
            write.format(name=name)
            + """
if hasattr(self, "b") or "c" in self._modules or getattr(self, "d", None) is not None:
    self.wrong = nn.ReLU()
self.b = nn.Linear(self.size, self.shared)
del self.x
"""
        )
    )
    assert _rows(graph) == [("a", "Linear"), ("?", None), ("b", "Linear")]
    assert graph.modules[-1].parameters[0].shape == (3, 4)
    assert [problem.module for problem in graph.open_places] == [""]


@pytest.mark.parametrize("name", ['f"u{k}"', 'f"{k}2"', 'f"u{k}2"', '"u2" + k'])
def test_what_the_name_may_be_is_not_known(predict_source: Callable[..., Graph], name: str) -> None:
    """Also where nothing stands for what is not known."""
    graph = predict_source(_net(f"self.u2 = nn.ReLU()\nsetattr(self, {name}, nn.Tanh())"))
    assert _rows(graph) == [("a", "Linear"), ("x", "ReLU"), ("u2", None), ("?", None)]


def test_an_optional_child_of_such_a_name_is_read_as_unknown(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(_net('setattr(self, f"u{k}", nn.Tanh())\nself.b = self.u7\nself.c = getattr(self, f"u{k}")'))
    assert [row[0] for row in _rows(graph)] == ["a", "x", "?", "b", "c"]
    assert _rows(graph)[-2:] == [("b", None), ("c", None)]


@pytest.mark.parametrize(
    "further",
    [
        "setattr(self, k, nn.Tanh())",
        'setattr(self, f"v{k}", nn.Tanh())',
        "self._modules[k] = nn.Tanh()",
        "k(self)",
    ],
)
def test_further_names_widen_what_may_be_there(predict_source: Callable[..., Graph], further: str) -> None:
    graph = predict_source(
        _net(f'setattr(self, f"u{{k}}", nn.Tanh())\n{further}\nif hasattr(self, "v1"):\n    self.maybe = nn.ReLU()')
    )
    assert any(problem.message.startswith("the model may have a child 'maybe'") for problem in graph.open_places)


@pytest.mark.parametrize("other", ['"v1"', "k.name", "None"])
def test_a_text_of_one_path_is_not_that_of_another(predict_source: Callable[..., Graph], other: str) -> None:
    graph = predict_source(
        _net(f'name = f"u{{k}}" if k else {other}\nsize = 1 if name is None or name.startswith("u") else 2\n')
        + "        self.b = nn.Linear(size, 1)\n"
    )
    assert graph.modules[-1].path == "b"
    assert graph.modules[-1].parameters[0].shape == (1, None)


def test_a_loop_of_unknown_count_settles(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        _net("""
name = "u"
for _ in range(k):
    name = name + "_n"
    setattr(self, name, nn.Tanh())
    self.register_buffer(f"mean{_}", torch.zeros(1))
self.b = nn.ReLU()
""")
    )
    assert {"a", "b", "?"} <= {path for path, _ in _rows(graph)}


@pytest.mark.parametrize(
    ("condition", "size"),
    [
        ('name == "x1"', 2),
        ('name != "x1"', 1),
        ('"x1" == name', 2),
        ("name is None", 2),
        ('name in ("x", "y")', 2),
        ('name in {"x": 1}', 2),
        ('name in ("x", "u4")', None),
        ('name == "u"', None),
        ('name.startswith("u")', 1),
        ('name.startswith(("v", "x"))', 2),
        ('name.startswith("u1")', None),
        ('name.endswith("u")', None),
        ("name", 1),
        ('name + "." == "x."', 2),
        ('name[0] == "x"', None),
        ('name.upper() == "U"', None),
    ],
)
def test_what_the_text_cannot_be(predict_source: Callable[..., Graph], condition: str, size: int | None) -> None:
    graph = predict_source(_net(f'name = f"u{{k}}"\nself.b = nn.Linear(1 if {condition} else 2, 1)'))
    assert graph.modules[-1].parameters[0].shape == (1, size)


@pytest.mark.parametrize(
    "change",
    [
        'd[f"u{k}"] = 9',
        'd.pop(f"u{k}", None)',
        'd.update([(f"u{k}", 9)])',
        'c = C()\nc.a = 1\nsetattr(c, f"u{k}", 9)\nd["a"] = c.a\nd["u1"] = getattr(c, "u1")',
        'c = C()\nc.a = 1\nc.u1 = 2\ndelattr(c, f"u{k}")\nd["a"] = c.a\nd["u1"] = getattr(c, "u1", 7)',
    ],
)
def test_other_keys_stay_known(predict_source: Callable[..., Graph], change: str) -> None:
    text = _net(f'd = {{"a": 1, "u1": 2}}\n{change}\nself.b = nn.Linear(d["a"], d.get("u1"))')
    graph = predict_source("class C:\n    u1 = 5\n" + text)
    assert graph.modules[-1].path == "b"
    assert graph.modules[-1].parameters[0].shape == (None, 1)


def test_a_key_leads_to_what_it_may_be(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        _net('self.b = nn.Linear({"a": 1, "u1": 2, "u2": 2}[f"u{k}"], 1)\nself.c = {"a": 1, "u1": nn.Tanh()}[f"u{k}"]')
    )
    assert graph.modules[-2].parameters[0].shape == (1, 2)
    assert _rows(graph)[-1] == ("c", "Tanh")


def test_a_deleted_name_takes_no_other_with_it(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(_net('self.u1 = nn.ReLU()\ndelattr(self, f"u{k}")'))
    assert _rows(graph) == [("a", "Linear"), ("x", "ReLU"), ("u1", None)]
    assert [problem.message.partition(":")[0] for problem in graph.open_places] == ["the model may have a child 'u1'"]


def test_keys_of_a_module_dict(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        _net("""
self.d = nn.ModuleDict({"a": nn.ReLU(), "u1": nn.ReLU()})
self.d[f"u{k}"] = nn.Tanh()
if "b" not in self.d and f"v{k}" in {"a": 1}:
    self.wrong = nn.ReLU()
self.b = self.d["a"]
""")
    )
    assert _rows(graph)[3:] == [("d.a", "ReLU"), ("d.u1", None), ("d.?", None), ("b", "ReLU")]


def test_what_a_call_may_have_changed_is_no_text(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(_net('self.name = f"u{k}"\nk(self)\nself.b = nn.Linear(1 if self.name == "x" else 2, 1)'))
    assert graph.modules[-1].parameters[0].shape == (1, None)
