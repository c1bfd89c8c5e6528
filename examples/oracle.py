"""Use of the specification as an oracle: the same rule on floats and on exact fractions."""

from fractions import Fraction

import numpy as np

from fedspec.server.amsgrad import amsgrad, init

floats = init(np.array([1.0, -2.0]))
floats = amsgrad(floats, np.array([0.6, 0.0]), eta=0.1, beta1=0.9, beta2=0.99, eps=0.0064)
print(floats.x, floats.v_hat)

F = Fraction
exact = init(np.array([F(1), F(-2)]))
exact = amsgrad(exact, np.array([F(3, 5), F(0)]), eta=F(1, 10), beta1=F(9, 10), beta2=F(99, 100), eps=F(64, 10000))
print(exact.x, exact.v_hat)
