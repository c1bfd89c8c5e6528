"""Server rules: each takes one aggregate and makes one step of the global model.

Each rule is here under its own name; its module of the same name also holds the ``init`` of its state.
"""

from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adam import adam
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad
from fedspec.server.average import average
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec.server.nova_momentum import nova_momentum
from fedspec.server.yogi import yogi

__all__ = [
    "Adaptive",
    "AmsGrad",
    "ServerMomentum",
    "adagrad",
    "adam",
    "ams",
    "amsgrad",
    "average",
    "nova_momentum",
    "server_momentum",
    "yogi",
]
