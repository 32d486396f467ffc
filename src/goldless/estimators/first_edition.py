"""Model files of the first edition, version 1: two classes, thirty loose attributes, read into one value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.calibration import Calibration
from goldless.fitting.facts import Facts
from goldless.fitting.fitted import Alternative, Convergence, Fitted, Grouping, Settled
from goldless.kernels.bits import pack_bits
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import LatentModel, independent_model
from goldless.votes.sample import VoteSample


def fitted_of_version_1(fitted: dict[str, Any], decode: Any) -> Fitted:
    """Return what the loose attributes of a file of version 1 say.

    ``fitted``: the attributes, encoded; ``decode``: decodes a value that has no model in it.
    """
    for name in fitted:
        if not name.endswith("_"):
            raise ValueError(f"{name!r} is not a fitted attribute")
    known = {name: _decode(value, decode) for name, value in fitted.items()}
    classes = known["classes_"]
    if "latent_model_" in known:
        model = known["latent_model_"]
    else:  # a majority vote: its agreement with the majority
        rates = np.stack([known["specificity_"], known["sensitivity_"]], axis=1)
        confusion = np.where(np.eye(2, dtype=bool), rates[:, :, None], 1 - rates[:, :, None])
        balance = known["class_balance_"]
        model = independent_model([1 - balance, balance], confusion)
    if model.n_voters != known["n_features_in_"] or len(classes) != 2:
        raise ValueError("the fitted attributes do not fit together")
    agreement = known.get("_agreement_")
    calibration = known.get("calibration_")
    return Fitted(
        classes=classes,
        voters=known.get("feature_names_in_"),
        model=model,
        tie_order=np.array([known["_tie_code_"], 1 - known["_tie_code_"]]),
        how_counted=known.get("how_counted_", ""),
        informative=known.get("counted_", model.balanced_accuracy != 0.5),
        evidence=(known["_evidence_model_"], *known["subtype_models_"]) if "_evidence_model_" in known else (),
        columns=known.get("_columns_"),
        abstainers=known.get("_abstainers_"),
        recall=None if agreement is None else agreement[::-1].T,
        calibration=None if calibration is None else Calibration(*calibration),
        convergence=_convergence(known),
        balance_items=known.get("_balance_items_", 0.0),
        grouping=_grouping(known),
        facts=_facts(known, model.n_voters),
        settled=_settled(known),
        sample=known.get("_sample_"),
    )


def _convergence(known: dict[str, Any]) -> Convergence | None:
    if "n_iter_" not in known:
        return None
    return Convergence(known["log_likelihood_"], known["n_iter_"], known["converged_"], 0.0)


def _grouping(known: dict[str, Any]) -> Grouping | None:
    if "covariance_" not in known:
        return None
    return Grouping(
        covariance=known["covariance_"],
        score=known.get("score_matrix_", np.zeros((0, 0))),
        v_on=known.get("v_on_", np.zeros(0)),
        v_off=known.get("v_off_", np.zeros(0)),
        residual=known.get("residual_", 0.0),
        residual_path=known.get("residual_path_", {}),
        overdispersion=known.get("overdispersion_", 1.0),
        alternatives=tuple(known.get("rootings_", ())),
        ambiguous=known.get("ambiguous_", False),
        verdict=known.get("verdict_", ""),
        candidates=tuple(known.get("_reading_groups_", ())),
    )


def _facts(known: dict[str, Any], n_voters: int) -> Facts | None:
    if "_known_" not in known:
        return None
    labels, balance, sensitivity, specificity = known["_known_"]
    confusion = np.full((n_voters, 2, 2), np.nan)
    for voter in np.flatnonzero(~np.isnan(sensitivity)):
        right = np.array([specificity[voter], sensitivity[voter]])
        confusion[voter] = np.where(np.eye(2, dtype=bool), right[:, None], 1 - right[:, None])
    return Facts(
        rows=known["anchored_rows_"],
        labels=labels,
        class_prior=None if balance is None else np.array([1 - balance, balance]),
        trusted=np.flatnonzero(~np.isnan(sensitivity)),
        confusion=confusion,
    )


def _settled(known: dict[str, Any]) -> Settled | None:
    if not known.get("_settled_"):
        return None
    candidates, weights = known["_settled_"]
    n_known = len(known["anchored_rows_"])
    return Settled(tuple(candidates), weights, np.zeros(len(weights), dtype=np.int64), n_known)


def _decode(value: Any, decode: Any) -> Any:
    """Decode a value that may hold models of the first edition."""
    if isinstance(value, list):
        return [_decode(item, decode) for item in value]
    if not isinstance(value, dict):
        return value
    if "model" in value:
        parts = {name: _decode(item, decode) for name, item in value["model"].items()}
        return _MODELS[value["kind"]](**parts)
    if "rooting" in value:
        return Alternative(*_decode(value["rooting"], decode))
    if "tuple" in value:
        return tuple(_decode(value["tuple"], decode))
    return decode(value)


def _subtype_model(
    groups: NDArray[np.int64],
    state_weights: NDArray[np.float64],
    state_is_positive: NDArray[np.bool_],
    positive_share: NDArray[np.float64],
    positive_prior: float,
    group_positive: NDArray[np.float64],
    vote_positive: NDArray[np.float64],
) -> TreeModel:
    """Return a hub with kinds of items."""
    return TreeModel(
        groups,
        state_weights,
        np.stack([1 - group_positive, group_positive], axis=1),
        np.stack([1 - vote_positive, vote_positive], axis=2),
        state_class=np.stack([1 - positive_share, positive_share], axis=1),
        class_prior=np.array([1 - positive_prior, positive_prior]),
    )


def _vote_sample(
    packed: NDArray[np.uint8], weights: NDArray[np.float32], n_voters: int, n_items: tuple[float, float]
) -> VoteSample:
    """Return the sample of votes, which were two planes: who voted, and who voted positive."""
    voted, positive = np.unpackbits(packed, axis=2, count=n_voters).astype(np.int8)
    codes = np.where(voted, positive, -1).astype(np.int8)
    return VoteSample(pack_bits(codes), weights, n_voters, np.array(n_items))


_MODELS: dict[str, Any] = {"LatentModel": LatentModel, "SubtypeModel": _subtype_model, "VoteSample": _vote_sample}
