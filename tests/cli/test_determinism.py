"""Two runs give the same bytes, also under another hash seed and from another working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.needs_torch, pytest.mark.needs_dot]


@pytest.mark.parametrize("sample", ["resnet.py", "moe.py", "raises.py", "plain_list.py", "two_files/model.py"])
def test_same_bytes(modgraph, tmp_path, sample):
    written = []
    for seed, folder, target in (
        ("1", tmp_path / "one", str(ROOT / "samples" / sample)),
        ("2", (ROOT / "samples" / sample).parent, Path(sample).name),
    ):
        folder.mkdir(exist_ok=True)
        output = tmp_path / f"out{seed}"
        modgraph(
            "analyze", target, "--format", "json,dot,svg,onnx", "-o", f"{output}/", cwd=folder,
            environment={"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        written.append({path.name: path.read_bytes() for path in output.iterdir()})
    assert len(written[0]) == 4
    assert written[0] == written[1]
    for name, content in written[0].items():
        assert str(ROOT).encode() not in content, name
        assert str(tmp_path).encode() not in content, name
