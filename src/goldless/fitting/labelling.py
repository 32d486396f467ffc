"""Labels of many items, batch by batch and in the input's order: written, counted, scored where truth is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.facts import KnownLabels
from goldless.io.writing import LabelWriter
from goldless.kernels.threads import row_chunks
from goldless.metrics import balanced_accuracy_of
from goldless.votes.counted import of_distinct, on_distinct_rows
from goldless.votes.engine import CHUNK_ROWS
from goldless.votes.rows import Beside
from goldless.votes.source import VoteSource
from goldless.votes.votes import Votes
from goldless.whole_file import whole_file

Answer = Callable[[NDArray[np.int8]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Written:
    """What was written."""

    classes: NDArray  # (n_classes,): labels
    labelled: NDArray[np.int64]  # (n_classes,): how many items got each label
    # (n_classes, n_classes): how many items of each true class got each label; None if the source has no truth
    confusion: NDArray[np.int64] | None

    @property
    def by_label(self) -> dict[Any, int]:
        """How many items got each label."""
        return dict(zip(self.classes.tolist(), self.labelled.tolist(), strict=True))

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean over true classes of the share labelled rightly; None without a truth."""
        if self.confusion is None or not self.confusion.any():
            return None
        return balanced_accuracy_of(self.confusion)


def write_labels(
    answer: Answer, votes: Votes | VoteSource, classes: NDArray, path: Any, known: KnownLabels
) -> Written:
    """Write the label of every item and its probability to a file that is whole or not there at all.

    ``answer``: returns the code of the label and the probability of each class for rows of codes; ``classes``
    (n_classes,): labels; ``path``: file that ends in ``.parquet``, ``.csv``, ``.tsv`` or ``.jsonl``; ``known``: rows
    whose label is known: they keep it.
    """
    n_classes = len(classes)
    labelled = np.zeros(n_classes, dtype=np.int64)
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
    scored = False
    known_codes = known.codes(classes)
    title = votes.item_title if isinstance(votes, VoteSource) else "item"
    with whole_file(path) as draft, LabelWriter(draft, str(path), classes, title) as writer:
        for answers, beside in _answers(answer, votes):
            start, codes, probability = writer.n_rows, answers[:, 0].astype(np.int8), answers[:, 1:]
            first, last = np.searchsorted(known.rows, [start, start + len(codes)])
            here = known.rows[first:last] - start
            codes[here] = known_codes[first:last]
            probability[here] = np.eye(n_classes)[known_codes[first:last]]
            labelled += np.bincount(codes, minlength=n_classes)
            if beside.truth is not None:
                scored, has_truth = True, beside.truth >= 0
                np.add.at(confusion, (beside.truth[has_truth], codes[has_truth]), 1)
            items = np.arange(start + 1, start + len(codes) + 1) if beside.items is None else beside.items
            writer.write(items, codes, probability)
        known.check(writer.n_rows)
    return Written(classes, labelled, confusion if scored else None)


def _answers(answer: Answer, votes: Votes | VoteSource) -> Iterator[tuple[NDArray[np.float64], Beside]]:
    """Yield labels and probabilities of blocks of rows, with what stands beside the rows."""
    if isinstance(votes, VoteSource):
        yield from votes.rows(partial(of_distinct, answer))
        return
    for rows in row_chunks(votes.n_items, CHUNK_ROWS):
        items = None if votes.items is None else votes.items[rows]
        yield on_distinct_rows(votes.codes[rows], votes.n_symbols, answer), Beside(items)
