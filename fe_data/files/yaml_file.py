"""Read YAML of unknown origin: plain data of limited size, with the numbers of JSON.

YAML has several ways to write a number or a date by accident: 010 is eight, 1:30 is ninety, and a
version such as 1_0 is ten. Here a number is what JSON calls a number, and true, false and null are
the only other words with a meaning. Everything else is text. Aliases, which repeat a part of a
file, can make a small file expand without limit; they are rejected, as are tags.
"""

import re
from collections.abc import Iterator
from typing import Any

from safe_files.reading import UnusualFile

MOST_BYTES = 100_000
MOST_NODES = 10_000  # scalars, lists and mappings
MOST_LEVELS = 20
MOST_DIGITS = 100  # characters of a number
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


def parse_yaml(data: bytes) -> Any:
    """Parse the content of a YAML file.

    Args:
        data: Content of the file.

    Returns:
        Dictionaries with texts as keys, lists, texts, numbers, booleans and None.

    Raises:
        UnusualFile: If the content is not valid YAML, exceeds a limit, has an alias, a tag, a
            second document, a key that is given twice, or a key that is not a single word or text.
            The message has the number of the line.
    """
    import yaml

    if len(data) > MOST_BYTES:
        raise UnusualFile(f"it has {len(data)} bytes: at most {MOST_BYTES} are read")
    try:
        events = _checked(yaml.parse(data, yaml.SafeLoader))
        next(events)  # start of the stream
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        content = _node(next(events), events)
        next(events)  # end of the document
        after = next(events)
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise UnusualFile(f"it is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(after, yaml.StreamEndEvent):
        raise UnusualFile(_at(after, "a second document is not allowed"))
    return content


def _checked(events: Iterator[Any]) -> Iterator[Any]:
    """Yield events within the limits, before anything is made of them."""
    import yaml

    nodes = 0
    level = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise UnusualFile(
                _at(event, f"the alias *{event.anchor} is not allowed: repeat its content")
            )
        if isinstance(event, yaml.NodeEvent):
            nodes += 1
            if event.tag is not None and event.tag != "!":
                raise UnusualFile(_at(event, f"the tag {event.tag!r:.60} is not allowed"))
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1
        if nodes > MOST_NODES:
            raise UnusualFile(_at(event, f"more than {MOST_NODES} entries are not read"))
        if level > MOST_LEVELS:
            raise UnusualFile(_at(event, f"more than {MOST_LEVELS} levels are not read"))
        yield event


def _node(event: Any, events: Iterator[Any]) -> Any:
    """Return the data of a node that begins with an event."""
    import yaml

    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_node(item, events))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise UnusualFile(_at(key, "a key must be a word or text"))
        name = _text(key)
        if name in mapping:
            raise UnusualFile(_at(key, f"the key {name!r:.60} is given twice in one mapping"))
        mapping[name] = _node(next(events), events)
    return mapping


def _scalar(event: Any) -> Any:
    """Return the number, word or text of a scalar; what is quoted is text."""
    text = _text(event)
    if event.style:
        return text
    if text in WORDS:
        return WORDS[text]
    number = NUMBER.fullmatch(text)
    if number is None:
        return text
    if len(text) > MOST_DIGITS:
        raise UnusualFile(_at(event, f"the number {text[:20]}… has {len(text)} characters"))
    whole = number[2] is None and number[3] is None
    return int(text) if whole else float(text)


def _text(event: Any) -> str:
    """Return the text of a scalar without control characters, which could reach a terminal."""
    text = str(event.value)
    if not all(letter.isprintable() or letter in "\n\t" for letter in text):
        raise UnusualFile(_at(event, f"the text {text!r:.60} has control characters"))
    return text


def _at(event: Any, reason: str) -> str:
    """Return a reason with the number of the line."""
    return f"line {event.start_mark.line + 1}: {reason}"
