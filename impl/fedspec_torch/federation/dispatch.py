"""Dispatch of blocks: choose the gradient method and the run method, after checking and timing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import torch
from torch import nn

from fedspec.errors import FedspecError
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.federation.autotune import Choice, choose, choose_run, differs, first_line
from fedspec_torch.federation.batch_checks import check_first, check_same_parameters
from fedspec_torch.gradients.gradcheck import Look, largest_error, nearby_models
from fedspec_torch.gradients.interface import Run, Way
from fedspec_torch.gradients.methods import ALONE, Network, looped
from fedspec_torch.refusals import OTHERWISE, LayersError, ModuleError, Reason
from fedspec_torch.setup_time import setting_up
from fedspec_torch.ways.table import WAYS, methods

Plain: TypeAlias = tuple[Stack, Stack, Weights]
"""Models, and plain autograd's gradients and losses at these models."""


@dataclass(frozen=True, eq=False)
class Ways:
    """Choice of gradient methods for the clients of a module, with the results of checks and timings.

    Attributes:
        network: the module and the loss.
        way: name of the gradient method that the user chose; None: the method that is measured to be fastest.
        choices: the chosen methods, with their timings, by the number of clients in a block (powers of two).
        x0: the initial model, which nothing overwrites.
    """

    network: Network
    way: str | None
    choices: dict[int, Choice]
    x0: Vector
    _first: list[tuple[Look, tuple[Stack, Weights]]] = field(default_factory=list, init=False, repr=False)
    _agreed: set[str] = field(default_factory=set, init=False, repr=False)

    @property
    def is_first(self) -> bool:
        """True until the first minibatch is checked."""
        return not self._first

    def known(self, n: int) -> str | None:
        """Return the gradient method for blocks of n clients; None until one is checked for about that size."""
        size = self._size(n)
        name = self.named or (self.choices[size].name if size in self.choices else None)
        return name if name in self._agreed else None

    def _size(self, n: int) -> int:
        """Size, in bits, of the blocks with whose method n clients run: their own number if layers are explicit.

        Of another module, the least size that is no smaller: fewer clients gain less than a measurement costs.
        """
        if self.optional:
            return n.bit_length()
        return min((size for size in self.choices if size >= n.bit_length()), default=n.bit_length())

    @cached_property
    def named(self) -> str | None:
        """Name of the gradient method that the user chose."""
        way = WAYS.get(self.way or "")
        return way.beside if way and way.beside else self.way

    @cached_property
    def optional(self) -> list[Way]:
        """Optional ways that take the module and the loss."""
        return [way for way in WAYS.values() if not way.refusal(self.network, None)]

    def for_block(self, x: Stack, batch: Minibatch, ignored: str = "") -> str:
        """Return the gradient method for a block; the first block of about its size is checked and timed.

        Args:
            x: [n, d] the models of the block's clients.
            batch: the minibatches of the block's clients.
            ignored: the reason why no optional way takes these clients' examples; empty if one does.

        Raises:
            ModuleError: the module draws at random, keeps state from one call to the next, or writes to its parameters;
                or the method's gradients differ from plain autograd's.
            LossError: the loss doesn't depend on the trained parameters.
            LayersError: the user chose a gradient method by name, and this method doesn't support the module, the loss
                or the minibatch.
        """
        known = self.known(len(x))
        if known:
            return known
        with setting_up():
            return self._chosen(x, batch, ignored)

    def _chosen(self, x: Stack, batch: Minibatch, ignored: str) -> str:
        check_same_parameters(self.network)
        here = Look.at(self.network, self.x0.expand(x.shape) if self.network.is_large else x, batch)
        if not self._first:
            check_first(self.network, x[0], nearby_models(here.about, here.seed)[0], tuple(p[0] for p in batch.leaves))
        if self.network.ways == ["looped"] and not self.named:
            run, why = ALONE["looped"], self.network.by_itself or "one client's model fills the device"
            self.choices[len(x).bit_length()] = Choice("looped", why, run)
            self._agreed.add("looped")
        plain = here.plain()
        if not self._first:
            if self.network.is_large:
                self._let_lie(here, plain)
            # One client is enough of what is seen again later.
            self._first.append((here.of_first(), here.seen(plain)))
        size = self._size(len(x))
        if self.named:
            self._look(self.named, here, plain)
            return self.named
        if size not in self.choices:

            def agrees(name: str) -> None:
                if name in WAYS and ignored:
                    raise LayersError(f"{name}: {ignored}")
                self._look(name, here, plain, advised=False)

            found = choose(self.network, x, batch, agrees)
            words = filter(None, [self.network.by_itself if found.name in ALONE else "", found.why])
            self.choices[size] = replace(found, why="; ".join(words))
        elif self.choices[size].name not in self._agreed:
            self._look(self.choices[size].name, here, plain)
        return self.choices[size].name

    def _let_lie(self, here: Look, plain: Plain) -> None:
        """Store a large model's parameters in its clients' vectors, if autograd's gradients stay the same."""
        x, *want = plain
        # cuDNN wants the weights of recurrent parts side by side.
        if x.device.type == "cpu" or not any(isinstance(part, nn.RNNBase) for part in self.network.module.modules()):
            self.network.lies = True
            self.network.lies = largest_error(looped(self.network, x, here.batch), want) <= here.rounding

    def _look(self, name: str, here: Look, plain: Plain, *, advised: bool = True) -> None:
        try:
            here.check(name, methods()[name], plain)
        except LayersError as error:
            raise LayersError(f"{name}: {error}; {OTHERWISE}" if advised else str(error)) from error
        except (FedspecError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            reason = Reason.LAID_OUT if name in ALONE else Reason.UNBEARABLE
            why = f"the module, or the loss, {reason}: {type(error).__name__}: {first_line(error)}"
            raise LayersError(f"{name}: {why}; {OTHERWISE}" if advised else why) from error
        self._agreed.add(name)

    def look_again(self, ways: Iterable[str], round: int, x: Vector, batch: Minibatch) -> None:
        """Re-check the used gradient methods against autograd, and repeat the first check of the module.

        Args:
            ways: the gradient methods that trained the clients.
            round: the number of the round.
            x: the model after the round.
            batch: minibatches of some of the clients of the round.

        Raises:
            ModuleError: a method's gradients differ from plain autograd's, or plain autograd's from those of the first
                check.
        """
        check_same_parameters(self.network)
        here = Look.at(self.network, x.expand(len(batch.leaves[0]), -1), batch, seed=round)
        # What was changed since is told as changed, in whatever way it shows.
        for first, then in self._first:
            gap = largest_error(first.seen(), then)
            # A GPU may add in another order, and less exactly than it is asked.
            if gap > (first.rounding if x.device.type == "cpu" else max(first.rounding, 1e-3)):
                raise ModuleError(
                    f"model: after round {round} its loss or its gradients differ by {gap:.2g} from their first "
                    f"values, with the same parameters and minibatch: it, or the loss, {Reason.KEEPS}, or was changed "
                    "since; make it a function of its inputs, and make a new federation if you change the module"
                )
        others = sorted({*ways} - {"looped", ALONE["looped"]})
        if self.network.is_large and not others:
            # The new model may be written to where the first was not.
            here.seen()
            return
        # What plain autograd does not take, no way is to blame for.
        plain = here.plain()
        for name in others:
            self._look(name, here, plain)

    def take_for(self, n: int, like: int) -> None:
        """Use for blocks of n clients the method chosen for blocks of ``like`` clients, unless n has one."""
        if like.bit_length() in self.choices:
            self.choices.setdefault(n.bit_length(), self.choices[like.bit_length()])

    def run_for(self, x: Stack, tau: Sequence[int], in_place: Run, others: Mapping[str, Run | str]) -> Run:
        """Return the method for whole runs of plain SGD; the first block of about its size is timed.

        Args:
            x: the models from which the clients begin.
            tau: each client's number of local steps.
            in_place: the run by the gradient method.
            others: another run by its name, or the reason why there is none.

        Raises:
            LayersError: the user chose a method by name, and this method doesn't support the module, the loss or the
                minibatch.
        """
        size = self._size(len(x))
        if not self.way and not self.choices[size].run:
            with setting_up():
                self.choices[size] = choose_run(self.choices[size], x, tau, in_place, others)
        name = self.way or self.choices[size].run
        run = others.get(name, in_place)
        refused = run if isinstance(run, str) else ""
        if self.way and run is not in_place:
            if not isinstance(run, str) and name not in self._agreed:
                refused = differs(x, tau, run, in_place)
            if refused:
                raise LayersError(f"{name}: {refused}; leave way out, or name another way")
            self._agreed.add(name)
        # A saved run may go on where its way is not offered.
        return in_place if isinstance(run, str) else run
