"""From a fitted model and its votes to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from goldless.diagnosis.advice import SAME_LABELS, dependence, plain_grouping, remarks, verdict, what_is_open
from goldless.diagnosis.goodness import fit_pvalue
from goldless.diagnosis.intervals import Uncertainty, interval
from goldless.diagnosis.naming import judge_groups, named_groups, weak_groups
from goldless.diagnosis.reference_class import reference_class
from goldless.diagnosis.refit import FEWEST_TO_SEE_ECHOES, PanelVotes
from goldless.diagnosis.resampling import (
    Resampled,
    co_membership,
    default_resamples,
    resample,
    why_not_searched_again,
)
from goldless.diagnosis.result import Diagnosis, Duplicate, Expectation, FreeEstimates
from goldless.diagnosis.worth import (
    modelled_effective_votes,
    one_more,
    shared_doubt,
)
from goldless.estimators.cut_numbers import as_labels
from goldless.estimators.dawid_skene import DawidSkene
from goldless.estimators.sampled import in_memory
from goldless.families import families_of, families_shown
from goldless.fitting.ask import questions_of
from goldless.fitting.calibration import Calibration, calibrated_to
from goldless.fitting.risk import expected_balanced_accuracy
from goldless.kernels.threads import one_linear_algebra_thread
from goldless.maths.correlations import Correlations, effective_votes, uniqueness, within_class_correlations
from goldless.maths.echo import SameWrongAnswer, same_wrong_answer

_NEAR_DUPLICATE = 0.8  # correlation within the classes
_REJECTED = 0.05
_Z = 1.959963984540054


@one_linear_algebra_thread()
def diagnose(
    model: Any,
    X: Any,
    *,
    sample_weight: ArrayLike | None = None,
    resamples: int | None = None,
    random_state: int | np.random.Generator = 0,
    families: Any = None,
    progress: Callable[[float], None] | None = None,
) -> Diagnosis:
    """Say what can be trusted of a fitted model, from the votes alone.

    Parameters
    ----------
    model : fitted estimator
        :class:`~goldless.LatentSML`, or another with a ``latent_model_``; of any number of classes.
    X : array-like, frame or Votes of shape (n_items, n_voters), or a source of votes
        The votes it was fitted on. Of a source that is not in memory (:class:`~goldless.VoteStream`, a path, a Dask
        or Spark collection) a random sample of 65,536 items is looked at, which ``cannot_tell`` says; the groups
        are those of the fit, of all items.
    sample_weight : array-like of int of shape (n_items,), optional
        How many items each row stands for, as in the fit.
    resamples : int, optional
        How often the groups are searched again for ``co_membership``: by default 25 times up to 84 voters,
        fewer for more (8 for 124 voters, none above 200), and not at all if the groups were given. 0 leaves it out.
    random_state : int or Generator, default=0
        Source of the resamples; the same seed gives the same diagnosis.
    families : "prefix", mapping of voter to family, or one family for each voter, optional
        By which groups are named; by default what names share (:func:`goldless.families.families_of`). Labels and
        intervals do not depend on it.
    progress : callable, optional
        Called with the share that is done, from 0 to 1.

    Returns
    -------
    Diagnosis

    Notes
    -----
    *Tests.* Both p-values come from the weighted residual of the covariance of the votes, with the directions in
    which the model can move taken out (:mod:`goldless.maths.fit_test`). The groups were chosen on the same votes, so
    the p-value of their fit is rather too large. With more than two classes the covariance is that of agreement, and
    the reference is drawn from the fitted model, whose confusions follow the votes more closely than loadings do:
    both p-values are then rather too large.

    *Groups.* ``groups`` are those that may be named: enough shared items, a test of the group itself that allows
    for the choice among all groups, and stability under resampling (:mod:`goldless.diagnosis.naming`). The labels,
    and the intervals, may count with weaker ones (``weak_groups``): whether these are there cannot be told.

    *Intervals.* From the observed information of the latent model without a prior on the class balance, on the
    log-odds scale (:mod:`goldless.diagnosis.intervals`). They are conditional on the groups, to which
    weak ones are added that the labels leave out (``weak_groups``). Rates and class balance are those of the
    population that the items come from. What is expected of labels is their balanced accuracy on these very items,
    as a check of all of them would find it. With more than two classes, where the test rejects the groups, labels are
    expected to be right as often as the calibrated probabilities say. Facts that the model was fitted with count:
    known labels, a known class balance and known rates narrow the intervals, and what is known has none. A model of
    more than 4,000 parameters is taken voter by voter (group by group), as if the rates of the others were known: its
    intervals are too narrow.

    *The same wrong answer.* With more than two classes, two voters that are both wrong need not agree. How much more
    often they do than the other wrong voters of the item explain is ``same_wrong_answer``
    (:func:`goldless.maths.echo.same_wrong_answer`). It describes who echoes whom; labels do not use it.

    *Few items or voters.* Below 50 items the intervals are given, and ``cannot_tell`` says that they are not to be
    relied on. With three voters nothing can be tested: both p-values are None. One group of all voters is the same
    model as none. That most independent units do better than chance is taken for granted: if all voters do worse, all
    labels and rates come out exchanged, and no number here can show it. Votes on which all voters agree cannot be
    fitted in the first place.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(10_000, groups=[5] + [1] * 10, random_state=3)
    >>> diagnosis = gl.diagnose(gl.LatentSML().fit(X), X, resamples=0)
    >>> diagnosis.independence_pvalue < 0.001
    True
    >>> diagnosis.sensitivity_interval.shape
    (15, 2)
    """
    rng = np.random.default_rng(random_state)
    seeds = rng.spawn(5)
    drawn = in_memory(model, X)
    panel = PanelVotes.of(*as_labels(drawn.model, drawn.votes), sample_weight)
    uncertainty = Uncertainty(panel)
    without: dict[str, str] = {}
    if resamples is None:
        resamples = default_resamples(panel)
    if len(panel.voters) < FEWEST_TO_SEE_ECHOES:
        resamples = 0
    independence = fit_pvalue(panel.core, panel.independent_model, seeds[0])
    core_groups = panel.free_fit.model.groups
    flat = core_groups.max() + 1 == len(panel.voters)
    fit = independence if flat else fit_pvalue(panel.core, panel.free_fit.model, seeds[1])
    tests = judge_groups(panel, seeds[4])
    if independence is not None and independence >= _REJECTED:
        # all pairs together may not show one small group, but if it is named, independence is rejected
        independence = min([independence, *(test.pvalue for test in tests if test.reason == "found")])
    if independence is None:
        without["independence_pvalue"] = "three voters or fewer have no more covariances than accuracies: all fit"
    if fit is None:
        without["fit_pvalue"] = "the model has as many parameters as there are pairs of voters"
    free, rates = _accuracies(panel, uncertainty, without)
    correlations = within_class_correlations(panel.core_codes, panel.table.counts, panel.posterior)
    # where no dependence is found, no pair is said to depend either
    seem_independent = independence is None or independence >= _REJECTED
    seem_independent = seem_independent and not any(test.named for test in tests)
    are_clear = correlations.are_clear & (not seem_independent)
    clear = correlations.clear(are_clear)
    resampled = resample(panel, uncertainty, are_clear, seeds[2])
    worth = _worth(panel, correlations, clear, resampled, without)
    calibration = _calibration(panel, uncertainty, fit, worth["effective_votes"])
    # where voters of many classes share more than the model knows, it is far too sure of its labels
    doubted = panel.n_classes > 2 and fit is not None and fit < _REJECTED
    tempered = panel.calibrated(calibration) if doubted else None
    expected = _expectations(panel, uncertainty, resampled.optimism, tempered)
    expected = _on_real_panels(panel, expected, without)
    rates["balanced_accuracy_interval"] = _with_the_best(panel, rates["balanced_accuracy_interval"], expected)
    public = named_groups(panel, tests)
    for name in ("one_more", "one_more_interval"):  # of the groups that are named, by their place
        of_model = worth[name]
        worth[name] = {
            public.index(test.voters): of_model[int(panel.latent.groups[test.voters[0]])]
            for test in tests
            if test.named
        }
    together = None
    if resamples > 0:
        together = _spread_pairs(panel, co_membership(panel, resamples, seeds[3], progress), 0.0)
    else:
        without["co_membership"] = why_not_searched_again(panel)
    grouping = panel.fitted.grouping
    alternatives = () if grouping is None else tuple(plain_grouping(other, panel) for other in grouping.alternatives)
    questions = questions_of(panel.fitted, panel.votes.codes, weights=panel.weights)
    wrong_alike = _same_wrong_answer(panel)
    cannot_tell = what_is_open(panel, alternatives, questions, expected["combined"].balanced_accuracy)
    if panel.unseen:
        cannot_tell = [panel.unseen, *cannot_tell]
    use, advice, said = verdict(panel, expected, cannot_tell, (independence, fit), public)
    if drawn.remark:  # no reason to doubt the labels
        cannot_tell = [*cannot_tell, drawn.remark]
    copies = tuple((voter, int(of)) for voter, of in enumerate(panel.latent.copy_of.tolist()) if of != voter)
    return Diagnosis(
        verdict=said,
        use=use,
        advice=" ".join([advice, *remarks(panel, wrong_alike)]),
        at_risk=panel.fitted.at_risk,
        dependence=dependence(panel, public, tests, independence),
        voters=panel.names,
        families=families_of(panel.names, families_shown(families, panel.names, panel.columns)),
        classes=tuple(str(label) for label in panel.fitted.classes.tolist()),
        n_items=panel.table.n_items,
        independence_pvalue=independence,
        fit_pvalue=fit,
        overdispersion=panel.overdispersion,
        **rates,
        expected=tuple(expected.values()),
        calibration=calibration,
        **worth,
        correlation=_spread_pairs(panel, correlations.pooled, 0.0),
        correlation_error=_spread_pairs(panel, resampled.correlation_error * np.sqrt(panel.overdispersion), np.nan),
        echo=_spread_pairs(panel, clear.pooled, 0.0),
        same_wrong_answer=wrong_alike,
        co_membership=together,
        n_resamples=resamples,
        copies=copies,
        near_duplicates=() if seem_independent else _near_duplicates(panel, clear),
        groups=public,
        weak_groups=weak_groups(panel, tests),
        group_tests=tests,
        alternatives=alternatives,
        next_to_label=questions.rows if drawn.rows is None else drawn.rows[questions.rows],
        labels_enough=questions.enough,
        cannot_tell=tuple(cannot_tell),
        without=without,
        free_estimates=free,
        auc=None if panel.said is None else panel.said.auc,
    )


def _accuracies(
    panel: PanelVotes, uncertainty: Uncertainty, without: dict[str, str]
) -> tuple[FreeEstimates, dict[str, Any]]:
    """Return the free estimates, and the reported ones with their intervals."""
    fitted, free = panel.fitted, panel.free_model
    for voter in np.flatnonzero(~fitted.informative):
        without[panel.names[voter]] = "always says the same or nothing, so it is ignored"
    for voter in panel.voters[panel.known.voters]:
        without[panel.names[voter]] = "its rates are known and not estimated"
    if panel.balance_is_a_guess:
        without["class_balance_interval"] = (
            "most votes come from voters that only ever say one class, so the classes are taken for equally frequent"
        )
    elif panel.known.class_prior is not None:
        without["class_balance_interval"] = "it is known and not estimated"
    recall_error, mean_error = uncertainty.accuracy_errors()
    balanced = fitted.recalls.mean(axis=1)
    ends = {}
    for name, estimate, centre, error in (
        ("recall", fitted.recalls, free.recall, recall_error),
        ("balanced_accuracy", balanced, free.balanced_accuracy, mean_error),
    ):
        reported = estimate[panel.voters]
        middle = reported if panel.centred_on_report else centre
        ends[name] = panel.spread(interval(middle, error, reported), np.nan)
    shares, error = fitted.model.class_prior, uncertainty.prior_errors
    of_shares = interval(shares if panel.centred_on_report else free.class_prior, error, shares)
    rates = {
        "recall": fitted.recalls,
        "balanced_accuracy": balanced,
        "class_balance": fitted.model.class_balance,
        "class_balance_model_interval": of_shares[1] if panel.n_classes == 2 else of_shares,
        "recall_interval": ends["recall"],
        "balanced_accuracy_model_interval": ends["balanced_accuracy"],
    }
    rates["balanced_accuracy_interval"] = _voters_on_real_panels(panel, balanced, ends["balanced_accuracy"])
    rates["class_balance_interval"] = _share_on_real_panels(panel, rates["class_balance_model_interval"], without)
    of_voters = FreeEstimates(
        panel.spread(free.recall, np.nan), panel.spread(recall_error, np.nan), free.class_prior, error
    )
    return of_voters, rates


def _voters_on_real_panels(
    panel: PanelVotes, accuracy: NDArray[np.float64], of_model: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what was true of such voters of real panels; what is known, or says nothing, stays as it is."""
    if panel.without_reference:
        return np.full(of_model.shape, np.nan)
    n_votes = panel.table.pairs.cast.sum(axis=0)
    found = reference_class(panel.n_classes, panel.said is not None).of_voters(accuracy, n_votes, panel.n_classes)
    known = np.isin(np.arange(len(of_model)), panel.voters[panel.known.voters])
    return np.where((np.isnan(of_model[:, 0]) | known)[:, None], of_model, found)


def _share_on_real_panels(
    panel: PanelVotes, of_model: NDArray[np.float64], without: dict[str, str]
) -> NDArray[np.float64]:
    """Return what was true of the class balance of real panels; what is known stays as it is."""
    if panel.known.class_prior is not None:
        return of_model
    if panel.without_reference:
        without["class_balance_interval"] = panel.without_reference
        return np.full(of_model.shape, np.nan)
    share = float(panel.fitted.model.class_prior[-1])
    found = reference_class(panel.n_classes, panel.said is not None).of_class_share(share)
    if found is None:
        why = "numbers" if panel.said is not None else "more than two classes"
        without["class_balance_interval"] = f"there are too few real panels of {why} to say it from"
        return np.full(of_model.shape, np.nan)
    return found


def _on_real_panels(
    panel: PanelVotes, expected: dict[str, Expectation], without: dict[str, str]
) -> dict[str, Expectation]:
    """Return what is expected with what was true of real panels that looked like this one."""
    if panel.without_reference:
        without["expected"] = panel.without_reference
        return expected
    known, n_classes = reference_class(panel.n_classes, panel.said is not None), panel.n_classes
    majority = expected["majority vote"].balanced_accuracy
    flat = isinstance(panel.model, DawidSkene)
    found = {}
    for name, row in expected.items():
        way = "Dawid-Skene" if flat and name == "combined" else name
        own = row.balanced_accuracy if row.printed is None else row.printed
        ends = known.of_labels(way, own, majority, n_classes)
        held = known.comparisons["majority vote" if name == "combined" else name].held
        found[name] = row._replace(interval=ends, held=None if flat else held)
    for name in panel.labels.keys() & found.keys():
        if panel.differ("combined", name) < SAME_LABELS:
            found[name] = found[name]._replace(interval=found["combined"].interval)
    return found


def _with_the_best(
    panel: PanelVotes, of_voters: NDArray[np.float64], expected: dict[str, Expectation]
) -> NDArray[np.float64]:
    """Return the voters' intervals with that of the voter thought best, so that it has one on every screen.

    It is the best because it looks so, and is overestimated more than others: of 75 real panels, families left out,
    the interval of any voter held for it on 88 %, that of the voter thought best on 95 %. One that does not vote on
    all items guesses the others when it is to label them all; among the voters it has its accuracy on those it votes
    on, and the interval of that.
    """
    row, majority = expected["voter thought best"], expected["majority vote"].balanced_accuracy
    if row.column is None or row.interval is None or row.column in panel.voters[panel.known.voters]:
        return of_voters
    voted = float(panel.table.counts @ (panel.table.codes[:, row.column] >= 0)) / panel.table.n_items
    own = row.balanced_accuracy if row.printed is None else row.printed
    own = (own - (1 - voted) / panel.n_classes) / voted
    known, copies = reference_class(panel.n_classes, panel.said is not None), panel.latent.copy_of
    ends = known.of_labels(row.method, own, majority, panel.n_classes)
    return np.where((copies == copies[row.column])[:, None], ends, of_voters)


def _same_wrong_answer(panel: PanelVotes) -> SameWrongAnswer | None:
    """Return how alike the wrong answers of every two voters are, given the labels of the fit; copies left out."""
    if panel.n_classes == 2:
        return None
    labels = panel.posterior.argmax(axis=1)
    of_core = same_wrong_answer(panel.core_codes, panel.table.counts, labels, panel.n_classes)
    shape, place = (panel.votes.n_voters, panel.votes.n_voters), np.ix_(panel.voters, panel.voters)
    lift, error, items = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    lift[place], error[place], items[place] = of_core
    return SameWrongAnswer(lift, error, items)


def _expectations(
    panel: PanelVotes, uncertainty: Uncertainty, optimism: tuple[float, float], tempered: NDArray[np.float64] | None
) -> dict[str, Expectation]:
    """Return what is expected of each way to label.

    Of a voter it is what its reported rates say, so that no table contradicts another. Other ways lose as much of
    the optimism of the combined labels as they share with these, so that the same labels have the same figure.
    ``tempered`` is the posterior that expectations are taken under, if not that of the model, which thinks too well
    of what it chose itself.
    """
    posterior, counts = panel.belief if tempered is None else tempered, panel.table.counts
    singles = _alone_on_all_items(panel)
    best = int(panel.voters[int(np.argmax(singles))])
    labels = dict(panel.labels)
    if panel.free_fit.model.n_groups == len(panel.voters) and isinstance(panel.model, DawidSkene):
        del labels["Dawid-Skene"]  # it is the model itself
    ways = {**labels, "voter thought best": panel.table.codes[:, best].astype(np.int64)}
    stacked = np.stack(list(ways.values()))
    centres, covariance = uncertainty.expected_accuracies(stacked)
    expected = {}
    for row, (name, way) in enumerate(zip(ways, stacked, strict=True)):
        alone = name == "voter thought best"
        own = optimism[1] if alone else optimism[0] * shared_doubt(way, labels["combined"], posterior, counts)
        own = own if tempered is None else 0.0
        value = singles.max() if alone else expected_balanced_accuracy(way, posterior, counts) - own
        value = max(float(value), (own > 0) / panel.n_classes)
        middle = value if panel.centred_on_report or tempered is not None else centres[row] - own
        low, high = interval(middle, np.sqrt(covariance[row, row] + own**2), value)
        expected[name] = Expectation(
            name,
            value,
            None,
            (float(low), float(high)),
            voter=panel.names[best] if alone else None,
            column=best if alone else None,
            printed=None if panel.said is None else expected_balanced_accuracy(way, panel.said.printed, counts),
        )
    return expected


def _alone_on_all_items(panel: PanelVotes) -> NDArray[np.float64]:
    """Return the balanced accuracy of every core voter that is to label all items, by its reported rates.

    It guesses where it does not vote.
    """
    accuracy = panel.fitted.recalls.mean(axis=1)[panel.voters]
    voted = panel.table.counts @ (panel.core_codes >= 0) / panel.table.n_items
    return voted * accuracy + (1 - voted) / panel.n_classes


def _worth(
    panel: PanelVotes,
    correlations: Correlations,
    clear: Correlations,
    resampled: Resampled,
    without: dict[str, str],
) -> dict[str, Any]:
    """Return the effective votes with intervals, normal on the log scale.

    If no correlation is clear, the lower end is what the voters would be worth if every two of them had the largest
    correlation that their mean allows.
    """
    groups, widened = panel.free_fit.model.groups, np.sqrt(panel.overdispersion)
    values = np.array([effective_votes(of) for of in (*clear.by_class, clear.pooled)])
    ends = _log_interval(*correlations.effective_votes_beside_chance(), resampled.worth, widened)
    ends = np.stack([np.minimum(ends[:, 0], values), np.maximum(ends[:, 1], values)], axis=-1)
    ends = ends.clip(1.0, len(panel.voters))
    least = correlations.least_effective_votes(_Z * widened)
    alone = values >= len(panel.voters)
    ends[:, 0] = np.where(alone, np.minimum(ends[:, 0], least), ends[:, 0])
    own = uniqueness(clear.pooled)
    of_voters = _log_interval(own, 0.0, resampled.uniqueness, widened).clip(0.0, 1.0)
    if alone[-1]:  # what all may share, each may
        of_voters[:, 0] = np.minimum(of_voters[:, 0], least[-1] / len(panel.voters))
    of_voters = panel.shared_among_copies(of_voters)
    gains = one_more(clear.pooled, groups)
    reach = _Z * widened * resampled.one_more.std(axis=0, ddof=1)
    of_groups = np.array(list(gains.values()))[:, None] + np.outer(reach, [-1.0, 1.0])
    numbers = [int(panel.latent.groups[panel.voters[groups == group][0]]) for group in gains]
    if len(panel.voters) < FEWEST_TO_SEE_ECHOES:
        ends[:], of_voters[:] = np.nan, np.nan
        for name in ("effective_votes_interval", "effective_votes_by_class_interval", "uniqueness_interval"):
            without[name] = "with three voters or fewer dependence cannot be seen: they are counted as if independent"
    return {
        "effective_votes": float(values[-1]),
        "effective_votes_interval": ends[-1],
        "effective_votes_by_class": values[:-1],
        "effective_votes_by_class_interval": ends[:-1],
        "uniqueness": panel.shared_among_copies(own),
        "uniqueness_interval": of_voters,
        "one_more": dict(zip(numbers, gains.values(), strict=True)),
        "one_more_interval": dict(zip(numbers, map(tuple, of_groups.clip(0.0, 1.0).tolist()), strict=True)),
    }


def _log_interval(
    values: NDArray[np.float64], variance: float | NDArray[np.float64], resampled: NDArray[np.float64], widened: float
) -> NDArray[np.float64]:
    """Return intervals, shape (n, 2), normal on the log scale: a variance, and that of (n_resamples, n) values."""
    reach = _Z * widened * np.sqrt(variance + np.log(resampled).var(axis=0, ddof=1))
    return np.stack([values * np.exp(-reach), values * np.exp(reach)], axis=-1)


def _calibration(panel: PanelVotes, uncertainty: Uncertainty, fit: float | None, worth: float) -> Calibration:
    """Return how to calibrate probabilities.

    Where the model holds, the pull of the prior on the class balance is taken out. Where it does not, voters
    share more than the groups explain: with equal correlations left over, the log-odds of the votes would have to be
    multiplied by effective votes over those that the model counts on. Half of that is taken, on the log scale,
    because part of what is left over does not touch the labels, and the log-odds are averaged over the uncertainty of
    the rates.
    """
    if panel.said is not None and panel.said.calibration is not None:
        return panel.said.calibration
    if fit is None or fit >= _REJECTED:
        if panel.centred_on_report:
            return Calibration(1.0, panel.latent.class_balance)
        free = panel.free_fit.model
        line = calibrated_to(panel.core, panel.latent.subset(panel.voters), free)
        return Calibration(1.0, free.class_balance) if line is None else line
    shared = min(1.0, worth / modelled_effective_votes(panel.latent.subset(panel.voters)))
    return Calibration(float(np.sqrt(shared)) * uncertainty.log_odds_shrinkage, panel.latent.class_balance)


def _spread_pairs(panel: PanelVotes, pairs: NDArray[np.float64], otherwise: float) -> NDArray[np.float64]:
    """Return values of all pairs of voters from those of the core; 1 between a voter and its copies."""
    spread = panel.spread(panel.spread(pairs, otherwise).T, otherwise)
    copies = panel.latent.copy_of
    same = copies[:, None] == copies[None, :]
    return np.where(same, 1.0 if otherwise == 0.0 else 0.0, spread)


def _near_duplicates(panel: PanelVotes, clear: Correlations) -> tuple[Duplicate, ...]:
    """Return pairs of core voters whose errors are nearly the same, closest first."""
    pairs = panel.core.pairs
    both, agreements = pairs.both, pairs.agreements
    found = []
    # of many pairs with few common items, chance gives some such a correlation: it is ruled out for all together
    m = len(panel.voters)
    beyond_chance = -ndtri(_REJECTED / max(m * (m - 1) / 2, 1)) / np.sqrt(np.maximum(clear.items[-1], 1.0))
    near = (clear.pooled >= _NEAR_DUPLICATE) & (clear.pooled >= beyond_chance)
    for one, other in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        agreement = agreements[one, other] / max(int(both[one, other]), 1)
        first, second = int(panel.voters[one]), int(panel.voters[other])
        found.append(Duplicate(first, second, float(agreement), float(clear.pooled[one, other])))
    return tuple(sorted(found, key=lambda pair: (-pair.correlation, pair.first, pair.second)))
