"""The only way out of a job: forwards, meters, prices and refuses model calls."""
