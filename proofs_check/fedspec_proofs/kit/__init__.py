"""Proof tools that several papers use: sums of proof steps, inequalities about balls, piecewise linear gradients."""
