"""Small federated tasks to try algorithms on, without downloads.

* ``task``: a federation and what it is judged by, from the name of the data, a model and a seed.
* ``plan``: the schedule that fits an algorithm.
* ``TASKS``: the data by name; ``MODELS``: models of features and classes; ``DATA``: those of both that are only split.
"""

from fedspec_torch.tasks.models import MODELS
from fedspec_torch.tasks.real import DATA, breast_cancer, digits
from fedspec_torch.tasks.registry import TASKS, kind_of, model_of, task
from fedspec_torch.tasks.schedule import plan
from fedspec_torch.tasks.task import Asked, Kind, Task

__all__ = [
    "DATA",
    "MODELS",
    "TASKS",
    "Asked",
    "Kind",
    "Task",
    "breast_cancer",
    "digits",
    "kind_of",
    "model_of",
    "plan",
    "task",
]
