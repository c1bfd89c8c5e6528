"""Flower server: FedNova or another algorithm, saved after its rounds, or resumed from a saved state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedspec_use.flower import FedspecStrategy, of_record, to_record
from flower_digits.task import accuracy, start

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the rounds."""
    algorithm = str(context.run_config["algorithm"])
    more = {"scaffold": {"eta": 1.0}, "feddyn": {"mu": 0.1}}.get(algorithm, {})
    strategy = FedspecStrategy(algorithm, eta_l=0.5, clients=2, fraction_evaluate=0.0, **more)
    file = str(context.run_config["state"])
    if file and Path(file).exists():
        strategy.load_state_dict(np.load(file))
    arrays = strategy.arrays if strategy.state_dict() else to_record(start())
    result = strategy.start(grid, arrays, num_rounds=int(context.run_config["num-server-rounds"]))
    print(f"accuracy {accuracy(of_record(result.arrays)):.4f}")
    if file:
        np.savez(file, **strategy.state_dict())
