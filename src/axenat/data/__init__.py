"""Raw text to batches of ids."""
