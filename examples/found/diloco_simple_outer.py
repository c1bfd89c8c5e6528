"""PrimeIntellect-ai/diloco_simple at be38ec4: the outer step of ``pure_torch_diloco.py``.

``SOURCE=path/to/diloco_simple fedspec check examples/found/diloco_simple_outer.py:Adapter``

The loop stands in a ``main`` that loads a language model. So the statements below ``if real_step % local_steps == 0``
are run as they stand there, with the names that they read. Its momentum is 0.9.
"""

from __future__ import annotations

import beside  # noqa: F401
import opendiloco_outer

from fedspec_suite.subjects.outer import Outer

COMMIT, FILE = "be38ec4", "pure_torch_diloco.py"


def Adapter() -> Outer:
    """Adapter of the loop, whose outer step uses the same names as OpenDiloco's."""
    return opendiloco_outer.loop("diloco-simple", COMMIT, FILE)
