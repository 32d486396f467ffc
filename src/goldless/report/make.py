"""From votes to a page in one call."""

from __future__ import annotations

import inspect
import os
import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from goldless.diagnosis import AuditOutcome, diagnose
from goldless.errors import warnings_said
from goldless.estimators.base import check_is_model
from goldless.estimators.latent import LatentSML
from goldless.io.encode import encode_votes
from goldless.io.files import read_votes
from goldless.io.open import as_stream
from goldless.io.tables import VotesFile
from goldless.report.against import against_part
from goldless.report.html import render_html
from goldless.report.notebook import report_html
from goldless.report.summarize import summarize
from goldless.report.summary import AgainstPart
from goldless.shown import Shown
from goldless.votes.alphabet import Alphabet
from goldless.votes.votes import Votes
from goldless.whole_file import whole_file

_READING = tuple(inspect.signature(read_votes).parameters)[1:]  # how votes are read


@dataclass(frozen=True, eq=False)
class Report(Shown):
    """A report: what it says as a dictionary, and the page.

    Attributes
    ----------
    summary : dict
        Everything the page shows; :func:`goldless.report.json_schema` says what is in it.
    model : estimator
        The fitted model.
    """

    summary: dict[str, Any]
    model: Any

    def __repr__(self) -> str:
        return f"Report on {self.summary['title']}: {self.summary['answer']['headline']}"

    @property
    def html(self) -> str:
        """The page: one file that needs no other."""
        return render_html(self.summary)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        with whole_file(path) as draft:
            draft.write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        return report_html(self.summary)


def report(
    votes: Any,
    path: str | os.PathLike | None = None,
    *,
    against: Any = None,
    model: Any = None,
    truth: Any = None,
    audit: AuditOutcome | None = None,
    title: str | None = None,
    **options: Any,
) -> Report:
    """Fit votes, find out what can be trusted, and make a page of it.

    Parameters
    ----------
    votes : path, frame, array, Votes or VotesFile
        What :func:`goldless.read_votes` reads: one row per item and one column per voter, or a long table.
    path : path, optional
        Where to write the page.
    against : as ``votes``, optional
        An earlier batch by the same voters: the page says what changed since, and who drifted.
    model : fitted estimator, optional
        The model of the votes; by default :class:`~goldless.LatentSML` is fitted.
    truth : str or array-like of shape (n_items,), optional
        Column of the table, or true labels with None or NaN where unknown: for scoring only.
    audit : AuditOutcome, optional
        What an audit of the labels found (:func:`goldless.audit`).
    title : str, optional
        Name of the votes.
    **options
        As in :func:`goldless.report.summarize`: ``families``, ``panel_size``, ``resamples``, ``items`` and others,
        and how to read the votes, as in :func:`goldless.read_votes`: ``kind``, ``missing``, ``positive`` and others.

    Returns
    -------
    Report
        With ``summary``, ``html``, ``model`` and ``save``; a notebook shows it.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(1_000, groups=[4] + [1] * 8, random_state=0)
    >>> made = gl.report(X, truth=y, title="simulated", resamples=0)
    >>> made.summary["answer"]["n_groups"]
    1
    >>> made.html.count("<script")
    2
    """
    if model is not None:
        check_is_model(model, "a report")
    stream = None if isinstance(votes, str | os.PathLike) else as_stream(votes)
    reading = {name: options.pop(name) for name in _READING if name in options}
    if stream is not None:
        if against is not None or isinstance(truth, str):
            raise TypeError("an earlier batch, and a column of true labels, are compared with votes in memory only")
        # what a page needs of them is drawn by summarize; there is no table to speak of
        table = VotesFile(stream, None, "")  # type: ignore[arg-type]
    else:
        table = read_votes(votes, truth=truth, **reading) if isinstance(truth, str) else _read(votes, model, reading)
    title = title or (Path(table.name).name if table.name != "votes" else "votes")
    said: list[str] = []
    if model is None:
        model, said = _fitted(table)
    codes = table.truth
    if truth is not None and not isinstance(truth, str):
        codes = np.maximum(Alphabet(np.asarray(model.classes_)).codes(np.asarray(truth)), -1)
    changed = None if against is None else changes_since(model, table, _read(against, reading=reading))
    summary = summarize(
        model,
        table.votes,
        truth=codes,
        title=title,
        source=table.how or None,
        warnings=[*map(str, table.notes), *said, *options.pop("warnings", ())],
        audit=audit,
        against=changed,
        **options,
    )
    made = Report(summary, model)
    if path is not None:
        made.save(path)
    return made


def _read(votes: Any, model: Any = None, reading: Mapping[str, Any] | None = None) -> VotesFile:
    """Return votes with how they were read; those of a model in memory as its own."""
    reading = reading or {}
    if isinstance(votes, VotesFile):
        return votes
    if isinstance(votes, str | os.PathLike) or hasattr(votes, "read"):
        return read_votes(votes, **reading)
    if model is not None:
        return VotesFile(model._read(votes, reset=False), None, "")
    if isinstance(votes, Votes):
        return VotesFile(votes, None, "")
    if any(hasattr(votes, name) for name in ("columns", "__arrow_c_stream__", "column_names")):  # a frame
        return read_votes(votes, **reading)
    return VotesFile(encode_votes(votes, **reading), None, "")


def _fitted(table: VotesFile) -> tuple[LatentSML, list[str]]:
    """Fit the default model, the public one; return it and its warnings as sentences."""
    from goldless.estimators.learners import LatentSML

    with warnings_said() as said:
        model = LatentSML(at_least=table.at_least).fit(table.votes)
    return model, said


def changes_since(model: Any, table: VotesFile, other: VotesFile) -> AgainstPart:
    """Compare with an earlier batch: voters are matched by name, and those that both have are compared."""
    now, before = table.voters, other.voters
    common = [name for name in now if name in set(before)]
    if len(common) < 3:
        raise ValueError(f"two batches are compared by the voters that both have, and these have {len(common)}")
    if common != now:
        model, _ = _fitted(replace(table, votes=table.votes.of_voters([now.index(name) for name in common])))
    earlier = other.votes.of_voters([before.index(name) for name in common])
    earlier_model = LatentSML(classes=table.votes.classes.tolist(), at_least=other.at_least)
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore")
        later = table.votes.of_voters([now.index(name) for name in common])
        first, second = (
            diagnose(one, votes, resamples=0)
            for one, votes in ((earlier_model.fit(earlier), earlier), (model, later))
        )
    return against_part(
        first,
        second,
        title="the earlier batch" if other.name == "votes" else Path(other.name).name,
        only_before=[name for name in before if name not in set(common)],
        only_after=[name for name in now if name not in set(common)],
    )
