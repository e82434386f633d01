"""Section 4d: bins of a public partition, the search cap of privcube, and privbook. Words are numbered from 0."""

import hashlib
import struct
from fractions import Fraction
from math import sqrt

from mpmath import exp, floor, mpf

from projection import matrix


def grid(text, k):
    """Blocks of an image: of all a b = k the split whose blocks are nearest to squares; pixel (i, j) of all colours in
    block (i a / H, j b / W)."""
    sides = [int(side) for side in text.removeprefix("grid:").split("x")]
    height, width, colours = (sides + [1])[:3]
    shape = lambda a: max(Fraction(height, a) / Fraction(width, k // a), Fraction(width, k // a) / Fraction(height, a))
    a = min((a for a in range(1, height + 1) if k % a == 0 and k // a <= width), key=shape)
    b = k // a
    pixels = [(i * a // height) * b + j * b // width for i in range(height) for j in range(width)]
    return [(block, 1) for block in pixels for _ in range(colours)]


def file(text):
    """Attribute to (bin, sign), None where the file leaves it to the seed, and the middle of each bin's law."""
    lines = text.split("\n")
    places, medians, at = [None] * int(lines[1].split()[1]), [], -1
    for line in lines[4:]:
        if line.startswith("bin"):
            at += 1
            for entry in line.split()[1:]:
                places[int(entry[1:])] = (at, 1 if entry[0] == "+" else -1)
        elif line.startswith("law"):
            law = line.split()[1:]
            medians.append(float(law[(len(law) - 1) // 2]))
    return places, medians


def bins(w, given, seed, dim, k, g):
    """The matrix with +-1 in one place per attribute, and what is taken off each bin, in grid steps: floor(m/g + 1/2)."""
    places, medians = (grid(given, k), []) if isinstance(given, str) else file(given["text"])
    hashed = matrix("oporp:1", seed, dim, k)
    w = w * 0
    for attribute, place in enumerate(places):
        if place is None:
            w[attribute] = hashed[attribute]
        else:
            w[attribute, place[0]] = place[1]
    centres = [(Fraction(m) / g + Fraction(1, 2)).__floor__() for m in medians]
    return w, centres or [0] * k


def search_cap(k, epsilon):
    """M = floor(q 2^k), q = p/(p + (1-p)E), p = .6 up to epsilon 12, .9 at 20, .93 from 30 on, on lines between."""
    e = mpf(epsilon)
    p = mpf(6) / 10 if e <= 12 else mpf(6) / 10 + (e - 12) * 3 / 80 if e <= 20 else min(mpf(93) / 100, mpf(9) / 10 + (e - 20) * 3 / 1000)
    q = p / (p + (1 - p) * exp(e))
    return min(max(1, int(floor(q * 2**k))), 2 ** (k - 1))


def book(words, scale):
    """A book as parameters carry it: its file, by its hash."""
    head = f"scumble-book 1\nrows {len(words)}\ncolumns {len(words[0])}\nfrom made\nscale {scale}\n\n"
    content = head.encode() + b"".join(struct.pack(f"<{len(word)}h", *word) for word in words)
    return {"sha256": hashlib.sha256(content).hexdigest(), "content": content.hex()}


def favoured(words, epsilon):
    """M = max(1, round(2 K e^-epsilon)), at most half of the words."""
    return min(max(1, int(floor(2 * words * exp(-mpf(epsilon)) + mpf(1) / 2))), words // 2)


def ranking(words, x, largest):
    """Words by the inner product with the record's cells of 10 bits, each word at length 2048; ties to the lower word."""
    shift = max(0, (-(-largest // 1024) - 1).bit_length())
    cells = [max(-1024, min(1024, v >> shift)) for v in x]
    ints = []
    for word in words:
        length = sqrt(sum(float(v) * v for v in word))
        ints.append([int(floor(mpf(float(v) * (2048.0 / length) + 0.5))) if length else 0 for v in word])
    scores = [sum(a * b for a, b in zip(cells, word)) for word in ints]
    return sorted(range(len(words)), key=lambda word: (-scores[word], word))


def privbook(words, x, largest, epsilon):
    """P(word): ranks below M weigh E, the others 1, over M E + K - M."""
    e, m = exp(mpf(epsilon)), favoured(len(words), epsilon)
    order = ranking(words, x, largest)
    total = m * e + len(words) - m
    law = {word: (e if rank < m else mpf(1)) / total for rank, word in enumerate(order)}
    return [law[word] for word in range(len(words))]
