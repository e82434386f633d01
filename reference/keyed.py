"""Noise by key (docs/longitudinal.md, "The noise, exactly"), slowly and from that page alone, without any package.

    python reference/keyed.py [FILE]    # writes crates/scumble-core/tests/vectors/v1/keyed.json (seconds)

BLAKE3 for inputs up to 1,024 bytes, AES-128, the hash of a row, the stream of a row, and draws from it: flips, symbols and
noise whose upper tail is a list of fractions.
"""

import json
import sys
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

VECTORS = Path(__file__).parent.parent / "crates/scumble-core/tests/vectors/v1/keyed.json"
P = 2**31 - 1
M32 = 2**32 - 1


# BLAKE3, keyed, one chunk, any number of output bytes

IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
COLUMNS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
START, END, ROOT, KEYED = 1, 2, 8, 16


def words(data):
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def compress(chain, block, counter, length, flags):
    v = chain + IV[:4] + [counter & M32, counter >> 32, length, flags]
    turn = lambda x, n: (x >> n | x << (32 - n)) & M32
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(COLUMNS):
            for m, (first, second) in zip(block[2 * i : 2 * i + 2], [(16, 12), (8, 7)]):
                v[a] = (v[a] + v[b] + m) & M32
                v[d] = turn(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & M32
                v[b] = turn(v[b] ^ v[c], second)
        block = [block[i] for i in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ chain[i] for i in range(8)]


def blake3(key, data, size):
    assert len(data) <= 1024
    blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
    chain, flags = words(key), KEYED | START
    for block in blocks[:-1]:
        chain, flags = compress(chain, words(block), 0, 64, flags)[:8], KEYED
    last, out = words(blocks[-1].ljust(64, b"\0")), b""
    for counter in range(-(-size // 64)):
        made = compress(chain, last, counter, len(blocks[-1]), flags | END | ROOT)
        out += b"".join(word.to_bytes(4, "little") for word in made)
    return out[:size]


def derive(key, context, size):
    """Length and bytes of every part."""
    return blake3(key, b"".join(len(part).to_bytes(8, "little") + part for part in context), size)


# AES-128, one block


def double(x):
    return (x << 1 ^ 0x11B if x & 0x80 else x << 1) & 0xFF


def sbox():
    log, power, x = {}, [], 1
    for i in range(255):
        log[x], x = i, x ^ double(x)
        power.append(next(v for v, n in log.items() if n == i))
    box = []
    for byte in range(256):
        inverse = power[-log[byte] % 255] if byte else 0
        box.append(0x63)
        for n in range(5):
            box[-1] ^= (inverse << n | inverse >> (8 - n)) & 0xFF
    return box


SBOX = sbox()


@lru_cache
def round_keys(key):
    keys, constant = [list(key[i : i + 4]) for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        word = keys[-1]
        if i % 4 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= constant
            constant = double(constant)
        keys.append([a ^ b for a, b in zip(keys[-4], word)])
    return [sum(keys[i : i + 4], []) for i in range(0, 44, 4)]


def aes(key, block):
    keys = round_keys(key)
    add = lambda state, i: [b ^ k for b, k in zip(state, keys[i])]
    state = add(block, 0)
    for i in range(1, 11):
        state = [SBOX[state[(j + 4 * (j % 4)) % 16]] for j in range(16)]
        if i < 10:
            columns = [state[j : j + 4] for j in range(0, 16, 4)]
            mix = lambda c, r: double(c[r]) ^ double(c[(r + 1) % 4]) ^ c[(r + 1) % 4] ^ c[(r + 2) % 4] ^ c[(r + 3) % 4]
            state = [mix(c, r) for c in columns for r in range(4)]
        state = add(state, i)
    return bytes(state)


# The row and its stream


class Keyed:
    def __init__(self, key, mechanism, lo, hi, dim):
        self.secret = lambda label, size: derive(key, [b"noise", mechanism, label], size)
        self.hash_id = lambda name: derive(key, [b"id", mechanism, name], 32)
        self.width, self.dim = hi - lo, dim
        count = -(-dim // 2) if self.width < 2**8 else dim if self.width < 2**16 else 2 * dim
        self.low, self.high, self.id = self.table(b"low", min(count, 4096)), self.table(b"high", -(-count // 4096)), self.table(b"id", 16)
        self.keys = [self.secret(label, 16) for label in (b"seed", b"stream")]

    def table(self, label, size):
        data = self.secret(label, 32 * size)
        numbers = [int.from_bytes(data[i : i + 8], "little") % P for i in range(0, len(data), 8)]
        return [numbers[i : i + 4] for i in range(0, len(numbers), 4)]

    def words(self, row):
        """(number, word) of a row {attribute: value}."""
        for j, v in row.items():
            if self.width < 2**8:
                yield j // 2, v * 256 ** (j % 2)
            elif self.width < 2**16:
                yield j, v
            else:
                low = (v + 2**15) % 2**16 - 2**15
                yield 2 * j, low
                yield 2 * j + 1, (v - low) // 2**16

    def evaluate(self, row, name):
        h = [0] * 4
        for w, word in self.words(row):
            h = [(x + word * a * b) % P for x, a, b in zip(h, self.low[w % 4096], self.high[w // 4096])]
        data = bytes([len(name)]) + name if len(name) <= 47 else b"\xff" + self.hash_id(name)
        for i in range(0, len(data), 3):
            word = int.from_bytes(data[i : i + 3], "little")
            h = [(x + word * k) % P for x, k in zip(h, self.id[i // 3])]
        return h

    def function(self, purpose, row, name):
        h = self.evaluate(row, name)
        number = sum(x << (31 * t) for t, x in enumerate(h)) + (purpose << 124)
        return aes(self.keys[0], number.to_bytes(16, "little"))

    def start(self, row, name):
        return int.from_bytes(self.function(0, row, name), "little")

    def fingerprint(self, row, name):
        return self.function(2, {}, name), self.function(1, row, name)

    def stream(self, counter, size):
        blocks = range(counter, counter + -(-size // 16))
        return b"".join(aes(self.keys[1], (i % 2**128).to_bytes(16, "little")) for i in blocks)[:size]

    def more(self, start, j, size):
        return self.stream(start + 2**64 + 2**32 * j, size)


# Draws


def coins(keyed, start, k):
    """16 bits for every output, and 64 more that are looked at on a tie."""
    data = keyed.stream(start, 2 * k)
    for j in range(k):
        yield int.from_bytes(data[2 * j : 2 * j + 2], "big"), int.from_bytes(keyed.more(start, j, 8), "little")


def flips(keyed, start, thresholds):
    """Output j is flipped if 16 bits and, after them, the upper 48 of 64 make a number below its threshold over 2^64."""
    return [int((first << 48 | more >> 16) < t) for (first, more), t in zip(coins(keyed, start, len(thresholds)), thresholds)]


def symbols(keyed, start, rows, bits):
    """How many sums of a row's first entries the number of so many bits has reached."""
    draws = coins(keyed, start, len(rows))
    numbers = [first << (bits - 16) | more >> (80 - bits) for first, more in draws]
    return [sum(number >= sum(row[: y + 1]) for y in range(len(row) - 1)) for number, row in zip(numbers, rows)]


def noise(keyed, start, k, tail):
    """A sign, and how many of tail(0), tail(1), .. lie above a real: 31 bits, then 32 and 64 of the further ones."""
    data, out = keyed.stream(start, 4 * k), []
    for j in range(k):
        word, more = int.from_bytes(data[4 * j : 4 * j + 4], "little"), keyed.more(start, j, 4)
        real = Fraction((word & 2**31 - 1) << 32 | int.from_bytes(more, "little"), 2**64)
        most = 1
        while tail(most) > real:
            most *= 2
        n = bisect_left(range(most), True, key=lambda n: tail(n) <= real)
        out.append(-n if word >> 31 else n)
    return out


# Vectors


def integers(seed, count, lo, hi):
    data = blake3(bytes(32), seed.encode(), 8 * count)
    return [lo + int.from_bytes(data[8 * i : 8 * i + 8], "little") % (hi - lo + 1) for i in range(count)]


def case(number, lo, hi, dim, name, present=None):
    key, mechanism = bytes((7 * number + i) % 256 for i in range(32)), bytes((11 * number + 3 * i) % 256 for i in range(32))
    keyed, k = Keyed(key, mechanism, lo, hi, dim), 40
    attributes = range(dim) if present is None else present
    row = dict(zip(attributes, integers(f"row {number}", len(attributes), lo, hi)))
    start = keyed.start(row, name)
    # Thresholds of every kind: far from the draw, and tied with its first 16 bits on either side of what follows.
    thresholds = integers(f"thresholds {number}", k, 1, 2**64 - 1)
    for j, (first, more) in enumerate(coins(keyed, start, k)):
        whole = first << 48 | more >> 16
        thresholds[j] = [thresholds[j], max(whole, 1), whole + 1, max(whole - 2**20, first << 48, 1)][j % 4]
    tables = {}
    for bits in (32, 62):
        rows = []
        for j, (first, more) in enumerate(coins(keyed, start, k)):
            cut = [2**bits // 3, (first << (bits - 16) | more >> (80 - bits)) + j % 2][j % 3 > 0]
            rows.append([max(cut - 5, 1), 5, 2**bits - max(cut - 5, 1) - 5] if cut < 2**bits - 6 else [2**bits // 2, 5, 2**bits // 2 - 5])
        tables[bits] = rows
    ratio = 18160753814917686420  # ceil(2^64 e^(-1/64))
    a = Fraction(ratio, 2**64)
    laplace = noise(keyed, start, k, lambda n: a ** (n + 1) / (1 + a))
    return {
        "key": key.hex(), "mechanism": mechanism.hex(), "lo": lo, "hi": hi, "dim": dim, "id": name.hex(),
        "index": list(row), "values": list(row.values()), "evaluations": keyed.evaluate(row, name),
        "start": f"{start:032x}", "fingerprint": [part.hex() for part in keyed.fingerprint(row, name)],
        "thresholds": [str(t) for t in thresholds], "flips": flips(keyed, start, thresholds),
        "symbols": [
            {"bits": bits, "rows": [[str(entry) for entry in row] for row in rows], "drawn": symbols(keyed, start, rows, bits)}
            for bits, rows in tables.items()
        ],
        "laplace": {"ratio": str(ratio), "drawn": laplace},
    }


def main():
    assert aes(bytes(range(16)), bytes(0x11 * i for i in range(16))).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    cases = [
        case(1, 0, 255, 7, b"1"),
        case(2, -128, 127, 784, b"person 17"),
        case(3, -1000, 1000, 50, b""),
        case(4, 40_000, 100_000, 33, b"x" * 47),
        case(5, 1 - 2**30, 2**30 - 1, 20, b"y" * 48),
        case(6, -1, 1, 2**24, "Zoë".encode(), [0, 1, 4096, 8191, 8192, 10**6, 2**24 - 1]),
    ]
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else VECTORS
    path.write_text("{\"cases\": [\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
