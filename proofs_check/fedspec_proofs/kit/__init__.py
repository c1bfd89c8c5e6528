"""Kit of the proofs of several papers: proofs put together, lines about balls, piecewise linear slopes."""
