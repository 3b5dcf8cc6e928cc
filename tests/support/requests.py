"""Request files for the stages that look at a whole study, as a test needs them."""

from pathlib import Path
from typing import Any

from axenat.files import write_yaml


def write_request(path: Path, **values: Any) -> Path:
    """Paths become text, as they are in YAML."""
    write_yaml(path, {key: _plain(value) for key, value in values.items()})
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
