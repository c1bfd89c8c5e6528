"""Exact worst cases of rounds of linear methods, as reported in docs/worst-cases.md.

A module has a record of what is asked and ``problem_of``, what is to be proved of it. A file of its name keeps the
numbers of the page, with what proves them. Nothing here needs a solver; :mod:`.search` finds what is kept.

* Rounds of a server: :mod:`.one_round`, :mod:`.several_rounds`; of any algorithm, peers too: :mod:`.any_rounds`.
* Every local rate: :mod:`.between_rates` of FedNova, :mod:`.following_rates` and :mod:`.parabolas` of other methods.
* Servers with coefficients of their own (:mod:`.coefficients`), or that keep something (:mod:`.outer`).
* Peers who mix by a given matrix (:mod:`.exchanges`), or by any of a class (:mod:`.spectral`).
* Any compressor of a class (:mod:`.compressed`), any number of clients (:mod:`.more_clients`).
* Rows of the page's tables (:mod:`.tabled`), and claims about them that two papers have (:mod:`.outer_claims`).
"""
