"""The catalogue's rules for other frameworks: torch optimisers, optax transformations, Flower strategies.

This package defines no equation. Each module takes the rule of a row of the catalogue, which ``fedspec show`` prints
and ``fedspec check`` uses, and calls it in place of the framework's optimiser. Each module imports only its own
framework: ``fedspec_use.torch``, ``fedspec_use.optax``, ``fedspec_use.flower``.
"""
