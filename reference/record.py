"""Section 4c, unit `record`: privcube and signcap by listing all 2^k vertices. Vertices are tuples of -1 and 1."""

from itertools import product

import numpy as np
from mpmath import binomial, erfc, exp, floor, mpf, sqrt

SPREAD, LIMIT = mpf("2.5"), 7


def weights(x):
    """w: scale to 2.5 sqrt(k), round (half away from zero), clip to +-7."""
    norm = sqrt(sum(mpf(v) ** 2 for v in x))
    scaled = [SPREAD * sqrt(len(x)) * v / norm if norm else mpf(0) for v in x]
    return [int(max(-LIMIT, min(LIMIT, (1 if v > 0 else -1) * floor(abs(v) + mpf(1) / 2)))) for v in scaled]


def share(epsilon, cap, k):
    """How often a member of the cap is drawn by the excess weight E - 1."""
    excess = (exp(mpf(epsilon)) - 1) * cap
    return excess / (excess + 2**k)


def typical_weights(k):
    """As many of each |w| as a Gaussian vector has: P(|Z| >= (v - 1/2)/2.5) for |w| >= v."""
    at_least = [int(floor(k * erfc((v - mpf(1) / 2) / SPREAD / sqrt(2)) + mpf(1) / 2)) for v in range(1, LIMIT + 1)]
    w = [sum(i < n for n in at_least) for i in range(k)]
    return [max(w[0], 1)] + w[1:]


def privcube_cap(k, epsilon):
    """M: of the caps that end with a level of the typical record, up to half of all vertices, the one with the largest
    share * (mean score)^(3/2)."""
    w = typical_weights(k)
    scores = sorted((sum(a * b for a, b in zip(y, w)) for y in product((-1, 1), repeat=k)), reverse=True)
    caps = [m for m in range(1, 2 ** (k - 1) + 1) if scores[m - 1] > scores[m]]
    merit = lambda m: share(epsilon, m, k) * (mpf(int(np.sum(scores[:m]))) / m) ** mpf("1.5")
    return max(caps, key=merit, default=2 ** (k - 1))


def privcube(w, cap, epsilon):
    """P(y): weight E above t, 1 below, phi E + 1 - phi at t, where t and phi make the cap exactly M vertices."""
    e = exp(mpf(epsilon))
    score = {y: sum(a * b for a, b in zip(y, w)) for y in product((-1, 1), repeat=len(w))}
    t = sorted(score.values(), reverse=True)[cap - 1]
    above, at = sum(s > t for s in score.values()), sum(s == t for s in score.values())
    phi = mpf(cap - above) / at
    total = cap * e + 2 ** len(w) - cap
    return lambda y: (e if score[y] > t else 1 if score[y] < t else phi * e + 1 - phi) / total


def signcap_threshold(k, epsilon):
    """tau above k/2 with the largest share * (mean of 2h - k)^(3/2) over the cap h >= tau."""

    def merit(tau):
        counts = {h: binomial(k, h) for h in range(tau, k + 1)}
        cap = sum(counts.values())
        return share(epsilon, cap, k) * (sum(n * (2 * h - k) for h, n in counts.items()) / cap) ** mpf("1.5")

    return max(range(k, k // 2, -1), key=merit)


def signcap(x, tau, epsilon):
    """P(y): weight E if y agrees with the signs of x (0 is minus) in at least tau places, else 1."""
    k, e = len(x), exp(mpf(epsilon))
    signs = [1 if v > 0 else -1 for v in x]
    cap = sum(binomial(k, h) for h in range(tau, k + 1))
    total = cap * e + 2**k - cap
    return lambda y: (e if sum(a == b for a, b in zip(y, signs)) >= tau else 1) / total
