"""Quotes of the specification's source are replaced by words, or by the reading."""

from __future__ import annotations

import re

import pytest
from test_judge.diagnosing import edited, names
from test_judge.test_gates import setting

from fedspec.contract import Offer
from fedspec_suite.diagnosis.cases.probes import at_edges
from fedspec_suite.diagnosis.comparing import apart
from fedspec_suite.diagnosis.diagnosis import in_words
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.plain_words import in_plain_words, plainly
from fedspec_suite.measure.setting import setting_of

pytestmark = pytest.mark.table(1)

SAID = {
    "ratio(q, norm(q)) stands for q in eta_l * (ratio(q, norm(q)) * scaling(x, phi, phi_m, phi_M))": (
        "q divided by its length stands for q in eta_l * ((q divided by its length) * (the scaled length of x))"
    ),
    "1 * g as if start is BufferStart.FIRST_GRADIENT and k == 0": "1 * g as if start = first-gradient and k = 0",
    "beta1 stands for beta2 in v / (1 - beta2 ** t)": "beta1 stands for beta2 in v / (1 - beta2^t)",
    "x stands for v_hat in maximum(v_hat, v_i.sum(axis=0) / len(D))": (
        "x stands for v_hat in maximum(v_hat, the sum of v_i / (the number of D))"
    ),
    "g stands for x in Momentum(x=x, u=zeros(x)), the first time it stands there": (
        "g stands for x in the new state, the first time it stands there"
    ),
    "plan.senders in ascending order stands for it": "senders in ascending order stands for it",
    "where_less(a, b, x, y) is left out": "x where a < b, else y is left out",
    "maximum(u, -u) stands for u": "the magnitude of u stands for u",
    "the largest of counts stands for each in sum(counts.tolist())": (
        "the largest of counts stands for each in the sum of counts"
    ),
    "the gradient is doubled (twice)": "the gradient is doubled (twice)",
    "a bracket is open: norm(q": "a bracket is open: norm(q",
    "corrected(m, beta1, t, bias_correction) is kept as m": "m / (1 - beta1^t) is kept as m",
}


@pytest.mark.parametrize("words", SAID)
def test_source_is_said_in_words(words: str) -> None:
    assert plainly(words) == SAID[words]


FUNCTIONS = "ratio|norm|len|where_less|where_shorter|new\\.append|corrected|complement|root|rate"
SOURCE = re.compile(rf"\b({FUNCTIONS})\(|\b[A-Z]\w+\.[A-Z_]+\b| \*\* | == ")
QUOTED = (
    "lamb/client/you-2020",
    "dampened/client/first-gradient",
    "sgd/client/fednova",
    "fedadagrad/server/m-corrected",
    "fedadam/server/kingma-ba-step",
)


@pytest.mark.parametrize("offer", QUOTED)
def test_no_name_of_an_edit_quotes_what_only_the_source_knows(offer: str) -> None:
    known = known_of(setting_of(Offer(*offer.split("/"))))  # type: ignore[arg-type]
    said = {plainly(v.words) for v in (*known.variants, *known.edits, *known.mechanical)}
    assert len(said) > 100 and {words for words in said if SOURCE.search(words)} == set()


def test_of_two_squares_it_is_said_which() -> None:
    known = known_of(setting_of(Offer("yogi", "client", "zaheer-2018")))
    said = [plainly(v.words) for v in known.edits if v.words.startswith("the magnitude of g stands for its square")]
    assert sorted(said) == [
        "the magnitude of g stands for its square in (1 - beta2) * g^2",
        "the magnitude of g stands for its square in sign(v - g^2)",
    ]


@pytest.mark.parametrize(
    ("offer", "words", "wanted"),
    [
        ("fedyogi/server/reddi-2021", "eps is squared", "tau is squared"),
        ("yogi/client/zaheer-2018", "eps is squared", "eps is squared"),
        ("mifa/round/gu-2021-code", "1 stands for g_i.shape[0]", "1 stands for the number of clients"),
        ("mifa/round/gu-2021-code", "gradients_of(y - x, eta_l=eta_l) is halved", "G_i is halved"),
        ("fedpd/round/zhang-2021", "raised_dual(lam_i, x_i - x, mu=mu) is halved", "the new lam_i is halved"),
    ],
)
def test_a_name_is_said_in_the_symbols_of_what_is_judged(offer: str, words: str, wanted: str) -> None:
    algorithm, level, reading = offer.split("/")
    setting = setting_of(Offer(algorithm, level, reading))  # type: ignore[arg-type]
    assert in_plain_words(words, setting) == wanted


@pytest.mark.parametrize(
    ("offer", "said"),
    [
        ("fedamsgrad/server/epsilon-outside", "maximum(v_hat, v) times eta"),
        ("fedamsgrad/server/correct-then-max", "maximum(v_hat, v / (1 - beta2^t)) times eta"),
        ("fedadam/server/kingma-ba-step", "maximum(v_hat, v) times the corrected eta"),
    ],
)
def test_corrections_that_a_claim_has_not_are_not_said(offer: str, said: str) -> None:
    words = "maximum(v_hat, corrected(v, beta2, t, bias_correction)) times rate(eta, beta1, beta2, t, bias_correction)"
    setting = setting_of(Offer(*offer.split("/")))  # type: ignore[arg-type]
    assert in_plain_words(words, setting) == said


@pytest.mark.parametrize(
    ("reading", "said"),
    [("correct-then-max", "v / (1 - beta2^t), v_hat"), ("max-then-correct", "v, v_hat / (1 - beta2^t)")],
)
def test_amsgrads_moment_is_corrected_once_in_what_is_said(reading: str, said: str) -> None:
    words = "corrected(v, beta2, t, before), corrected(v_hat, beta2, t, after)"
    assert in_plain_words(words, setting_of(Offer("fedamsgrad", "server", reading))) == said


RULE = ("normalised-sgd", "client.normalised.normalised_sgd", "norm(g) + eps")


def test_what_is_left_out_for_usual_numbers_alone_is_not_said_to_be_left_out() -> None:
    (said,) = names(edited(*RULE, "maximum(norm(g), eps)"))
    assert said.startswith("maximum(the length of g, eps) stands for (the length of g) + eps")


@pytest.mark.night
def test_where_nothing_else_fits_it_is_said_where_it_does_not() -> None:
    d = edited(*RULE, "norm(g) + (0 if norm(g) > eps else 3 * eps)")
    assert not d.found
    said = in_words(d, True)
    assert re.search("in usual cases as if eps is left out, but not (where eps = |with numbers of about )", said)
    assert "no effect" not in said


def test_what_is_left_out_everywhere_is_named() -> None:
    (said,) = names(edited(*RULE, "norm(g)"))
    assert said == "yours: x = x - eta_l (g / ||g||), wanted: x = x - eta_l g / (||g|| + eps)"


def test_every_number_goes_to_its_edges_and_the_claim_holds_there() -> None:
    known = known_of(setting("adam", "client"))
    cases = list(at_edges(known.setting, known.samples[0]))
    said = {words for words, _ in cases}
    assert {"where beta1 = 0", "where beta2 = 0.999", "where eps = 1e-08", "with numbers of about 1e+03"} <= said
    for _, s in cases:
        answers = known.claimed.exact(s, known.claimed.editions()())
        plain = [{n: a.astype(float) for n, a in one.items()} for one in answers]
        assert not apart(known.claimed, s, plain)
