"""The server that skips time: a fast one, too, for whoever needs no other."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

from engine import names
from support.carried import Fakes

SERVER = Path(sys.executable).with_name("temporal-test-server")


async def add_attributes(client: Client) -> None:
    """The test server refuses those that it does not know, too."""
    wanted = {key.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD for key in names.ATTRIBUTES}
    asked = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    await client.operator_service.add_search_attributes(asked)


@asynccontextmanager
async def skipping() -> AsyncIterator[tuple[WorkflowEnvironment, Fakes]]:
    """A server of its own, and fakes that nobody works with yet."""
    async with await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter, test_server_existing_path=str(SERVER)
    ) as environment:
        await add_attributes(environment.client)
        fakes = Fakes(environment.client)
        yield environment, fakes
