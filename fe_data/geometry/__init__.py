"""Microstructures and their meshes."""
