"""How results depend on the mesh: the phases of the paper, and other materials."""
