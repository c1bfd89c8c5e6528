"""Sentences that the rows of several algorithms share."""

DOWNHILL = "Delta points downhill and the server adds it; subtracting climbs"
TAU_OUTSIDE = "tau stands outside the root, and v_0 >= tau^2 besides"
NO_CORRECTION = "there is no bias correction"
ANCHOR_IS_OLD = "the anchor is the model that the round began with, not the moving one"
FIRST_OF_EVERY_Z = "updates come at steps 1, z + 1, 2z + 1, ..., not at z, 2z, ..."
PRINTED_MU_0 = (
    "v_0 belongs into mu_0 (L752); the print never reads it (L672, L695), has mu_0 = 0 or none (L704, L720), and so "
    "runs as with v_0 = 0"
)
DEAD_ZONE = "eps_s is a dead zone of the whole step, by its Euclidean length: neither gradient clipping nor DP clipping"
V_IS_NEW = "the step divides by the second moment that already holds this gradient"
EPS_OUTSIDE = "eps stands outside the root"
DRAWN_TWICE = "a client drawn twice counts twice, in the sum and in |S|"
LAST_GOSSIP = "Delta_i is taken after the last exchange"
EPS_INSIDE = "eps stands inside the root, after the maximum is taken"
DOUBLY_STOCHASTIC = "W is doubly stochastic: rows alone lose the mean, columns alone the consensus"
OLD_MODEL = "the whole local run and Delta_i belong to the model that was downloaded, not to the present one"
EVERYONE = "everybody takes part in every round: what a client that sits out should add is undefined"
LAGGED_V_HAT = "v_hat is that of the round before, the same for all clients and all local steps"
MEAN_THEN_MAX = "the maximum is taken with the mean of the clients' v, not the mean of maxima"
DIVISOR = "the means are over the participants; the printed 1/n shrinks model and moments under sampling"
NU_IS_SPARE = "with z = 1, or in the reading memory-frugal, nu need not be kept and d less is enough"
HEARD_FROM_NEIGHBOURS = (
    "the n - m clients that do not send hear the model from a neighbour, which takes d each at least"
)
BUFFER_IS_A_SUM = "the server keeps the sum of its buffer; a client keeps the model it began from"
LOCAL_FRESH = "local moments start afresh each round; only the server remembers"
WARM_UP = "the rate rises from step 1 of every round: eta_l k / warm_up at step k, eta_l from step warm_up on (L1663)"
XI = "changes times Xi_i are divided by |S|, not by the sum of the Xi_i"
CARRIED_EXPONENT = (
    "t counts all gradients that the moments hold; counted from 1 in every round, over moments that are carried on, "
    "the first steps of later rounds come out up to 1 / (1 - beta1) times too long"
)
