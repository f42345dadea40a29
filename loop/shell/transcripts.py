"""What an agent said is kept without the secrets that it came upon.

Limits: rewrites three files of one job's folder; known values were masked inside the job already.
"""

from pathlib import Path

from instrument.schema.job import AGENT_RUN_FILE
from loop.atomic import write_atomic
from loop.secrets_scan import redact

SPOKEN = ("transcript.jsonl", "agent-stderr.txt", AGENT_RUN_FILE)


def redact_transcript(folder: Path) -> None:
    """Star out what looks like a secret; may be done again.

    Args:
        folder: The job's own.
    """
    for name in SPOKEN:
        path = folder / "out" / name
        if path.is_file():
            said = path.read_bytes()
            clean = redact(said)
            if clean != said:
                write_atomic(path, clean)
