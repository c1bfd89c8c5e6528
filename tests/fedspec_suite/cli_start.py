"""What the command ``fedspec`` starts with: it needs nothing, so that it can say what is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("hypothesis", "rich", "typer")


def main() -> None:
    """Run the command, or say what to install."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        sys.stderr.write(
            f"fedspec: the command needs {', '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed; pip install 'fedspec[suite]', "
            "or run it as: uvx --from 'fedspec[suite]' fedspec\n"
        )
        raise SystemExit(2)
    from fedspec_suite.cli import main as run

    run()
