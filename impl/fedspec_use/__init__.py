"""The catalogue's rules for other frameworks: torch optimisers, optax transformations, Flower strategies.

No equation stands here. Each module takes the rule of a row of the catalogue, the one that ``fedspec show`` prints and
``fedspec check`` judges by, and calls it where its framework calls an optimiser. A module imports its framework and is
imported by nothing else: ``fedspec_use.torch``, ``fedspec_use.optax``, ``fedspec_use.flower``.
"""
