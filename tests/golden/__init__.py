"""Golden records: what must stay the same while the house is rebuilt. `python -m tests.golden --help`."""
