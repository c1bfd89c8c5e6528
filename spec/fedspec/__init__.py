"""fedspec: an executable, typed specification of federated optimisation.

Rules are pure functions in ``fedspec.client``, ``fedspec.mixing`` and ``fedspec.server``; published algorithms
are composed of them in ``fedspec.algorithms``; ``fedspec.catalogue`` lists what exists; ``fedspec.contract`` is
how any implementation is addressed.
"""

__version__ = "0.1.0"
