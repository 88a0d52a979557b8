"""Damaged and hostile files: a right answer or one clear sentence, in time, and nothing is run."""

import json
import pickle
import string
import warnings

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bnn
from fe_data.dataset.table import load_inputs, load_table
from fe_data.published.array_pickle import load_arrays
from fe_data.published.import_authors import read_groups, write_csv
from fe_data.settings import INPUT_NAMES, OUTPUT_NAMES
from figures.pipeline.profiles import Profile, load_profile
from tests.bnn.flat import built
from tests.limits import limited

pytestmark = pytest.mark.slow
SECONDS = 10  # a case that takes longer hangs
MEGABYTES = 500
FUZZ = settings(
    max_examples=1000,
    deadline=None,
    derandomize=True,  # CI tells what changed, not what was drawn
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def outcome(function, path):
    """What a reader returns, or None where it refuses the file in one clear sentence."""
    with limited(SECONDS, MEGABYTES):
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
        new = draw(st.sampled_from([b"", piece * 2, b"\x00", b"\n", b",", b"nan", None]))
        data[start:stop] = draw(st.binary(max_size=8)) if new is None else new
    return bytes(data)


# -- tables ---------------------------------------------------------------------------------

CELLS = st.one_of(
    st.sampled_from(["", "nan", "inf", "-0", "1e999", "0x1p3", '"', "١", " 1 ", "1_0", "failed"]),
    st.floats().map(repr),
    st.integers().map(str),
    st.text(string.printable, max_size=5),
)  # fmt: skip
COLUMNS = ["index", "seed", "group", *INPUT_NAMES, *OUTPUT_NAMES, "status"]
ROW = "0,1,0,0.2,400.0,350.0,0.4,420.0,0.35,120.0,0.29,0.2,ok"
TABLE = "\n".join([",".join(COLUMNS), ROW, ROW.replace("0,1,0", "1,2,1")]) + "\n"
NAMES = st.one_of(st.sampled_from(COLUMNS), st.text(max_size=4))
TABLES = st.one_of(
    damaged(TABLE.encode()),
    st.tuples(
        st.one_of(st.just(COLUMNS), st.lists(NAMES, max_size=14)),
        st.lists(st.lists(CELLS, max_size=14), max_size=4),
    ).map(lambda t: "\n".join(",".join(row) for row in (t[0], *t[1])).encode(errors="replace")),
)


@FUZZ
@given(TABLES)
def test_csv(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    inputs, table = outcome(load_inputs, path), outcome(load_table, path)
    if inputs is not None:
        assert np.isfinite(inputs[0]).all()
    if table is not None:
        assert np.isfinite(table.inputs).all()
        assert np.isfinite(table.outputs).all()


# -- profiles -------------------------------------------------------------------------------

PROFILE = {
    "seed": 1,
    "datasets": {"train_beta": 10, "test_uniform": 6},
    "notebooks": ["04_materials_surrogate"],
    "surrogate": {"cases": {"outd": {"design": "train_beta", "count": 10}}, "repeats": 2},
}
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=4), v, max_size=2),
    max_leaves=4,
)  # fmt: skip


@st.composite
def profiles(draw):
    """The profile with one field replaced, dropped or added, at any depth."""
    content = json.loads(json.dumps(PROFILE))
    place = content
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = draw(st.sampled_from(list(keys)))
        if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
            place = place[key]
            continue
        break
    change = draw(st.sampled_from(["replace", "drop", "add"]))
    if change == "drop":
        del place[key]
    elif change == "add" and isinstance(place, dict):
        place[draw(st.text(max_size=5))] = draw(VALUES)
    else:
        place[key] = draw(VALUES)
    return yaml.safe_dump(content).encode(errors="replace")


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    f"{n}: &{n} [{','.join([f'*{p}'] * 9)}]\n".encode()
    for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_the_profile_that_is_damaged_is_a_good_one(tmp_path):
    path = tmp_path / "profile.yaml"
    path.write_text(yaml.safe_dump(PROFILE))
    assert load_profile(path).datasets == PROFILE["datasets"]


HOSTILE = [
    pytest.param(b"!!python/object/apply:os.system ['touch ran']", id="call"),
    pytest.param(b"seed: !!python/name:os.system ", id="name"),
    pytest.param(BOMB + b"seed: *i\n", id="aliases of aliases"),
    pytest.param(b"seed: &s [*s]\ndatasets: *s", id="alias of itself"),
    pytest.param(b"? {a: b}\n: c\n", id="mapping as key"),
    pytest.param(b"seed: " + b"[" * 5000, id="deep"),
    pytest.param(b"seed: " + b"9" * 5000, id="digits"),
    pytest.param(b"\xff\xfe\x00\x01", id="not text"),
]


def check_profile(tmp_path, data):
    path = tmp_path / "profile.yaml"
    path.write_bytes(data)
    found = outcome(load_profile, path)
    assert found is None or isinstance(found, Profile)
    assert not (tmp_path / "ran").exists()


@FUZZ
@given(st.one_of(profiles(), damaged(yaml.safe_dump(PROFILE).encode()), st.binary(max_size=60)))
def test_yaml(tmp_path, data):
    check_profile(tmp_path, data)


@pytest.mark.parametrize("data", HOSTILE)
def test_hostile_yaml(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    check_profile(tmp_path, data)


# -- ensembles ------------------------------------------------------------------------------

X = np.linspace(-1.0, 1.0, 8)[:, None]


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    """File of a small ensemble, its arrays, its header, and what it predicts."""
    path = tmp_path_factory.mktemp("ensemble") / "saved.npz"
    model = built(bnn.VanillaEnsemble, hidden=(4,), n_members=3, epochs=2, random_state=0)
    model.fit(X, X[:, 0]).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    return path, arrays, json.loads(str(arrays.pop("header"))), model.predict(X)


def predictions(path):
    """Predictions of a saved ensemble; refusals of the data name no file."""
    model = bnn.load(path)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Names of inputs in the header: scikit-learn warns of an array without.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model.predict(X)


@FUZZ
@given(st.data())
def test_ensemble_with_damaged_bytes(tmp_path, ensemble, data):
    path = tmp_path / "damaged.npz"
    path.write_bytes(data.draw(damaged(ensemble[0].read_bytes())))
    found = outcome(predictions, path)
    if found is not None:
        np.testing.assert_array_equal(found, ensemble[3])


@FUZZ
@given(st.data())
def test_ensemble_with_another_header_or_other_arrays(tmp_path, ensemble, data):
    path, (_, arrays, header, _) = tmp_path / "changed.npz", ensemble
    arrays, header = dict(arrays), json.loads(json.dumps(header))
    if data.draw(st.booleans()):
        place = header
        key = data.draw(st.sampled_from(sorted(place)))
        if isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        if data.draw(st.booleans()):
            place[key] = data.draw(VALUES)
        else:
            del place[key]
    else:
        name = data.draw(st.sampled_from(sorted(arrays)))
        change = data.draw(st.sampled_from(["drop", "cut", "type", "text", "nan", "empty"]))
        array = arrays.pop(name)
        if change != "drop":
            arrays[name] = {
                "cut": array[..., :-1] if array.ndim else array,
                "type": array.astype(np.complex128) if array.dtype.kind in "fiu" else array,
                "text": np.array("text"),
                "nan": np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
                "empty": np.zeros((0, 3)),
            }[change]
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    found = outcome(predictions, path)
    assert found is None or found.dtype.kind == "f"


# -- pickles --------------------------------------------------------------------------------

VALID = np.column_stack(
    [
        np.full(4, value) + 1e-3 * np.arange(4)
        for value in (0.2, 400.0, 350.0, 0.4, 420.0, 0.35, 120.0, 0.29, 0.2)
    ]
)
PICKLES = [pickle.dumps(content, protocol) for protocol in (0, 2, 4, 5)
           for content in ({"inpts": VALID[:, :4], "outpts": VALID[:, 4:]},
                           {"groups_inputs": [VALID[:, :4]], "groups_outputs": [VALID[:, 4:]]},
                           (VALID, {"x": VALID.tolist()}))]  # fmt: skip


def calls(marker) -> list[bytes]:
    """Opcodes that would touch a file, were they obeyed."""
    command, name = f"touch {marker}".encode(), str(marker).encode()
    code = b"open('" + name + b"','w')"
    return [
        b"cos\nsystem\n(S'" + command + b"'\ntR",
        b'cbuiltins\neval\n(S"' + code + b'"\ntR',
        b'c__builtin__\neval\n(S"' + code + b'"\ntR',
        b"(S'" + command + b"'\nios\nsystem\n",
        b'cnumpy.testing._private.utils\nrunstring\n(S"' + code + b'"\n}tR',
        b"\x8c\x02os\x8c\x06system\x93\x8c" + bytes([len(command)]) + command + b"\x85R",
    ]


@FUZZ
@given(st.data())
def test_pickle(tmp_path, data):
    marker, path = tmp_path / "ran", tmp_path / "authors.pkl"
    content = data.draw(st.sampled_from(PICKLES))
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(content)))
        call = data.draw(st.sampled_from(calls(marker)))
        content = content[:place] + call + content[place:]
    if data.draw(st.booleans()):
        content = data.draw(damaged(content))
    path.write_bytes(content)
    outcome(load_arrays, path)
    outcome(lambda p: write_csv(read_groups(p), tmp_path / "out.csv"), path)
    assert not marker.exists()
