"""`modgraph analyze --all` on the samples, from the command line, without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_TORCH = "import sys; sys.modules['torch'] = None; from modgraph.cli import main; sys.exit(main(sys.argv[1:]))"


def test_the_samples_without_torch(tmp_path: Path):
    names = ("mlp.py", "raises.py", "plain_list.py")
    for name in names:
        (tmp_path / name).write_bytes((ROOT / "samples" / name).read_bytes())
    (tmp_path / "two").symlink_to(ROOT / "samples" / "two_files", target_is_directory=True)
    run = subprocess.run(
        [sys.executable, "-c", NO_TORCH, "analyze", "--all", ".", "--static", "--format", "json", "--jobs", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "[3/3] predicted" in run.stdout
    assert "3 models · 3 predicted · 1 finding" in run.stdout
    text = (tmp_path / "modgraph-out" / "index.md").read_text("utf-8")
    assert "MG101" in text
    assert "two/" not in text  # links to folders are not followed


def test_options_of_one_model_are_refused(tmp_path: Path):
    for arguments in (["--all", ".", "--input", "1x3"], ["model.py", "--jobs", "2"], ["--all", ".", "-o", "net.svg"]):
        run = subprocess.run(
            [sys.executable, "-m", "modgraph", "analyze", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 2
        assert "error:" in run.stderr
        assert "help:" in run.stderr
