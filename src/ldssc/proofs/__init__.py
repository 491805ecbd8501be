"""Proofs about partitions: the relaxation (22), bounds on every partition (24), tightness (23) as a measure of trust."""

from ldssc.proofs.answers import Relaxation, RelaxationCertificate
from ldssc.proofs.labels import OBJECTIVES, certify_labels
from ldssc.proofs.relaxation import relax
from ldssc.proofs.tightness import trust
from ldssc.proofs.verdict import LabelProof, Trust

__all__ = [
    "OBJECTIVES",
    "LabelProof",
    "Relaxation",
    "RelaxationCertificate",
    "Trust",
    "certify_labels",
    "relax",
    "trust",
]
