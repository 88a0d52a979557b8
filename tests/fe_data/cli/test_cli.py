"""The command line: what it makes, its exit codes, and one exact sentence for every bad input."""

import errno
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
from fe_data.dataset.design import NAMED_DESIGNS
from fe_data.dataset.table import load_table
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell

ROOT = Path(__file__).parents[3]
QUICK = ["--count", "4", "--increments", "4", "--jobs", "2"]


def run(capsys, *arguments, cell=None):
    code = main([str(argument) for argument in arguments], simulator=cell or AnalyticCell())
    return code, *capsys.readouterr()


def test_generate_writes_the_table_and_reports(tmp_path, capsys):
    code, out, err = run(capsys, "generate", "test_uniform", "--out", tmp_path, *QUICK)
    assert code == 0
    assert out == f"{tmp_path}: 4 ok; 4 simulated in this run\nwrote {tmp_path / 'dataset.csv'}\n"
    assert re.fullmatch(r"0/4 samples, .* left\n4/4 samples, .*s/sample, 00:00 left\n", err)
    code, out, err = run(capsys, "generate", "test_uniform", "--out", tmp_path, *QUICK)
    assert (code, err) == (0, "")
    assert "0 simulated" in out


def test_generate_says_which_fits_are_poor(tmp_path, capsys):
    def cell(inputs, seed, settings):
        found = AnalyticCell()(inputs, seed, settings)
        found.info["warning"] = "" if inputs.vf < 0.2 else "b_eff extrapolates"
        return found

    code, out, _ = run(capsys, "generate", "test_uniform", "--out", tmp_path, *QUICK, cell=cell)
    assert code == 0
    dense = [
        i for i, vf in enumerate(load_table(tmp_path / "dataset.csv").inputs[:, 0]) if vf >= 0.2
    ]
    assert 0 < len(dense) < 4
    said = f"{len(dense)} samples have a warning (first: sample {dense[0]}, b_eff extrapolates)"
    assert out.splitlines()[-1] == said


def test_settings_reach_the_simulator_and_the_configuration(tmp_path, capsys):
    options = ["--strain", "0.02", "--n-fibres", "7", "--E-m-GPa", "70", "--seed", "5"]
    assert run(capsys, "generate", "noise", "--out", tmp_path, *QUICK, *options)[0] == 0
    config = json.loads((tmp_path / storage.CONFIG).read_text())
    assert config["settings"]["strain"] == 0.02
    assert config["settings"]["E_m_GPa"] == 70
    assert config["seed"] == 5
    arrays = record.decode_arrays(storage.record_path(tmp_path, 0).read_bytes())
    assert arrays["strain"][-1, 0] == 0.02
    assert arrays["fibre_centres"].shape == (7, 2)


def test_a_dataset_can_be_simulated_again(tmp_path, capsys):
    run(capsys, "generate", "replicates", "--out", tmp_path / "a", "--microstructures", "2", *QUICK)
    table = tmp_path / "a" / "dataset.csv"
    options = ["--increments", "4", "--jobs", "2"]
    code = run(capsys, "generate", "--inputs", table, "--out", tmp_path / "b", *options)[0]
    again = tmp_path / "b" / "dataset.csv"
    assert code == 0
    rows = [path.read_text().splitlines() for path in (table, again)]
    assert len(rows[0]) == 9
    first, second = ([row.split(",")[2:7] for row in table] for table in rows)
    assert first == second


def test_shards_report_what_is_missing(tmp_path, capsys):
    command = ["generate", "test_uniform", "--out", tmp_path, *QUICK]
    code, out, _ = run(capsys, *command, "--shard", "2/2")
    assert code == 0
    assert "no table yet: 2 samples of other shards are missing (first: 0, 2)" in out
    assert "wrote" in run(capsys, *command, "--shard", "1/2")[1]


def test_failed_samples_give_exit_code_1(tmp_path, capsys):
    def cell(*_):
        raise ArithmeticError("no solution")

    code, out, err = run(capsys, "generate", "noise", "--out", tmp_path, *QUICK, cell=cell)
    assert code == 1
    assert "60 failed" in out
    assert err.endswith(f"fe_data: 60 samples failed: see {tmp_path / 'failures.csv'}\n")


def test_verify_lists_what_is_wrong(tmp_path, capsys):
    run(capsys, "generate", "test_uniform", "--out", tmp_path, *QUICK)
    code, out, _ = run(capsys, "verify", tmp_path)
    assert (code, out) == (0, f"{tmp_path}: 4 records and the table are right (4 ok)\n")
    table = tmp_path / "dataset.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([*lines[:3], lines[3].replace("2,", "3,", 1), *lines[4:]]))
    (tmp_path / "records" / "0000" / "stray.npz").touch()
    code, out, err = run(capsys, "verify", tmp_path)
    assert code == 1
    changed = "dataset.csv, line 4: not what the records hold"
    assert out.splitlines() == ["records/0000/stray.npz: belongs to no sample", changed]
    (tmp_path / "records" / "0000" / "stray.npz").unlink()
    code, out, err = run(capsys, "verify", tmp_path)
    assert (code, out) == (1, f"{changed}\n")
    assert err == f"fe_data: {tmp_path}: 1 problems\n"
    table.unlink()
    storage.record_path(tmp_path, 1).unlink()
    out = run(capsys, "verify", tmp_path)[1]
    assert out.splitlines() == ["sample 1: no record", "dataset.csv is missing"]


@pytest.mark.parametrize("row", [1, 2])
def test_verify_sees_a_damaged_table_beside_a_damaged_record(tmp_path, capsys, row):
    """Record 1 cannot be read: the checksum in provenance.json knows its row."""
    run(capsys, "generate", "test_uniform", "--out", tmp_path, *QUICK)
    damaged = storage.record_path(tmp_path, 1)
    damaged.write_bytes(damaged.read_bytes()[:-30])
    (unread,) = run(capsys, "verify", tmp_path)[1].splitlines()
    assert unread.startswith("sample 1: ")
    table = tmp_path / "dataset.csv"
    lines = table.read_text().splitlines(keepends=True)
    lines[row + 1] = lines[row + 1].replace(",ok", ",retried")
    table.write_text("".join(lines))
    problems = run(capsys, "verify", tmp_path)[1].splitlines()
    assert "provenance.json: not the checksum of dataset.csv" in problems
    assert (f"dataset.csv, line {row + 2}: not what the records hold" in problems) == (row == 2)


def test_verify_notices_inputs_and_seeds_of_another_design(tmp_path, capsys):
    run(capsys, "generate", "test_uniform", "--out", tmp_path, *QUICK)
    for name, problem in (
        ("seed", "sample 2: seed = 7 is not that of the configuration"),
        ("group", "the records' inputs are not those of the configuration"),
    ):
        path = storage.record_path(tmp_path, 2)
        original = path.read_bytes()
        changed = record.decode_header(original) | {name: 7}
        path.write_bytes(record.encode(changed, record.decode_arrays(original)))
        assert problem in run(capsys, "verify", tmp_path)[1].splitlines()
        path.write_bytes(original)


GENERATE = "generate noise --out {}"
RVE = "rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --out {}"
# Command, option, values beyond the range, name in the message, and how the message goes on.
RANGES = [
    (GENERATE, "--jobs", (0, -3, 5000), "jobs", "are integers in [1, 4096]"),
    (GENERATE, "--seed", (-1,), "seed", "are integers in [0, "),
    (GENERATE, "--count", (0, 2000000), "count", "are integers in [1, 1000000]"),
    (GENERATE, "--microstructures", (0,), "microstructures", "are integers in [1, "),
    (GENERATE, "--resolution", (0.5, float("nan"), 25.1), "resolution", "is [1, 25]"),
    (GENERATE, "--n-fibres", (0,), "n_fibres", "is [1, 1000]"),
    (GENERATE, "--min-spacing", (0.9,), "min_spacing", "is ["),
    (GENERATE, "--increments", (3,), "increments", "is [4, 10000]"),
    (GENERATE, "--strain", (0.0, float("inf")), "strain", "is [0.0001, 0.5]"),
    (GENERATE, "--nu-m", (0.5,), "nu_m", "is [0, 0.49]"),
    (GENERATE, "--a-MPa", (-400.0,), "a_MPa", "is "),
    (GENERATE, "--tolerance", (1.0,), "tolerance", "is [1e-12, "),
    (RVE, "--vf", (0.6, -0.1, 0.001, float("nan")), "vf", "is 0 or [0.005, 0.5]"),
    (RVE, "--E-f", (0.0,), "E_f_GPa", "is [1, "),
    (RVE, "--b-m", (-1.0,), "b_m_MPa", "is "),
    (RVE, "--c-m", (0.0,), "c_m", "is [0.01, 1]"),
    (RVE, "--seed", (-1,), "seed", "are integers in [0, "),
    (RVE, "--strain", (9.0,), "strain", "is [0.0001, 0.5]"),
]
# Command, option, text that cannot be read, and what the message says of it.
UNREADABLE = [
    (GENERATE, "--jobs", ("two", "1.5"), "is not an integer"),
    (GENERATE, "--seed", ("x",), "is not an integer"),
    (GENERATE, "--n-fibres", ("3.5",), "is not an integer"),
    (GENERATE, "--resolution", ("fine",), "is not a number"),
    (GENERATE, "--shard", ("0/4", "5/4"), "is out of range: allowed are 1/n to n/n"),
    (GENERATE, "--shard", ("1", "a/b", "1/2/3"), "is not of the form i/n, such as 1/4"),
    (RVE, "--vf", ("much", "--E-f"), "is not a number"),
]
BAD_COMMANDS = [
    *(
        (f"{command} {option} {value}", f"{name} = {value} is out of range: allowed {allowed}")
        for command, option, values, name, allowed in RANGES
        for value in values
    ),
    *(
        (f"{command} {option} {text}", f"'{text}' {said}")
        for command, option, texts, said in UNREADABLE
        for text in texts
    ),
    ("generate noise", "fe_data generate: Missing option '--out'"),
    ("", "fe_data: Missing command"),
    ("simulate", "fe_data: No such command 'simulate'"),
    ("generate --out {}", f"fe_data: give either a design ({', '.join(NAMED_DESIGNS)}) or "),
    ("generate noise --inputs x.csv --out {}", "fe_data: give either a design ("),
    ("generate beta --out {}", "fe_data: name = 'beta' is no design: allowed are test_uniform, "),
    ("generate --out --jobs 2 noise", "'--out': a path is missing before --jobs"),
    (f"{GENERATE} --jobs", "Option '--jobs' requires an argument"),
    (f"{GENERATE} --job 2", "fe_data generate: No such option: --job"),
    (f"{GENERATE} --dask tcp://x --jobs 2", "fe_data: --jobs counts local processes"),
    ("generate --inputs missing.csv --out {}", "fe_data: No such file or directory: missing.csv"),
    ("generate --inputs {} --out {}/new", "fe_data: {} is a folder: a regular file is needed"),
    (
        "generate --inputs {}/bad.csv --out {}/new",
        "fe_data: {}/bad.csv, line 2: vf = 'x' is not a n",
    ),
    (
        "generate --inputs {}/bad.csv --count 3 --out {}/new",
        "fe_data: --count sizes a named design",
    ),
    (
        "generate --inputs {}/good.csv --microstructures 0 --out {}/new",
        "fe_data: microstructures = 0 is out of range: allowed are integers in [1, 1000000]",
    ),
    (
        "generate --inputs {}/other/dataset.csv --out {}/other",
        "fe_data: --inputs {}/other/dataset.csv is the table that --out would replace",
    ),
    (f"{GENERATE}/other", "fe_data: {}/other holds dataset.csv, which is not of a data"),
    (f"{GENERATE}/bad.csv", "fe_data: File exists: {}/bad.csv"),
    (f"{GENERATE}/bad.csv/sub", "fe_data: Not a directory: {}/bad.csv/sub"),
    ("rve --vf 0.3 --out {}", "fe_data rve: Missing option '--E-f'"),
    ("rve --loading free,0.05,x --out {}", "'--loading': 'x' is not a number"),
    ("rve --solver abaqus --out {}", "'abaqus' is not one of 'compiled', 'dolfinx'"),
    (f"{RVE} --vf -1e-3", "vf = -0.001 is out of range"),
    ("compare {}", "fe_data compare: Missing argument 'REFERENCE.csv'"),
    ("compare {} missing.csv", "fe_data: No such file or directory: {}/dataset.csv"),
    (
        "compare {}/bad.csv {}/bad.csv",
        "bad.csv, line 1: column b_eff_MPa, c_eff, E_eff_GPa, nu_eff, p_",
    ),
    ("compare {}/failed.csv {}/failed.csv", "fe_data: the dataset has no sample with outputs"),
    (
        "compare {}/failed.csv {}/failed.csv --tolerance 1e-6",
        "fe_data: the dataset has no sample with outputs",
    ),
    ("verify", "fe_data verify: Missing argument 'DIR'"),
    ("import-authors {}", "fe_data import-authors: Missing argument 'OUT'"),
    ("import-authors {} {}/out", "fe_data: {} holds no .pkl file"),
    ("import-authors missing.pkl {}/out", "fe_data: No such file or directory: missing.pkl"),
]


def test_bad_commands_get_one_sentence_and_change_nothing(tmp_path, capsys):
    (tmp_path / "bad.csv").write_text("vf,E_f_GPa,b_m_MPa,c_m\nx,400,350,0.4\n")
    (tmp_path / "good.csv").write_text("vf,E_f_GPa,b_m_MPa,c_m\n0.2,400,350,0.4\n")
    outputs = "b_eff_MPa,c_eff,E_eff_GPa,nu_eff,p_sigma"
    failed = f"vf,E_f_GPa,b_m_MPa,c_m,{outputs},status\n0.2,400,350,0.4,,,,,,failed\n"
    (tmp_path / "failed.csv").write_text(failed)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "dataset.csv").write_text("vf,E_f_GPa,b_m_MPa,c_m\n0.2,400,350,0.4\n")
    before = sorted(tmp_path.rglob("*"))
    for command, message in BAD_COMMANDS:
        code, out, err = run(capsys, *command.replace("{}", str(tmp_path)).split())
        assert code in (1, 2), command
        assert out == "", command
        assert err.startswith("fe_data"), command
        assert message.replace("{}", str(tmp_path)) in err, command
        assert err.count("\n") == 1, command
        assert sorted(tmp_path.rglob("*")) == before, command


def test_verify_of_something_else_says_so(tmp_path, capsys):
    code, out, _ = run(capsys, "verify", tmp_path)
    assert (code, out) == (1, f"{tmp_path} is not a dataset folder: it has no config.json\n")


def test_a_folder_that_cannot_be_written_gets_one_sentence(tmp_path, capsys, monkeypatch):
    def refuse(path, _):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(record, "write_atomic", refuse)
    code, _, err = run(capsys, "generate", "noise", "--out", tmp_path, *QUICK)
    assert (code, err) == (1, f"fe_data: Read-only file system: {tmp_path / 'config.json'}\n")


def start(folder, seconds, *options):
    environment = os.environ | {"CELL_SECONDS": str(seconds)}
    command = [sys.executable, "-m", "tests.fe_data.analytic_cell", "generate", "train_uniform"]
    return subprocess.Popen(
        [*command, "--out", str(folder), "--increments", "4", "--jobs", "2", *options],
        cwd=ROOT,
        env=environment,
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
        process = start(folder, 0.2, "--count", "30")
        wait_for_records(folder, before + 1 + number)
        (os.kill if kind == signal.SIGKILL else os.killpg)(process.pid, kind)
        _, err = process.communicate(timeout=30)
        assert process.returncode == code
        if code == 130:
            done = len(list(folder.rglob("*.npz")))
            sentence = f"interrupted: {done} of 30 samples are in {folder}; the same command does"
            assert err.splitlines()[-1] == f"fe_data: {sentence} the rest"
        assert "Traceback" not in err
        assert not (folder / "dataset.csv").exists()
    done = len(list(folder.rglob("*.npz")))
    out = run(capsys, "generate", "train_uniform", "--out", folder, *QUICK, "--count", "30")[1]
    assert f"{30 - done} simulated in this run" in out
    assert (folder / "dataset.csv").read_bytes() == (tmp_path / "b" / "dataset.csv").read_bytes()
    assert run(capsys, "verify", folder)[0] == 0


def test_further_interrupts_do_not_disturb_the_end(tmp_path):
    """Ctrl-C pressed again and again, from the first record until the process has ended."""
    process = start(tmp_path, 0.2, "--count", "30")
    wait_for_records(tmp_path, 1)
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.01)
    err = process.communicate()[1]
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("fe_data: interrupted: ")
    assert "Traceback" not in err


def test_a_file_system_at_its_limit_stops_in_one_sentence(tmp_path, capsys):
    """The kernel itself refuses to write: the size of any file is limited to 4 kB."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from fe_data.__main__ import main; from tests.fe_data.analytic_cell import AnalyticCell\n"
        "sys.exit(main(simulator=AnalyticCell()))"
    )
    command = ["generate", "train_uniform", "--out", str(tmp_path), "--count", "4"]
    process = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode == 1
    assert re.fullmatch(
        r"fe_data: stopped: File too large \(.*\): 0 of 4 samples are in .*",
        process.stderr.splitlines()[-1],
    )
    assert "Traceback" not in process.stderr
    assert list(tmp_path.rglob("*.tmp")) == []
    assert run(capsys, *command)[0] == 0


def test_commands_that_need_no_mechanics_start_without_them():
    code = (
        "import sys; sys.modules.update(dolfinx=None, gmsh=None, petsc4py=None)\n"
        "from fe_data.__main__ import main\n"
        "sys.exit(main(['--help']) or main(['generate', '--help']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_without_the_extra_one_sentence_says_what_to_install():
    cell = ["rve", "--vf", "0.1", "--E-f", "400", "--b-m", "400", "--c-m", "0.4", "--out", "x"]
    for missing, arguments in (("typer", ["verify", "."]), ("gmsh", cell)):
        code = (
            f"import sys; sys.modules.update({missing}=None)\n"
            f"from fe_data.__main__ import main; sys.exit(main({arguments}))"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.startswith("fe_data: ")
        assert "pip install '.[fe]'" in done.stderr
        assert done.stderr.count("\n") == 1


def test_help_names_every_setting(capsys):
    out = run(capsys, "generate", "--help")[1]
    for name in Settings.__dataclass_fields__:
        assert f"--{name.replace('_', '-')} " in out
