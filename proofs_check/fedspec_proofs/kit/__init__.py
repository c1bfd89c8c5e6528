"""What the proofs of several papers are made of: proofs put together, lines about balls, piecewise linear slopes."""
