"""PyTorch implementation of the algorithms that fedspec specifies."""
