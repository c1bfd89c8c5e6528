"""Mutants of SCAFFOLD, whose clients and server keep control variates."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant, Thread

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_OPTION_I = {"control": "gradient-at-x"}

_scaffold = partial(Mutant, algorithms=("scaffold",))

MUTANTS = (
    _scaffold(
        id="scaffold-sign",
        words="the correction has the wrong sign",
        rule=_STEPS + "corrected_sgd",
        old="* (g - c_i + c)",
        new="* (g + c_i - c)",
        seen=(
            Thread(
                link="https://github.com/fedbiomed/fedbiomed/issues/734",
                says="The correction was computed rightly, and added to the gradient instead of subtracted.",
                read="2026-11-23",
            ),
        ),
    ),
    _scaffold(
        id="scaffold-own-only",
        words="the server's control variate is not added",
        rule=_STEPS + "corrected_sgd",
        old="* (g - c_i + c)",
        new="* (g - c_i)",
    ),
    _scaffold(
        id="scaffold-detached",
        words="the correction is made on a copy of the gradient",
        rule=_STEPS + "corrected_sgd",
        old="* (g - c_i + c)",
        new="* g",
    ),
    _scaffold(
        id="scaffold-correction-rate",
        words="the correction is not multiplied by the client rate",
        rule=_STEPS + "corrected_sgd",
        old="eta_l * (g - c_i + c)",
        new="eta_l * g + c_i - c",
    ),
    _scaffold(
        id="scaffold-update-sign",
        words="c_i moves the wrong way",
        rule=_KEPT + "client_control",
        old="c_i - c - delta /",
        new="c_i - c + delta /",
    ),
    _scaffold(
        id="scaffold-keeps-correction",
        words="c_i is the mean corrected gradient",
        rule=_KEPT + "client_control",
        old="c_i - c - delta /",
        new="-delta /",
    ),
    _scaffold(
        id="scaffold-forgets-c",
        words="c is left out of c_i",
        rule=_KEPT + "client_control",
        old="c_i - c - delta /",
        new="c_i - delta /",
    ),
    _scaffold(
        id="scaffold-epochs",
        words="the change is divided by the number of epochs, one, instead of eta_l tau_i",
        rule=_KEPT + "client_control",
        old="delta / (eta_l * steps)",
        new="delta",
        seen=(
            Thread(
                link="https://github.com/TL-System/plato/pull/386",
                says="The change of a client's control was made with 1/epochs instead of 1/(eta tau).",
                read="2026-11-23",
            ),
        ),
    ),
    _scaffold(
        id="scaffold-miscounts",
        words="the local steps are miscounted by one",
        rule=_KEPT + "client_control",
        old="(eta_l * steps)",
        new="(eta_l * (steps + 1))",
    ),
    _scaffold(
        id="scaffold-option-1-corrected",
        words="option I keeps the gradient with its correction",
        rule=_KEPT + "client_control",
        old="else g",
        new="else g - c_i + c",
        options=_OPTION_I,
    ),
    _scaffold(
        id="scaffold-option-1-late",
        words="option I takes the gradient where the local steps ended",
        rule=_ALGORITHMS + "scaffold.step",
        old="gradient(0, x)",
        new="gradient(0, y)",
        options=_OPTION_I,
    ),
    _scaffold(
        id="scaffold-participants",
        words="c is updated with the mean over the participants instead of over all clients",
        rule=_KEPT + "server_control",
        old="p @ changes",
        new="p @ changes / sum(p)",
        seen=(
            Thread(
                link="https://github.com/Xtra-Computing/NIID-Bench/issues/12",
                says="The denominator was the number of selected clients; by the paper it is that of all clients.",
                read="2026-11-23",
            ),
        ),
    ),
    _scaffold(
        id="scaffold-c-forgets",
        words="c is the mean change of the last round",
        rule=_KEPT + "server_control",
        old="c + change",
        new="change",
    ),
    _scaffold(
        id="scaffold-c-sign",
        words="c moves the wrong way",
        rule=_KEPT + "server_control",
        old="c + change",
        new="c - change",
    ),
    _scaffold(
        id="scaffold-never-stored",
        words="c_i is computed and not stored",
        rule=_ALGORITHMS + "scaffold.step",
        old="put(c_i, S, kept)",
        new="c_i",
    ),
    _scaffold(
        id="scaffold-shared",
        words="all clients share one control variate, the last that was computed",
        rule=_ALGORITHMS + "scaffold.step",
        old="put(c_i, S, kept)",
        new="0 * c_i + kept[-1]",
    ),
    _scaffold(
        id="scaffold-sent-whole",
        words="clients send c_i instead of its change",
        rule=_ALGORITHMS + "scaffold.step",
        old="kept - c_i[S]",
        new="kept",
        seen=(
            Thread(
                link="https://github.com/TL-System/plato/issues/382",
                says="The trainer stores c_i itself instead of its change, and that is what the client sends.",
                read="2026-11-23",
            ),
            Thread(
                link="https://github.com/TL-System/plato/pull/386",
                says="The server adds what it takes for changes, while clients send the whole c_i.",
                read="2026-11-23",
            ),
        ),
    ),
    _scaffold(
        id="scaffold-starts-at-model",
        words="c starts as the model",
        rule=_ALGORITHMS + "scaffold.init",
        old="c=zeros(x)",
        new="c=x",
    ),
)
