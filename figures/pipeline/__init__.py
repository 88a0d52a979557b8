"""Running of notebooks: profiles, paths, parameters, tasks, provenance."""
