"""The figures promised in the README: `python -m benchmarks.<name> --json FILE`, ratios measured side by side."""
