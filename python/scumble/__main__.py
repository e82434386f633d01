"""The command line: ``scumble`` or ``python -m scumble``."""

from __future__ import annotations

import signal
import sys

from . import _scumble


def main() -> None:
    """Runs the command line with the arguments of this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once; nothing half written is left
    sys.exit(_scumble.command(["scumble", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
