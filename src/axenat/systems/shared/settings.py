"""Checks of the keys of `objective` that several systems read."""

from typing import Any

from axenat.records import ConfigError, at_least, one_of, share


def check_token_loss(settings: Any) -> None:
    """Every system scores tokens with these keys."""
    one_of("objective.projection", settings.projection, ("fused", "plain"))
    share("objective.label_smoothing", settings.label_smoothing)
    one_of("objective.normalise", settings.normalise, ("tokens", "sentences"))


def check_masking(settings: Any) -> None:
    """Systems whose decoder sees a partly masked target and that predict its length."""
    one_of("objective.observe", settings.observe, ("some", "none"))
    one_of("objective.score", settings.score, ("hidden", "all"))
    at_least("objective.length_loss_weight", settings.length_loss_weight, 0.0)
    one_of("objective.eos", settings.eos, ("keep", "drop"))
    one_of("objective.most_hidden", settings.most_hidden, ("all", "all_but_one"))
    if settings.most_hidden != "all" and settings.observe == "none":
        raise ConfigError("objective.most_hidden must be all with observe none, which hides all tokens")
