"""Figures and spans for other programs."""
