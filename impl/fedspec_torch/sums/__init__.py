"""Sums over clients that a step's text needs: found before clients are trained, and added up block by block."""
