"""Front page: the README's first sentence, diagnosis and install lines, the packages, and links for each reader."""

from __future__ import annotations

import re

from fedspec.catalogue import CATALOGUE
from fedspec.papers import PAPERS
from fedspec_proofs import ledger
from fedspec_site import results, verdicts
from fedspec_site.writing import ROOT, Source
from fedspec_suite.report.badges import CONFORMS
from fedspec_torch import recipes


def readme() -> dict[str, object]:
    """Extract from the README its first sentence, the rest of that paragraph, the install lines, a command and its
    output.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    sentence, _, more = " ".join(text.split("\n\n")[1].split()).partition(". ")
    section = text.partition("\n## Install\n")[2].partition("\n## ")[0]
    install = re.findall(r"^\| (.*) \| `(.*)` \|$", section, re.MULTILINE)
    asked = re.search(r"^```\n\$ (fedspec check [^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if not (install and asked):
        raise ValueError(
            "README.md: it needs a table below `## Install`, and a block that begins with `$ fedspec check`"
        )
    answer = [line for line in asked[2].splitlines() if line != "..."]
    return dict(sentence=f"{sentence}.", more=more, install=install, asked=asked[1], answer=answer)


def write(source: Source) -> None:
    """Write the page."""
    kinds = [o.kind for o in results.offers()]
    packages = results.by_package()
    source.page(
        "index",
        "index",
        readme=readme(),
        packages={
            name: (mine[0], dict(verdicts.count_kinds([o.kind for o in mine]))) for name, mine in packages.items()
        },
        kinds=[kind for kind in verdicts.KINDS if kind in kinds],
        counts={
            "algorithms": len(CATALOGUE),
            "packages": len(packages),
            "claims": len(kinds),
            "conforming": kinds.count(CONFORMS),
            "papers": len(PAPERS),
            "statements": len(ledger.claims()),
            "refuted": sum(c.verdict == "refuted" and c.printed for c in ledger.claims().values()),
            "recipes": len(recipes.names()),
        },
    )
