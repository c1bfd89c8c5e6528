"""Addresses of the papers that the catalogue's rows and reductions cite, by the words of the citation.

The numbers were compared with pages that show title and number, on 2026-11-30. Two papers of the same authors and year
need different words: a row cites "Karimireddy et al. (2020), Mime" beside "Karimireddy et al. (2020)", which is
SCAFFOLD.
"""

from __future__ import annotations

import re

from fedspec.papers import PAPERS

ARXIV: dict[str, tuple[str, ...]] = {
    "1602.05629": ("McMahan et al. (2017)",),
    "1607.03218": ("Nedic, Olshevsky and Shi (2017)",),
    "1610.02132": ("Alistarh et al. (2017)",),
    "1702.05122": ("Yuan et al. (2018)",),
    "1703.02757": ("Blanchard et al. (2017)",),
    "1705.09056": ("Lian et al. (2017)",),
    "1710.06963": ("McMahan et al. (2018)",),
    "1711.05101": ("Loshchilov and Hutter (2019)",),
    "1803.01498": ("Yin et al. (2018)",),
    "1803.07068": ("Tang, Lian, Yan, Zhang and Liu (2018)", "Tang et al. (2018)"),
    "1812.06127": ("Li et al. (2020)",),
    "1812.07108": ("Ji et al. (2019)",),
    "1901.09109": ("Nazari et al. (2019)",),
    "1902.00340": ("Koloskova, Stich and Jaggi (2019)",),
    "1903.03934": ("Xie, Koyejo and Gupta (2019)", "Xie et al. (2019)"),
    "1904.00962": ("You et al. (2020)",),
    "1904.09237": ("Reddi, Kale and Kumar (2018)",),
    "1905.10497": ("Li, Sanjabi, Beirami and Smith (2020)",),
    "1909.06335": ("Hsu, Qi and Brown (2019)",),
    "1909.13014": ("Reisizadeh et al. (2020)",),
    "1910.00643": ("Wang, Tantia, Ballas and Rabbat (2020)",),
    "1910.06378": ("Karimireddy et al. (2020)",),
    "1912.12844": ("Liang et al. (2019)",),
    "1912.13445": ("Pillutla, Kakade and Harchaoui (2022)",),
    "2002.02090": ("Huo, Yang, Gu and Huang (2020)",),
    "2003.00295": ("Reddi et al. (2021)",),
    "2005.11418": ("Zhang, Hong, Dhople, Yin and Liu (2021)",),
    "2008.03606": ("Karimireddy et al. (2020), Mime",),
    "2012.10333": ("Karimireddy, He and Jaggi (2021)",),
    "2105.09080": ("Chen, Yuan et al. (2021)",),
    "2106.04159": ("Gu, Huang, Zhang and Huang (2021)", "Gu et al. (2021)"),
    "2106.05203": ("Richtarik, Sokolov and Fatkhullin (2021)",),
    "2106.06639": ("Nguyen et al. (2022)",),
    "2106.10874": ("Xu, Wang, Wang and Yao (2021)",),
    "2109.03194": ("Chen, Karimi, Zhao and Li (2021)",),
    "2111.04263": ("Acar et al. (2021)",),
    "2202.09357": ("Mishchenko, Malinovsky, Stich and Richtarik (2022)", "Mishchenko et al. (2022)"),
    "2203.11834": ("Caldarola, Caputo and Ciccone (2022)",),
    "2205.02719": ("Wang, Lin and Chen (2022)",),
    "2206.02618": ("Qu et al. (2022)",),
    "2301.01313": ("Liu, Lin, Koloskova and Stich (2024)",),
    "2301.09604": ("Jhunjhunwala, Wang and Joshi (2023)",),
    "2302.00620": ("Alghunaim (2024)",),
    "2311.08105": ("Douillard et al. (2023)",),
    "2401.09135": ("Liu et al. (2024)",),
    "2407.18365": ("Wang, Wang, Lu and Chen (2024)",),
    "2501.18512": ("Douillard et al. (2025)",),
    "2505.23725": ("Therien et al. (2025)",),
}
"""Words of each citation, by the paper's number on arXiv."""

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "https://doi.org/10.1145/3412815.3416891": ("Chen, Li and Li (2020)",),
    "https://doi.org/10.1561/2200000051": ("Sayed (2014)",),
    "https://kellerjordan.github.io/posts/muon": ("Jordan et al. (2024)",),
    "https://papers.nips.cc/paper/8186-adaptive-methods-for-nonconvex-optimization": ("Zaheer et al. (2018)",),
    "https://proceedings.mlr.press/v28/sutskever13.html": ("Sutskever et al. (2013)",),
}
"""Words of each citation of a paper that is not linked on arXiv, by address."""

ADDRESSES: dict[str, str] = {
    **{words: f"https://arxiv.org/abs/{number}" for number, all_ in ARXIV.items() for words in all_},
    **{words: address for address, all_ in ELSEWHERE.items() for words in all_},
    **{paper.name: next(iter(paper.links.values())) for paper in PAPERS.values()},
}
"""Address of each cited paper by the words of the citation; the five papers by their names."""

CITATION = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(ADDRESSES, key=len, reverse=True)))})(?![\w-])")
"""Pattern of all citations; of several that fit, the longest wins."""


def links(text: str) -> dict[str, str]:
    """Return the addresses of the papers that a text cites, by the words of the citation."""
    return {words: ADDRESSES[words] for words in CITATION.findall(text)}
