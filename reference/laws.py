"""The exact law of one output coordinate, from the ideal numbers (not from the integers that run)."""

from fractions import Fraction
from functools import cache

from mpmath import exp, mpf

from calibration import staircase_width, upper_tail


def laplace(epsilon, sensitivity):
    """Section 3: P(n) proportional to a^|n|, a = e^(-epsilon/B)."""
    a = exp(-mpf(epsilon) / sensitivity)
    return lambda n: (1 - a) / (1 + a) * a ** abs(n)


def staircase(epsilon, sensitivity, r=None):
    """Section 3: high for the first r of every B values, then low; the next B values lower by b = e^-epsilon."""
    b, period = exp(-mpf(epsilon)), sensitivity
    r = r or staircase_width(epsilon, period)
    total = 2 * (r + b * (period - r)) / (1 - b) - 1
    return lambda n: b ** (abs(n) // period) * (1 if abs(n) % period < r else b) / total


def rounded_gaussian(sigma):
    """Section 3: P(N = n) = Phi((n+1/2)/sigma) - Phi((n-1/2)/sigma), as a difference of upper tails."""
    tail = lambda n: upper_tail((n - mpf(1) / 2) / sigma)
    return lambda n: tail(abs(n)) - tail(abs(n) + 1)


def symbol_row(weights, epsilon):
    """Section 4b: mix 2^-16 of the uniform law, floor over 2^32, the rest to the (first) largest entry.

    Over 2^62, with 2^-40 above epsilon 8; below 1/64 with 2^-16, where a unit of 2^-32 would exceed the margin.
    """
    bits, mixed = (62, 40) if epsilon > 8 else (62, 16) if epsilon < mpf(1) / 64 else (32, 16)
    share, total, m = mpf(2) ** -mixed, sum(weights), len(weights)
    row = [int(2**bits * ((1 - share) * w / total + share / m)) for w in weights]
    row[row.index(max(row))] += 2**bits - sum(row)
    return bits, row


@cache
def lattice_row(q, steps, per_beta, symbols, width, epsilon):
    """Section 4b: J = sign(q) ceil(|q| r/B - 1/2), plus staircase noise for sensitivity r, then the cell of J + n.

    Cells are `width` lattice points; the one around 0 is number (m-1)//2; the first and the last are unbounded.
    """
    size = -(-(Fraction(2 * abs(q) * per_beta, steps) - 1) // 2)
    point = int(size if q >= 0 else -size)
    noise = staircase(epsilon, per_beta)
    centre = (symbols - 1) // 2
    first = lambda cell: (cell - centre) * width - (width - 1) // 2  # the least lattice point of a cell
    far = int(150 / epsilon + 2) * per_beta + symbols * width + abs(point)  # beyond it the noise is below e^-150
    weights = [mpf(0)] * symbols
    for y in range(point - far, point + far + 1):
        cell = max((c for c in range(symbols) if y >= first(c)), default=0)
        weights[cell] += noise(y - point)
    return symbol_row(weights, epsilon)


def zones_row(q, cuts, epsilon):
    """Section 4b: E/(E+m-1) to stay in the zone, 1/(E+m-1) for any other. A cut is the first q beyond it."""
    zone = sum(q >= cut for cut in cuts)
    return symbol_row([exp(mpf(epsilon)) if y == zone else mpf(1) for y in range(len(cuts) + 1)], epsilon)
