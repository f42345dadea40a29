"""Summaries in Prometheus' text format, for a node exporter's textfile collector.

Pure: no I/O. Gauges, since a filter or a deleted task may make each of them smaller.
"""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from instrument.figures import Row
from instrument.parts import Part
from instrument.schema.usage import Usage
from instrument.summary import summarise

_US = 1_000_000


def prometheus_text(rows: Iterable[Row]) -> str:
    """Every repo's figures, under `factory_…`; dollars and seconds, as Prometheus asks for."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"factory_{name}", text, ("repo", *labels), registry=registry)

    tasks = gauge("tasks", "Tasks by how they stand.", "state")
    cost = gauge("cost_dollars", "What all tasks cost, failed ones included.")
    bound = gauge("cost_is_lower_bound", "1 where a part of the cost is unmetered.")
    each = gauge("cost_per_accepted_dollars", "The cost over the accepted tasks.")
    tokens = gauge("tokens", "Tokens by bucket.", "bucket")
    lead = gauge("lead_time_seconds", "Of accepted tasks, from ready to merged.", "quantile")
    parts = gauge("lead_time_part_seconds", "What the lead times went to, in all.", "part")
    people = gauge("interventions", "What persons did.", "kind")
    rulings = gauge("rulings", "Who ruled: person, a model by its id, or its step of the ladder.", "by")
    stops = gauge("stops", "Stops, answered ones included.", "reason")
    by_repo: dict[str, list[Row]] = {}
    for row in rows:
        by_repo.setdefault(row.repo or "unknown", []).append(row)
    for repo, group in sorted(by_repo.items()):
        made = summarise(group)
        waiting = sum(row.stop is not None for row in group)
        tasks.labels(repo, "accepted").set(made.accepted)
        tasks.labels(repo, "done_unmerged").set(made.done_unmerged)
        tasks.labels(repo, "waiting").set(waiting)
        tasks.labels(repo, "open").set(made.tasks - made.accepted - made.done_unmerged - waiting)
        cost.labels(repo).set((made.cost_microusd or 0) / _US)
        bound.labels(repo).set(made.lower_bound)
        if made.cost_per_accepted_microusd is not None:
            each.labels(repo).set(made.cost_per_accepted_microusd / _US)
        for name in (name for name in Usage.model_fields if name.endswith("_tokens")):
            tokens.labels(repo, name.removesuffix("_tokens")).set(getattr(made.usage, name))
        for quantile, value in (("0.5", made.lead_ms.median), ("0.9", made.lead_ms.p90)):
            if value is not None:
                lead.labels(repo, quantile).set(value / 1000)
        for part in Part:
            parts.labels(repo, part.value).set(made.times_ms[part].total / 1000)
        for kind, count in made.interventions_by_kind.items():
            people.labels(repo, kind).set(count)
        rulings.labels(repo, "person").set(made.interventions_by_kind.get("ruling", 0))
        for model, count in made.rulings_by_model.items():
            rulings.labels(repo, model).set(count)
        for reason, count in made.stops.items():
            stops.labels(repo, str(reason)).set(count)
    return generate_latest(registry).decode()
