"""Work of one of several ranks in test_ranks.py: python -m test_mirror.ranked FOLDER RANK SIZE ROW..."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.distributed as dist
from test_judge.support import inside
from test_mirror.federations import hyper, quadratic, schedule
from torch import nn

from fedspec.catalogue import ALIASES, CATALOGUE, FAMILIES, Algorithm, find
from fedspec.errors import FedspecError
from fedspec.rules import RULES
from fedspec_torch import Federation, Stop, cohorts, population, resume, simulate
from fedspec_torch.ranks.processes import Ranks, here
from fedspec_torch.ranks.rows import Rows
from fedspec_torch.ranks.shards import Shards
from fedspec_torch.tracing import clients as recorded

SHARDS = 4
ROUNDS = 2
KEPT = ("fedada2", "fedadam", "fed-lamb", "scaffold", "fednova-vr", "afga", "cafga", "dadam", "cc-fedams", "fedasync")
"""Algorithms whose runs are saved and resumed: states of every kind."""

COMMAND = ["simulate", "fedavg", "--data", "breast-cancer", "--model", "logistic", "--clients", "9"]
COMMAND += ["--cohort", "4", "--steps", "1-3", "--rounds", "2", "--shards", str(SHARDS)]


def federation(**more: Any) -> Federation:
    """Six clients, so that shards have one or two of them, and some of a round none."""
    return quadratic(batch_size=3, way="looped", **more)[0]


def begun(row: Algorithm) -> Any:
    """A run of two rounds."""
    return simulate(row, federation(), plan=schedule(row), rounds=ROUNDS, shards=SHARDS, **hyper(row))


def halves(row: Algorithm, file: Path) -> tuple[Any, Any]:
    """The run, maybe saved between its two rounds, and its model in the end."""
    run = begun(row)
    run.step()
    if row.id in KEPT:
        run.save(file)
    run.step()
    return run, run.x.clone()


@contextmanager
def apart() -> Iterator[None]:
    """Remove the rows that join the catalogue meanwhile: other tests of the process know fedspec's own rows alone."""
    with ExitStack() as stack:
        tables: tuple[dict[str, Any], ...] = (CATALOGUE, ALIASES, FAMILIES, RULES)
        for table in tables:
            stack.enter_context(patch.dict(table))
        yield


def own(kind: str, folder: Path) -> Algorithm:
    """The algorithm that ``fedspec new`` writes to a folder."""
    file = folder / f"own_{kind}.py"
    if not file.exists():
        assert inside("new", f"own-{kind}", "--kind", kind, "--folder", str(folder)).code == 0
    spec: Any = spec_from_file_location(file.stem, file)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ROW  # type: ignore[no-any-return]


def recordings(folder: Path) -> dict[str, tuple[Any, list[float], bool]]:
    """Models and losses of runs whose clients are recorded, and whether they were."""
    found, made, record = {}, list[Any](), recorded.trace_client

    def noted(*args: Any) -> Any:
        made.append(record(*args))
        return made[-1]

    with (
        apart(),
        patch.multiple(population, LEAST=0, UNEQUAL=0),
        patch.object(recorded, "trace_client", noted),
        patch("fedspec_torch.fast_paths.registry.CLIENTS", {}),
    ):
        for row in (own("clients", folder), own("late", folder), find("scaffold"), find("joint-local")):
            made.clear()
            run = begun(row)
            list(run)
            found[row.id] = (run.x.clone(), [done.loss for done in run.history], all(made))
    return found


def beside() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Models, and running statistics, of runs whose module drops units and tracks statistics."""
    found = {}
    for reading in ("averaged", "kept", "last"):
        torch.manual_seed(2)
        module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 2))
        data = [(torch.randn(n, 3), torch.randint(2, (n,))) for n in (5, 6, 7, 5, 6, 7)]
        # A measured way may be another one in each process.
        fed = Federation(module, nn.functional.cross_entropy, data, batch_size=3, statistics=reading, way="looped")
        run = simulate("fedavg", fed, plan=cohorts(4, steps=2), rounds=3, shards=SHARDS, eta_l=0.1, eta=1.0)
        list(run)
        found[reading] = (run.x.clone(), torch.cat([b.reshape(-1).double() for b in run.module().buffers()]))
    return found


def values(count: int, d: int) -> list[torch.Tensor]:
    """A vector for each shard, of very different size."""
    generator = torch.Generator().manual_seed(count)
    return [torch.randn(d, generator=generator, dtype=torch.float64) * 10.0**s for s in range(count)]


SUMS = ((4, 3), (5, 20_000), (7, 20_000), (8, 9))
"""Shards and lengths of vectors that are added up; the long ones in pieces."""


def sums(ranks: Ranks) -> list[torch.Tensor]:
    """The sums over the shards."""
    return [Shards(9, count, ranks).total(values(count, d).__getitem__) for count, d in SUMS]


def group(folder: Path, name: str, rank: int, size: int) -> None:
    """Join a group on this machine, without a port for others."""
    dist.init_process_group("gloo", init_method=f"file://{folder / name}", rank=rank, world_size=size)


def codes_of(commands: list[list[str]], **environment: str) -> list[int]:
    """Exit codes of modules, one for each rank, that run at once and talk on the loopback alone."""
    told = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", **environment}
    tests = Path(__file__).parents[1]
    ranks = [subprocess.Popen([sys.executable, "-m", *words], cwd=tests, env=told) for words in commands]
    try:
        return [rank.wait(timeout=300) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


RAISED: list[FedspecError] = []
"""Kept, as an interactive session keeps the last one: a rank that has stopped must let the others go all the same."""


def error_of(what: Any) -> str:
    """Message of the error that a call raises."""
    try:
        what()
    except FedspecError as error:
        RAISED.append(error)
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main(folder: Path, rank: int, size: int, rows: list[Algorithm]) -> None:
    """All that needs several ranks, in one go; rank 0 writes down what came out."""
    torch.set_num_threads(1)
    group(folder, "first", rank, size)
    out: dict[str, Any] = {"ends": {}, "resumed": {}, "losses": {}, "held": {}}
    for row in rows:
        run, out["ends"][row.id] = halves(row, folder / f"{row.id}.of-four")
        out["losses"][row.id] = [done.loss for done in run.history]
        if row.id in KEPT:
            again = resume(folder / f"{row.id}.of-one", federation())
            list(again)
            out["resumed"][row.id] = again.x.clone()
        stacks = [v for v in vars(run.state).values() if isinstance(v, Rows)] if hasattr(run.state, "__dict__") else []
        out["held"][row.id] = [sum(map(len, stack.parts.values())) for stack in stacks]
    out["recorded"] = recordings(folder)
    out["beside"] = beside()
    out["sums"] = sums(here())
    out["sent"] = sent_in_a_ring()
    ran = inside(*COMMAND, "--out", str(folder / "of-four"))
    out["command"] = (ran.code, ran.out, ran.err)
    tried = inside(*COMMAND, "--tune", "eta_l=0.1,0.2", "--out", str(folder / "tuned"))
    out["tuned"] = (tried.code, tried.err)
    out["watched"] = watched(folder)
    # One rank begins elsewhere; one rank's data are wrong; one is killed.
    out["unlike"] = error_of(lambda: simulate("fedavg", federation(seed=rank // 3), plan=cohorts(None), eta_l=0.1))
    out["few"] = error_of(lambda: simulate("fedavg", federation(), plan=cohorts(None), shards=3, eta_l=0.1))
    out["torn"] = error_of(lambda: list(broken(lambda: (torch.ones(2, 6).double(), torch.ones(3).double()), rank == 2)))
    group(folder, "second", rank, size)
    out["killed"] = error_of(lambda: list(broken(lambda: os.kill(os.getpid(), signal.SIGKILL), rank == 3)))
    torch.save(out, folder / f"rank-{rank}")


def watched(folder: Path) -> dict[str, Any]:
    """Values that a rank hears of the rounds of a run, and of a metric that gives no number."""
    heard: list[tuple[int, float]] = []
    test = quadratic(seed=1)[0].pool.of([0])[0]
    more: dict[str, Any] = {"plan": cohorts(4), "rounds": 2, "eta_l": 0.1, "shards": SHARDS, "test": test}
    run = simulate(
        "fedavg",
        federation(),
        metrics={"sum": lambda output, targets: (output[:, 0] - targets).sum()},
        on_round=lambda run, done: heard.append((run.ranks.rank, done.metrics["sum"])),
        log=folder / f"log-of-{here().size}.csv",
        **more,
    )
    list(run)
    odd = simulate("fedavg", federation(), metrics={"each": lambda output, _: output}, **more)
    refused = error_of(odd.step)

    def stop(run: Any, done: Any) -> None:
        if run.ranks.rank == run.ranks.size - 1:
            raise Stop

    stopped = simulate("fedavg", federation(), on_round=stop, **more)
    list(stopped)
    rounds = {"rounds": len(odd.history), "stopped": (len(stopped.history), len(stopped))}
    return {"heard": heard, "refused": refused, "whole": odd.whole, **rounds}


def sent_in_a_ring() -> list[int]:
    """Numbers that this rank sends in the exchanges of a round of dsgd."""
    row, counted, swap = find("dsgd"), [], Ranks.swap

    def counting(self: Ranks, send: Any, take: Any) -> None:
        counted.append(sum(part.numel() for part in send.values()))
        swap(self, send, take)

    run = begun(row)
    with patch.object(Ranks, "swap", counting):
        run.step()
    return counted


def broken(data: Any, here: bool) -> Any:
    """A run in which some rank's last client does something else than training."""
    good = federation()

    def make(i: int) -> Any:
        return data() if here and i in (3, 5) else good.data[i]  # type: ignore[index]

    other = Federation(good.model, good.loss, make, examples=good.setup.examples, way="looped")
    return simulate("scaffold", other, plan=cohorts(None, steps=2), rounds=3, **hyper(find("scaffold")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), [find(name) for name in sys.argv[4:]])
