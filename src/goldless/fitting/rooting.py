"""Another reading of the votes, as a value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rooting(NamedTuple):
    """Another reading of the votes.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
        Its groups.
    margin : float
        How much worse it fits, in units of the price of one voter in a group.
    labels_changed : float
        Share of the items whose label it would change.
    """

    groups: NDArray[np.int64]
    margin: float
    labels_changed: float
