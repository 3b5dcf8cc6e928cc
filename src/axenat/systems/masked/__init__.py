"""The conditional masked language model trained with cross entropy (section 3.1)."""
