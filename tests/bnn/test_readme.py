"""The example of the README runs as printed and does what its text says."""

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import bnn
from tests.bnn.closed_forms import WeightedRealisations

README = Path(bnn.__file__).with_name("README.md")


def test_example(tmp_path, monkeypatch, capsys):
    """What the README leads to is near the exact posterior, which importance weights give.

    With -s the comparison of the README is printed.
    """
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(compile(code, str(README), "exec"), names)
    assert "in function space" in capsys.readouterr().out
    truth, X_new = names["truth"], names["X_new"]
    # Timoshenko over Euler-Bernoulli for a rectangle: 1 + 0.6 (1 + nu) / (span / height)^2.
    assert truth == pytest.approx(1.0 + 0.6 * 1.33 / X_new[:, 0] ** 2, rel=1e-9)
    np.testing.assert_array_equal(names["again"], names["mean"])
    plt.close("all")
    data = names["prior"], names["X"], names["y"], 0.01
    weighted = WeightedRealisations.condition(*data, X_new, random_state=0)
    assert weighted.effective_size > 500
    mean, std = (values[:, 0] for values in weighted.predict())
    found = {"exact": (mean, std)}
    for name, ensemble in names["ensembles"].items():
        found[name] = ensemble.predict(X_new, return_std=True)
    rmse, width, shift = {}, {}, {}
    for name, (m, s) in found.items():
        rmse[name], inside = bnn.metrics.rmse(truth, m), bnn.metrics.coverage(truth, m, s)
        width[name], shift[name] = np.mean(s / std), np.sqrt(np.mean(((m - mean) / std) ** 2))
        print(f"{name}: {rmse[name]:.4f} {inside:.2f} {width[name]:.2f} {shift[name]:.2f}")
    assert width["in function space"] == pytest.approx(1.0, abs=0.2)
    assert shift["in function space"] < 0.3
    assert rmse["in function space"] < 0.7 * rmse["published"] < 0.7 * rmse["vanilla"]
    assert width["published"] > 2.0
