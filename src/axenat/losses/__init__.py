"""Losses are math: tensors and numbers in, one value per sentence out."""
