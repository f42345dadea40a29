"""The embedded server's queues: urgent first, then fair between repos."""

import asyncio
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from engine.connect import Address, connect
from support.temporal import until

WORKFLOWS = "priority-workflows"
ACTIVITIES = "priority-activities"
URGENT, ORDINARY = 1, 3


@workflow.defn
class OneStep:
    @workflow.run
    async def run(self, name: str, priority_key: int, repo: str) -> None:
        await workflow.execute_activity(
            "step",
            name,
            task_queue=ACTIVITIES,
            start_to_close_timeout=timedelta(minutes=1),
            priority=Priority(priority_key=priority_key, fairness_key=repo),
        )


async def is_queued(client: Client, count: int) -> bool:
    """Whether so many activities wait for a worker."""
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=ACTIVITIES),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    found = await client.workflow_service.describe_task_queue(asked)
    return found.stats.approximate_backlog_count == count


def test_the_urgent_go_first_and_repos_take_turns(address: Address) -> None:
    order: list[str] = []

    @activity.defn
    async def step(name: str) -> None:
        order.append(name)

    async def go() -> None:
        client = await connect(address)

        async def hand_in(name: str, priority_key: int, repo: str) -> None:
            words = [name, priority_key, repo]
            given.append(await client.start_workflow(OneStep.run, args=words, id=name, task_queue=WORKFLOWS))

        given: list[WorkflowHandle] = []
        runner = UnsandboxedWorkflowRunner()
        async with Worker(client, task_queue=WORKFLOWS, workflows=[OneStep], workflow_runner=runner):
            for n in range(12):
                await hand_in(f"big-{n}", ORDINARY, "big")
            for n in range(3):
                await hand_in(f"small-{n}", ORDINARY, "small")
            await hand_in("urgent", URGENT, "big")
            await until(lambda: is_queued(client, 16))
            one_by_one = {"max_concurrent_activities": 1, "max_concurrent_activity_task_polls": 1}
            async with Worker(client, task_queue=ACTIVITIES, activities=[step], **one_by_one):
                for handle in given:
                    await handle.result()

    asyncio.run(go())

    assert order[0] == "urgent"
    assert [name.partition("-")[0] for name in order[1:7]] == ["big", "small"] * 3
