"""What people do today with votes, beside goldless: the same votes, every way of labelling them.

Four kinds of votes. Of each, a file of ``examples/`` (simulated, so that every reader has it) and all real panels of
that kind. Truth is for scoring only.
"""

from __future__ import annotations

import gzip
import os
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import goldless as gl
from goldless.kernels.sparse import dense_codes
from research.benchmarks.scores import read_panel
from research.experiments.framework import Experiment, Settings, Summary, Unit
from research.experiments.panel import Panel
from research.experiments.panels import run_peer
from research.experiments.peers import PEERS, install
from research.experiments.tables import Table

_EXAMPLES = Path(__file__).parents[2] / "examples"
_TIMEOUT = 300.0  # CPU seconds of a peer on a panel
_MATTERS = 0.005

Votes = NDArray[np.int8]  # items by voters: -1 none, 0, 1


# -- what people do -----------------------------------------------------------------------------------------


def pandas_mode(votes: Votes) -> NDArray:
    """Return ``frame.mode(axis=1)[0]``: of a tie the smaller label."""
    shown = pd.DataFrame(np.where(votes < 0, np.nan, votes)).mode(axis=1)[0]
    return shown.fillna(0).to_numpy().astype(int)


def inspect_mode(votes: Votes) -> NDArray:
    """Return what Inspect's reducer "mode" keeps: of a tie the score that came first."""
    kept = [Counter(row[row >= 0].tolist()).most_common(1) for row in votes]
    return np.array([found[0][0] if found else 0 for found in kept])


def inspect_mean(votes: Votes) -> NDArray:
    """Return the mean score of Inspect's reducer "mean", passed from one half on."""
    cast = np.maximum((votes >= 0).sum(axis=1), 1)
    return ((votes == 1).sum(axis=1) / cast >= 0.5).astype(int)


def at_least(n_callers: int) -> Callable[[Votes], NDArray]:
    """Return the rule that keeps what so many callers found."""
    return lambda votes: ((votes == 1).sum(axis=1) >= n_callers).astype(int)


def mean_score(scores: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """Return the mean of the scores, and labels by the middle of their scale."""
    mean = np.nanmean(scores, axis=1)
    return mean, (mean > (np.nanmin(scores) + np.nanmax(scores)) / 2).astype(int)


def mean_standard_score(scores: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """Return the mean of standardised scores, and labels by zero."""
    mean = np.nanmean((scores - np.nanmean(scores, axis=0)) / np.nanstd(scores, axis=0), axis=1)
    return mean, (mean > 0).astype(int)


_PLAIN: dict[str, Callable[[Votes], NDArray]] = {
    "pandas": pandas_mode,
    "inspect_mode": inspect_mode,
    "inspect_mean": inspect_mean,
    "any": at_least(1),
    "two": at_least(2),
}
_SCORED = {"mean": mean_score, "standard": mean_standard_score}
_PEERS = {"crowd_kit": ("crowd-kit", "DawidSkene"), "snorkel": ("snorkel", "LabelModel")}
LABELS = {
    "pandas": "majority in pandas, `votes.mode(axis=1)[0]`",
    "inspect_mode": "Inspect, reducer `mode`",
    "inspect_mean": "Inspect, reducer `mean`, from one half on",
    "any": "any caller",
    "two": "two callers or more",
    "consensus": "SomaticSeq's own consensus file (`PASS`)",
    "crowd_kit": "crowd-kit `DawidSkene`",
    "snorkel": "Snorkel `LabelModel`",
    "mean": "mean score, cut in the middle of the scale",
    "standard": "mean standard score, cut at zero",
    "goldless": "goldless `LatentSML()`",
}
# name: heading, the ways of this kind, the example, families of real panels
_SCENES: dict[str, tuple[str, tuple[str, ...], str | None, str]] = {
    "judges": (
        "LLM judges: pass or fail",
        ("pandas", "inspect_mode", "inspect_mean", *_PEERS),
        "judges.csv",
        "judge",
    ),
    "crowd": ("Crowd tables", ("pandas", *_PEERS), "crowd.csv", "crowd"),
    "rules": ("Labelling functions", ("pandas", *_PEERS), "rules.npz", "ws"),
    "callers": ("Variant callers", ("any", "two", "pandas", "consensus"), "sites.txt", "SomaticSeq"),
    "scores": ("Judges that give scores", ("mean", "standard"), None, "judge metric qe"),
}


# -- votes --------------------------------------------------------------------------------------------------


def _folder(settings: Settings) -> Path:
    folder = settings.data or os.environ.get("GOLDLESS_DATA")
    if not folder:
        raise ValueError("today needs the folder of real votes: set GOLDLESS_DATA, or pass --data DIR")
    return Path(folder)


def units(settings: Settings) -> list[Unit]:
    """One unit for each file of votes, and one more for each peer on it."""
    found = []
    for scene, (_, ways, example, families) in _SCENES.items():
        names = [example] if example else []
        if not settings.quick:
            names += _real_names(_folder(settings), scene, families)
        for name in names:
            found.append(Unit(f"{scene}, {name}", {"scene": scene, "data": name}))
            found += [
                Unit(f"{scene}, {name}, {peer}", {"scene": scene, "data": name, "peer": peer})
                for peer in ways
                if peer in _PEERS
            ]
    return found


def _real_names(folder: Path, scene: str, families: str) -> list[str]:
    if scene == "callers":
        return ["SomaticSeq"]
    inner = folder / ("scores" if scene == "scores" else "panels")
    paths = [path for path in sorted(inner.glob("*.npz")) if path.stem.split("_")[0] in families.split()]
    return [path.stem for path in paths if scene == "scores" or _is_binary(path)]


def _is_binary(path: Path) -> bool:
    with np.load(path, allow_pickle=False) as file:
        return set(np.unique(file["truth"]).tolist()) == {-1, 1}


def _votes(scene: str, name: str, settings: Settings) -> tuple[Votes, NDArray]:
    """Return votes (-1 none, 0, 1) and the truth of a file of labels."""
    if name == "judges.csv":
        frame = pd.read_csv(_EXAMPLES / name, index_col="item")
        frame = frame.apply(lambda column: column.map({"fail": 0, "pass": 1})).fillna(-1).astype(np.int8)
        return frame.drop(columns="truth").to_numpy(), frame["truth"].to_numpy()
    if name == "crowd.csv":
        table = pd.read_csv(_EXAMPLES / name)
        wide = (table.assign(label=table["label"] == "other")).pivot(index="task", columns="worker", values="label")
        truth = table.groupby("task")["truth"].first() == "other"
        return wide.astype(float).fillna(-1).to_numpy().astype(np.int8), truth.to_numpy().astype(int)
    if name == "rules.npz":
        with np.load(_EXAMPLES / name) as file:
            return file["L"].astype(np.int8), file["truth"]
    if name == "sites.txt":
        called = [line.split("\t")[4].strip() for line in (_EXAMPLES / name).read_text().splitlines()]
        truth = pd.read_csv(_EXAMPLES / "sites_truth.csv")["truth"].to_numpy()
        return np.array([list(map(int, row)) for row in called], dtype=np.int8), truth
    with np.load(_folder(settings) / "panels" / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["votes"], file["truth"]
    return np.where(X == 0, -1, (X + 1) // 2).astype(np.int8), (y + 1) // 2


# -- units --------------------------------------------------------------------------------------------------


def prepare(settings: Settings, say: Callable[[str], None]) -> None:
    """Make the environments of the peers."""
    for package, _ in _PEERS.values():
        reason = install(next(peer for peer in PEERS if peer.package == package), say)
        if reason:
            say(f"{package} is skipped: {reason}")


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Label one file in every way of its kind, or by one peer."""
    scene, name = unit.parameters["scene"], unit.parameters["data"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if scene == "scores":
            return _score_scores(*read_panel(_folder(settings) / "scores" / f"{name}.npz"))
        if name == "SomaticSeq":
            return _somaticseq(_folder(settings) / "formats" / "vcf_somaticseq")
        votes, truth = _votes(scene, name, settings)
        if "peer" in unit.parameters:
            return {unit.parameters["peer"]: _theirs(*_PEERS[unit.parameters["peer"]], votes, truth)}
        labels = {way: _PLAIN[way](votes) for way in _SCENES[scene][1] if way in _PLAIN}
        labels["goldless"] = gl.LatentSML(missing=-1 if (votes < 0).any() else None).fit_predict(votes)
    return {way: gl.balanced_accuracy(truth, found) for way, found in labels.items()}


def _score_scores(scores: NDArray[np.float64], truth: NDArray) -> dict[str, Any]:
    found = {way: make(scores) for way, make in _SCORED.items()}
    model = gl.LatentSML().fit(scores)
    found["goldless"] = model.decision_function(scores), model.predict(scores)
    return {
        way: {"accuracy": gl.balanced_accuracy(truth, labels), "auc": roc_auc_score(truth, order)}
        for way, (order, labels) in found.items()
    }


def _somaticseq(folder: Path) -> dict[str, Any]:
    """Label the sites of seven callers' VCF files; SomaticSeq's consensus is the file that it wrote itself."""
    table = gl.read_votes(folder, truth="Varsim.somatic.truth.vcf")
    votes, truth, sites = dense_codes(table.votes.codes), np.asarray(table.truth), table.items
    assert sites is not None
    passed = {site for file in folder.glob("Consensus.*.vcf.gz") for site in _passed(file)}
    labels = {way: _PLAIN[way](votes) for way in ("any", "two", "pandas")}
    labels["consensus"] = np.array([str(site) in passed for site in sites]).astype(int)
    labels["goldless"] = gl.LatentSML().fit(table).predict(table)
    return {way: gl.balanced_accuracy(truth, found) for way, found in labels.items()} | {"n_items": len(votes)}


def _passed(path: Path) -> list[str]:
    """Return the sites of a VCF file that passed, as goldless names them: without bases that REF and ALT share."""
    sites = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if line.startswith("#"):
            continue
        chrom, place, _, ref, alts, _, state = line.split("\t")[:7]
        sites += [_named(chrom, int(place), ref, alt) for alt in alts.split(",") if state == "PASS"]
    return sites


def _named(chrom: str, place: int, ref: str, alt: str) -> str:
    while len(ref) > 1 and len(alt) > 1 and ref[-1] == alt[-1]:
        ref, alt = ref[:-1], alt[:-1]
    while len(ref) > 1 and len(alt) > 1 and ref[0] == alt[0]:
        place, ref, alt = place + 1, ref[1:], alt[1:]
    return f"{chrom}:{place}:{ref}:{alt}"


def _theirs(package: str, method: str, votes: Votes, truth: NDArray) -> Any:
    """Return the balanced accuracy of a peer, or why there is none."""
    peer = next(peer for peer in PEERS if peer.package == package)
    found = run_peer(peer, method, Panel(votes, truth.astype(np.int64)), _TIMEOUT)
    return found.get("recall", found.get("skipped"))


# -- summary ------------------------------------------------------------------------------------------------


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return a table for each kind of votes."""
    tables = [_table(scene, [e for e in entries if e["parameters"]["scene"] == scene]) for scene in _SCENES]
    pins = "; ".join(", ".join(peer.requirements) for peer in PEERS if peer.package in dict(_PEERS.values()))
    return Summary(
        [
            "What people do today with votes, beside `LatentSML()` with its defaults: the same votes, no label seen, "
            "truth for scoring only. An example is a file of `examples/`, simulated and with echoes in it; real "
            f"votes are all panels of two classes of that kind that we have. Peers: {pins}.",
            "[Beside what people do today](../comparison.md) has the code.",
        ],
        [table for table in tables if table is not None],
        [],
    )


def _table(scene: str, entries: list[dict[str, Any]]) -> Table | None:
    title, ways, example, _ = _SCENES[scene]
    results: dict[str, dict[str, Any]] = {}
    for entry in entries:
        results.setdefault(entry["parameters"]["data"], {}).update(entry["result"])
    shown = results.pop(example, {}) if example else {}
    if not results and not shown:
        return None
    rows = [_row(way, shown, list(results.values()), scene == "scores") for way in (*ways, "goldless")]
    header = ["", *([f"`{example}` %"] if example else ["AUC"]), "real votes %", "goldless there %"]
    header += ["files", "goldless ahead", "behind"]
    formats = ["", ".1f", ".1f", ".1f", "d", "d", "d"]
    note = "Balanced accuracy; ahead and behind: files where goldless differs by more than half a point."
    skipped = sum(isinstance(found, str) for result in results.values() for found in result.values())
    if skipped:
        note += f" Files that a package did not label ({skipped} in all) are left out of its row."
    return Table(scene, title, header, rows, formats, note, shared=True)


def _row(way: str, example: dict[str, Any], results: list[dict[str, Any]], scores: bool) -> list[Any]:
    def accuracy(found: Any) -> Any:
        return found["accuracy"] if scores else found

    real = [(accuracy(r[way]), accuracy(r["goldless"])) for r in results if way in r and not isinstance(r[way], str)]
    first = np.mean([r[way]["auc"] for r in results]) if scores else example.get(way)
    lead = [ours - theirs for theirs, ours in real]
    return [
        LABELS[way],
        None if first is None or isinstance(first, str) else 100 * float(first),
        100 * float(np.mean([theirs for theirs, _ in real])) if real else None,
        100 * float(np.mean([ours for _, ours in real])) if real and way != "goldless" else None,
        len(real),
        None if way == "goldless" else sum(gain > _MATTERS for gain in lead),
        None if way == "goldless" else sum(gain < -_MATTERS for gain in lead),
    ]


EXPERIMENT = Experiment(
    "today",
    "What people do today",
    1,
    units,
    run,
    summarise,
    foreign=lambda unit: "peer" in unit.parameters,
    prepare=prepare,
)
