"""Trained models behind MLflow: what answers requests, and which version of a model is the champion."""
