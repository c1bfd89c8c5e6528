"""Train on a torch Dataset: split, CNN with BatchNorm, and three algorithms tuned, compared, plotted and saved.

    pip install '.[suite]' './impl[simulate]'
    python examples/own_dataset.py out/own_dataset

Put your Dataset in the place of Digits, and your module in that of cnn().
"""

import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from torch import nn
from torch.utils.data import Dataset

from fedspec_torch import Federation, cohorts, epochs, partition, resume, simulate, tune
from fedspec_train import draw_runs

GRID = {
    "fedavg": {"eta_l": [0.03, 0.1, 0.3]},
    "fedadam": {"eta_l": [0.1, 0.3], "eta": [0.01, 0.03]},
    "scaffold": {"eta_l": [0.03, 0.1, 0.3]},
}


class Digits(Dataset):
    """Dataset of 8 x 8 images and their classes; a federation needs only its length and indexing by number."""

    def __init__(self, numbers):
        self.pictures, self.classes = (part[numbers] for part in load_digits(return_X_y=True))

    def __len__(self):
        return len(self.classes)

    def __getitem__(self, k):
        # A transform that draws at random is refused: seed what it draws with the example's number.
        return torch.tensor(self.pictures[k] / 16, dtype=torch.float32).reshape(1, 8, 8), int(self.classes[k])


def cnn():
    """Return a CNN; a federation averages BatchNorm's running statistics unless you choose otherwise."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 9, 10)]
    return nn.Sequential(*layers)


def macro_f1(output, targets):
    """Metric: one number from the model's output on the whole test set and the targets."""
    return f1_score(targets, output.argmax(1), average="macro")


def main(out, rounds=30):
    """Tune, train and compare the algorithms, and write all results to a folder."""
    # Threads would wait for each other: the model is small.
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(0).permutation(1797)
    train, test = Digits(numbers[:1400]), Digits(numbers[1400:])

    # Who has what: 20 clients, each with its own mixture of classes.
    parts = partition.dirichlet(train.classes, 20, 0.3, np.random.default_rng(1))
    partition.picture(parts, train.classes, out / "split.png")
    federation = Federation(cnn(), nn.functional.cross_entropy, train, parts=parts, batch_size=10, cached=True)

    # Five clients in a round, one pass over their examples each.
    plan, runs = cohorts(5, steps=epochs(1, batch_size=10)), {}
    for algorithm, grid in GRID.items():
        # Rates are picked by examples or clients that are held out of training, never by the test set.
        found = tune(algorithm, federation, plan=plan, rounds=max(2, rounds // 3), grid=grid)
        print(f"{algorithm}: {found.choice} of {len(found.trials)}")
        asked = {"test": test, "metrics": {"macro F1": macro_f1}, "log": out / f"{algorithm}.csv"}
        run = simulate(algorithm, federation, plan=plan, rounds=rounds, **asked, **found.hyper)
        # Ctrl-C in the midst of a round leaves the run as it was before it, to be saved and gone on with.
        for done in run:
            if done.round == (rounds - 1) // 2:
                run.save(out / f"{algorithm}.pt")
                break
        runs[algorithm] = resume(out / f"{algorithm}.pt", federation, **asked)
        *_, last = runs[algorithm]
        print(f"{algorithm}: accuracy {last.accuracy:.3f}, macro F1 {last.metrics['macro F1']:.3f}")

    panels = ["test_loss", "accuracy", "macro F1"]
    draw_runs(runs, out / "runs.png", panels=panels, tuned=[*runs], data="digits", model="CNN with BatchNorm")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/own_dataset"))
