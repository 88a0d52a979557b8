"""The command line: options, commands, and how a command says what is wrong."""
