"""pfl-research: its ``FederatedAveraging`` on its ``SimulatedBackend`` with a PyTorch model."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn

from fedspec_bench.job import Job
from fedspec_bench.peers.torch_optim.networks import module, trained
from fedspec_bench.turns import Turns
from fedspec_bench.workloads import Array


class Net(nn.Module):
    """Module with the layers, the loss and the metrics, as pfl requires."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the output of the layers."""
        output: Tensor = self.inner(inputs)
        return output

    def loss(self, inputs: Tensor, targets: Tensor, eval: bool = False) -> Tensor:
        """Return the mean cross-entropy."""
        return nn.functional.cross_entropy(self(inputs), targets)

    def metrics(self, inputs: Tensor, targets: Tensor, eval: bool = True) -> dict[str, Any]:
        """Return no metrics."""
        return {}


class Simulation:
    """Trainer that runs pfl's own loop, paused after each central iteration."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.cores)
        work = job.work
        self.versions = {"pfl": version("pfl"), "torch": torch.__version__}
        self.net = Net(module(work))
        inputs, targets = map(torch.from_numpy, work.data)
        users = [str(i) for i in range(work.clients)]
        sets = {user: Dataset((inputs[i], targets[i]), user_id=user) for i, user in enumerate(users)}
        data = FederatedDataset(sets.__getitem__, get_user_sampler("minimize_reuse", users))
        model = PyTorchModel(
            model=self.net,
            local_optimizer_create=torch.optim.SGD,
            central_optimizer=torch.optim.SGD(self.net.parameters(), lr=1.0),
        )

        class Held(TrainingProcessCallback):  # type: ignore[misc]
            """Callback that pauses between iterations."""

            def after_central_iteration(_, metrics: Any, model: Any, *, central_iteration: int) -> Any:
                """The round is over."""
                self.turns.between()
                return False, Metrics()

        def loop() -> None:
            # pfl asks the thread for its event loop.
            asyncio.set_event_loop(asyncio.new_event_loop())
            FederatedAveraging().run(
                NNAlgorithmParams(
                    central_num_iterations=10**9,
                    evaluation_frequency=10**9,
                    train_cohort_size=work.clients,
                    val_cohort_size=None,
                ),
                SimulatedBackend(training_data=data, val_data=None),
                model,
                NNTrainHyperParams(local_num_epochs=1, local_learning_rate=work.eta_l, local_batch_size=work.batch),
                callbacks=[Held()],
                send_metrics_to_platform=False,
            )

        self.turns = Turns(loop)

    def round(self) -> None:
        """Run one central iteration."""
        self.turns.next()

    def model(self) -> Array:
        """Return the central model."""
        found: Array = nn.utils.parameters_to_vector(trained(self.net)).detach().numpy()
        return found


def start(job: Job) -> Simulation:
    """Make the module, the data sets and the backend."""
    return Simulation(job)
