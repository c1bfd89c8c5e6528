"""Work-around for torchvision's CUDA wheel beside a CPU build of torch, which lacks operators that it looks up."""
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import torch


def declare() -> None:
    """Declare the missing operator schemas before torchvision is imported; nothing here calls them."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        missing = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for name in ("nms", "qnms"):
            schema = f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            missing.define(schema)  # type: ignore[no-untyped-call]
        LIBRARIES.append(missing)


LIBRARIES: list[torch.library.Library] = []
"""References that keep libraries alive, since a declaration ends with its library."""
