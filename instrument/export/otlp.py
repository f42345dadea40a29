"""Spans as OTLP: protobuf to a collector, JSON lines to a file.

Limits: needs the extra `otlp`; one request at a time, each tried once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import islice
from typing import Any

import httpx
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from instrument.export.spans import Span, Value

MOST_SPANS = 1000
"""Of a request."""
TIMEOUT_S = 30.0
_IDS = ("traceId", "spanId", "parentSpanId")


class CollectorError(Exception):
    """The collector did not take them; the text is one sentence."""


def send(spans: Iterable[Span], endpoint: str, headers: Mapping[str, str]) -> int:
    """Post spans to `<endpoint>/v1/traces`, return how many were taken.

    Raises:
        CollectorError: It cannot be reached, or refused a request.
    """
    sent = 0
    url = f"{endpoint.rstrip('/')}/v1/traces"
    with httpx.Client(timeout=TIMEOUT_S, headers=dict(headers)) as client:
        for request, count in _requests(spans):
            try:
                answer = client.post(
                    url,
                    content=request.SerializeToString(),
                    headers={"content-type": "application/x-protobuf"},
                )
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise CollectorError(f"The collector at {url} cannot be reached ({error}).") from None
            if answer.is_error:
                raise CollectorError(f"The collector at {url} refused the spans: HTTP {answer.status_code}.")
            sent += count
    return sent


def json_lines(spans: Iterable[Span]) -> Iterator[str]:
    """One export request a line, as OTLP's file format has it: ids in hex."""
    for request, _ in _requests(spans):
        value = MessageToDict(request, use_integers_for_enums=True)
        for resource, made in zip(value["resourceSpans"], request.resource_spans, strict=True):
            for shown, span in zip(
                resource["scopeSpans"][0]["spans"], made.scope_spans[0].spans, strict=True
            ):
                ids = zip(_IDS, (span.trace_id, span.span_id, span.parent_span_id), strict=True)
                shown |= {name: each.hex() for name, each in ids if each}
        yield json.dumps(value, separators=(",", ":"))


def _requests(spans: Iterable[Span]) -> Iterator[tuple[ExportTraceServiceRequest, int]]:
    left = iter(spans)
    while batch := tuple(islice(left, MOST_SPANS)):
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        resource.resource.attributes.extend(
            _attributes({"service.name": "factory-loop", "service.version": version("factory-loop")})
        )
        scope = resource.scope_spans.add()
        scope.scope.name = "instrument"
        scope.spans.extend(_span(span) for span in batch)
        yield request, len(batch)


def _span(span: Span) -> Any:  # noqa: ANN401 - protobuf's own
    status = trace_pb2.Status(code=trace_pb2.Status.STATUS_CODE_UNSET)
    if span.error is not None:
        status = trace_pb2.Status(code=trace_pb2.Status.STATUS_CODE_ERROR, message=span.error)
    kind = trace_pb2.Span.SPAN_KIND_CLIENT if span.is_call else trace_pb2.Span.SPAN_KIND_INTERNAL
    return trace_pb2.Span(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id or b"",
        name=span.name,
        kind=kind,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_attributes(span.attributes),
        status=status,
    )


def _attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_value(value)) for name, value in values.items()]


def _value(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    return AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
