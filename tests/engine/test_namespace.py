import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError

from engine.connect import Address, connect
from engine.errors import EngineError
from engine.names import ATTRIBUTES, RETENTION
from engine.namespace import ensure_namespace
from support.temporal import until


async def fresh(address: Address) -> Client:
    """A client of a namespace that the server does not have."""
    return await connect(replace(address, namespace=f"test-{uuid4().hex[:8]}"))


async def retention_of(client: Client) -> timedelta:
    found = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace)
    )
    return found.config.workflow_execution_retention_ttl.ToTimedelta()


async def register(client: Client, kept: timedelta) -> None:
    asked = RegisterNamespaceRequest(namespace=client.namespace)
    asked.workflow_execution_retention_period.FromTimedelta(kept)
    await client.workflow_service.register_namespace(asked)


def test_a_new_namespace_keeps_what_ended_for_ninety_days(address: Address) -> None:
    async def go() -> None:
        client = await connect(address)
        assert await retention_of(client) == timedelta(days=90)

    asyncio.run(go())


@pytest.mark.parametrize(("days", "expected_days"), [(1, 90), (200, 200)])
def test_a_retention_is_raised_and_never_lowered(address: Address, days: int, expected_days: int) -> None:
    async def go() -> None:
        client = await fresh(address)
        await register(client, timedelta(days=days))
        await ensure_namespace(client)
        assert await retention_of(client) == timedelta(days=expected_days)

    asyncio.run(go())


def test_all_attributes_can_be_set_and_asked_for_at_once(address: Address) -> None:
    async def go() -> None:
        client = await fresh(address)
        await ensure_namespace(client)
        pairs = TypedSearchAttributes([SearchAttributePair(key, key.name.lower()) for key in ATTRIBUTES])
        await client.start_workflow("Waiting", id="a-1", task_queue="nobody", search_attributes=pairs)
        query = " AND ".join(f"{key.name} = '{key.name.lower()}'" for key in ATTRIBUTES)
        await until(lambda: is_counted(client, query))

    asyncio.run(go())


def test_several_may_set_it_up_at_once(address: Address) -> None:
    async def go() -> None:
        client = await fresh(address)
        await asyncio.gather(*(ensure_namespace(client) for _ in range(5)))
        assert await retention_of(client) == RETENTION

    asyncio.run(go())


def test_an_attribute_of_another_type_is_named_and_left_alone(address: Address) -> None:
    async def go() -> None:
        client = await fresh(address)
        await register(client, RETENTION)
        asked = AddSearchAttributesRequest(
            namespace=client.namespace,
            search_attributes={"FactoryStage": IndexedValueType.INDEXED_VALUE_TYPE_INT},
        )
        await until(lambda: is_added(client, asked))
        with pytest.raises(EngineError, match="FactoryStage"):
            await ensure_namespace(client)

    asyncio.run(go())


async def is_counted(client: Client, query: str) -> bool:
    return (await client.count_workflows(query)).count == 1


async def is_added(client: Client, asked: AddSearchAttributesRequest) -> bool:
    try:
        await client.operator_service.add_search_attributes(asked)
    except RPCError:
        return False
    return True
