"""The decoder printed in docs/release-format.md, run on the examples that stand beside it. Needs no library.

Prints "N passed, M failed".
"""

import pathlib
import re
import sys

text = (pathlib.Path(__file__).parent.parent / "docs" / "release-format.md").read_text()
exec(re.search(r"```python\n(.*?)```", text, re.S).group(1))

CASES = [
    ("b1", [0x83, 0x80], [1, -1, -1, -1, -1, -1, 1, 1, 1]),
    ("s2", [0x83, 0x80], [1, 0, 0, 0, 0, 0, 1, 1, 1]),
    ("s3", [194, 81], [2, 1, 0, 1, 2, 1]),
    ("s4", [0xC6, 0x80], [3, 0, 1, 2, 2]),
    ("s5", [0x40, 0x30], [4, 0, 3]),
    ("s16", [0xF1, 0x70], [15, 1, 7]),
    ("b4", [0x0F], [-7.5, 7.5]),
]
failed = 0
for name, row, expected in CASES:
    encoding = {"name": name, "step": 1.0, "offset": -7.5 if name == "b4" else 0.0, "values": list(range(16))}
    found = decode(bytes(row), {"encoding": encoding, "projection": {"k": len(expected)}})  # noqa: F821
    failed += found != expected
    if found != expected:
        print(f"FAIL {name}: {found}, expected {expected}")
print(f"{len(CASES) - failed} passed, {failed} failed")
sys.exit(failed > 0)
