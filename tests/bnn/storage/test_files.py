"""What is saved comes back, and nothing else does."""

import copy
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds

import bnn
from bnn import (
    AnchoredEnsemble,
    Architecture,
    Convergence,
    FunctionAnchoredEnsemble,
    FunctionAnchoring,
    Pretraining,
    Scaling,
    TablePrior,
    TrainingSettings,
    VanillaEnsemble,
    load,
)
from bnn.storage import NotStored
from tests.limits import UNUSUAL, limited

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
    assert loaded.prior == NotStored("GaussianProcessPrior")
    assert loaded.network.hidden == (10, 10)
    refitted = loaded.fit(X, y + 1.0).predict(X_TEST)
    np.testing.assert_array_equal(refitted, ensemble.fit(X, y + 1.0).predict(X_TEST))


def test_lost_prior_is_never_replaced_in_silence(small_anchored, line_data, tmp_path):
    """Pre-training again after loading needs the prior, which no file holds."""
    small_anchored.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz").set_params(pretraining__training__batch_size=16)
    with pytest.raises(ValueError, match="prior: a GaussianProcessPrior is not stored"):
        loaded.fit(*line_data)
    loaded.set_params(prior=small_anchored.prior, pretraining__training__epochs=2).fit(*line_data)
    assert len(loaded.pretrained_.losses) == 2


def test_pretrained_only_round_trip(small_anchored, line_data, tmp_path):
    """An ensemble without data can be saved and fitted elsewhere."""
    small_anchored.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz").fit(*line_data)
    np.testing.assert_array_equal(
        loaded.predict(X_TEST), small_anchored.fit(*line_data).predict(X_TEST)
    )


def test_what_was_fitted_is_stored_not_what_was_set_afterwards(line_data, tmp_path):
    """Activation and regulariser of the networks, whatever the hyper-parameters say by now."""
    ensemble = AnchoredEnsemble(
        noise=0.1,
        n_members=3,
        network=Architecture((4,)),
        pretraining=Pretraining(4, training=TrainingSettings(epochs=2)),
        training=TrainingSettings(epochs=2),
        random_state=0,
    ).fit(*line_data)
    ensemble.set_params(network__activation="tanh", anchoring__regulariser="none")
    ensemble.save(tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz")
    np.testing.assert_array_equal(loaded.predict(X_TEST), ensemble.predict(X_TEST))
    np.testing.assert_array_equal(loaded.penalty(), ensemble.penalty())
    assert ensemble.penalty().all()
    np.testing.assert_array_equal(
        loaded.fit(*line_data).predict(X_TEST), ensemble.fit(*line_data).predict(X_TEST)
    )


def test_function_space_goes_on_after_loading(line_data, tmp_path):
    """The default prior is known: its realisations continue where they were."""
    seed = np.random.SeedSequence(3, spawn_key=(1, 2))
    ensemble = FunctionAnchoredEnsemble(
        noise=0.1,
        n_members=3,
        network=Architecture((8,), "silu"),
        pretraining=Pretraining(4, training=TrainingSettings(epochs=2)),
        anchoring=FunctionAnchoring(points=10, tolerance=100.0),
        scaling=Scaling(inputs=None),
        random_state=seed,
    ).pretrain(n_features=1)
    ensemble.save(tmp_path / "a.npz")
    np.testing.assert_array_equal(
        load(tmp_path / "a.npz").fit(*line_data).predict(X_TEST),
        ensemble.fit(*line_data).predict(X_TEST),
    )


def test_vanilla_round_trip_with_units_names_and_matrices(line_data, tmp_path):
    """Bounds, column names, Σ_noise and several outputs."""
    X, y = line_data
    frame = pd.DataFrame({"length [m]": 5.0 + X[:, 0]})
    ensemble = VanillaEnsemble(
        n_members=3,
        noise=np.array([[0.1, 0.05], [0.05, 0.2]]),
        network=Architecture((6,)),
        training=TrainingSettings(epochs=10),
        scaling=Scaling(Bounds(4.0, 6.0), [(-3.0, 3.0), (-5.0, 5.0)]),
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
    window = Convergence(window=7)
    small_anchored.set_params(pretraining__training__convergence=window).save(tmp_path / "a.npz")
    small_anchored.set_params(pretraining__training__convergence=None)
    assert load(tmp_path / "a.npz").pretraining.training.convergence == window


@pytest.fixture
def saved(line_data, tmp_path):
    """A small saved ensemble."""
    path = tmp_path / "saved.npz"
    VanillaEnsemble(
        noise=0.1,
        n_members=3,
        network=Architecture((6,)),
        training=TrainingSettings(epochs=2),
        random_state=0,
    ).fit(*line_data).save(path)
    return path


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_file(saved, kept):
    """A file cut anywhere is refused."""
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match="not a saved model, or damaged"):
        load(saved)


def test_flipped_bit(saved):
    """One wrong byte among the weights is found."""
    content = bytearray(saved.read_bytes())
    position = content.find(b"weights.npy") + 250
    content[position] ^= 0x10
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        load(saved)


def rewrite(path, drop=(), header=None, **arrays):
    """Change arrays and the header, a function of it."""
    with np.load(path) as file:
        kept = {name: values for name, values in file.items() if name not in drop}
    if header is not None:
        content = json.loads(str(kept["header"]))
        kept["header"] = np.array(json.dumps(header(content) or content))
    np.savez(path, **{**kept, **arrays})


def fitted(header):
    """The fitted attributes in the header of a vanilla ensemble."""
    return header["model"]["VanillaEnsemble"]["fitted"]["dict"]


def architecture(header):
    """The architecture in the header of a vanilla ensemble."""
    return fitted(header)["members_"]["Members"]["architecture"]["MLP"]


def parameters(header):
    """The hyper-parameters in the header of a vanilla ensemble."""
    return header["model"]["VanillaEnsemble"]["parameters"]["dict"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(version=99), "format version 99, bnn .* reads version 5: update bnn"),
        (lambda h: h.update(format="other"), "not a saved model"),
        (lambda h: h.update(model={"Forest": {}}), "holds a Forest, must be one of .*VanillaEns"),
        (lambda h: h.update(model={"Members": {}}), "holds a Members, must be one of .*Vanilla"),
        (lambda h: h.update(model=[]), r"holds a \[\], must be one of AnchoredEnsemble, "),
        (lambda h: h["model"]["VanillaEnsemble"].update(parameters=3), "damaged .*must be a mapp"),
        (lambda h: parameters(h).update(colour=1), "damaged .*unexpected keyword .*'colour'"),
        (lambda h: parameters(h).update(noise={"lambda": {}}), "damaged .*unknown kind 'lambda'"),
        (lambda h: architecture(h).update(activation="step"), "damaged .*activation = 'step'"),
        (lambda h: architecture(h).update(widths=None), "saved.npz: not a saved model, or damaged"),
        (
            lambda h: architecture(h).update(widths=[1, 7, 1]),
            r"weights has shape \(3, 19\): must be \(K, 22\)",
        ),
        (lambda h: fitted(h).update(members_=1.0), "members_ is a float"),
        (lambda h: fitted(h).update(predict=1.0), "damaged .*predict"),
        (lambda h: fitted(h).update(y_ndim_=None), "y_ndim_ = None does not fit 1 outputs"),
        (lambda h: fitted(h).update(y_ndim_={"dict": {}}), "y_ndim_ = {} does not fit 1 outputs"),
        (
            lambda h: fitted(h).update(feature_names_=["a", "b"]),
            r"feature_names = \('a', 'b'\) do not name 1 inputs",
        ),
    ],
)
def test_foreign_header(saved, change, message):
    """Other versions, formats, classes and values are refused by name."""
    rewrite(saved, header=change)
    with pytest.raises(ValueError, match=message):
        load(saved)


@pytest.mark.parametrize(
    "place", [lambda h: h["model"]["VanillaEnsemble"], fitted, architecture, parameters]
)
def test_header_with_a_missing_entry(saved, place):
    """A missing hyper-parameter has its default value, any other entry is named."""
    with np.load(saved) as file:
        header = json.loads(str(file["header"]))
    for entry in place(header):
        changed = json.loads(json.dumps(header))
        del place(changed)[entry]
        rewrite(saved, header=lambda _, changed=changed: changed)
        if place is parameters:
            assert getattr(load(saved), entry) == getattr(VanillaEnsemble(), entry)
        elif (place, entry) != (architecture, "activation"):
            with pytest.raises(ValueError, match=rf"damaged \(.*{entry}"):
                load(saved)


@pytest.mark.parametrize("changes", [{"version": "9" * 7000}, {"model": "x" * 7000}])
def test_no_message_repeats_a_long_header(saved, changes):
    """It stays a line that can be read."""
    rewrite(saved, header=lambda h: h.update(changes))
    with pytest.raises(ValueError, match=r"\.\.\.") as refusal:
        load(saved)
    assert len(str(refusal.value)) < 350 + len(str(saved))


def test_header_that_is_no_mapping(saved):
    """JSON, but a list."""
    rewrite(saved, header=lambda _: [1])
    with pytest.raises(ValueError, match="not a saved model"):
        load(saved)


MEMBERS = "fitted.members_."


@pytest.mark.parametrize(
    ("drop", "arrays", "message"),
    [
        (["noise_covariance"], {}, f"there is no {MEMBERS}noise_covariance"),
        (["input_scaler.low"], {}, f"there is no {MEMBERS}input_scaler.low"),
        ([], {"output_scaler.low": np.zeros((2, 3))}, r"bounds have shapes \(2, 3\) and \(1,\)"),
        ([], {"weights": np.full((3, 19), np.nan)}, "weights holds values that are not finite"),
        ([], {"weights": np.zeros((0, 19))}, r"weights has shape \(0, 19\): must be \(K, 19\)"),
        ([], {"losses": np.array("text")}, f"{MEMBERS}losses holds <U4, not real numbers"),
        ([], {"numbers": np.zeros(9)}, r"numbers has shape \(9,\): must be \(K,\)"),
        ([], {"targets": np.zeros((3, 5, 2))}, r"targets has shape \(3, 5, 2\): must be"),
        ([], {"predict": np.zeros(3)}, f"unknown array '{MEMBERS}predict'"),
    ],
)
def test_arrays_that_do_not_fit(saved, drop, arrays, message):
    """Each is refused by name."""
    changed = {MEMBERS + name: values for name, values in arrays.items()}
    rewrite(saved, [MEMBERS + name for name in drop], **changed)
    with pytest.raises(ValueError, match=rf"damaged \({message}"):
        load(saved)


def test_foreign_and_missing_files(tmp_path):
    """An .npz of something else, a pickle, no file."""
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="not a saved model"):
        load(tmp_path / "other.npz")
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="not a saved model"):
        load(tmp_path / "object.npy")
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "nothing.npz")


def test_packed_file(saved):
    """Others may pack what `save` wrote; the model is the same."""
    expected = load(saved).predict(X_TEST)
    with np.load(saved) as file:
        np.savez_compressed(saved, **file)
    np.testing.assert_array_equal(load(saved).predict(X_TEST), expected)


def test_file_that_unpacks_to_a_thousand_times_its_size(saved):
    """Refused before an array is unpacked."""
    with np.load(saved) as file:
        np.savez_compressed(saved, zeros=np.zeros(3_000_000), **file)
    with (
        limited(megabytes=10),
        pytest.raises(ValueError, match=r"arrays of 240\d+ bytes in a file"),
    ):
        load(saved)


def test_array_named_again_and_again(saved):
    """Each entry of the archive counts, even if all lead to the same bytes."""
    rewrite(saved, zeros=np.zeros(100_000))
    with zipfile.ZipFile(saved, "a") as archive:
        part = archive.getinfo("zeros.npy")
        for number in range(200):
            archive.filelist.append(copy.copy(part))
            archive.filelist[-1].filename = f"{number}.npy"
        archive.writestr("end.npy", b"")
    with limited(megabytes=50), pytest.raises(ValueError, match=r"arrays of 16\d+ bytes in a file"):
        load(saved)


def test_arrays_of_another_version_are_not_read(saved):
    """The header comes first."""
    rewrite(saved, header=lambda h: h.update(version=99), zeros=np.zeros(5_000_000))
    with limited(megabytes=10), pytest.raises(ValueError, match="in format version 99, bnn"):
        load(saved)


@pytest.mark.parametrize("kind", UNUSUAL)
def test_only_a_regular_file_is_read(tmp_path, kind):
    """No pipe without a writer, nothing without an end."""
    UNUSUAL[kind](tmp_path / "saved.npz")
    with (
        limited(megabytes=10),
        pytest.raises(ValueError, match="not a saved model, which is a reg"),
    ):
        load(tmp_path / "saved.npz")


@pytest.mark.parametrize(
    ("version", "packages", "message"),
    [
        (
            6,
            {"bnn": "0.9.1"},
            "written by bnn 0.9.1 in format version 6, bnn .* reads version 5: "
            "update bnn to read it",
        ),
        (4, {}, "written by another bnn in format version 4, .*: save the model again"),
        ("x", None, "written by another bnn in format version x"),
    ],
)
def test_a_file_of_another_format_says_which_bnn_wrote_it(saved, version, packages, message):
    rewrite(saved, header=lambda h: h.update(version=version, packages=packages))
    with pytest.raises(ValueError, match=message) as refusal:
        load(saved)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_file_says_which_version_wrote_it(saved):
    with np.load(saved) as file:
        header = json.loads(str(file["header"]))
    assert header["packages"]["bnn"] == bnn.__version__


@pytest.mark.parametrize("interpolation", [None, "nearest"])
@pytest.mark.parametrize("kind", [AnchoredEnsemble, FunctionAnchoredEnsemble])
def test_a_table_prior_comes_back(kind, interpolation, line_data, tmp_path):
    """It is fitted again after loading, as the ensemble that was saved."""
    X, y = line_data
    values = np.random.default_rng(0).standard_normal((30, 1)) * X[:, 0]
    prior = TablePrior(X, values, interpolation)
    pretraining = Pretraining(5, training=TrainingSettings(epochs=200))
    ensemble = kind(prior, noise=0.1, n_members=4, pretraining=pretraining, random_state=0)
    if kind is FunctionAnchoredEnsemble:
        ensemble.set_params(anchoring__tolerance=1e9)
    else:
        ensemble.set_params(training__epochs=2)
    ensemble.set_params(network__hidden=(4,)).fit(X, y)
    ensemble.save(tmp_path / "t.npz")
    loaded = load(tmp_path / "t.npz")
    np.testing.assert_array_equal(loaded.predict(X_TEST), ensemble.predict(X_TEST))
    np.testing.assert_array_equal(loaded.prior.values, prior.values)
    np.testing.assert_array_equal(loaded.prior.points, prior.points)
    assert loaded.prior.interpolation == interpolation
    np.testing.assert_array_equal(
        loaded.fit(X, y + 0.1).predict(X_TEST), ensemble.fit(X, y + 0.1).predict(X_TEST)
    )
