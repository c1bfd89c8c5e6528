"""Local solvers: each takes one gradient and makes one local step."""
