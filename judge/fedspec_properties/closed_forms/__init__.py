"""Closed forms: every model as a sum over the whole history, in place of the rules' recursions.

==================  =================================================================================================
``servers``         FedAvg, FedProx, FedAvgM, FedNova, FedNova with momentum, FedAdagrad, FedAdam, FedYogi, FedAMSGrad,
                    FedAMS; FedExP, median, trimmed mean, Krum, Multi-Krum, geometric median, centred clipping
``fedatt``          FedAtt
``solvers``         the local solvers: SGD, proximal, momentum, AdaGrad, Adam, AdamW, Yogi, AMSGrad, SM3, normalised,
                    LAMB
``delayed_solvers``  FedAda2's local solvers, whose preconditioner waits z steps
``fedada2``         FedAda2 and its baselines, dp-FedAvg, normalised FedAvg
``fed_lamb``        Fed-LAMB, Fed-AMS, LAMB
``affine_rounds``   SCAFFOLD, FedDyn, VRL-SGD and the FedNovas with memory or sampling, on quadratics
``rates``           FedAvg, FedProx, FedNova, SCAFFOLD, FedBuff on linear objectives, each client at a rate of its own
``asynchronous``    the client-centric family, FedBuff, FedAsync, delayed Nesterov
``diloco``          DiLoCo, and streaming DiLoCo, whose clients are the same
``peers``           decentralised SGD and Gossip-PGA on linear objectives: the mean of all models
``adaptive``        what the adaptive ones share: AdaGrad, Adam, Yogi, AMSGrad as sums
==================  =================================================================================================

They are the second route of the laws, and share no code with the rules but arithmetic and covers.
"""
