"""Formulas: arrays in, numbers out, each exactly once. Only NumPy and SciPy, so that each can be read by itself."""
