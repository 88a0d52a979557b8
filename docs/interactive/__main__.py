"""The networks behind docs/interactive.md, as JSON: python -m docs.interactive.

Both ensembles learn from the 50 RVEs of `train_beta`, which leave a third of the range of the
volume fraction to extrapolation. Takes minutes; the page evaluates what is written here.
"""

import argparse
import base64
import json
from pathlib import Path

import numpy as np

import bnn
import fe_data
from bnn.noise import replicate_covariance
from fe_data.schema import INPUT_BOUNDS, INPUTS, output
from safe_files.writing import write_atomic

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "fe_data" / "datasets"
OUT = Path(__file__).with_name("surrogate.json")
TRAINING = "train_beta"
SHOWN = (TRAINING, "train_uniform", "test_uniform")  # tables whose RVEs stand beside predictions
MEMBERS = 24
NETWORK = bnn.Architecture((16, 16), "silu")
EPOCHS = bnn.TrainingSettings(epochs=500)
SHOWN_STRAINS = [*range(6), *range(9, 50, 4)]  # dense where the RVE begins to yield
# Words of the page, shorter than those of the schema, and fewer decimals.
INPUT_WORDS = {
    "vf": {"words": "volume fraction of the fibres", "symbol": "v_f"},
    "E_f_GPa": {"words": "modulus of the fibres", "symbol": "E_f"},
    "b_m_MPa": {"words": "hardening of the matrix", "symbol": "b_m"},
    "c_m": {"words": "hardening exponent of the matrix", "symbol": "c_m"},
}
OUTPUT_WORDS = {
    "b_eff_MPa": {"words": "hardening", "symbol": "b", "decimals": 0},
    "c_eff": {"words": "exponent", "symbol": "c", "decimals": 3},
    "E_eff_GPa": {"words": "modulus", "symbol": "E", "decimals": 1},
    "nu_eff": {"words": "Poisson ratio", "symbol": "ν", "decimals": 4},
    "p_sigma": {"words": "fibres above 900 MPa", "symbol": "p_σ", "decimals": 2},
}


def load(name: str) -> tuple[fe_data.Table, np.ndarray]:
    """Return a shipped table, and the stress of its RVEs, (n, 50) [MPa]."""
    path = TABLES / f"{name}.csv"
    return fe_data.load_table(path), fe_data.load_curves(path).stress


def train() -> tuple[dict[str, bnn.Members], bnn.PrincipalComponents, np.ndarray]:
    """Return both ensembles, components of the curves, and the noise of all outputs, (n_out,)."""
    rves, stress = load(TRAINING)
    repeated, repeated_stress = load("noise")
    components = bnn.PrincipalComponents.fit(stress, explained=0.999)
    # The networks predict the five properties and the scores of the curve.
    y = np.hstack([rves.outputs, components.transform(stress)])
    again = np.hstack([repeated.outputs, components.transform(repeated_stress)])
    noise = np.sqrt(np.diag(replicate_covariance(again, repeated.group)))
    prior = bnn.evidence.fit_prior(rves.inputs, y, noise, estimate="map")
    common = {"noise": noise, "n_members": MEMBERS, "network": NETWORK, "random_state": 0}
    anchored = bnn.FunctionAnchoredEnsemble(
        prior,
        pretraining=bnn.Pretraining(MEMBERS, training=EPOCHS),
        anchoring=bnn.FunctionAnchoring(n_points=60),
        **common,
    )
    low, high = np.transpose([*INPUT_BOUNDS.values()])
    points = np.random.default_rng(0).uniform(low, high, (150, len(low)))
    anchored.pretrain(points).fit(rves.inputs, y)
    vanilla = bnn.VanillaEnsemble(**common).fit(rves.inputs, y)
    members = {"anchored": anchored.members_, "vanilla": vanilla.members_}
    return members, components, noise


def packed(members: bnn.Members) -> dict[str, object]:
    """Return an ensemble: scaling, and its weights as the base64 of single-precision numbers."""
    ins = members.input_scaler
    outs = members.output_scaler
    return {
        "in_centre": ins.centre.tolist(),
        "in_half": ins.half_range.tolist(),
        "out_centre": outs.centre.tolist(),
        "out_half": outs.half_range.tolist(),
        "weights": base64.b64encode(members.weights.astype("<f4").tobytes()).decode(),
    }


def moments(functions: np.ndarray) -> dict[str, object]:
    """Return mean and standard deviation over networks (K, n, n_out)."""
    return {"mean": functions.mean(axis=0).tolist(), "std": functions.std(axis=0, ddof=1).tolist()}


def shown_rves() -> list[dict[str, object]]:
    """Return simulated RVEs in few digits, and whether they were training RVEs."""
    shown = []
    for name in SHOWN:
        table, stress = load(name)
        for inputs, outputs, curve in zip(table.inputs, table.outputs, stress, strict=True):
            rve = {
                "learnt": name == TRAINING,
                "inputs": [float(f"{value:.4g}") for value in inputs],
                "outputs": [float(f"{value:.5g}") for value in outputs],
                "stress": curve[SHOWN_STRAINS].round().astype(int).tolist(),
            }
            shown.append(rve)
    return shown


def document() -> dict[str, object]:
    """Return all that the page needs, and predictions of Python that the page must repeat."""
    members, components, noise = train()
    rves, _ = load(TRAINING)
    strain = fe_data.load_curves(TABLES / f"{TRAINING}.csv").strain
    inputs = []
    for quantity, values in zip(INPUTS, rves.inputs.T, strict=True):
        learnt = [float(values.min()), float(values.max())]
        words = INPUT_WORDS[quantity.name] | {"unit": quantity.unit}
        inputs.append(words | {"range": quantity.bounds, "learnt": learnt})
    outputs = [OUTPUT_WORDS[name] | {"unit": output(name).unit} for name in rves.output_names]
    low, high = np.transpose([*INPUT_BOUNDS.values()])
    X = np.random.default_rng(1).uniform(low, high, (5, len(low)))
    return {
        "inputs": inputs,
        "outputs": outputs,
        "widths": list(members["vanilla"].architecture.widths),
        "noise": noise.tolist(),
        "ensembles": {name: packed(ensemble) for name, ensemble in members.items()},
        "curve": {
            "strain": strain.astype(float).tolist(),
            "mean": components.mean.tolist(),
            "vectors": components.vectors.tolist(),
            "rest": np.diag(components.residual).tolist(),
        },
        "rve_strain": strain[SHOWN_STRAINS].astype(float).tolist(),
        "rves": shown_rves(),
        "check": {
            "X": X.tolist(),
            **{name: moments(ensemble.sample(X)) for name, ensemble in members.items()},
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    text = json.dumps(document(), ensure_ascii=False, separators=(",", ":"))
    write_atomic(options.out, f"{text}\n".encode(), b'\\{"inputs"')
    print(f"{options.out}: {len(text.encode()) / 1000:.0f} kB")
