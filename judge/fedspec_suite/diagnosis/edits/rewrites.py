"""Edits of a whole function: the state that it returns, statements behind their loop, means and functions in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from fedspec.source_text import copied
from fedspec_suite.diagnosis.edits.edit import swapped
from fedspec_suite.diagnosis.edits.slips import said

STABILISERS = ("eps", "tau")


def rewritten(tree: ast.Module) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield edits of a whole function: the words, the symbol that is affected, and the new tree."""
    yield from _kept_otherwise(tree)
    yield from _behind_its_loop(tree)
    yield from _inside_out(tree)


def _inside_out(tree: ast.Module) -> Iterator[tuple[str, str, ast.Module]]:
    """The mean of a function stands for the function of a mean, or the other way about: w @ log(1 + a)."""
    for statement in (s for way in bodies(tree) for s in at(tree, way)):
        for node in ast.walk(statement):
            turned: list[ast.expr]
            match node:
                case ast.Call(func=ast.Name(), args=[arg], keywords=[]):
                    means = [n for n in ast.walk(arg) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult)]
                    turned = [
                        ast.BinOp(m.left, ast.MatMult(), ast.Call(node.func, [swapped(arg, m, m.right)], []))
                        for m in means
                    ]
                case ast.BinOp(left=w, op=ast.MatMult(), right=ast.Call(func=ast.Name() as f, args=[arg], keywords=[])):
                    turned = [ast.Call(f, [ast.BinOp(w, ast.MatMult(), arg)], [])]
                case _:
                    continue
            for new in turned if len(turned) == 1 else ():
                yield f"{said(new)} stands for {said(node)}", _target(statement), swapped(tree, node, new)


def _kept_otherwise(tree: ast.Module) -> Iterator[tuple[str, str, ast.Module]]:
    """The state keeps a value that the step makes of a moment, for example the corrected moment, not the moment."""
    body = tree.body[0]
    if not isinstance(body, ast.FunctionDef):
        return
    match body.body[-1]:
        case ast.Return(value=ast.Call(keywords=[_, *_] as kept)):
            pass
        case _:
            return
    names = {k.arg: k.value.id for k in kept if k.arg and isinstance(k.value, ast.Name) and k.arg not in {"x", "t"}}
    given = [a.arg for a in (*body.args.args, *body.args.kwonlyargs)]
    hats: dict[str, ast.expr] = {}
    for field, n in names.items():
        made = _made_of(body, n)
        if made is None:
            continue
        if f"{n}_hat" in made:
            hats[field] = made[f"{n}_hat"]
        plus: list[ast.expr] = [ast.BinOp(_name(n), ast.Add(), _name(s)) for s in STABILISERS if s in given]
        plus += [ast.Call(_name("maximum"), [_name(n), _name(s)], []) for s in STABILISERS if s in given]
        for e in {said(e): e for e in (*made.values(), *plus)}.values():
            yield f"{said(e)} is kept as {field}", field, _keeping(tree, {field: e})
    if len(hats) > 1:
        words = " and ".join(f"{said(hat)} as {field}" for field, hat in hats.items())
        yield f"{words} are kept", next(iter(hats)), _keeping(tree, hats)


def _made_of(body: ast.FunctionDef, n: str) -> dict[str, ast.expr] | None:
    """Expressions computed of a vector after its assignment, by name or text; None if the vector isn't assigned."""
    out: dict[str, ast.expr] = {}
    assigned = False
    for statement in body.body:
        target = _target(statement)
        if assigned and isinstance(statement, ast.Assign) and target and target != n:
            value = statement.value
            named = target not in {"x", "y"} and not _of_model(value)
            inside = (e for e in ast.walk(value) if isinstance(e, ast.BinOp | ast.Call) and e is not value)
            found = [e for e in (*inside, *(() if named else (value,))) if _reads(e, n) and not _of_model(e)]
            out |= {said(e): e for e in found}
            if named and _reads(value, n):
                out[target] = _name(target)
        assigned = assigned or target == n
    return out if assigned else None


def _reads(node: ast.AST, n: str) -> bool:
    return any(isinstance(p, ast.Name) and p.id == n and isinstance(p.ctx, ast.Load) for p in ast.walk(node))


def _of_model(node: ast.AST) -> bool:
    return any(isinstance(p, ast.Attribute) and p.attr == "x" for p in ast.walk(node))


def _name(n: str) -> ast.Name:
    return ast.Name(n, ast.Load())


def _keeping(tree: ast.Module, instead: dict[str, ast.expr]) -> ast.Module:
    changed = copied(tree)
    body = changed.body[0]
    assert isinstance(body, ast.FunctionDef)
    last = body.body[-1]
    assert isinstance(last, ast.Return) and isinstance(last.value, ast.Call)
    for k in last.value.keywords:
        if k.arg in instead:
            k.value = instead[k.arg]
    return changed


def _behind_its_loop(tree: ast.Module) -> Iterator[tuple[str, str, ast.Module]]:
    """A statement of a loop is run once behind it."""
    for way in bodies(tree):
        for k, loop in enumerate(at(tree, way)):
            if not isinstance(loop, ast.For) or len(loop.body) < 2:
                continue
            for j, statement in enumerate(loop.body):
                target = _target(statement)
                if not target or not _reads(statement, target) or not _reads_and_writes(loop.body, target, but=j):
                    continue
                changed = copied(tree)
                block = at(changed, way)
                moved = block[k].body.pop(j)  # type: ignore[attr-defined]
                block.insert(k + 1, moved)
                yield f"{_short(statement)} is done once behind the loop, not in every turn", target, changed


def _reads_and_writes(body: Sequence[ast.stmt], target: str, but: int) -> bool:
    """True if another statement of a loop computes the same target from its own value."""
    return any(_target(s) == target and _reads(s, target) for j, s in enumerate(body) if j != but)


def bodies(tree: ast.Module) -> list[tuple[tuple[str, int], ...]]:
    """Return the paths to all lists of statements in the functions."""
    out: list[tuple[tuple[str, int], ...]] = []

    def walk(node: ast.AST, way: tuple[tuple[str, int], ...]) -> None:
        below = getattr(node, "body", None)
        if isinstance(below, list):
            out.append(way)
            for i, child in enumerate(below):
                walk(child, (*way, ("body", i)))

    walk(tree, ())
    return out


def at(tree: ast.Module, way: tuple[tuple[str, int], ...]) -> list[ast.stmt]:
    """Return the body of the node at the end of a path of fields and indices."""
    node: ast.AST = tree
    for field, i in way:
        node = getattr(node, field)[i]
    found: list[ast.stmt] = node.body  # type: ignore[attr-defined]
    return found


def _target(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _short(statement: ast.stmt) -> str:
    """Words for the value that a statement computes; if it puts rows into a stack, the words for these rows."""
    assert isinstance(statement, ast.Assign)
    match statement.value:
        case ast.Call(func=ast.Name(id="put"), args=[_, _, rows]):
            return said(rows)
    return said(statement.value)
