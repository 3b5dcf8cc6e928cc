"""Deliberate mistakes, kept as a list, to test the tests: `make mutants`."""
