"""The estimators that are compared, the data that each is given, and the lines a user writes."""

import ast
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LIBRARIES = Path(__file__).with_name("libraries")
# What an estimator is given.
CELLS = "the training RVEs"
NOISE = "and the paper's noise"
REPLICATES = "and replicates"
FIELDS = "and a mean-field model"
# What it assumes of the noise: rows with the same words are of equal noise models.
ONE = "constant"
BY_INPUT = "input-dependent"
GIVEN = "given"
FOUND = "estimated: constant, input-dependent or heavy-tailed"
INTERVALS = "intervals only"


@dataclass(frozen=True)
class Peer:
    """An estimator: a class of a file of `libraries`, which runs in the library's environment.

    Results of another `version` do not count as those of the estimator as it is now: until it has
    run again they are shown as of an older one, and no verdict rests on them. Raise the version
    with whatever changes results: the class or what it uses of its file, the pins of its library,
    which `digest` tells, and for ours whatever it calls of `bnn` and `figures`, which nothing here
    notices.
    """

    library: str
    kind: str
    noise: str
    knows: str = CELLS
    # At most, of a problem: fewer where fits take longest, which are those of networks in function
    # space on the larger sets, and where nine settings are fitted, 128 s with 25 cells.
    splits: int = 24
    public: bool = False  # whether it runs on public sets too
    version: int = 1

    @property
    def name(self) -> str:
        """What it is called in the results."""
        return f"{self.library}.{self.kind}"

    @property
    def source(self) -> Path:
        """The file."""
        return LIBRARIES / f"{self.library}.py"

    @property
    def ours(self) -> bool:
        """Whether it is of this repository, and needs no environment of its own."""
        return self.library == "ours"

    @cached_property
    def code(self) -> list[ast.stmt]:
        """The class, after what it uses of its file, imports too."""
        wanted = {self.kind}
        used = []
        for statement in reversed(ast.parse(self.source.read_text(encoding="utf-8")).body):
            named = {
                (a.asname or a.name).partition(".")[0] for a in getattr(statement, "names", [])
            }
            named |= {target.id for target in getattr(statement, "targets", [])}
            if wanted & (named | {getattr(statement, "name", "")}):
                used.insert(0, statement)
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        return used

    @property
    def digest(self) -> str:
        """Checksum of the class with what it uses of its file, and of the pins of its library."""
        pins = self.source.with_suffix(".txt")
        text = self.source.read_text(encoding="utf-8")
        parts = [ast.get_source_segment(text, statement) for statement in self.code]
        parts += [pins.read_text(encoding="utf-8")] if pins.is_file() else []
        code = zlib.crc32("\n".join(map(str, parts)).encode())
        return f"{code:08x}"

    @property
    def label(self) -> str:
        """The docstring of the class, without its point."""
        return ast.get_docstring(self.code[-1]).rstrip(".")

    @property
    def lines(self) -> int:
        """Lines of code, one for each statement; docstrings, of one line each, do not count."""
        lines = [line.strip() for each in self.code for line in ast.unparse(each).splitlines()]
        return len([line for line in lines if line and not line.startswith('"""')])


PEERS = (
    Peer("ours", "Default", FOUND, public=True, version=3),
    Peer("ours", "ExactConstant", ONE, public=True, version=2),
    Peer("ours", "ExactByInput", BY_INPUT, public=True, version=2),
    Peer("ours", "FunctionAnchored", FOUND, public=True, splits=8, version=4),
    Peer("scikit_learn", "GaussianProcess", ONE, public=True, version=2),
    Peer("scikit_learn", "Restarted", ONE, public=True),
    Peer("botorch", "SingleTask", ONE, public=True),
    Peer("botorch", "Warped", ONE, public=True),
    Peer("botorch", "MultiTask", ONE),
    Peer("botorch", "Saas", ONE, public=True),
    Peer("smt", "Kriging", ONE),
    Peer("hetgpy", "HeteroscedasticProcess", BY_INPUT),
    Peer("laplace", "Network", ONE, public=True),
    Peer("pytorch", "DeepEnsemble", BY_INPUT, public=True),
    Peer("mapie", "GradientBoosting", INTERVALS),
    Peer("ours", "ExactPaper", GIVEN, NOISE, version=2),
    Peer("ours", "Anchored", GIVEN, NOISE, version=2),
    Peer("ours", "Vanilla", GIVEN, NOISE),
    Peer("ours", "ExactReplicates", BY_INPUT, REPLICATES, version=2),
    Peer("hetgpy", "WithReplicates", BY_INPUT, REPLICATES),
    Peer("scikit_learn", "WithReplicates", BY_INPUT, REPLICATES),
    Peer("ours", "ExactFields", BY_INPUT, FIELDS, version=2),
    Peer("scikit_learn", "OnFields", ONE, FIELDS),
    Peer("smt", "MultiFidelity", ONE, FIELDS, splits=4, version=2),
)
BY_NAME = {peer.name: peer for peer in PEERS}
# What the others are compared with: one estimator for each kind of knowledge, chosen in writing
# before anything is compared (docs/benchmarks.md), never the best of several.
OURS = {
    CELLS: BY_NAME["ours.Default"],
    NOISE: BY_NAME["ours.ExactPaper"],
    REPLICATES: BY_NAME["ours.ExactReplicates"],
    FIELDS: BY_NAME["ours.ExactFields"],
}
# Ours with what most of the others assume of the noise, and with noise by input, both with an RBF
# and a linear trend alone.
EQUAL_NOISE = {ONE: BY_NAME["ours.ExactConstant"], BY_INPUT: BY_NAME["ours.ExactByInput"]}
