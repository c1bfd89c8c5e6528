"""Reductions among asynchronous algorithms, and to their synchronous namesakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Arrival, Event
from fedspec_properties.reductions.edge import reduces, rooted
from fedspec_properties.reductions.rounds import in_groups
from fedspec_suite.measure.scenario import Scenario, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting


def _buffer(s: Scenario) -> int:
    return int(s.case.hyper["buffer"])


def _in_time(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every client once in every buffer, from the present version; equal steps where changes are per step."""
    n = len(problem_of(s).H)
    K = 2 ** draw(st.integers(0, 2))
    per_step = s.case.options.get("normalise") == "per-step"
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 3))):
        for i in draw(st.permutations(range(n))):
            events.append(Arrival(i, K if per_step else draw(st.integers(1, 4)), 0))
    return replace(with_hyper(s, buffer=n), events=tuple(events))


def _full(s: Scenario, k: int) -> int:
    return (k + 1) // _buffer(s) - 1


def _in_buffers(s: Scenario) -> Scenario:
    """The rounds of the namesake, whose Delta is K times as large; K = 1 where changes are not per step."""
    first = s.events[0]
    assert isinstance(first, Arrival)
    K = first.steps if s.case.options.get("normalise") == "per-step" else 1
    return with_hyper(in_groups(s, _buffer(s)), K=K)


def _times_K(name: str) -> Callable[[Any, Any], Any]:
    """Addend of a root, or of its square inside the root."""
    return lambda h, o: h["K"] ** (2 if o["epsilon"] == "inside" else 1) * h[name]


def _arrivals(s: Scenario, **columns: Any) -> Scenario:
    """Every arrival with other columns."""
    return replace(s, events=tuple(replace(e, **columns) for e in s.events if isinstance(e, Arrival)))


def _never_late(s: Scenario) -> Scenario:
    return _arrivals(s, delay=0)


def _single_steps(s: Scenario) -> Scenario:
    """Single steps, which are changes per step."""
    return _arrivals(s, steps=1)


def _late_at_most(s: Scenario) -> Scenario:
    """Set tau_c so that no update is later."""
    return with_hyper(s, tau_c=max([0, *(e.delay for e in s.events if isinstance(e, Arrival))]))


def _every_delay_counts(s: Scenario) -> Scenario:
    return with_hyper(s, tau_c=0)


def _never_beaten(s: Scenario) -> Scenario:
    """v_0 above all squares to come, and a denominator of 2^11."""
    inside = s.case.options["epsilon"] == "inside"
    return with_hyper(s, v0=2.0**20, eps=3 * 2.0**20 if inside else 2.0**10)


def _begun_together(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Blocks of one update of every client, all begun where the block begins, without activation; or blocks of one."""
    n = len(problem_of(s).H)
    N = draw(st.sampled_from((n, n, 1)))
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 3))):
        who = draw(st.permutations(range(n)))
        events += [Arrival(i, draw(st.integers(1, 4)), at % N) for at, i in enumerate(who)]
    s = with_hyper(s, N=N) if N == 1 else with_hyper(s, N=N, c=0.0)
    return replace(s, events=tuple(events))


def _in_blocks(s: Scenario) -> Scenario:
    return in_groups(s, int(s.case.hyper["N"]))


def _at_the_end(s: Scenario, k: int) -> int | None:
    block, over = divmod(k + 1, int(s.case.hyper["N"]))
    return None if over else block - 1


CC = "Client-Centric"
LIU = "external: Liu et al. (2024)"
NAMESAKES = f"{CC}, L97-111: its servers are those of Alg. 1 on changes per step"
WANG = "external: Wang, Wang, Lu and Chen (2024)"
THEIR_OPTIMIZER = f"{WANG}, their code: its optimizer is that of Wang, Lin and Chen (2022)"
FILLED = "every client fills one place of every buffer in time"
K_EACH = f"{FILLED}, with K steps each"
IN_TIME: dict[str, Any] = {"narrow": _in_time, "needs": ("buffer",)}
UNCORRECTED: dict[str, Any] = {"bias_correction": "none"}
BY_BUFFER: dict[str, Any] = {"at": _full}

EDGES = (
    rooted("fadas", "fedamsgrad", THEIR_OPTIMIZER)
    .under(f"{FILLED}; eps is outside the root", **IN_TIME)
    .told(_in_buffers, epsilon="outside", **BY_BUFFER),
    rooted("fadas", "fedams-code", THEIR_OPTIMIZER)
    .under(f"{FILLED}; v_hat_0 = 0 there", bias_correction="moments", **IN_TIME)
    .told(_in_buffers, **BY_BUFFER),
    rooted("fadas", "cc-fedams", f"{WANG} beside {CC}, Alg. 2")
    .under("every update is of one step, none is later than tau_c, and v_0 = 0 there", _single_steps, _late_at_most)
    .under(needs=("tau_c",), **UNCORRECTED)
    .told(normalise="none"),
    rooted("fadas", "cc-fedams", f"{WANG}, as restated: min(eta, 1 / tau_max) is eta")
    .named("fadas-capped-is-cc-fedams")
    .under(
        "every update is of one step, none is 1 / eta versions late, and v_0 = 0 there",
        _single_steps,
        _every_delay_counts,
        needs=("tau_c",),
        slowing="capped",
        eta=2.0**-10,
        **UNCORRECTED,
    )
    .told(normalise="none"),
    reduces("cc-fedavg", "cc-fedsgd", f"{CC}, L322 and L334").under("eta = 1 there"),
    reduces("cc-fedavgm", "cc-fedsgd", f"{CC}, L554").under(beta=0.0),
    reduces("cc-fedavg", "fedavg", NAMESAKES)
    .under(f"{K_EACH}: eta = 1 / K there", **IN_TIME)
    .told(_in_buffers, eta=lambda h, o: 1 / h["K"], **BY_BUFFER),
    reduces("cc-fedsgd", "fedavg", NAMESAKES)
    .under(f"{K_EACH}: eta / K for eta there", **IN_TIME)
    .told(_in_buffers, eta=lambda h, o: h["eta"] / h["K"], **BY_BUFFER),
    reduces("cc-fedavgm", "fedavgm", NAMESAKES)
    .under(f"{K_EACH}: eta (1 - beta) / K for eta there", momentum_sum="average", **IN_TIME)
    .told(
        _in_buffers,
        momentum="heavy-ball",
        momentum_sum="sum",
        eta=lambda h, o: h["eta"] * (1 - h["beta"]) / h["K"],
        **BY_BUFFER,
    ),
    *(
        rooted(f"cc-{target}", target, NAMESAKES)
        .under(f"{K_EACH}: K tau (K^2 tau inside the root) and K^2 v_0 there", **IN_TIME)
        .told(_in_buffers, tau=_times_K("tau"), v0=lambda h, o: h["K"] ** 2 * h["v0"], **BY_BUFFER)
        for target in ("fedadagrad", "fedadam")
    ),
    rooted("cc-fedams", "fedamsgrad", NAMESAKES)
    .under(f"{K_EACH}, and v_0 = 0: K eps there, K^2 eps inside the root", v0=0.0, **IN_TIME)
    .told(_in_buffers, eps=_times_K("eps"), **BY_BUFFER),
    rooted("cc-fedams", "fedams", f"{CC}, L107-111; external: Wang, Lin and Chen (2022), option 2")
    .under(f"{K_EACH}, v_0 = 0 and eps stands inside the root: option 2 with K^2 eps there", epsilon="inside")
    .under(**IN_TIME, v0=0.0)
    .told(_in_buffers, option="2", eps=_times_K("eps"), **BY_BUFFER),
    rooted("cc-fedams", "cc-fedadam", f"{CC}, L189: the first maximum is v itself")
    .under("v_0 = 0, at its first step", lambda s: replace(s, events=s.events[: _buffer(s)]), v0=0.0)
    .told(tau=lambda h, o: h["eps"]),
    reduces(
        "cc-fedams",
        "cc-fedavgm",
        f"{CC}, L659 and L707, which hold together only where v_hat stays v_0",
        undecided=True,
    )
    .under("no square ever exceeds v_0: eta / (sqrt(v_0) + eps) for eta there", _never_beaten, needs=("v0", "eps"))
    .under(maximum_start="v0")
    .told(momentum_sum="average", eta=lambda h, o: h["eta"] / 2**11, beta=lambda h, o: h["beta1"]),
    reduces("fedbuff", "cc-fedsgd", f"{CC}, L390-392")
    .under("changes are not divided by the number of steps there", staleness="constant")
    .told(normalise="none"),
    reduces("fedasync", "fedbuff", "external: Nguyen et al. (2022), Xie et al. (2019)")
    .under("no update is late and mu = 0: a buffer of one, and mix for eta there", _never_late, age="delay", mu=0.0)
    .told(staleness="constant", buffer=1, eta=lambda h, o: h["mix"]),
    reduces("fedasync", "fedprox", "external: Xie et al. (2019), Algorithm 1")
    .under("no update is late: one participant a round, and mix for eta there", _never_late, age="delay")
    .told(lambda s: in_groups(s, 1), weights="examples", eta=lambda h, o: h["mix"]),
    reduces("delayed-nesterov", "fedavgm", f"{LIU}; the N moves of a block sum to eta (Delta / N + beta m)")
    .under("a block's updates begin where it does, and c = 0 or N = 1: Nesterov's momentum, at the end of a block")
    .under(narrow=_begun_together, needs=("N", "c"))
    .told(_in_blocks, momentum="nesterov", momentum_sum="sum")
    .having(at=_at_the_end, zeroes=("c",)),
    reduces("delayed-nesterov", "fedbuff", f"{LIU}: without momentum every update is added at once, over N")
    .under(beta=0.0)
    .told(staleness="constant", buffer=1, eta=lambda h, o: h["eta"] / h["N"]),
)
