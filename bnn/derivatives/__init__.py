"""Derivatives of predictions by the inputs."""
