"""The command line: options, commands and error messages."""
