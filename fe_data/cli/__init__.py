"""The command line: options, commands and the messages about errors."""
