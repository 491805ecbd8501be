"""The error rate is one minus the best accuracy over one-to-one maps between clusters and classes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldssc.exceptions import InputError
from ldssc.metrics import error_rate

pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n), st.lists(st.integers(0, 4), min_size=n, max_size=n)
    )
)


@given(pairs)
@settings(deadline=None, max_examples=60)
def test_error_rate_is_the_minimum_over_all_permutations(both: tuple[list[int], list[int]]) -> None:
    true, pred = np.array(both[0]), np.array(both[1])
    best = max((np.array(p)[pred] == true).mean() for p in permutations(range(5)))
    assert error_rate(true, pred) == pytest.approx(1 - best, abs=1e-12)


@given(pairs)
@settings(deadline=None, max_examples=30)
def test_error_rate_is_symmetric_and_does_not_see_names(both: tuple[list[int], list[int]]) -> None:
    true, pred = both
    assert error_rate(true, pred) == error_rate(pred, true) == error_rate([f"class {c}" for c in true], pred)
    assert error_rate(true, [(c, "x") for c in true]) == 0.0


def test_a_cluster_without_a_partner_counts_as_wrong() -> None:
    assert error_rate(["a", "a", "a", "a"], [0, 0, 1, 2]) == 0.5
    assert error_rate([None, "a", 3.5], [1, 1, 1]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("true", "pred", "sentence"),
    [
        ([1, 2], [1], "labels_true has 2 labels and labels_pred has 1; pass one label"),
        ([], [], "labels_true is empty"),
        ([1], "a", "labels_pred must be a list of labels, and is 'a'"),
        (3, [1], "labels_true must be a list of labels, and is 3"),
        (np.zeros((2, 2)), [1, 2], r"labels_true must have one dimension, and has shape \(2, 2\)"),
        (np.array(1), [1], r"labels_true must have one dimension, and has shape \(\)"),
        ([1, [2]], [1, 2], r"labels_true\[1\] is \[2\], which cannot be a label"),
        ([1, (2, [3])], [1, 2], r"labels_true\[1\] is .*, which cannot be a label"),
        ([1.0, np.nan], [1, 2], r"labels_true\[1\] is missing \(NaN\)"),
    ],
)
def test_bad_labels_are_named(true: object, pred: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        error_rate(true, pred)  # type: ignore[arg-type]
