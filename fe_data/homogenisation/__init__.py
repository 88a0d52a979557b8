"""Effective properties without a mesh."""
