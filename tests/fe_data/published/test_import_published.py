"""Published pickles become tables; a file of another layout, or one that wants more, is refused."""

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from fe_data.__main__ import main
from fe_data.dataset.design import named_design
from fe_data.dataset.table import load_table
from fe_data.published import import_published
from fe_data.published.import_published import PUBLISHED, load_content
from tests.limits import UNUSUAL, limited

REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
LOW = [300, 0.16, 100, 0.277, 0]
HIGH = [800, 0.5, 170, 0.299, 0.8]
GROUPS = 3
REPLICATES = 4
DESIGN = named_design("replicates", count=GROUPS, replicates=REPLICATES)
X = DESIGN.inputs
Y = np.random.default_rng(0).uniform(LOW, HIGH, (len(X), 5))
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


def published_bytes(content):
    """A pickle as NumPy 1 wrote it at protocol 3, whatever NumPy writes here."""
    data = pickle.dumps(content, protocol=3)
    return data.replace(b"numpy._core", b"numpy.core").replace(b"\x89\x88\x87", b"K\x00K\x01\x87")


def afresh(content):
    """The same content, of arrays that NumPy makes here."""
    if isinstance(content, dict):
        return {key: afresh(value) for key, value in content.items()}
    return list(map(afresh, content)) if isinstance(content, list) else np.array(content.tolist())


def rves(name, sizes=None):
    """Inputs and outputs (n, 9) of a design, the groups cut to these sizes."""
    design = named_design(name)
    x = design.inputs
    if sizes is not None:
        places = [np.flatnonzero(design.groups == n)[:size] for n, size in enumerate(sizes)]
        x = x[np.concatenate(places)]
    return np.hstack([x, np.random.default_rng(len(x)).uniform(LOW, HIGH, (len(x), 5))])


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
        table = rves(name, SIZES.get(name))
        content = plain(table[:, :4], table[:, 4:])
        if name in SIZES:
            content = grouped(np.split(table, np.cumsum(SIZES[name])[:-1]))
        write(folder / file, published_bytes(afresh(content)))
    return folder


@pytest.mark.slow
def test_published_files_become_the_tables_of_their_designs(published, tmp_path):
    out = tmp_path / "authors"
    assert main(["import-published", str(published), str(out)]) == 0
    for name in FILES.values():
        table = load_table(out / f"{name}.csv")
        expected = rves(name, SIZES.get(name))
        np.testing.assert_array_equal(np.hstack([table.inputs, table.outputs]), expected)
        sizes = SIZES.get(name, [1] * len(expected))
        np.testing.assert_array_equal(table.group, np.repeat(np.arange(len(sizes)), sizes))


def test_two_files_of_one_design_are_refused_and_a_table_of_a_user_stays(tmp_path, capsys):
    old, new = (tmp_path / f"training_random_{word}a[400].pkl" for word in ("", "bis_"))
    for path in (old, new):
        write(path, plain(X, Y))
    out = tmp_path / "authors"
    assert main(["import-published", str(tmp_path), str(out)]) == 1
    assert f"{old} and {new} are tables of train_uniform" in capsys.readouterr().err
    assert main(["import-published", str(new), str(out)]) == 0
    (table,) = out.iterdir()
    mine = table.read_text() + "mine"
    table.write_text(mine)
    assert main(["import-published", str(new), str(out)]) == 1
    assert f"{table} is another table: move it away" in capsys.readouterr().err
    assert table.read_text() == mine


ODD = [5, 0.5, None, True, "x" * 100_000, [], {1: 2}, plain(5, 3), plain(None, "a"), grouped([])]


@pytest.mark.slow
def test_one_odd_pickle_does_not_keep_the_other_files_from_their_tables(tmp_path, capsys):
    folder = tmp_path / "published"
    folder.mkdir()
    for number, content in enumerate(ODD):
        write(folder / f"odd_{number}.pkl", content)
    (folder / "lost.pkl").symlink_to(folder / "nothing")
    write(folder / "good.pkl", plain(X, Y))
    assert main(["import-published", str(folder), str(tmp_path / "out")]) == 1
    assert load_table(tmp_path / "out" / "good.csv").inputs.shape == X.shape
    sentences = capsys.readouterr().err.splitlines()
    assert len(sentences) == len(ODD) + 1
    for name in ["lost", *(f"odd_{number}" for number in range(len(ODD)))]:
        assert (
            sum(f"{name}.pkl: " in sentence and len(sentence) < 400 for sentence in sentences) == 1
        ), name


@pytest.mark.parametrize("kind", UNUSUAL)
def test_a_file_of_another_name_keeps_it_whatever_stands_beside_it(tmp_path, capsys, kind):
    """What is no regular file is refused alone."""
    folder = tmp_path / "published"
    folder.mkdir()
    UNUSUAL[kind](folder / "a.pkl")
    path = write(folder / "data_aleatoric_n[3].pkl", grouped(CUBE))  # no design has three inputs
    with limited(megabytes=50):
        assert main(["import-published", str(folder), str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert f"{folder / 'a.pkl'} is a {kind}: a regular file" in err
    assert "12 samples, which no" in out
    table = load_table(tmp_path / "out" / f"{path.stem}.csv")
    np.testing.assert_array_equal(np.hstack([table.inputs, table.outputs]), TABLE)
    np.testing.assert_array_equal(table.group, DESIGN.groups)


ARRAYS = [
    np.asfortranarray(TABLE),
    TABLE.astype(">f8"),
    TABLE.astype("<f4"),
    np.arange(12, dtype=">i2").reshape(3, 4),
    np.float64(0.1),
    np.zeros((0, 4)),
]
PLAIN = {"a": [1, -2, 2**40, 0.5, None, True, "text"], "b": [[], {}, [1, 2, 3, 4]]}


@pytest.mark.parametrize("protocol", [0, 3])
def test_arrays_and_plain_data_keep_their_values(tmp_path, protocol):
    """Also where a part is named twice, as the first table is."""
    content = [*ARRAYS, ARRAYS[0], PLAIN]
    expected = [*(array.tolist() for array in content[:-1]), PLAIN]
    assert load_content(write(tmp_path / "a.pkl", content, protocol)) == expected


class Harmful:
    """Would write a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch '{self.path}'",)


def test_code_in_a_file_is_not_run(tmp_path, capsys):
    path = write(tmp_path / "bad.pkl", plain(X, [Harmful(tmp_path / "ran")]))
    assert main(["import-published", str(path), str(tmp_path / "out")]) == 1
    assert "system is not allowed: only numeric arrays are" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a pickle file of numeric arrays: Ran out of input"),
        (pickle.dumps(TABLE)[:-40], "is not a pickle file of numeric arrays: "),
        (b"\x80\x04\x8f.", "a set is not allowed"),
        (TABLE, "no table with the keys inpts and outpts, or groups_inputs and groups_outputs"),
        (grouped([]), "in a dict with the keys groups_inputs, groups_outputs"),
        (plain(X[:5], Y), "inputs have the shape (5, 4) and outputs (12, 5)"),
        (plain(X, Y + np.inf), "the table has outputs that are not finite"),
        (plain(X + np.nan, Y), "vf = nan is out of range"),
    ],
)
def test_anything_but_tables_of_numbers_is_refused_in_one_sentence(
    tmp_path, capsys, content, message
):
    path = write(tmp_path / "bad.pkl", content)
    assert main(["import-published", str(path), str(tmp_path / "out")]) == 1
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x8f(" + nested(60) + b"\x90", "takes more than 1 s of processor time"),
        (b"\x96" + struct.pack("<Q", 2**31), "its content takes more than 1000000000 bytes"),
    ],
)
def test_a_short_file_takes_neither_memory_nor_time(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(import_published, "MAX_SECONDS", 1)
    path = write(tmp_path / "bad.pkl", b"\x80\x05" + content + b".")
    with limited(seconds=30), pytest.raises(ValueError, match=message):
        load_content(path)


@pytest.mark.skipif(not (REFERENCE / "published").is_dir(), reason="published files are not here")
def test_the_published_files_themselves(tmp_path):
    folder = REFERENCE / "published"
    assert main(["import-published", str(folder), str(tmp_path)]) == 0
    tables = {"replicates": "replicates_10"} | {name: name for name in [*PUBLISHED][:3]}
    assert {path.stem for path in tmp_path.iterdir()} == {*tables, "noise"}
    assert len(load_table(tmp_path / "noise.csv")) == 293  # of 20 inputs, 15 RVEs each
    for name, reference in tables.items():
        expected = load_table(REFERENCE / f"{reference}.csv")
        table = load_table(tmp_path / f"{name}.csv")
        for column in ("inputs", "outputs", "group"):
            np.testing.assert_array_equal(getattr(table, column), getattr(expected, column))
