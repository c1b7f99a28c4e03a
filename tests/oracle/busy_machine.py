"""The static analysis of forty targets, on a machine that is quiet and then beside four busy processes: equal bytes.

    python tests/oracle/busy_machine.py [--targets N] [--busy N]

The targets are the samples, models of torchvision, and sources that use up what a prediction may cost. The first time
there is no cache of indexes, the second time there is one, and hashes are seeded otherwise. Prints what differs; the
status is 1 then.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILDERS = (
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "inception_v3"),
    *("maxvit_t", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "resnet18"),
    *("resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_0", "swin_t", "vgg11", "vit_b_16"),
    *("wide_resnet50_2", "swin_v2_t", "resnet152", "vgg19_bn"),
)
ENDLESS = {
    "steps": "for i in range(20000):\n    for j in range(20000): self.n = i",
    "work": "x = list(range(20000)); y = list(range(20000))\nfor i in range(20000): z = x == y",
}
BUSY = "while True: pass"


def targets(folder: Path) -> list[str]:
    """Those that cost most first."""
    found = []
    for name, body in ENDLESS.items():
        lines = "".join(f"        {line}\n" for line in ("self.a = nn.ReLU()", *body.splitlines()))
        text = (
            f"from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}"
        )
        (folder / f"{name}.py").write_text(text)
        found.append(str(folder / f"{name}.py"))
    found += [str(each) for each in sorted((ROOT / "samples").glob("*.py"))]
    return found + [f"torchvision.models:{name}(weights=None)" for name in BUILDERS]


def analyze(names: list[str], out: Path, environment: dict[str, str]) -> dict[str, bytes]:
    """What is written of each target, and said."""
    found: dict[str, bytes] = {}
    for number, name in enumerate(names):
        place = out / str(number)
        command = ["analyze", name, "--static", "--format", "json,dot,text,svg", "--output", str(place)]
        run = subprocess.run(
            [sys.executable, "-m", "modgraph", *command],
            cwd=ROOT, capture_output=True, env={**os.environ, **environment}, check=False,
        )  # fmt: skip
        said = (run.stdout + run.stderr).replace(str(place).encode(), b"OUT")
        found[f"{name}: status and words"] = str(run.returncode).encode() + said
        for file in sorted(place.rglob("*")):
            if file.is_file():
                found[f"{name}: {file.name}"] = file.read_bytes()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=40)
    parser.add_argument("--busy", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        names = targets(here)[: options.targets]
        cache = {"MODGRAPH_CACHE": str(here / "cache")}
        began = time.monotonic()
        quiet = analyze(names, here / "quiet", {**cache, "PYTHONHASHSEED": "1"})
        middle = time.monotonic()
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
        try:
            busy = analyze(names, here / "busy", {**cache, "PYTHONHASHSEED": "2"})
        finally:
            for each in others:
                each.kill()
                each.wait()
    print(
        f"{len(names)} targets, {len(quiet)} results: {middle - began:.0f} s quiet, {time.monotonic() - middle:.0f} s busy"
    )
    differing = [name for name in {**quiet, **busy} if quiet.get(name) != busy.get(name)]
    for name in differing:
        print(f"  {name} differs")
    failed = [name for name, said in quiet.items() if name.endswith("words") and not said.startswith((b"0", b"1"))]
    for name in failed:
        print(f"  {name}: {quiet[name].decode()}")
    return int(bool(differing or failed))


if __name__ == "__main__":
    sys.exit(main())
