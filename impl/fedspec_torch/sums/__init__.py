"""Sums over clients that a step's text needs: found before training, and accumulated block by block."""
