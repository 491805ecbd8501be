"""Spectral clustering on the nearest doubly stochastic, positive semidefinite affinity matrix, with a proof."""

from importlib.metadata import version

from ldssc.affinity import (
    Affinity,
    build_affinity,
    fully_connected_affinity,
    gaussian_affinity,
    knn_affinity,
    median_distance,
    pca,
    polynomial_affinity,
    precomputed_affinity,
    precomputed_knn,
)
from ldssc.certificate import Certificate, certify
from ldssc.cluster import SemidefiniteSpectralClustering
from ldssc.embedding import Embedding, spectral_embedding
from ldssc.exceptions import InputError, MissingExtraError, NotEnoughMemoryError
from ldssc.images import segment
from ldssc.labels import assign_labels, discretize, kmeans
from ldssc.metrics import error_rate
from ldssc.nearest import Projection, nearest_doubly_stochastic
from ldssc.nearest_proof import ProjectionCertificate
from ldssc.normalization import normalize
from ldssc.solvers import Record, Result, Status, project

__version__ = version("ldssc")

__all__ = [
    "Affinity",
    "Certificate",
    "Embedding",
    "InputError",
    "MissingExtraError",
    "NotEnoughMemoryError",
    "Projection",
    "ProjectionCertificate",
    "Record",
    "Result",
    "SemidefiniteSpectralClustering",
    "Status",
    "assign_labels",
    "build_affinity",
    "certify",
    "discretize",
    "error_rate",
    "fully_connected_affinity",
    "gaussian_affinity",
    "kmeans",
    "knn_affinity",
    "median_distance",
    "nearest_doubly_stochastic",
    "normalize",
    "pca",
    "polynomial_affinity",
    "precomputed_affinity",
    "precomputed_knn",
    "project",
    "segment",
    "spectral_embedding",
]
