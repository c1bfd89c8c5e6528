"""A name that fits the usual cases is not said where an edge of what they are drawn from tells it from the subject."""

from __future__ import annotations

import re

import pytest
from test_judge.test_gates import setting
from test_judge.test_remembered import edited, names

from fedspec_suite.diagnosis.cases.probes import at_edges
from fedspec_suite.diagnosis.comparing import apart
from fedspec_suite.diagnosis.identify import in_words
from fedspec_suite.diagnosis.known import known_of

pytestmark = pytest.mark.table(1)

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
    assert names(edited(*RULE, "norm(g)")) == ["eps is left out"]


def test_every_number_goes_to_its_edges_and_the_claim_holds_there() -> None:
    known = known_of(setting("adam", "client"))
    cases = list(at_edges(known.setting, known.samples[0]))
    said = {words for words, _ in cases}
    assert {"where beta1 = 0", "where beta2 = 0.999", "where eps = 1e-08", "with numbers of about 1e+03"} <= said
    for _, s in cases:
        answers = known.claimed.exact(s, known.claimed.editions()())
        plain = [{n: a.astype(float) for n, a in one.items()} for one in answers]
        assert not apart(known.claimed, s, plain)
