"""Every mechanism of docs/mechanisms.md section 4, slowly: public parameters and a row in, the exact law of the output.

    pip install numpy mpmath
    python reference/mechanisms.py [FILE]    # writes crates/scumble-core/tests/vectors/v1/mechanisms.json (seconds)

Written from docs/mechanisms.md, the paper ([LL23], algorithms and equations by number) and docs/, not from the Rust code.
Numbers are ideal: what runs is rounded toward more noise, and tests/it/reference.rs states by how much it may differ.
Conventions that neither text fixes: the automatic grid of the sign and symbol mechanisms gives beta 255 steps or more,
but never a step above 1; 16 fraction bits of Gaussian weights and 7 of uniform ones are rounded away before noise.
"""

import hashlib
import json
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from mpmath import ceil, exp, floor, mp, mpf, sqrt

import calibration as c
import laws
import record
import structure
from projection import matrix

VECTORS = Path(__file__).parent.parent / "crates/scumble-core/tests/vectors/v1/mechanisms.json"
SEED = bytes((89 * i + 7) % 256 for i in range(32))
FRACTION_BITS = {"gaussian": 16, "uniform": 7}


def text(x, digits=40):
    """Decimal digits without an exponent."""
    return mp.nstr(mpf(x), digits, min_fixed=-mp.inf, max_fixed=mp.inf)


class Setup:
    """Public parameters, and what every algorithm derives from them."""

    def __init__(self, parameters, default_projection):
        self.__dict__.update(k=parameters["dim"], repeats=1, delta=None, unit="attribute", projection=None)
        self.__dict__.update(grid_exponent=None, sketch_clip=None, thresholds=[], signrp_mode="tight", symbols=3, purpose=None)
        self.__dict__.update(parameters)
        self.lo, self.hi = parameters["range"]["lo"], parameters["range"]["hi"]
        self.epsilon = mpf(self.epsilon)
        self.delta = self.delta and mpf(self.delta)
        kind = self.projection or default_projection
        self.family = kind.split(":")[0]
        if self.grid_exponent is None:
            self.grid_exponent = min(0, int(floor(mp.log(mpf(self.beta) / 255, 2))))
        self.g = Fraction(2) ** self.grid_exponent
        kind = f"oporp:{self.repeats}" if self.family == "oporp" else kind
        self.w = np.eye(self.dim, dtype=object) if kind == "none" else matrix(kind, SEED, self.dim, self.k)
        self.shift = FRACTION_BITS.get(self.family, 0)
        self.centres = [0] * self.k
        if "bins" in parameters:
            self.w, self.centres = structure.bins(self.w, parameters["bins"], SEED, self.dim, self.k, self.g)

    # Section 2: integers

    def quantise(self, row):
        """Clip to the range, then q = floor(u/g + 1/2), exactly."""
        clipped = [min(max(Fraction(u), Fraction(self.lo)), Fraction(self.hi)) for u in row]
        return [(u / self.g + Fraction(1, 2)).__floor__() for u in clipped]

    def project(self, q):
        """x_j = sum_i w_ij q_i, not scaled, less the bin's public centre."""
        return [int(x) - c for x, c in zip(np.array(q, dtype=object) @ self.w, self.centres)]

    def steps(self):
        """How far the quantised row can move in l1: B = ceil(beta/g), no more than the range in one attribute; for l1
        each of p attributes may cross one rounding threshold more."""
        b = -(-Fraction(self.beta) // self.g)
        if self.unit == "l1":
            return b + self.dim
        low, high = self.quantise([self.lo, self.hi])
        return min(b, high - low)

    # Section 5: sensitivities of the integers that the noise is added to

    def delta_1(self):
        """B max_i |W_i|_1; rounding fraction bits away moves each of k coordinates by less than one more."""
        full = -(-self.steps() * int(max(abs(self.w).sum(axis=1))) // 2**self.shift)
        return full + (self.k if self.shift else 0)

    def delta_2(self):
        """B max_i |W_i|_2; `l2` by the operator norm; `record` two points of a ball."""
        rounding = sqrt(self.k) if self.shift else 0
        scale = mpf(2) ** -self.shift
        if self.unit == "record":
            return mpf(2 * self.radius())
        if self.unit == "l2":
            norm = sqrt(max(mp.eigsy(mp.matrix((self.w.T @ self.w).tolist()), eigvals_only=True)))
            return (mpf(self.beta) / self.g_real() + sqrt(self.dim)) * norm * scale + rounding
        return self.steps() * sqrt(max((self.w * self.w).sum(axis=1))) * scale + rounding

    def g_real(self):
        return mpf(2) ** self.grid_exponent

    def sketch_unit(self):
        """The real value of integer 1 in x_j: 1/sqrt(t) for OPORP; E[w^2] = 1 and 1/sqrt(k) for dense W."""
        second_moment = {"gaussian": mpf(2) ** 32, "uniform": mpf(256**2 - 1) / 3, "rademacher": mpf(1)}
        unit = {"none": mpf(1), "oporp": 1 / sqrt(self.repeats)}.get(self.family)
        return unit or 1 / sqrt(second_moment[self.family] * self.k)

    def radius(self):
        return int(floor(self.clip_norm / (self.sketch_unit() * 2**self.shift * self.g_real())))

    def clip(self):
        """Section 4, sketch clip: c in steps, at least 1."""
        return None if self.sketch_clip is None else max(1, int(floor(mpf(self.sketch_clip) / self.g_real() + mpf(1) / 2)))

    def sigma(self):
        return c.sigma_optimal(self.epsilon, self.delta, self.delta_2())

    def prepare(self, x):
        """What the noise is added to: fraction bits rounded away by floor(. + 1/2), clipped, pulled into the ball."""
        y = [(Fraction(v, 2**self.shift) + Fraction(1, 2)).__floor__() for v in x]
        if self.clip():
            y = [max(-self.clip(), min(self.clip(), v)) for v in y]
        if self.unit == "record":
            norm = sum(v * v for v in y)
            if norm > self.radius() ** 2:
                above = mp_isqrt(norm) + 1
                y = [(1 if v > 0 else -1) * (abs(v) * self.radius() // above) for v in y]
        return y


def mp_isqrt(n):
    root = int(floor(sqrt(mpf(n))))
    return root - (root * root > n) + ((root + 1) ** 2 <= n)


# Values: x~ = x + n


def noise(s, law, statement, ends):
    """A noise law with the probabilities of a handful of n."""
    points = sorted({0, 1, -1, 2, -3, *(sign * n for n in ends for sign in (1, -1))})
    return {
        "calibration": statement | {"shift": s.shift, "clip": s.clip(), "radius": s.radius() if s.unit == "record" else None},
        "noise": [[n, text(law(n))] for n in points],
        "output": lambda x: {"prepared": s.prepare(x)},
    }


def gaussian(s, sigma):
    statement = {"law": "rounded-gaussian", "sigma": text(sigma), "delta_2": text(s.delta_2())}
    return noise(s, laws.rounded_gaussian(sigma), statement, [int(ceil(sigma / 2)), int(ceil(2 * sigma)), int(ceil(6 * sigma))])


def raw_g_opt(s):
    """[LL23] section 3.6, Raw-data-G-OPT; also Algorithms 1, 3, 5: Theorem 3.5 with the Delta_2 of the matrix."""
    return gaussian(s, s.sigma())


def dp_rp_g(s):
    """[LL23] Algorithm 1 with Theorem 3.1."""
    return gaussian(s, c.sigma_kenthapadi(s.epsilon, s.delta, s.delta_2()))


def dp_rp_g_analytic(s):
    """[LL23] Theorem 3.4 in steps of the unscaled projection (its beta is B sqrt(k)), never below what this W needs."""
    return gaussian(s, max(c.sigma_analytic(s.epsilon, s.delta, s.dim, s.k, s.steps() * sqrt(s.k)), s.sigma()))


def laplace(s):
    """[LL23] Algorithm 2, and ours on raw data and OPORP: scale Delta_1/epsilon; 2c for each touched bin if clipped."""
    delta_1 = s.delta_1()
    if s.clip() and s.unit == "attribute":
        delta_1 = min(delta_1, 2 * s.clip() * int(max(abs(s.w).sum(axis=1))))
    statement = {"law": "discrete-laplace", "sensitivity": delta_1, "ratio": str(c.ratio_up(s.epsilon / delta_1))}
    return noise(s, laws.laplace(s.epsilon, delta_1), statement, [delta_1, 2 * delta_1 + 1])


def staircase(s):
    """Ours: each of t repetitions has one touched bin and spends epsilon/t."""
    b, epsilon = s.steps(), s.epsilon / s.repeats
    b = min(b, 2 * s.clip()) if s.clip() else b
    r = c.staircase_width(epsilon, b)
    statement = {"law": "discrete-staircase", "sensitivity": b, "width": r, "ratio": str(c.ratio_up(epsilon))}
    return noise(s, laws.staircase(epsilon, b, r), statement, [r - 1, r, b - 1, b, b + r, 3 * b])


# Bits: 1 is plus


def flips(s, rule, epsilon, steps=None, threshold=None):
    """The sign, flipped by level: L = ceil(|x|/B) with a fair coin at 0, or the bit x > b with zeros on the minus side."""
    steps = steps or [None] * s.k

    def plus(x, b):
        if threshold is None:
            level = 0 if x == 0 else 1 if b is None else -(-abs(x) // b)
            side = x > 0
        else:  # section 4b, Bit(b): j = ceil((q-b)/B); level j on the plus side, 1 - j on the minus side
            j = -(-(x - threshold) // b)
            side, level = j >= 1, j if j >= 1 else 1 - j
        flip = rule(level, epsilon)
        return 1 - flip if side else flip

    return {
        "calibration": {"law": "flip-table", "epsilon_per_bit": text(epsilon), "steps": steps, "threshold": threshold},
        "output": lambda x: {"plus": [text(plus(v, b)) for v, b in zip(x, steps)]},
    }


def steps_per_output(s):
    """B_j = B max_i |W_ij|."""
    return [int(s.steps() * w) for w in abs(s.w).max(axis=0)]


def dp_signrp_rr(s):
    """[LL23] Algorithm 6. Without delta N+ = k (Remark 4.1). Tight mode: the fixed pair's law of changed signs; mode
    paper: epsilon/N+ of Proposition 4.5; record: every sign may change, by KOV."""
    if s.delta is None:
        return flips(s, c.flip_rr, s.epsilon / s.k)
    if s.unit == "record":
        return flips(s, c.flip_rr, c.kov_epsilon(s.k, s.epsilon, s.delta))
    beta, m = mpf(s.steps()), mpf(int(mpf(s.norm_bound) / s.g_real()))
    if s.signrp_mode == "paper":
        return flips(s, c.flip_rr, s.epsilon / c.n_plus(beta / m, s.dim, s.k, s.delta))
    q = c.sign_change_probability(beta, m) + c.fixed_point_slack(s.dim)
    return flips(s, c.flip_rr, c.tight_epsilon(s.k, q, s.epsilon, s.delta))


def dp_signrp_rr_smooth(s):
    """[LL23] Algorithm 7, both sides of its comparison unscaled."""
    return flips(s, c.flip_smooth, s.epsilon / s.k, steps_per_output(s))


def dp_signrp_ceil(s):
    """Ours: the ceil rule at epsilon/k, or at the KOV epsilon_0."""
    epsilon = s.epsilon / s.k if s.delta is None else c.kov_epsilon(s.k, s.epsilon, s.delta)
    return flips(s, c.flip_ceil, epsilon, steps_per_output(s))


def sign_dp_rp_g_opt_b(s):
    """[LL23] section 4, first paragraph: the sign of x + N, zero on the minus side."""
    sigma = s.sigma()
    plus = lambda x: c.upper_tail((mpf(1) / 2 - x) / sigma)  # P(N >= 1 - x)
    return {
        "calibration": {"law": "sign-of-noise", "sigma": text(sigma), "delta_2": text(s.delta_2())},
        "output": lambda x: {"plus": [text(plus(v)) for v in x]},
    }


def dp_signoporp_rr(s):
    """[LL23] Algorithm 8, lines 2 and 5."""
    return flips(s, c.flip_rr, s.epsilon / s.repeats, [s.steps()] * s.k)


def dp_signoporp_rr_smooth(s):
    """[LL23] Algorithm 8, lines 3 to 5."""
    return flips(s, c.flip_smooth, s.epsilon / s.repeats, [s.steps()] * s.k)


def dp_signoporp_ceil(s):
    """Section 4b, Bit(b): x > b is q > floor(b/g)."""
    b = (Fraction(s.thresholds[0]) / s.g).__floor__() if s.thresholds else 0
    return flips(s, c.flip_ceil, s.epsilon / s.repeats, [s.steps()] * s.k, b)


def raw_rr(s):
    """Ours, Warner's randomized response: the bit u > b of every attribute, flipped alike at every value."""
    b = (Fraction(s.thresholds[0]) / s.g).__floor__() if s.thresholds else 0
    return flips(s, c.flip_rr, s.epsilon, [s.steps()] * s.k, b)


# Symbols


def symbols(row_of, statement):
    return {
        "calibration": statement,
        "output": lambda x: {"bits": row_of(0)[0], "symbols": [[str(n) for n in row_of(v)[1]] for v in x]},
    }


def dp_oporp_lattice(s):
    """Section 4b, Lattice. Cells of one point for few symbols; for 8 or more, 4.5 m^-0.83 deviations of a noisy bin."""
    b, r, m, epsilon = s.steps(), s.lattice_steps, s.symbols, s.epsilon / s.repeats
    width = 1
    if m >= 8:
        bins = mpf(s.norm) ** 2 / (s.k // s.repeats) * r * r / mpf(s.beta) ** 2
        spread = sqrt(bins + c.staircase_variance(exp(-epsilon), r, c.staircase_width(epsilon, r)))
        width = min(64, max(1, int(floor(4.5 * mpf(m) ** -0.83 * spread + 0.5))))
    row = lambda q: laws.lattice_row(q, b, r, m, width, epsilon)
    return symbols(row, {"law": "symbol-table", "beta_steps": b, "per_beta": r, "width": width})


def dp_oporp_zones(s):
    """Section 4b, Zones. A value on a threshold belongs to the side of zero; -0 and 0 cut out zero itself."""
    up = lambda t: -(-Fraction(t) // s.g)
    cuts = [up(t) if np.signbit(t) else (Fraction(t) / s.g).__floor__() + 1 for t in s.thresholds]
    return symbols(lambda q: laws.zones_row(q, cuts, s.epsilon / s.repeats), {"law": "symbol-table", "cuts": cuts})


# Unit record: all bits at once


def vertices(law, k, x):
    """A few vertices: the signs, their opposite, all plus, and some in between."""
    signs = tuple(1 if v > 0 else -1 for v in x)
    some = {signs, tuple(-v for v in signs), (1,) * k, (-1,) * k}
    some |= {tuple(-v if j % (n + 2) == 0 else v for j, v in enumerate(signs)) for n in range(k)}
    return [["".join("1" if v > 0 else "0" for v in y), text(law(y))] for y in sorted(some)]


def privcube(s):
    """Section 4c."""
    cap = structure.search_cap(s.k, s.epsilon) if s.purpose == "search" else record.privcube_cap(s.k, s.epsilon)

    def output(x):
        w = record.weights(x)
        return {"weights": w, "vertices": vertices(record.privcube(w, cap, s.epsilon), s.k, x)}

    return {"calibration": {"law": "privcube", "cap": str(cap), "odds": str(c.odds_down(s.epsilon))}, "output": output}


def signcap(s):
    """Section 4c."""
    tau = record.signcap_threshold(s.k, s.epsilon)
    output = lambda x: {"vertices": vertices(record.signcap(x, tau, s.epsilon), s.k, x)}
    return {"calibration": {"law": "signcap", "tau": tau, "odds": str(c.odds_down(s.epsilon))}, "output": output}


def privbook(s):
    """Section 4d."""
    content = bytes.fromhex(s.book["content"])
    body = content[content.index(b"\n\n") + 2 :]
    flat = [int.from_bytes(body[at : at + 2], "little", signed=True) for at in range(0, len(body), 2)]
    words = [flat[at : at + s.dim] for at in range(0, len(flat), s.dim)]
    low, high = s.quantise([s.lo, s.hi])
    law = lambda x: structure.privbook(words, x, max(abs(low), abs(high)), s.epsilon)
    statement = {"law": "privbook", "favoured": structure.favoured(len(words), s.epsilon), "odds": str(c.odds_down(s.epsilon))}
    return {"calibration": statement, "output": lambda x: {"words": [text(p) for p in law(x)]}}


# Section 6: individual DP, which is not DP


def individual(s, bit, statement):
    """[LL23] Algorithm 10: only bits with |x_j| <= B are perturbed. They share the budget; on OPORP no more than the t
    that one attribute touches."""
    b, touched = s.steps(), s.repeats if s.family == "oporp" else s.k

    def output(x):
        near = [abs(v) <= b for v in x]
        shared = max(1, min(sum(near), touched))
        return {"plus": [text(bit(v, shared) if a else mpf(v > 0)) for v, a in zip(x, near)]}

    return {"calibration": statement | {"steps": [b] * s.k, "touched": touched}, "output": output}


def idp_g(s):
    """[LL23] Algorithm 9: sign(x + G), sigma for Delta_2 = B sqrt(|A|): sqrt(|A|) times a rounded Gaussian; x decides
    where the two are equal."""
    sigma = c.sigma_optimal(s.epsilon, s.delta, mpf(s.steps()))

    def plus(x, shared):
        least = next(n for n in range(1, 10**6) if n * n * shared > x * x)
        up = c.upper_tail((least - mpf(1) / 2) / sigma)
        return 1 - up if x > 0 else up

    return individual(s, plus, {"law": "individual-gaussian", "sigma": text(sigma)})


def idp_rr(s):
    """[LL23] Algorithm 11: epsilon' = epsilon/|A|; the coin is fair at 0."""

    def plus(x, shared):
        flip = c.flip_rr(abs(x), s.epsilon / shared)
        return 1 - flip if x > 0 else flip

    return individual(s, plus, {"law": "individual-flips"})


MECHANISMS = {  # id: (function, projection)
    "raw-g-opt": (raw_g_opt, "none"),
    "raw-laplace": (laplace, "none"),
    "raw-staircase": (staircase, "none"),
    "raw-rr": (raw_rr, "none"),
    "dp-rp-g": (dp_rp_g, "gaussian"),
    "dp-rp-g-analytic": (dp_rp_g_analytic, "gaussian"),
    "dp-rp-g-opt": (raw_g_opt, "gaussian"),
    "dp-rp-l": (laplace, "gaussian"),
    "dp-rp-g-opt-b": (raw_g_opt, "rademacher"),
    "dp-oporp": (raw_g_opt, "oporp"),
    "dp-oporp-laplace": (laplace, "oporp"),
    "dp-oporp-staircase": (staircase, "oporp"),
    "dp-oporp-lattice": (dp_oporp_lattice, "oporp"),
    "dp-oporp-zones": (dp_oporp_zones, "oporp"),
    "dp-signrp-rr": (dp_signrp_rr, "gaussian"),
    "dp-signrp-rr-smooth": (dp_signrp_rr_smooth, "gaussian"),
    "dp-signrp-ceil": (dp_signrp_ceil, "gaussian"),
    "sign-dp-rp-g-opt-b": (sign_dp_rp_g_opt_b, "rademacher"),
    "dp-signoporp-rr": (dp_signoporp_rr, "oporp"),
    "dp-signoporp-rr-smooth": (dp_signoporp_rr_smooth, "oporp"),
    "dp-signoporp-ceil": (dp_signoporp_ceil, "oporp"),
    "privcube": (privcube, "oporp"),
    "signcap": (signcap, "oporp"),
    "privbook": (privbook, "none"),
    "idp-signrp-g": (idp_g, "rademacher"),
    "idp-signrp-rr": (idp_rr, "rademacher"),
    "idp-signoporp-g": (idp_g, "oporp"),
    "idp-signoporp-rr": (idp_rr, "oporp"),
}


def rows(s, at):
    """Both ends of the range and beyond, zero and minus zero, rounding edges of the grid, then values like data."""
    g = float(s.g)
    data = [s.lo + (s.hi - s.lo) * (pow(7, 1000 * at + i + 50, 2**31 - 1) / 2**31) for i in range(2 * s.dim)]
    edges = [s.lo, s.hi, 1e300, -1e300, s.lo - g, s.hi + g, 0.0, -0.0, g / 2, -g / 2, 1.5 * g, -1.5 * g]
    edges += [np.nextafter(g / 2, 0), np.nextafter(-g / 2, -1), np.nextafter(g / 2, 1), s.hi - g / 2, s.lo + g / 2, 5e-324]
    yield [float(edges[(i + at) % len(edges)]) for i in range(s.dim)]
    yield [0.0] * s.dim
    yield data[: s.dim]
    yield [v if i % 3 else 0.0 for i, v in enumerate(data[s.dim :])]


def case(at, mechanism, dim, k, epsilon, beta, lo, hi, **rest):
    parameters = {"mechanism": mechanism, "dim": dim, "k": k, "epsilon": epsilon, "beta": beta}
    parameters |= {"range": {"lo": lo, "hi": hi}, "unit": rest.pop("unit", "attribute"), "seed": SEED.hex(), **rest}
    function, projection = MECHANISMS[mechanism]
    s = Setup(parameters, projection)
    made = function(s)
    output = made.pop("output")
    done = []
    for row in rows(s, at):
        q = s.quantise(row)
        x = s.project(q)
        done.append({"values": row, "quantised": q, "projected": x} | output(x))
    return {"parameters": parameters, "grid_exponent": s.grid_exponent} | made | {"rows": done}


PIXELS, SIGNED, ODD = (1.0, 0.0, 1.0), (0.5, -1.0, 1.0), (0.3, -0.45, 1.7)  # beta, lo, hi
GRID, COARSE = {"grid_exponent": -6}, {"grid_exponent": -3}
IDP = {"i_understand_this_is_not_dp": True}


BINS = "scumble-bins 1\nattributes 14\nbins 4\nfrom made\nbin +0 -3 +5 +6\nlaw -0.5 0.25 1\nbin -1 +2\nlaw -1 -0.3 0\nbin +4 -7 -8 +9\nlaw 0 0.5 0.5\nbin +10 +11\nlaw -2 0 2\n"


def structure_cases(delta):
    """Section 4d: every law on bins, a grid and a file with medians; the search cap; words of a book."""
    given = {"sha256": hashlib.sha256(BINS.encode()).hexdigest(), "text": BINS}
    yield "dp-oporp", 12, 6, 1.0, *ODD, GRID | delta | {"bins": "grid:3x4"}
    yield "dp-oporp-laplace", 24, 4, 2.0, *SIGNED, GRID | {"bins": "grid:4x2x3"}
    yield "dp-oporp-staircase", 14, 4, 1.0, *SIGNED, GRID | {"bins": given}
    yield "dp-oporp-zones", 14, 4, 2.0, *SIGNED, GRID | {"bins": given, "thresholds": [-0.25, 0.25]}
    yield "dp-oporp-lattice", 14, 4, 2.0, *SIGNED, GRID | {"bins": given, "lattice_steps": 2}
    yield "dp-signoporp-rr-smooth", 14, 4, 3.0, *SIGNED, GRID | {"bins": given}
    yield "dp-signoporp-ceil", 14, 4, 2.0, *SIGNED, GRID | {"bins": given}
    for epsilon in (2.0, 14.0, 24.0):
        yield "privcube", 12, 6, epsilon, *SIGNED, GRID | {"unit": "record", "purpose": "search"}
    for words, epsilon in ((5, 1.0), (9, 3.0), (40, 2.0)):
        entries = [[pow(11, 7 * w + i + 3, 4001) - 2000 for i in range(6)] for w in range(words)]
        book = structure.book(entries, 0.001)
        yield "privbook", 6, 6, epsilon, *SIGNED, GRID | {"unit": "record", "book": book}


def cases():
    delta = {"delta": 1e-6}
    yield "raw-g-opt", 7, 7, 1.0, *ODD, GRID | delta
    yield "raw-g-opt", 5, 5, 5.0, *SIGNED, COARSE | {"delta": 1e-3, "unit": "l1"}
    yield "raw-g-opt", 6, 6, 0.5, *SIGNED, COARSE | {"delta": 1e-9, "unit": "l2"}
    yield "raw-g-opt", 6, 6, 2.0, *SIGNED, GRID | delta | {"unit": "record", "clip_norm": 0.75}
    yield "raw-laplace", 9, 9, 1.0, *ODD, GRID
    yield "raw-laplace", 4, 4, 8.0, *SIGNED, COARSE | {"unit": "l1"}
    yield "raw-laplace", 8, 8, 0.1, *SIGNED, GRID | {"sketch_clip": 0.125}
    yield "raw-staircase", 8, 8, 1.0, *ODD, GRID
    yield "raw-staircase", 6, 6, 6.0, *SIGNED, GRID | {"sketch_clip": 0.2}
    yield "dp-rp-g", 10, 4, 1.0, *ODD, COARSE | delta
    yield "dp-rp-g", 6, 3, 8.0, *SIGNED, GRID | {"delta": 0.01, "unit": "l1"}
    yield "dp-rp-g-analytic", 10, 4, 1.0, *ODD, COARSE | delta
    yield "dp-rp-g-analytic", 24, 12, 10.0, *SIGNED, GRID | {"delta": 1e-4}
    yield "dp-rp-g-opt", 12, 5, 1.0, *ODD, COARSE | delta
    yield "dp-rp-g-opt", 12, 5, 3.0, *SIGNED, COARSE | delta | {"projection": "uniform"}
    yield "dp-rp-g-opt", 12, 5, 3.0, *SIGNED, GRID | delta | {"projection": "very-sparse:3"}
    yield "dp-rp-g-opt", 8, 4, 2.0, *SIGNED, COARSE | delta | {"unit": "l2"}
    yield "dp-rp-g-opt", 8, 4, 2.0, *SIGNED, GRID | delta | {"unit": "record", "clip_norm": 1.0}
    yield "dp-rp-l", 10, 4, 2.0, *ODD, COARSE
    yield "dp-rp-l", 10, 4, 5.0, *SIGNED, COARSE | {"projection": "rademacher", "unit": "l1"}
    yield "dp-rp-l", 10, 4, 5.0, *SIGNED, COARSE | {"projection": "uniform"}
    yield "dp-rp-g-opt-b", 16, 6, 1.0, *ODD, COARSE | delta
    yield "dp-rp-g-opt-b", 9, 3, 20.0, *SIGNED, GRID | {"delta": 1e-12}
    yield "dp-oporp", 24, 12, 1.0, *ODD, GRID | delta
    yield "dp-oporp", 23, 12, 3.0, *SIGNED, GRID | delta | {"repeats": 3}
    yield "dp-oporp", 11, 4, 2.0, *SIGNED, GRID | delta | {"unit": "l2"}
    yield "dp-oporp", 11, 4, 2.0, *SIGNED, GRID | delta | {"unit": "record", "clip_norm": 0.5, "repeats": 2}
    yield "dp-oporp-laplace", 24, 8, 1.0, *ODD, GRID
    yield "dp-oporp-laplace", 20, 8, 4.0, *SIGNED, GRID | {"repeats": 4, "sketch_clip": 0.125}
    yield "dp-oporp-laplace", 13, 5, 2.0, *SIGNED, GRID | {"unit": "l1"}
    yield "dp-oporp-staircase", 24, 8, 1.0, *ODD, GRID
    yield "dp-oporp-staircase", 20, 8, 10.0, *SIGNED, GRID | {"repeats": 2}
    yield "dp-oporp-staircase", 21, 6, 3.0, *SIGNED, GRID | {"repeats": 3, "sketch_clip": 0.1}
    yield "dp-oporp-lattice", 24, 8, 1.0, *ODD, {"lattice_steps": 1}
    yield "dp-oporp-lattice", 24, 8, 3.0, *ODD, GRID | {"lattice_steps": 2, "symbols": 5}
    yield "dp-oporp-lattice", 24, 8, 10.0, *SIGNED, GRID | {"lattice_steps": 4, "symbols": 3, "repeats": 2}
    yield "dp-oporp-lattice", 20, 4, 20.0, *SIGNED, GRID | {"lattice_steps": 8, "symbols": 4}
    yield "dp-oporp-lattice", 24, 6, 4.0, *SIGNED, GRID | {"lattice_steps": 4, "symbols": 16, "norm": 2.0}
    yield "dp-oporp-zones", 24, 8, 2.0, *ODD, {"thresholds": [-0.0, 0.0]}
    yield "dp-oporp-zones", 24, 8, 5.0, *SIGNED, GRID | {"thresholds": [-0.5, -0.0, 0.0, 0.47]}
    yield "dp-oporp-zones", 24, 8, 20.0, *SIGNED, GRID | {"thresholds": [-0.1, 0.25], "repeats": 2}
    yield "dp-signrp-rr", 12, 6, 2.0, *ODD, {}
    yield "dp-signrp-rr", 12, 6, 2.0, *SIGNED, GRID | {"projection": "rademacher", "unit": "l1"}
    yield "dp-signrp-rr", 12, 8, 2.0, *SIGNED, delta | {"norm_bound": 4.0}
    yield "dp-signrp-rr", 24, 12, 1.0, *SIGNED, GRID | {"delta": 1e-3, "norm_bound": 2.1}
    yield "dp-signrp-rr", 24, 12, 1.0, *SIGNED, GRID | {"delta": 0.1, "norm_bound": 4.5, "signrp_mode": "paper"}
    yield "dp-signrp-rr", 12, 8, 4.0, *SIGNED, GRID | {"delta": 1e-3, "unit": "record"}
    yield "dp-signrp-rr-smooth", 12, 6, 6.0, *ODD, {}
    yield "dp-signrp-rr-smooth", 12, 6, 2.0, *SIGNED, GRID | {"projection": "rademacher"}
    yield "dp-signrp-rr-smooth", 12, 6, 2.0, *SIGNED, GRID | {"projection": "very-sparse:2", "unit": "l1"}
    yield "dp-signrp-ceil", 12, 6, 6.0, *ODD, GRID
    yield "dp-signrp-ceil", 12, 6, 3.0, *SIGNED, GRID | delta | {"projection": "uniform"}
    yield "dp-signrp-ceil", 14, 12, 8.0, *SIGNED, GRID | {"delta": 1e-2, "projection": "rademacher"}
    yield "sign-dp-rp-g-opt-b", 16, 6, 1.0, *ODD, COARSE | delta
    yield "sign-dp-rp-g-opt-b", 9, 3, 12.0, *SIGNED, COARSE | {"delta": 1e-4, "unit": "l1"}
    yield "dp-signoporp-rr", 24, 8, 1.0, *ODD, {}
    yield "dp-signoporp-rr", 24, 8, 6.0, *SIGNED, GRID | {"repeats": 4}
    yield "dp-signoporp-rr-smooth", 24, 8, 1.0, *ODD, {}
    yield "dp-signoporp-rr-smooth", 24, 8, 6.0, *SIGNED, COARSE | {"repeats": 2}
    yield "dp-signoporp-rr-smooth", 17, 5, 0.1, 0.125, 0.0, 1.0, GRID
    yield "dp-signoporp-ceil", 24, 8, 1.0, *ODD, {}
    yield "dp-signoporp-ceil", 24, 8, 6.0, *SIGNED, COARSE | {"repeats": 2, "thresholds": [0.35]}
    yield "dp-signoporp-ceil", 17, 5, 0.1, 0.125, 0.0, 1.0, GRID | {"thresholds": [0.12]}
    record_unit = GRID | {"unit": "record"}
    yield "privcube", 24, 8, 3.0, *SIGNED, record_unit
    yield "privcube", 24, 12, 8.0, *PIXELS, record_unit
    yield "privcube", 6, 6, 1.0, *SIGNED, record_unit | {"projection": "none"}
    yield "privcube", 4, 7, 20.0, *SIGNED, record_unit | {"projection": "rademacher"}
    yield "signcap", 24, 8, 3.0, *SIGNED, record_unit
    yield "signcap", 24, 11, 8.0, *PIXELS, record_unit
    yield "signcap", 5, 5, 0.5, *SIGNED, record_unit | {"projection": "none"}
    yield "idp-signrp-g", 12, 6, 1.0, *ODD, COARSE | IDP | delta
    yield "idp-signrp-rr", 12, 6, 1.0, *ODD, GRID | IDP
    yield "idp-signrp-rr", 24, 12, 10.0, *SIGNED, IDP
    yield "idp-signoporp-g", 24, 6, 2.0, *SIGNED, GRID | IDP | delta
    yield "idp-signoporp-rr", 24, 6, 2.0, *SIGNED, GRID | IDP
    yield "idp-signoporp-rr", 24, 8, 2.0, *SIGNED, GRID | IDP | {"repeats": 4}
    yield from structure_cases(delta)
    # New cases stand at the end: the place of a case decides its rows.
    yield "raw-rr", 8, 8, 1.0, *ODD, {}
    yield "raw-rr", 6, 6, 6.0, *SIGNED, COARSE | {"thresholds": [-0.35]}


if __name__ == "__main__":
    made = [case(at, *head, **rest) for at, (*head, rest) in enumerate(cases())]
    assert {one["parameters"]["mechanism"] for one in made} == set(MECHANISMS)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else VECTORS
    lines = ",\n".join(json.dumps(one) for one in made)
    target.write_text('{"version": 1, "cases": [\n' + lines + "\n]}\n")
    print(f"{target.name}: {len(made)} cases, {target.stat().st_size} bytes")
