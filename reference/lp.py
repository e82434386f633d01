"""How close are the closed-form symbol tables to the best that any epsilon-DP table can do?

One bin of OPORP is a one-dimensional problem: a table P(y|x) with P(y|x) <= e^epsilon P(y|x') whenever |x-x'| <= beta.
For fixed symbol values v the least squared error over all such tables is a linear program; alternating it with
v = posterior means climbs to a best table (several starts). Ours must reach 97% of its correlation with x.
Needs numpy and scipy. Prints "N passed, M failed".
"""

import sys

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

B = 7  # grid steps of beta: odd, so that no bin lies halfway between lattice points


def prior(scale, empty, gaussian):
    """Bins on the grid, in steps: a share `empty` at 0, the rest of deviation `scale` betas."""
    x = np.arange(-round(4 * scale * B) - 1, round(4 * scale * B) + 2)
    t = np.abs(x) / (scale * B)
    weight = np.exp(-t * t / 2) if gaussian else np.exp(-np.sqrt(2) * t)
    p = (1 - empty) * weight / weight.sum()
    p[x == 0] += empty
    return x, p


def correlation(x, p, table):
    """Of x and the posterior mean of its symbol."""
    mass = p @ table
    mean = (p * x) @ table / np.maximum(mass, 1e-300)
    return np.sqrt((mass * mean * mean).sum() / (p * x * x).sum()), mean


def best_table(x, p, values, epsilon, reach):
    """The linear program: least E(x - v_y)^2 over all tables that are epsilon-DP for |x-x'| <= reach."""
    n, m = len(x), len(values)
    cost = -(p[:, None] * (x[:, None] * values - values**2 / 2)).ravel()
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and abs(x[i] - x[j]) <= reach]
    first, second = np.array(pairs).T
    rows = np.arange(len(pairs) * m)
    index = lambda at: (at[:, None] * m + np.arange(m)).ravel()
    above = coo_matrix((np.ones(len(rows)), (rows, index(first))), shape=(len(rows), n * m))
    above -= coo_matrix((np.full(len(rows), np.exp(epsilon)), (rows, index(second))), shape=(len(rows), n * m))
    sums = coo_matrix((np.ones(n * m), (np.repeat(np.arange(n), m), np.arange(n * m))), shape=(n, n * m))
    found = linprog(cost, A_ub=above.tocsr(), b_ub=np.zeros(len(rows)), A_eq=sums.tocsr(), b_eq=np.ones(n), bounds=(0, 1))
    return found.x.reshape(n, m)


def climb(x, p, values, epsilon, reach):
    """Alternates the linear program and the posterior means."""
    best = 0.0
    for _ in range(6):
        rho, values = correlation(x, p, best_table(x, p, values, epsilon, reach))
        if rho < best * 1.0005:
            break
        best = rho
    return max(best, rho)


def bit(x, epsilon, b):
    j = np.ceil((x - b) / B)
    small = np.exp(-np.maximum(j - 1, -j) * epsilon) / (1 + np.exp(epsilon))
    return np.where((j >= 1)[:, None], np.stack([small, 1 - small], 1), np.stack([1 - small, small], 1))


def lattice(x, epsilon, m, r, high, width):
    point = np.sign(x) * np.ceil(np.abs(x) * r / B - 0.5)
    n = np.arange(-60 * r, 60 * r + 1)
    law = np.exp(-epsilon * (np.abs(n) // r + (np.abs(n) % r >= high)))
    law /= law.sum()
    cell = np.clip((point[:, None] + n + (width - 1) // 2) // width + (m - 1) // 2, 0, m - 1).astype(int)
    return np.stack([(law * (cell == y)).sum(1) for y in range(m)], 1)


def zones(x, epsilon, cuts):
    m = len(cuts) + 1
    zone = np.searchsorted(cuts, x)
    return np.where(zone[:, None] == np.arange(m), np.exp(epsilon), 1.0) / (np.exp(epsilon) + m - 1)


def menu(x, epsilon, m, scale):
    """Our closed forms with up to m symbols. (A bit over all values alike is randomized response.)"""
    bits = [bit(x, epsilon, b) for b in (0, 0.25 * B)] + [zones(x, epsilon, [0.5])]
    if m == 2:
        return bits
    tables = bits + [lattice(x, epsilon, m, r, high, w) for r in (1, 2, 3) for high in range(1, r + 1) for w in (1, 3, 5)]
    inner = [c * scale * B for c in (0.01, 0.25, 0.5, 0.75, 1.0)]
    return tables + [zones(x, epsilon, [-c, c]) for c in inner]


def holds(x, table, epsilon, reach):
    near = np.abs(x[:, None] - x) <= reach
    return all((near * table[:, y][:, None] <= near * np.exp(epsilon) * table[:, y] * (1 + 1e-9)).all() for y in range(table.shape[1]))


CASES = [
    # name, deviation in betas, share of empty bins, Gaussian, beta covers everything
    ("images, k=256", 0.7, 0.25, True, False),
    ("images, k=64", 1.2, 0.05, True, False),
    ("sparse counts", 0.35, 0.5, False, False),
    ("embeddings, beta = range", 0.3, 0.0, True, True),
]


def main():
    passed = failed = 0
    for name, scale, empty, gaussian, everything in CASES:
        x, p = prior(scale, empty, gaussian)
        reach = 2 * len(x) if everything else B
        for epsilon in (1.0, 3.0, 5.0):
            for m in (2, 3):
                ours = []
                for table in menu(x, epsilon, m, scale):
                    if everything and not holds(x, table, epsilon, reach):
                        continue  # bit and lattice rely on beta
                    assert holds(x, table, epsilon, reach), "a closed form is not DP"
                    ours.append((correlation(x, p, table)[0], table))
                rho, table = max(ours, key=lambda pair: pair[0])
                full = max((pair for pair in ours if pair[1].shape[1] == m), key=lambda pair: pair[0])[1]
                starts = [correlation(x, p, full)[1], np.linspace(-1.2, 1.2, m) * scale * B, np.linspace(-0.6, 0.6, m) * scale * B]
                best = max([climb(x, p, values, epsilon, reach) for values in starts] + [rho])
                ok = rho >= 0.97 * best
                passed, failed = passed + ok, failed + (not ok)
                print(f"{'ok  ' if ok else 'FAIL'} {name}, epsilon {epsilon:g}, {m} symbols: {rho:.4f} of {best:.4f} ({rho / best:.1%})", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
