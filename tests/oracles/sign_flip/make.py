"""Draw paired differences, with ties and zeros, and write scipy's exact sign-flip p values."""

import csv
from pathlib import Path

import numpy as np
from scipy import stats

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(1935)
    samples = {
        "continuous": rng.normal(0.5, 1.0, 11),
        "ties": rng.integers(-2, 4, 12).astype(float),
        "zeros": np.r_[rng.integers(-1, 3, 8).astype(float), 0.0, 0.0],
        "tenths": np.round(rng.normal(0.1, 0.3, 10), 1),
        "three": np.array([0.4, 1.1, 0.2]),
        "clear": rng.normal(3.0, 1.0, 12),
    }
    rows, expected = [], []
    for name, values in samples.items():
        rows += [[name, unit, repr(float(value))] for unit, value in enumerate(values)]
        found = stats.permutation_test(
            (values,),
            lambda x, axis: np.abs(np.mean(x, axis=axis)),
            permutation_type="samples",
            alternative="greater",
            n_resamples=np.inf,
            vectorized=True,
        )
        t = stats.ttest_1samp(values, 0.0)
        sign = stats.binomtest(int((values > 0).sum()), int((values != 0).sum()))
        numbers = (found.pvalue, sign.pvalue, t.statistic, t.pvalue)
        expected.append([name, *(repr(float(value)) for value in numbers)])
    for file, head, body in (
        ("input.csv", ["sample", "unit", "difference"], rows),
        ("expected.csv", ["sample", "p_permutation", "p_sign", "t", "p_t"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    main()
