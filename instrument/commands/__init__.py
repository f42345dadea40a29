"""The commands that read what tasks did, a module each."""
