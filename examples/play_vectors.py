"""Check FedAvg's server by vectors, without fedspec or NumPy: python play_vectors.py vectors.jsonl."""

import json
import sys

EPS, TINY = 2.0**-52, 2.0**-1022


class Server:  # the implementation under test, for models of one flat list
    def __init__(self, x, eta):
        self.x, self.eta = x, eta

    def step(self, deltas, examples):
        total = sum(examples)
        for j in range(len(self.x)):
            self.x[j] += self.eta * sum(n / total * d[j] for n, d in zip(examples, deltas))


def flat(a):
    return [v for part in a for v in flat(part)] if isinstance(a, list) else [a]


def exact(text):
    p, _, q = text.partition("/")
    return float(p) / float(q or 1)


def play(vector):
    """Return the first wrong number as text ("" if all are right), and the model after the last event."""
    case, wrong = vector["case"], ""
    model = lambda blocks: [v for name in case["x0"] for v in flat(blocks[name])]
    server = Server(model(case["x0"]), case["hyper"]["eta"])
    for k, event in enumerate(vector["events"]):
        server.step([model(m["delta"]) for m in event["messages"]], [m["weight"] for m in event["messages"]])
        for got, want, scale in zip(server.x, vector["want"][k]["x"], vector["scale"][k]["x"]):
            if not abs(got - exact(want)) <= 30 * (EPS * scale + TINY):
                wrong = wrong or f"event {k + 1}: {got!r}, not {want}"
    return wrong, server.x


def like(vector, x):
    """Return the known defects whose final sum of x equals ours."""
    totals = {**vector["kills"].get("x", {}), **vector["kills"].get("x in float64", {})}
    near = 1e-5 * max(map(abs, x))
    return {name for name, total in totals.items() if total is not None and abs(sum(x) - total) <= near}


passed, failed, words = [], [], {}
for vector in map(json.loads, open(sys.argv[1])):
    case = vector["case"]
    if (case["algorithm"], case["level"], case["options"]) != ("fedavg", "server", {"weights": "examples"}):
        continue
    words |= vector["defects"]
    wrong, x = play(vector)
    if wrong := wrong or play(vector)[0]:
        print(vector["id"], wrong)
        failed.append(like(vector, x))
    else:
        passed.append(set(vector["defects"]))
for name in sorted(set.intersection(*failed) - set().union(*passed) if failed else ()):
    print("looks like", name, "which is:", words[name])
print(f"{len(passed)} of {len(passed + failed)} vectors pass")
sys.exit(bool(failed))

# ruff: noqa
