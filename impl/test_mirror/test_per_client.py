"""Evaluation on the clients' own test sets, against plain loops over copies of the module."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from test_judge.support import inside
from test_mirror.federations import TRAINABLE, hyper, quadratic, schedule
from test_mirror.test_watched import rows
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from fedspec.errors import FedspecError, PlanError, ShapeError
from fedspec_torch import DataError, Federation, cohorts, exchanges, resume, simulate
from fedspec_torch.run.held_out import own_tests
from fedspec_torch.run.monitoring import checked_client_tests
from fedspec_torch.run.per_client import Spread, spread
from fedspec_train import draw_runs
from fedspec_train.report.curves import curve

CLIENTS, RATE = 12, 0.3


def examples(count: int, seed: int) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return inputs, (inputs[:, 0] > 0.1 * seed - 1).long()


def data() -> list[tuple[Tensor, Tensor]]:
    """Clients whose data differ, of 5 to 8 examples."""
    return [examples(5 + i % 4, i) for i in range(CLIENTS)]


def own_sets() -> list[tuple[Tensor, Tensor]]:
    """Test sets of 3 to 7 examples."""
    return [examples(3 + i % 5, 20 + i) for i in range(CLIENTS)]


def federation(model: nn.Module | None = None, **more: Any) -> Federation:
    torch.manual_seed(1)
    model = model or nn.Linear(3, 2)
    return Federation(model.double(), nn.functional.cross_entropy, data(), way="looped", **more)


def normed() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def begun(algorithm: str = "fedavg", fed: Federation | None = None, **more: Any) -> Any:
    peers = algorithm in ("dsgd", "cafga")
    plan = exchanges(steps=2) if peers else cohorts(4, steps=2)
    given = {"plan": plan, "rounds": 3, "client_tests": own_sets(), "eta_l": RATE, **more}
    return simulate(algorithm, fed or federation(), **given)


def precision(output: Tensor, targets: Tensor) -> float:
    return float((output.argmax(1) == targets).sum() / 2 + len(targets))


def by_hand(module: nn.Module, inputs: Tensor, targets: Tensor) -> tuple[float, float]:
    """Mean of the negative log-likelihoods and share of right classes, example by example."""
    module.eval()
    total, right = 0.0, 0
    for x, y in zip(inputs, targets.tolist(), strict=True):
        scores = [math.exp(s) for s in module(x[None])[0].tolist()]
        total -= math.log(scores[y] / sum(scores))
        right += scores[y] == max(scores)
    return total / len(targets), right / len(targets)


def check(found: Spread, each: list[float], worst: Any) -> None:
    """Compare all statistics with loops; ``worst`` picks the two of twelve clients, ceil(12 / 10), that are worst."""
    sizes = [3 + i % 5 for i in range(CLIENTS)]
    mean = sum(each) / CLIENTS
    assert found.each.tolist() == pytest.approx(each, rel=1e-12)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    weighted = sum(m * a for m, a in zip(sizes, each, strict=True)) / sum(sizes)
    assert found.weighted == pytest.approx(weighted, rel=1e-12) and found.weighted != found.mean
    assert found.std == pytest.approx(math.sqrt(sum((a - mean) ** 2 for a in each) / CLIENTS), rel=1e-12)
    first = worst(each)
    left = [*each]
    left.remove(first)
    assert found.worst_tenth == pytest.approx((first + worst(left)) / 2, rel=1e-12)


def test_the_statistics_are_those_of_loops_over_clients_that_the_servers_model_serves() -> None:
    for done in (run := begun(metrics={"m": precision})):
        module = run.module()
        each = [by_hand(deepcopy(module), *test) for test in own_sets()]
        check(done.clients.loss, [loss for loss, _ in each], max)
        check(done.clients.accuracy, [share for _, share in each], min)
        counted = [share * len(y) / 2 + len(y) for (_, share), (_, y) in zip(each, own_sets(), strict=True)]
        check(done.clients.metrics["m"], counted, min)
        assert done.test_loss is None and not done.metrics
    # The worst tenths of eleven and of ten clients: two of eleven, one of ten.
    for count, want in ((11, 1.5), (10, 1.0)):
        values = [float(k) for k in range(1, count + 1)]
        assert spread(values, [1] * count).worst_tenth == want
        assert spread(values, [1] * count, worst_is_largest=True).worst_tenth == count + 1 - want


def test_peers_are_evaluated_at_the_models_of_a_plain_loop_and_given_out_as_modules() -> None:
    fed = federation()
    run = begun("dsgd", fed, rounds=1)
    (done,) = run
    modules = [deepcopy(fed.model) for _ in range(CLIENTS)]
    for _ in range(2):
        before = [[p.detach().clone() for p in module.parameters()] for module in modules]
        for i, (module, (x, y)) in enumerate(zip(modules, data(), strict=True)):
            module.zero_grad()
            nn.functional.cross_entropy(module(x), y).backward()  # type: ignore[no-untyped-call]
            neighbours = [before[j % CLIENTS] for j in (i - 1, i, i + 1)]
            for p, *those in zip(module.parameters(), *neighbours, strict=True):
                p.data = sum(those) / 3 - RATE * p.grad  # type: ignore[operator]
    for i, module in enumerate(modules):
        for ours, theirs in zip(module.parameters(), run.module(client=i).parameters(), strict=True):
            torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-12)
    each = [by_hand(module, *test) for module, test in zip(modules, own_sets(), strict=True)]
    assert done.clients.loss.each.tolist() == pytest.approx([loss for loss, _ in each], rel=1e-10)
    assert len({round(loss, 6) for loss in done.clients.loss.each}) == CLIENTS


def test_clients_that_keep_statistics_are_evaluated_with_them() -> None:
    for algorithm in ("fedavg", "dsgd"):
        run = begun(algorithm, federation(normed(), statistics="kept", batch_size=4))
        *_, done = run
        each = [by_hand(run.module(client=i), *test) for i, test in enumerate(own_sets())]
        assert done.clients.loss.each.tolist() == pytest.approx([loss for loss, _ in each], rel=1e-10)
        common = [by_hand(run.module(), *test)[0] for test in own_sets()]
        assert done.clients.loss.each.tolist() != pytest.approx(common, rel=1e-3)
        means = {float(run.module(client=i)[1].running_mean[0]) for i in run.own_b}
        assert len(means) == len(run.own_b) > 4
    run = begun("fedavg", federation(normed(), statistics="recomputed", batch_size=4), rounds=1)
    (done,) = run
    each = [by_hand(run.module(), *test) for test in own_sets()]
    assert done.clients.loss.each.tolist() == pytest.approx([loss for loss, _ in each], rel=1e-10)


KEEPS = {"dsgd", "dadam", "gossip-pga", "choco", "d2", "diging", "k-gt", "led", "fedpd", "streaming-diloco"}


@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_each_algorithm_gives_clients_models_or_says_that_they_keep_none(row: Any) -> None:
    fed = quadratic(batch_size=3, way="looped")[0]
    sets: Any = fed.data
    run = simulate(row, fed, plan=schedule(row), rounds=2, client_tests=sets, **hyper(row))
    *_, done = run
    if row.id not in KEEPS:
        with pytest.raises(PlanError, match=f"module: got client 3, but clients of {row.id} keep no model between"):
            run.module(client=3)
    modules = [run.module(client=i if row.id in KEEPS else None) for i in range(6)]
    want = [
        sum((m(x[None]).item() - float(y)) ** 2 / 2 for x, y in zip(*own, strict=True)) / len(own[1])
        for m, own in zip(modules, sets, strict=True)
    ]
    assert done.clients.loss.each.tolist() == pytest.approx(want, rel=1e-9)
    assert done.clients.accuracy is None
    # A period of Gossip-PGA ends with the exact mean of all models.
    assert (len({round(m.u[0, 0].item(), 12) for m in modules}) > 1) == (row.id in KEEPS - {"gossip-pga"})
    with pytest.raises(PlanError, match="module: got client 6; the clients are 0 to 5"):
        run.module(client=6)


def test_clients_of_cafga_keep_models_where_only_neighbours_get_the_servers() -> None:
    for reading, keeps in (("one-hop", True), ("afga", False)):
        run = begun("cafga", reading=reading, rounds=1)
        list(run)
        if keeps:
            assert not torch.equal(run.module(client=0).weight, run.module(client=5).weight)
        else:
            with pytest.raises(PlanError, match="clients of cafga keep no model"):
                run.module(client=0)


def test_a_client_without_a_test_set_counts_nowhere_and_nan_counts_everywhere() -> None:
    some = [None, *own_sets()[1:]]
    (done,) = begun(client_tests=some, rounds=1)
    loss = done.clients.loss
    assert math.isnan(loss.each[0]) and loss.mean == pytest.approx(sum(loss.each[1:]) / 11, rel=1e-12)
    sizes = [len(y) for _, y in own_sets()]
    weighted = sum(m * a for m, a in zip(sizes[1:], loss.each[1:], strict=True)) / sum(sizes[1:])
    assert loss.weighted == pytest.approx(weighted, rel=1e-12)

    def unknown(output: Tensor, targets: Tensor) -> float:
        return math.nan if len(targets) == 7 else 1.0

    (done,) = begun(metrics={"m": unknown}, rounds=1)
    found = done.clients.metrics["m"]
    assert [math.isnan(a) for a in found.each] == [i % 5 == 4 for i in range(CLIENTS)]
    assert all(math.isnan(a) for a in (found.mean, found.weighted, found.std, found.worst_tenth))
    assert math.isfinite(done.clients.loss.mean)


def test_a_metric_that_fails_for_a_client_ends_the_run_after_the_round_and_says_for_whom() -> None:
    def failing(output: Tensor, targets: Tensor) -> float:
        if len(targets) == 5:
            raise ZeroDivisionError
        return 1.0

    run = begun(metrics={"first": lambda *_: 2.0, "m": failing})
    with pytest.raises(ZeroDivisionError) as refused:
        run.step()
    assert refused.value.__notes__[-1] == "metrics: on the test set of client 2"
    assert [*run.history[0].clients.metrics] == ["first"] and run.whole
    assert run.history[0].clients.metrics["first"].each.tolist() == [2.0] * CLIENTS


def test_datasets_and_trees_are_own_sets_too() -> None:
    (want,) = begun(rounds=1)
    sets = [TensorDataset(*test) if i % 2 else [*zip(*test, strict=True)] for i, test in enumerate(own_sets())]
    (found,) = begun(client_tests=sets, rounds=1)
    assert found.clients.loss.each.tolist() == want.clients.loss.each.tolist()
    named = [{"input": x, "labels": y} for x, y in data()]

    def loss(output: Tensor, batch: Any) -> Tensor:
        return nn.functional.cross_entropy(output, batch["labels"])

    torch.manual_seed(1)
    by_name = Federation(nn.Linear(3, 2).double(), loss, named, way="looped")
    (found,) = begun(fed=by_name, client_tests=[{"input": x, "labels": y} for x, y in own_sets()], rounds=1)
    assert found.clients.loss.each.tolist() == want.clients.loss.each.tolist()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (own_sets()[:3], PlanError, "client_tests: got 3 test sets, but the federation has 12 clients; give one"),
        ([None] * 12, PlanError, "client_tests: got no test set, but the federation has 12 clients"),
        (
            dict(enumerate(own_sets())),
            PlanError,
            "client_tests: got dict; give a list with one test set for each client",
        ),
        (lambda i: own_sets()[i], PlanError, "client_tests: got function; give a list"),
        ([*own_sets()[:-1], torch.ones(3)], ShapeError, "client_tests: client 11 is Tensor; give a tuple"),
        ([*own_sets()[:-1], examples(0, 1)], ShapeError, "client_tests: client 11 has no example; give None for it"),
        ([*own_sets()[:-1], []], ShapeError, "client_tests: client 11: the test set has no example; give None for it"),
        (
            [*own_sets()[:-1], (torch.full((2, 3), math.nan).double(), torch.zeros(2).long())],
            DataError,
            "client_tests: client 11: example 0 has inputs that aren't finite",
        ),
    ],
)
def test_what_are_no_own_sets_of_the_clients_is_refused(given: Any, error: type[FedspecError], words: str) -> None:
    with pytest.raises(error, match=words):
        begun(client_tests=given)


def test_several_ranks_are_refused_by_name() -> None:
    with pytest.raises(PlanError, match=r"client_tests: .* one process only, but there are 2 ranks; run without torch"):
        checked_client_tests(federation(), own_sets(), 2)


def test_a_module_that_fails_on_a_test_set_names_the_client() -> None:
    wrong = [*own_sets()[:-1], (own_sets()[11][0][:, :2], own_sets()[11][1])]
    run = begun(client_tests=wrong)
    with pytest.raises(FedspecError, match="client_tests: client 11: "):
        run.step()
    assert not run.history and run.whole


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_resumed_run_has_the_same_numbers_and_the_log_has_all_of_them(suffix: str, tmp_path: Path) -> None:
    log, file = tmp_path / f"run.{suffix}", tmp_path / "run.pt"
    more: dict[str, Any] = {"metrics": {"m": precision}, "log": log}
    whole = [*begun(rounds=6, test_every=2, metrics=more["metrics"])]
    run = begun(rounds=6, test_every=2, **more)
    for done in run:
        if done.round == 3:
            break
    run.save(file)
    before = rows(log)
    again = resume(file, federation(), client_tests=own_sets(), **more)
    list(again)
    written = rows(log)
    for want, found, row in zip(whole, again.history, written, strict=True):
        tested = want.round % 2 == 1
        assert (want.clients is None) == (found.clients is None) == (not tested)
        for name in ("loss", "accuracy", "m"):
            for statistic in ("mean", "weighted", "std", "worst_tenth"):
                value = row[f"clients.{name}.{statistic}"]
                if not tested:
                    assert value is None
                    continue
                one, two = (getattr(r.clients, name, None) or r.clients.metrics[name] for r in (want, found))
                assert value == getattr(one, statistic) == getattr(two, statistic)
                assert one.each.tolist() == two.each.tolist()
    assert before == written[:4] and len({tuple(row) for row in written}) == 1


def test_a_clients_own_share_is_split_off_and_never_trained_on() -> None:
    fed = Federation(nn.Linear(3, 2).double(), nn.functional.cross_entropy, [examples(1, 0), *data()[1:]])
    left, sets = own_tests(fed, 0.4, 3)
    assert sets[0] is None and left.setup.examples[0] == 1
    whole: Any = fed.data
    kept: Any = left.data
    for i, (test, mine, every) in enumerate(zip(sets, kept, whole, strict=True)):
        parts = [mine] if test is None else [mine, test]
        found = sorted((*x.tolist(), y) for part in parts for x, y in zip(part[0], part[1].tolist(), strict=True))
        assert found == sorted((*x.tolist(), y) for x, y in zip(every[0], every[1].tolist(), strict=True))
        if i:
            assert 1 <= len(test[1]) <= math.ceil(0.4 * len(every[1]))


SMALL = ("--data", "breast-cancer", "--model", "logistic", "--clients", "6", "--rounds", "3", "--way", "looped")


@pytest.mark.slow
@pytest.mark.usefixtures("calm")
def test_the_command_splits_shares_off_and_shows_them_in_table_record_log_and_picture(tmp_path: Path) -> None:
    common = ("simulate", "fedavg", *SMALL, "--compare", "dsgd", "--seeds", "2", "--client-tests", "0.25")
    ran = inside(*common, "--out", str(tmp_path / "a.svg"), "--log", str(tmp_path / "a.csv"))
    assert ran.code == 0, ran.err
    assert "<!-- clients' accuracy -->" in (tmp_path / "a.svg").read_text()
    runs = json.loads((tmp_path / "a.json").read_text())["runs"]
    for run in runs:
        logged = rows(tmp_path / f"a-{run['algorithm']}-{run['seed']}.csv")
        for done, row in zip(run["rounds"], logged, strict=True):
            found = done["clients"]["accuracy"]
            each = [a for a in found["each"] if a is not None]
            assert len(found["each"]) == 6 and row["clients.accuracy.mean"] == found["mean"]
            assert found["mean"] == pytest.approx(sum(each) / len(each), rel=1e-12)
            assert found["worst_tenth"] == min(each)
    for name, line in zip(("fedavg", "dsgd"), ran.out.splitlines()[2:4], strict=True):
        last = [run["rounds"][-1]["clients"]["accuracy"] for run in runs if run["algorithm"] == name]
        for statistic in ("mean", "worst_tenth"):
            low, high = (f"{pick(one[statistic] for one in last):.3f}" for pick in (min, max))
            assert (low if low == high else f"{low} to {high}") in line
    pair = runs[:2]
    shown = curve(pair, "rounds", "clients_accuracy", (0.0, 1.0))
    assert shown and shown.low is not None and shown.high is not None
    for k in range(3):
        mean, worst = (
            median(run["rounds"][k]["clients"]["accuracy"][s] for run in pair) for s in ("mean", "worst_tenth")
        )
        assert (shown.y[k], shown.low[k], shown.high[k]) == (mean, worst, mean)
    plain = inside("simulate", "fedavg", *SMALL, "--out", str(tmp_path / "b"))
    assert "worst tenth" in ran.out and "worst tenth" not in plain.out
    assert "clients" not in json.loads((tmp_path / "b.json").read_text())["runs"][0]["rounds"][0]


@pytest.mark.slow
@pytest.mark.usefixtures("calm")
def test_the_command_resumes_with_the_same_shares_and_names_others(tmp_path: Path) -> None:
    file, out = tmp_path / "run.pt", ("--out", str(tmp_path / "x"))
    common = ("simulate", "dsgd", *SMALL[:6], *SMALL[8:], *out)
    tested = ("--client-tests", "0.25")
    assert inside(*common, *tested, "--rounds", "2", "--save", str(file)).code == 0
    assert inside(*common, *tested, "--rounds", "4", "--resume", str(file)).code == 0
    found = json.loads((tmp_path / "x.json").read_text())["runs"][0]["rounds"]
    assert inside(*common, *tested, "--rounds", "4").code == 0
    assert json.loads((tmp_path / "x.json").read_text())["runs"][0]["rounds"] == found
    ran = inside(*common, "--client-tests", "0.5", "--rounds", "4", "--resume", str(file))
    ran.refused("written by a run of another federation: examples was")
    inside(*common, "--client-tests", "1.5").refused(
        "--client-tests: got 1.5; give a share between 0 and 1, such as 0.2"
    )
    fixed = ("simulate", "fedavg", "--data", "quadratics", "--client-tests", "0.2", *out)
    inside(*fixed).refused("--client-tests: the examples of quadratics define its objective")


@pytest.mark.slow
def test_a_picture_of_own_runs_has_panels_by_client_if_they_were_evaluated(tmp_path: Path) -> None:
    run, other = begun(), begun(client_tests=None)
    list(run), list(other)
    draw_runs({"fedavg": run}, tmp_path / "a.svg", panels=["clients_loss"], against=["rounds"])
    assert "<!-- clients' test loss -->" in (tmp_path / "a.svg").read_text()
    with pytest.raises(
        FedspecError, match=r"panels: got 'clients_loss'; known of these runs: loss, test_loss, accuracy$"
    ):
        draw_runs({"fedavg": other}, tmp_path / "b.svg", panels=["clients_loss"])
