"""For several tests of the mirror."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch


@pytest.fixture
def threads() -> Iterator[Any]:
    """Sets how many torch has."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
