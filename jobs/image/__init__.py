"""Files that the images are built from: Dockerfiles, pinned versions, one script."""
