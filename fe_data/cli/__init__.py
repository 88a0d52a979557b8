"""The command line, python -m fe_data."""
