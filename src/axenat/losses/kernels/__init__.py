"""Backends for the middle step of AXE: table and trace-back, without gradient, on costs alone."""
