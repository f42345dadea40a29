"""Adds rows up to a summary.

Pure: no I/O.
"""

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from instrument.figures import Intervention, Row, Spread, Summary
from instrument.parts import Part
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import DoneReason
from instrument.spread import spread_of

_BUCKETS = attrgetter(*Usage.model_fields)


def summarise(rows: Sequence[Row]) -> Summary:
    """The figures of a set of tasks; an empty set costs nothing."""
    accepted = [row for row in rows if row.done is DoneReason.MERGED]
    known = [row.cost_microusd for row in rows if row.cost_microusd is not None]
    cost = sum(known) if known or not rows else None
    leads = [row for row in accepted if row.lead_ms is not None]
    by_kind: Counter[Intervention] = Counter()
    by_model: Counter[str] = Counter()
    for row in rows:
        by_kind.update(row.interventions_by_kind)
        by_model.update(row.rulings_by_model)
    return Summary(
        tasks=len(rows),
        accepted=len(accepted),
        kept=sum(row.kept is True for row in accepted),
        reverted=sum(row.kept is False for row in accepted),
        done_unmerged=sum(row.done is not None for row in rows) - len(accepted),
        cost_microusd=cost,
        lower_bound=any(row.lower_bound for row in rows),
        unmetered_parts=sum(row.unmetered_parts for row in rows),
        cost_per_accepted_microusd=None if cost is None or not accepted else -(-cost // len(accepted)),
        unmerged_microusd=sum(row.cost_microusd or 0 for row in rows if row.done is not DoneReason.MERGED),
        usage=_usage_of(rows),
        usage_complete=all(row.usage_complete for row in rows),
        lead_ms=spread_of(row.lead_ms for row in leads if row.lead_ms is not None),
        times_ms={part: _time_of(part, leads) for part in Part},
        job_ms=sum(row.job_ms or 0 for row in rows),
        untouched=sum(row.interventions == 0 for row in accepted),
        first_attempt=sum(row.coder_rounds == 1 and row.runs == 1 for row in accepted),
        coder_rounds=sum(row.coder_rounds or 0 for row in rows),
        review_rounds=sum(row.review_rounds or 0 for row in rows),
        interventions=sum(row.interventions or 0 for row in rows),
        interventions_by_kind=dict(sorted(by_kind.items())),
        rulings_by_model=dict(sorted(by_model.items())),
        answers_ms=spread_of(answer for row in rows for answer in row.answers_ms),
        stops=dict(Counter(reason for row in rows for reason in row.stops).most_common()),
        kills=dict(Counter(cause for row in rows for cause in row.kills).most_common()),
        peak_memory_bytes=max((row.peak_memory_bytes or 0 for row in rows), default=0) or None,
        peak_pids=max((row.peak_pids or 0 for row in rows), default=0) or None,
    )


def _usage_of(rows: Sequence[Row]) -> Usage:
    """All tokens of the rows, by bucket."""
    columns = zip(*(_BUCKETS(row.usage) for row in rows), strict=True)
    return Usage(**dict(zip(Usage.model_fields, map(sum, columns), strict=False)))


def _time_of(part: Part, rows: Sequence[Row]) -> Spread:
    """What one part of the lead took; most rows have no time of most parts."""
    taken = [row.times[part] for row in rows if part in row.times]
    return spread_of(taken, zeros=len(rows) - len(taken))
