"""A page of figures and pictures for a browser."""
