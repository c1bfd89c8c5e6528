"""Errors of modules, losses and data, and the closed list of reasons that their messages give."""

from __future__ import annotations

from enum import StrEnum

from fedspec.errors import FedspecError

OTHERWISE = "name way='looped', which takes any module, or no way"
"""Remedy in the message that a gradient method doesn't support a module."""


class ModuleError(FedspecError):
    """Error: the module can't be trained as it is; the message names the submodule, the reason and a remedy.

    Attributes:
        client: number of the client whose minibatch causes the error; None: the error concerns no particular client.
    """

    client: int | None = None


class DataError(FedspecError):
    """Error: data are unreadable, or a client's examples depend on more than the client's number."""


class LossError(FedspecError):
    """Error: the loss can't be trained on; the message describes the value that the loss returned."""


class LayersError(FedspecError):
    """Error: an explicit backward pass doesn't support the module or loss; the message names the submodule."""


class NoClassError(IndexError):
    """Error: a target of the client in ``row`` isn't a class of the model."""

    def __init__(self, row: int, classes: int) -> None:
        super().__init__(f"a class is not in 0 to {classes - 1}")
        self.row, self.classes = row, classes


class Reason(StrEnum):
    """Reason why a module, loss or gradient method is rejected, as the error message prints it."""

    DRAWS = "draws at random"
    """Random numbers from an unseeded generator can't be repeated or resumed; torch's own random numbers can't be used
    in a stack of clients.
    """

    KEEPS = "keeps something between calls"
    """State between calls (buffers, attributes, closures) makes the loss depend on the order of the calls."""

    WRITES = "writes to what it is given"
    """In-place writes to parameters (a clamp in forward, Embedding(max_norm=...)) or to the clients' minibatches."""

    BLIND = "does not depend on any parameter"
    """Without a parameter in its graph, the loss has no gradient."""

    NOT_WRITTEN_OUT = "not written out"
    """``compiled``, ``layered`` and ``fused`` support few layers and two losses, of exact types and without hooks."""

    NO_GPU = "not on a GPU"
    """The gradient method ``fused`` is a GPU kernel."""

    HOOKED = "has a hook"
    """``stacked`` and ``vmapped`` would pass stacks of clients to the hook, or not call it at all."""

    ASKS = "asks how it is differentiated"
    """``stacked`` and ``vmapped`` give other answers than autograd: ``requires_grad``, ``grad_fn``, hooks on
    outputs.
    """

    UNBEARABLE = "is more than vmap bears"
    """torch.func.vmap supports neither ``.item()`` on tensors nor every operation."""

    NO_IMAGES = "has no weights of four axes"
    """The gradient method ``channels_last`` applies to weights with four axes."""

    LAID_OUT = "wants its numbers in another order in memory"
    """``channels_last`` breaks ``view`` on a convolution's output; ``flatten`` and ``reshape`` accept any memory
    order.
    """

    UNSEEN = "cannot be looked at"
    """While fedspec observes a call, torch may use other operators, which may need other devices or dtypes."""

    DIFFERS = "comes to other gradients"
    """The method's gradients differ from autograd's on the module: something reads parameters or padding
    differently.
    """
