"""Plain transcription of docs/projection-format.md (version 1), without the Rust code.

    pip install numpy mpmath
    python reference/projection.py           # writes crates/scumble-core/tests/vectors/v1/projection.json (half a minute)

Every function names the section of the document that it follows.
"""

import json
from pathlib import Path

import numpy as np

import normal_quantile

VECTORS = Path(__file__).parent.parent / "crates/scumble-core/tests/vectors/v1/projection.json"
M32, M64 = 2**32 - 1, 2**64 - 1


# Section 2: streams


def chacha20_block(key, counter, nonce):
    """16 words of ChaCha20 with a 64-bit counter and a 64-bit nonce (Bernstein's layout)."""
    words = [int.from_bytes(part, "little") for part in (b"expa", b"nd 3", b"2-by", b"te k")]
    words += [int.from_bytes(key[4 * i : 4 * i + 4], "little") for i in range(8)]
    words += [counter & M32, counter >> 32, nonce & M32, nonce >> 32]
    x = list(words)

    def quarter(a, b, c, d):
        for u, v, w, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[u] = x[u] + x[v] & M32
            x[w] ^= x[u]
            x[w] = (x[w] << turn | x[w] >> 32 - turn) & M32

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [a + b & M32 for a, b in zip(x, words)]


def words(seed, label, repetition, first, count):
    """Words first .. first + count of a named stream."""
    nonce = int.from_bytes(label, "little") + (repetition << 32)
    out = []
    for block in range(first // 16, (first + count - 1) // 16 + 1):
        out += chacha20_block(seed, block, nonce)
    return out[first % 16 : first % 16 + count]


# Section 3: dense matrices


def gaussian(word):
    """3.4: 64 bits to a weight."""
    w = normal_quantile.weight(word % 2**63)
    return w if word >> 63 else -w


def dense_row(kind, seed, k, i):
    """Row i of W."""
    name, _, s = kind.partition(":")
    if name == "rademacher":
        n = -(-k // 32)
        w = words(seed, b"matr", 0, i * n, n)
        return [2 * (w[j // 32] >> j % 32 & 1) - 1 for j in range(k)]
    if name == "uniform":
        n = -(-k // 4)
        w = words(seed, b"matr", 0, i * n, n)
        return [2 * (w[j // 4] >> 8 * (j % 4) & 255) - 255 for j in range(k)]
    if name == "very-sparse":
        threshold = int(2.0**31 / float(s))
        w = words(seed, b"matr", 0, i * k, k)
        return [1 if u < threshold else -1 if u >= 2**32 - threshold else 0 for u in w]
    if name == "gaussian":
        w = words(seed, b"matr", 0, i * 2 * k, 2 * k)
        return [gaussian(w[2 * j] + (w[2 * j + 1] << 32)) for j in range(k)]
    raise ValueError(kind)


# Section 4: OPORP


def round_keys(seed, repetition):
    w = words(seed, b"perm", repetition, 0, 48)
    q = [w[2 * i] + (w[2 * i + 1] << 32) for i in range(24)]
    return [(q[2 * i], q[2 * i + 1]) for i in range(12)]


def position(keys, p, i):
    """4.1: Feistel network with cycle walking."""
    bits = max(8, (p - 1).bit_length())
    low_bits, high_bits = (bits + 1) // 2, bits // 2

    def f(key, x, width):
        h = key[0] * x + key[1] & M64
        h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & M64
        return h >> 64 - width

    y = i
    while True:
        high, low = y >> low_bits, y & (1 << low_bits) - 1
        for j in range(0, 12, 2):
            low ^= f(keys[j], high, low_bits)
            high ^= f(keys[j + 1], low, high_bits)
        y = high << low_bits | low
        if y < p:
            return y


def bin_of(p, bins, at):
    """4.2: the first p mod bins bins have one position more."""
    ends = np.cumsum([p // bins + (b < p % bins) for b in range(bins)])
    return int(np.searchsorted(ends, at, side="right"))


def oporp_entries(seed, p, k, t, attributes):
    """For each attribute the t pairs [output, sign]."""
    keys = [round_keys(seed, r) for r in range(t)]
    out = []
    for i in attributes:
        pairs = []
        for r in range(t):
            sign = words(seed, b"sign", r, i // 32, 1)[0] >> i % 32 & 1
            pairs.append([r * (k // t) + bin_of(p, k // t, position(keys[r], p, i)), 2 * sign - 1])
        out.append(pairs)
    return out


def matrix(kind, seed, p, k):
    """All of W."""
    name, _, t = kind.partition(":")
    if name != "oporp":
        return np.array([dense_row(kind, seed, k, i) for i in range(p)], dtype=object)
    w = np.zeros((p, k), dtype=object)
    for i, pairs in enumerate(oporp_entries(seed, p, k, int(t or 1), range(p))):
        for output, sign in pairs:
            w[i, output] = sign
    return w


# The vectors

SEEDS = [bytes(32), bytes(range(32)), bytes((37 * i + 11) % 256 for i in range(32))]
DENSE = ["gaussian", "uniform", "very-sparse:1", "very-sparse:2.5", "very-sparse:30", "rademacher"]


def quantile_points():
    """Words in every octave, both ends of the domain and every border of the deepest ones, with 2^16 z."""
    rng = np.random.default_rng(5)
    uniforms = set(range(40)) | {2**63 - 1, 2**63 - 2, 2**62, 2**62 - 1}
    for octave in range(63):
        low, high = 2**62 >> octave, (2**63 >> octave) - 1
        uniforms |= {low, high} | {low + int(rng.integers(0, 2**62)) % (high - low + 1) for _ in range(8)}
    for u in sorted(uniforms):
        for sign in (0, 1):
            word = u + (sign << 63)
            exact = normal_quantile.true_weight(u) * (2 * sign - 1)
            yield {"word": f"{word:016x}", "weight": gaussian(word), "exact": normal_quantile.mp.nstr(exact, 20)}


def dense_cases():
    for kind in DENSE:
        for seed, p, k, attributes in [
            (SEEDS[1], 784, 70, [0, 1, 2, 783]),
            (SEEDS[2], 2**24, 33, [0, 12345, 2**24 - 1]),
            (SEEDS[2], 2**32, 5, [0, 2**32 - 1]),
            (SEEDS[0], 3, 600, [0, 1, 2]),
        ]:
            rows = [dense_row(kind, seed, k, i) for i in attributes]
            yield {"kind": kind, "seed": seed.hex(), "dim": p, "k": k, "attributes": attributes, "rows": rows}


def oporp_cases():
    for seed, p, k, t, attributes in [
        (SEEDS[0], 1, 1, 1, [0]),
        (SEEDS[1], 2, 2, 1, [0, 1]),
        (SEEDS[1], 3, 2, 1, range(3)),
        (SEEDS[2], 5, 6, 2, range(5)),
        (SEEDS[0], 257, 10, 1, range(257)),
        (SEEDS[1], 784, 256, 1, range(784)),
        (SEEDS[1], 784, 256, 4, range(100)),
        (SEEDS[2], 65537, 40000, 1, range(0, 65537, 1021)),
        (SEEDS[2], 2**24, 1024, 2, range(0, 2**24, 2**24 // 50 + 7)),
        (SEEDS[0], 2**32, 512, 1, range(0, 2**32, 2**32 // 50 + 7)),
    ]:
        attributes = list(attributes)
        entries = oporp_entries(seed, p, k, t, attributes)
        yield {"seed": seed.hex(), "dim": p, "k": k, "repeats": t, "attributes": attributes, "entries": entries}


def matrix_cases():
    """Small whole matrices, what the sensitivities need, and one projected row."""
    for at, kind in enumerate(DENSE + ["oporp", "oporp:3"]):
        seed, p, k = SEEDS[at % 3], 11 + at, 6
        w = matrix(kind, seed, p, k)
        row = [(i * 7919 + at) % 4001 - 2000 for i in range(p)]
        yield {
            "kind": kind,
            "seed": seed.hex(),
            "dim": p,
            "k": k,
            "matrix": w.tolist(),
            "max_norm1": int(max(abs(w).sum(axis=1))),
            "max_squared_norm2": str(max((w * w).sum(axis=1))),
            "max_abs_per_output": abs(w).max(axis=0).tolist(),
            "operator_norm": float(np.linalg.norm(w.astype(float), 2)),
            "row": row,
            "projected": (np.array(row, dtype=object) @ w).tolist(),
        }


if __name__ == "__main__":
    sections = {
        "quantile_table": normal_quantile.table(),
        "quantile": list(quantile_points()),
        "dense": list(dense_cases()),
        "oporp": list(oporp_cases()),
        "matrices": list(matrix_cases()),
    }
    lines = ['{"version": 1']
    for name, items in sections.items():
        lines.append(f'"{name}": [\n' + ",\n".join(json.dumps(item) for item in items) + "\n]")
    VECTORS.parent.mkdir(parents=True, exist_ok=True)
    VECTORS.write_text(",\n".join(lines) + "}\n")
    print(f"{VECTORS.name}: {VECTORS.stat().st_size} bytes")
