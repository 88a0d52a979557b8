"""What the commands print: sentences on stderr, results on stdout, and exit codes."""

import re
import sys

# Exit codes
OK = 0
INCOMPLETE = 1
REFUSED = 2
INTERRUPTED = 130
LONG_WORD = 300  # characters; longer words of a message are cut
LEFT_AT_END = 100  # characters that are left at each end of a cut word
LONG_MESSAGE = 10_000  # characters


def say(message: object, code: int) -> int:
    """Print one sentence to stderr, with the notes of an error, and return the exit code `code`."""
    sentence = "; ".join(map(str, [message, *getattr(message, "__notes__", [])]))
    print(f"fe_data: {shortened(sentence)}", file=sys.stderr)
    return code


def show(*lines: object) -> None:
    """Print lines of results to stdout."""
    for line in lines:
        print(escaped(str(line)))


def escaped(text: str) -> str:
    """Write control characters of a text as escapes, because a terminal would obey them."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text
    )


def shortened(message: object) -> str:
    """Cut long words out of a message, and write control characters as escapes.

    Both may come from a file or an option.

    Args:
        message: The message.

    Returns:
        At most LONG_MESSAGE characters and dots.
    """
    text = escaped(str(message))
    cut = re.sub(
        rf"\S{{{LONG_WORD},}}",
        lambda word: f"{word[0][:LEFT_AT_END]}...{word[0][-LEFT_AT_END:]}",
        text,
    )
    return cut if len(cut) <= LONG_MESSAGE else f"{cut[:LONG_MESSAGE]}..."


def several(number: int, one: str, more: str) -> str:
    """Join a number and its singular or plural, as in "1 sample has" or "2 samples have"."""
    return f"{number} {one if number == 1 else more}"


def counted(counts: dict[str, int]) -> str:
    """List numbers of samples by status, as in "98 ok, 2 retried"."""
    return ", ".join(f"{number} {status}" for status, number in counts.items() if number)
