"""Run the scripts of docs/cluster.md on a Slurm cluster.

    python -m tests.repository.environments.slurm

A controller and four nodes of one core speak over 127.0.0.1, with a folder of their own, in
namespaces that end with this process, however it ends. A node is a namespace too: to kill it kills
what runs on it, as a power cut does. The one change to the scripts is the number of jobs. All
tables have to be that of one process, byte for byte; times are printed.
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fe_data import load_table
from fe_data.dataset import storage
from fe_data.schema import INPUT_NAMES
from tests.repository.environments.common import (
    NAMESPACES,
    ROOT,
    Unavailable,
    refuse_impossible,
    say,
)

GUIDE = ROOT / "docs" / "cluster.md"
JOBS_OF_GUIDE = "100"
TABLE = ROOT / "fe_data" / "datasets" / "train_beta.csv"
RVES = 12
NODES = ("n1", "n2", "n3", "n4")
PROGRAMS = {"slurmctld": "slurm-wlm", "munged": "munge"}
# A dead node is noticed after ten seconds, and its jobs start elsewhere after ten more.
CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
SlurmUser=root
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdTimeout=10
KillWait=2
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdParameters=config_overrides
"""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [server.getsockname()[1] for server in servers]


def until(ready: Callable[[], bool], what: str, seconds: float = 900.0) -> None:
    """Wait for something; AssertionError where it does not come."""
    limit = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < limit, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)


@dataclasses.dataclass
class Cluster:
    """A running Slurm, whose programs find it by the environment."""

    folder: Path
    nodes: dict[str, subprocess.Popen[bytes]] = dataclasses.field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """That of a user who has activated the environment of this process."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        modules = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        return os.environ | {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": path,
            "PYTHONPATH": modules,
            "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",  # as jobqueue.yaml of a cluster would say
        }

    def start(self) -> None:
        """Start all daemons, and wait until every node is idle."""
        munge = self.folder / "munge"
        munge.mkdir(mode=0o700)
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
        door = self.folder / "munge.socket"
        # Forced, since /tmp may be written by everybody.
        self._daemon("munged", "--foreground", "--force", f"--socket={door}", *files)
        until(door.exists, "the socket of munge", seconds=90)
        controller, *ports = free_ports(1 + len(NODES))
        lines = [CONFIGURATION.format(folder=self.folder, port=controller)]
        for port, node in zip(ports, NODES, strict=True):
            place = f"NodeHostname=localhost NodeAddr=127.0.0.1 Port={port}"
            lines.append(f"NodeName={node} {place} CPUs=1 RealMemory=2000\n")
        lines.append("PartitionName=all Nodes=ALL Default=YES\n")
        (self.folder / "slurm.conf").write_text("".join(lines), encoding="utf-8")
        (self.folder / "state").mkdir()
        self._daemon("slurmctld", "-D")
        for node in NODES:
            self.boot(node)

    def boot(self, node: str) -> None:
        """Start a node, and wait until jobs can be sent to it."""
        # The shell stays, since orphans go to the first process of a namespace.
        command = ["bash", "-c", f"slurmd -D -N {node}; exit $?"]
        self.nodes[node] = self._daemon(*NAMESPACES, *command)
        state = ["sinfo", "--noheader", "--nodes", node, "--format=%T"]
        until(lambda: self.output(*state) == "idle", f"node {node}", seconds=90)

    def kill(self, node: str) -> None:
        """Cut the power of a node."""
        self.nodes[node].kill()
        self.nodes[node].wait()

    def output(self, *command: str) -> str:
        """What a program of Slurm prints; "no answer" where the controller gives none."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else "no answer"

    def is_idle(self) -> bool:
        """Whether no job is there."""
        return self.output("squeue", "--noheader", "--format=%i") == ""

    def _daemon(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "daemons.log").open("ab") as log:
            return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)


def scripts(jobs: int) -> dict[str, str]:
    """Scripts of the guide by their names, for a number of jobs."""
    text = GUIDE.read_text(encoding="utf-8")
    scripts_of_page = re.findall(
        r"`([\w.]+)`[^`]*\n\n```(?:bash|python)\n(.*?)^```", text, re.M | re.S
    )
    return {name: code.replace(JOBS_OF_GUIDE, str(jobs)) for name, code in scripts_of_page}


def work_folder(parent: Path, name: str, jobs: int = 1) -> Path:
    """A folder with the design and the scripts."""
    folder = parent / name
    folder.mkdir()
    rows = load_table(TABLE).inputs[:RVES].tolist()
    lines = [",".join(INPUT_NAMES), *(",".join(map(repr, row)) for row in rows)]
    (folder / "design.csv").write_text("\n".join(lines), encoding="utf-8")
    for script, code in scripts(jobs).items():
        (folder / script).write_text(code, encoding="utf-8")
    return folder


def table(folder: Path) -> Path:
    """The table of the RVEs in a work folder."""
    return folder / "rves" / storage.TABLE


def part_is_done(folder: Path) -> bool:
    """Whether a sixth of the RVEs is there; AssertionError where all are: it was too fast."""
    assert not table(folder).exists(), "the RVEs were there before anything was killed"
    return len(list((folder / "rves" / storage.RECORDS).glob("*/*.npz"))) >= RVES // 6


def kill_a_node_and_a_job(cluster: Cluster) -> None:
    """Cut the power of one node, and cancel the job of another."""
    cluster.kill("n2")
    (job,) = cluster.output("squeue", "--noheader", "--nodelist=n3", "--format=%A").split()
    cluster.output("scancel", job)


def kill_a_node(cluster: Cluster) -> None:
    """Cut the power of one node."""
    cluster.kill("n3")


def perform(
    cluster: Cluster, folder: Path, command: list[str], disturb: Callable[[Cluster], None] | None
) -> float:
    """Run a command in a work folder; seconds until the table is there."""

    def has_ended() -> bool:
        return program.poll() is not None and cluster.is_idle()

    start = time.monotonic()
    program = subprocess.Popen(command, cwd=folder, env=cluster.environment)
    if disturb is not None:
        until(lambda: has_ended() or part_is_done(folder), "a sixth of the RVEs")
        disturb(cluster)
    assert program.wait() == 0, f"{command} ended with exit status {program.returncode}"
    until(table(folder).exists, "the table")
    seconds = time.monotonic() - start
    until(cluster.is_idle, "the end of all jobs")
    for node in NODES:
        if cluster.nodes[node].poll() is not None:
            cluster.boot(node)
    return seconds


def run(folder: Path) -> None:
    """Start the cluster in a folder, run everything, compare all tables; inside the namespaces."""
    cluster = Cluster(folder)
    cluster.start()
    say(cluster.output("sinfo", "--Node", "--long"))
    alone = [sys.executable, "-m", "fe_data", "generate", "--inputs", "design.csv"]
    alone += ["--out", "rves", "--jobs", "1"]
    array = ["bash", "send.sh"]
    dask = [sys.executable, "dask_rves.py"]
    runs = [("one process, no Slurm", alone, 1, None)]
    runs += [(f"array of {jobs}", array, jobs, None) for jobs in (1, 2, 4)]
    runs += [("array of 4; a node and a job killed", array, 4, kill_a_node_and_a_job)]
    runs += [(f"Dask, workers: {jobs}", dask, jobs, None) for jobs in (1, 2, 4)]
    runs += [("4 Dask workers; a node killed", dask, 4, kill_a_node)]
    expected = None
    for name, command, jobs, disturb in runs:
        work = work_folder(folder, name.replace(" ", "-"), jobs)
        seconds = perform(cluster, work, command, disturb)
        content = table(work).read_bytes()
        expected = expected or content
        assert content == expected, f"{name}: another table than that of one process"
        say(f"{name}: {RVES} RVEs in {seconds:.0f} s, the same table")


def main(argv: list[str]) -> int:
    """Run the test environment, or say why it cannot be run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--inside", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    inside = parser.parse_args(argv).inside
    if inside:  # the namespaces
        run(inside)
        return 0
    try:
        refuse_impossible(PROGRAMS)
        for module in ("dask_jobqueue", "dolfinx"):
            if importlib.util.find_spec(module) is None:
                raise Unavailable(f"the package {module} is missing")
    except Unavailable as error:
        say(f"Slurm not run: {error}")
        return 0
    # In /tmp, since paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:
        inner = shlex.join(
            [sys.executable, "-m", "tests.repository.environments.slurm", "--inside", folder]
        )
        # This process may be killed: then the kernel kills unshare, and with it all others.
        command = ["setpriv", "--pdeathsig", "KILL", *NAMESPACES]
        done = subprocess.run([*command, "bash", "-c", f"{inner}; exit $?"], cwd=ROOT)
        if done.returncode:
            for log in sorted(Path(folder).rglob("*.log")):
                lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
                print(f"== {log}", *lines[-15:], sep="\n")
    say("Slurm: FAILED" if done.returncode else "Slurm: passed")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
