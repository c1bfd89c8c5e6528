"""The five papers: authors, venue, the version of each that fedspec specifies, and known changes in other versions.

All names of papers come from here: in ``fedspec papers``, the pages and the ledger. The entries were looked up on
2026-11-23 unless they say "not verified".
"""

from __future__ import annotations

from dataclasses import dataclass

from fedspec.errors import UnknownNameError, nearest


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Bibliographic record of a specified paper, with the version that fedspec follows.

    Attributes:
        key: prefix of the ids of the paper's claims and invariants.
        name: the paper's short name here.
        title: title of the version that the specification follows.
        authors: the authors in the paper's order.
        year: year of publication at the venue.
        venue: venue; "preprint" if no venue is known.
        arxiv: number on arXiv; empty if unknown.
        openreview: id on OpenReview; empty if unknown.
        specified: the text that the specification follows.
        later: known changes of other versions; empty if none is known.
        published: the title at the venue, if it differs.
        used: the part of the paper that the catalogue contains.
    """

    key: str
    name: str
    title: str
    authors: tuple[str, ...]
    year: int
    venue: str
    arxiv: str = ""
    openreview: str = ""
    specified: str
    later: str = ""
    published: str = ""
    used: str

    @property
    def cited(self) -> str:
        """Authors, title and venue; if the specified text has another title, that title too."""
        here = f" Specified from an earlier text, {self.title}." if self.published else ""
        return f"{', '.join(self.authors)}. {self.published or self.title}. {self.venue}.{here}"

    @property
    def links(self) -> dict[str, str]:
        """URLs of the paper on arXiv and OpenReview, by id."""
        ids = {
            f"arXiv {self.arxiv}": f"https://arxiv.org/abs/{self.arxiv}",
            f"OpenReview {self.openreview}": f"https://openreview.net/forum?id={self.openreview}",
        }
        return {said: link for said, link in ids.items() if said.split()[1:]}

    @property
    def package(self) -> str:
        """Name of the ledger's package with the paper's claims."""
        return self.key.replace("-", "_")


_FEDADA2 = Paper(
    key="fedada2",
    name="FedAda2",
    title="Efficient Adaptive Federated Optimization",
    authors=("Su Hyeong Lee", "Sidharth Sharma", "Manzil Zaheer", "Tian Li"),
    year=2025,
    venue="NeurIPS 2025",
    arxiv="2410.18117",
    specified="an arXiv version before v3, as ar5iv shows it; v1 or v2: not verified",
    later=(
        "v3 (28 October 2025, NeurIPS 2025) calls the form with SM3 FedAda2++, and FedAda2 the form without it. Here "
        "`fedada2` is the form with SM3 and `joint-local` the one without. Algs. 7 to 9 are 6 to 8 there. The rest of "
        "v3 was not compared"
    ),
    used=(
        "the local solvers AdaGrad, Adam, SM3-I and SM3-II, with and without delayed updates and a dead zone; "
        "`fedada2`, `fedadaadagrad`, `fedadaadam`, `fedblended`; its baselines with joint adaptivity, `joint-local` "
        "and `joint-direct`; `fedavg-normalised` of its appendix; servers with AdaGrad and Adam; private clients "
        "(`dp-fedavg`), in words"
    ),
)

_FED_LAMB = Paper(
    key="fed-lamb",
    name="Fed-LAMB",
    title="Layerwise and Dimensionwise Locally Adaptive Optimization Method",
    authors=("Belhal Karimi", "Ping Li", "Xiaoyun Li"),
    year=2023,
    venue="UAI 2023, PMLR 216:1037-1046",
    arxiv="2110.00532",
    openreview="Q06wKxnHRv",
    specified="an anonymous submission under this title; which arXiv version it is near: not verified",
    later=(
        "arXiv v3 and UAI have another title, and Mime-LAMB beside Fed-LAMB. The authors are those of UAI. The rest "
        "was not compared"
    ),
    published="Fed-LAMB: Layer-wise and Dimension-wise Locally Adaptive Federated Learning",
    used="`fed-lamb`, with its layers; the baselines `fed-ams` and `fed-sgd`, which it does not write out",
)

_AFGA = Paper(
    key="afga",
    name="AFGA",
    title="On the Data Heterogeneity in Adaptive Federated Learning",
    authors=("Yujia Wang", "Jinghui Chen"),
    year=2024,
    venue="TMLR, August 2024",
    openreview="hv7iXsiBZE",
    specified="the text as TMLR published it",
    used=(
        "`fedamsgrad`; `afga`, `cafga` and their communication-adapted forms, which are described in words; "
        "`gossip-fedamsgrad` of its ablation. What it compares with or names (`scaffold`, `feddyn`, `dsgd`, `dadam`, "
        "`gossip-pga`, `fedams`) is external"
    ),
)

_CLIENT_CENTRIC = Paper(
    key="client-centric",
    name="Client-Centric",
    title="Client-Centric Federated Adaptive Optimization",
    authors=("Jianhui Sun", "Xidong Wu", "Heng Huang", "Aidong Zhang"),
    year=2025,
    venue="Preprint, January 2025",
    arxiv="2501.09946",
    specified="a text with a publisher's placeholders for a venue; whether it is v1: not verified",
    used=(
        "its Algorithm 3, `cc-fedavg` to `cc-fedams`. The boxes of its servers are lost in the conversion; they follow "
        "its text. `fedbuff` and `fedasync`, which it names, are external"
    ),
)

_FEDNOVA = Paper(
    key="fednova",
    name="FedNova",
    title="Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization",
    authors=("Jianyu Wang", "Qinghua Liu", "Hao Liang", "Gauri Joshi", "H. Vincent Poor"),
    year=2020,
    venue="NeurIPS 2020",
    arxiv="2007.07481",
    specified="the arXiv text, by its abstract",
    later="The abstract in the proceedings begins with other words. The rest was not compared",
    used=(
        "the local solvers with their accumulation vectors; `fedavg`, `fedprox` and `fednova` in one rule; sampled "
        "clients, server momentum, cross-client variance reduction, Algorithm 2 as printed and repaired. `vrl-sgd`, "
        "which it runs, is external"
    ),
)

PAPERS: dict[str, Paper] = {p.key: p for p in (_FEDADA2, _FED_LAMB, _AFGA, _CLIENT_CENTRIC, _FEDNOVA)}
"""The papers by key, in listing order."""


def find(key: str) -> Paper:
    """Return the paper with that key, ignoring case.

    Raises:
        UnknownNameError: no paper has that key.
    """
    known = key.lower()
    if known not in PAPERS:
        raise UnknownNameError(f"paper: got {key!r}; {nearest(known, PAPERS)}choose one of {', '.join(PAPERS)}")
    return PAPERS[known]
