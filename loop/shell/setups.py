"""How a set-up job ended, from what it left in its folder: who asked for the image got that alone.

Limits: reads two files.
"""

from pydantic import ValidationError

from instrument.ledger import read_ledger
from instrument.schema.job import ContainerEnd, JobEnd, JobReport
from instrument.schema.ledger import LedgerSummary
from loop.shell.context import Context


def kept_end(context: Context, key: str, folder: str | None) -> JobEnd | None:
    """The end of the job that made the image; none where no job had to: the image was there.

    Args:
        context: Where the task's folder is.
        key: Of the attempt.
        folder: Of the attempt, below the task's; an earlier process may have filled it.
    """
    if folder is None:
        return None
    path = context.folder / folder
    try:
        report = JobReport.model_validate_json((path / "out" / "job.json").read_bytes())
    except (OSError, ValidationError):
        return None
    ledger = path / "ledger.jsonl"
    return JobEnd(
        key=key,
        folder=folder,
        # It was kept as an image: no other container is.
        container=ContainerEnd(exit_code=0),
        report=report,
        ledger=read_ledger(ledger.read_bytes()) if ledger.is_file() else LedgerSummary(),
    )
