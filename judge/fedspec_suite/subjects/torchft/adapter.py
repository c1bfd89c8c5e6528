"""torchft 0.2.0: ``torchft.local_sgd.DiLoCo``, the outer step.

``DiLoCo(manager, fragments, inner_optimizer, outer_optimizer, sync_every=)`` with ``torch.optim.SGD(lr=eta,
momentum=beta, nesterov=True)`` outside, as its ``train_diloco.py`` has it. PyTorch refuses Nesterov with momentum 0.

whole       the model is one fragment
fragments   two fragments, each with an outer optimiser of its own
shared      two fragments, one outer optimiser for both: its type says "optim.Optimizer | list[optim.Optimizer]"

The manager is a stand-in (``driver.py``): it commits every step, and its ``allreduce`` is the workers' mean.
"""

from __future__ import annotations

from importlib.metadata import version

from torchft.local_sgd import DiLoCo

from fedspec_suite.subjects.outer import Outer, offer
from fedspec_suite.subjects.torchft.driver import in_two, whole

MADE = {"whole": whole(DiLoCo), "fragments": in_two(DiLoCo, shared=False), "shared": in_two(DiLoCo, shared=True)}

SUBJECT = Outer("torchft", version("torchft"), [(offer(nonzero=("beta",), variant=n), m) for n, m in MADE.items()])
