"""Why a model, a loss or a way to its gradients is refused: a short list, of which every message has one."""

from __future__ import annotations

from enum import StrEnum

from fedspec.errors import FedspecError


class ModuleError(FedspecError):
    """A module cannot be trained as it is; the message says which part, why, and what to do.

    Attributes:
        client: whose minibatch it does not take, where that is what it says of one client.
    """

    client: int | None = None


class DataError(FedspecError):
    """A function does not make a client's examples from its number alone."""


class LossError(FedspecError):
    """A loss cannot be trained on; the message says what it gave."""


class Reason(StrEnum):
    """Reason of a refusal, as its message gives it."""

    STATISTICS = "keeps running statistics"
    """Ways that train several clients at once have one module for all, and each client has statistics of its own."""

    DRAWS = "draws at random"
    """From a generator that no run seeds: it could not be repeated or resumed. From torch's: in no stack of clients."""

    KEEPS = "keeps something between calls"
    """The loss would depend on the order of calls: buffers, attributes, what a closure holds."""

    WRITES = "writes to what it is given"
    """Parameters are the algorithm's (a clamp in forward, Embedding(max_norm=...)), and minibatches the clients'."""

    BLIND = "does not depend on any parameter"
    """There is no gradient."""

    NOT_WRITTEN_OUT = "not written out"
    """The ways ``compiled``, ``layered`` and ``fused`` know few layers and two losses, of exact types and unhooked."""

    NO_GPU = "not on a GPU"
    """The way ``fused`` is a kernel for one."""

    HOOKED = "has a hook"
    """The ways ``stacked`` and ``vmapped`` would call it with stacks of clients, or not at all."""

    ASKS = "asks how it is differentiated"
    """The ways ``stacked`` and ``vmapped`` answer otherwise: ``requires_grad``, ``grad_fn``, a hook on an output."""

    UNBEARABLE = "is more than vmap bears"
    """torch.func.vmap takes no numbers out of tensors, and not every operation."""

    NO_IMAGES = "has no weights of four axes"
    """The way ``channels_last`` is about those."""

    LAID_OUT = "wants its numbers in another order in memory"
    """The way ``channels_last``: ``view`` on what a convolution gives; ``flatten`` and ``reshape`` take any order."""

    UNSEEN = "cannot be looked at"
    """While somebody looks on, torch may take other operators, and these may want other devices or types."""

    DIFFERS = "comes to other gradients"
    """A way is not plain autograd on the module itself: something reads parameters, or padding, otherwise."""
