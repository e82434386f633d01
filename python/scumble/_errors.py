"""What can go wrong, by name. No message holds a private value."""

from __future__ import annotations


class ScumbleError(Exception):
    """Base of all errors of this package."""


class ParameterError(ScumbleError, ValueError):
    """A public number is missing, out of its domain, or does not fit another one."""


class NotPrivate(ParameterError):
    """A refusal: what was asked for would not be private. The message says what to ask for instead."""


class OverBudget(ScumbleError):
    """A refusal: the release costs more than what is left of the data set's budget."""


class DataError(ScumbleError, ValueError):
    """A fault in the private input. Says where it is and what kind it is, never the value. For the data's owner only."""

    def __init__(self, message: str, row: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.row = row
        """The row at fault, counted from 0, if there is one."""
        self.column = column
        """The attribute at fault, counted from 0, if there is one."""

    def __reduce__(self) -> tuple[type[DataError], tuple[str, int | None, int | None]]:
        return type(self), (str(self), self.row, self.column)


class CertificateError(ScumbleError, ValueError):
    """A certificate is missing, is inconsistent, or does not belong to the data."""


class NotIdentifiable(ScumbleError, ValueError):
    """This kind of release cannot give what was asked for; it may still serve for ranking."""


class FileError(ScumbleError, OSError):
    """A file cannot be read or written."""


class Refused(ScumbleError):
    """The device client refuses. The sentence is fixed and contains nothing private."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
        """The same number as in C and JavaScript."""

    def __reduce__(self) -> tuple[type[Refused], tuple[str, int]]:
        return type(self), (str(self), self.code)
