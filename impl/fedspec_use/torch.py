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
from fedspec_torch.arith import Stack
from fedspec_use import compiled_steps, rules
from fedspec_use.replicas import flat, is_sharded, local

Params = Iterable[Tensor] | Iterable[dict[str, Any]]


def _row(parts: Iterable[Tensor]) -> Stack:
    """[1, d]: the parts flattened, as a stack of one client, which solvers are written for at scale."""
    return flat(parts)[None]


class _OfARule(Optimizer):
    """Base class of both optimisers: converts the state of a group to torch's saved form, and back.

    What is as long as the model lies in ``state`` by parameter and name; numbers and accumulators of covers lie in the
    group, under ``kept``.
    """

    rate: str
    rule: rules.Local | rules.Server
    vector: Callable[[Iterable[Tensor]], Any]
    """The parameters as the rule has its model."""

    def __init__(self, params: Params, hyper: Mapping[str, Any]) -> None:
        numbers = {"lr" if n == self.rate else n: v for n, v in hyper.items()}
        super().__init__(params, {**numbers, "kept": None})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, as torch does.

        Raises:
            ParameterError: ranks hold shards of a parameter, and the rule isn't elementwise.
        """
        super().add_param_group(param_group)
        if any(map(is_sharded, param_group["params"])) and not rules.is_elementwise(self.rule):
            raise ParameterError(
                f"{self.rule.algorithm.id}: its step of a number depends on other numbers, such as the norm of the "
                "model or of a layer, but this rank holds only its shard of them; take an elementwise rule, such as "
                "diloco or adamw, or parameters that are not sharded"
            )

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
                if "k" not in group["kept"]:
                    self._begun(group, trained)
                    # torch.distributed.checkpoint takes such a step before it saves or loads: nothing may move.
                    if not group["lr"] and not any(map(torch.count_nonzero, map(_grad, trained))):
                        continue
                self._step(group, trained)
        return loss

    def _begun(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        raise NotImplementedError

    def _step(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        raise NotImplementedError

    def _hyper(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Hyper-parameters of a group by the catalogue's names; a scheduler may have made the rate a tensor."""
        names = {("lr" if n == self.rate else n): n for n in self.said}
        return {n: v.item() if isinstance(v := group[key], Tensor) else v for key, n in names.items()}

    @property
    def said(self) -> Mapping[str, Any]:
        """Hyper-parameters as they were given."""
        return self.rule.hyper

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
                    shape, own = (tuple(local(one).shape) for one in (v, p))
                    if shape != own:
                        raise ShapeError(
                            f"state_dict: {name} of parameter {k} has the shape {shape}, but the parameter has {own}; "
                            "the state belongs to another model, or to other shards"
                        )

    def _written(self, group: dict[str, Any], trained: list[Tensor], after: Any, **more: Any) -> None:
        """Put a state of flat vectors where torch saves it, and the model into the parameters."""
        parts = [local(p) for p in trained]
        d, at = sum(part.numel() for part in parts), layers_of(parts)
        kept: dict[str, Any] = {"trained": group["kept"]["trained"], **more}
        for name, v in _parts(after).items():
            if not (isinstance(v, Tensor) and v.numel() == d):
                kept[name] = v
                continue
            for p, part, own in zip(trained, parts, at, strict=True):
                to = p if name == "x" else self.state[p].get(name)
                if to is None:
                    to = torch.empty_like(p, dtype=v.dtype, requires_grad=False, memory_format=torch.contiguous_format)
                    self.state[p][name] = to
                local(to).copy_(v.reshape(-1)[own].view(part.shape))
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
        self.rule: rules.Local = rules.local(algorithm, reading, **_named(self.rate, given))
        least = compiled_steps.LEAST if compiled is None else 0 if compiled else math.inf
        self.passes = compiled_steps.Passes(self.rule, least)
        super().__init__(params, self.rule.hyper)

    def _step(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        """Step in one compiled pass for an elementwise rule on a CPU; else on the flat vector."""
        kept, hyper = group["kept"], self._hyper(group)
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
    vector = staticmethod(flat)

    def __init__(self, params: Params, algorithm: str | Algorithm, *, reading: str = "", **given: Any) -> None:
        self.rule: rules.Server = rules.server(algorithm, reading, **_named(self.rate, given))
        super().__init__(params, self.rule.hyper)

    def _step(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        run, h, x = self.rule.run, self.rule.record(self._hyper(group)), flat(trained)
        state = self._read(run.init(h, x), group, trained)
        change = Message(-flat([_grad(p) for p in trained]), 1.0, 1, 1.0)
        after, _ = run.server(h, state, [change])
        self._written(group, trained, after, k=group["kept"]["k"] + 1)

    def _begun(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        h = self.rule.record({**self._hyper(group), self.rate: self.said[self.rate]})
        self._written(group, trained, self.rule.run.init(h, flat(trained)), k=0)


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
    # Shards elsewhere than the parameter's, or summands that nobody has added up.
    wanted: Any = getattr(p, "placements", None)
    if wanted and p.grad.placements != wanted:  # type: ignore[attr-defined]
        return p.grad.redistribute(placements=wanted)  # type: ignore[attr-defined,no-any-return]
    return p.grad


def layers_of(trained: Iterable[Tensor]) -> tuple[slice, ...]:
    """Return the parameters' slices in the flat vector."""
    return layers({str(j): tuple(p.shape) for j, p in enumerate(trained)})


def _parts(state: Any) -> dict[str, Any]:
    """Fields of a state; a bare model is x."""
    return {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {"x": model(state)}
