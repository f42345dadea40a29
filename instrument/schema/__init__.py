"""Models of everything on disk that more than one package reads."""
