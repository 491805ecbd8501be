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
from ldssc.fermat import fermat_distances
from ldssc.images import segment
from ldssc.labels import assign_labels, discretize, kmeans
from ldssc.metrics import error_rate
from ldssc.nearest import Projection, nearest_doubly_stochastic
from ldssc.nearest_proof import ProjectionCertificate
from ldssc.normalization import normalize
from ldssc.proofs import LabelProof, Relaxation, Trust, certify_labels, relax, trust
from ldssc.solvers import Record, Result, Status, project

__version__ = version("ldssc")

__all__ = [
    "Affinity",
    "Certificate",
    "Embedding",
    "InputError",
    "LabelProof",
    "MissingExtraError",
    "NotEnoughMemoryError",
    "Projection",
    "ProjectionCertificate",
    "Record",
    "Relaxation",
    "Result",
    "SemidefiniteSpectralClustering",
    "Status",
    "Trust",
    "assign_labels",
    "build_affinity",
    "certify",
    "certify_labels",
    "discretize",
    "error_rate",
    "fermat_distances",
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
    "relax",
    "segment",
    "spectral_embedding",
    "trust",
]
