"""KempnerInstitute/KempnerForge at cc97c53 and fec6ff4: ``CheckpointManager`` with PyTorch's Adam, in one process.

``SOURCE=path/to/KempnerForge fedspec check examples/found/kempnerforge_checkpoint.py:Adapter``

It isn't federated: its run is a round of a client. Its configuration is a stand-in.

before      the commit before pull request 115; before the first step, only the model is kept
after       the merge of pull request 115; before the first step, only the model is kept
fresh       the merge, with a checkpoint before the first step too
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import beside
import local
import source
import torch

from fedspec.contract import Case, Claim
from fedspec_suite.subjects.outer import Model

COMMITS = {"before": "cc97c53", "after": "fec6ff4", "fresh": "fec6ff4"}


class Session(local.Session):
    """Session whose checkpoint is the manager's."""

    def __init__(self, case: Case, make: local.Make, manager: Any) -> None:
        self.manager = manager
        super().__init__(case, make)

    def kept(self, folder: Path) -> Any:
        """Return a manager of the run in a folder."""
        told = SimpleNamespace(
            dir=str(folder),
            async_mode="disabled",
            load_path=None,
            keep_last_n=1,
            is_dynamic_milestone=lambda step: True,
        )
        return self.manager(told, self.model, vars(self.take)["optimizer"])

    def save(self) -> bytes:
        """Return the manager's checkpoint, or the model alone."""
        fresh = self.case.variant != "fresh" and not vars(self.take)["optimizer"].state
        if fresh:
            return beside.packed(lambda folder: torch.save(self.model.state_dict(), folder / "fresh"))
        return beside.packed(lambda folder: self.kept(folder).save(0))

    def restore(self, saved: bytes) -> None:
        """Load what was saved."""

        def load(folder: Path) -> None:
            if (folder / "fresh").exists():
                self.model.load_state_dict(torch.load(folder / "fresh"))
            else:
                self.kept(folder).load()

        beside.unpacked(saved, load)


def begins(model: Model, h: Mapping[str, Any], _: int) -> local.Take:
    """Begin with Adam, whose step follows a backward pass."""
    optimizer = torch.optim.Adam(model.parameters(), lr=h["eta_l"], betas=(h["beta1"], h["beta2"]), eps=h["eps"])

    def takes(loss: torch.Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    vars(takes)["optimizer"] = optimizer
    return takes


class Adapter(local.Steps):
    """Adapter of the manager at both commits."""

    def __init__(self) -> None:
        modes = SimpleNamespace(disabled="disabled", async_="async", async_pinned="pinned")
        for name in ("kempnerforge", "kempnerforge.checkpoint", "kempnerforge.config"):
            source.absent(name)
        source.absent("kempnerforge.config.schema", AsyncCheckpointMode=modes, CheckpointConfig=object)
        self.managers = {}
        for name, commit in COMMITS.items():
            for part in ("state", "async_save", "manager"):
                made = source.module(commit, f"kempnerforge/checkpoint/{part}.py", f"kempnerforge.checkpoint.{part}")
            self.managers[name] = made.CheckpointManager
        claims = [Claim("adam", "client", "kingma-2015", variant=name, resumes=True) for name in COMMITS]
        super().__init__("kempnerforge", source.dated(COMMITS["after"]), [(claim, begins) for claim in claims])

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, begins, self.managers[case.variant])
