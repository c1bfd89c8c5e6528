"""fedspec_torch: fedspec's update rules in torch; a batch axis holds the clients.

* ``Federation``: a module, a loss and the clients' data as a population that any algorithm can train.
* ``partition``: who has which examples of a data set; ``read_leaf``, ``read_table``: of local files.
* ``simulate``, ``resume``: a run of an algorithm of the catalogue, round by round; ``Run.save`` writes it to a file,
  ``Stop`` ends it early.
* ``privacy``: the guarantee (epsilon, delta) of a run whose server adds noise.
* ``tune``: hyper-parameters chosen on data that are held out.
* ``cohorts``, ``exchanges``, ``arrivals``: who takes part when; ``epochs``, ``each_round``, ``for_clients``: with how
  many local steps.
* ``by_round``: rates that change from round to round.
* ``population``: the clients of a round in blocks; the algorithms are the specification's own text.
* ``subject``: all of it behind the subject contract, so that the suite can judge it.

Functions, fields and equations have the same names as in ``fedspec``; readings, covers, plans and hyper-parameter
records are fedspec's own. No random draw depends on a moving state: each draw of a round is a function of a seed and
the round's number. Results have the dtype and the device of the inputs.
"""

from fedspec_torch.data import partition
from fedspec_torch.data.files import read_leaf, read_table
from fedspec_torch.federation.federation import Federation, LossError, ModuleError
from fedspec_torch.ranks.processes import RankError
from fedspec_torch.refusals import DataError
from fedspec_torch.run import by_round
from fedspec_torch.run.checkpoints import CheckpointError
from fedspec_torch.run.divergence import DivergedError
from fedspec_torch.run.early_stopping import Stop
from fedspec_torch.run.local_work import each_round, epochs, for_clients
from fedspec_torch.run.privacy import Privacy, PrivacyError, privacy
from fedspec_torch.run.runs import Round, Run
from fedspec_torch.run.schedules import arrivals, cohorts, exchanges
from fedspec_torch.run.simulation import resume, simulate
from fedspec_torch.run.trial_log import Trial
from fedspec_torch.run.tuning import Tuning, tune

__all__ = [
    "CheckpointError",
    "DataError",
    "DivergedError",
    "Federation",
    "LossError",
    "ModuleError",
    "Privacy",
    "PrivacyError",
    "RankError",
    "Round",
    "Run",
    "Stop",
    "Trial",
    "Tuning",
    "arrivals",
    "by_round",
    "cohorts",
    "each_round",
    "epochs",
    "exchanges",
    "for_clients",
    "partition",
    "privacy",
    "read_leaf",
    "read_table",
    "resume",
    "simulate",
    "tune",
]

__version__ = "0.1.0"
