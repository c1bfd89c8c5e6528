"""Fused C++ kernel, compiled here: the speed of this machine on this workload without a library."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fedspec_bench.job import Job
from fedspec_bench.workloads import Array

SOURCE = Path(__file__).with_name("kernel.cpp")
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")


def compiled() -> ctypes.CDLL:
    """Return the kernel, compiled unless a library of this source exists.

    Raises:
        RuntimeError: there is no compiler, or it refuses; with its first line.
    """
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:12]
    library = Path(tempfile.gettempdir()) / f"fedspec-bench-{os.getuid()}-{digest}.so"
    if not library.exists():
        made = library.with_suffix(f".{os.getpid()}")
        try:
            subprocess.run(["g++", *FLAGS, str(SOURCE), "-o", str(made)], check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise RuntimeError("g++: not found") from error
        except subprocess.CalledProcessError as error:
            raise RuntimeError(error.stderr.splitlines()[0]) from error
        made.replace(library)
    return ctypes.CDLL(str(library))


class Kernel:
    """Trainer that calls the kernel."""

    def __init__(self, job: Job) -> None:
        self.work, self.cores = job.work, job.cores
        work = self.work
        version = subprocess.run(["g++", "-dumpfullversion"], check=True, capture_output=True, text=True).stdout
        self.versions = {"g++": version.strip()}
        assert work.steps == work.examples // work.batch, "one epoch"
        self.one_round = compiled().one_round
        inputs, classes = work.data
        self.sizes = np.array(work.sizes, np.int32)
        self.inputs, self.classes = np.ascontiguousarray(inputs), classes.astype(np.int32)
        self.x = work.start.copy()

    def round(self) -> None:
        """Call the kernel once."""
        work = self.work

        def at(array: Array) -> ctypes.c_void_p:
            return ctypes.c_void_p(array.ctypes.data)

        self.one_round(
            len(work.layers), at(self.sizes), work.clients, work.steps, work.batch, ctypes.c_float(work.eta_l),
            at(self.inputs), at(self.classes), at(self.x), self.cores,
        )  # fmt: skip

    def model(self) -> Array:
        """Return the model."""
        return self.x


def start(job: Job) -> Kernel:
    """Compile the kernel, and prepare the data."""
    return Kernel(job)
