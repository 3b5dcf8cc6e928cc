"""One small study for the tests of configuration and layout."""

import copy
from typing import Any

import yaml

STUDY = """
study: toy
note: a study for tests
corpora:
  demo:
    source_language: en
    target_language: de
    grammar: {seed: 1, train: 100, valid: 5, test: 7}
    references: 3
    judged: true
    distil: {teacher: teacher, shards: 2}
  own:
    source_language: en
    target_language: de
    folder: texts
recipes:
  small:
    corpus: demo
    model: {width: 16, heads: 2}
    objective: {name: masked}
    train: {steps: 10}
runs:
  teacher: {recipe: small, objective: {name: left_to_right}}
  ce: {recipe: small, target_side: distilled}
  axe: {recipe: small, objective: {name: axe, skip_target_penalty: [1, 2.5]}}
"""


def study(**changes: Any) -> dict[str, Any]:
    """The study above with `a__b__c=value` put at a.b.c; three dots take the key away."""
    values = copy.deepcopy(yaml.safe_load(STUDY))
    for path, value in changes.items():
        *folders, key = path.split("__")
        place = values
        for folder in folders:
            place = place.setdefault(folder, {})
        if value is ...:
            del place[key]
        else:
            place[key] = value
    return values
