"""Scores, analysis, tables, figures and the report."""
