"""The encoder-decoder transformer and its length head."""
