"""A whole release from docs/ alone: rows, ids and a sticky key in; the bytes of the `.npy` output out.

    python reference/release.py BINARY    # releases small files with the binary and without it, and compares bytes (seconds)

Reads `.npy` and LIBSVM (docs/input.md), quantises and projects (docs/mechanisms.md, docs/projection-format.md,
docs/bins-format.md), draws the noise by key (docs/longitudinal.md, "The noise, exactly") and packs what comes out
(docs/release-format.md). The integers of each noise law come from the certificate; reference/mechanisms.py computes them.
"""

import ast
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
from mpmath import erfc, mp, mpf, sqrt

import keyed
import record
import structure
from projection import matrix

mp.dps = 60
VERSION = (3).to_bytes(4, "little")  # of the noise
FRACTION_BITS = {"gaussian": 16, "uniform": 7}
KINDS = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q", "i8": "q", "f2": "e", "f4": "f", "f8": "d"}


# Input


def read_npy(path):
    """Shape and elements in C order."""
    data = Path(path).read_bytes()
    assert data[:6] == b"\x93NUMPY"
    size = 2 if data[6] == 1 else 4
    length = int.from_bytes(data[8 : 8 + size], "little")
    header, body = ast.literal_eval(data[8 + size : 8 + size + length].decode()), data[8 + size + length :]
    order, kind = header["descr"][0], header["descr"][1:]
    if kind[0] == "U":
        width = 4 * int(kind[1:])
        return header["shape"], [body[i : i + width].decode("utf-32-le").rstrip("\0") for i in range(0, len(body), width)]
    values = [value for value, in struct.iter_unpack((">" if order == ">" else "<") + KINDS[kind], body)]
    if header["fortran_order"]:
        rows, columns = header["shape"]
        values = [values[j * rows + i] for i in range(rows) for j in range(columns)]
    return header["shape"], values


def read_rows(path):
    """Rows as {attribute: value}; LIBSVM leaves out what is zero."""
    if path.suffix == ".npy":
        (_, dim), values = read_npy(path)
        return [dict(enumerate(values[i : i + dim])) for i in range(0, len(values), dim)]
    lines = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    pairs = [[entry.split(":") for entry in line[1:]] for line in lines if line]
    return [{int(i) - 1: float(value) for i, value in row} for row in pairs]


def read_key(path):
    """One line: a label and 64 hexadecimal digits."""
    label, digits = path.read_text().split()
    assert label == "scumble-sticky-key" and len(digits) == 64
    return bytes.fromhex(digits)


# The mechanism's digest (docs/longitudinal.md)


def tree(fact):
    """A fact as bytes: kind, length, content."""
    part = lambda kind, data: bytes([kind]) + len(data).to_bytes(8, "little") + data
    if fact is None:
        return part(0, b"")
    if isinstance(fact, (bool, int)):
        return part(1, int(fact).to_bytes(16, "little", signed=True))
    if isinstance(fact, float):
        return part(2, struct.pack("<d", fact))
    if isinstance(fact, str):
        return part(3, fact.encode())
    if isinstance(fact, list):
        return part(4, len(fact).to_bytes(8, "little")) + b"".join(map(tree, fact))
    return part(5, len(fact).to_bytes(8, "little")) + b"".join(tree(name) + tree(value) for name, value in fact.items())


def digest(certificate):
    given = certificate["parameters"]
    parameters = {name: given.get(name) for name in ("mechanism", "dim", "k")} | {"repeats": given.get("repeats", 1)}
    parameters |= {name: given.get(name) for name in ("epsilon", "delta", "beta")}
    parameters |= {"range": [given["range"]["lo"], given["range"]["hi"]], "unit": given["unit"], "projection": given.get("projection")}
    parameters |= {name: given.get(name) for name in ("seed", "sketch_clip", "norm_bound", "clip_norm")}
    parameters |= {"signrp_mode": given.get("signrp_mode", "tight").capitalize()}
    parameters |= {name: given.get(name) for name in ("symbols", "lattice_steps")} | {"thresholds": given.get("thresholds", [])}
    parameters |= {name: given.get(name) for name in ("norm", "density", "grid_exponent")}
    parameters |= {"i_understand_this_is_not_dp": given.get("i_understand_this_is_not_dp", False)}
    parameters |= {"bins": given["bins"]} if "bins" in given else {}
    parameters |= {"purpose": given["purpose"].capitalize()} if "purpose" in given else {}
    facts = {"projection_version": certificate["projection"]["version"], "parameters": parameters}
    facts |= {"grid_exponent": certificate["grid_exponent"], "perturbation": certificate["noise"]}
    return hashlib.sha256(tree(facts)).digest()


# Noise laws by their integers in the certificate: P(N > n)


def laplace_tail(law):
    a = Fraction(int(law["ratio"]), 2**64)
    return lambda n: a ** (n + 1) / (1 + a)


def staircase_tail(law):
    """P(n) proportional to b^floor((|n| + B - r)/B): sum the period that holds n + 1, then the whole ones after it."""
    b, period, width = Fraction(int(law["ratio"]), 2**64), int(law["sensitivity"]), int(law["width"])
    weigh = lambda first: max(0, width - first) + (period - max(first, width)) * b
    total = 2 * weigh(0) / (1 - b) - 1

    def tail(n):
        whole, first = divmod(n + 1, period)
        return b**whole * (weigh(first) + b * weigh(0) / (1 - b)) / total

    return tail


def gaussian_tail(law):
    sigma = Fraction(law["sigma"])
    at = lambda n: mpf((2 * n + 1) * sigma.denominator) / (2 * sigma.numerator)
    return lambda n: Fraction(int(erfc(at(n) / sqrt(2)) / 2 * 2**128), 2**128)


TAILS = {"discrete-laplace": laplace_tail, "discrete-staircase": staircase_tail, "rounded-gaussian": gaussian_tail}


# Perturbations: from integers x to integers or codes


def add_noise(rule, stream, start, x):
    assert not rule["radius_steps"]
    dropped, clip = rule["fraction_bits_dropped"], rule["clip_steps"]
    x = [(Fraction(v, 2**dropped) + Fraction(1, 2)).__floor__() for v in x]
    x = [max(-clip, min(clip, v)) for v in x] if clip else x
    tail = TAILS[rule["law"]["law"]](rule["law"])
    return [v + n for v, n in zip(x, keyed.noise(stream, start, len(x), tail))]


def flip(rule, stream, start, x):
    """The side of the threshold, flipped by level (docs/few-symbols.md, Bit; a fair coin at 0 for the paper's)."""
    thresholds, steps = [int(t) for t in rule["law"]["first_thresholds"]], rule["steps"]
    steps = steps * len(x) if len(steps) == 1 else steps
    sides, levels = [], []
    for v, b in zip(x, steps):
        j = -(-(v - rule["threshold_steps"]) // b)
        above = v > 0 if rule["zero"] == "fair-coin" else j >= 1
        sides.append(above)
        levels.append(-(-abs(v) // b) if rule["zero"] == "fair-coin" else j if above else 1 - j)
    flips = keyed.flips(stream, start, [thresholds[min(level, rule["law"]["levels"] - 1)] for level in levels])
    return [int(side) ^ flipped for side, flipped in zip(sides, flips)]


def draw_symbols(rule, stream, start, x):
    law, classes = rule["law"], rule["classes"]
    table = [[int(entry) for entry in row.split()] for row in law["table"]]
    if "cut_steps" in classes:
        rows = [table[sum(v >= cut for cut in classes["cut_steps"])] for v in x]
    else:
        r, b, last = classes["points_per_beta"], classes["beta_steps"], classes["last_point"]
        nearest = lambda v: (1 if v > 0 else -1) * -(-(2 * abs(v) * r - b) // (2 * b))
        rows = [table[max(-last, min(last, nearest(v))) + last] for v in x]
    return keyed.symbols(stream, start, rows, law["denominator_bits"])


class Words:
    """The row's stream from its beginning, read in order."""

    def __init__(self, stream, start):
        self.stream, self.start, self.at = stream, start, 0

    def next(self, size):
        data = self.stream.stream(self.start, self.at + size)[self.at :]
        self.at += size
        return int.from_bytes(data, "little")

    def below(self, bound, size):
        """floor(word bound / 2^bits), drawn again where the product's low part is below 2^bits mod bound."""
        bits = 8 * size
        while True:
            product = self.next(size) * bound
            if product % 2**bits >= 2**bits % bound:
                return product >> bits

    def choose(self, weights):
        """How many of the sums of first weights a real, of 64 bits and more on a tie, has reached."""
        real, bits, total = self.next(8), 64, sum(weights)
        cuts = [sum(weights[: i + 1]) for i in range(len(weights) - 1)]
        while any(real * total < cut << bits < (real + 1) * total for cut in cuts):
            real, bits = real << 64 | self.next(8), bits + 64
        return sum(real * total >= cut << bits for cut in cuts)


def signcap(rule, words, x):
    k, odds = len(x), int(rule["odds"]["numerator"])
    agreements = words.choose([comb(k, h) * (odds if h >= rule["least_agreements"] else 2**64) for h in range(k + 1)])
    wanted, out = k - agreements, []
    for j, v in enumerate(x):
        disagrees = words.below(k - j, 4) < wanted
        wanted -= disagrees
        out.append(int((v > 0) != disagrees))
    return out


def privcube(rule, words, x):
    """Vertices in order of penalty, numbered within it from the last coordinate on; w as in MECHANISMS 4c."""
    w, k, cap, odds = record.weights(x), len(x), int(rule["cap"]), int(rule["odds"]["numerator"])
    counts = [{0: 1}]
    for weight in w:
        penalties = set(counts[-1]) | {d + abs(weight) for d in counts[-1]}
        counts.append({d: counts[-1].get(d, 0) + counts[-1].get(d - abs(weight), 0) for d in penalties})

    def locate(rank):
        for penalty in sorted(counts[k]):
            if rank < counts[k][penalty]:
                return penalty, rank
            rank -= counts[k][penalty]

    in_cap = words.choose([(odds - 2**64) * cap, 2**64 << k]) == 0
    uniform, rank = words.below(2**k, 24), words.below(cap, 24)
    last = locate(cap - 1)[0]
    tie = words.below(counts[k][last], 24)
    if not in_cap:
        return [uniform >> j & 1 for j in range(k)]
    penalty, number = locate(rank)
    number, out = tie if penalty == last else number, [0] * k
    for j in reversed(range(k)):
        agreeing = counts[j].get(penalty, 0)
        disagrees = number >= agreeing
        number, penalty = (number - agreeing, penalty - abs(w[j])) if disagrees else (number, penalty)
        out[j] = int(disagrees != (w[j] > 0))
    return out


def weigh_vertex(rule, stream, start, x):
    return {"signcap": signcap, "privcube": privcube}[rule["law"]](rule, Words(stream, start), x)


PERTURBATIONS = {"noise": add_noise, "flips": flip, "symbols": draw_symbols, "weighted-vertex": weigh_vertex}


# Output


def encode(certificate, made):
    """One row of bytes, by the name of the encoding."""
    name, step = certificate["encoding"]["name"], certificate["encoding"]["step"]
    if name == "f32":
        centres = certificate["encoding"].get("centres", [0.0] * len(made))
        return b"".join(struct.pack("<f", v * step + c) for v, c in zip(made, centres))
    if name == "i16":
        divisor = certificate["encoding"]["divisor"]
        code = lambda v: max(-32767, min(32767, (Fraction(v, divisor) + Fraction(1, 2)).__floor__()))
        return b"".join(struct.pack("<h", code(v)) for v in made)
    count = 2 if name == "b1" else int(name[1:])
    base, per_byte = {2: (2, 8), 3: (3, 5), 4: (4, 4)}.get(count, (16, 2))
    made = made + [0] * (-len(made) % per_byte)
    digits = lambda group: sum(code * base ** (per_byte - 1 - i) for i, code in enumerate(group))
    return bytes(digits(made[i : i + per_byte]) for i in range(0, len(made), per_byte))


def npy(descr, shape, body):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n" + body


def projection(certificate):
    public, parameters = certificate["projection"], certificate["parameters"]
    seed, p, k = bytes.fromhex(public["seed"]), public["p"], public["k"]
    if public["kind"] == "none":
        return np.eye(p, dtype=object)
    if "bins" in parameters:
        return structure.bins(np.zeros((p, k), dtype=object), parameters["bins"], seed, p, k, Fraction(1))[0]
    kind = f"oporp:{public['repeats']}" if public["kind"] == "oporp" else public["kind"]
    return matrix(kind, seed, p, k)


def release(input, ids, key, certificate):
    """The bytes of the output."""
    g, (lo, hi) = Fraction(2) ** certificate["grid_exponent"], map(Fraction, certificate["range"])
    quantise = lambda u: (min(max(Fraction(u), lo), hi) / g + Fraction(1, 2)).__floor__()
    w, rule = projection(certificate), certificate["noise"]
    stream = keyed.Keyed(read_key(key), VERSION + digest(certificate), quantise(lo), quantise(hi), len(w))
    out = []
    for row, name in zip(read_rows(input), read_npy(ids)[1], strict=True):
        row = {i: quantise(value) for i, value in row.items()}
        x = [int(v) for v in sum(value * w[i] for i, value in row.items()) + np.zeros(w.shape[1], dtype=object)]
        out.append(encode(certificate, PERTURBATIONS[rule["kind"]](rule, stream, stream.start(row, str(name).encode()), x)))
    size, descr = {"f32": (4, "<f4"), "i16": (2, "<i2")}.get(certificate["encoding"]["name"], (1, "|u1"))
    return npy(descr, (len(out), len(out[0]) // size), b"".join(out))


# The binary beside it

CASES = [
    "raw-laplace",
    "raw-staircase --encoding i16",
    "raw-rr",
    "dp-oporp-staircase -k 8",
    "dp-oporp-staircase -k 6 --bins grid:4x6",
    "dp-oporp-laplace -k 8 --repeats 2 --sketch-clip 0.5",
    "dp-oporp -k 8 --delta 1e-6",
    "dp-rp-g-opt -k 5 --delta 1e-6",
    "dp-rp-l -k 4 --projection rademacher",
    "dp-signoporp-rr -k 8",
    "dp-signoporp-rr-smooth -k 8 --repeats 2",
    "dp-signoporp-ceil -k 11",
    "dp-signrp-ceil -k 7",
    "dp-oporp-zones -k 8",
    "dp-oporp-lattice -k 8 --symbols 5",
    "signcap -k 19",
    "privcube -k 12",
    "privcube -k 10 --for search",
]


def write_inputs(folder):
    """The same 8 rows of 24 attributes: dense floats, dense bytes in Fortran order, sparse text; ids as numbers and text."""
    numbers = keyed.integers("rows of reference/release.py", 8 * 24, -40, 120)
    rows = [[numbers[24 * i + j] / 100 for j in range(24)] for i in range(8)]
    flat = lambda values, code: b"".join(struct.pack("<" + code, v) for v in values)
    (folder / "dense.npy").write_bytes(npy("<f4", (8, 24), flat([v for row in rows for v in row], "f")))
    turned = [int(rows[i][j] > 0.3) for j in range(24) for i in range(8)]
    fortran = npy("|u1", (8, 24), flat(turned, "B")).replace(b"'fortran_order': False", b"'fortran_order': True ")
    (folder / "bytes.npy").write_bytes(fortran)
    lines = [f"{i % 3} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v > 0.5) for i, row in enumerate(rows)]
    (folder / "sparse.svm").write_text("# a comment\n\n" + "\n".join(lines) + " # and another\n")
    (folder / "numbers.npy").write_bytes(npy("<i8", (8,), flat([7 * i - 30 for i in range(8)], "q")))
    names = [("é" * i + f"person {i}").ljust(60, "\0") for i in range(8)]
    (folder / "names.npy").write_bytes(npy("<U60", (8,), "".join(names).encode("utf-32-le")))
    return [("dense.npy", "names.npy"), ("sparse.svm", "numbers.npy"), ("bytes.npy", "numbers.npy")]


def main(binary):
    run = lambda *words: subprocess.run([binary, *map(str, words)], check=True, capture_output=True)
    failed = compared = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs, key, out = write_inputs(folder), folder / "key", folder / "out.npy"
        key.write_text("scumble-sticky-key " + bytes((5 * i + 3) % 256 for i in range(32)).hex() + "\n")
        key.chmod(0o600)
        for case in CASES:
            mechanism, *options = case.split()
            for input, ids in inputs:
                for file in folder.glob("out.npy*"):
                    file.unlink()
                run("release", folder / input, "--dim", 24, "--id", folder / ids, "--sticky-key", key, "--out", out,
                    "--mechanism", mechanism, *options, "--epsilon", 3, "--range=-0.25,1")
                certificate = json.loads((folder / "out.npy.certificate.json").read_text())
                same = release(folder / input, folder / ids, key, certificate) == out.read_bytes()
                compared, failed = compared + 1, failed + (not same)
                if not same:
                    print(f"FAIL {case} of {input}: the bytes differ")
    print(f"{compared - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
