"""Subjects whose info is not what it should be; the implementations behind them are right."""

from __future__ import annotations

from right import DOUBLE, MCMAHAN, FedAvg, Subject

from fedspec.contract import Offer, SubjectInfo

OFFER = Offer("fedavg", "server", MCMAHAN, dtypes=DOUBLE)

# The comma that makes a tuple of one offer is missing.
no_comma = Subject(FedAvg, OFFER)
no_comma.info = SubjectInfo("no comma", "1", offers=OFFER)

numbered = Subject(FedAvg, OFFER)
numbered.info = SubjectInfo("numbered", 1.0, offers=(OFFER,))
