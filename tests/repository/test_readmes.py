"""Every command, name and link in every README and guide is one that works.

Commands are the lines of fenced blocks, and what stands between backticks and starts like one.
The table says what makes a command short enough to be run here; of all others the target or the
options are checked.
"""

import importlib.util
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from docs import pictures
from figures.style import shows_something
from tests.repository.environments.slurm import scripts

ROOT = Path(__file__).parents[2]
FILES = [
    path
    for top in ROOT.iterdir()
    if top.name not in {".git", ".venv", "build", "data"}
    for path in ([top] if top.is_file() else top.rglob("*"))
]
# The changelog also tells what is gone.
PAGES = sorted(p for p in FILES if p.suffix == ".md" and p.name != "CHANGELOG.md")
READMES = [path for path in PAGES if path.name == "README.md" or path.parent == ROOT / "docs"]
SMALL = "--n-fibres 5 --increments 30"
STUDY = "--members 3 --epochs-scale 0.02"
HOW = {
    "$(make -s python) -m fe_data rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --seed 1 --out rve "
    "--xdmf": SMALL,
    "$(make -s python) -m fe_data generate train_beta --out data/train_beta --jobs 2": (
        f"--count 2 {SMALL}"
    ),
    "$(make -s python) -m fe_data rve --vf 0.40 --material glass_epoxy --strain -0.01 "
    "--increments 20 --out one": SMALL,
    "python -m fe_data envelope --material glass_epoxy_ly556_breaking --vf 0.62 --min-spacing 1.03 "
    "--n-fibres 5 --resolution 4 --drop 0.02 --out envelope": (
        "--points 2 --replicates 1 --n-fibres 2 --resolution 3"
    ),
    "python -m prior_study --out study.npz": f"{STUDY} --priors A",
    "python -m prior_study --out proper.npz --optimiser proper": STUDY,
}
MENTIONED = (
    r"(?<![\w./-])(?:[\w.-]+/)*[\w-]+\.(?:py|md|ipynb|sh)\b",
    r"`(?!figures/(?:full|quick))((?:bnn|bench|fe_data|figures|notebooks|studies|tests)/[\w./-]+)`",
)
OPTION = r"--[a-zA-Z][\w-]*"
NUMBER = r"\b\d+(?:\.\d+)?"
START = re.compile(r"(\$\(make -s python\)|python|make|pip|git|dask|sbatch|bash)( |$)")


def commands(path: Path) -> list[str]:
    """The commands of a page, comments and continuations taken out."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^```([^\n]*)\n(.*?)^```", text, re.M | re.S)
    shell = [block for language, block in blocks if language in {"", "bash", "sh"}]
    lines = [line for block in shell for line in block.replace("\\\n", "").splitlines()]
    outside = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    spans = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", outside)]
    lines_of_code = [re.sub(r"\s+#.*", "", line).strip() for line in lines]
    lines_of_code += [span for span in spans if START.match(span) and " " in span]
    return [" ".join(line.split()) for line in lines_of_code if START.match(line)]


ALL = sorted({command for path in READMES for command in commands(path)})


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    """Run a command as a user does, with files going to a folder of their own."""
    python = shlex.quote(sys.executable)
    line = command.replace("$(make -s python)", python)
    line = re.sub(r"^python\b", python, line)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_names_that_a_page_mentions_exist(page):
    """A path may leave out the folders that lead to it; scripts to copy are no files."""
    text = page.read_text(encoding="utf-8")
    mentioned = (path for pattern in MENTIONED for path in re.findall(pattern, text))
    paths = {re.sub(r"^(\.\./)+", "", path).rstrip("/") for path in mentioned} - set(
        scripts(jobs=1)
    )
    assert {p for p in paths if not any(file.match(p) for file in FILES)} == set()
    for name in re.findall(r"`((?:bnn|fe_data|figures|prior_study)(?:\.\w+)+)[`(]", text):
        pkgutil.resolve_name(name)
    for name in re.findall(r"\]\((?!\w+:)([^)#]+)", text):
        assert (page.parent / name).exists(), name


@pytest.mark.slow
@pytest.mark.parametrize("command", HOW)
def test_it_runs(command, tmp_path):
    assert command in ALL
    done = run(f"{command} {HOW[command]}", tmp_path)
    # The guide says that its curve is no power law.
    assert done.returncode == int("the power law does not describe" in done.stderr), done.stderr
    name = command.split("--out ")[1].split()[0]
    assert (tmp_path / name).exists()


def program_help(words: list[str], monkeypatch, capsys) -> str:
    """Help of the module, and of its subcommand, that a command calls; it runs in this process."""
    module, *rest = words[words.index("-m") + 1 :]
    if module == "figures.pipeline.arithmetic":  # which runs the module behind the next -m
        module, *rest = rest[1:]
    subcommand = rest[:1] if module == "fe_data" and not rest[0].startswith("-") else []
    monkeypatch.setattr(sys, "argv", [module, *subcommand, "--help"])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as done:
        runpy.run_module(module, run_name="__main__")
    assert not done.value.code
    return capsys.readouterr().out


def has_what_it_needs(words: list[str], monkeypatch, capsys) -> None:
    """Check that a program has the options of a command, and the command what it must have.

    In the usage of a program this stands without brackets, arguments before options.
    """
    text = program_help(words, monkeypatch, capsys)
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert options <= set(re.findall(OPTION, text))
    usage = text.partition("\n\n")[0] if text.startswith("usage:") else ""
    while "[" in usage:
        usage = re.sub(r"\[[^][]*\]", "", usage)
    assert set(re.findall(OPTION, usage)) <= options
    arguments = usage.partition("--")[0].split()[1:]
    name = next((i for i, word in enumerate(arguments) if word.endswith((".py", words[2]))), 0)
    is_option = [word.startswith("-") for word in words[3:]]
    assert len(arguments[name + 1 :]) <= [*is_option, True].index(True)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", [c for c in ALL if c not in HOW])
def test_its_target_and_options_exist(command, monkeypatch, capsys):
    words = shlex.split(command.replace("$(make -s python)", "python"))
    if words[0] == "make":
        done = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        values = dict(word.partition("=")[::2] for word in words[2:])
        study = f"studies.{values.get('NAME', '')}"
        if values and words[1] == "study" and importlib.util.find_spec(f"{study}.__main__"):
            words = ["python", "-m", study, *shlex.split(values.get("ARGS", ""))]
            has_what_it_needs(words, monkeypatch, capsys)
    elif words[:2] == ["python", "-m"] and words[2] != "pip":
        assert importlib.util.find_spec(words[2])
        if words[3:]:
            has_what_it_needs(words, monkeypatch, capsys)
    else:
        assert words[0] in ("pip", "dask", "sbatch", "git")


@pytest.mark.slow
def test_the_python_of_the_readmes_runs_and_prints_what_stands_below_it(capsys):
    """Numbers are those of a mesh and of a search: their last digits are another machine's."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.S)
    assert ["import bnn" in code for code, _ in blocks] == [True, False]
    for code, printed in blocks:
        exec(compile(code, "README.md", "exec"), {})
        said = capsys.readouterr().out
        numbers = [
            [float(n) for n in re.findall(NUMBER, text_block)] for text_block in (said, printed)
        ]
        assert re.sub(NUMBER, "", said) == re.sub(NUMBER, "", printed)
        assert numbers[0] == pytest.approx(numbers[1], rel=0.01, abs=0.1)
    text = (ROOT / "fe_data" / "README.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(code, "fe_data/README.md", "exec"), {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("paths.md", r"\(1, 100, 3\)\n"),
        ("active_learning.md", r"\[(0\.\d+ *){3}\]\n"),
        ("fe_data.md", r"(?s)\(50, 4\) \(50, 5\)\n.+\n\(3,\) \(3, 3\)\n.+"),
    ],
)
def test_the_python_of_a_guide_runs(page, printed, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fe_data").symlink_to(ROOT / "fe_data")
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    names = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        if "fields.bin" not in code:  # of which there is a test in tests/fe_data/fields
            exec(compile(code, page, "exec"), names)
    assert re.fullmatch(printed, capsys.readouterr().out)


SMALLER = {  # composites of few fibres with few increments: what is replaced in the page
    "increments=20": "increments=6",
    "sizes = [10, 20, 40]": "sizes = [2, 3]",
    "(12, 1)), n,": "(3, 1)), n,",
    ".random(40)": ".random(12)",
    "[0.55, 3.8": "[0.44, 3.8",
    "[[0.50, 3.2": "[[0.42, 3.2",
    "X, 20, seed": "X, 8, seed",
    ":30]": ":9]",
    "[30:]": "[9:]",
    "-10:]": "-3:]",
    "(5, 1)), 20, seed": "(5, 1)), 8, seed",
    "jobs=2": "jobs=1",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_the_python_of_an_own_composite_runs_and_prints_the_lines_of_the_page(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "own_composite.md"
    code = pictures.page_code(page)
    for old, smaller in SMALLER.items():
        assert old in code
        code = code.replace(old, smaller)
    names = {}
    exec(compile(code, "own_composite.md", "exec"), names)
    text = page.read_text(encoding="utf-8")
    printed = "".join(re.findall(r"```python\n[^`]*```\n\n```\n(.*?)```", text, re.S))
    quoted, said = (
        {re.sub(NUMBER, "#", line) for line in output.splitlines()}
        for output in (printed, capsys.readouterr().out)
    )
    assert said == quoted
    assert len(quoted) == 4
    # Nine RVEs of eight fibres were learnt, which carry about 80 MPa.
    assert np.sqrt(np.mean(names["error"] ** 2)) < 10.0
    assert (np.diff(names["check"]) > 0.0).all()
    assert names["check"][:, -1] == pytest.approx(-names["mean"][0, -1], rel=0.15)
    figure = pictures.own_composite(names)
    assert all(shows_something(axes) for axes in figure.axes)
    plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "others", "options"),
    [
        ("vf,E_f_GPa,b_m_MPa,c_m", "400,400,0.4", ""),
        ("vf,matrix.elasticity.E_GPa", "3.1", "--material glass_epoxy --loading -0.002,free,free"),
    ],
    ids=["paper", "material"],
)
def test_the_array_job_of_fe_data_makes_the_table(tmp_path, head, others, options):
    """Two jobs instead of a hundred, in the wrong order, on four small RVEs."""
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (job,) = [b for b in re.findall(r"```bash\n(.*?)```", text, re.S) if "#SBATCH" in b]
    rows = "".join(f"0.{digit},{others}\n" for digit in (1, 2, 3, 4))
    (tmp_path / "design.csv").write_text(f"{head}\n{rows}", encoding="utf-8")
    run = '"$PYTHON" -m fe_data generate'
    small = f"{run} {SMALL} {options}"
    job = job.replace("/100", "/2").replace("python -m fe_data generate", small)
    whole = (
        f'"$PYTHON" -m fe_data generate --inputs design.csv --out whole --jobs 2 {SMALL} {options}'
    )
    for number, script in ((2, job), (1, job), (0, whole)):
        variables = {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
        environment = {**os.environ, **variables, "SLURM_ARRAY_TASK_ID": str(number)}
        subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True)
    tables = [(tmp_path / name / "dataset.csv").read_bytes() for name in ("rves", "whole")]
    assert tables[0] == tables[1]
    assert tables[0].count(b",ok\n") == 4
