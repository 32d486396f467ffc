"""The alphabet of votes that are numbers: bins of every voter, on two classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from goldless.votes.alphabet import Alphabet, LabelRules
from goldless.votes.bins import Bins


@dataclass(frozen=True, eq=False)
class NumberAlphabet(Alphabet):
    """Bins of every voter, in place of labels. What may be said are the bins, what may be true the two classes."""

    bins: Bins = None  # type: ignore[assignment]  # a field behind those with a default

    @classmethod
    def of(cls, classes: NDArray, bins: Bins, rules: LabelRules, text: bool = False) -> NumberAlphabet:
        """Return the alphabet of known bins."""
        return cls(np.asarray(classes), replace(rules, classes=np.asarray(classes)), text, bins)

    def __len__(self) -> int:
        return self.bins.n_symbols

    @property
    def grows(self) -> bool:
        """Never: a number falls into one of the bins."""
        return False

    def settled(self) -> Alphabet:
        """Return the alphabet itself."""
        return self
