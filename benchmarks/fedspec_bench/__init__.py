"""Benchmarks: fedspec_torch, other libraries and the machine's limits, measured in one run."""
