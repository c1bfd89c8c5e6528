"""Flower client: local steps with the solver that the strategy names."""

from __future__ import annotations

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedspec_use.flower import local_train
from flower_digits.task import data, gradient

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train four steps at client 0, eight at client 1."""
    part, of = int(context.node_config["partition-id"]), int(context.node_config["num-partitions"])
    pixels, labels = data(part, of)
    steps = 4 * (part + 1)
    # What a client keeps from round to round, as SCAFFOLD's c_i, lives in Flower's state of it.
    return local_train(
        message,
        lambda k, x: gradient(x, pixels, labels),
        examples=len(labels),
        steps=steps,
        state=context.state,
    )
