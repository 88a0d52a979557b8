"""Whether strengths can be trusted: ends of paths, mesh, steps, and a measured ply."""
