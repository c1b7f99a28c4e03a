"""Models that ask for a device that the machine does not have."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

import modgraph
from modgraph.errors import TraceError
from modgraph.export.text.summary import summary
from modgraph.graph.model import Graph

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(torch.cuda.is_available(), reason="here cuda is a device like another"),
]

WAYS = {
    "a factory": ("torch.ones(8, device={!r})", "cuda"),
    "a device": ("torch.ones(8, device=torch.device({!r}))", "cuda:0"),
    "of another one": ("x.new_ones(8, device={!r})", "cuda"),
    "to": ("torch.ones(8).to({!r})", "cuda"),
    "to a device and a type": ("torch.ones(8, dtype=torch.int64).to({!r}, torch.float32)", "cuda"),
    "to, by name": ("torch.ones(8).to(device={!r})", "cuda"),
    "another device": ("torch.ones(8).to({!r})", "xpu"),
}
ONLY_THERE = {
    "cuda()": ("torch.ones(8).cuda()", "torch.ones(8)"),
    "to an index": ("torch.ones(8).to(0)", "torch.ones(8)"),
    "the index of a tensor": ("torch.ones(8, device=x.get_device())", "torch.ones(8)"),
    "a type": ("torch.ones(8).type(torch.cuda.FloatTensor)", "torch.ones(8).type(torch.FloatTensor)"),
    "the name of a type": ("torch.ones(8).type('torch.cuda.FloatTensor')", "torch.ones(8).type('torch.FloatTensor')"),
    "a constructor": ("torch.cuda.FloatTensor(8).fill_(1)", "torch.FloatTensor(8).fill_(1)"),
    "near the device": ("torch.ones(8).pin_memory()", "torch.ones(8)"),
    "the current device": ("torch.ones(8, device=torch.cuda.current_device())", "torch.ones(8, device='cpu')"),
}
CASES = {
    **{name: (text.format(device), text.format("cpu")) for name, (text, device) in WAYS.items()},
    **ONLY_THERE,
}


UNSEEN = ("a type", "a constructor")
"""Nobody sees where a type of `torch.cuda` is used."""


def traced(folder: Path, name: str, term: str, moved: str = "", made: str = "") -> Graph:
    text = f"""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4){moved}
            self.register_buffer("shift", torch.ones(4{made}))

        def forward(self, x):
            return self.fc(x + {term}) + self.shift
    """
    file = folder / f"{name}.py"
    file.write_text(textwrap.dedent(text))
    return modgraph.analyze(f"{file}:Net")


def calls(graph: Graph) -> list[tuple[object, ...]]:
    return [(call.module, call.outputs) for call in graph.calls]


@pytest.mark.parametrize("case", CASES)
def test_the_cpu_stands_for_what_is_asked_for_in_forward(tmp_path: Path, case: str) -> None:
    there, here = CASES[case]
    graph, judge = traced(tmp_path, "there", there), traced(tmp_path, "here", here)
    assert judge.complete, judge.problems
    assert calls(graph) == calls(judge)
    (problem,) = graph.problems
    assert "this machine has none" in problem.message
    assert (problem.file, problem.line) == ((None, None) if case in UNSEEN else ("there.py", 12))
    assert not graph.complete


@pytest.mark.parametrize(("moved", "made"), [(".cuda()", ""), ("", ", device='cuda'"), (".to('cuda')", ".cuda")])
def test_the_cpu_stands_for_what_is_asked_for_while_the_model_is_built(tmp_path: Path, moved: str, made: str) -> None:
    made = made if made.startswith(",") or not made else ", device='cuda:0'"
    graph, judge = traced(tmp_path, "there", "1", moved, made), traced(tmp_path, "here", "1")
    assert judge.complete
    assert calls(graph) == calls(judge)
    assert [problem.stage for problem in graph.problems] == ["trace"]
    assert "cuda is asked for, and this machine has none" in summary(graph).replace("\n    ", " ")


def test_code_that_can_do_without_the_device_runs_as_it_is(tmp_path: Path) -> None:
    guarded = tmp_path / "guarded.py"
    guarded.write_text(
        textwrap.dedent("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 4)

            def forward(self, x):
                try:
                    x = x.cuda()
                except Exception:
                    x = x + 1
                return self.fc(x)
        """)
    )
    graph = modgraph.analyze(f"{guarded}:Net")
    assert graph.complete, graph.problems
    assert [operation.name for operation in graph.operations] == ["torch.Tensor.add"]


def test_a_live_model_ends_where_it_asks_for_the_device() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.fc(x)
            return x + torch.ones(4, device="cuda")

    try:
        graph = modgraph.trace(Net())
    except TraceError as error:
        pytest.fail(f"nothing is written: {error}")
    assert [call.module for call in graph.calls] == ["", "fc"]
    (problem,) = graph.problems
    assert "CUDA" in problem.message, problem
    assert "input" not in problem.message, "no input can help"


def test_what_is_done_without_is_put_back() -> None:
    from modgraph.tracing.loading.absent_devices import AbsentDevices

    before = dict(vars(torch.cuda))
    with AbsentDevices() as devices:
        assert torch.ones(2, device="cuda").device.type == "cpu"
    assert dict(vars(torch.cuda)) == before
    assert len(list(devices.doubts())) == 1
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(2, device="cuda")


def test_the_live_model_is_exported_where_the_cpu_stands_for_the_device(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    (tmp_path / "net.py").write_text(
        textwrap.dedent("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 4)

            def forward(self, x):
                return self.fc(x + torch.ones(8, device="cuda"))
        """)
    )
    modgraph.export_onnx(f"{tmp_path}/net.py:Net", tmp_path / "net.onnx")
    properties = {each.key: each.value for each in onnx.load(tmp_path / "net.onnx").metadata_props}
    assert properties["modgraph.kind"] == "executable"
