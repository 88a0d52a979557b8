"""Published pickles become tables; a file of another layout, or one that wants more, is refused."""

import collections
import fractions
import io
import os
import pickle
import pickletools
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fe_data.__main__ import main
from fe_data.dataset.design import named_design
from fe_data.dataset.table import load_table
from fe_data.published.array_pickle import UnsafePickle, load_arrays
from fe_data.published.import_authors import PUBLISHED, read_groups
from tests.limits import UNUSUAL, limited

REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
FUZZ = settings(
    max_examples=200,
    deadline=None,  # a busy machine is slow
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
GROUPS = 3
REPLICATES = 4
DESIGN = named_design("replicates", count=GROUPS, microstructures=REPLICATES)
X = DESIGN.inputs
Y = np.random.default_rng(0).uniform(
    [300, 0.16, 100, 0.277, 0], [800, 0.5, 170, 0.299, 0.8], (len(X), 5)
)
TABLE = np.hstack([X, Y])
CUBE = TABLE.reshape(GROUPS, REPLICATES, 9)


def write(path, content, protocol=4):
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
    return path


def plain(x, y):
    return {"inpts": x, "outpts": y}


def grouped(tables):
    inputs = [rows[:, :4] for rows in tables]
    outputs = [rows[:, 4:] for rows in tables]
    return {"groups_inputs": inputs, "groups_outputs": outputs}


@pytest.mark.parametrize("protocol", range(6))
def test_published_layouts_keep_every_bit(tmp_path, protocol):
    (found,) = read_groups(write(tmp_path / "a.pkl", plain(X, Y), protocol))
    np.testing.assert_array_equal(found, TABLE)
    parts = [CUBE[0], CUBE[1][:2], CUBE[2][:3]]
    groups = read_groups(write(tmp_path / "b.pkl", grouped(parts), protocol))
    for group, rows in zip(groups, parts, strict=True):
        np.testing.assert_array_equal(group, rows)


def published_bytes(content):
    """A pickle as NumPy 1 wrote it at protocol 3, whatever NumPy writes here."""
    data = pickle.dumps(content, protocol=3)
    return data.replace(b"numpy._core", b"numpy.core").replace(b"\x89\x88\x87", b"K\x00K\x01\x87")


def afresh(content):
    """The same content, of arrays that NumPy makes here."""
    if isinstance(content, dict):
        return {key: afresh(part) for key, part in content.items()}
    return list(map(afresh, content)) if isinstance(content, list) else np.array(content.tolist())


def cells(name, sizes=None):
    """Inputs and outputs (n, 9) of a design, the groups cut to these sizes."""
    design = named_design(name)
    x = design.inputs
    if sizes is not None:
        places = [np.flatnonzero(design.groups == n)[:size] for n, size in enumerate(sizes)]
        x = x[np.concatenate(places)]
    low = [300, 0.16, 100, 0.277, 0]
    high = [800, 0.5, 170, 0.299, 0.8]
    return np.hstack([x, np.random.default_rng(len(x)).uniform(low, high, (len(x), 5))])


SIZES = {"replicates": [10, 5, 10, 10, 10, 9, 10, 10, 10, 7], "noise": [15] * 20}
FILES = {
    "testing_random_bis_a[400].pkl": "test_uniform",
    "training_beta_bis_a[400].pkl": "train_beta",
    "training_random_bis_a[400].pkl": "train_uniform",
    "data_aleatoric_n[10]_bis_a[400].pkl": "replicates",
    "data_aleatoric_n[20]_bis_a[400].pkl": "noise",
}


@pytest.fixture
def published(tmp_path):
    """A folder with a file for each design, of the names and layouts that were published."""
    folder = tmp_path / "published"
    folder.mkdir()
    for file, name in FILES.items():
        table = cells(name, SIZES.get(name))
        content = plain(table[:, :4], table[:, 4:])
        if name in SIZES:
            content = grouped(np.split(table, np.cumsum(SIZES[name])[:-1]))
        write(folder / file, published_bytes(afresh(content)))
    return folder


def test_published_files_become_the_tables_of_their_designs(published, tmp_path, capsys):
    out = tmp_path / "authors"
    assert main(["import-authors", str(published), str(out)]) == 0
    lines = [
        f"{published / f} -> {out / n}.csv: {len(cells(n, SIZES.get(n)))} samples"
        for f, n in sorted(FILES.items())
    ]
    assert capsys.readouterr().out.splitlines() == lines
    for name in FILES.values():
        table = load_table(out / f"{name}.csv")
        expected = cells(name, SIZES.get(name))
        np.testing.assert_array_equal(np.hstack([table.inputs, table.outputs]), expected)
        sizes = SIZES.get(name, [1] * len(expected))
        np.testing.assert_array_equal(table.group, np.repeat(np.arange(len(sizes)), sizes))


def test_every_missing_table_is_said_with_what_the_notebooks_do_without(
    published, tmp_path, capsys
):
    for file in published.iterdir():
        if FILES[file.name] != "train_beta":
            file.unlink()
    assert main(["import-authors", str(published), str(tmp_path / "authors")]) == 0
    _, *said = capsys.readouterr().out.splitlines()
    assert said == [
        f"{published} has no table of test_uniform: no notebook on the composite can run",
        f"{published} has no table of train_uniform: "
        "notebooks 03 to 05 leave out the first training set",
        f"{published} has no table of replicates: "
        "notebooks 03 and 05 leave out the scatter at its 10 inputs",
        f"{published} has no table of noise: "
        "notebooks 03 and 05 leave out the scatter at its 20 inputs",
    ]


def test_two_files_of_one_design_are_refused_and_neither_is_taken(published, tmp_path, capsys):
    old, new = (published / f"training_random_{word}a[400].pkl" for word in ("", "bis_"))
    write(old, plain(X, Y))
    out = tmp_path / "authors"
    assert main(["import-authors", str(published), str(out)]) == 1
    assert capsys.readouterr().err == (
        f"fe_data: {old} and {new} are tables of train_uniform: give the path of one of them\n"
    )
    assert not (out / "train_uniform.csv").exists()
    assert (out / "test_uniform.csv").exists()
    assert main(["import-authors", str(new), str(out)]) == 0
    assert len(load_table(out / "train_uniform.csv")) == 100


def test_a_file_of_another_name_keeps_it_and_is_said_to_be_of_no_design(tmp_path, capsys):
    path = write(tmp_path / "data_aleatoric_n[3].pkl", grouped(CUBE))  # no design has three inputs
    assert main(["import-authors", str(path), str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == (
        f"{path} -> {tmp_path / 'out' / path.stem}.csv: 12 samples, "
        "of no design that the notebooks know\n"
    )
    table = load_table(tmp_path / "out" / f"{path.stem}.csv")
    np.testing.assert_array_equal(np.hstack([table.inputs, table.outputs]), TABLE)
    np.testing.assert_array_equal(table.group, DESIGN.groups)


@pytest.mark.skipif(not (REFERENCE / "published").is_dir(), reason="published files are not here")
def test_the_published_files_themselves(tmp_path):
    folder = REFERENCE / "published"
    assert main(["import-authors", str(folder), str(tmp_path)]) == 0
    tables = {"replicates": "replicates_10"} | {name: name for name in [*PUBLISHED][:3]}
    assert {path.stem for path in tmp_path.iterdir()} == {*tables, "noise"}
    assert len(load_table(tmp_path / "noise.csv")) == 293  # of 20 inputs, 15 cells each
    for name, reference in tables.items():
        expected = load_table(REFERENCE / f"{reference}.csv")
        table = load_table(tmp_path / f"{name}.csv")
        for column in ("inputs", "outputs", "group"):
            np.testing.assert_array_equal(getattr(table, column), getattr(expected, column))
    for path in folder.iterdir():  # what the other tests read is laid out like these
        assert published_bytes(afresh(load_arrays(path))) == path.read_bytes()


ARRAYS = [
    np.asfortranarray(TABLE),
    TABLE.astype(">f8"),
    TABLE.astype("<f4"),
    np.arange(12, dtype=">i2").reshape(3, 4),
    np.float64(0.1),
    np.zeros((0, 4)),
    np.array(7, dtype=np.uint8),
]


PLAIN = {"a": [1, -2, 2**40, 0.5, None, True, "text", b"bytes"], "b": ((), {}, (1, 2, 3, 4))}


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_and_plain_data_keep_their_values_and_types(tmp_path, protocol):
    """Also where a part is named twice, as the first table is; Python reads plain data the same."""
    content = [*ARRAYS, ARRAYS[0]]
    found = load_arrays(write(tmp_path / "a.pkl", content, protocol))
    for expected, read in zip(content, found, strict=True):
        np.testing.assert_array_equal(read, expected)
        assert not isinstance(read, np.ndarray) or read.dtype == expected.dtype
    path = write(tmp_path / "b.pkl", PLAIN, protocol)
    assert load_arrays(path) == pickle.load(io.BytesIO(path.read_bytes()))  # noqa: S301


class Harmful:
    """Would write a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch '{self.path}'",)


@pytest.mark.parametrize("protocol", range(6))
def test_code_in_a_file_is_not_run(tmp_path, capsys, protocol):
    path = write(tmp_path / "bad.pkl", plain(X, [Harmful(tmp_path / "ran")]), protocol)
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
        (np.ones((1, 1)).view(np.matrix), "'numpy.matrix' is not admitted"),
        (fractions.Fraction(1, 3), "'fractions.Fraction' is not admitted"),
        (collections.OrderedDict(a=1), "'collections.OrderedDict' is not admitted"),
        ({1, 2}, "only arrays, numbers and texts are admitted"),
        (print, "is not admitted"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "'builtins.eval' is not admitted"),
        (b"(S'true'\nios\nsystem\n.", "not admitted"),
        (b"cnumpy.testing._private.utils\nrunstring\n(S'1'\n}tR.", "runstring' is not admitted"),
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
        (b"\x80\x04K\x01r\xff\xff\xff\xff.", "no table with the keys inpts and outpts, or groups_"),
    ],
)
def test_anything_but_arrays_is_refused_at_once(tmp_path, capsys, content, message):
    path = write(tmp_path / "bad.pkl", content)
    assert main(["import-authors", str(path), str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"fe_data: {path}")
    assert err.count("\n") == 1
    assert message in err


def nested(levels):
    """Tuples of which each holds the one before twice."""
    parts = [b"K\x01K\x02\x86\x940"]
    for number in range(levels):
        name = b"h" + bytes([number])
        parts.append(name + name + b"\x86\x940")
    return b"".join(parts) + b"h" + bytes([levels])


def lists(levels, width):
    """Lists of which each holds the one before many times."""
    parts = [b"]\x94(" + width * (b"h" + bytes([number])) + b"e" for number in range(levels)]
    return b"]\x94" + b"".join(parts)


def array(data, shape):
    """An array of float64 with these opcodes as its data and shape."""
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    kind = b"cnumpy\ndtype\n\x8c\x02f8\x89\x88\x87R(K\x03\x8c\x01<NNNK\x00K\x00K\x00tb"
    return made + b"(K\x01" + shape + kind + b"\x89" + data + b"tb"


SAME_HASH = [n * (2**61 - 1) for n in range(50_000)]
ENDLESS = {
    "tuples as a key": (b"}" + nested(60) + b"K\x01s", "a key is a tuple"),
    "tuples in a set": (b"\x8f(" + nested(60) + b"\x90", "there is a set"),
    "tuples as a type": (b"cnumpy\ndtype\n" + nested(60) + b"\x85R", "a type that is a tuple"),
    "tuples as a byte order": (
        b"cnumpy\ndtype\n\x8c\x02f8\x85R(K\x03" + nested(60) + b"tb",
        "the byte order of an array is unknown",
    ),
    "tuples as a shape": (array(b"C\x00", nested(60)), "the shape of an array is not"),
    "lists of lists": (lists(6, 60), "parts are named again and again"),
    "one array many times": (
        b"]("
        + array(b"B" + struct.pack("<I", 8000) + bytes(8000), b"M\xe8\x03\x85")
        + b"\x94"
        + 50_000 * b"h\x00"
        + b"e",
        "parts are named again and again",
    ),
    "bytes of a number": (
        array(b"c__builtin__\nbytes\n\x8a\x05" + struct.pack("<Q", 5 * 10**9)[:5] + b"\x85R", b"]"),
        "bytes are made of a text",
    ),
    "a text many times": (
        b"](X"
        + struct.pack("<I", 10_000)
        + 10_000 * b"x"
        + b"\x94c_codecs\nencode\n\x940"
        + 20_000 * b"h\x01h\x00\x85R"
        + b"e",
        "parts are named again and again",
    ),
    "a shape of -1": (
        array(b"C\x08" + bytes(8), b"J\xff\xff\xff\xff\x85"),
        "the shape of an array is not",
    ),
    "keys of one hash": (
        b"}(" + b"".join(pickle.dumps(n, 2)[2:-1] + b"N" for n in SAME_HASH) + b"u",
        "a key is a int",
    ),
    "numbers of one hash": (
        b"N" + b"".join(b"p%d\n" % n for n in SAME_HASH),
        "a part has a number out of range",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_short_file_takes_neither_memory_nor_time(tmp_path, name):
    content, message = ENDLESS[name]
    path = write(tmp_path / "bad.pkl", b"\x80\x04" + content + b".")
    with limited(seconds=4), pytest.raises(UnsafePickle, match=message):
        load_arrays(path)


def test_a_large_table_of_small_parts_is_read(tmp_path):
    content = plain(TABLE.repeat(2000, axis=0).tolist(), [[1, 2.0, None, "text"]] * 5000)
    assert load_arrays(write(tmp_path / "a.pkl", content)) == content


@pytest.mark.parametrize("kind", UNUSUAL)
def test_only_a_regular_file_is_read(tmp_path, capsys, kind):
    folder = tmp_path / "published"
    folder.mkdir()
    UNUSUAL[kind](folder / "a.pkl")
    write(folder / "b.pkl", plain(X, Y))
    with limited(megabytes=50):
        assert main(["import-authors", str(folder), str(tmp_path / "out")]) == 1
    assert f"{folder / 'a.pkl'} is a {kind}: a regular file" in capsys.readouterr().err
    assert (tmp_path / "out" / "b.csv").exists()


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "a.pkl"
    with path.open("wb") as file:
        file.truncate(10**12)
    with limited(megabytes=50), pytest.raises(UnsafePickle, match="has 1000000000000 bytes: at"):
        load_arrays(path)


def test_an_array_cannot_claim_more_than_its_data(tmp_path):
    data = pickle.dumps(np.arange(4.0), 2)
    for wrong in (5, 2**31 - 1):
        changed = data.replace(b"K\x04\x85", b"J" + struct.pack("<i", wrong) + b"\x85")
        with pytest.raises(UnsafePickle, match="cannot reshape array of size 4"):
            load_arrays(write(tmp_path / "a.pkl", changed))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE, "groups_outputs, in an array of shape (12, 9)"),
        ("text", "or groups_inputs and groups_outputs, in str"),
        ({}, "in a dict of 0"),
        ((X, Y, X), "in a tuple of 3 (an array of shape (12, 4), an array of shape (12, 5), "),
        ({"inpts": X}, "in a dict of 1 (inpts: an array of shape (12, 4))"),
        (grouped([]), "in a dict of 2 (groups_inputs: a list of 0, groups_outputs: a list of 0)"),
        (grouped(CUBE) | {"groups_inputs": [X]}, "(groups_inputs: a list of 1 (an array of shape "),
        (plain(X[:5], Y), "inputs are an array of shape (5, 4) and outputs an array of shape (1"),
        (plain(Y, X), "inputs are an array of shape (12, 5) and outputs an array of shape (12, 4)"),
        (plain(X[:0], Y[:0]), "inputs are an array of shape (0, 4)"),
        (plain(X.tolist(), Y), "inputs are a list of 12"),
        (plain(X, Y + np.inf), "the table holds outputs that are not finite"),
        (plain(X + np.nan, Y), "vf = nan is out of range"),
        (plain(100 * X, Y), f"vf = {100 * X[0, 0]} is out of range: allowed is 0 or [0.005, 0.5]"),
    ],
)
def test_content_that_is_no_table_is_described(tmp_path, capsys, content, message):
    path = write(tmp_path / "bad.pkl", content)
    assert main(["import-authors", str(path), str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err


def test_one_bad_file_does_not_hinder_the_others(tmp_path, capsys):
    write(tmp_path / "a.pkl", "text")
    write(tmp_path / "b.pkl", plain(X, Y))
    assert main(["import-authors", str(tmp_path), str(tmp_path / "out")]) == 1
    assert capsys.readouterr().out.startswith(
        f"{tmp_path / 'b.pkl'} -> {tmp_path / 'out' / 'b.csv'}: 12 samples, of no design"
    )


def check_answer(path, data):
    """The reader gives arrays, or a message that names the file."""
    path.write_bytes(data)
    try:
        load_arrays(path)
    except UnsafePickle as error:
        message = str(error)
        assert message.startswith(str(path))


@given(st.binary(max_size=300))
@FUZZ
def test_any_bytes_give_arrays_or_a_message(tmp_path, data):
    check_answer(tmp_path / "any.pkl", b"\x80\x04" + data + b".")


OPCODES = sorted(opcode.code for opcode in pickletools.opcodes)
VALID = [pickle.dumps((X[:2], Y[:2]), protocol) for protocol in range(6)]


@given(st.data())
@FUZZ
def test_a_changed_pickle_gives_arrays_or_a_message(tmp_path, data):
    changed = bytearray(data.draw(st.sampled_from(VALID)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        code = data.draw(st.sampled_from(OPCODES)).encode("latin-1")[0]
        changed[place] = data.draw(st.one_of(st.just(code), st.integers(0, 255)))
    check_answer(tmp_path / "any.pkl", bytes(changed))
