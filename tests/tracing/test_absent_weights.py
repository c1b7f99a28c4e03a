"""A model whose weights are not there is built without them, and the graph says so; what is no matter of weights stays."""

from __future__ import annotations

import contextlib
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import model_zoo

import modgraph
from modgraph.errors import TraceError
from modgraph.export.text.summary import summary
from modgraph.graph import serial
from modgraph.graph.model import MissingWeights
from modgraph.options import TraceOptions
from modgraph.source.targets import parse_target
from modgraph.tracing.loading import consequences
from modgraph.tracing.loading.absent_weights import AbsentWeights
from modgraph.tracing.loading.models import LoadedModel, build_model, load_model
from modgraph.tracing.loading.weight_doors import open_doors, weights_behind

pytestmark = pytest.mark.needs_torch

URL = "http://127.0.0.1:9/weights/net.pth"
"""Nobody listens at this port."""
HEADER = """
import os
import threading
from collections import OrderedDict
import torch
from torch import nn
from torch.hub import download_url_to_file, load_state_dict_from_url
from torch.utils import model_zoo
URL = "http://127.0.0.1:9/weights/net.pth"

class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.register_buffer("scale", torch.ones(3))
    def forward(self, x):
        return self.first(x) * self.scale
"""
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
{loading}
        self.head = nn.Linear(3, 2)
    def forward(self, x):
        return self.head(self.body(x))
"""


@pytest.fixture(autouse=True)
def _restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch-home"))
    monkeypatch.delenv("http_proxy", raising=False)
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    yield
    sys.path[:] = path
    forget("net", "huggingface_hub")


def forget(*packages: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]


def write(directory: Path, loading: str = "", source: str = NET) -> None:
    loading = textwrap.indent(textwrap.dedent(loading).strip(), " " * 8)
    (directory / "net.py").write_text(HEADER + source.format(loading=loading), "utf-8")


def refused(directory: Path, name: str = "Net") -> TraceError:
    with pytest.raises(TraceError) as raised:
        load_model(parse_target(f"net.py:{name}", cwd=directory, path=[str(directory)]), TraceOptions())
    forget("net")
    return raised.value


def built(directory: Path, missing: str = URL, name: str = "Net") -> tuple[LoadedModel, AbsentWeights]:
    absent = AbsentWeights(MissingWeights(source=missing, error="URLError: nobody listens"))
    target = parse_target(f"net.py:{name}", cwd=directory, path=[str(directory)])
    return build_model(target, TraceOptions(), absent), absent


def line_of(directory: Path, text: str) -> int:
    lines = (directory / "net.py").read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


LOADED = {
    "from torch.hub": "self.body.load_state_dict(torch.hub.load_state_dict_from_url(URL, progress=False))",
    "by its bare name": "self.body.load_state_dict(load_state_dict_from_url(URL, map_location='cpu'), strict=True)",
    "from the model zoo": "self.body.load_state_dict(model_zoo.load_url(URL))",
    "an entry": "self.body.load_state_dict(load_state_dict_from_url(URL)['state_dict'])",
    "entries of entries": "self.body.load_state_dict(load_state_dict_from_url(URL)['ema']['model'], strict=False)",
    "an entry if it is there": """
        state = load_state_dict_from_url(URL)
        state = state.get("state_dict", state)
        if "model" in state:
            state = state["model"]
        self.body.load_state_dict(state)
    """,
    "what get gives": "self.body.load_state_dict(model_zoo.load_url(URL).get('model'))",
    "without an entry": """
        state = load_state_dict_from_url(URL)
        del state["fc.weight"]
        state.pop("fc.bias")
        state.pop("other", None)
        missing, unexpected = self.body.load_state_dict(state, strict=False)
        assert (missing, unexpected) == ([], [])
    """,
    "renamed": """
        state = load_state_dict_from_url(URL)
        self.body.load_state_dict({name.replace("module.", ""): value for name, value in state.items()})
    """,
    "wrapped again": """
        state = OrderedDict()
        for name, value in load_state_dict_from_url(URL)["model"].items():
            state[name[7:]] = value
        self.body.load_state_dict(state)
    """,
    "into its own": """
        own = self.body.state_dict()
        own.update({k: v for k, v in load_state_dict_from_url(URL).items() if k in own})
        self.body.load_state_dict(own)
    """,
    "entry by entry": """
        state = load_state_dict_from_url(URL)["model"]
        self.body.load_state_dict({name: state["module." + name] for name in self.body.state_dict()})
    """,
    "moved within it": """
        state = load_state_dict_from_url(URL)
        for name in ("weight", "bias"):
            state[f"first.{name}"] = state.pop(f"last.{name}")
        self.body.load_state_dict(state)
    """,
    "with an addition": """
        state = load_state_dict_from_url(URL).copy()
        state["scale"] = torch.zeros(3)
        self.body.load_state_dict(state)
    """,
    "fetched and read": """
        download_url_to_file(URL, "weights.pth", progress=False)
        self.body.load_state_dict(torch.load("weights.pth", weights_only=True))
    """,
    "filtered by shape": """
        own = self.body.state_dict()
        kept = {k: v for k, v in load_state_dict_from_url(URL).items() if k in own and v.shape == own[k].shape}
        own.update(kept)
        self.body.load_state_dict(own)
        print(f"{len(kept)} of {len(own)}")
    """,
    "an entry by a condition": """
        state = load_state_dict_from_url(URL)
        state = state["state_dict"] if "state_dict" in state else state
        self.body.load_state_dict(state)
    """,
    "an entry of two": """
        state = load_state_dict_from_url(URL)
        if "ema" in state:
            chosen = state["ema"]
        else:
            chosen = state
        self.body.load_state_dict(chosen)
    """,
    "an entry that may be none": """
        whole = load_state_dict_from_url(URL)
        state = whole.get("ema")
        if state is None:
            state = whole["model"]
        self.body.load_state_dict(state)
    """,
    "renamed in place": """
        state = load_state_dict_from_url(URL)
        for key in list(state.keys()):
            if key.startswith("fc"):
                del state[key]
                continue
            state[key[7:]] = state.pop(key)
        self.body.load_state_dict(state)
    """,
    "renamed by a function": """
        def renamed(state, drop=()):
            kept = {}
            for key, value in state.items():
                name = key.replace("module.", "")
                if name not in drop:
                    kept[name] = value
            return kept
        state = renamed(load_state_dict_from_url(URL))
        self.body.load_state_dict(state, strict=False)
    """,
    "with a report": """
        state = load_state_dict_from_url(URL)
        result = self.body.load_state_dict(state, strict=False)
        if result.missing_keys:
            print("missing", ", ".join(result.missing_keys), len(state), f"{state.keys()}")
        if result.unexpected_keys:
            raise ValueError(f"{result.unexpected_keys}")
    """,
    "value by value": """
        state = load_state_dict_from_url(URL)
        with torch.no_grad():
            for name, value in self.body.named_parameters():
                if name in state:
                    value.copy_(state[name])
    """,
    "in a thread": """
        errors = []
        def load():
            try:
                self.body.load_state_dict(load_state_dict_from_url(URL))
            except OSError as error:
                errors.append(error)
        loader = threading.Thread(target=load)
        loader.start()
        loader.join()
        if errors:
            raise errors[0]
    """,
}


_NOTHING_ASKED = ["from torch.hub", "by its bare name", "from the model zoo", "an entry", "entries of entries"]


@pytest.mark.parametrize("way", LOADED)
def test_without_weights_a_model_is_what_it_is_before_they_are_loaded(tmp_path: Path, way: str) -> None:
    write(tmp_path)
    expected = load_model(parse_target("net.py:Net", cwd=tmp_path, path=[str(tmp_path)]), TraceOptions()).model
    forget("net")
    write(tmp_path, LOADED[way])
    missing = weights_behind(refused(tmp_path))
    assert missing is not None
    assert missing.source == URL
    assert "URLError" in str(missing.error)
    loaded, absent = built(tmp_path)
    assert [(name, str(module)) for name, module in loaded.model.named_modules()] == [
        (name, str(module)) for name, module in expected.named_modules()
    ]
    assert [(name, each.shape) for name, each in loaded.model.state_dict().items()] == [
        (name, each.shape) for name, each in expected.state_dict().items()
    ]
    assert loaded.model.body.scale.eq(0 if way == "with an addition" else 1).all()
    assert [each.source for each in loaded.info.missing_weights] == [URL]
    if sys.version_info >= (3, 11) or way in _NOTHING_ASKED:  # before, where in a line is asked is not known
        assert list(absent.doubts(loaded.model)) == []
    assert [each for each in tmp_path.rglob("*") if each.suffix == ".pth"] == []


def test_the_network_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "self.body.load_state_dict(load_state_dict_from_url('http://127.0.0.1:9/another.pth'))")
    monkeypatch.setattr(torch.hub, "urlopen", lambda *_: pytest.fail("a URL is opened"))
    (missing,) = built(tmp_path)[0].info.missing_weights
    assert missing.source == "http://127.0.0.1:9/another.pth"
    assert missing.error is None  # nobody has asked
    assert (missing.file, missing.line) == ("net.py", line_of(tmp_path, "another.pth"))


def test_weights_that_are_there_are_loaded(tmp_path: Path) -> None:
    cached = tmp_path / "torch-home" / "hub" / "checkpoints" / "cached.pth"
    cached.parent.mkdir(parents=True)
    state = {"weight": torch.full((2, 3), 7.0), "bias": torch.full((2,), 5.0)}
    torch.save(state, cached)
    torch.save({"scale": torch.full((3,), 3.0)}, tmp_path / "scale.pth")
    loading = """
        self.body.load_state_dict(load_state_dict_from_url(URL))
        self.body.load_state_dict(torch.load("scale.pth"), strict=False)
        self.tail = nn.Linear(3, 2)
        self.tail.load_state_dict(load_state_dict_from_url("http://127.0.0.1:9/weights/cached.pth"))
    """
    write(tmp_path, loading)
    loaded, _ = built(tmp_path)
    assert loaded.model.body.scale.eq(3).all()
    assert loaded.model.tail.weight.eq(7).all()
    assert loaded.model.tail.bias.eq(5).all()
    assert [each.source for each in loaded.info.missing_weights] == [URL]


@pytest.mark.parametrize(
    ("given", "strict"),
    [
        ("{'first.weight': torch.ones(9, 9)}", False),
        ("{'other': torch.ones(1)}", True),
        ("{'scale': torch.ones(3)}", True),
    ],
)
def test_a_state_dict_that_does_not_fit_raises_as_ever(tmp_path: Path, given: str, strict: bool) -> None:
    loading = f"""
        self.body.load_state_dict(load_state_dict_from_url(URL))
        self.body.load_state_dict({given}, strict={strict})
    """
    write(tmp_path, loading)
    with pytest.raises(TraceError, match=r"Error\(s\) in loading state_dict"):
        built(tmp_path)
    forget("net")
    write(tmp_path, f"self.body.load_state_dict({given}, strict={strict})")
    assert weights_behind(refused(tmp_path)) is None


NO_MATTER_OF_WEIGHTS = {
    "another file": "open('vocab.txt').read()",
    "a file that is opened by itself": "self.body.load_state_dict(torch.load(open('weights.pth', 'rb')))",
    "a damaged file": "open('bad.pth', 'wb').write(b'no weights'); torch.load('bad.pth')",
    "its own error": "raise FileNotFoundError('weights.pth')",
    "an error after it": """
        try:
            load_state_dict_from_url(URL)
        except OSError:
            pass
        raise ValueError("later")
    """,
    "a script": "torch.jit.load('script.pt')",
}


@pytest.mark.parametrize("what", NO_MATTER_OF_WEIGHTS)
def test_what_is_no_matter_of_weights_stays_an_error(tmp_path: Path, what: str) -> None:
    write(tmp_path, NO_MATTER_OF_WEIGHTS[what])
    assert weights_behind(refused(tmp_path)) is None


HANDED_ON = {
    "from it": "raise RuntimeError('no weights') from error",
    "in its handler": "raise RuntimeError('no weights')",
    "without its cause": "raise RuntimeError('no weights') from None",
    "as an exit": "raise SystemExit(1)",
}


@pytest.mark.parametrize("way", HANDED_ON)
def test_an_error_that_is_raised_for_missing_weights_counts_as_one(tmp_path: Path, way: str) -> None:
    loading = f"""
        try:
            self.body.load_state_dict(torch.load("/weights/net.pth"))
        except FileNotFoundError as error:
            {HANDED_ON[way]}
    """
    write(tmp_path, loading)
    missing = weights_behind(refused(tmp_path))
    assert missing is not None
    assert missing.source == "/weights/net.pth"


def test_of_a_url_no_key_is_told(tmp_path: Path) -> None:
    write(
        tmp_path, "self.body.load_state_dict(load_state_dict_from_url('http://me:word@127.0.0.1:9/n.pth?token=key#x'))"
    )
    missing = weights_behind(refused(tmp_path))
    assert missing is not None
    assert missing.source == "http://127.0.0.1:9/n.pth"
    assert [each.source for each in built(tmp_path)[0].info.missing_weights] == ["http://127.0.0.1:9/n.pth"]


def functions() -> dict[str, Any]:
    """All that stands somewhere else while a model is built without weights."""
    from torch import hub, serialization

    held = {
        "hub": vars(hub),
        "zoo": vars(model_zoo),
        "serialization": vars(serialization),
        "torch": vars(torch),
        "module": vars(nn.Module),
    }
    return {f"{home} {name}": value for home, names in held.items() for name, value in names.items() if callable(value)}


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_nothing_is_exchanged_afterwards(tmp_path: Path, ends: str) -> None:
    loading = "self.body.load_state_dict(load_state_dict_from_url(URL))"
    write(tmp_path, loading if ends == "well" else f"{loading}\n1 / 0")
    before = functions()
    with contextlib.nullcontext() if ends == "well" else pytest.raises(TraceError, match="ZeroDivisionError"):
        built(tmp_path)
    after = functions()
    assert before.keys() == after.keys()
    assert [name for name, value in before.items() if after[name] is not value] == []
    module = sys.modules["net"]  # whose names were bound while others stood there
    assert module.load_state_dict_from_url is torch.hub.load_state_dict_from_url
    assert module.download_url_to_file is torch.hub.download_url_to_file
    with pytest.raises(OSError, match="urlopen error"):
        module.load_state_dict_from_url(URL)


DOUBTFUL = {
    "arguments": ("self.more = Sized(**load_state_dict_from_url(URL)['args'])", "**load_state_dict_from_url"),
    "a number": (
        "self.more = nn.ModuleList(Body() for _ in range(len(load_state_dict_from_url(URL)['layers'])))",
        "range(len(",
    ),
    "a decision": ("self.more = Body() if 'pos' in load_state_dict_from_url(URL) else nn.Identity()", "'pos' in"),
    "a default": ("self.more = Sized(load_state_dict_from_url(URL).get('size', 3))", "'size'"),
    "a decision that is kept": (
        """
        state = load_state_dict_from_url(URL)
        has_head = "head" in state
        self.body.load_state_dict(state)
        if has_head:
            self.more = nn.Linear(3, 3)
        """,
        '"head" in',
    ),
    "names": (
        """
        state = load_state_dict_from_url(URL)
        layers = [name for name in state if name.startswith("layer")]
        self.body.load_state_dict(state)
        self.more = nn.ModuleList(Body() for _ in layers)
        """,
        "for name in state",
    ),
    "a number of renamed ones": (
        """
        state = {k[7:]: v for k, v in load_state_dict_from_url(URL).items()}
        self.body.load_state_dict(state)
        self.more = nn.ModuleList(Body() for _ in range(len(state)))
        """,
        "k[7:]",
    ),
    "a count": (
        """
        state, count = load_state_dict_from_url(URL), 0
        for name in state:
            if name.endswith("bias"):
                count += 1
        self.body.load_state_dict(state)
        self.more = nn.ModuleList(Body() for _ in range(count))
        """,
        "for name in state:",
    ),
    "a number if it is there": (
        """
        state, count = load_state_dict_from_url(URL), 2
        if "count" in state:
            count = state["count"]
        self.body.load_state_dict(state["model"])
        self.more = nn.ModuleList(Body() for _ in range(count))
        """,
        'if "count" in state',
    ),
    "what a load says": (
        """
        result = self.body.load_state_dict(load_state_dict_from_url(URL), strict=False)
        if "scale" in result.missing_keys:
            self.more = Body()
        """,
        "result = self",
    ),
    "an entry that is none": (
        """
        more = load_state_dict_from_url(URL)["more"]
        if more is not None:
            self.more = Body()
        """,
        '["more"]',
    ),
    "its kind": (
        """
        more = load_state_dict_from_url(URL)["more"]
        self.more = Body() if isinstance(more, int) else nn.Identity()
        """,
        '["more"]',
    ),
    "an entry that is not there": (
        """
        try:
            state = load_state_dict_from_url(URL)["more"]
        except KeyError:
            self.more = Body()
        """,
        '["more"]',
    ),
    "a loop that goes on": (
        """
        state = load_state_dict_from_url(URL)
        for name in ("first", "last"):
            if name in state:
                continue
            self.add_module("more_" + name, Body())
        """,
        "if name in state",
    ),
    "what a function says": (
        """
        def depth(state):
            return len([name for name in state if name.startswith("layer")])
        state = load_state_dict_from_url(URL)
        number = depth(state)
        self.body.load_state_dict(state)
        self.more = nn.ModuleList(Body() for _ in range(number))
        """,
        "return len(",
    ),
    "what a function ends at": (
        """
        def grown(model, state):
            if "more" not in state:
                return
            model.more = Body()
        grown(self, load_state_dict_from_url(URL))
        """,
        '"more" not in',
    ),
    "a list that was given": (
        """
        def listed(state, names):
            for name in state:
                names.append(name)
        names = []
        listed(load_state_dict_from_url(URL), names)
        self.more = nn.ModuleList(Body() for _ in names)
        """,
        "for name in state",
    ),
    "an attribute": ("self.size = 1 if hasattr(load_state_dict_from_url(URL), 'size') else 2", "hasattr"),
    "its order": ("self.last = next(reversed(load_state_dict_from_url(URL)), None)", "reversed"),
    "its text": ("self.text = f\"{load_state_dict_from_url(URL)['text']}\"", "['text']"),
    "a name of a class": (
        """
        class Sizes:
            size = load_state_dict_from_url(URL).get("size", 3)
        self.more = Sized(Sizes.size)
        """,
        "size = load",
    ),
}


@pytest.mark.parametrize("what", DOUBTFUL)
def test_what_is_made_of_what_weights_hold_is_told_to_be_in_doubt(tmp_path: Path, what: str) -> None:
    loading, marked = DOUBTFUL[what]
    source = "\nclass Sized(Body):\n    def __init__(self, size=3):\n        super().__init__()\n" + NET
    write(tmp_path, loading, source)
    loaded, absent = built(tmp_path)
    (doubt,) = absent.doubts(loaded.model)
    assert URL in doubt.message
    assert (doubt.file, doubt.line) == ("net.py", line_of(tmp_path, marked))


MADE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 4)
{making}
    def forward(self, x):
        x = self.body(x)
{running}
"""
OTHERS: dict[str, tuple[str, str, Any]] = {
    "a number, then a load": (
        """
        held = torch.load("held.pth")
        n = len(held["layers"])
        self.body.load_state_dict(held["body"])
        self.layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(n)])
        """,
        "return self.layers(x)",
        {"layers": [1, 2], "body": nn.Linear(4, 4).state_dict()},
    ),
    "an entry that is not there": (
        """
        held = torch.load("held.pth")
        if held.get("extra") is not None:
            self.extra = nn.Linear(4, 4)
        self.body.load_state_dict(held["body"])
        """,
        "return self.extra(x) if hasattr(self, 'extra') else x",
        {"body": nn.Linear(4, 4).state_dict()},
    ),
    "a module that is taken away": (
        """
        state = torch.load("held.pth")
        if "head.weight" not in state:
            del self.head
        self.load_state_dict(state, strict=False)
        """,
        "return self.head(x) if hasattr(self, 'head') else x",
        {"head.weight": torch.ones(4, 4)},
    ),
    "a number that is kept": (
        """
        held = torch.load("held.pth")
        self.steps = held.get("steps", 1)
        self.body.load_state_dict(held["body"])
        """,
        "for _ in range(self.steps): x = self.head(x)\nreturn x",
        {"steps": 3, "body": nn.Linear(4, 4).state_dict()},
    ),
    "a decision in a dict": (
        """
        held = torch.load("held.pth")
        self.opts = {"head": held["use_head"]}
        self.body.load_state_dict(held["body"])
        """,
        "return self.head(x) if self.opts['head'] else x",
        {"use_head": True, "body": nn.Linear(4, 4).state_dict()},
    ),
    "a sequence of what is there": (
        "self.net = nn.Sequential(torch.load('held.pth', weights_only=False))",
        "return self.net(x)",
        nn.Linear(4, 4),
    ),
    "a text": (
        """
        held = torch.load("held.pth")
        self.act = nn.GELU() if str(held["arch"]).startswith("big") else nn.ReLU()
        """,
        "return self.act(x)",
        {"arch": "big"},
    ),
    "a question in forward": ("self.held = 1", "return self.head(x) if 'head' in HELD else x", {"head": 1}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_model_that_is_another_with_its_weights_is_not_complete(tmp_path: Path, what: str) -> None:
    making, running, held = OTHERS[what]
    source = MADE.format(
        making=textwrap.indent(textwrap.dedent(making).strip(), " " * 8), running=textwrap.indent(running, " " * 8)
    )
    if "HELD" in running:
        source = 'HELD = torch.load("held.pth")\n' + source
    (tmp_path / "net.py").write_text(HEADER + source, "utf-8")
    graph = modgraph.analyze("net.py:Net", inputs=["1x4"])
    assert [each.source for each in graph.model.missing_weights] == ["held.pth"]
    assert not graph.complete
    told = [each for each in graph.problems if "held.pth" in each.message and "not there" in each.message]
    assert told
    assert told[0].file == "net.py"
    assert told[0].line is not None
    torch.save(held, tmp_path / "held.pth")
    model = load_model(parse_target("net.py:Net", cwd=tmp_path, path=[str(tmp_path)]), TraceOptions()).model
    called: list[str] = []
    for name, module in model.named_modules():
        module.register_forward_hook(lambda module, *_, name=name: called.append(f"{name} {type(module).__name__}"))
    model(torch.ones(1, 4))
    kinds = {node.path: node.class_name.rpartition(".")[2] for node in graph.modules}
    assert sorted(called) != sorted(f"{call.module} {kinds[call.module]}" for call in graph.calls if call.observed)


def test_weights_that_the_model_does_without_are_not_given_in_the_second_process_either(tmp_path: Path) -> None:
    loading = """
        try:
            state = torch.load("optional.pth")
            self.extra = nn.Linear(3, 3)
        except FileNotFoundError:
            self.fallback = nn.Linear(1, 1)
        self.body.load_state_dict(torch.load("needed.pth"))
        try:
            state = torch.load("later.pth")
            self.more = nn.Linear(3, 3)
        except (KeyError, OSError):
            self.less = nn.Linear(1, 1)
    """
    write(tmp_path, loading)
    graph = modgraph.analyze("net.py:Net", inputs=["1x4"])
    assert [each.source for each in graph.model.missing_weights] == ["needed.pth"]
    (tmp_path / "net.py").write_text(
        (tmp_path / "net.py").read_text("utf-8").replace('torch.load("needed.pth")', "Body().state_dict()"), "utf-8"
    )
    expected = modgraph.analyze("net.py:Net", inputs=["1x4"])
    assert [node.path for node in graph.modules] == [node.path for node in expected.modules]
    assert graph.complete


def test_where_it_is_caught_once_and_not_later_that_is_told(tmp_path: Path) -> None:
    loading = """
        try:
            torch.load("needed.pth")
            self.extra = nn.Linear(3, 3)
        except FileNotFoundError:
            self.fallback = nn.Linear(1, 1)
        self.body.load_state_dict(torch.load("needed.pth"))
    """
    write(tmp_path, loading)
    loaded, absent = built(tmp_path, "needed.pth")
    (doubt,) = absent.doubts(loaded.model)
    assert doubt.line == line_of(tmp_path, 'torch.load("needed.pth")')


@pytest.mark.parametrize(("way", "is_told"), [("from torch.hub", False), ("an entry", False), ("renamed", True)])
def test_where_python_does_not_tell_the_place_in_a_line_only_what_asks_nothing_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, is_told: bool
) -> None:
    """As Python 3.10, which knows lines only."""
    monkeypatch.setattr(consequences, "_position", lambda *_: None)
    write(tmp_path, LOADED[way])
    loaded, absent = built(tmp_path)
    assert bool(list(absent.doubts(loaded.model))) == is_told


def test_a_part_that_is_in_the_file_itself_is_told_to_be_unknown(tmp_path: Path) -> None:
    write(tmp_path, "self.body.inner = torch.load('whole.pth')")
    loaded, absent = built(tmp_path, "whole.pth")
    (doubt,) = absent.doubts(loaded.model)
    assert doubt.module == "body"
    assert doubt.message.startswith("inner is kept of whole.pth")


COUNTED = """
class Named(Body):
    number = 0
    def __init__(self):
        super().__init__()
        self.add_module(f"layer{{Named.number}}", nn.Linear(4, 3))
        Named.number += 1
{loading}
    def forward(self, x):
        return self._modules[f"layer{{Named.number - 1}}"](x)
"""


def test_a_counter_counts_one_model(tmp_path: Path) -> None:
    """What was built before it came to the weights has left its mark; the model of the graph is built without that."""
    write(tmp_path, "self.load_state_dict(load_state_dict_from_url(URL))", COUNTED)
    graph = modgraph.analyze("net.py:Named", inputs=["1x4"])
    assert [node.path for node in graph.modules if "layer" in node.path] == ["layer0"]
    assert [call.module for call in graph.calls if call.observed] == ["", "layer0"]
    assert [each.source for each in graph.model.missing_weights] == [URL]


def test_the_graph_of_a_model_without_its_weights_is_complete_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, "# nothing is loaded")
    expected = modgraph.analyze("net.py:Net", inputs=["1x4"])
    write(tmp_path, "self.body.load_state_dict(load_state_dict_from_url(URL))")
    graph = modgraph.analyze("net.py:Net", inputs=["1x4"], stats=True)
    line = line_of(tmp_path, "load_state_dict_from_url(URL)")
    (missing,) = graph.model.missing_weights
    assert (missing.source, missing.file, missing.line) == (URL, "net.py", line)
    assert missing.error is not None
    assert missing.error.startswith("urllib.error.URLError:")
    assert graph.complete
    assert expected.model.missing_weights == ()
    assert "missing_weights" not in json.loads(expected.to_json())["model"]
    assert [node.path for node in graph.modules] == [node.path for node in expected.modules]
    assert [(call.module, call.outputs[0].shape) for call in graph.calls] == [
        (call.module, call.outputs[0].shape) for call in expected.calls
    ]
    text = " ".join(summary(graph).split())
    assert (
        f"weights not there, so the model is built without them, and its values are random: {URL}, net.py:{line}"
        in text
    )
    assert serial.from_json(graph.to_json()).model.missing_weights == (missing,)


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_weights_that_the_body_of_a_module_wants(tmp_path: Path, device: Any) -> None:
    source = NET + '\nbody = Body()\nbody.load_state_dict(torch.load("/weights/body.pth", map_location="cpu"))\n'
    write(tmp_path, "", source)
    graph = modgraph.analyze("net.py:body", inputs=["1x4"], device=device)
    assert [each.source for each in graph.model.missing_weights] == ["/weights/body.pth"]
    assert graph.problems == ()
    assert [call.module for call in graph.calls] == ["", "first"]


def test_where_it_cannot_be_built_without_them_either_the_first_error_is_told(tmp_path: Path) -> None:
    write(tmp_path, "self.table = nn.Embedding.from_pretrained(torch.load('/weights/table.pth')['table'])")
    graph = modgraph.analyze("net.py:Net")
    assert not graph.traced
    (problem,) = [each for each in graph.problems if each.stage == "trace"]
    assert "raised FileNotFoundError" in problem.message
    assert problem.line == line_of(tmp_path, "from_pretrained")
    assert graph.model.missing_weights == ()


def test_a_model_that_does_without_by_itself_is_left_to_that(tmp_path: Path) -> None:
    loading = """
        try:
            self.body.load_state_dict(load_state_dict_from_url(URL))
        except OSError:
            self.fallback = nn.Linear(1, 1)
    """
    write(tmp_path, loading)
    graph = modgraph.analyze("net.py:Net", inputs=["1x4"])
    assert graph.model.missing_weights == ()
    assert "fallback" in [node.path for node in graph.modules]


def test_doubt_makes_the_graph_partial(tmp_path: Path) -> None:
    source = "\nclass Sized(Body):\n    def __init__(self, size=3):\n        super().__init__()\n" + NET
    write(tmp_path, "self.more = Sized(**load_state_dict_from_url(URL)['args'])", source)
    graph = modgraph.analyze("net.py:Net", inputs=["1x4"])
    assert graph.traced
    assert not graph.complete
    assert any("the model may be another" in each.message and each.file == "net.py" for each in graph.problems)


@pytest.mark.parametrize("kept", ["embed", "none"])
def test_an_onnx_file_does_not_hold_random_weights_in_silence(tmp_path: Path, kept: Any) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    write(tmp_path, "self.body.load_state_dict(load_state_dict_from_url(URL))")
    graph = modgraph.export_onnx("net.py:Net", "net.onnx", inputs=["1x4"], weights=kept)
    facts = {each.key: each.value for each in onnx.load("net.onnx").metadata_props}
    said = [each.message for each in graph.problems if each.stage == "export"]
    if kept == "none":
        assert (said, "modgraph.missing_weights" in facts) == ([], False)
    else:
        assert said == [f"the ONNX file holds random weights, as those of the model were not there: {URL}"]
        assert json.loads(facts["modgraph.missing_weights"]) == [URL]


HUB = """
def hf_hub_download(repo_id, filename, *, subfolder=None, repo_type=None, revision=None, local_files_only=False):
    asked.append((filename, local_files_only))
    raise ConnectionError("nobody is there")
asked = []
"""


@pytest.mark.parametrize(
    ("file", "is_weights"), [("model.safetensors", True), ("pytorch_model.bin", True), ("config.json", False)]
)
def test_files_of_a_hub(tmp_path: Path, file: str, is_weights: bool) -> None:
    package = tmp_path / "huggingface_hub"
    package.mkdir()
    (package / "__init__.py").write_text("from huggingface_hub.file_download import hf_hub_download\n", "utf-8")
    (package / "file_download.py").write_text(HUB, "utf-8")
    source = "\nfrom huggingface_hub import hf_hub_download, file_download\n" + NET
    write(tmp_path, f"self.body.load_state_dict(torch.load(hf_hub_download('me/net', '{file}')))", source)
    forget("huggingface_hub")
    sys.path.insert(0, str(tmp_path))
    missing = weights_behind(refused(tmp_path))
    if not is_weights:
        assert missing is None
        return
    url = f"https://huggingface.co/me/net/resolve/main/{file}"
    assert missing == MissingWeights(source=url, error="ConnectionError: nobody is there")
    modules = open_doors()
    assert "huggingface_hub.file_download" in modules
    forget("huggingface_hub")
    absent = AbsentWeights(missing, modules)
    loaded = build_model(parse_target("net.py:Net", cwd=tmp_path, path=[str(tmp_path)]), TraceOptions(), absent)
    assert [each.source for each in loaded.info.missing_weights] == [url]
    assert sys.modules["net"].file_download.asked == [(file, True)]  # only what is there is looked for
