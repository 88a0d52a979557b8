"""Damaged files are read right or refused in one clear sentence, in time, and nothing is run.

Pickles have tests of their own, in tests/fe_data/published.
"""

import json
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bnn
from fe_data.dataset.design import arrangements_from_file
from fe_data.dataset.table import load_inputs, load_table
from fe_data.geometry.microstructure import periodic_distances
from fe_data.schema import INPUT_NAMES, required_outputs
from figures.pipeline.profiles import load_profile
from tests.limits import limited

pytestmark = pytest.mark.slow
FUZZ = settings(
    max_examples=1000,
    deadline=None,
    derandomize=True,  # CI tells what changed, not what was drawn
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def outcome(function, path):
    """What a reader returns, or None where it refuses the file in one clear sentence."""
    with limited(seconds=10, megabytes=500):
        try:
            return function(path)
        except ValueError as error:
            message = str(error)
            assert message
            assert len(message) < 5000
            return None


@st.composite
def damaged(draw, content: bytes):
    """A valid file with pieces cut out, doubled, moved, overwritten."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 40)))
        piece = bytes(data[start:stop])
        new = draw(st.sampled_from([b"", piece * 2, b"\x00", b"\n", b",", b"nan", b"1e999", None]))
        data[start:stop] = draw(st.binary(max_size=8)) if new is None else new
    return bytes(data)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=4), v, max_size=2),
    max_leaves=4,
)


@st.composite
def changed(draw, content):
    """A mapping with one field replaced or dropped, at any depth."""
    content = json.loads(json.dumps(content))
    place = content
    key = draw(st.sampled_from(sorted(place)))
    while isinstance(place[key], dict) and place[key] and draw(st.booleans()):
        place = place[key]
        key = draw(st.sampled_from(sorted(place)))
    if draw(st.booleans()):
        place[key] = draw(VALUES)
    else:
        del place[key]
    return content


COLUMNS = ["index", "seed", "group", *INPUT_NAMES, *required_outputs(), "status"]
ROW = "0,1,0,0.2,400.0,350.0,0.4,420.0,0.35,120.0,0.29,0.2,ok"
TABLE = "\n".join([",".join(COLUMNS), ROW, ROW.replace("0,1,0", "1,2,1")]) + "\n"


@FUZZ
@given(damaged(TABLE.encode()))
def test_a_damaged_table(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    inputs = outcome(load_inputs, path)
    table = outcome(load_table, path)
    assert inputs is None or np.isfinite(inputs[0]).all()
    assert table is None or np.isfinite(np.hstack([table.inputs, table.outputs])).all()


FIBRES = b"arrangement,x,y,radius\n0,0.3,0.3,0.2\n0,0.8,0.7,0.1\n1,0.5,0.5,0.3\n"


@FUZZ
@given(damaged(FIBRES))
def test_a_damaged_file_of_fibres(tmp_path, data):
    """Whatever is read has fibres that do not overlap."""
    path = tmp_path / "fibres.csv"
    path.write_bytes(data)
    for micro in outcome(arrangements_from_file, path) or []:
        distances = periodic_distances(micro.centres, micro.centres) + np.eye(len(micro.radii))
        assert (distances > micro.radii[:, None] + micro.radii).all()


NESTED = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    f"{n}: &{n} [{','.join([f'*{p}'] * 9)}]\n".encode()
    for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"!!python/object/apply:os.system ['touch ran']", id="call"),
        pytest.param(NESTED + b"seed: *i\n", id="aliases of aliases"),
        pytest.param(b"seed: &s [*s]\ndatasets: *s", id="alias of itself"),
        pytest.param(b"? {a: b}\n: c\n", id="mapping as key"),
        pytest.param(b"seed: " + b"[" * 5000, id="deep"),
        pytest.param(b"seed: " + b"9" * 5000, id="digits"),
        pytest.param(b"seed: 2001-99-99", id="no date"),
        pytest.param(b"\xff\xfe\x00\x01", id="not text"),
    ],
)
def test_a_hostile_profile(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "profile.yaml"
    path.write_bytes(data)
    assert outcome(load_profile, path) is None
    assert not (tmp_path / "ran").exists()


X = np.linspace(-1.0, 1.0, 8)[:, None]


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    """File of a small ensemble and what it predicts."""
    path = tmp_path_factory.mktemp("ensemble") / "saved.npz"
    model = bnn.VanillaEnsemble(
        noise=0.1,
        n_members=3,
        network=bnn.Architecture((4,)),
        training=bnn.TrainingSettings(epochs=2),
        random_state=0,
    )
    model.fit(X, X[:, 0]).save(path)
    return path, model.predict(X)


def predictions(path):
    """Predictions of a saved ensemble; refusals of the data name no file."""
    model = bnn.load(path)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Names of inputs in the header: scikit-learn warns of an array without.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model.predict(X)


@FUZZ
@given(st.data())
def test_an_ensemble_with_damaged_bytes(tmp_path, ensemble, data):
    saved, expected = ensemble
    path = tmp_path / "damaged.npz"
    path.write_bytes(data.draw(damaged(saved.read_bytes())))
    found = outcome(predictions, path)
    if found is not None:
        np.testing.assert_array_equal(found, expected)


@FUZZ
@given(st.data())
def test_an_ensemble_with_another_header_or_other_arrays(tmp_path, ensemble, data):
    with np.load(ensemble[0]) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    if data.draw(st.booleans()):
        header = data.draw(changed(header))
    else:
        name = data.draw(st.sampled_from(sorted(arrays)))
        array = arrays.pop(name)
        others = [None, np.array("text"), np.zeros((0, 3)), np.full(array.shape, np.nan)]
        other = others[data.draw(st.integers(0, 3))]
        if other is not None:
            arrays[name] = other
    path = tmp_path / "changed.npz"
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    found = outcome(predictions, path)
    assert found is None or found.dtype.kind == "f"
