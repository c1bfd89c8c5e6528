"""A subject that knows nothing of fedspec: FedAvg's server and local momentum, in JSON lines and plain Python.

``standalone.py noisy`` prints before the handshake; ``buffers`` and ``resumes`` claim more; others misbehave.
"""

import base64
import json
import sys

INFO = {
    "name": "standalone",
    "version": "0.1",
    "offers": [
        {
            "algorithm": "fedavg",
            "level": "server",
            "reading": "mcmahan-2017",
            "intermediates": ["delta"],
            "dtypes": ["float32"],
        },
        {"algorithm": "momentum", "level": "client", "reading": "fednova", "dtypes": ["float64"]},
    ],
}


def walk(f, *trees):
    """Apply f to numbers at the same place of nested lists or named blocks."""
    if isinstance(trees[0], dict):
        return {name: walk(f, *(t[name] for t in trees)) for name in trees[0]}
    if isinstance(trees[0], list):
        return [walk(f, *branches) for branches in zip(*trees)]  # noqa: B905
    return f(*trees)


class Session:
    def __init__(self, case):
        self.h, self.x = case["hyper"], case["x0"]
        self.u = walk(lambda a: 0.0, self.x)

    def step(self, event):
        if event["type"] == "begin":
            self.x, self.u = event["x"], walk(lambda a: 0.0, event["x"])
            return {"x": self.x}
        if event["type"] == "gradient":
            self.u = walk(lambda u, g: self.h["rho"] * u + g, self.u, event["g"])
            self.x = walk(lambda x, u: x - self.h["eta_l"] * u, self.x, self.u)
            return {"x": self.x}
        messages = event["messages"]
        total = sum(m["weight"] for m in messages)
        delta = walk(lambda *d: sum(m["weight"] / total * d_i for m, d_i in zip(messages, d)),  # noqa: B905
                     *(m["delta"] for m in messages))  # fmt: skip
        self.x = walk(lambda x, d: x + self.h["eta"] * d, self.x, delta)
        answer = {"x": self.x, "delta": delta}
        if "buffers" in messages[0]:
            answer["buffers"] = walk(lambda *b: sum(m["weight"] / total * b_i for m, b_i in zip(messages, b)),  # noqa: B905
                                     *(m["buffers"] for m in messages))  # fmt: skip
            count = "num_batches_tracked"
            answer["buffers"][count] = max(m["buffers"][count] for m in messages)
        return answer


def reply(request, sessions):
    if request["cmd"] == "hello":
        return {"info": INFO}
    if request["cmd"] == "start":
        sessions[request["session"]] = Session(request["case"])
        return {}
    if request["cmd"] == "stop":
        del sessions[request["session"]]
        return {}
    if request["cmd"] == "save":
        return {"saved": base64.b64encode(json.dumps(vars(sessions[request["session"]])).encode()).decode()}
    if request["cmd"] == "restore":
        vars(sessions[request["session"]]).update(json.loads(base64.b64decode(request["saved"])))
        return {}
    return {"answer": sessions[request["session"]].step(request["event"])}


FAULTS = {
    "bare-nan": lambda answer: json.dumps({"ok": True, "answer": {"x": walk(lambda a: float("nan"), answer["x"])}}),
    "points": lambda answer: json.dumps({"ok": True, "answer": walk(float, answer)}),
    "twice": lambda answer: json.dumps({"ok": True, "answer": answer}) + "\n" + json.dumps({"ok": True}),
}


def main(fault=""):
    sessions = {}
    if fault == "noisy":
        print("warming up", flush=True)
    if fault in {"buffers", "points"}:
        INFO["offers"][0]["buffers"] = {"statistics": "averaged", "counters": "largest"}
    if fault in {"resumes", "forgets"}:
        INFO["offers"][1]["resumes"] = True
    if fault == "mute":
        sys.exit("no licence found")
    for line in sys.stdin:
        request = json.loads(line)
        body = reply(request, sessions)
        if request["cmd"] == "restore" and fault == "forgets":
            sessions[request["session"]].u = walk(lambda a: 0.0, sessions[request["session"]].x)
        said = json.dumps({"ok": True, **body})
        if request["cmd"] == "step" and fault in FAULTS:
            said = FAULTS[fault](body["answer"])
        print(said, flush=True)


main(*sys.argv[1:])
