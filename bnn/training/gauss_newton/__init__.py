"""Damped Gauss-Newton for many networks at once, with penalties on weights or functions."""
