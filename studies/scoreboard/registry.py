"""The estimators that are compared, and the data that each is given."""

import ast
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LIBRARIES = Path(__file__).with_name("libraries")
# The data that an estimator is given.
DATA = "the data"
NOISE = "the data and the paper's noise"
REPLICATES = "the data and replicates"
FIELDS = "the data and a mean-field model"
# The noise model of an estimator.
ONE = "constant"
BY_INPUT = "input-dependent"
PRESCRIBED = "given"
ESTIMATED = "estimated: constant, input-dependent or heavy-tailed"
INTERVALS = "intervals only"


@dataclass(frozen=True)
class Peer:
    """An estimator: a class in a file of `libraries`, which runs in the library's environment.

    Results of another `version` do not count. Raise the version if results may change. The `digest`
    changes with the class, with what it uses of its file, and with the pinned packages of
    the library. Changes of `bnn` and `figures`, which our estimators call, are not detected.
    """

    library: str
    kind: str
    noise: str
    knows: str = DATA
    # Largest number of splits of a problem. It is smaller for the slowest estimators: networks
    # anchored in function space, and estimators that fit nine settings (128 s with 25 RVEs).
    splits: int = 24
    public: bool = False  # whether it also runs on public sets
    version: int = 1

    @property
    def name(self) -> str:
        """Name in the results."""
        return f"{self.library}.{self.kind}"

    @property
    def source(self) -> Path:
        """File with the class."""
        return LIBRARIES / f"{self.library}.py"

    @property
    def ours(self) -> bool:
        """Whether it belongs to this repository, and needs no separate environment."""
        return self.library == "ours"

    @cached_property
    def code(self) -> list[ast.stmt]:
        """Statements of the file that the class uses, imports included, and the class itself."""
        wanted = {self.kind}
        used: list[ast.stmt] = []
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
        """Checksum of `code` without docstrings, and of the pinned packages of the library."""
        pins = self.source.with_suffix(".txt")
        text = pins.read_text(encoding="utf-8") if pins.is_file() else ""
        code = zlib.crc32("\n".join([*self.unparsed, text]).encode())
        return f"{code:08x}"

    @cached_property
    def unparsed(self) -> list[str]:
        """Lines of `code`, without comments and docstrings."""
        module = ast.parse("\n".join(map(ast.unparse, self.code)))
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
                del node.body[0]
        return [line for line in ast.unparse(module).splitlines() if line]

    @property
    def label(self) -> str:
        """The docstring of the class, without its full stop."""
        *_, definition = self.code
        assert isinstance(definition, ast.ClassDef)
        docstring = ast.get_docstring(definition)
        if docstring is None:
            raise ValueError(f"{self.source}: the class {self.kind} must have a docstring")
        return docstring.rstrip(".")

    @property
    def lines(self) -> int:
        """Number of lines of code, without comments and docstrings."""
        return len(self.unparsed)


PEERS = (
    Peer("ours", "Default", ESTIMATED, public=True, version=4),
    Peer("ours", "ExactConstant", ONE, public=True, version=2),
    Peer("ours", "ExactByInput", BY_INPUT, public=True, version=2),
    Peer("ours", "FunctionAnchored", ESTIMATED, public=True, splits=8, version=4),
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
    Peer("ours", "ExactPaper", PRESCRIBED, NOISE, version=2),
    Peer("ours", "Anchored", PRESCRIBED, NOISE, version=2),
    Peer("ours", "Vanilla", PRESCRIBED, NOISE),
    Peer("ours", "ExactReplicates", BY_INPUT, REPLICATES, version=2),
    Peer("hetgpy", "WithReplicates", BY_INPUT, REPLICATES),
    Peer("scikit_learn", "WithReplicates", BY_INPUT, REPLICATES),
    Peer("ours", "ExactFields", BY_INPUT, FIELDS, version=2),
    Peer("scikit_learn", "OnFields", ONE, FIELDS),
    Peer("smt", "MultiFidelity", ONE, FIELDS, splits=4, version=2),
)
BY_NAME = {peer.name: peer for peer in PEERS}
# Our estimators with which the others are compared: one for each kind of given data, fixed before
# the comparison. docs/benchmarks.md names the sets that had been seen by then.
OURS = {
    DATA: BY_NAME["ours.Default"],
    NOISE: BY_NAME["ours.ExactPaper"],
    REPLICATES: BY_NAME["ours.ExactReplicates"],
    FIELDS: BY_NAME["ours.ExactFields"],
}
# Our estimators with the noise models of the others, constant and input-dependent, and only an RBF
# kernel with a linear trend.
EQUAL_NOISE = {ONE: BY_NAME["ours.ExactConstant"], BY_INPUT: BY_NAME["ours.ExactByInput"]}
