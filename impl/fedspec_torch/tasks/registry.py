"""Tasks by the name of their data set."""

from __future__ import annotations

from typing import Any

from fedspec.errors import ParameterError, UnknownNameError
from fedspec_torch.arith import device_named
from fedspec_torch.tasks import heavy_tailed, quadratics, real, synthetic, text
from fedspec_torch.tasks.task import Asked, Kind, Task

TASKS: dict[str, Kind] = {
    **real.KINDS,
    **quadratics.KINDS,
    **synthetic.KINDS,
    **heavy_tailed.KINDS,
    **text.KINDS,
}


def kind_of(data: str) -> tuple[Kind, dict[str, Any]]:
    """Parse a data set's name and settings, ``quadratics`` or ``quadratics:dim=5,spread=1``.

    Raises:
        UnknownNameError: the data set is unknown, or has no setting of that name.
        ParameterError: a setting isn't of the form NAME=VALUE, or its value is invalid.
    """
    name, _, words = data.partition(":")
    if name not in TASKS:
        raise UnknownNameError(f"data: got {name!r}; known: {', '.join(TASKS)}")
    given = {}
    for word in filter(None, words.split(",")):
        left, equals, value = word.partition("=")
        if not equals:
            raise ParameterError(f"data: {name}: got {word!r}; set one by NAME=VALUE, such as {name}:{_example(name)}")
        given[left.strip()] = value.strip()
    return TASKS[name], given


def model_of(data: str, model: str | None = None) -> str:
    """Return the model's name, after checking that it fits the data; None: the data's default model.

    Raises:
        UnknownNameError: the data set is unknown, or the model doesn't fit it.
    """
    kind, _ = kind_of(data)
    if model is not None and model not in kind.models:
        raise UnknownNameError(f"model: got {model!r}; known for {data.partition(':')[0]}: {', '.join(kind.models)}")
    return model or kind.models[0]


def task(
    data: str,
    model: str | None = None,
    *,
    clients: int,
    alpha: float = 0.3,
    batch_size: int,
    seed: int,
    device: str = "cpu",
    mine: range | None = None,
    **own: Any,
) -> Task:
    """Build a task: a federation of the data, split over clients, and a model, both drawn from one seed.

    Args:
        data: a name of ``TASKS``, with its settings after a colon: ``quadratics:dim=5,spread=1``.
        model: a model that fits the data; None: the data set's default model.
        clients: number of clients.
        alpha: alpha of the Dirichlet split by label; the smaller, the more the clients differ.
        batch_size: number of examples in a minibatch.
        seed: seed of all random draws.
        device: device of the federation.
        mine: the clients whose data are needed; None: all clients.
        own: settings of the data set, as after the colon.

    Raises:
        UnknownNameError: the data set, the model or the device is unknown, or the data set has no setting of that name.
        ParameterError: a setting has an invalid value.
        PlanError: the examples can't be divided over so many clients.
    """
    kind, given = kind_of(data)
    name = data.partition(":")[0]
    for left in {**given, **own}:
        if left not in kind.own:
            raise UnknownNameError(f"data: {name} has no setting {left!r}; known: {', '.join(kind.own) or 'none'}")
    values = {left: _read(name, left, value, kind.own[left]) for left, value in {**given, **own}.items()}
    asked = Asked(
        model_of(data, model), clients, alpha, batch_size, seed, device_named(device), mine, {**kind.own, **values}
    )
    return kind.make(asked)


def _read(data: str, name: str, value: Any, usual: Any) -> Any:
    """A value of the type that the usual one has.

    Raises:
        ParameterError: the text isn't a value of that type.
    """
    wanted = type(usual)
    try:
        if isinstance(value, str) or (wanted is float and isinstance(value, int)):
            return wanted(value)
    except ValueError:
        pass
    if type(value) is not wanted:
        words = {int: "a whole number", float: "a number", str: "a word"}[wanted]
        raise ParameterError(f"data: {data}: {name}: got {value!r}; give {words}, such as {usual}")
    return value


def _example(name: str) -> str:
    return next((f"{left}={value}" for left, value in TASKS[name].own.items()), "nothing, since nothing is set of it")
