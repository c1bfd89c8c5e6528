"""Linear classifier of scikit-learn's digits in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits


def data(part: int, of: int) -> tuple[Any, Any]:
    """Return the pixels and labels of a client; each client has more of some classes."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.argsort(labels, kind="stable")
    own = np.array_split(order, of)[part]
    return pixels[own] / 16, labels[own]


def start() -> dict[str, Any]:
    """Return the initial model."""
    return {"weight": np.zeros((64, 10)), "bias": np.zeros(10)}


def gradient(model: Any, pixels: Any, labels: Any) -> dict[str, Any]:
    """Return the gradient of the mean cross-entropy."""
    scores = pixels @ model["weight"] + model["bias"]
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    return {"weight": pixels.T @ p / len(labels), "bias": p.mean(0)}


def accuracy(model: Any) -> float:
    """Return the accuracy on all digits."""
    pixels, labels = load_digits(return_X_y=True)
    return float(np.mean((pixels / 16 @ model["weight"] + model["bias"]).argmax(1) == labels))
