"""Which version of our code a worker runs, and which version the server gives tasks to.

A version is a digest of our own files. Tasks go over to the current version at their next step; one that
is pinned stays with its own. Limits: one deployment, `factory`; never takes a version away.
"""

import asyncio
import hashlib
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from temporalio.api.workflowservice.v1 import (
    DescribeWorkerDeploymentRequest,
    DescribeWorkerDeploymentResponse,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.common import PinnedVersioningOverride, VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import WorkerDeploymentConfig

from engine.errors import EngineError, or_none
from loop.errors import UsageError

T = TypeVar("T")
DEPLOYMENT = "factory"
BUILD_VARIABLE = "FACTORY_BUILD"
"""Names the version; for whoever builds images of it, and for tests that run two of the same files."""
NAMED = re.compile(r"[A-Za-z0-9._-]{1,64}")
PACKAGES = ("engine", "loop", "jobs", "proxy", "instrument")
KNOWN_S = 20.0
"""The server hears of a version by its workers' first questions: seen within a second."""
POLL_S = 0.1
NOT_YET = (RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION)


def build_id(environment: Mapping[str, str] = os.environ) -> str:
    """The version of the code that this process runs.

    Raises:
        UsageError: The variable names it in a way that no file can be named.
    """
    named = environment.get(BUILD_VARIABLE, "")
    if named and NAMED.fullmatch(named) is None:
        raise UsageError(
            f"{BUILD_VARIABLE}={named}: letters, digits, dots, dashes and underscores, at most 64."
        )
    return named or _own_digest()


@cache
def _own_digest() -> str:
    """Computed once: a file that changes later is none of what this process has loaded."""
    return digest_of(Path(__file__).resolve().parent.parent)


def digest_of(root: Path) -> str:
    """Of the names and the content of every file of our packages; 12 hex digits."""
    found = hashlib.sha256()
    for path in sorted(each for package in PACKAGES for each in (root / package).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _version(build: str) -> WorkerDeploymentVersion:
    return WorkerDeploymentVersion(deployment_name=DEPLOYMENT, build_id=build)


def deployed(build: str) -> WorkerDeploymentConfig:
    """What a worker of this version says of itself."""
    return WorkerDeploymentConfig(
        version=_version(build),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.AUTO_UPGRADE,
    )


def pinned(build: str) -> PinnedVersioningOverride:
    """For a workflow that only workers of this version may carry."""
    return PinnedVersioningOverride(_version(build))


async def current_version(client: Client) -> str:
    """The version that tasks go to; empty: none was ever made current."""
    found = await _describe(client)
    if found is None:
        return ""
    return found.worker_deployment_info.routing_config.current_deployment_version.build_id


async def make_current(client: Client, build: str) -> None:
    """Let tasks go to this version, of which a worker has come up; the same again changes nothing.

    Raises:
        EngineError: The server has not heard of the version.
    """
    asked = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace,
        deployment_name=DEPLOYMENT,
        build_id=build,
        # A host that is still on the old version, or dead, keeps nobody from going on.
        ignore_missing_task_queues=True,
    )
    await when_known(build, lambda: client.workflow_service.set_worker_deployment_current_version(asked))


async def when_known(build: str, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask the server for something about a version, until it has heard of it from a worker.

    Raises:
        EngineError: It has not, in good time.
    """
    deadline = time.monotonic() + KNOWN_S
    while True:
        try:
            return await ask()
        except RPCError as error:
            if error.status not in NOT_YET:
                raise
            if time.monotonic() > deadline:
                raise EngineError(
                    f"No worker of version {build} has come up ({error.message}); "
                    "start one with:  python -m engine up"
                ) from error
        await asyncio.sleep(POLL_S)


async def enter(client: Client, build: str) -> str:
    """A worker came up: where no version is current yet, its own becomes it. The current one."""
    current = await current_version(client)
    if current:
        return current
    await make_current(client, build)
    return build


async def _describe(client: Client) -> DescribeWorkerDeploymentResponse | None:
    asked = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=DEPLOYMENT)
    return await or_none(client.workflow_service.describe_worker_deployment(asked))
