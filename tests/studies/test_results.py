"""Files of results: what is appended is read again, and nothing else is taken for a result."""

import json

import numpy as np
import pytest

from studies.path_surrogates import study
from studies.results import Results
from studies.scoreboard import runs

RAN = {"problem": "made/gap", "peer": "fake.Mean", "split": 0, "version": 1, "data": "0"}
SAID = {"problem": "made/gap", "published": "Ensemble", "source": "a paper", "splits": 2}


@pytest.fixture
def results(tmp_path):
    return runs.load(tmp_path / "results.jsonl")


def test_rows_are_read_again_and_the_last_of_a_key_counts(results):
    rows = [RAN | {"rmse": 0.5}, RAN | {"split": 1, "rmse": 0.123456789}, RAN | {"rmse": 7.0}]
    rows += [SAID | {"rmse": [0.5, None]}]
    with results.opened():
        for row in [*rows, rows[-1]]:
            results.add(row)
    assert results.rows == [rows[2], rows[1] | {"rmse": 0.12346}, rows[3]]
    assert len(results.path.read_text(encoding="utf-8").splitlines()) == 4  # equal: once
    again = runs.load(results.path)
    assert again.rows == results.rows
    with again.opened():
        assert len(results.path.read_text(encoding="utf-8").splitlines()) == 3


NO_RESULTS = {
    "a text": "line 1: must be JSON",
    "[]\n": r"line 1 is not a result: \[\] must be an object",
    json.dumps(RAN | {"rmse": np.nan}) + "\n": "NaN is not a finite number",
    json.dumps(RAN)[:9] + "\n" + json.dumps(RAN) + "\n": "line 1: must be JSON",
}


@pytest.mark.parametrize("text", NO_RESULTS, ids=range(len(NO_RESULTS)))
def test_a_file_of_other_things_is_refused_and_stays_as_it_is(results, text):
    results.path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"{results.path}.*{NO_RESULTS[text]}"), results.opened():
        pass
    assert results.path.read_text(encoding="utf-8") == text


def test_two_runs_do_not_write_to_the_same_file(results):
    other = Results(results.path, study.KEY)
    with results.opened(), pytest.raises(OSError, match="another run"), other.opened():
        pass
