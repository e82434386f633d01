"""scumble: release vectors under differential privacy and keep them searchable, comparable and trainable.

>>> import scumble
>>> images, labels = scumble.digits()
>>> m = scumble.Mechanism("dp-oporp-staircase", dim=784, k=256, epsilon=5.0, range=(0, 255), seed=bytes(32))
>>> r = m.release(images[:5000], labels=labels[:5000])
>>> r.certificate["guarantee"]["epsilon"]
5.0
>>> hits = scumble.search(r, images[5000:5001], top=3)
>>> hits.rows.shape
(1, 3)
"""

from ._account import Account
from ._digits import digits
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
from ._structure import PublicFile, learn_bins, learn_components, make_book

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
    "PublicFile",
    "Release",
    "ScumbleError",
    "Statistics",
    "__version__",
    "angle",
    "check_certificate",
    "cosine",
    "decode",
    "digits",
    "evaluate",
    "inner_product",
    "inner_product_with_query",
    "inspect",
    "keygen",
    "learn_bins",
    "learn_components",
    "load",
    "make_book",
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
