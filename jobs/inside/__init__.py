"""The supervisor: runs inside a job's container on the image's own Python, standard library only."""
