"""The catalogue's rules as torch optimisers: :class:`Local` for gradients, :class:`Server` for averaged changes.

The model of a parameter group is the vector of all its parameters, one after another; a layer is a parameter. Numbers
that a rule keeps are float32 at least, so float16 and bfloat16 parameters have float32 moments. The learning rate is
``lr`` in a group, as schedulers expect it, whatever the paper calls it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim import Optimizer

from fedspec.algorithms.synchronous import model
from fedspec.catalogue import Algorithm
from fedspec.covers import named_cover
from fedspec.errors import ParameterError, PlanError, ShapeError
from fedspec.params import layers
from fedspec.plan import Message
from fedspec.readings import CoverName
from fedspec_torch.arith import Stack, Vector
from fedspec_use import compiled_steps, rules

Params = Iterable[Tensor] | Iterable[dict[str, Any]]


def _flat(parts: Iterable[Tensor]) -> Vector:
    """Flatten tensors into a vector, in float32 at least."""
    vector = torch.cat([p.detach().reshape(-1) for p in parts])
    return vector if vector.dtype == torch.float64 else vector.float()


def _row(parts: Iterable[Tensor]) -> Stack:
    """[1, d]: the same as a stack of one client, which solvers are written for at scale."""
    return _flat(parts)[None]


class _OfARule(Optimizer):
    """Base class of both optimisers: converts the state of a group to torch's saved form, and back.

    What is as long as the model lies in ``state`` by parameter and name; numbers and accumulators of covers lie in the
    group, under ``kept``.
    """

    rate: str
    vector: Callable[[Iterable[Tensor]], Any]
    """The parameters as the rule has its model."""

    def __init__(self, params: Params, hyper: Mapping[str, Any]) -> None:
        numbers = {"lr" if n == self.rate else n: v for n, v in hyper.items()}
        super().__init__(params, {**numbers, "kept": None})

    def begin(self) -> None:
        """Begin a round at the present parameters, and drop the state of the last round."""
        self.state.clear()
        for group in self.param_groups:
            group["kept"] = None

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Take a step of every group.

        Raises:
            PlanError: the parameters with a gradient differ from those at the group's first step.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for number, group in enumerate(self.param_groups):
            if trained := _trained(number, group):
                self._step(group, trained)
        return loss

    def _step(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        raise NotImplementedError

    def _hyper(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Hyper-parameters of a group by the catalogue's names; a scheduler may have made the rate a tensor."""
        names = {("lr" if n == self.rate else n): n for n in self.said}
        return {n: v.item() if isinstance(v := group[key], Tensor) else v for key, n in names.items()}

    @property
    def said(self) -> Mapping[str, Any]:
        """The hyper-parameters as they were given."""
        raise NotImplementedError

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state as torch does, but keep each entry in its own floating-point type.

        Raises:
            ParameterError: the state belongs to another optimiser.
            ShapeError: the state belongs to other parameters.
        """
        self._check_loaded(state_dict)
        super().load_state_dict(state_dict)
        of_each = [p for group in self.param_groups for p in group["params"]]
        saved = [k for group in state_dict["param_groups"] for k in group["params"]]
        for p, k in zip(of_each, saved, strict=True):
            for name, v in state_dict["state"].get(k, {}).items():
                self.state[p][name] = v.to(p.device, copy=True)

    def _check_loaded(self, state_dict: Mapping[str, Any]) -> None:
        """Refuse a state that is another's; how many groups and parameters there are torch checks itself."""
        for number, (group, saved) in enumerate(zip(self.param_groups, state_dict["param_groups"], strict=False)):
            ours, theirs = ({*some} - {"params", "initial_lr"} for some in (group, saved))
            if ours != theirs:
                words = " and ".join(sorted(ours ^ theirs))
                raise ParameterError(
                    f"state_dict: group {number} belongs to another optimiser: one of the two has no {words}"
                )
            for p, k in zip(group["params"], saved["params"], strict=False):
                for name, v in state_dict["state"].get(k, {}).items():
                    if v.shape != p.shape:
                        raise ShapeError(
                            f"state_dict: {name} of parameter {k} has the shape {tuple(v.shape)}, but the parameter "
                            f"has {tuple(p.shape)}; the state belongs to another model"
                        )

    def _written(self, group: dict[str, Any], trained: list[Tensor], after: Any, **more: Any) -> None:
        """Put a state of flat vectors where torch saves it, and the model into the parameters."""
        d, at = sum(p.numel() for p in trained), layers_of(trained)
        kept: dict[str, Any] = {"trained": group["kept"]["trained"], **more}
        for name, v in _parts(after).items():
            if not (isinstance(v, Tensor) and v.numel() == d):
                kept[name] = v
                continue
            for p, own in zip(trained, at, strict=True):
                part = v.reshape(-1)[own].view(p.shape)
                if name == "x":
                    p.copy_(part)
                elif name in self.state[p]:
                    self.state[p][name].copy_(part)
                else:
                    self.state[p][name] = part.clone(memory_format=torch.contiguous_format)
        group["kept"] = kept

    def _read(self, like: Any, group: Mapping[str, Any], trained: list[Tensor]) -> Any:
        """The state of a group as the rule's record, like one that it begins with."""
        found: dict[str, Any] = {}
        for name, v in _parts(like).items():
            if name == "x":
                found[name] = self.vector(trained)
            elif name in group["kept"]:
                found[name] = group["kept"][name]
            else:
                found[name] = self.vector([self.state[p][name] for p in trained]).to(v.dtype)
        return replace(like, **found) if is_dataclass(like) else found["x"]  # type: ignore[type-var]


class Local(_OfARule):
    """A local solver as a torch optimiser.

    Args:
        params: parameters, or groups of parameters with their own hyper-parameters.
        algorithm: the id of a local solver (``fedspec list``), or your own row.
        reading: the published definition; the first by default.
        compiled: True if an elementwise rule takes one compiled pass when its numbers are on a CPU; by default from
            2^16 numbers on, since compiling takes half a second.
        given: hyper-parameters by the catalogue's names, or ``lr``; options, such as ``cover="axes"``.

    Raises:
        UnknownNameError: a name is unknown, or the row is no local solver.
        ParameterError: a hyper-parameter is missing or outside its domain.
    """

    rate = "eta_l"
    vector = staticmethod(_row)

    def __init__(
        self,
        params: Params,
        algorithm: str | Algorithm,
        *,
        reading: str = "",
        compiled: bool | None = None,
        **given: Any,
    ) -> None:
        self.rule = rules.local(algorithm, reading, **_named(self.rate, given))
        least = compiled_steps.LEAST if compiled is None else 0 if compiled else math.inf
        self.passes = compiled_steps.Passes(self.rule, least)
        super().__init__(params, self.rule.hyper)

    @property
    def said(self) -> Mapping[str, Any]:
        """Hyper-parameters as they were given."""
        return self.rule.hyper

    def _step(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        """Step in one compiled pass for an elementwise rule on a CPU; else on the flat vector."""
        kept, hyper = group["kept"], self._hyper(group)
        if "k" not in kept:
            self._begun(group, trained)
            kept = group["kept"]
        if self.passes.taken(group, self.state, trained, hyper):
            return
        x, cover = _row(trained), self._cover(trained)
        state = self._read(self.rule.begin(x, cover), group, trained)
        anchor = _row([self.state[p].get("anchor", p) for p in trained]).to(x.dtype)
        at = {"anchor": anchor, "k": kept["k"], "cover": cover, "layers": layers_of(trained)}
        at["shapes"] = tuple(tuple(p.shape) for p in trained)
        after = self.rule.step(state, _row([_grad(p) for p in trained]), hyper, **at)
        self._written(group, trained, after, k=kept["k"] + 1)

    def _begun(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        self._written(group, trained, self.rule.begin(_row(trained), self._cover(trained)), k=0)
        if "anchor" in self.rule.reads:
            for p in trained:
                self.state[p]["anchor"] = p.detach().clone()

    def _cover(self, trained: list[Tensor]) -> Any:
        name = self.rule.options.get("cover", CoverName.ONE)
        shapes = {str(j): tuple(p.shape) for j, p in enumerate(trained)}
        return named_cover(name, shapes) if "cover" in self.rule.reads else None


class Server(_OfARule):
    """Server as a torch optimiser: ``.grad`` must hold the model minus the average of the clients' models.

    So an outer loop is two lines: put ``outer - mean of inner models`` into ``.grad``, and step.

    Args:
        params: the server's model.
        algorithm: the id of a row with a server (``fedspec list``), or your own row.
        reading: the published definition; the first by default.
        given: hyper-parameters by the catalogue's names, or ``lr`` for ``eta``; options.

    Raises:
        UnknownNameError: a name is unknown, or the server reads more than the average change, as FedNova's server does.
        ParameterError: a hyper-parameter is missing or outside its domain.
    """

    rate = "eta"
    vector = staticmethod(_flat)

    def __init__(self, params: Params, algorithm: str | Algorithm, *, reading: str = "", **given: Any) -> None:
        self.rule = rules.server(algorithm, reading, **_named(self.rate, given))
        super().__init__(params, self.rule.hyper)

    @property
    def said(self) -> Mapping[str, Any]:
        """Hyper-parameters as they were given."""
        return self.rule.hyper

    def _step(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        run, h, x = self.rule.run, self.rule.record(self._hyper(group)), _flat(trained)
        begun = run.init(h, x)
        state = self._read(begun, group, trained) if "k" in group["kept"] else begun
        change = Message(-_flat([_grad(p) for p in trained]), 1.0, 1, 1.0)
        after, _ = run.server(h, state, [change])
        self._written(group, trained, after, k=group["kept"].get("k", 0) + 1)


def _named(rate: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """``lr`` under the catalogue's name."""
    if "lr" in given and rate in given:
        raise ParameterError(f"lr: given together with {rate}, which means the same; give one of them")
    return {rate if n == "lr" else n: v for n, v in given.items()}


def _trained(number: int, group: dict[str, Any]) -> list[Tensor]:
    """The parameters of a group that have gradients, which are the same at every step."""
    having = [j for j, p in enumerate(group["params"]) if p.grad is not None]
    if group["kept"] is None and having:
        group["kept"] = {"trained": having}
    if group["kept"] is not None and having != group["kept"]["trained"]:
        other = sorted({*having} ^ {*group["kept"]["trained"]})[0]
        raise PlanError(
            f"gradients: parameter {other} of group {number} "
            f"{'has one, and had none' if other in having else 'has none, and had one'} at the first step; the set of "
            "parameters with gradients must stay the same: give zeros for a missing gradient, or leave the parameter "
            "out of the optimiser"
        )
    return [group["params"][j] for j in having]


def _grad(p: Tensor) -> Tensor:
    """A parameter's gradient.

    Raises:
        ParameterError: the gradient is sparse.
    """
    assert p.grad is not None
    if p.grad.is_sparse:
        raise ParameterError("gradients: got a sparse one, but the rules need dense vectors; make the layer dense")
    return p.grad


def layers_of(trained: Iterable[Tensor]) -> tuple[slice, ...]:
    """Return the parameters' slices in the flat vector."""
    return layers({str(j): tuple(p.shape) for j, p in enumerate(trained)})


def _parts(state: Any) -> dict[str, Any]:
    """Fields of a state; a bare model is x."""
    return {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {"x": model(state)}
