"""Notes as Snakemake writes them; that it does so is seen in tests/workflow/test_versions.py."""

import os
from base64 import urlsafe_b64encode
from pathlib import Path

from axenat.files import sha256_of, write_json


def note(path: Path | str, *inputs: Path | str) -> None:
    """That a file was made just now from these, as they are now."""
    path, sources = os.path.relpath(path), [os.path.relpath(source) for source in inputs]
    sums = {source: f"sha256:{sha256_of(source)}" for source in sources}
    name = urlsafe_b64encode(path.encode()).decode()
    write_json(Path(".snakemake/metadata") / name, {"endtime": os.stat(path).st_mtime, "input_checksums": sums})
