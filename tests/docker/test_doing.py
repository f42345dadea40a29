"""What a person who looks on is told of an agent in a real container."""

import pytest

from jobs.progress import Progress
from jobs.runner import DockerJobs
from support.pods import World, shell

pytestmark = pytest.mark.docker

LINE = """
printf '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash",'
printf '"input":{"command":"make test"}}]}}\\n'
sleep 5
"""


def test_the_shell_line_that_an_agent_runs_is_told_while_it_runs(world: World) -> None:
    seen: list[Progress] = []
    jobs = DockerJobs(connect=lambda: world.engine, on_progress=seen.append)
    order = world.order("implement-1", agent=shell(LINE))
    end = jobs.run(order, resumed=False)

    assert end.report is not None
    assert end.report.exit_code == 0
    assert seen[-1].doing == "make test"
    world.jobs.release(world.run_id, order.identity.key)
