"""Data of the paper: the feature tables of its UCI experiments, and matrices of votes."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesWarning


@dataclass(frozen=True)
class UciTable:
    """What is known of a feature table: where OpenML keeps it, what it must look like.

    ``checksum`` is the :func:`content_checksum` of the edition we know, None if we have none. What is fetched is
    checked for its shape and class counts (scikit-learn checks OpenML's own checksum of the file); its checksum is
    kept beside it and must stay the same.
    """

    file: str
    openml_id: int
    positive: str
    shape: tuple[int, int]
    n_positive: int
    checksum: str | None


UCI_TABLES = {
    "magic": UciTable(
        "magic.npz",
        1120,
        "g",
        (19_020, 10),
        12_332,
        "0e9ada2f84206ed0ed84c3f5e50594812d7366560999f7b419f41d0137f41fdf",
    ),
    "spambase": UciTable(
        "spambase.npz",
        44,
        "1",
        (4_601, 57),
        1_813,
        "093355c6750280b2eab2a145998c1d0b0eee77ca21d4eb5e6cae3afce22cd207",
    ),
    "miniboone": UciTable("miniboone.npz", 41_150, "True", (130_064, 50), 36_499, None),
    "musk": UciTable(
        "musk2.npz",
        1116,
        "1",
        (6_598, 166),
        1_017,
        "bf747e5f2ab23e41f268bb79613e7f584208be14ebbefbe109acb629bc890bab",
    ),
}


def load_uci(name: str, folder: str | Path | None = None) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return features and labels of one of the paper's four UCI tables.

    Parameters
    ----------
    name : {"magic", "spambase", "miniboone", "musk"}
    folder : path, optional
        Folder of ``.npz`` files with ``X`` and ``y``. By default ``uci`` in the folder named by ``GOLDLESS_DATA``;
        without that, the table is fetched once from OpenML and kept in :func:`cache_folder`.

    Returns
    -------
    X : ndarray of shape (n_items, n_features)
        Features as float32.
    y : ndarray of shape (n_items,)
        Labels -1 and +1.

    Raises
    ------
    ValueError
        If the table is not what it should be: its shape, class counts or checksum differ.
    """
    if name not in UCI_TABLES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(UCI_TABLES)}")
    table = UCI_TABLES[name]
    given = folder if folder is not None else _data_folder("uci")
    if given is not None:
        path = Path(given) / table.file
        if not path.is_file():
            raise ValueError(f"there is no {table.file} in {given}; put it there, or unset GOLDLESS_DATA to fetch it")
        X, y = _read_table(path)
        _check_shape(name, X, y)
        if table.checksum not in (None, content_checksum(X, y)):
            raise ValueError(f"{path} is damaged, or another edition of {name}: its checksum is not {table.checksum}")
        return X, y
    path = cache_folder() / "uci" / table.file
    kept = path.with_suffix(".sha256")
    if not (path.is_file() and kept.is_file()):
        X, y = fetch_uci(name)
        _check_shape(name, X, y)
        _keep(path, X, y)
        kept.write_text(content_checksum(X, y) + "\n", encoding="utf-8")
    X, y = _read_table(path)
    found = content_checksum(X, y)
    if found != kept.read_text(encoding="utf-8").strip():
        raise ValueError(f"{path} is damaged: its checksum has changed; remove it and it will be fetched again")
    if table.checksum not in (None, found):
        warnings.warn(
            f"{name} from OpenML is another edition than the one we know: its checksum is {found}",
            VotesWarning,
            stacklevel=2,
        )
    return X, y


def fetch_uci(name: str) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Fetch a table from OpenML: numeric columns only, in their order (Musk has two columns of names)."""
    from sklearn.datasets import fetch_openml

    table = UCI_TABLES[name]
    home = str(cache_folder() / "openml")
    try:
        bunch = fetch_openml(
            data_id=table.openml_id, as_frame=False, parser="liac-arff", data_home=home, n_retries=1, delay=0.5
        )
    except OSError as error:
        raise ValueError(
            f"{name}, data set {table.openml_id} of OpenML, could not be fetched ({error}); try again, or put "
            f"{table.file} with arrays X and y in the folder uci of GOLDLESS_DATA"
        ) from None
    return table_of_openml(bunch, table)


def table_of_openml(bunch: Any, table: UciTable) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return features and labels from what OpenML sends: named columns are left out, labels become -1 and +1."""
    nominal = set(bunch.categories or ())
    columns = [at for at, column in enumerate(bunch.feature_names) if column not in nominal]
    # identifiers are numbers in some releases; features are the last columns
    X = np.asarray(bunch.data)[:, columns][:, -table.shape[1] :].astype(np.float32)
    y = np.where(np.asarray(bunch.target).astype(str) == table.positive, 1, -1).astype(np.int8)
    return X, y


def content_checksum(X: NDArray, y: NDArray) -> str:
    """Return the SHA-256 of a table: float32 features and labels, rows sorted, so that their order is no matter."""
    rows = np.column_stack([X.astype("<f4"), y.astype("<f4")]) + np.float32(0.0)  # -0 becomes 0
    rows = rows[np.lexsort(rows.T[::-1])]
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()


def cache_folder() -> Path:
    """Return where fetched data are kept: ``GOLDLESS_CACHE``, or ``goldless`` in the user's cache."""
    given = os.environ.get("GOLDLESS_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "goldless"


def _data_folder(part: str) -> Path | None:
    folder = os.environ.get("GOLDLESS_DATA")
    return Path(folder) / part if folder else None


def _read_table(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    with np.load(path, allow_pickle=False) as file:
        return file["X"].astype(np.float32), file["y"].astype(np.int8)


def _check_shape(name: str, X: NDArray, y: NDArray) -> None:
    table, n_positive = UCI_TABLES[name], int((y == 1).sum())
    if X.shape != table.shape or n_positive != table.n_positive:
        raise ValueError(
            f"{name} should be {table.shape[0]:,} x {table.shape[1]} with {table.n_positive:,} positive items, got "
            f"{X.shape[0]:,} x {X.shape[1]} with {n_positive:,}"
        )


def _keep(path: Path, X: NDArray, y: NDArray) -> None:
    """Write a table whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as stream:
        np.savez_compressed(stream, X=X, y=y)
    os.replace(stream.name, path)


# -- matrices of votes --------------------------------------------------------------------------------------


def load_matrix_votes(path: str | Path) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return votes and truth, both -1 and +1, from an ``.npz`` or a MATLAB ``.mat`` file.

    ``.npz``: arrays ``votes`` and ``truth``. ``.mat``: by shape: the largest matrix holds the votes (items by voters
    or voters by items: there are more items), a vector of as many entries as items holds the truth. Votes are two
    numbers, such as 0 and 1; the larger is positive.

    Returns
    -------
    X : ndarray of shape (n_items, n_voters)
    y : ndarray of shape (n_items,)
    """
    path = Path(path)
    if path.suffix == ".mat":
        votes, truth = _from_mat(path)
    else:
        with np.load(path, allow_pickle=False) as file:
            if not {"votes", "truth"} <= set(file.files):
                raise ValueError(f"{path} should hold votes and truth, it holds {', '.join(file.files)}")
            votes, truth = file["votes"], file["truth"]
    return _as_signs(votes, path, "votes"), _as_signs(truth, path, "truth")


def _from_mat(path: Path) -> tuple[NDArray, NDArray]:
    from scipy.io import loadmat

    try:
        arrays = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError:
        raise ValueError(f"{path} is a MATLAB 7.3 file; save it again with -v7") from None
    arrays = {name: value for name, value in arrays.items() if value.dtype.kind in "biuf"}
    matrices = [name for name, value in arrays.items() if value.ndim == 2 and min(value.shape) > 1]
    if not matrices:
        raise ValueError(f"there is no matrix of votes in {path}; it holds {', '.join(arrays) or 'no numbers'}")
    name = max(matrices, key=lambda name: arrays[name].size)
    votes = arrays[name] if arrays[name].shape[0] >= arrays[name].shape[1] else arrays[name].T
    vectors = [n for n, value in arrays.items() if value.size == len(votes) and min(value.shape, default=0) == 1]
    if len(vectors) != 1:
        raise ValueError(
            f"{path} should hold one vector of {len(votes)} true labels, found {len(vectors)}: {', '.join(vectors)}"
        )
    return votes, arrays[vectors[0]].ravel()


def _as_signs(values: NDArray, path: Path, what: str) -> NDArray[np.int8]:
    kinds = np.unique(values)
    if len(kinds) != 2:
        raise ValueError(f"the {what} in {path} should be two numbers, such as 0 and 1, found {kinds[:5].tolist()}")
    return np.where(values == kinds[1], 1, -1).astype(np.int8)
