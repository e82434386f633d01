"""Public numbers, checked before the compiled part reads them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._errors import ParameterError

# Where the compiled part has fewer bits for an integer.
_BITS = {"symbols": 8, "lattice_steps": 32, "grid_exponent": 31}


def real(name: str, value: Any) -> Any:
    """A finite float; None stays None."""
    if value is None:
        return None
    if not isinstance(value, (numbers.Real, np.number)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError(f"{name} is too large for a float") from None
    if not math.isfinite(number):
        raise ParameterError(f"{name} must be finite, got {number}")
    return number


def whole(name: str, value: Any, least: int | None = 0) -> Any:
    """An integer that is not too large; None stays None."""
    if value is None:
        return None
    if not isinstance(value, (numbers.Integral, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    value, bits = int(value), _BITS.get(name, 63)
    if least == 0 and value < 0:
        raise ParameterError(f"{name} must not be negative{f', got {value}' if value > -(2**63) else ''}")
    if abs(value) >= 2**bits:
        raise ParameterError(f"{name} is too large: the limit is 2^{bits}")
    if least is not None and value < least:
        raise ParameterError(f"{name} must be at least {least}, got {value}")
    return value


def several(check: Callable[[str, Any], Any], name: str, values: Any) -> list[Any]:
    """Each of `values`, or the only one, by the check for one."""
    if isinstance(values, np.ndarray):
        values = values.ravel()
    alone = isinstance(values, str) or not isinstance(values, Iterable)
    checked = [check(name, value) for value in ([values] if alone else values)]
    if None in checked:
        raise TypeError(f"{name} must be numbers, got None")
    return checked
