"""A small real data set inside: 6,100 handwritten digits of MNIST (CC BY-SA 3.0)."""

from __future__ import annotations

import numpy as np

from . import _scumble


def digits() -> tuple[np.ndarray, np.ndarray]:
    """The first 6,100 test images of MNIST, and the digits that they show: uint8 arrays of shape (6100, 784) and (6100,).

    Pixels run from 0 (paper) to 255 (ink), in 28 rows of 28. The images are by Yann LeCun, Corinna Cortes and Christopher
    Burges, and are under the licence CC BY-SA 3.0; `crates/scumble-lab/data/mnist/PROVENANCE.md` has the details.

    >>> import scumble
    >>> images, labels = scumble.digits()
    >>> images.shape, images.dtype, labels[:5].tolist()
    ((6100, 784), dtype('uint8'), [7, 2, 1, 0, 4])
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=784, k=196, epsilon=3.0, range=(0, 255), bins="grid:28x28")
    >>> r = m.release(images[:1000], labels=labels[:1000])
    >>> hits = scumble.search(r, images[1000:1200], top=1)
    >>> float((r.labels[hits.rows[:, 0]] == labels[1000:1200]).mean()) > 0.6
    True
    """
    images, labels = (np.frombuffer(part, np.uint8) for part in _scumble.digits())
    return images.reshape(len(labels), -1), labels
