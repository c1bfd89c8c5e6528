"""FedAvg's server in plain Python, which misbehaves in the way that its first argument names; the second is a file.

``hostile.py right`` does not.
"""

import json
import os
import subprocess
import sys
import time

FAULT = sys.argv[1]
FILE = sys.argv[2] if len(sys.argv) > 2 else os.devnull

OFFER = {"algorithm": "fedavg", "level": "server", "reading": "mcmahan-2017", "dtypes": ["float64"]}
SECOND = {**OFFER, "options": {"weights": "uniform"}}
INFO = {"name": "hostile", "version": "1", "offers": [OFFER]}

INFOS = {
    "info-list": [],
    "offers-object": {**INFO, "offers": OFFER},
    "name-number": {**INFO, "name": 7},
    "offer-words": {**INFO, "offers": [{**OFFER, "dtypes": "float64"}]},
    "fixed-huge": {**INFO, "offers": [{**OFFER, "fixed": {"eta": 10**400}}]},
    "one-bad-offer": {**INFO, "offers": [{**OFFER, "algorithm": "fedbest"}, OFFER]},
    "markup": {
        "name": "[/x]\x1b[31m:smile:\r\n\a",
        "version": "[bold]1",
        "offers": [{**OFFER, "notes": "a\x1b[2Jb\nc [/x]"}],
    },
}

ANSWERS = {
    "x-words": {"x": {"w": ["one"]}},
    "x-none": {"x": None},
    "x-huge": {"x": [10**400]},
    "x-long": {"x": {"w": "[/x]\x1b[31m" * 10_000}},
    "dtype-number": {"x": [1.0], "dtype": 64},
    "no-object": "x",
}

LINES = {
    "deep": '{"ok": true, "answer": {"x": ' + "[" * 100_000,
    "deep-enough": '{"ok": true, "answer": {"x": ' + "[" * 60 + "]" * 60 + "}}",
    "not-utf-8": b'{"ok": true, "answer": {"x": [1.0], "m": "\xff\xfe"}}',
    "ok-word": '{"ok": "yes"}',
    "error-object": '{"ok": false, "error": {}}',
    "error-markup": '{"ok": false, "error": "[/x] \\u001b[31m :smile: \\ud800"}',
}


def walk(f, *trees):
    if isinstance(trees[0], dict):
        return {name: walk(f, *(t[name] for t in trees)) for name in trees[0]}
    if isinstance(trees[0], list):
        return [walk(f, *branches) for branches in zip(*trees)]  # noqa: B905
    return f(*trees)


def say(line):
    line = line if isinstance(line, bytes) else line.encode()
    os.write(1, line + b"\n")


def nothing():
    time.sleep(600)


def hello():
    if FAULT == "family":
        # A grandchild that holds nothing of ours open.
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with open(FILE, "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        say('{"ok": false, "error": "not today"}')
        nothing()
    if FAULT == "slow-hello":
        with open(FILE, "w") as file:
            file.write(str(os.getpid()))
        nothing()
    if FAULT == "pid":
        with open(FILE, "a") as file:
            file.write(f"{os.getpid()} ")
    info = INFOS.get(FAULT, INFO)
    if FAULT == "shrinks":
        with open(FILE, "a+") as file:
            file.write("x")
            file.flush()
            file.seek(0)
            info = {**INFO, "offers": [OFFER, SECOND] if len(file.read()) == 1 else [OFFER]}
    say(json.dumps({"ok": True, "info": info}))


def step(state, event, count):
    messages, (x, eta) = event["messages"], state
    total = sum(m["weight"] for m in messages)
    delta = walk(lambda *d: sum(m["weight"] / total * d_i for m, d_i in zip(messages, d)),  # noqa: B905
                 *(m["delta"] for m in messages))  # fmt: skip
    state[0] = walk(lambda a, d: a + eta * d, x, delta)
    if FAULT == "closes-stdout":
        os.close(1)
        nothing()
    if FAULT == "closes-stdin":
        os.close(0)
    if FAULT == "hangs":
        nothing()
    if FAULT == "sleepy":
        time.sleep(0.05)
    if FAULT == "stderr-flood":
        os.write(2, b"\xff\xfe flood " * 20_000)
    if FAULT == "dies-in-latin-1":
        os.write(2, "kein Gerät\n".encode("latin-1"))
        os._exit(3)
    answer = ANSWERS.get(FAULT, {"x": state[0]})
    if FAULT == "dtype-sometimes" and count % 2:
        answer["dtype"] = "float64"
    if FAULT == "shows-sometimes" and count % 2:
        answer["delta"] = delta
    say(LINES.get(FAULT) or json.dumps({"ok": True, "answer": answer}))
    if FAULT == "closes-stdin":
        nothing()


def main():
    sessions = {}
    for count, line in enumerate(sys.stdin):
        request = json.loads(line)
        if request["cmd"] == "hello":
            hello()
        elif request["cmd"] == "start":
            sessions[request["session"]] = [request["case"]["x0"], request["case"]["hyper"]["eta"]]
            say('{"ok": true}')
        elif request["cmd"] == "step":
            step(sessions[request["session"]], request["event"], count)
        else:
            say('{"ok": true}')


if FAULT == "shows-sometimes":
    OFFER["intermediates"] = ["delta"]
main()
