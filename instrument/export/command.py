"""`instrument export`: figures and spans for other programs.

Writes a file where one is named, and asks a collector where one is.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from instrument.asked import Asked
from instrument.export.flat import csv_lines
from instrument.export.spans import Span, spans_of
from instrument.found import find_home, find_tasks
from instrument.options import asked_of, filters, read
from instrument.rows import read_rows, whole_row
from instrument.writing import replace_file

FORMATS = ("jsonl", "csv", "prometheus", "otlp")
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


@click.command()
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@filters
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A file; else standard output.")
@click.option("--endpoint", help=f"OTLP only: a collector, such as http://127.0.0.1:4318; else ${_ENDPOINT}.")
def export(form: str, *, out: Path | None, endpoint: str | None, **chosen: Any) -> None:  # noqa: ANN401 - click's values
    """Write tasks as JSON lines or CSV, figures for Prometheus, or spans for OpenTelemetry.

    OTLP goes to a collector where one is named, else as JSON lines to the file.
    """
    home, asked = find_home(os.environ), asked_of(**chosen)
    if form == "otlp" and out is None and (collector := endpoint or os.environ.get(_ENDPOINT)):
        _send(_spans(home, asked), collector)
        return
    lines = read(home, lambda: list(_lines(form, home, asked)))
    if out is None:
        for line in lines:
            click.echo(line, nl=False)
        return
    replace_file(out, lines)


def _lines(form: str, home: Path, asked: Asked) -> Iterator[str]:
    rows = (row for row in read_rows(home) if asked.has(row))
    match form:
        case "csv":
            yield from csv_lines(rows)
        case "prometheus":
            # Imported here, since no other command needs it and it takes its time.
            from instrument.export.prometheus import prometheus_text  # noqa: PLC0415

            yield prometheus_text(rows)
        case "otlp":
            otlp = _otlp()
            yield from (line + "\n" for line in otlp.json_lines(_spans(home, asked)))
        case _:
            yield from (whole_row(row).model_dump_json() + "\n" for row in rows)


def _spans(home: Path, asked: Asked) -> Iterator[Span]:
    ids = {row.task_id for row in read_rows(home) if asked.has(row)}
    return (span for task in find_tasks(home) if task.task_id in ids for span in spans_of(task))


def _otlp() -> Any:  # noqa: ANN401 - a module
    try:
        from instrument.export import otlp  # noqa: PLC0415 - an extra
    except ImportError:
        raise click.UsageError("OTLP needs one more package: pip install 'factory-loop[otlp]'") from None
    return otlp


def _send(spans: Iterable[Span], collector: str) -> None:
    otlp = _otlp()
    try:
        sent = otlp.send(spans, collector, _headers(os.environ))
    except otlp.CollectorError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    click.echo(f"{sent} spans sent to {collector}")


def _headers(environment: Mapping[str, str]) -> dict[str, str]:
    """`name=value,name=value`, as OpenTelemetry's exporters read it."""
    pairs = (pair.partition("=") for pair in environment.get(_HEADERS, "").split(",") if "=" in pair)
    return {name.strip(): value.strip() for name, _, value in pairs}
