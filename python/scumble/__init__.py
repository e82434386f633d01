"""scumble: release vectors under differential privacy and keep them searchable, comparable and trainable.

>>> import numpy as np, scumble
>>> x = np.random.default_rng(0).random((1000, 784), dtype=np.float32)
>>> m = scumble.Mechanism("dp-oporp-staircase", dim=784, k=256, epsilon=5.0, beta=1.0, range=(0.0, 1.0), seed=bytes(32))
>>> r = m.release(x)
>>> r.certificate["guarantee"]["epsilon"]
5.0
>>> hits = scumble.search(r, x[:1], top=3)
>>> int(hits.rows[0, 0])
0
"""

from ._account import Account
from ._errors import (
    CertificateError,
    DataError,
    FileError,
    NotIdentifiable,
    NotPrivate,
    OverBudget,
    ParameterError,
    ScumbleError,
)
from ._estimate import (
    Estimate,
    angle,
    cosine,
    inner_product,
    inner_product_with_query,
    squared_distance,
    squared_norm,
)
from ._evaluate import Evaluation, evaluate
from ._files import release_file
from ._keys import keygen, sticky_seed
from ._mechanism import Mechanism, mechanisms
from ._plan import Plan, plan
from ._release import Release, check_certificate, inspect, load, verify
from ._scumble import __version__
from ._search import Hits, search
from ._statistics import Family, Statistics, decode, statistics

__all__ = [
    "Account",
    "CertificateError",
    "DataError",
    "Estimate",
    "Evaluation",
    "Family",
    "FileError",
    "Hits",
    "Mechanism",
    "NotIdentifiable",
    "NotPrivate",
    "OverBudget",
    "ParameterError",
    "Plan",
    "Release",
    "ScumbleError",
    "Statistics",
    "__version__",
    "angle",
    "check_certificate",
    "cosine",
    "decode",
    "evaluate",
    "inner_product",
    "inner_product_with_query",
    "inspect",
    "keygen",
    "load",
    "mechanisms",
    "plan",
    "release_file",
    "search",
    "squared_distance",
    "squared_norm",
    "statistics",
    "sticky_seed",
    "verify",
]
