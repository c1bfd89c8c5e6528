"""Commands that train with fedspec_torch, ``fedspec simulate`` and ``fedspec reproduce``, and their plots.

``draw_runs`` draws runs that were played in Python. Importing the package needs no torch.
"""

from fedspec_train.report.user_runs import draw_runs

__all__ = ["draw_runs"]

__version__ = "0.1.0"
