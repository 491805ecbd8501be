"""Proofs about partitions: the relaxation (22), bounds on every partition (24), tightness (23) as a measure of trust."""
