"""The page with sliders computes what Python does, from the tables that are shipped."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import bnn
import fe_data

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "interactive"
MODEL = json.loads((FOLDER / "surrogate.json").read_text(encoding="utf-8"))
GRID = np.linspace(-1.0, 1.0, 41)
POINTS = [(0.02, -1.45), (-0.47, -0.23), (-0.59, -1.03), (0.61, 0.44), (0.62, 0.34)]
PRIOR = {"slope": 2.0, "variance": 1.0, "lengthscale": 0.3, "noise": 0.1}
# What is asked of the page, in node and in the browser.
QUESTION = f"""
const asked = {json.dumps({"at": GRID.tolist(), "points": POINTS, "prior": PRIOR})};
const points = asked.points.map(([x, y]) => ({{ x, y }}));
const ensembles = {{}};
for (const name of Object.keys(model.ensembles))
  ensembles[name] = model.check.X.map((x) => surrogate.predict(model, name, x));
const answer = {{ ensembles, exact: surrogate.posterior(points, asked.at, asked.prior) }};
"""


def weights(name: str) -> np.ndarray:
    """The weights of an ensemble, (K, d)."""
    values = np.frombuffer(base64.b64decode(MODEL["ensembles"][name]["weights"]), "<f4")
    return values.reshape(-1, bnn.MLP(tuple(MODEL["widths"])).n_weights)


def outputs(name: str, X: np.ndarray) -> np.ndarray:
    """What every network of an ensemble says at X (n, n_in), (K, n, n_out)."""
    arrays = {key: np.array(value) for key, value in MODEL["ensembles"][name].items()}
    network = bnn.MLP(tuple(MODEL["widths"]), "silu")
    scaled = (X - arrays["in_centre"]) / arrays["in_half"]
    outputs_of_network = network.forward(weights(name).astype(float), scaled)
    return arrays["out_centre"] + arrays["out_half"] * np.asarray(outputs_of_network)


def close(computed, expected) -> bool:
    """Equal to 1e-6 of the largest number of each output."""
    expected = np.asarray(expected)
    return bool(
        np.all(np.abs(np.asarray(computed) - expected) <= 1e-6 * np.abs(expected).max(axis=0))
    )


def check_answer(answer):
    """Networks, their mean and bands, and the exact posterior, beside those of `bnn`."""
    X = np.array(MODEL["check"]["X"])
    n = len(MODEL["outputs"])
    noise = np.array(MODEL["noise"])
    curve = {key: np.array(value) for key, value in MODEL["curve"].items()}
    components = bnn.PrincipalComponents(curve["mean"], curve["vectors"], np.diag(curve["rest"]))
    for name, said in answer["ensembles"].items():
        rows = outputs(name, X)
        curves = components.inverse_transform(rows[:, :, n:])
        scatter = curve["vectors"].T ** 2 @ noise[n:] ** 2 + curve["rest"]
        for quantity, values, variance in (
            ("properties", rows[:, :, :n], noise[:n] ** 2),
            ("curve", curves, scatter),
        ):
            mean = values.mean(axis=0)
            std = values.std(axis=0, ddof=1)
            expected = {"mean": mean, "std": std, "total": np.hypot(std, variance**0.5)}
            for moment, numbers in expected.items():
                assert close([moments[quantity][moment] for moments in said], numbers), (
                    name,
                    quantity,
                    moment,
                )
    prior = bnn.GaussianProcessPrior(
        bnn.LinearMean([PRIOR["slope"]]), bnn.RBF(PRIOR["variance"], PRIOR["lengthscale"])
    )
    x, y = np.transpose(POINTS)
    exact = bnn.GPRegressor(prior, noise=PRIOR["noise"]).fit(x[:, None], y)
    mean, std = exact.predict(GRID[:, None], return_std=True)
    assert np.abs(np.subtract(answer["exact"]["mean"], mean)).max() < 1e-6
    assert np.abs(np.subtract(answer["exact"]["std"], std)).max() < 1e-6


def test_the_page_computes_what_python_does_in_node():
    """The browser test asks the same of the page itself."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there: the browser test compares")
    paths = [json.dumps(str(FOLDER / name)) for name in ("surrogate.js", "surrogate.json")]
    head = f"const surrogate = require({paths[0]}); const model = require({paths[1]});"
    script = f"{head}{QUESTION}; console.log(JSON.stringify(answer));"
    done = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    check_answer(json.loads(done.stdout))


def test_the_saved_networks_predict_what_the_ensembles_did():
    X = np.array(MODEL["check"]["X"])
    for name in MODEL["ensembles"]:
        output = outputs(name, X)
        assert close(output.mean(axis=0), MODEL["check"][name]["mean"])
        assert close(output.std(axis=0, ddof=1), MODEL["check"][name]["std"])


def test_rves_and_ranges_are_those_of_the_tables():
    from docs.interactive.__main__ import shown_rves

    assert MODEL["rves"] == shown_rves()
    rves = fe_data.load_table(ROOT / "fe_data" / "datasets" / "train_beta.csv")
    learnt = [input_row["learnt"] for input_row in MODEL["inputs"]]
    assert np.array_equal(learnt, np.transpose([rves.inputs.min(0), rves.inputs.max(0)]))


def test_anchored_networks_are_nearer_to_rves_outside_the_training_range():
    """RMSE in parts of the RVEs' standard deviation, and the share within ± 2 std; -s prints."""
    rves = [rve for rve in MODEL["rves"] if not rve["learnt"]]
    X = np.array([rve["inputs"] for rve in rves])
    truth = np.array([rve["outputs"] for rve in rves])
    low, high = np.transpose([input_row["learnt"] for input_row in MODEL["inputs"]])
    outside = np.any((low > X) | (high < X), axis=1)
    noise = np.array(MODEL["noise"])[: truth.shape[1]]
    errors = {}
    held = {}
    for name in MODEL["ensembles"]:
        predicted = outputs(name, X)[:, :, : truth.shape[1]]
        off = predicted.mean(axis=0) - truth
        total = np.hypot(predicted.std(axis=0, ddof=1), noise)
        for place, chosen in (("inside", ~outside), ("outside", outside)):
            error = np.sqrt(np.square(off[chosen]).mean(axis=0)) / truth.std(axis=0)
            errors[name, place] = error
            held[name, place] = np.mean(abs(off) < 2 * total, where=chosen[:, None])
            print(f"{name}, {chosen.sum()} RVEs {place}: {error.round(3)} {held[name, place]:.2f}")
    assert errors["anchored", "inside"][:4].max() < 0.1
    assert np.all(errors["anchored", "outside"] < errors["vanilla", "outside"])
    assert held["anchored", "outside"] > held["vanilla", "outside"]
