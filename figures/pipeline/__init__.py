"""Running notebooks: profiles, paths, parameters, tasks and provenance."""
