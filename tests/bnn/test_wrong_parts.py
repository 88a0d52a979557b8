"""Wrong arguments of what `CALLS` leaves out: files, noise and networks made of their parts."""

import dataclasses

import numpy as np
import pytest

import bnn
from tests.bnn.calls import EXACT, VALUES, pretrained_once, trained_once
from tests.wrong_arguments import WRONG, arguments, complaint

GROUPS = {"groups": np.arange(8) // 2}
FILES = (FileNotFoundError, FileExistsError, IsADirectoryError)


def parts(value):
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def asked(path, bounds, model, n_initial, batch_size, candidates, select_options, random_state):
    """What a new campaign asks for first; a path that is no name of a file says so itself."""
    given = {"batch_size": batch_size, "candidates": candidates, "select_options": select_options}
    made = bnn.Campaign(
        path, bounds, model, n_initial=n_initial, random_state=random_state, **given
    )
    return made.ask()


CALLS = {
    "Members": lambda _: (bnn.Members, parts(trained_once())),
    "Pretrained": lambda _: (bnn.Pretrained, parts(pretrained_once())),
    "Campaign": lambda folder: (
        asked,
        {
            "path": folder / "campaign.json",
            "bounds": np.array([[0.0, 1.0], [-1.0, 2.0]]),
            "model": None,
            "n_initial": 4,
            "batch_size": 2,
            "candidates": 20,
            "select_options": None,
            "random_state": 0,
        },
    ),
    "load": lambda folder: (bnn.load, {"path": saved(folder)}),
    "save": lambda folder: (EXACT.save, {"path": folder / "model.npz"}),
    "to_c": lambda folder: (
        bnn.export.to_c,
        arguments(bnn.export.to_c, VALUES | {"path": folder / "model.c"}),
    ),
    "replicate_covariance": lambda _: (
        bnn.noise.replicate_covariance,
        arguments(bnn.noise.replicate_covariance, VALUES | GROUPS),
    ),
}
# What messages call an argument, beside its name.
ALSO = {
    "noise_covariance": "noise",
    "coefficients": "bounds|correlation|squares",
    "X": "points|inputs",
    "n_outputs": "noise",
    "y": "groups|noise",
    "groups": "y",
    "max_bytes": "members",
}


def saved(folder):
    EXACT.save(folder / "saved.npz")
    return folder / "saved.npz"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)  # texts are names of files there
    function, given = CALLS[name](tmp_path)
    function(**given)
    wrong = []
    for argument in given:
        for value in WRONG:
            changed = given | {argument: value}
            if name == "Campaign":
                (tmp_path / "campaign.json").unlink(missing_ok=True)
            found = complaint(function, changed, argument, ALSO.get(argument, argument), *FILES)
            if found and not (argument == "path" and value in ("", "a", "cpufoo")):
                wrong.append((argument, value, found))
    assert not wrong
