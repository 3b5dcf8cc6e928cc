"""Frozen records from plain YAML values: every refusal names the key and what is allowed."""

import dataclasses
import math
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from axenat.files import UserError

T = TypeVar("T")
# Keys of a field's metadata. KINDS: a function that gives a record for each value of the section's own key `name`.
KINDS = "kinds"
# LATER: resolved configurations leave the key out while it has its default, so that earlier ones stay as they are.
LATER = "later"
MOST_SEED = 2**63 - 1  # what torch takes
LARGEST = 3.4e38  # what float32 holds, in which models compute


class ConfigError(UserError):
    """A key or a value that the configuration does not allow."""


def one_of(where: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{where} must be one of {', '.join(allowed)}, got {value!r}")


def at_least(where: str, value: float, low: float) -> None:
    if value < low:
        raise ConfigError(f"{where} must be >= {low}, got {value}")
    if not value <= LARGEST:  # nan too
        raise ConfigError(f"{where} must be a finite number >= {low}, got {value}")


def between(where: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{where} must be from {low} to {high}, got {value}")


def share(where: str, value: float) -> None:
    if not 0.0 <= value < 1.0:
        raise ConfigError(f"{where} must be at least 0 and below 1, got {value}")


def exactly_one(**values: Any) -> None:
    if sum(value is not None for value in values.values()) != 1:
        *others, last = values
        raise ConfigError(f"a corpus needs exactly one of {', '.join(others)} and {last}")


def build(kind: type[T], values: Any, where: str) -> T:
    """Make a record from plain YAML values; every refusal names the key and what is allowed."""
    fields = _known_keys(kind, values, where)
    hints = typing.get_type_hints(kind)
    for name, item in fields.items():
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise ConfigError(f"{where}.{name} is missing")
        if KINDS in item.metadata:
            hints[name] = _kind_by_name(item.metadata[KINDS](), values[name], f"{where}.{name}")
    converted = {key: _convert(hints[key], value, f"{where}.{key}") for key, value in values.items()}
    try:
        return kind(**converted)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _kind_by_name(kinds: Mapping[str, type], values: Any, where: str) -> type:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping of keys, got {values!r}")
    if "name" not in values:
        raise ConfigError(f"{where}.name is missing")
    name = _convert(str, values["name"], f"{where}.name")
    one_of(f"{where}.name", name, tuple(kinds))
    return kinds[name]


def check_part(kind: type, values: Any, where: str) -> None:
    """Keys and types alone, of a record that something else completes."""
    fields = _known_keys(kind, values, where)
    hints = typing.get_type_hints(kind)
    for key, value in values.items():
        if KINDS in fields[key].metadata:
            _check_part_of_some(tuple(fields[key].metadata[KINDS]().values()), value, f"{where}.{key}")
        elif dataclasses.is_dataclass(hints[key]):
            check_part(typing.cast(type, hints[key]), value, f"{where}.{key}")
        else:
            _convert(hints[key], value, f"{where}.{key}")


def _check_part_of_some(kinds: tuple[type, ...], values: Any, where: str) -> None:
    """Of a record whose kind is not known yet: each key must be one of some kind's."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping of keys, got {values!r}")
    hints: dict[str, Any] = {}
    for kind in kinds:
        hints |= typing.get_type_hints(kind)
    for key, value in values.items():
        if key not in hints:
            raise ConfigError(f"{where}.{key} is not a known key; allowed are {', '.join(hints)}")
        _convert(hints[key], value, f"{where}.{key}")


def _known_keys(kind: type, values: Any, where: str) -> "dict[str, dataclasses.Field[Any]]":
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping of keys, got {values!r}")
    fields = {item.name: item for item in dataclasses.fields(kind)}
    for key in values:
        if key not in fields:
            raise ConfigError(f"{where}.{key} is not a known key; allowed are {', '.join(fields)}")
    return fields


def _convert(hint: Any, value: Any, where: str) -> Any:
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    if type(None) in typing.get_args(hint):
        return None if value is None else _convert(options[0], value, where)
    if dataclasses.is_dataclass(hint):
        return build(typing.cast(type, hint), value, where)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where} must be a list, got {value!r}")
        return tuple(_convert(options[0], item, where) for item in value)
    if typing.get_origin(hint) is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where} must be a mapping of names, got {value!r}")
        return {
            _convert(str, name, where): _convert(options[1], item, f"{where}.{name}") for name, item in value.items()
        }
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    endless = isinstance(value, float) and not math.isfinite(value)  # nan passes every comparison
    if isinstance(value, hint) and not endless and not (hint is int and isinstance(value, bool)):
        return value
    raise ConfigError(f"{where} must be {_WORDS[hint]}, got {_show(value)}")


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _show(value: Any) -> str:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return f"the text {value!r}"
        return f"the text {value!r} (YAML reads 5e-4 as text; write 5.0e-4, without quotes)"
    return repr(value)


def merge(base: Mapping[str, Any], differences: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `differences` laid over it, section by section."""
    merged = dict(base)
    for key, value in differences.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def as_plain(record: Any) -> dict[str, Any]:
    """The record as YAML-ready values."""
    plain: dict[str, Any] = dataclasses.asdict(record)
    return _lists(plain)  # type: ignore[no-any-return]


def as_resolved(record: Any) -> dict[str, Any]:
    """As plain values, without keys that were added later and have their default."""
    plain = as_plain(record)
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        if item.metadata.get(LATER) and value == item.default:
            del plain[item.name]
        elif dataclasses.is_dataclass(value):
            plain[item.name] = as_resolved(value)
    return plain


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return value
