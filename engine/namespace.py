"""The namespace as tasks need it: made, kept long enough, its search attributes usable.

Limits: never lowers a retention, never removes or changes what it finds.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from engine.errors import EngineError, or_none
from engine.names import ATTRIBUTES, RETENTION

USABLE_S = 30
"""A new namespace reaches all parts of a server within its cache's life of some ten seconds."""
POLL_S = 0.1


async def ensure_namespace(client: Client) -> None:
    """Set up what is missing, and return once a workflow can carry all search attributes.

    May be called at any time, by several at once. Needs no permission where nothing is missing.

    Raises:
        EngineError: The server refuses, has an attribute of another type, or is not ready in time.
    """
    try:
        if await _retention(client) is None:
            await _register(client)
        await _until(lambda: _has_retention(client), "its retention is not what it has to be")
        await _until(lambda: _has_attributes(client), "it does not know our search attributes")
        await _until(lambda: _can_be_asked(client), "its search attributes cannot be used")
    except RPCError as error:
        raise EngineError(
            f"The server does not let us set up the namespace {client.namespace}: {error.message}."
        ) from error


async def _until(is_so: Callable[[], Awaitable[bool]], what_is_not: str) -> None:
    """Ask again and again; a part of the server that does not know the namespace yet says no."""
    deadline = time.monotonic() + USABLE_S
    while not await or_none(is_so()):
        if time.monotonic() > deadline:
            raise EngineError(
                f"{USABLE_S} s after the namespace was set up {what_is_not}; run the command again."
            )
        await asyncio.sleep(POLL_S)


async def _retention(client: Client) -> timedelta | None:
    """What the server keeps now; none where it does not know the namespace."""
    asked = DescribeNamespaceRequest(namespace=client.namespace)
    found = await or_none(client.workflow_service.describe_namespace(asked))
    return found.config.workflow_execution_retention_ttl.ToTimedelta() if found else None


async def _register(client: Client) -> None:
    kept = Duration()
    kept.FromTimedelta(RETENTION)
    asked = RegisterNamespaceRequest(namespace=client.namespace, workflow_execution_retention_period=kept)
    try:
        await client.workflow_service.register_namespace(asked)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise


async def _has_retention(client: Client) -> bool:
    """Ask for it where it is less, and believe what the server says afterwards."""
    found = await _retention(client)
    if found is not None and found >= RETENTION:
        return True
    kept = Duration()
    kept.FromTimedelta(RETENTION)
    await client.workflow_service.update_namespace(
        UpdateNamespaceRequest(
            namespace=client.namespace, config=NamespaceConfig(workflow_execution_retention_ttl=kept)
        )
    )
    return False


async def _has_attributes(client: Client) -> bool:
    """Ask for those that are missing, and believe what the server lists afterwards."""
    listed = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    known = listed.custom_attributes
    wrong = [
        key.name
        for key in ATTRIBUTES
        if key.name in known and known[key.name] != IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    ]
    if wrong:
        raise EngineError(f"These search attributes of the namespace are no keywords: {', '.join(wrong)}.")
    missing = {
        key.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD for key in ATTRIBUTES if key.name not in known
    }
    if not missing:
        return True
    try:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
        )
    except RPCError as error:
        # Another `up` was faster.
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    return False


async def _can_be_asked(client: Client) -> bool:
    query = " AND ".join(f"{key.name} = 'nothing'" for key in ATTRIBUTES)
    try:
        await client.count_workflows(query)
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            return False
        raise
    return True
