"""Damaged files, which a reader takes right or refuses in one clear sentence, in time."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.limits import limited

FUZZ = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,  # CI tells what changed, not what was drawn
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def outcome(function, path):
    """What a reader returns, or None where it refuses the file in one clear sentence."""
    with limited(seconds=10, megabytes=500):
        try:
            return function(path)
        except ValueError as error:
            message = str(error)
            assert message
            assert len(message) < 5000
            return None


@st.composite
def damaged(draw, content: bytes):
    """A valid file with pieces cut out, doubled, moved, overwritten."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 40)))
        piece = bytes(data[start:stop])
        new = draw(st.sampled_from([b"", piece * 2, b"\x00", b"\n", b",", b"nan", b"1e999", None]))
        data[start:stop] = draw(st.binary(max_size=8)) if new is None else new
    return bytes(data)
