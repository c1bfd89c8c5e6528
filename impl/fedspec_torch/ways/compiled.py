"""Local steps on a CPU in compiled loops, one client after another, so that a client's numbers stay in the cache.

    z = W h + c,  h' = a(z)                                    forward
    dW = dz h^T,  dc = dz 1,  dh = W^T dz,  dz = dh * a'(z)    backward

For chains of linear layers. Numba compiles the loops, and SciPy's OpenBLAS takes the products. Minibatches are read
where the examples lie. A client's numbers depend on its own alone: however clients are put into blocks, or blocks onto
threads, they are the same.

NaN and infinity are preserved: of fast mathematics, only the reordering of sums is enabled.
"""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array
from fedspec_torch.compiling import compiled

RELU, TANH = 1, 2
"""Activation codes in a table of layers; 0: none."""

WEIGHT, BIAS, INPUTS, OUTPUTS, ACTIVATION, Z, DZ = range(7)
"""Columns of a table of layers: offsets of W and c in the vector of all parameters (-1: no c), sizes, activation,
and offsets of z [outputs, b] and of its derivative in a client's memory.
"""


@compiled
def steps(
    layers: Array,
    x: Array,
    begun: Array,
    inputs: Array,
    classes: Array,
    targets: Array,
    walk: Array,
    order: Array,
    first: int,
    tau: Array,
    to: Array,
    scales: Array,
    adds: bool,
    losses: Array,
    memory: Array,
    batch: Array,
    room: Array,
    rows: Array,
) -> int:
    """For each client, write multiples of its minibatches' gradients to its row of ``to``, or add them to that row.

    Added to the models themselves, with minus the rates for scales, they are local steps of SGD.

    Args:
        layers: the table of the chain's layers.
        x: [n, d] the models.
        begun: [n, d] initial values that are written to the models first; [1, d]: the same for all clients; [0, d]:
            nothing is written.
        inputs: [T, features] the examples of these clients; other clients' examples may be among them.
        classes: [T] the classes for the cross-entropy; empty for the mean squared error.
        targets: [T, outputs] the targets for the mean squared error; empty for the cross-entropy.
        walk: [n, 3] for each client the row of its first example, its number of examples, and the size of its
            minibatches.
        order: [n, .] the order in which a client takes its examples; empty: the order in memory.
        first: number of the local step of the first minibatch.
        tau: [n] the number of minibatches of each client.
        to: [n, d] the array to which the gradients are written; may be x.
        scales: [largest tau] the factor of each step's gradients.
        adds: True if the gradients are added to the contents of ``to``; False if they replace these.
        losses: [n] the array to which the losses of the first minibatches are written; empty: losses aren't written.
        memory: work space for z and dz of one client.
        batch: work space for a minibatch whose examples aren't contiguous.
        room: work space for partial products, for transposed examples, and for two numbers of each example.
        rows: [b] work space for the indices of a minibatch's examples.

    Returns:
        The first client with a class that is none, or -1.
    """
    features, last = inputs.shape[1], layers[-1]
    outputs = last[OUTPUTS]
    for i in range(len(x)):
        if len(begun):
            x[i] = begun[i if len(begun) > 1 else 0]
        begin, count, b = walk[i]
        z, dz = _part(memory, last[Z], outputs, b), _part(memory, last[DZ], outputs, b)
        for k in range(tau[i]):
            place = (first + k) * b % count
            for e in range(b):
                at = (place + e) % count
                rows[e] = begin + (order[i, at] if len(order) else at)
            if len(order) or place + b > count:
                examples = _part(batch, 0, b, features)
                for e in range(b):
                    examples[e] = inputs[rows[e]]
            else:
                examples = inputs[begin + place : begin + place + b]
            loss = losses[i:] if k == 0 else losses[:0]
            _forward(layers, x[i], examples, memory, room)
            if len(targets):
                _mean_square(z, targets, rows, dz, scales[k], loss)
            else:
                for e in range(b):
                    if not 0 <= classes[rows[e]] < outputs:
                        return i
                _cross_entropy(z, classes, rows, dz, scales[k], loss, room)
            _backward(layers, x[i], examples, to[i], adds, memory, room)
    return -1


@compiled
def _part(memory: Array, begin: int, rows: int, columns: int) -> Array:
    return memory[begin : begin + rows * columns].reshape(rows, columns)


@compiled
def _forward(layers: Array, x: Array, examples: Array, memory: Array, room: Array) -> None:
    b = len(examples)
    for j in range(len(layers)):
        l = layers[j]
        W, z = _part(x, l[WEIGHT], l[OUTPUTS], l[INPUTS]), _part(memory, l[Z], l[OUTPUTS], b)
        if j:
            np.dot(W, _part(memory, layers[j - 1, Z], l[INPUTS], b), z)
        elif l[OUTPUTS] < b or examples.size > len(room):
            np.dot(W, examples.T, z)
        else:
            # The product is a third quicker, which pays where there are many of its rows.
            turned = _part(room, 0, l[INPUTS], b)
            for k in range(b):
                for f in range(l[INPUTS]):
                    turned[f, k] = examples[k, f]
            np.dot(W, turned, z)
        for o in range(l[OUTPUTS]):
            if l[BIAS] >= 0:
                c = x[l[BIAS] + o]
                for k in range(b):
                    z[o, k] += c
            if l[ACTIVATION] == RELU:
                for k in range(b):
                    z[o, k] = 0 if z[o, k] <= 0 else z[o, k]
            elif l[ACTIVATION] == TANH:
                for k in range(b):
                    z[o, k] = np.tanh(z[o, k])


@compiled
def _cross_entropy(z: Array, classes: Array, rows: Array, dz: Array, scale: float, loss: Array, room: Array) -> None:
    """Gradient of cross-entropy, softmax(z) less one at the class, times scale / b; and the mean loss."""
    outputs, b = z.shape
    top, total = room[:b], room[b : 2 * b]
    top[:] = z[0]
    for o in range(1, outputs):
        for k in range(b):
            top[k] = z[o, k] if z[o, k] > top[k] else top[k]
    total[:] = 0
    for o in range(outputs):
        if z.itemsize == 4:
            for k in range(b):
                dz[o, k] = _exp(z[o, k] - top[k])
        else:
            for k in range(b):
                dz[o, k] = np.exp(z[o, k] - top[k])
        for k in range(b):
            total[k] += dz[o, k]
    if len(loss):
        value = 0.0
        for k in range(b):
            value += np.log(total[k]) + top[k] - z[classes[rows[k]], k]
        loss[0] = value / b
    each = z.dtype.type(scale / b)
    for k in range(b):
        total[k] = each / total[k]
    for o in range(outputs):
        for k in range(b):
            dz[o, k] *= total[k]
    for k in range(b):
        dz[classes[rows[k]], k] -= each


@compiled
def _exp(t: float) -> float:
    """e^t for t <= 0, good for a number of four bytes: Taylor's polynomial at t / 256, squared eight times.

    Unlike the C library's it is computed for several numbers at once.
    """
    r = (np.float64(-700) if t < -700 else np.float64(t)) / 256
    p = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040))))))
    for _ in range(8):
        p *= p
    return p


@compiled
def _mean_square(z: Array, targets: Array, rows: Array, dz: Array, scale: float, loss: Array) -> None:
    """Gradient of the mean square, the errors times 2 scale / (outputs b); and the mean of their squares."""
    outputs, b = z.shape
    value, each = 0.0, z.dtype.type(2 * scale / z.size)
    for k in range(b):
        for o in range(outputs):
            error = z[o, k] - targets[rows[k], o]
            value += error * error
            dz[o, k] = each * error
    if len(loss):
        loss[0] = value / z.size


@compiled
def _backward(layers: Array, x: Array, examples: Array, to: Array, adds: bool, memory: Array, room: Array) -> None:
    b = len(examples)
    for j in range(len(layers) - 1, -1, -1):
        l = layers[j]
        outputs, inputs = l[OUTPUTS], l[INPUTS]
        z, dz = _part(memory, l[Z], outputs, b), _part(memory, l[DZ], outputs, b)
        if l[ACTIVATION] == RELU:
            for o in range(outputs):
                for k in range(b):
                    dz[o, k] = 0 if z[o, k] <= 0 else dz[o, k]
        elif l[ACTIVATION] == TANH:
            for o in range(outputs):
                for k in range(b):
                    dz[o, k] *= 1 - z[o, k] * z[o, k]
        # Before W is stepped from.
        if j:
            np.dot(_part(x, l[WEIGHT], outputs, inputs).T, dz, _part(memory, layers[j - 1, DZ], inputs, b))
        dW = _part(to, l[WEIGHT], outputs, inputs)
        few = len(room) // inputs if adds else outputs
        for first in range(0, outputs, few):
            some = dz[first : first + few]
            out = _part(room, 0, len(some), inputs) if adds else dW
            if j:
                np.dot(some, _part(memory, layers[j - 1, Z], inputs, b).T, out)
            else:
                np.dot(some, examples, out)
            if adds:
                begin = l[WEIGHT] + first * inputs
                old, more = to[begin : begin + out.size], room[: out.size]
                for k in range(len(old)):
                    old[k] += more[k]
        if l[BIAS] >= 0:
            for o in range(outputs):
                total = z.dtype.type(0)
                for k in range(b):
                    total += dz[o, k]
                to[l[BIAS] + o] = total + to[l[BIAS] + o] if adds else total
