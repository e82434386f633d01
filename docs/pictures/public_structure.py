"""Draws docs/pictures/public-structure.png: digits, their blocks, what is released at epsilon 1, and what decoding gives.

    python docs/pictures/public_structure.py train-images-idx3-ubyte.gz

Needs numpy and scumble. The seed is public and fixed; the noise is secret and fresh, so that every run differs a little.
"""

import gzip
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import scumble

ROWS, DIGITS, SIDE, SCALE, GAP = 20_000, (7, 2, 16, 13), 7, 5, 8


def grey_png(image: np.ndarray) -> bytes:
    """An 8-bit grey image as PNG."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = image.shape
    lines = b"".join(b"\0" + row.tobytes() for row in image)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def panel(image: np.ndarray) -> np.ndarray:
    """Dark ink on white, every panel 28 x 28 pixels enlarged."""
    spread = np.kron(image, np.ones((28 // len(image), 28 // len(image))))
    grey = (255 - np.clip(spread, 0, 255)).astype(np.uint8)
    return np.pad(np.kron(grey, np.ones((SCALE, SCALE), np.uint8)), GAP, constant_values=255)


digits = np.frombuffer(gzip.open(sys.argv[1]).read(), np.uint8, offset=16).reshape(-1, 784)[:ROWS]
m = scumble.Mechanism(
    "dp-oporp-staircase", dim=784, k=SIDE**2, epsilon=1.0, range=(0, 255), bins="grid:28x28", seed=bytes(32)
)
r = m.release(digits)
exact, released, decoded = m.project(digits), r.values, scumble.decode(r)
means = digits.reshape(-1, SIDE, 28 // SIDE, SIDE, 28 // SIDE).mean(axis=(2, 4)).reshape(ROWS, -1)
unit = float((means * exact).sum() / (exact * exact).sum())  # from the scale of sketches to that of pixels
blocks = [(rows * unit).reshape(ROWS, SIDE, SIDE) for rows in (exact, released, decoded)]
lines = [np.hstack([panel(digits[at].reshape(28, 28)), *(panel(part[at]) for part in blocks)]) for at in DIGITS]
Path(__file__).with_name("public-structure.png").write_bytes(grey_png(np.vstack(lines)))
for name, part in zip(("released", "decoded"), blocks[1:]):
    print(f"{name}: off by {np.sqrt(np.mean((part - blocks[0]) ** 2)):.1f} of 255 per block")
