"""axenat: non-autoregressive translation trained with Aligned Cross Entropy."""

__version__ = "0.1.0"
