"""Coefficients of the integer normal quantile of docs/projection-format.md, section 3.4.

    pip install mpmath
    python reference/normal_quantile.py      # checks the bound, rewrites crates/scumble-core/src/projection/normal_table.rs

A 63-bit uniform becomes t = 2u + 1, an odd number below 2^64, and z >= 0 solves P(|Z| > z) = t / 2^64.
t lies in segment (L, s): L leading zeros, then the 3 bits s below the leading one. The 32 bits below those are y.
On each of the 64 * 8 segments z is a cubic in y/2^32: c0 + c1 y + c2 y^2 + c3 y^3, coefficients in units of 2^-27.
"""

from functools import cache
from pathlib import Path

from mpmath import cos, erfc, erfinv, exp, mp, mpf, nint, pi, sqrt

mp.dps = 50
OCTAVES, PARTS, DEGREE, FRACTION_BITS = 64, 8, 3, 27
RUST = Path(__file__).parent.parent / "crates/scumble-core/src/projection/normal_table.rs"


def quantile(tail):
    """z with P(|Z| > z) = tail: erfinv, then one Newton step on erfc so that deep tails lose no digits."""
    x = erfinv(1 - tail)
    x += (erfc(x) - tail) * sqrt(pi) / 2 * exp(x * x)
    return x * sqrt(2)


def tail_at(octave, part, y):
    """The tail probability at fraction y of a segment."""
    return mpf(2) ** -(octave + 1) * (1 + (part + mpf(y)) / PARTS)


def cubic(octave, part):
    """Monomial coefficients of the cubic through the four Chebyshev nodes of the segment, c0 first."""
    nodes = [(1 + cos(pi * (2 * i + 1) / (2 * (DEGREE + 1)))) / 2 for i in range(DEGREE + 1)]
    rest = [quantile(tail_at(octave, part, y)) for y in nodes]
    for level in range(1, DEGREE + 1):  # Newton's divided differences
        for i in range(DEGREE, level - 1, -1):
            rest[i] = (rest[i] - rest[i - 1]) / (nodes[i] - nodes[i - level])
    coefficients = [mpf(0)] * (DEGREE + 1)
    for i in range(DEGREE, -1, -1):  # Horner in (y - node_i)
        shifted = [mpf(0)] + coefficients[:-1]
        coefficients = [a - nodes[i] * b for a, b in zip(shifted, coefficients)]
        coefficients[0] += rest[i]
    return coefficients


@cache
def table():
    """512 rows [c0, c1, c2, c3], row 8 L + s, integers in units of 2^-27."""
    return [
        [int(nint(c * 2**FRACTION_BITS)) for c in cubic(octave, part)]
        for octave in range(OCTAVES)
        for part in range(PARTS)
    ]


def weight(u):
    """|w| of a 63-bit uniform u: integer operations only, >> rounds toward minus infinity."""
    t = 2 * u + 1
    octave = 64 - t.bit_length()
    t <<= octave
    part, y = t >> 60 & 7, t >> 28 & 0xFFFFFFFF
    c0, c1, c2, c3 = table()[8 * octave + part]
    z = c2 + (c3 * y >> 32)
    z = c1 + (z * y >> 32)
    z = c0 + (z * y >> 32)
    return z + 1024 >> 11


def true_weight(u):
    """2^16 z, not rounded."""
    return quantile(mpf(2 * u + 1) / 2**64) * 2**16


def check(points_per_segment=24):
    """The largest |w - 2^16 z| over both ends and interior points of every segment, and over all u < 2^8."""
    worst = mpf(0)
    for u in range(256):
        worst = max(worst, abs(weight(u) - true_weight(u)))
    for octave in range(OCTAVES):
        for part in range(PARTS):
            first = (8 + part << 60) >> octave
            last = min(((8 + part + 1 << 60) >> octave) - 1, 2**64 - 1)
            for i in range(points_per_segment + 1):
                t = first + (last - first) * i // points_per_segment
                if t > 0:
                    worst = max(worst, abs(weight(t // 2) - true_weight(t // 2)))
    return worst


if __name__ == "__main__":
    worst = check()
    assert worst < 1, worst
    rows = "\n".join(f"    [{', '.join(map(str, row))}]," for row in table())
    RUST.write_text(
        "//! Cubics of the normal quantile. Written by reference/normal_quantile.py; changing it is value-breaking.\n\n"
        "/// Row `8 L + s`: `c0, c1, c2, c3` in units of 2^-27.\n"
        f"#[rustfmt::skip]\npub(super) const CUBICS: [[i32; 4]; {len(table())}] = [\n{rows}\n];\n"
    )
    print(f"largest |w - 2^16 z| = {mp.nstr(worst, 6)}, largest w = {weight(0)}, {RUST.stat().st_size} bytes")
