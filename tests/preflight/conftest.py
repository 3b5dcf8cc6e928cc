import json
from collections.abc import Mapping

import pytest

from tests.stand_in import saying, stand_in


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Commands that say what a test wants, and no others on the path."""

    def make(*, sinfo: str | None = None, sacctmgr: str | None = None, nodes: Mapping[str, str] | None = None) -> None:
        """`nodes` by partition, as sinfo lists them: number, cores, memory, GPUs, limit."""
        folder = tmp_path / "bin"
        stand_in(folder, "sbatch", "")
        if sacctmgr is not None:
            stand_in(folder, "sacctmgr", saying(sacctmgr))
        if sinfo is not None or nodes is not None:
            answers = {f"--partition={name}": text for name, text in (nodes or {}).items()}
            code = f"""
if any('%P' in word for word in words):
    sys.stdout.write({(sinfo or "")!r})
else:
    assert '--exact' in words, 'of nodes that differ sinfo would tell the least'
    sys.stdout.write(''.join({json.dumps(answers)}.get(word, '') for word in words))"""
            stand_in(folder, "sinfo", code)
        monkeypatch.setenv("PATH", str(folder))

    return make
