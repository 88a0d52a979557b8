"""Fully connected networks: activations, weight layout, initial weights."""
