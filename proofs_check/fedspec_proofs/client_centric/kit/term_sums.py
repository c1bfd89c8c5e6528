"""Bounds of single terms, as sums of the inequalities in :mod:`.every_size` times multipliers.

The lines are of one coordinate, the sums are over coordinates; E bounds sqrt(v_hat) + eps from below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedspec_proofs.claim import Finding, Verdict
from fedspec_proofs.engines import Draw, Step, Sum, adds_up, identities, several, symbolic


def a_1(draw: Draw) -> Sum:
    """Bound of A_1 by Young with weight L eta; u = grad f(z_t) - grad f(x_t), z_t - x_t = eta C a_t d_t."""
    eta, L, C, E, d2, delta2 = several(draw, "eta, L, C, E, |d|^2, |Delta|^2", positive=True)
    A, u2, ad2, moved2 = several(draw, "A_1, |u|^2, |a d|^2, |a Delta|^2")
    steps = {
        "Young": Step(1, A, eta * (u2 / (2 * L * eta) + L * eta * moved2 / 2)),
        "smooth": Step(1 / (2 * L), u2, L**2 * eta**2 * C**2 * ad2),
        "root of d": Step(L * eta**2 * C**2 / 2, ad2, d2 / E**2),
        "root of Delta": Step(L * eta**2 / 2, moved2, delta2 / E**2),
    }
    return Sum(steps, A, eta**2 * L / (2 * E**2) * (C**2 * d2 + delta2))


def a_3(draw: Draw) -> Sum:
    """Bound of A_3, by the gradient at x_t and its change up to z_t, where |z_t - x_t| <= eta C eta_l G/E."""
    eta, eta_l, L, G, C, E, fall = several(draw, "eta, eta_l, L, G, C, E, fall", positive=True)
    A, slope, change, way = several(draw, "A_3, slope, change, way")
    steps = {
        "coordinates": Step(1, A, eta * C * eta_l * G * (slope + change) * fall),
        "gradient": Step(eta * C * eta_l * G * fall, slope, G),
        "smooth": Step(eta * C * eta_l * G * fall, change, L * way),
        "way": Step(eta * C * eta_l * G * fall * L, way, eta * C * eta_l * G / E),
    }
    right = (eta**2 * eta_l**2 * G**2 * L * C**2 / E + eta * eta_l * G**2 * C) * fall
    return Sum(steps, A, right)


def a_4(draw: Draw) -> Sum:
    """Bound of A_4: |a_(t+1) Delta_t - C fall d_t|^2 is at most twice the sum of both squares."""
    eta, eta_l, L, G, C, E, delta2, fall2 = several(draw, "eta, eta_l, L, G, C, E, |Delta|^2, |fall|^2", positive=True)
    A, moved2, other2 = several(draw, "A_4, |a Delta|^2, |fall d|^2")
    steps = {
        "parallelogram": Step(1, A, L * eta**2 / 2 * (2 * moved2 + 2 * C**2 * other2)),
        "root": Step(L * eta**2, moved2, delta2 / E**2),
        "|d|": Step(L * eta**2 * C**2, other2, (eta_l * G) ** 2 * fall2),
    }
    return Sum(steps, A, L * eta**2 / E**2 * delta2 + L * (eta * eta_l * G * C) ** 2 * fall2)


def a_8(draw: Draw) -> Sum:
    """Bound of (eta eta_l/2) |grad f(x_t) - u_t|_a^2 by the mean over clients and steps of |x_t - x^i_k|^2."""
    eta, eta_l, L, E = several(draw, "eta, eta_l, L, E", positive=True)
    weighted, apart, squares, ways, late, drift = several(draw, "weighted, apart, squares, ways, late, drift")
    half = eta * eta_l / 2
    steps = {
        "root": Step(half, weighted, apart / E),
        "square of a mean": Step(half / E, apart, squares),
        "smooth": Step(half / E, squares, L**2 * ways),
        "by way of x_(t - tau)": Step(half * L**2 / E, ways, 2 * late + 2 * drift),
    }
    return Sum(steps, half * weighted, eta * eta_l * L**2 / E * (late + drift))


def delays(draw: Draw) -> Sum:
    """Bound of the sum over t of |x_t - x_(t - tau_t)|^2."""
    eta, tau, E, changes = several(draw, "eta, tau, E, changes", positive=True)
    late, counted, squares, momenta = several(draw, "late, counted, squares, momenta")
    steps = {
        "s <= tau steps": Step(1, late, tau * eta**2 * counted),
        "counted in tau rounds": Step(tau * eta**2, counted, tau * squares),
        "root": Step(tau**2 * eta**2, squares, momenta / E**2),
        "momentum": Step(tau**2 * eta**2 / E**2, momenta, changes),
    }
    return Sum(steps, late, tau**2 * eta**2 / E**2 * changes)


def absorbed(draw: Draw) -> Sum:
    """Absorption of delayed gradients: weights of at least 1/(2 eps) leave 1/(8 eps); times eps/(eta eta_l)."""
    share, lags, squares = several(draw, "K^2 eta_l^2 L^2, tau + 1, squares", positive=True)
    late, weighted = draw("late"), draw("weighted")
    steps = {
        "lags": Step(30 * share, late, lags * squares),
        "rate": Step(squares / 8, 240 * lags * share, 1),
        "horizon": Step(1, squares / 4, weighted / 2),
    }
    return Sum(steps, 30 * share * late, weighted / 2 - squares / 8)


def change(draw: Draw) -> Sum:
    """Bound of E |Delta_t|^2 by the mean gradients and the noise of m clients."""
    eta_l, m, sigma2, inverse, gradients = several(draw, "eta_l, m, sigma_l^2, 1/K_t, gradients", positive=True)
    square, noise, total = several(draw, "|Delta|^2, noise, sum")
    steps = {
        "parallelogram": Step(1, square, eta_l**2 * (2 * gradients + 2 * noise)),
        "mean of m": Step(2 * eta_l**2, noise, total / m**2),
        "unbiased": Step(2 * eta_l**2 / m**2, total, m * sigma2 * inverse),
    }
    return Sum(steps, square, 2 * (eta_l**2 / m * inverse * sigma2 + eta_l**2 * gradients))


def added_up(**makes: Any) -> Finding:
    """Proved if every sum adds up, and none does without one of its steps."""
    found = identities({name: adds_up(make) for name, make in makes.items()}, without=_each_left_out(makes))
    if all(one.matters for one in found.dropped.values()):
        return found
    return replace(found, verdict=Verdict.UNKNOWN)


def _each_left_out(makes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{name}: {step}": {"the rest": adds_up(make, step)}
        for name, make in makes.items()
        for step in make(symbolic).steps
    }
