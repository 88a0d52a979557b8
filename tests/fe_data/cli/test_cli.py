"""The command line: what it makes, its exit codes, and one sentence for every bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fe_data.__main__ import main
from fe_data.dataset import record, storage
from tests.fe_data.analytic_rve import AnalyticRVE

ROOT = Path(__file__).parents[3]
QUICK = ["--count", "4", "--increments", "4", "--jobs", "2"]


def run(capsys, *arguments, rve=None):
    code = main([str(argument) for argument in arguments], simulator=rve or AnalyticRVE())
    return code, *capsys.readouterr()


def test_shards_make_a_table_that_verify_confirms_until_it_is_changed(tmp_path, capsys):
    command = ["generate", "test_uniform", "--out", tmp_path, *QUICK]
    code, out, err = run(capsys, *command, "--shard", "2/2")
    assert code == 0
    assert "no table yet: 2 samples of other shards are missing (first: 0, 2)" in out
    assert re.fullmatch(r"(generate: [02] of 2 samples after 00:\d\d, (\?|00:00) left\n){2}", err)
    table = tmp_path / "dataset.csv"
    report = f"{tmp_path}: 4 ok; {{}} simulated in this run\nwrote {table}\n"
    assert run(capsys, *command, "--shard", "1/2")[:2] == (0, report.format(2))
    assert run(capsys, *command) == (0, report.format(0), "")
    right = f"{tmp_path}: 4 records and the table are right (4 ok)\n"
    assert run(capsys, "verify", tmp_path) == (0, right, "")
    table.write_text(table.read_text().replace("\n2,", "\n3,"))
    code, out, err = run(capsys, "verify", tmp_path)
    assert (code, out) == (1, "dataset.csv, line 4: differs from the records\n")
    assert err == f"fe_data: {tmp_path}: 1 problem\n"


def test_settings_reach_the_simulator_and_the_configuration(tmp_path, capsys):
    def rve(inputs, seed, settings):
        simulated = AnalyticRVE()(inputs, seed, settings)
        simulated.info["warning"] = "b_eff extrapolates"
        return simulated

    options = ["--strain", "0.02", "--n-fibres", "7", "--E-m", "70", "--seed", "5"]
    command = ["generate", "test_uniform", "--out", tmp_path, *QUICK, *options]
    code, out, _ = run(capsys, *command, rve=rve)
    assert code == 0
    assert "4 samples have a warning (first: sample 0, b_eff extrapolates)" in out
    config = json.loads((tmp_path / storage.CONFIG).read_text())
    assert config["settings"]["E_m_GPa"] == 70
    assert config["seed"] == 5
    arrays = record.decode_arrays(storage.record_path(tmp_path, 0).read_bytes())
    assert arrays["strain"][-1, 0] == 0.02
    assert arrays["fibre_centres"].shape == (7, 2)


def test_failed_samples_give_exit_code_1(tmp_path, capsys):
    def rve(*_):
        raise ArithmeticError("no solution")

    code, out, err = run(capsys, "generate", "noise", "--out", tmp_path, *QUICK, rve=rve)
    assert code == 1
    assert "60 failed" in out
    assert err.endswith(f"fe_data: 60 samples failed: see {tmp_path / 'failures.csv'}\n")
    shard = tmp_path / "shard"
    command = ["generate", "noise", "--out", shard, "--shard", "1/2", *QUICK]
    assert run(capsys, *command, rve=rve)[2].endswith("fe_data: 30 samples failed\n")
    assert not (shard / "failures.csv").exists()


GENERATE = "generate noise --out {}"
NOISE = "fe_data/datasets/noise.csv"
RVE = "rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --out {}"


LONG = "x" * 100_000
NULL = "'a\\x00b.csv'"
NULL_BYTES = [
    ("rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --out a\0b.csv", "'--out'"),
    (f"{RVE} --loading a\0b.csv", "'--loading'"),
    (f"{RVE} --mesh a\0b.csv", "'--mesh'"),
    (f"{RVE} --hardening table:a\0b.csv", "'--hardening'"),
    ("rve --microstructure a\0b.csv --out {}/new", "'--microstructure'"),
    ("generate noise --out a\0b.csv", "'--out'"),
    ("generate --inputs a\0b.csv --out {}/new", "'--inputs'"),
    ("constants --material glass_epoxy --vf 0.2 --out a\0b.csv", "'--out'"),
    (f"compare {NOISE} a\0b.csv", "'REFERENCE.csv'"),
    (f"statistics {NOISE} --out a\0b.csv", "'--out'"),
    ("curves a\0b.csv --out {}/new", "'DIR'"),
    ("verify a\0b.csv", "'DIR'"),
    ("import-published a\0b.csv {}/new", "'PATH'"),
]
BAD_COMMANDS = [
    (f"{GENERATE} --constants", "constants = True needs the phases of a material"),
    (f"{GENERATE} --jobs 0", "jobs = 0 is out of range: allowed are integers in [1, 4096]"),
    (f"{GENERATE} --radii uniform", "radii_cov = 0.0 is out of range: allowed is above 0 and up"),
    (f"{RVE} --vf 0.95", "vf = 0.95 is out of range: allowed is 0 or [0.005, 0.91]"),
    (f"{RVE} --microstructure {{}}/semicolons.csv", "give either --vf or --microstructure FILE"),
    (f"{RVE} --hardening table:", "'table:' is unknown: allowed are power, "),
    ("rve --vf 0.3 --E-f 400 --out {}", "--b-m is missing: power hardening needs it"),
    (f"{RVE} --loading {{}}/paths.csv --strain 0.03", "--strain cannot be combined with --loading"),
    (f"{RVE} --loading 0.02", "'0.02' is not of the form XX,YY,XY, such as 0.02,free,free"),
    (
        "rve --microstructure {}/semicolons.csv --E-f 400 --b-m 400 --c-m 0.4 --out {}/new",
        "{}/semicolons.csv, line 1: a comma separates columns, not a semicolon: 'x;y;radius'",
    ),
    (f"{RVE} --loading {{}}/long.csv", "the path has 101 vertices and 1010000 increments in all"),
    (f"{GENERATE} --shard 5/4", "'5/4' is out of range"),
    ("generate noise", "Missing option '--out'"),
    ("generate --out {}", "give either a design ("),
    ("generate noise --out=", "'--out': the path is empty: '.' is the current folder"),
    ("generate --out --jobs 2 noise", "'--out': a path is missing before --jobs"),
    (f"{GENERATE} --dask tcp://x --jobs 2", "--jobs counts local processes"),
    (f"{GENERATE} --microstructure {{}}/semicolons.csv", "--microstructure needs --inputs"),
    ("generate --inputs missing.csv --out {}", "No such file or directory: missing.csv"),
    ("generate --inputs {}/bad.csv --out {}/new", "{}/bad.csv, line 2: vf = 'x' is not a n"),
    ("generate --inputs {}/bad.csv --count 3 --out {}/new", "--count sizes a named design"),
    ("generate --inputs {}/other/dataset.csv --out {}/other", "that --out would replace"),
    ("statistics {}/other --out {}/other/dataset.csv", "an input that --out would replace"),
    (f"curves {NOISE} --out {{}}/bad.csv", "move it, or use another name: {}/bad.csv"),
    (f"curves {NOISE} --out {{}}/other", "must end in .csv"),
    (f"statistics {NOISE} --out {{}}/other", "a folder has this name"),
    (f"{GENERATE}/bad.csv", "File exists: {}/bad.csv"),
    ("compare {}/failed.csv {}/failed.csv --tolerance 1e-6", "no sample with outputs"),
    ("import-published {} {}/out", "{} has no .pkl file"),
    (
        f"{RVE} --loading {{}}/empty.csv",
        "expected a header with some of path, strain_xx, strain_yy",
    ),
    (f"{GENERATE} --jobs {LONG}", "is not an integer"),
    (f"{RVE} --loading {LONG}", "is not of the form XX,YY,XY"),
    (f"{RVE} --hardening {LONG}", "is unknown: allowed are power, "),
    (f"{RVE} --{LONG}", "No such option"),
    (f"{LONG} --out {{}}", "No such command"),
    (f"generate {LONG} --out {{}}/new", "is not a design"),
    (f"constants --material {LONG} --vf 0.2", "is no known material"),
    (f"verify {LONG}", "File name too long"),
    (f"{RVE} --vf 1\x1b[2J", "'1\\x1b[2J' is not a number"),
    ("generate \x9b2J --out {}/new", "\\x9b2J"),
    *((command, f"{name}: {NULL} must not contain a null byte") for command, name in NULL_BYTES),
    (f"{RVE} --material a\0b.yaml", "'a\\x00b.yaml' must not contain a null byte"),
]


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def test_bad_commands_get_one_sentence_and_change_nothing(tmp_path, capsys):
    head = "vf,E_f_GPa,b_m_MPa,c_m"
    (tmp_path / "bad.csv").write_text(f"{head}\nx,400,350,0.4\n")
    failed = f"{head},b_eff_MPa,c_eff,E_eff_GPa,nu_eff,p_sigma,status\n0.2,400,350,0.4,,,,,,failed"
    (tmp_path / "failed.csv").write_text(failed)
    (tmp_path / "paths.csv").write_text("strain_xx\n0.02\n0.01\n")
    (tmp_path / "semicolons.csv").write_text("x;y;radius\n0,5;0,5;0,2\n")
    long = "".join(f"{0.01 * (-1) ** i},10000\n" for i in range(101))
    (tmp_path / "long.csv").write_text(f"strain_xx,increments\n{long}")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "dataset.csv").write_text(f"{head}\n0.2,400,350,0.4\n")
    before = contents(tmp_path)
    for command, message in BAD_COMMANDS:
        code, out, err = run(capsys, *command.replace("{}", str(tmp_path)).split())
        assert code in (1, 2), command
        assert out == "", command
        assert err.startswith("fe_data"), command
        assert message.replace("{}", str(tmp_path)) in err, command
        assert err.count("\n") == 1, command
        assert len(err) < 2_000, command[:100]
        assert contents(tmp_path) == before, command


def test_results_show_no_control_characters(tmp_path, capsys):
    code, out, _ = run(capsys, "verify", str(tmp_path / "a\x1b[2Jb"))
    assert code == 1
    assert "a\\x1b[2Jb is not a dataset folder" in out


def start(folder):
    """Generate 30 samples in a process group of its own, slowly."""
    command = [sys.executable, "-m", "tests.fe_data.analytic_rve", "generate", "train_uniform"]
    return subprocess.Popen(
        [*command, "--out", str(folder), "--increments", "4", "--jobs", "2", "--count", "30"],
        cwd=ROOT,
        env=os.environ | {"CELL_SECONDS": "0.2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding=sys.getfilesystemencoding(),  # of the folder's name in a message
        start_new_session=True,
    )


def wait_for_records(folder, number):
    limit = time.monotonic() + 30
    while len(list(folder.rglob("*.npz"))) < number:
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.slow
def test_kills_and_interrupts_at_any_moment_leave_no_trace(tmp_path, capsys):
    """Ctrl-C reaches the whole group, a kill only the main process; a path no shell likes."""
    folder = tmp_path / "a földer"
    run(capsys, "generate", "train_uniform", "--out", tmp_path / "b", *QUICK, "--count", "30")
    for number, (kind, code) in enumerate(
        [(signal.SIGINT, 130), (signal.SIGKILL, -9), (signal.SIGTERM, 130)]
    ):
        before = len(list(folder.rglob("*.npz")))
        process = start(folder)
        wait_for_records(folder, before + 1 + number)
        (os.kill if kind == signal.SIGKILL else os.killpg)(process.pid, kind)
        _, err = process.communicate(timeout=30)
        assert process.returncode == code
        if code == 130:
            done = len(list(folder.rglob("*.npz")))
            sentence = f"interrupted: {done} of 30 samples are in {folder}; run the same command"
            assert err.splitlines()[-1] == f"fe_data: {sentence} again to continue"
        assert "Traceback" not in err
        assert not (folder / "dataset.csv").exists()
    done = len(list(folder.rglob("*.npz")))
    out = run(capsys, "generate", "train_uniform", "--out", folder, *QUICK, "--count", "30")[1]
    assert f"{30 - done} simulated in this run" in out
    assert (folder / "dataset.csv").read_bytes() == (tmp_path / "b" / "dataset.csv").read_bytes()
    assert run(capsys, "verify", folder)[0] == 0


@pytest.mark.slow
def test_further_interrupts_do_not_disturb_the_end(tmp_path):
    """Ctrl-C pressed again and again, from the first record until the process has ended."""
    process = start(tmp_path)
    wait_for_records(tmp_path, 1)
    limit = time.monotonic() + 60
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGINT if time.monotonic() < limit else signal.SIGKILL)
        time.sleep(0.01)
    err = process.communicate()[1]
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("fe_data: interrupted: ")
    assert "Traceback" not in err


def test_an_interrupt_after_the_end_of_a_command_changes_nothing():
    """Libraries end their threads and files at exit, which takes a while."""
    code = (
        "import atexit, os, signal, sys\n"
        "from fe_data.__main__ import run\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.argv[1:] = ['--version']\n"
        "run()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("fe_data ")


@pytest.mark.parametrize(
    ("missing", "arguments"), [("typer", ["verify", "."]), ("gmsh", RVE.replace("{}", "x").split())]
)
def test_without_a_package_one_sentence_says_what_to_install(missing, arguments):
    code = (
        f"import sys; sys.modules.update({missing}=None)\n"
        f"from fe_data.__main__ import main; sys.exit(main({arguments}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"pip install {missing}" in done.stderr
