"""Local solvers: one gradient in, one local step out."""
