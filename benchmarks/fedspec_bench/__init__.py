"""Benchmarks: the mirror, its peers and the machine's limits, measured side by side in one run."""
