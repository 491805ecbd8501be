"""What the paper prints, once, as printed; where a number cannot be right it is flagged, not mended."""

from __future__ import annotations

from types import MappingProxyType

#: The twelve sets in the paper's order, by the names of `ldssc.datasets`.
SETS = (
    *("spectf", "wine", "pima", "hayes_roth", "iris", "bupa"),
    *("leukemia", "lung", "orl", "yale", "coil20", "alphadigits"),
)
METHODS = ("NO", "RC", "NC", "FSC", "LD-SSC1", "LD-SSC2")

Row = MappingProxyType[str, float]


def _row(*values: float | None) -> Row:
    return MappingProxyType({name: v for name, v in zip(SETS, values, strict=True) if v is not None})


#: Table I: samples, features, clusters.
SHAPES = MappingProxyType(
    {
        "spectf": (267, 44, 2),
        "wine": (178, 13, 3),
        "pima": (768, 8, 2),
        "hayes_roth": (160, 5, 3),
        "iris": (150, 4, 3),
        "bupa": (345, 6, 2),
        "leukemia": (72, 7129, 2),
        "lung": (181, 12533, 2),
        "orl": (400, 10304, 40),
        "yale": (165, 16384, 15),
        "coil20": (1440, 1024, 20),
        "alphadigits": (1404, 320, 36),
    }
)
#: Table I: the sets with the polynomial kernel, and those reduced to five dimensions.
POLYNOMIAL = ("bupa", "leukemia", "lung", "orl", "yale")
REDUCED_TO_FIVE = ("leukemia", "lung", "orl", "yale")

#: Tables II and III, the lowest error over the kernel parameter.
LOWEST = MappingProxyType(
    {
        "NO": _row(0.3408, 0.2753, 0.3620, 0.5250, 0.0933, 0.4232, 0.2917, 0.1713, 0.8100, 0.4242, 0.3819, 0.6439),
        "RC": _row(0.2322, 0.3146, 0.4609, 0.5313, 0.1467, 0.4261, 0.3333, 0.1050, 0.8150, 0.6909, 0.4875, 0.7355),
        "NC": _row(0.2472, 0.4213, 0.3594, 0.5500, 0.1067, 0.4232, 0.3750, 0.1768, 0.9250, 0.4848, 0.3458, 0.6410),
        "FSC": _row(0.2172, 0.3427, 0.3542, 0.5563, 0.0933, 0.4232, 0.3111, 0.0994, 0.8275, 0.4182, 0.3583, 0.6474),
        "LD-SSC1": _row(0.1873, 0.2697, 0.3411, 0.4688, 0.0867, 0.4203, 0.1806, 0.0994, 0.6400, 0.4182, 0.2431, 0.4950),
        "LD-SSC2": _row(0.1873, 0.2697, 0.3411, 0.4688, 0.0867, 0.4203, 0.1806, 0.0994, 0.6450, 0.4182, 0.2431, 0.4932),
    }
)
#: Tables II and III, the mean error over the kernel parameter.
MEAN = MappingProxyType(
    {
        "NO": _row(0.4173, 0.3379, 0.4310, 0.6078, 0.1117, 0.4328, 0.4506, 0.1782, 0.8257, 0.4533, 0.4296, 0.6673),
        "RC": _row(0.3278, 0.4438, 0.4819, 0.6031, 0.3467, 0.4778, 0.4475, 0.1540, 0.8150, 0.7261, 0.5018, 0.7437),
        "NC": _row(0.3728, 0.4398, 0.4175, 0.6119, 0.1129, 0.4378, 0.4275, 0.1844, 0.9303, 0.5158, 0.4073, 0.6712),
        "FSC": _row(0.2710, 0.3903, 0.3819, 0.5856, 0.1108, 0.4259, 0.3744, 0.2735, 0.8327, 0.4509, 0.4116, 0.6699),
        "LD-SSC1": _row(0.2231, 0.3383, 0.3523, 0.5463, 0.0928, 0.4226, 0.3148, 0.1499, 0.6560, 0.4479, 0.3412, 0.5789),
        "LD-SSC2": _row(0.2231, 0.3385, 0.3523, 0.5463, 0.0929, 0.4228, 0.3148, 0.1499, 0.6560, 0.4479, 0.3412, 0.5789),
    }
)
STATISTICS = MappingProxyType({"lowest": LOWEST, "mean": MEAN})

#: Table IV: the lowest error of CVX-SSC, and seconds at the fixed kernel parameter.
CVX_LOWEST = _row(None, 0.2697, None, 0.5857, 0.1133, None, 0.1806, 0.0994, None, 0.4909, None, None)
SECONDS = MappingProxyType(
    {
        "CVX-SSC": _row(None, 6682, None, 3353, 1195, None, 68, 3421, None, 3675, None, None),
        "LD-SSC1": _row(153, 23, 4344, 45, 13, 298, 4, 31, 448, 18, 5106, 5037),
        "LD-SSC2": _row(7, 2, 69, 2, 2, 9, 2, 3, 17, 1, 243, 184),
    }
)
#: Table V, MiB of the parameters of L-BFGS-B, as printed: the number of digits counts.
MEMORY = MappingProxyType(
    {
        method: MappingProxyType(dict(zip(SETS, printed.split(), strict=True)))
        for method, printed in {
            "LD-SSC1": "1.09 0.49 9.01 0.39 0.35 1.82 0.08 0.50 2.45 0.42 31.7 30.1",
            "LD-SSC2": "2.73 1.21 22.52 0.98 0.86 4.54 0.20 1.25 6.11 1.04 79.1 75.2",
        }.items()
    }
)

#: (method, set): lowest errors that are no multiple of 1/n to the printed digits, so misprinted in the paper.
MISPRINTS = frozenset(
    {("RC", "alphadigits"), ("FSC", "leukemia"), ("LD-SSC2", "alphadigits"), ("CVX-SSC", "hayes_roth")}
)


def is_count(error: float, n: int) -> bool:
    """Whether a printed error is a whole number of n samples, to its four decimals."""
    return abs(error - round(error * n) / n) < 5.0001e-5  # either rounding of an exact half
