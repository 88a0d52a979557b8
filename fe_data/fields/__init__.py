"""Fields of a solved volume element as files for other programs."""
