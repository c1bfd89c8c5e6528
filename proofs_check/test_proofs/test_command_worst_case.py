"""The command ``fedspec worst-case``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from test_judge.support import fedspec, inside, with_own

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

ROOT = Path(__file__).resolve().parents[2]


def test_it_says_what_is_proved_and_what_is_reached() -> None:
    ran = fedspec("worst-case", "fedavg", "--steps", "1,3", "--zeta", "1", "--eta-l", "0.25")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "fedavg, steps 1, 3, eta_l = 1/4; L = 1, mu = 1/10, zeta^2 = 1"
    assert lines[1] == "from |x - x*| <= 1, after a round: |x - x*|^2 <= 1.42"
    assert "checked in fractions" in lines[2] and lines[3].startswith("reached: more than 1.419, in ")


def test_a_bound_is_rounded_up_to_a_thousandth() -> None:
    said = fedspec("worst-case", "fedavg", "--steps", "2,2", "--zeta", "1", "--eta-l", "1").out.splitlines()[1]
    assert said.endswith("|x - x*|^2 <= 1.096"), said


def test_what_is_not_given_is_as_usual_and_said() -> None:
    ran = fedspec("worst-case", "feddyn", "--steps", "1,1", "--json")
    assert (ran.rows[0]["usual"], ran.rows[0]["numbers"]["mu"]) == (["mu"], "1/100")
    said = fedspec("worst-case", "fedavgm", "--steps", "1,1", "--set", "beta=1/2").out.splitlines()[0]
    assert said.startswith("fedavgm, steps 1, 1, beta = 1/2, eta_l = 1/4 (eta = 1 as usual); L = 1, mu =")
    said = fedspec("worst-case", "feddyn", "--steps", "1,1", "--set", "mu=1/2").out.splitlines()[0]
    assert said.startswith("feddyn, steps 1, 1, mu = 1/2, eta_l = 1/4; L = 1, strong convexity =")


def test_of_several_rates_the_best_is_said_and_drawn(tmp_path: Path) -> None:
    asked = ("worst-case", "fedavg", "--steps", "1,1", "--eta-l", "1,7/4,19/10")
    ran = fedspec(*asked, "--chart", "rates.svg", cwd=tmp_path)
    assert ran.code == 0, ran.err
    # One step: max((1 - eta mu)^2, (1 - eta)^2), mu = 1/10; rounded up.
    exact = {
        rate: max((1 - float(Fraction(rate)) / 10) ** 2, (1 - float(Fraction(rate))) ** 2)
        for rate in asked[-1].split(",")
    }
    said = dict(line.split() for line in ran.out.splitlines()[2:5])
    assert said.keys() == exact.keys()
    assert all(0 <= float(said[rate]) - exact[rate] < 2e-3 for rate in exact)
    assert ran.out.splitlines()[-1] == f"least of these: {said['7/4']}, at eta_l = 7/4"
    drawn = (tmp_path / "rates.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml") and drawn.count("<!-- 19/10 -->") == 1
    ran = fedspec(*asked, "--chart", "rates.txt", cwd=tmp_path)
    assert ran.code == 2 and "--chart rates.txt: expected a name that ends in .svg, .png, .pdf" in ran.err


def test_a_form_that_falls_and_json() -> None:
    ran = fedspec("worst-case", "scaffold", "--steps", "1,3", "--eta-l", "1", "--lyapunov", "--json")
    (row,) = ran.rows
    assert (row["factor"], row["numbers"]) == ("739/1000", {"eta": "1", "eta_l": "1"})
    assert len(row["form"]) == 3 and all(Fraction(c) >= 0 for c in row["multipliers"].values())


def test_coefficients_that_are_given_and_the_best() -> None:
    asked = ("worst-case", "fednova", "--steps", "1,3", "--zeta", "1", "--json")
    given = fedspec(*asked, "--coefficients", "1,1/3").rows[0]["coefficients"]
    # FedNova's own: tau_eff / (n tau_i), tau_eff = 2; and the number is that of its round, whoever asks.
    assert [row["bound"] for row in given] == [fedspec(*asked).rows[0]["bound"]] * 2
    own, nova, best = fedspec(*asked, "--coefficients", "best").rows[0]["coefficients"]
    assert own["w"] == ["1", "1/3"] and Fraction(nova["w"][0]) == 3 * Fraction(nova["w"][1])
    assert Fraction(nova["tau_eff"]) == 2 * Fraction(nova["w"][0])
    assert Fraction(best["least"]) <= Fraction(best["bound"]) < Fraction(nova["least"]) <= Fraction(nova["bound"])
    assert Fraction(best["bound"]) - Fraction(best["least"]) < Fraction(1, 500)


def test_an_algorithm_of_ones_own(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "contrib" / "fedacg.py", tmp_path / "own.py")
    asked = ("worst-case", "fedacg", "--plugin", "own.py", "--steps", "1,1", "--set", "mu=1", "--set", "beta=1/2")
    ran = with_own(*asked, cwd=tmp_path)
    assert ran.code == 0, ran
    assert ran.out.startswith("fedacg, steps 1, 1, ")
    # A first round of one step knows neither a momentum nor a pull: (1 - eta_l mu)^2.
    assert "|x - x*|^2 <= 0.951" in ran.out


RING = "1/2,1/4,0,1/4"


def test_peers_mix_by_a_given_matrix() -> None:
    ran = fedspec("worst-case", "dsgd", "--mixing", RING, "--steps", "1", "--eta-l", "1")
    assert ran.code == 0, ran
    rows = "1/2, 1/4, 0, 1/4; 1/4, 1/2, 1/4, 0; 0, 1/4, 1/2, 1/4; 1/4, 0, 1/4, 1/2"
    said = " ".join(ran.out.split())
    assert said.startswith(f"dsgd, steps 1, W = ({rows}), eta_l = 1; L = 1, mu = 1/10, zeta^2 = 0 from")
    # All begin at one x with one minimiser: a step of each client alone, (1 - eta_l mu)^2.
    assert "after a round: mean |x - x*|^2 <= 0.81" in said
    whole = ("worst-case", "led", "--steps", "1", "--lyapunov", "--json")
    one, other = (fedspec(*whole, "--mixing", text).rows[0] for text in ("3/4,1/4", "3/4,1/4;1/4,3/4"))
    assert one["mixing"] == other["mixing"] == [["3/4", "1/4"], ["1/4", "3/4"]]
    assert one["factor"] == other["factor"] == "951/1000" and len(one["form"]) == 3
    said = fedspec("worst-case", "led", "--steps", "1", "--lyapunov", "--mixing", "3/4,1/4").out
    assert "its matrix, in all x_i - x* and all c_i + grad F_i(x*) but the last: 1, " in " ".join(said.split())


def test_a_server_that_keeps_something_brings_two_runs_together() -> None:
    asked = ("worst-case", "fedavgm", "--steps", "1,1", "--set", "beta=1/2", "--lyapunov")
    ran = fedspec(*asked, "--set", "momentum=nesterov")
    assert ran.code == 0, ran
    words = " ".join(ran.out.split())
    assert words.startswith("fedavgm, steps 1, 1, beta = 1/2, momentum = nesterov, eta_l = 1/4 (eta = 1 as usual); L")
    assert "by the factor 0.900 in every round" in words
    assert "its matrix, in (x, v) of one run less that of another: 1, " in words
    late = ("worst-case", "cc-fedavg", "--steps", "1,1", "--lyapunov", "--delay", "2", "--eta-l", "1/4,1/2", "--json")
    rows = fedspec(*late).rows
    assert [row["factor"] for row in rows] == ["237/250", "201/200"] and rows[0]["delay"] == 2


def test_any_compressor_of_a_class_has_a_form_that_falls() -> None:
    asked = ("worst-case", "ef21", "--alpha", "1/2", "--lyapunov", "--steps", "1,1")
    ran = fedspec(*asked, "--eta", "1/16")
    assert ran.code == 0, ran
    words = " ".join(ran.out.split())
    assert words.startswith("ef21, clients 2, alpha = 1/2, eta = 1/16; L = 1, mu = 1/10, any zeta")
    assert "by the factor 0.988 in every round after the first" in words
    assert "its matrix, in w - x* and all g_i - grad F_i(w): 1, " in words
    rows = fedspec(*asked, "--eta", "1/16,1/8", "--json").rows
    assert [row["factor"] for row in rows] == ["247/250", "489/500"] and rows[0]["alpha"] == "1/2"
    assert fedspec(*asked, "--eta", "1/16,1/8").out.splitlines()[-1] == "least of these: 0.978, at eta = 1/8"


def test_any_matrix_of_a_class_has_a_form_that_falls() -> None:
    asked = ("worst-case", "k-gt", "--eigenvalues", "0,1/2", "--steps", "2", "--eta-l", "1/4", "--lyapunov")
    ran = fedspec(*asked)
    assert ran.code == 0, ran
    words = " ".join(ran.out.split())
    assert words.startswith("k-gt, steps 2, W in [0, 1/2], eta = 1, eta_l = 1/4; L = 1, mu = 1/10, any zeta")
    assert "by the factor 0.904 in every round" in words and "its matrix, in the mean x of x_i - x*" in words
    (row,) = fedspec(*asked, "--json").rows
    assert (row["factor"], row["eigenvalues"], len(row["form"])) == ("113/125", ["0", "1/2"], 3)


OF_CLASS = ("--alpha", "1/2", "--eta", "1/16", "--lyapunov")


@pytest.mark.table(60)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fedavg", "--steps", "2,x"), "--steps 2,x: expected the local steps of each client"),
        (("fedavg", "--mu", "-1"), "--mu -1: expected a fraction such as 1/4 or 0.25, not below 0"),
        (("fedavg", "--lyapunov"), "got fedavg; it applies to scaffold, feddyn"),
        (("fedadam",), "fedadam: its rounds are not linear in the model and the gradients; server/adam.py, line"),
        (("fedprox", "--set", "mu=1", "--eta-l", "2"), "worst-case: fedprox: mu: got 1, with eta_l = 2; alpha, "),
        (("fedavgg",), "fedavg"),
        (
            ("scaffold", "--coefficients", "best"),
            "they apply to fedavg and fednova, not to scaffold; leave them out",
        ),
        (("fedavg", "--coefficients", "1,2"), "expected best, or a fraction for each number of steps: 2"),
        (("fedavg", "--coefficients", "best", "--rounds", "2"), "they need one round, one rate"),
        (("fedavg", "--coefficients", "best", "--chart", "a.svg"), "--chart: a server's coefficients"),
        (
            ("fedavg", "--coefficients", "best", "--delay", "1"),
            "--delay: a server's coefficients (--coefficients) does",
        ),
        (("fedavg", "--set", "eta_l=1/2"), "--set eta_l: this is the rate to analyse; give it by --eta-l"),
        (("scaffold", "--lyapunov", "--zeta", "0"), "--zeta: a form that falls (--lyapunov) does not read it"),
        (("scaffold", "--lyapunov", "--rounds", "1"), "--rounds: a form that falls (--lyapunov) does not read it"),
        (("k-gt",), "k-gt is run by exchanges; give their mixing matrix (--mixing)"),
        (("fedavg", "--mixing", RING), "fedavg has a server and no mixing matrix"),
        (("led", "--mixing", RING, "--steps", "1,2"), "all peers must take equally many steps; give one number"),
        (("led", "--mixing", "1/2,1/4"), "row 0 sums to 3/4"),
        (("led", "--mixing", "1/2,1/2;1"), "rows of [2, 1] entries"),
        (("led", "--mixing", "a,b"), "its entries must be fractions such as 1/4"),
        (("dsgd", "--mixing", RING, "--lyapunov"), "it covers k-gt, diging, d2, led, but not dsgd"),
        (("fednova", "--mixing", RING, "--coefficients", "best"), "leave one of the two out"),
        (("afga", "--mixing", RING), "is run by exchanges; only rounds of all clients"),
        (("choco", "--mixing", "3/4,1/4", "--steps", "1"), "sends the largest entries of a vector"),
        (("ef21", "--steps", "1,1"), "sends the largest entries of a vector"),
        (("ef21", "--eta-l", "1/4,1/2"), "ef21 has no eta_l"),
        (("fedavg", "--delay", "1"), "--delay 1: it applies to --lyapunov of cc-fedavg"),
        (("cc-fedavg", "--delay", "1"), "is asynchronous; only --lyapunov analyses it, so add --lyapunov"),
        (("fedavg", "--lyapunov"), "and to servers with momentum or delayed changes"),
        (("fedavgm", "--lyapunov", "--steps", "1,2"), "all clients must take equally many steps"),
        (("fedavgm", "--set", "momentum=foo"), "--set foo: expected a fraction"),
        (("ef21", "--alpha", "1/2"), "bound a class of compressors instead, for example with --alpha 1/2 --eta"),
        (("ef21", "--lyapunov", "--eta", "1/8"), "with --alpha 1/2 --eta 1/16 --lyapunov"),
        (("ef21", "--lyapunov", "--alpha", "1/2"), "the rate of ef21's server is missing; give it by --eta"),
        (("ef21", "--lyapunov", "--alpha", "2", "--eta", "1/8"), "--alpha 2: expected a fraction between 0 and 1"),
        (
            ("ef21", "--lyapunov", "--alpha", "1/2", "--eta", "1/8", "--set", "kept=3"),
            "covers every compressor of its class",
        ),
        (("ef21", *OF_CLASS, "--steps", "2,3"), "--steps 2,3: a client of ef21 takes one gradient a round; give 1"),
        (("ef21", *OF_CLASS, "--eta-l", "1/2"), "--eta-l 1/2: ef21 has no eta_l"),
        (("ef21", *OF_CLASS, "--zeta", "1"), "--zeta: a form that falls for a class of compressors"),
        (("ef21", *OF_CLASS, "--set", "eta=1"), "--set eta: this is the rate to analyse; give it by --eta"),
        (("ef21", *OF_CLASS, "--mixing", "1/2,1/2"), "--mixing: a form that falls for a class of compressors"),
        (("led", "--mixing", RING, "--steps", "1,1"), "the matrix has 4 peers, with equally many steps each"),
        (("led", "--eigenvalues", "0,1/2", "--lyapunov", "--steps", "2,2"), "the bound holds for any number of peers"),
        (("fedavg", "--alpha", "1/2", "--lyapunov"), "they apply to ef21, not to fedavg; leave them out"),
        (("fedavgm", "--eta", "1/2"), "they apply to ef21, not to fedavgm"),
        (("led", "--eigenvalues", "0,1/2"), "they apply to --lyapunov alone; add --lyapunov"),
        (
            ("led", "--eigenvalues", "1/2,0", "--lyapunov"),
            "--eigenvalues 1/2,0: expected the least and the second largest",
        ),
        (("led", "--eigenvalues", "0", "--lyapunov"), "--eigenvalues 0: expected the least and the second largest"),
        (("led", "--eigenvalues", "0,1/2", "--lyapunov", "--mixing", RING), "a matrix is given too; leave --mixing"),
        (("led", "--eigenvalues", "0,1/2", "--lyapunov", "--steps", "1,2"), "all peers must take equally many steps"),
        (("dsgd", "--eigenvalues", "0,1/2", "--lyapunov"), "they apply to k-gt, diging, d2, led, not to dsgd"),
        (("diging", "--eigenvalues", "0,1/2", "--lyapunov"), "diging mixes 4 stacks in an exchange of 2 steps"),
    ],
)
def test_what_cannot_be_asked_is_said(words: tuple[str, ...], says: str) -> None:
    """Forms of one entry are for vectors of any length; the largest entries of one entry would be all."""
    ran = inside("worst-case", *words)
    assert ran.code == 2 and says in ran.err and "Traceback" not in ran.err, ran


LOADED = """
import resource, sys
from fedspec_suite.cli.start import main
try:
    main()
except SystemExit as end:
    assert not end.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime, *(m for m in sys.argv[0].split(",") if m in sys.modules))
"""


def test_a_question_loads_nothing_but_what_it_needs() -> None:
    """Modules that take long to load: other commands, the judge, libraries that model programs."""
    heavy = "hypothesis,cvxpy,jax,scipy.stats,torch,matplotlib,fedspec_suite.laws,fedspec_suite.cli.check"
    text = LOADED.replace("sys.argv[0]", repr(heavy))
    ran = subprocess.run(
        [sys.executable, "-c", text, "worst-case", "fedavg"], capture_output=True, text=True, check=True
    )
    seconds, *loaded = ran.stdout.splitlines()[-1].split()
    assert not loaded and float(seconds) < 4, (seconds, loaded)


def test_python_asks_the_same() -> None:
    from fedspec_proofs.worst_cases.compressed import Compressed
    from fedspec_proofs.worst_cases.search.any_rounds import worst_case
    from fedspec_proofs.worst_cases.spectral import Mixed

    assert worst_case(Compressed("1/2", "1/16")).bound == Fraction(247, 250)
    assert worst_case(Mixed("k-gt", "0", "1/2", 2, "1/4")).bound == Fraction(113, 125)
