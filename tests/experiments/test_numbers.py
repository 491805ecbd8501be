"""The printed numbers are consistent but for the misprints that are flagged; verdicts and tests on cases counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldssc import datasets
from ldssc.exceptions import InputError
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments import settings, verdicts
from ldssc.experiments.statistics import paired_bootstrap, sign_test

LOWEST = {**paper.LOWEST, "CVX-SSC": paper.CVX_LOWEST}


def test_every_lowest_error_is_a_whole_number_of_samples_but_the_flagged() -> None:
    odd = {
        (method, name)
        for method, row in LOWEST.items()
        for name, error in row.items()
        if not paper.is_count(error, paper.SHAPES[name][0])
    }
    assert odd == paper.MISPRINTS
    assert len(odd) == 4


def test_no_mean_is_below_its_lowest_and_every_method_has_every_set() -> None:
    for method in paper.METHODS:
        assert set(paper.LOWEST[method]) == set(paper.MEAN[method]) == set(paper.SETS)
        for name in paper.SETS:
            assert paper.MEAN[method][name] >= paper.LOWEST[method][name]


def test_table_iv_repeats_the_lowest_errors_and_leaves_out_what_cvx_cannot_hold() -> None:
    small = {name for name in paper.SETS if paper.SHAPES[name][0] <= 200}
    assert set(paper.CVX_LOWEST) == set(paper.SECONDS["CVX-SSC"]) == small


def test_the_shapes_are_those_of_the_data_but_for_hayes_roth_and_yale() -> None:
    differ = set()
    for name in paper.SETS:
        n, d, k = paper.SHAPES[name]
        entry = datasets.entry(name)
        assert (entry.shape[0], len(entry.counts)) == (n, k)
        if entry.shape[1] != d:
            differ.add(name)
    assert differ == {"hayes_roth", "yale"}


def test_the_printed_numbers_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        paper.LOWEST["NO"]["iris"] = 0.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("ours", "printed", "n", "expected"),
    [
        (0.0933, 0.0933, 150, "MATCH"),
        (14 / 150, 0.1000, 150, "MATCH"),  # one sample
        (13 / 150, 0.1000, 150, "BETTER"),  # two
        (17 / 150, 0.1000, 150, "WORSE"),
        (0.2481, 0.2431, 1440, "MATCH"),  # half a per cent
        (0.2483, 0.2431, 1440, "WORSE"),
        (None, 0.1, 150, ""),
        (0.1, None, 150, ""),
    ],
)
def test_verdicts(ours: float | None, printed: float | None, n: int, expected: str) -> None:
    assert verdicts.verdict(ours, printed, n) == expected


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 2000))
def test_a_verdict_turns_with_the_sides(a: float, b: float, n: int) -> None:
    turned = {"MATCH": "MATCH", "BETTER": "WORSE", "WORSE": "BETTER"}
    assert verdicts.verdict(b, a, n) == turned[verdicts.verdict(a, b, n)]


def test_verdicts_are_counted() -> None:
    assert verdicts.counts(["MATCH", "", "WORSE", "MATCH"]) == {"MATCH": 2, "BETTER": 0, "WORSE": 1}


def test_signs_counted_by_hand() -> None:
    found = sign_test([0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.3, 0.4, 0.4, 0.4])
    assert found[:3] == (3, 1, 1)
    assert found.p == pytest.approx(10 / 16)  # 2 (1 + 4) / 2⁴
    assert sign_test([0.1], [0.1]).p == 1


def test_the_bootstrap_is_around_the_mean_and_wider_over_groups() -> None:
    rng = np.random.default_rng(0)
    shift = np.repeat(rng.normal(0.1, 0.1, 8), 10)
    b = rng.uniform(size=80)
    groups = [str(i // 10) for i in range(80)]
    alone, together = paired_bootstrap(b + shift, b), paired_bootstrap(b + shift, b, groups)
    assert alone.mean == pytest.approx(shift.mean())
    assert alone.low < alone.mean < alone.high
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert paired_bootstrap([0.3, 0.4], [0.2, 0.3]) == pytest.approx((0.1, 0.1, 0.1))


def test_unpaired_errors_are_refused() -> None:
    with pytest.raises(InputError, match="two lists of one length"):
        sign_test([0.1], [0.1, 0.2])


def test_settings_are_the_papers() -> None:
    assert settings.TABLE_II.sets + settings.TABLE_III.sets == paper.SETS
    assert settings.TABLE_II.n_init == 10
    assert settings.fixed_parameter("leukemia") == 2
    for name in paper.SETS:
        assert settings.fixed_parameter(name) in settings.TABLE_II.grid(name)
        assert settings.fixed_parameter(name) in settings.TABLE_II_QUICK.grid(name)
