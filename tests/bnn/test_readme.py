"""The example of the README runs as printed and does what its text says."""

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import bnn

README = Path(bnn.__file__).with_name("README.md")


def test_example(tmp_path, monkeypatch, capsys):
    """The anchored ensemble extrapolates better than the vanilla one, and knows its errors."""
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(compile(code, str(README), "exec"), names)
    truth, X_new = names["truth"], names["X_new"]
    mean, std = names["model"].predict(X_new, return_std=True)
    other = names["vanilla"].predict(X_new)
    assert bnn.metrics.rmse(truth, mean) < 0.7 * bnn.metrics.rmse(truth, other)
    assert bnn.metrics.coverage(truth, mean, std) > 0.8
    near, far = X_new[:, 0] > 5.0, X_new[:, 0] < 2.0
    assert std[far].mean() > 2.0 * std[near].mean()
    np.testing.assert_array_equal(names["again"], names["mean"])
    # Timoshenko over Euler-Bernoulli for a rectangle: 1 + 0.6 (1 + nu) / (span / height)^2.
    assert truth == pytest.approx(1.0 + 0.6 * 1.33 / X_new[:, 0] ** 2, rel=1e-9)
    assert "anchored" in capsys.readouterr().out
    plt.close("all")
