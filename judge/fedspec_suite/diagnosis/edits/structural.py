"""Edits of a function's structure: values passed from client to client, and division before the average."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeGuard

from fedspec.source_text import copied
from fedspec_suite.diagnosis.edits.edit import Put, Rebuilt
from fedspec_suite.diagnosis.edits.moved import assigned, gathering, in_some_turns, moved
from fedspec_suite.diagnosis.edits.restated import restated
from fedspec_suite.diagnosis.edits.slips import said

MODELS = ("x", "y", "x_i")
"""Names of a client's model."""

HANDED = {
    "client": "{n} of a client begins a round as that client's last one left it",
    "round": "{n} of a client begins as the client before it left it, anew in every round",
    "ever": "{n} of a client begins as the client before it left it, that of the round before too",
}
"""Words for a client's variable that starts from an old value, by the lifetime of that value."""


def rebuilt(tree: ast.Module) -> Iterator[Rebuilt]:
    """Yield all structural edits of a function."""
    yield from _outliving(tree)
    yield from _counting_on(tree)
    yield from _in_every_step(tree)
    yield from _mixed_too(tree)
    yield from restated(tree)
    yield from gathering(tree)
    yield from moved(tree)
    yield from in_some_turns(tree)


def _outliving(tree: ast.Module) -> Iterator[Rebuilt]:
    """A variable that each client should reset, or a field of such a variable, is handed on."""
    for k, client in enumerate(_clients(tree)):
        for n, field, value in _begun(client):
            shared = _of_server(tree, value)
            what = field or n
            for how, words in HANDED.items():
                if how == "client" and not _numbered(client):
                    continue
                changed = copied(tree)
                _hand_on(_clients(changed)[k], n, field, how)
                yield Rebuilt(words.format(n=what), what, changed)
                if shared and how == "round":
                    written = copied(changed)
                    _take_over(written, shared, what)
                    shares = f"the clients share the server's {shared} and write into it, one after another"
                    yield Rebuilt(shares, shared, written)


def _begun(client: ast.FunctionDef) -> Iterator[tuple[str, str, ast.expr]]:
    """Yield the variables that begin before the local steps and change in them: names, or fields of a record."""
    loop = next((s for s in client.body if isinstance(s, ast.For)), None)
    if loop is None:
        return
    stored = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for s in client.body[: client.body.index(loop)]:
        for n, value in assigned(s):
            if n in stored and isinstance(value, ast.Call) and len(value.keywords) > 1:
                yield from ((n, part.arg, part.value) for part in value.keywords if part.arg)
            elif n in stored:
                if isinstance(value, ast.Call) and said(value.func) == "begin":
                    yield n, "x", value
                yield n, "", value


def _clients(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions that run for a client: their first argument is its number, or they take its gradients."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return [f for f in found if _numbered(f) or (f in tree.body and "gradient" in {a.arg for a in f.args.args})]


def _numbered(f: ast.FunctionDef) -> bool:
    return bool(f.args.args) and f.args.args[0].arg == "i"


COUNTING = {
    "client": "the count {n} of a client goes on from where its last round left it",
    "round": "the count {n} goes on from client to client within a round",
    "ever": "the count {n} goes on from client to client and from round to round",
}
"""Words for a local count that continues from an old value, by the lifetime of that value."""


def _counting_on(tree: ast.Module) -> Iterator[Rebuilt]:
    """The count of the local steps goes on; which gradient is asked for does not depend on it."""
    for k, client in enumerate(_clients(tree)):
        loop = next((s for s in client.body if isinstance(s, ast.For)), None)
        match loop:
            case ast.For(target=ast.Name(id=n), iter=ast.Call(func=ast.Name(id="range"), args=[*start, _])):
                pass
            case _:
                continue
        oracles = {a.arg for a in client.args.args} | {f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
        body = ast.Module(loop.body, [])
        if ast.dump(_Counted(n, oracles).visit(copied(body))) == ast.dump(body):
            continue
        first = ast.unparse(start[0]) if start else "0"
        for how, words in COUNTING.items():
            changed = copied(tree)
            target = _clients(changed)[k]
            at = next(j for j, s in enumerate(target.body) if isinstance(s, ast.For))
            key = f"({how!r}, {n!r}, who())" if how == "client" else f"({how!r}, {n!r})"
            target.body[at] = _Counted(n, oracles).visit(target.body[at])
            target.body.insert(at + 1, ast.parse(f"hand_on({key}, before_{n} + {n} + 1 - {first})").body[0])
            target.body.insert(at, ast.parse(f"before_{n} = handed({key}, 0)").body[0])
            yield Rebuilt(words.format(n=n), "", changed)


class _Counted(ast.NodeTransformer):
    """Transformer that reads a count from where it was left, except in the calls that ask for a gradient."""

    def __init__(self, n: str, oracles: set[str]) -> None:
        self.n, self.oracles = n, oracles

    def visit_Call(self, node: ast.Call) -> Any:
        # An oracle is asked with a step and a model.
        oracle = isinstance(node.func, ast.Name) and node.func.id in self.oracles and len(node.args) == 2
        return node if oracle else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id != self.n or not isinstance(node.ctx, ast.Load):
            return node
        return ast.BinOp(ast.Name(f"before_{self.n}", ast.Load()), ast.Add(), node)


def _in_every_step(tree: ast.Module) -> Iterator[Rebuilt]:
    """A value that a client makes once of an old one, after its local steps, is made at the end of each step."""
    for k, client in enumerate(_clients(tree)):
        loop = next((j for j, s in enumerate(client.body) if isinstance(s, ast.For)), len(client.body))
        for call in (n for s in client.body[loop + 1 :] for n in ast.walk(s) if isinstance(n, ast.Call) and n.args):
            old = said(first := call.args[0])
            if not isinstance(first, ast.Name | ast.Subscript) or old in MODELS:
                continue
            changed, own = copied(tree), ast.Name("kept", ast.Load())
            body: Any = _clients(changed)[k].body
            for s in body:
                Put(first, own).visit(Put(call, own).visit(s))
            body[loop].body += ast.parse(f"kept = {ast.unparse(Put(first, own).visit(copied(call)))}").body
            body[loop:loop] = ast.parse(f"kept = {ast.unparse(first)}").body
            yield Rebuilt(f"{said(call)} takes the place of {old} after every local step, not once", old, changed)


def _mixed_too(tree: ast.Module) -> Iterator[Rebuilt]:
    """Another array is mixed beside the models, at the end of a local step."""
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For)]
    for k, loop in enumerate(loops):
        mixing = [call for s in loop.body for call in ast.walk(s) if _mixes(call)]
        mixed = {ast.unparse(call.args[0]) for call in mixing}
        for n in dict.fromkeys(n for s in loop.body for n, _ in assigned(s) if mixing and n not in mixed):
            by = ast.unparse(mixing[-1].args[1])
            changed = copied(tree)
            body = [n for n in ast.walk(changed) if isinstance(n, ast.For)][k].body
            body.append(ast.parse(f"{n} = {by} @ {n}").body[0])
            yield Rebuilt(f"{n} is mixed by {by} too, after each step", n, changed)


def _mixes(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and said(node.func) == "gossip" and len(node.args) == 2


def _hand_on(client: ast.FunctionDef, n: str, field: str, how: str) -> None:
    """Begin a variable, or a field of it, at the value that was handed on, and hand on its last value."""
    first = next(k for k, s in enumerate(client.body) if isinstance(s, ast.For))
    last = max(k for k, s in enumerate(client.body) if isinstance(s, ast.For))
    key = f"({how!r}, {field or n!r}, i)" if how == "client" else f"({how!r}, {field or n!r})"
    whole = f"{n}.{field}" if field else n
    begun = f"replace({n}, {field}=handed({key}, {whole}))" if field else f"handed({key}, {n})"
    client.body.insert(last + 1, ast.parse(f"hand_on({key}, {whole})").body[0])
    client.body.insert(first, ast.parse(f"{n} = {begun}").body[0])


def _of_server(tree: ast.Module, value: ast.expr) -> str:
    """The field of the server's state that an expression begins with, by itself or under a name."""
    outer = tree.body[0]
    named = {n: v for s in getattr(outer, "body", []) for n, v in assigned(s)}
    read = [named.get(n.id, n) if isinstance(n, ast.Name) else n for n in ast.walk(value)]
    fields = {n.attr for n in read if isinstance(n, ast.Attribute) and said(n) != ast.unparse(n)} - {"x"}
    return fields.pop() if len(fields) == 1 else ""


def _take_over(tree: ast.Module, field: str, left: str) -> None:
    """Let the server go on from what the last client left, behind the statement in which the clients run."""
    (outer,) = tree.body
    assert isinstance(outer, ast.FunctionDef)
    for k, s in enumerate(outer.body):
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call) and said(s.value.func) == "each":
            outer.body.insert(k + 1, ast.parse(f"state = taking_over(state, {field!r}, ('round', {left!r}))").body[0])
            return
