"""The Flower strategy in real runs of Flower's own: two simulated clients, resumed and saved, and with a memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "flower_digits"


def run(command: list[str], where: Path, **more: str) -> str:
    ended = subprocess.run(
        command, cwd=where, env={**os.environ, **more}, capture_output=True, text=True, check=False, timeout=900
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout + ended.stderr


@pytest.mark.outside
def test_a_run_of_flower_is_fednova_and_is_resumed_and_scaffold_keeps_its_variates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, wheels: dict[str, Path]
) -> None:
    # The app has its dependencies from the index, and fedspec from here.
    uv = [sys.executable, "-m", "uv"]
    run([*uv, "venv", "-q", "--python", sys.executable, str(tmp_path / "venv")], tmp_path)
    python, state = tmp_path / "venv" / "bin" / "python", tmp_path / "state.npz"
    run([*uv, "pip", "install", "-q", "--python", str(python), "flwr[simulation]==1.41.0"], tmp_path)
    # Strategies need no torch.
    run([*uv, "pip", "install", "-q", "--python", str(python), "--no-deps", str(wheels["fedspec-torch"])], tmp_path)
    app = tmp_path / "app"
    shutil.copytree(APP, app, ignore=shutil.ignore_patterns("__pycache__"))
    text = (app / "pyproject.toml").read_text()
    text = text.replace('dependencies = ["fedspec"', f'dependencies = ["fedspec @ file://{wheels["fedspec"]}"')
    text = text.replace("num-server-rounds = 3", "num-server-rounds = 1").replace('state = ""', f'state = "{state}"')
    (app / "pyproject.toml").write_text(text)
    flwr, path = tmp_path / "venv" / "bin" / "flwr", f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}"
    quiet = {"FLWR_HOME": str(tmp_path / "home"), "FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    monkeypatch.delenv("PYTHONPATH", raising=False)

    monkeypatch.syspath_prepend(APP)
    from flower_digits.task import start

    request.addfinalizer(lambda: end(str(tmp_path / "venv")))
    # Resumed after a round by hand; the other run begins at the start.
    x = one_round(start())
    np.savez(state, **{f"x/{name}": a for name, a in x.items()})
    assert "accuracy" in run([str(flwr), "run", ".", "--stream"], app, PATH=path, **quiet)
    held = np.load(state)
    for name, want in one_round(x).items():
        assert np.allclose(held[f"x/{name}"], want, rtol=1e-12, atol=1e-14)

    kept = tmp_path / "scaffold.npz"
    other = f'algorithm="scaffold" num-server-rounds=3 state="{kept}"'
    run([str(flwr), "run", ".", "--stream", "--run-config", other], app, PATH=path, **quiet)
    held = np.load(kept)
    x, c = scaffold_rounds(start(), 3)
    for name, want in x.items():
        assert np.allclose(held[f"x/{name}"], want, rtol=1e-12, atol=1e-14)
        assert np.allclose(held[f"c/{name}"], c[name], rtol=1e-12, atol=1e-14)


def end(folder: str) -> None:
    """End what was started from there: Flower leaves a server running, to which the next run would talk."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder in (process / "cmdline").read_text(errors="replace"):
                os.kill(int(process.name), signal.SIGKILL)


def one_round(x: dict[str, Any]) -> dict[str, Any]:
    """FedNova of plain SGD, written as sums: client i takes 4 (i + 1) steps of rate 1/2."""
    from flower_digits.task import data, gradient

    moved, sizes, steps = [], [], (4, 8)
    for part, tau in enumerate(steps):
        pixels, labels = data(part, 2)
        y = dict(x)
        for _ in range(tau):
            g = gradient(y, pixels, labels)
            y = {n: y[n] - 0.5 * g[n] for n in y}
        moved.append({n: (y[n] - x[n]) / tau for n in x})
        sizes.append(len(labels))
    p = [n / sum(sizes) for n in sizes]
    tau_eff = sum(w * tau for w, tau in zip(p, steps, strict=True))
    return {n: x[n] + tau_eff * sum(w * d[n] for w, d in zip(p, moved, strict=True)) for n in x}


def scaffold_rounds(x: dict[str, Any], rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model and the server's control variate after rounds of SCAFFOLD, option II, written as loops."""
    from flower_digits.task import data, gradient

    c = {n: 0 * a for n, a in x.items()}
    own, steps = [c, c], (4, 8)
    for _ in range(rounds):
        ended, new = [], []
        for part, tau in enumerate(steps):
            pixels, labels = data(part, 2)
            y = dict(x)
            for _ in range(tau):
                g = gradient(y, pixels, labels)
                y = {n: y[n] - 0.5 * (g[n] - own[part][n] + c[n]) for n in y}
            ended.append(y)
            new.append({n: own[part][n] - c[n] + (x[n] - y[n]) / (0.5 * tau) for n in x})
        c = {n: c[n] + sum(b[n] - a[n] for a, b in zip(own, new, strict=True)) / 2 for n in x}
        x, own = {n: sum(y[n] for y in ended) / 2 for n in x}, new
    return x, c
