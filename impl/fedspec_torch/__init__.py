"""fedspec_torch: the rules of fedspec in torch, with a batch axis over the clients.

* ``client``: one local step of n clients at once, on stacks [n, d], with a mask of the clients that still work.
* ``mixing``: what the server makes of the clients' changes, one matrix product a block of clients.
* ``server``: one step of the global model, on vectors [d].
* ``algorithms``: published algorithms and the round that runs local training block by block.
* ``subject``: all of it behind the subject contract, so that the suite can judge it.

Functions, fields and equations have the names they have in ``fedspec``; readings, covers, plans and hyper-parameter
records are fedspec's own. Nothing is drawn at random, no input is written to (unless it is named as ``out``), results
have the dtype and the device of the inputs. Hyper-parameters are checked by the records of the algorithms, not by
the rules.
"""

__version__ = "0.1.0"
