"""A process that has imported torch and modgraph once, and runs each command of the pages in a fork of itself.

Reads one JSON object a line: `argv` of the command line or `code` for Python, the folder `cwd` and the variables
`environment`; answers each with `status`, `stdout` and `stderr`. A worker of `modgraph analyze` is a fork as well, in
place of a fresh interpreter: what that does is tested elsewhere (`tests/test_isolation.py`), and costs seconds each time.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import json
import os
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(4, 4) for _ in range(3)]
        self.body = nn.Sequential(nn.Conv1d(4, 4, 1), nn.ReLU(), nn.LayerNorm(4), nn.Embedding(2, 2))

    def forward(self, x):
        return torch.relu(x) + x
"""


def main() -> None:
    """Answer until standard input ends."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        _warm_up(Path(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # a page's folder has one of its own
    gc.collect()
    gc.freeze()  # what is there is never looked at again, so that a fork shares its memory
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _warm_up(folder: Path) -> None:
    """Do a little of everything, so that what is imported and read on the way is there in every fork."""
    import torch

    import modgraph.worker

    place = os.getcwd()
    os.chdir(folder)
    Path("model.py").write_text(MODEL, encoding="utf-8")
    for line in ("analyze model.py --static --format svg,json,html,mermaid,text -q", "check model.py -q", "diff model.py model.py:Net -q"):  # fmt: skip
        _command(line.split())
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    modgraph.trace(model)
    modgraph.analyze(model, torch.ones(1, 4), verify=True, profile=True)
    with contextlib.suppress(ImportError, AttributeError):  # a table of 500 functions that each export reads anew
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        ONNXRegistry.from_torchlib = classmethod(functools.cache(ONNXRegistry.from_torchlib.__func__))
    with contextlib.suppress(modgraph.ModgraphError):  # what is not installed, the command says itself
        modgraph.export_onnx(model, "net.onnx", (torch.ones(1, 4),))
    os.chdir(place)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become(request, out.fileno(), err.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))
    return {"status": status, "stdout": said[0], "stderr": said[1]}


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """Run what is asked for in this process, and end it."""
    status = 99
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.chdir(request["cwd"])
        os.environ.update(request["environment"])
        _fork_workers()
        status = _python(request["code"]) if "code" in request else _command(request["argv"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _command(argv: list[str]) -> int:
    from modgraph.cli import main as modgraph

    return modgraph(argv)


def _python(code: str) -> int:
    sys.path.insert(0, os.getcwd())
    try:
        exec(compile(code, "block.py", "exec"), {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _fork_workers() -> None:
    from modgraph import isolation, worker

    def run_worker(directory: Path, limits: Any, heard: Any, cwd: str | None) -> Any:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.chdir(cwd or ".")
            os.close(reading)
            output = os.open(directory / "output.txt", os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1)
            os.dup2(output, 2)
            worker.main(str(directory), str(writing))
        os.close(writing)
        listener = threading.Thread(target=heard.listen, args=(os.fdopen(reading, "rb"),))
        listener.start()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        listener.join()
        return isolation._End(status, (directory / "output.txt").read_text("utf-8", "replace"))

    isolation._run_worker = run_worker


if __name__ == "__main__":
    main()
