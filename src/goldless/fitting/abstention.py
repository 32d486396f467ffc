"""Abstention as a vote of its own, on all votes wherever they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.fit import with_abstention
from goldless.votes.rows import Block, MappedBlocks
from goldless.votes.whole import WholeVotes


@dataclass(frozen=True, eq=False)
class AbstentionOfBlock:
    """Makes, of a block of votes, that of some voters and of whether some of these vote at all.

    Attributes
    ----------
    voters : ndarray of shape (n_chosen,)
        Columns of the block; rows without a vote of these are left out.
    abstainers : ndarray of shape (n_abstainers,)
        Those of the chosen voters whose abstention is a vote.
    """

    voters: NDArray[np.int64]
    abstainers: NDArray[np.int64]

    def __call__(self, block: Block) -> Block:
        """Return the block with the votes on voting behind the votes."""
        spoken = block.rows(block.spoken(self.voters))
        return Block.of(with_abstention(spoken.codes[:, self.voters], self.abstainers), spoken.counts)


def whole_with_abstention(whole: WholeVotes | None, abstainers: NDArray[np.int64]) -> WholeVotes | None:
    """Return all votes with a second vote of some voters on whether they vote; None of None."""
    if whole is None:
        return None
    n_columns = len(whole.voters) + len(abstainers)
    blocks = MappedBlocks(whole.blocks, AbstentionOfBlock(whole.voters, abstainers))
    return replace(whole, blocks=blocks, voters=np.arange(n_columns), n_voters=n_columns, complete=False)
