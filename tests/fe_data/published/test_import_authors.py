"""Published pickles become tables, whatever their layout; one that wants to do more is refused."""

import collections
import fractions
import io
import os
import pickle
import pickletools
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fe_data.__main__ import main
from fe_data.dataset.design import named_design
from fe_data.dataset.table import load_table
from fe_data.published.array_pickle import UnsafePickle, load_arrays
from fe_data.published.import_authors import find_groups, to_our_units
from fe_data.settings import INPUT_NAMES, OUTPUT_NAMES

FUZZ = settings(
    max_examples=200,
    deadline=None,  # a busy machine is slow
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
GROUPS, REPLICATES = 3, 4
DESIGN = named_design("replicates", count=GROUPS, microstructures=REPLICATES)
X = DESIGN.inputs
Y = np.random.default_rng(0).uniform(
    [300, 0.16, 100, 0.277, 0], [800, 0.5, 170, 0.299, 0.8], (len(X), 5)
)
TABLE = np.hstack([X, Y])
CUBE = TABLE.reshape(GROUPS, REPLICATES, 9)
SHORT = ("vf", "E_f", "b_m", "c_m", "b_eff", "c_eff", "E_eff", "nu_eff", "p_sigma")


def write(path, content, protocol=4):
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
    return path


PLAIN_LAYOUTS = {
    "array": TABLE,
    "nested lists": TABLE.tolist(),
    "inputs and outputs": (X, Y),
    "outputs first": [Y, X],
    "lists of rows": (X.tolist(), Y.tolist()),
    "dictionary": {"X": X, "y": Y},
    "dictionary of words": {"inputs": X, "outputs": Y, "note": "Abaqus"},
    "dictionary of the authors": {"inpts": X, "outpts": Y},
    "columns": dict(zip(SHORT, TABLE.T, strict=True)),
    "columns with units": dict(zip((*INPUT_NAMES, *OUTPUT_NAMES), TABLE.T.tolist(), strict=True)),
}
GROUP_LAYOUTS = {
    "cube": CUBE,
    "groups of the authors": {
        "groups_inputs": [rows[:, :4] for rows in CUBE],
        "groups_outputs": [rows[:, 4:] for rows in CUBE],
    },
    "cubes apart": (CUBE[..., :4], CUBE[..., 4:]),
    "one row of inputs a group": (X[::REPLICATES], CUBE[..., 4:]),
    "tables in a list": list(CUBE),
    "tables by name": {f"group {number}": rows for number, rows in enumerate(CUBE)},
    "pairs in a list": [(rows[:, :4], rows[:, 4:]) for rows in CUBE],
    "one input and its outputs": [(rows[0, :4], rows[:, 4:]) for rows in CUBE],
    "dictionaries in a list": [{"x": rows[:, :4], "y": rows[:, 4:]} for rows in CUBE],
}


@pytest.mark.parametrize("protocol", range(6))
def test_every_layout_gives_the_same_samples(tmp_path, protocol):
    for name, content in {**PLAIN_LAYOUTS, **GROUP_LAYOUTS}.items():
        groups = find_groups(load_arrays(write(tmp_path / "a.pkl", content, protocol)))
        np.testing.assert_array_equal(to_our_units(np.vstack(groups)), TABLE, err_msg=name)
        sizes = [len(X)] if name in PLAIN_LAYOUTS else [REPLICATES] * GROUPS
        assert [len(group) for group in groups] == sizes, name


def test_groups_of_different_size():
    parts = [CUBE[0], CUBE[1][:2], CUBE[2][:3]]
    for content in (parts, (X[::REPLICATES], [rows[:, 4:] for rows in parts])):
        groups = find_groups(content)
        assert [len(group) for group in groups] == [4, 2, 3]
        np.testing.assert_array_equal(np.vstack(groups), np.vstack(parts))


def test_units_are_told_by_magnitude():
    factors = np.array([100, 1e3, 1e6, 1, 1e-3, 1, 1e9, 1, 100])  # %, MPa, Pa, -, GPa, -, Pa, -, %
    np.testing.assert_allclose(to_our_units(TABLE * factors), TABLE, rtol=1e-14)


def test_a_folder_becomes_tables(tmp_path, capsys):
    for name, content in (("test_set", (X, Y)), ("replicates", CUBE)):
        write(tmp_path / f"{name}.pkl", content)
    assert main(["import-authors", str(tmp_path), str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.count(": 12 samples") == 2
    for name in ("test_set", "replicates"):
        table = load_table(tmp_path / "out" / f"{name}.csv")
        np.testing.assert_array_equal(np.hstack([table.inputs, table.outputs]), TABLE)
    np.testing.assert_array_equal(table.group, DESIGN.groups)


ARRAYS = [
    np.asfortranarray(TABLE),
    TABLE.astype(">f8"),
    TABLE.astype("<f4"),
    np.arange(12, dtype=">i2").reshape(3, 4),
    np.float64(0.1),
    np.zeros((0, 4)),
    np.array(7, dtype=np.uint8),
]


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_keep_their_values_and_type(tmp_path, protocol):
    for number, read in enumerate(load_arrays(write(tmp_path / "a.pkl", ARRAYS, protocol))):
        np.testing.assert_array_equal(read, ARRAYS[number])
        assert not isinstance(read, np.ndarray) or read.dtype == ARRAYS[number].dtype


class Harmful:
    """Would write a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch '{self.path}'",)


@pytest.mark.parametrize("protocol", range(6))
def test_code_in_a_file_is_not_run(tmp_path, capsys, protocol):
    path = write(tmp_path / "bad.pkl", {"X": X, "y": [Harmful(tmp_path / "ran")]}, protocol)
    assert main(["import-authors", str(path), str(tmp_path / "out")]) == 1
    assert "system' is not admitted: only numeric NumPy arrays are" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out").exists()


# Tuples that share their parts: 300 bytes that would unfold to 2^60 items.
BOMB = b"\x80\x04K\x01\x85\x94" + b"".join(
    b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86\x94" for n in range(60)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a whole pickle file"),
        (b"vf,E_f\n0.1,200\n", "is not a whole pickle file"),
        (pickle.dumps(TABLE)[:-40], "is not a whole pickle file"),
        (b"\x80\x04.", "is not a whole pickle file"),
        (b"\x80\x04]", "is not a whole pickle file"),
        (np.array([None], dtype=object), "arrays of type 'O8' are not admitted"),
        (np.array(["a"]), "arrays of type 'U1' are not admitted"),
        (np.zeros(2, dtype=[("a", "f8")]), "arrays of type 'V8' are not admitted"),
        (np.zeros(2, dtype="c16"), "arrays of type 'c16' are not admitted"),
        (np.ma.masked_array([1.0]), "_mareconstruct' is not admitted"),
        (np.matrix([1.0]), "'numpy.matrix' is not admitted"),
        (fractions.Fraction(1, 3), "'fractions.Fraction' is not admitted"),
        (collections.OrderedDict(a=1), "'collections.OrderedDict' is not admitted"),
        ({1, 2}, "only arrays, numbers and texts are admitted"),
        (print, "is not admitted"),
        (b"\x80\x04cnumpy\nndarray\n.", "only arrays, numbers and texts are admitted"),
        (b"\x80\x02cnumpy\ndtype\n(U\x02f8tR.", "only arrays, numbers and texts are admitted"),
        (b"\x80\x02cnumpy\nload\n.", "'numpy.load' is not admitted"),
        (b"\x80\x02K\x01K\x02R.", "is not a whole pickle file: 1 argument after"),
        (b"\x80\x02]K\x01b.", "is not a whole pickle file"),
        (b"\x80\x02K\x01K\x02a.", "is not a whole pickle file: 'int' object has no attribute"),
        (b"\x80\x02](h\x00.", "is not a whole pickle file"),
        (b"\x80\x04]\x94h\x00a.", "containers are nested too deeply"),
        (BOMB + b".", "containers are nested too deeply"),
        (b"\x80\x05\x96" + b"\xff" * 7 + b"\x3f.", "is not a whole pickle file"),
        (b"\x80\x04K\x01r\xff\xff\xff\xff.", "no table of 4 inputs and 5 outputs in int"),
    ],
)
def test_anything_but_arrays_is_refused_at_once(tmp_path, capsys, content, message):
    path = write(tmp_path / "bad.pkl", content)
    assert main(["import-authors", str(path), str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"fe_data: {path}")
    assert err.count("\n") == 1
    assert message in err


def test_an_array_cannot_claim_more_than_its_data(tmp_path):
    data = pickle.dumps(np.arange(4.0), 2)
    for wrong in (5, 2**31 - 1):
        changed = data.replace(b"K\x04\x85", b"J" + struct.pack("<i", wrong) + b"\x85")
        with pytest.raises(UnsafePickle, match="cannot reshape array of size 4"):
            load_arrays(write(tmp_path / "a.pkl", changed))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (X, "no table of 4 inputs and 5 outputs in an array of shape (12, 4)"),
        ("text", "no table of 4 inputs and 5 outputs in str"),
        ({}, "no table of 4 inputs and 5 outputs in a dict of 0"),
        ((X, Y, X), "in a tuple of 3 (an array of shape (12, 4), an array of shape (12, 5), "),
        ({"X": X}, "in a dict of 1 (X: an array of shape (12, 4))"),
        ((X[:5], Y), "5 rows of inputs, but 12 of outputs"),
        ((X[:2], list(CUBE[..., 4:])), "2 groups of inputs, but 3 of outputs"),
        (
            dict(zip(SHORT, [*TABLE.T[:8], TABLE[:3, 8]], strict=True)),
            "the columns are not numeric and of equal length",
        ),
        (np.hstack([X, Y + np.inf]), "the table holds values that are not"),
        (
            TABLE * np.array([1, 1, 1, 2, 1, 1, 1, 1, 1]),
            f"c_m: values from {2 * X[:, 3].min():.6g} to {2 * X[:, 3].max():.6g} are outside "
            "[0.196, 0.561] in every unit known (1, %)",
        ),
        (
            TABLE / TABLE.max(axis=0) - 0.5,
            " are outside [0.049, 0.408] in every unit known (1, %)",
        ),
    ],
)
def test_content_that_is_no_table_is_described(tmp_path, capsys, content, message):
    path = write(tmp_path / "bad.pkl", content)
    assert main(["import-authors", str(path), str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err


def test_one_bad_file_does_not_hinder_the_others(tmp_path, capsys):
    write(tmp_path / "a.pkl", "text")
    write(tmp_path / "b.pkl", TABLE)
    assert main(["import-authors", str(tmp_path), str(tmp_path / "out")]) == 1
    assert capsys.readouterr().out == (
        f"{tmp_path / 'b.pkl'} -> {tmp_path / 'out' / 'b.csv'}: 12 samples\n"
    )


def answer_or_message(path, data):
    path.write_bytes(data)
    try:
        load_arrays(path)
    except UnsafePickle as error:
        return str(error)
    return str(path)


@given(st.binary(max_size=300))
@FUZZ
def test_any_bytes_give_arrays_or_a_message(tmp_path, data):
    path = tmp_path / "any.pkl"
    assert answer_or_message(path, b"\x80\x04" + data + b".").startswith(str(path))


OPCODES = sorted(opcode.code for opcode in pickletools.opcodes)
VALID = [pickle.dumps((X[:2], Y[:2]), protocol) for protocol in range(6)]


@given(st.data())
@FUZZ
def test_a_changed_pickle_gives_arrays_or_a_message(tmp_path, data):
    path = tmp_path / "any.pkl"
    changed = bytearray(data.draw(st.sampled_from(VALID)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        code = data.draw(st.sampled_from(OPCODES)).encode("latin-1")[0]
        changed[place] = data.draw(st.one_of(st.just(code), st.integers(0, 255)))
    assert answer_or_message(path, bytes(changed)).startswith(str(path))


def test_reader_agrees_with_python_on_plain_data(tmp_path):
    content = {"a": [1, -2, 2**40, 0.5, None, True, "text", b"bytes"], "b": ((), {}, (1, 2, 3, 4))}
    for protocol in range(6):
        path = write(tmp_path / "a.pkl", content, protocol)
        assert load_arrays(path) == pickle.load(io.BytesIO(path.read_bytes()))  # noqa: S301
