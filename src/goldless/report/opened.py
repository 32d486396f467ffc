"""A fitted model and its votes, opened once: codes, patterns, labels by every way to combine them, and why."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.estimators.base import check_is_fitted, check_is_model, votes_of_model
from goldless.estimators.cut_numbers import CutVotes, Said, as_labels
from goldless.estimators.majority import MajorityVote
from goldless.estimators.sampled import in_memory
from goldless.fitting.crowd import looked_at
from goldless.fitting.explain import Explanation, explain_patterns
from goldless.fitting.fitted import Fitted
from goldless.kernels.sparse import dense_codes
from goldless.maths.tree import TreeModel
from goldless.votes.rows import PatternTable
from goldless.votes.unseen import UnseenRows, count_listed
from goldless.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Opened:
    """A fitted model and its votes: everything in a report is made of this."""

    model: Any  # the fitted estimator
    votes: Votes  # the votes, encoded
    table: PatternTable  # their distinct rows
    rows: NDArray[np.int64] | None = None  # (n_items,): which items of the votes these are, if some are left out
    columns: NDArray[np.int64] | None = None  # (n_voters,): which voters these are, if some are left out
    remark: str = ""  # what was left out of a crowd, in a sentence
    said: Said | None = None  # what the numbers of every pattern say, if the votes are numbers that were cut
    of_numbers: Any = None  # the estimator as it was fitted to numbers, in this case
    number_codes: NDArray[np.int8] | None = None  # (n_items, n_voters): codes of the bins of the numbers

    @classmethod
    def of(cls, model: Any, X: Any) -> Opened:
        """Check, encode and collapse."""
        check_is_fitted(model)
        check_is_model(model, "a report")
        drawn = in_memory(model, X)
        as_fitted = drawn.model
        model, X = as_labels(drawn.model, drawn.votes)
        votes = votes_of_model(model, X, "a report")
        if isinstance(X, CutVotes) and X.said is not None:
            table, said = X.said.collapsed(dense_codes(X.codes), None)
            numbers = dense_codes(as_fitted._read(drawn.votes, reset=False).codes)
            return cls(model, X, table, drawn.rows, None, drawn.remark, said, as_fitted, numbers)
        model, votes, rows, columns, remark, _ = looked_at(model, votes)
        remark = " ".join(filter(None, [drawn.remark, remark]))
        if drawn.rows is not None:
            rows = drawn.rows if rows is None else drawn.rows[rows]
        return cls(model, votes, PatternTable.of(dense_codes(votes.codes), votes.n_classes), rows, columns, remark)

    @property
    def fitted(self) -> Fitted:
        """What the model learnt."""
        return self.model.fitted_

    @property
    def chooser(self) -> Any:
        """The estimator that chooses and judges panels: of numbers by the numbers."""
        return self.model if self.of_numbers is None else self.of_numbers

    @property
    def tree(self) -> TreeModel:
        """The fitted model of all voters."""
        return self.fitted.model

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.votes.n_classes

    @property
    def patterns(self) -> Votes:
        """The distinct rows as votes, each to be weighted by ``table.counts``."""
        return Votes(self.table.codes, self.votes.classes, self.fitted.voters, at_least=self.votes.at_least)

    def with_unseen(self) -> PatternTable:
        """Return the patterns, with those that too few voters call to be listed as the model expects them."""
        unseen = self.fitted.unseen
        if unseen is None:
            return self.table
        counts = count_listed(self.patterns, self.table.counts, unseen.at_least)
        listed = PatternTable.of(self.table.codes, 2, counts)
        copies = np.ones(listed.n_voters, dtype=np.int64)
        rows = UnseenRows.of(listed, unseen.at_least, copies, unseen.items).rows(self.tree, listed.n_items)
        codes, counts = np.concatenate([listed.codes, rows.codes]), np.concatenate([listed.counts, rows.counts])
        return PatternTable.of(codes, 2, counts)

    @cached_property
    def cast(self) -> NDArray[np.int64]:
        """Votes of each voter for each class, shape (n_classes, n_voters)."""
        return self.table.pairs.cast

    @cached_property
    def why(self) -> Explanation:
        """Why each pattern gets its label."""
        fitted, codes = self.fitted, self.table.codes
        return explain_patterns(fitted.model, codes, fitted.log_likelihood(codes), fitted.printed)

    @cached_property
    def answers(self) -> NDArray[np.float64]:
        """Code of the label and probability of each class, of every pattern."""
        if self.said is not None:
            return np.column_stack([self.said.labels, self.said.printed])
        return self.model._answer(self.table.codes)

    @property
    def combined(self) -> NDArray[np.int64]:
        """Code of the label of every pattern."""
        return self.answers[:, 0].astype(np.int64)

    @property
    def posterior(self) -> NDArray[np.float64]:
        """Probability of each class, of every pattern."""
        return self.answers[:, 1:]

    @cached_property
    def majority(self) -> NDArray[np.int64]:
        """Code of the majority's label of every pattern."""
        if self.said is not None:
            return self.said.consensus
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MajorityVote().fit(self.patterns, sample_weight=self.table.counts)
        return model._answer(self.table.codes)[:, 0].astype(np.int64)

    def by_panel(self, panel: list[int]) -> NDArray[np.int64]:
        """Return the code of the label of every item if only some voters are heard."""
        if self.number_codes is not None:
            part = self.of_numbers.fitted_.subset(panel)
            return part.decide(part.log_likelihood(np.ascontiguousarray(self.number_codes[:, panel])))
        return self.patterns_by_panel(panel)[self.table.inverse]

    def patterns_by_panel(self, panel: list[int]) -> NDArray[np.int64]:
        """Return the code of the label of every pattern of labels if only some voters are heard."""
        codes = np.ascontiguousarray(self.table.codes[:, panel])
        return self.tree.subset(np.array(panel)).class_log_likelihood(codes).argmax(axis=1)
