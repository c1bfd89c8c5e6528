"""Local solvers: one gradient for each client in, one local step of every active client out.

``active`` says which clients take the step; the others keep model, buffers and count, whatever their gradient holds.
Without it all take it.
"""
