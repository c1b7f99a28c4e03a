"""Brings the layout library of the HTML page from npm into the tree: `python tests/tools/vendor_dagre.py`.

`modgraph/export/page/viewer/vendor/vendor.json` pins each package by version and by npm's own checksum of its archive, and
names the files that are taken from it, with the checksum of each. The files are taken as they are. To change a version:
edit it there, with `npm view @dagrejs/dagre@X dist.integrity`, and run this with `--update`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parents[2] / "modgraph" / "export" / "viewer" / "vendor"
MANIFEST = VENDOR / "vendor.json"


def archive_of(package: dict[str, Any]) -> bytes:
    """The archive of a package as npm gives it."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"{package['name']}@{package['version']}"
        subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (file,) = Path(folder).glob("*.tgz")
        return file.read_bytes()


def taken_from(archive: bytes, package: dict[str, Any]) -> dict[str, bytes]:
    """The files of `archive` that the manifest names, by the name that they have here.

    Raises:
        ValueError: the archive is not the one that is pinned.
    """
    kind, _, wanted = package["integrity"].partition("-")
    found = base64.b64encode(hashlib.new(kind, archive).digest()).decode("ascii")
    if found != wanted:
        raise ValueError(f"{package['name']} {package['version']}: its checksum is {kind}-{found}, not {kind}-{wanted}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {}
        for here, entry in package["files"].items():
            member = tar.extractfile(f"package/{entry['from']}")
            assert member is not None
            files[here] = member.read()
    return files


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> int:
    packages = json.loads(MANIFEST.read_text(encoding="utf-8"))
    for package in packages:
        for here, content in taken_from(archive_of(package), package).items():
            entry = package["files"][here]
            if "--update" in sys.argv[1:]:
                entry["sha256"] = checksum(content)
            if checksum(content) != entry["sha256"]:
                print(f"error: {here} is not the file that is pinned", file=sys.stderr)
                return 1
            (VENDOR / here).write_bytes(content)
            print(f"{package['name']} {package['version']}: {here}, {len(content):,} bytes")
    MANIFEST.write_text(json.dumps(packages, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
