"""What is saved comes back, and nothing else does."""

import json

import numpy as np
import pandas as pd
import pytest

from bnn import Convergence, VanillaEnsemble, load

X_TEST = np.linspace(-2.0, 2.0, 7)[:, None]


def test_anchored_round_trip(small_anchored, line_data, tmp_path):
    """Predictions are equal to the last bit; the pre-training still serves new data."""
    X, y = line_data
    ensemble = small_anchored.fit(X, y)
    ensemble.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz")
    for ours, theirs in zip(
        ensemble.predict(X_TEST, return_std=True, total=True),
        loaded.predict(X_TEST, return_std=True, total=True),
        strict=True,
    ):
        np.testing.assert_array_equal(theirs, ours)
    np.testing.assert_array_equal(loaded.sample_prior(X_TEST), ensemble.sample_prior(X_TEST))
    np.testing.assert_array_equal(loaded.penalty(), ensemble.penalty())
    assert loaded.prior is None
    assert loaded.hidden == (10, 10)
    refitted = loaded.fit(X, y + 1.0).predict(X_TEST)
    np.testing.assert_array_equal(refitted, ensemble.fit(X, y + 1.0).predict(X_TEST))


def test_lost_prior_is_never_replaced_in_silence(small_anchored, line_data, tmp_path):
    """Pre-training again after loading needs the prior, which no file holds."""
    small_anchored.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz").set_params(batch_size=16)
    with pytest.raises(ValueError, match="prior = None: it was not stored with the ensemble"):
        loaded.fit(*line_data)
    loaded.set_params(prior=small_anchored.prior, pretrain_epochs=2).fit(*line_data)
    assert len(loaded.pretrain_losses_) == 2


def test_pretrained_only_round_trip(small_anchored, line_data, tmp_path):
    """An ensemble without data can be saved and fitted elsewhere."""
    small_anchored.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz").fit(*line_data)
    np.testing.assert_array_equal(
        loaded.predict(X_TEST), small_anchored.fit(*line_data).predict(X_TEST)
    )


def test_vanilla_round_trip_with_units_names_and_matrices(line_data, tmp_path):
    """Bounds, column names, Σ_noise and several outputs."""
    X, y = line_data
    frame = pd.DataFrame({"length [m]": 5.0 + X[:, 0]})
    ensemble = VanillaEnsemble(
        hidden=(6,),
        n_members=3,
        epochs=10,
        noise=np.array([[0.1, 0.05], [0.05, 0.2]]),
        input_bounds=(4.0, 6.0),
        output_bounds=([-3.0, -5.0], [3.0, 5.0]),
        random_state=0,
    ).fit(frame, np.column_stack([y, -y]))
    ensemble.save(tmp_path / "v.npz")
    loaded = load(tmp_path / "v.npz")
    np.testing.assert_array_equal(loaded.predict(frame), ensemble.predict(frame))
    assert list(loaded.feature_names_in_) == ["length [m]"]
    np.testing.assert_array_equal(
        loaded.fit(frame, np.column_stack([y, -y])).predict(frame), ensemble.predict(frame)
    )


def test_convergence_survives(small_anchored, tmp_path):
    """Nested settings come back as what they were."""
    small_anchored.set_params(convergence=Convergence(window=7)).save(tmp_path / "a.npz")
    small_anchored.set_params(convergence=None)
    assert load(tmp_path / "a.npz").convergence == Convergence(window=7)


@pytest.fixture
def saved(line_data, tmp_path):
    """A small saved ensemble."""
    path = tmp_path / "saved.npz"
    VanillaEnsemble(hidden=(6,), n_members=3, epochs=2, random_state=0).fit(*line_data).save(path)
    return path


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_file(saved, kept):
    """A file cut anywhere is refused."""
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match="not a saved ensemble, or damaged"):
        load(saved)


def test_flipped_bit(saved):
    """One wrong byte among the weights is found."""
    content = bytearray(saved.read_bytes())
    position = content.find(b"weights_.npy") + 250
    content[position] ^= 0x10
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        load(saved)


def rewrite_header(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    header = {**json.loads(str(arrays["header"])), **changes}
    arrays["header"] = np.array(json.dumps(header))
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 99}, "format version 99, this bnn reads version 1"),
        ({"format": "other"}, "not a saved ensemble"),
        ({"class": "Forest"}, "holds a Forest, must be one of VanillaEnsemble, AnchoredEnsemble"),
    ],
)
def test_foreign_header(saved, changes, message):
    """Other versions, formats and classes are refused by name."""
    rewrite_header(saved, **changes)
    with pytest.raises(ValueError, match=message):
        load(saved)


def test_foreign_and_missing_files(tmp_path):
    """An .npz of something else, a pickle, no file."""
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="not a saved ensemble"):
        load(tmp_path / "other.npz")
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="not a saved ensemble"):
        load(tmp_path / "object.npy")
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "nothing.npz")
