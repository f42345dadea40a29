"""The workflows import nothing impure: the sandbox loads all of our modules anew, and lets none through."""

import asyncio

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from support.carried import hand_over, state_of, working
from support.lives import RED, coder, ladder, must_fix, terms
from support.skipping import skipping


def test_a_life_with_everything_in_it_runs_without_pass_through():
    """Pydantic is let through by the SDK itself; of ours nothing is."""
    runner = SandboxedWorkflowRunner(SandboxRestrictions.default)
    moves = {"implement": [coder(calls=())], "check": [RED] * 2, "review": [must_fix]}

    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes, runner=runner):
            tale = fakes.tell(state_of("a-001", terms=terms(ladder=ladder())), **moves)
            handle = await hand_over(environment.client, "a-001")
            assert (await handle.result()).how == "done"
            # The coder that made no call, whom a model ruled on; one each for the checks and the review.
            assert tale.state.counters.coder_rounds == 4

    asyncio.run(go())
