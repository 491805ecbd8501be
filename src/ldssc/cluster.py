"""The estimator: from a table to clusters, in the steps of the paper."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from ldssc.affinity import build_affinity, pca
from ldssc.embedding import spectral_embedding
from ldssc.exceptions import InputError
from ldssc.labels import LABELLERS, Labels, as_random_state, assign_labels
from ldssc.normalization import NORMALIZATIONS, normalize, proven_or_warn
from ldssc.solvers import SOLVERS, Record, project
from ldssc.threads import threads_for
from ldssc.validation import Matrix, check_choice, check_count, check_finite, check_positive

_PRECOMPUTED = ("precomputed", "precomputed_nearest_neighbors")


class SemidefiniteSpectralClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Spectral clustering on the doubly stochastic, positive semidefinite matrix nearest to the affinities.

    The affinity matrix K is replaced by the F that minimises ‖F − K‖² over F = Fᵀ, F1 = 1, F ≥ 0, F ⪰ 0 (1); the
    leading eigenvectors of F are discretised into labels. Parameters that scikit-learn's `SpectralClustering` has keep
    their name and meaning there; docs/differences-from-scikit-learn.md lists what differs.

    Parameters
    ----------
    n_clusters : number of clusters.
    n_components : eigenvectors used; None means n_clusters.
    random_state : seed of the label assignment.
    n_init : random starts of the label assignment; the best objective is kept.
    gamma : coefficient of the kernel; None means 1/δ² with δ the median distance for "rbf", 1 for "poly".
    affinity : "rbf", "poly", "nearest_neighbors", "fully_connected", "precomputed", "precomputed_nearest_neighbors",
        any pairwise kernel of scikit-learn by name, or a callable.
    n_neighbors : neighbours in the graph affinities.
    assign_labels : "discretize" (Yu and Shi) or "kmeans".
    degree, coef0 : of the polynomial kernel (γ aᵀb + coef0)^degree.
    kernel_params : further arguments of the affinity; for the graphs `weights`, `mode`, `self_loops`, `delta`.
    n_jobs : jobs for scikit-learn's pairwise kernels.
    verbose : print a line at every proof of the solver.
    normalization : "semidefinite", or a rival: "none", "ratio-cut", "normalized-cut", "sinkhorn", "frobenius",
        "frobenius-successive".
    solver : "auto", "newton", "splitting", "accelerated", "ld-ssc1", "ld-ssc2", "conic"; for normalization="semidefinite".
    tol : proven relative distance to the exact F at which the solver stops.
    solver_params : further arguments of the normalisation, such as max_iter, time_limit or paper=True (which clusters
        the solver's own matrix, unrepaired, after the paper's iteration counts).
    pca : number of principal components to reduce X to first; None means no reduction.
    row_normalize : scale the rows of the embedding to length one before assigning labels; None means the
        assignment's own habit: yes for "discretize", no for "kmeans".

    Attributes
    ----------
    labels_ : cluster of each sample, 0 to n_clusters − 1, none empty.
    affinity_matrix_ : K.
    affinity_description_ : how K was made, with the scale that was chosen.
    normalized_affinity_ : the matrix whose eigenvectors were used.
    embedding_ : its leading eigenvectors; eigenvalues_ : their eigenvalues.
    result_ : the `Result` of the projection with its certificate; None for the rival normalisations.
    n_features_in_ : number of columns seen.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int = 10,
        gamma: float | None = None,
        affinity: str | Callable[..., float] = "rbf",
        n_neighbors: int = 10,
        assign_labels: str = "discretize",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        normalization: str = "semidefinite",
        solver: str = "auto",
        tol: float = 1e-2,
        solver_params: Mapping[str, Any] | None = None,
        pca: int | None = None,
        row_normalize: bool | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.normalization = normalization
        self.solver = solver
        self.tol = tol
        self.solver_params = solver_params
        self.pca = pca
        self.row_normalize = row_normalize

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Affinity, normalisation, embedding, labels. X: samples in rows, or an n x n matrix when precomputed."""
        X = self._checked(X)
        with threads_for(X.shape[0]):
            self.affinity_matrix_ = self._affinity(X)
            self.normalized_affinity_ = self._normalized(self.affinity_matrix_)
            self.embedding_, self.eigenvalues_ = self._embedded(self.normalized_affinity_)
            self.labels_ = self._labelled(self.embedding_)
        return self

    def _checked(self, X: Any) -> Any:
        """X as scikit-learn understands it, and the parameters, before any work is done."""
        check_choice(self.normalization, "normalization", NORMALIZATIONS)
        check_choice(self.solver, "solver", SOLVERS)
        check_choice(self.assign_labels, "assign_labels", LABELLERS)
        check_positive(self.tol, "tol")
        check_count(self.n_init, "n_init")
        as_random_state(self.random_state)
        if self.row_normalize not in (None, True, False):
            raise InputError(f"row_normalize must be True, False or None, and is {self.row_normalize!r}")
        for name, value in {"kernel_params": self.kernel_params, "solver_params": self.solver_params}.items():
            if value is not None and not isinstance(value, Mapping):
                raise InputError(f"{name} must be a dictionary or None, and is {value!r}")
        try:
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        except ValueError as error:
            raise InputError(_first_line(error)) from error
        check_finite(X.data if sparse.issparse(X) else X, "X")
        n = X.shape[0]
        n_clusters = check_count(self.n_clusters, "n_clusters", high=n, high_name="n_samples")
        if self.n_components is not None:
            check_count(self.n_components, "n_components", high=n, high_name="n_samples")
        if self.affinity in _PRECOMPUTED:
            if self.pca is not None:
                raise InputError(f"pca={self.pca} needs data, and affinity={self.affinity!r} gives none; set pca=None")
        elif (distinct := _distinct_rows(X)) < n_clusters:
            raise InputError(f"X has only {distinct} distinct rows, too few for n_clusters={n_clusters}")
        return X

    def _affinity(self, X: Any) -> Matrix:
        if self.pca is not None:
            X = pca(X.toarray() if sparse.issparse(X) else X, self.pca)
        built = build_affinity(
            X,
            self.affinity,
            gamma=self.gamma,
            n_neighbors=self.n_neighbors,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_jobs=self.n_jobs,
        )
        self.affinity_description_ = built.description
        return built.K

    def _normalized(self, K: Matrix) -> Matrix:
        """F, and with it `result_` where it comes with a proof."""
        self.result_ = None
        if self.normalization != "semidefinite":
            return normalize(
                K, self.normalization, **_options_for(NORMALIZATIONS[self.normalization], self.solver_params)
            )
        options = _options_for(project, self.solver_params, "solver", "tol", "weights", "trace")
        callback = _say if self.verbose else None
        self.result_ = project(K, **{"solver": self.solver, "tol": self.tol, "callback": callback, **options})
        if options.get("paper"):
            return self.result_.iterate
        return proven_or_warn(self.result_).F

    def _embedded(self, F: Matrix) -> tuple[Matrix, Matrix]:
        embedding = spectral_embedding(F, self.n_clusters if self.n_components is None else self.n_components)
        if embedding.message and self.n_clusters > 1:
            warnings.warn(embedding.message, UserWarning, stacklevel=3)
        return embedding.vectors, embedding.values

    def _labelled(self, embedding: Matrix) -> Labels:
        return assign_labels(
            embedding,
            self.n_clusters,
            self.assign_labels,
            n_init=self.n_init,
            row_normalize=self.row_normalize,
            random_state=self.random_state,
        )

    def __sklearn_tags__(self) -> Any:
        """Sparse input is taken; precomputed affinities are pairwise."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in _PRECOMPUTED
        return tags


def _first_line(error: ValueError) -> str:
    """scikit-learn's sentence without the data that it quotes below it."""
    first, *rest = str(error).splitlines()
    advice = next((line for line in rest if line.startswith("Reshape your data")), "")
    return " ".join([first.removesuffix(":"), *([f"({advice.rstrip('.')})"] if advice else [])])


def _options_for(function: Callable[..., Any], options: Mapping[str, Any] | None, *own: str) -> dict[str, Any]:
    """solver_params as arguments of the normalisation; refused where it has none such, or the estimator its own."""
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in own]
    for name in options or {}:
        if name not in known:
            raise InputError(
                f"solver_params has {name!r}, which is not known here; valid names: {', '.join(known) or 'none'}"
            )
    return dict(options or {})


def _distinct_rows(X: Any) -> int:
    return len(np.unique(X.toarray() if sparse.issparse(X) else X, axis=0))


def _say(record: Record) -> None:
    print(
        f"iteration {record.iteration}: proven within {record.distance:.2e} of the exact matrix "
        f"({record.n_eig} eigendecompositions, {record.seconds:.1f} s)"
    )
