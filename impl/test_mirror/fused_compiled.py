"""Compiles the fused kernel for a GPU that need not be there: python -m test_mirror.fused_compiled CAPABILITY.

It prints the bytes of shared memory that a program takes, one line for each form of the kernel.
"""

from __future__ import annotations

import sys

from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fedspec_torch.ways.fused import padded, warps
from fedspec_torch.ways.fused_kernel import kernel

SIZES = ((32, 64, 0, 10), (32, 64, 128, 10), (20, 61, 100, 7))
"""Examples, features, hidden units, classes."""

POINTERS = {name: "*fp32" for name in ("x", "y", "losses", "inputs", "rates")}


def compiled(capability: int, B: int, F: int, H: int, C: int, *, ordered: bool) -> int:
    """The shared memory that it takes."""
    constants = {"ORDERED": ordered, "PRECISION": "ieee"}
    for name, size in (("B", B), ("F", F), ("H", H), ("C", C)):
        constants |= {name: size, f"{name}_": padded(size)}
    last = H * F + H if H else 0
    constants |= {"W_AT": 0 if H else -1, "A_AT": H * F if H else -1, "V_AT": last, "C_AT": last + C * (H or F)}
    kinds = POINTERS | {"targets": "*i64", "walk": "*i64", "order": "*i64" if ordered else "*i32"}
    kinds |= dict.fromkeys(("apart", "d", "most"), "i32") | dict.fromkeys(constants, "constexpr")
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=kernel, signature={name: kinds[name] for name in kernel.arg_names}, constexprs=places)
    options = {"num_warps": warps(F, H, C), "num_stages": 1}
    made = compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    assert made.asm["cubin"]
    return int(made.metadata.shared)


if __name__ == "__main__":
    for sizes in SIZES:
        for ordered in (True, False):
            print(compiled(int(sys.argv[1]), *sizes, ordered=ordered))
