"""A `try` around what depends on files, devices, the environment or a network goes both ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

TRIED = """
import importlib.metadata, json, os, pathlib, socket, subprocess, sys, urllib.request, logging, warnings
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            {operation}
            self.a = nn.Linear(1, 2)
        except {error}:
            self.b = nn.Linear(1, 3)
"""


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ("int(os.environ['NOT_SET'])", "KeyError"),
        ("os.environ['NOT_SET']", "KeyError"),
        ("int(os.environ.get('NOT_SET', 'x'))", "ValueError"),
        ("int(os.getenv('NOT_SET'))", "TypeError"),
        ("os.getenv('NOT_SET') + '/data'", "TypeError"),
        ("a, b = os.environ.get('NOT_SET', '').split(',')", "ValueError"),
        ("sys.argv[57]", "IndexError"),
        ("open('not_there.txt')", "FileNotFoundError"),
        ("json.load(open('not_there.json'))", "(OSError, ValueError)"),
        ("pathlib.Path('not_there').read_text()", "OSError"),
        ("os.makedirs('/proc/not_there')", "OSError"),
        ("torch.load('not_there.pt')", "Exception"),
        ("torch.cuda.get_device_name(99)", "Exception"),
        ("torch.zeros(1, device='cuda:99')", "Exception"),
        ("torch.zeros(1).to('cuda:99')", "Exception"),
        ("nn.Linear(1, 1, device=torch.device('cuda', 99))", "Exception"),
        ("nn.ReLU().cuda(99); nn.Linear(1, 1).cuda(99)", "Exception"),
        ("torch.distributed.get_rank()", "ValueError"),
        ("subprocess.check_output(['not-there'])", "OSError"),
        ("socket.create_connection(('127.0.0.1', 1))", "OSError"),
        ("urllib.request.urlopen('http://127.0.0.1:1/')", "Exception"),
        ("importlib.metadata.version('not-there')", "importlib.metadata.PackageNotFoundError"),
    ],
)
def test_the_body_may_fail(predict_source: Callable[..., Graph], operation: str, error: str) -> None:
    graph = predict_source(TRIED.format(operation=operation, error=error))
    assert {node.path: node.class_name for node in graph.modules[1:]} == {"a": None, "b": None}
    assert "depends on whether an exception is raised" in graph.problems[0].message


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ("logging.getLogger(__name__).info(os.name)", "Exception"),
        ("warnings.warn('old')", "Exception"),
        ("torch.zeros(1, device='cpu').to('meta')", "Exception"),
        ("torch.cuda.is_available()", "Exception"),
        ("torch.distributed.get_rank()", "ImportError"),
    ],
)
def test_what_only_informs_or_asks_does_not(predict_source: Callable[..., Graph], operation: str, error: str) -> None:
    graph = predict_source(TRIED.format(operation=operation, error=error))
    assert [node.path for node in graph.modules[1:]] == ["a"]
    assert graph.problems == ()


def test_outside_a_try_nothing_is_doubted(predict_source: Callable[..., Graph]) -> None:
    text = TRIED.format(operation="pass", error="Exception").replace("super", "torch.load('x'); super")
    assert predict_source(text).problems == ()
