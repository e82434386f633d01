"""How much noise, how many flips: the paper's equations and the corrections of docs/mechanisms.md, with 50 digits.

Every function names what it transcribes. [LL23] is Li and Li; section numbers alone are those of docs/mechanisms.md.
"""

from mpmath import asin, binomial, ceil, erfc, exp, floor, inf, log, mp, mpf, pi, quad, sqrt

mp.dps = 50


def upper_tail(x):
    """P(Z > x)."""
    return erfc(x / sqrt(2)) / 2


def bisect(low, high, holds):
    """The border between `holds` (at high) and not (at low), to all digits."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# Gaussian noise


def gaussian_delta(epsilon, delta_2, sigma):
    """[LL23] Theorem 3.5, left side: Phi(D/2s - e s/D) - e^e Phi(-D/2s - e s/D)."""
    a, b = delta_2 / (2 * sigma), epsilon * sigma / delta_2
    return upper_tail(b - a) - exp(epsilon) * upper_tail(a + b)


def sigma_optimal(epsilon, delta, delta_2):
    """[LL23] Theorem 3.5: the least sigma."""
    return bisect(mpf(delta_2) / 1000, mpf(delta_2) * 10**6, lambda s: gaussian_delta(epsilon, delta_2, s) <= delta)


def sigma_kenthapadi(epsilon, delta, delta_2):
    """[LL23] Theorem 3.1."""
    return delta_2 * sqrt(2 * (log(1 / delta) + epsilon)) / epsilon


def sigma_analytic(epsilon, delta, p, k, beta):
    """[LL23] Theorem 3.4: Lemma 3.3 at delta/2, then Theorem 3.1 at delta/2."""
    t = log(2 * p / delta) / k
    return sigma_kenthapadi(epsilon, delta / 2, beta * sqrt(1 + 2 * sqrt(t) + 2 * t))


# Staircase noise


def staircase_variance(b, period, r):
    """E n^2 of P(n) proportional to b^(number of falls up to |n|), falls at r, r + B, r + 2B, ... (section 3)."""
    weight = lambda n: b ** ((n + period - r) // period)
    # From one period to the next the weights fall by b, so sums of n^j over all periods follow from those over one.
    s = [sum(weight(n) * mpf(n) ** j for n in range(period)) for j in (0, 1, 2)]
    g = [1 / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3]  # sums of q^j b^q
    square = s[2] * g[0] + 2 * period * s[1] * g[1] + period**2 * s[0] * g[2]
    return 2 * square / (2 * s[0] * g[0] - 1)


def staircase_width(epsilon, period):
    """The r of least variance, by trying all."""
    return min(range(1, period + 1), key=lambda r: staircase_variance(exp(-epsilon), period, r))


# Signs


def kov_delta(k, epsilon_0, epsilon):
    """Kairouz, Oh, Viswanath: delta at epsilon of k bits that are each epsilon_0-DP."""
    keep = exp(epsilon_0) / (1 + exp(epsilon_0))
    terms = (
        binomial(k, l) * max(keep ** (k - l) * (1 - keep) ** l - exp(epsilon) * keep**l * (1 - keep) ** (k - l), 0)
        for l in range(k + 1)
    )
    return sum(terms, mpf(0))


def kov_epsilon(k, epsilon, delta):
    """The largest epsilon_0."""
    return bisect(mpf(64), mpf(epsilon) / k, lambda e: kov_delta(k, e, epsilon) <= delta)


def sign_change_probability(beta, m):
    """Section 4: 2 asin(beta/2m)/pi, the angle between neighbours of norm at least m, over pi."""
    return 2 * asin(beta / (2 * m)) / pi


def fixed_point_slack(p):
    """What weights with 16 fraction bits add to it: see docs/guarantees.md."""
    s = 6
    near_zero = mpf(8) / 10 * s / 2**16 + 2 * exp(-mpf(s) ** 2 / 2)
    return 2 * near_zero + p * mpf(2) ** -60


def tight_delta(k, q, epsilon_prime, epsilon):
    """Section 4: E over s ~ Bin(k, q) of the delta of s-fold randomized response."""
    return sum(binomial(k, s) * q**s * (1 - q) ** (k - s) * kov_delta(s, epsilon_prime, epsilon) for s in range(k + 1))


def tight_epsilon(k, q, epsilon, delta):
    """The largest epsilon', at most 64."""
    return bisect(mpf(64), mpf(epsilon) / k, lambda e: tight_delta(k, q, e, epsilon) <= delta)


def n_plus(r, p, k, delta):
    """[LL23] Proposition 4.5 with P_+ of Lemma 4.3, eq. (p-vars-prob-bound)."""
    inside = lambda t: 1 - 2 * upper_tail(t)
    density = lambda t: 2 * p * inside(t) ** (p - 1) * inside(r * t) * exp(-t * t / 2) / sqrt(2 * pi)
    f, l = quad(density, [0, 1, 2, 4, 8, 16, inf]), log(1 / delta)
    return min(f * k + (l + sqrt(l * l + 8 * f * k * l)) / 2, mpf(k))


def flip_rr(level, epsilon):
    """[LL23] Algorithms 6, 8, 11: 1/(1 + e^epsilon), a fair coin at 0."""
    return 1 / (1 + exp(epsilon)) if level else mpf(1) / 2


def flip_smooth(level, epsilon):
    """[LL23] Algorithms 7, 8: 1/(1 + e^(L epsilon))."""
    return 1 / (1 + exp(level * epsilon))


def flip_ceil(level, epsilon):
    """Section 4, the ceil rule: e^(-(L-1) epsilon)/(1 + e^epsilon), a fair coin at 0."""
    return exp(-(level - 1) * epsilon) / (1 + exp(epsilon)) if level else mpf(1) / 2


# Integers over 2^64, rounded toward more noise


def ratio_up(exponent):
    """ceil(2^64 e^-x)."""
    return int(ceil(exp(-mpf(exponent)) * 2**64))


def odds_down(epsilon):
    """floor(2^64 e^epsilon)."""
    return int(floor(exp(mpf(epsilon)) * 2**64))
