"""Fibre arrangements and their meshes."""
