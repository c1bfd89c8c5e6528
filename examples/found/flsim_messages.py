"""facebookresearch/FLSim at 7311f2d: what its channel in half precision and its secure aggregation do to a change.

``SOURCE=path/to/FLSim fedspec check examples/found/flsim_messages.py:Adapter``

Its simulator sends changes. The mean is the adapter's, and configurations and loggers are stand-ins.

half        ``HalfPrecisionChannel``, at the client and at the server
fixed       ``FixedPointConverter`` with 32 bits and ``scaling_factor`` 2^16
"""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import means
import source
import torch

COMMIT = "7311f2d"


def Adapter() -> means.Means:
    """Adapter of both."""
    names = {"HalfPrecisionChannel": "channels/half_precision_channel.py"}
    names["FixedPointConverter"] = "secure_aggregation/secure_aggregator.py"
    told = SimpleNamespace(num_bits=32, num_bytes=None, scaling_factor=2**16)
    given: dict[str, Any] = {"torch": torch, "OrderedDict": OrderedDict, "IdentityChannel": SimpleNamespace}
    given |= {"init_self_cfg": lambda self, **_: setattr(self, "cfg", told), "Message": object}
    given |= dict.fromkeys(("HalfPrecisionChannelConfig", "FixedPointConfig"))
    given["Logger"] = given["logging"] = SimpleNamespace(get_logger=lambda _: None, Logger=None)
    its = {n: source.definitions(COMMIT, f"flsim/{p}", n, given=given)[n] for n, p in names.items()}
    half, fixed = its["HalfPrecisionChannel"](), its["FixedPointConverter"]()

    def halved(change: Any) -> torch.Tensor:
        sent = SimpleNamespace(
            model_state_dict={"x": torch.tensor(change)}, populate_state_dict=bool, update_model_=bool
        )
        half._on_server_after_reception(half._on_client_before_transmission(sent))
        return sent.model_state_dict["x"]  # type: ignore[no-any-return]

    made: list[means.Rounding] = [
        ("half", ("float16",), halved),
        ("fixed", ("fixed 16",), lambda change: fixed.to_float(fixed.to_fixedpoint(torch.tensor(change)))),
    ]
    return means.Means("flsim", source.dated(COMMIT), list(means.rounded(made)))
