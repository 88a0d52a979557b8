"""What runs what: profiles, paths, notebooks with parameters, tasks, provenance."""
