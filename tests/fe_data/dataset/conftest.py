"""The dataset folder of eight analytic RVEs that tests damage, and how to make and read one."""

import json
import shutil

import pytest

from fe_data.dataset import generate, storage
from fe_data.dataset.design import named_design
from fe_data.settings import Settings
from tests.fe_data.analytic_rve import AnalyticRVE

SETTINGS = Settings(increments=10)
DESIGN = named_design("train_beta", 3, count=8)
RECORD = "records/0000/0000006.npz"


def make(folder, rve=None, design=DESIGN, settings=SETTINGS, **options):
    options = {"jobs": 2, "silent": True, **options}
    return generate.generate(design, settings, folder, simulator=rve or AnalyticRVE(), **options)


def table(folder):
    return (folder / storage.TABLE).read_bytes()


def sealed(**changes):
    """A configuration with other entries, and the digest of these."""
    config = storage.configuration(DESIGN, SETTINGS) | changes
    return json.dumps({**config, "digest": storage.digest(config)}).encode()


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A folder with all records."""
    folder = tmp_path_factory.mktemp("whole")
    make(folder)
    return folder


@pytest.fixture
def undisturbed(whole):
    return table(whole)


@pytest.fixture
def made(whole, tmp_path):
    """A copy of the folder with all records, to be damaged."""
    return shutil.copytree(whole, tmp_path / "data")
