"""Profiles have the published sizes, and are refused before anything runs."""

import copy

import pytest
import yaml

from figures.pipeline.profiles import (
    OTHER_METHODS,
    PRIOR_KNOWLEDGE,
    PROFILE_DIR,
    ProfileError,
    load_profile,
)
from figures.pipeline.settings import PAPER_COUNTS
from figures.report import Record


def test_the_full_profile_has_the_published_sizes():
    full = load_profile("full")
    sizes = {"train_beta": 50, "test_uniform": 50, "train_uniform": 100}
    assert full.datasets == {**sizes, "replicates": 10, "noise": 20}
    assert (full.prior_study.members, full.prior_study.epochs_scale) == (100, 1)
    example = full.example_1d
    sizes = (example.n_pretrained, example.n_members, example.prior_points)
    assert sizes == (100, 40, 500)
    assert example.pretrain_epochs_scale == 1
    assert (full.surrogate.n_pretrained, full.surrogate.n_members) == (50, 30)
    assert set(full.at_once) == set(full.notebooks) - set(full.apart)
    once = {"starts": 1, "starts_of_d": 1}
    assert full.prior_study.model_dump(include=set(once)) == once
    assert (example.repeats, full.surrogate.repeats) == (1, 1)
    repeated = full.with_repeats()
    assert repeated.prior_study.starts_of_d > repeated.prior_study.starts > 1
    assert min(repeated.example_1d.repeats, repeated.surrogate.repeats) > 1
    assert repeated.surrogate.cases == full.surrogate.cases
    quick = load_profile("quick")
    for section in ("prior_study", "example_1d", "surrogate"):
        assert getattr(full, section).at_paper_size
        assert not getattr(quick, section).at_paper_size


def test_only_tables_of_the_published_size_make_a_run_of_that_size():
    """Settings say how many RVEs are wanted; a table may have fewer."""
    settings = load_profile("full").surrogate
    assert settings.ran_at_paper_size(PAPER_COUNTS, 50)
    assert not settings.ran_at_paper_size(PAPER_COUNTS, 20)
    assert not settings.ran_at_paper_size(PAPER_COUNTS | {"ind100": 60}, 50)
    assert not load_profile("quick").surrogate.ran_at_paper_size({"outd": 50}, 50)


# One for each kind of rule: type, name, number, cases, counts and the inputs of an RVE.
CHANGES = [
    ({"surrogate.width": 5}, "surrogate.width: extra inputs are not permitted"),
    ({"surrogate.n_members": 9}, "must be at most 4, the number of pre-trained"),
    ({"surrogate.cases.outd.count": 99}, "must be at most datasets.train_beta = 10"),
    ({"prior_knowledge": {"counts": [10, 20]}}, "counts = [10, 20]: must be increasing"),
    ({"materials_data.rve": {"vf": 5.0}}, "vf = 5.0 is out of range: allowed is 0 or [0.005"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=lambda value: str(value)[:40])
def test_a_bad_field_is_named(profile_content, tmp_path, change, message):
    content = copy.deepcopy(profile_content)
    for place, value in change.items():
        *parents, name = place.split(".")
        target = content
        for parent in parents:
            target = target[parent]
        target[name] = value
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ProfileError) as refusal:
        load_profile(path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["full", "quick", "full-authors"])
def test_a_name_under_which_committed_results_lie_is_refused(profile_content, tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(profile_content))
    with pytest.raises(ProfileError, match=f"results in figures/{name} would be overwritten"):
        load_profile(path)
    assert load_profile(PROFILE_DIR / "full.yaml") == load_profile("full")


def test_a_custom_profile_has_sizes_of_a_study_only_in_its_own_section(profile_content, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(profile_content))
    assert load_profile(path).other_methods is None
    case = {"design": "train_beta", "count": 10}
    section = {"other_methods": {"cases": {"outd": case}}}
    path.write_text(yaml.safe_dump(profile_content | section))
    assert load_profile(path).other_methods.cases["outd"].count == 10
    assert load_profile("quick").other_methods.cases["outd"].count == 8


def test_sizes_of_a_study_are_checked_when_it_runs(profile_content, tmp_path):
    """Other notebooks run with datasets that are too small for a study."""
    path = tmp_path / "mine.yaml"
    section = {"other_methods": {"cases": {"outd": {"design": "train_beta", "count": 11}}}}
    path.write_text(yaml.safe_dump(profile_content | section))
    profile = load_profile(path)
    assert [profile.refusal(name) for name in profile.notebooks] == [""] * len(profile.notebooks)
    assert profile.refusal(PRIOR_KNOWLEDGE) == ""  # it reads the datasets of the package
    refusal = "other_methods.cases.outd.count = 11: must be at most datasets.train_beta = 10"
    assert profile.refusal(OTHER_METHODS) == refusal
    with pytest.raises(ProfileError, match=refusal):
        Record(OTHER_METHODS, str(path), 1, str(tmp_path))


UNSAFE = {
    "seed: &a 3\nat: *a": "the alias *a is not allowed",
    "seed: !!int 3": "the tag 'tag:yaml.org,2002:int' is not allowed",
    "seed: 010": "seed = '010' is not allowed",
}


@pytest.mark.parametrize("line", UNSAFE, ids=lambda line: line[:20])
def test_a_profile_has_the_numbers_of_json_and_limits(profile_content, tmp_path, line):
    text = yaml.safe_dump(profile_content)
    assert text.count("\nseed: 3\n") == 1
    path = tmp_path / "bad.yaml"
    path.write_text(text.replace("\nseed: 3\n", f"\n{line}\n"), encoding="utf-8")
    with pytest.raises(ProfileError) as refusal:
        load_profile(path)
    assert UNSAFE[line] in str(refusal.value)
    assert "\n" not in str(refusal.value)
