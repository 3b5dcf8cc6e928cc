"""The conditional masked language model trained with aligned cross entropy (section 3.3)."""
