"""How the lines of a corpus become words: configs of stages say it, and its subwords and models keep it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axenat.corpus_config import TextConfig
from axenat.files import UserError, read_mapping, write_yaml
from axenat.records import as_plain, build


@dataclass(frozen=True, kw_only=True, slots=True)
class TextSection:
    """Languages of both sides, and the rules for their text."""

    source_language: str
    target_language: str
    text: TextConfig = field(default_factory=TextConfig)

    @property
    def languages(self) -> dict[str, str]:
        return {"source_language": self.source_language, "target_language": self.target_language}


def write_text_section(folder: Path, section: TextSection) -> None:
    """Beside the files that make words subwords and subwords ids."""
    values = as_plain(section)
    text = values.pop("text")
    write_yaml(folder / "text.yaml", {**values, **text})


def read_text_section(folder: Path) -> TextSection:
    return read_text_rules(folder / "text.yaml")


def read_text_rules(path: Path) -> TextSection:
    if not path.exists():
        raise UserError(f"{path}: no such file; learn_subwords writes it beside the codes, and average copies it")
    values: dict[str, Any] = read_mapping(path)
    languages = {key: values.pop(key) for key in ("source_language", "target_language") if key in values}
    return build(TextSection, {**languages, "text": values}, str(path))
