"""Carries the commits that are left of a range: in several work trees of one container, or as whole jobs.

Limits: one container at a time on the engine; whatever happens, it is removed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial

from instrument.found import find_home
from instrument.schema.vocabulary import Purpose
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.order import Identity
from loop.config import FILE_NAME
from loop.git.checkout import Checkout, read_committed
from loop.replay.box import Captured, open_box, read_lane
from loop.replay.history import History, Step, write_feed
from loop.replay.lanes import IsOver, merge, slices
from loop.replay.place import Place
from loop.replay.proof import Prover, skip
from loop.replay.record import Line
from loop.replay.whole import carry_as_jobs
from loop.run import World
from loop.session import config_on
from loop.slotfiles import Need
from loop.slots import host_of, job_slot

MOST_LANES = 4
STEPS_A_LANE = 25


def carry(
    world: World, checkout: Checkout, branch: str, left: History, place: Place, *, is_jobs: bool
) -> Iterator[Line]:
    """What becomes of each commit: first those that are skipped, then the others, in order within a lane.

    Args:
        world: The surroundings.
        checkout: The person's repository.
        branch: Whose `factory.toml` names the image.
        left: The commits to carry.
        place: Where the work lies.
        is_jobs: Whether each is a job of its own.

    Raises:
        JobsError: The engine failed.
        Problems: `factory.toml` is faulty.
    """
    yield from filter(None, map(skip, left.steps))
    steps = [step for step in left.steps if skip(step) is None]
    if not steps:
        return
    identity = Identity(place.run_id, "replay", f"replay-{place_name(checkout)}", Purpose.PROBE)
    with ExitStack() as stack:
        engine = stack.enter_context(closing(Engine.connect()))
        image = _job_image(engine, checkout, branch, world.progress.note)
        host = host_of(find_home(world.environment), world.environment, world.load)
        stack.enter_context(job_slot(host, Need(key=place.run_id), None, say=world.progress.note))
        if is_jobs:
            folder = place.folder / "jobs"
            found = carry_as_jobs(world.jobs, image, identity, checkout, steps, folder)
            yield from _prove(place, checkout, 0, steps, found)
            return
        lanes = slices(steps, lane_count(engine.info().cpus, len(steps)))
        feed = write_feed(checkout, left, place.folder / "feed.pack")
        box = stack.enter_context(open_box(engine, image, identity, lanes, feed))
        sources = [partial(_lane, place, checkout, box, n, lane) for n, lane in enumerate(lanes)]
        yield from stack.enter_context(closing(merge(sources)))


def place_name(checkout: Checkout) -> str:
    """The repository's folder as a part of a folder's name."""
    name = checkout.root.name.removesuffix(".git")
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "repo"


def lane_count(cpus: int, steps: int) -> int:
    """How many work trees are worth their laying."""
    return max(1, min(MOST_LANES, cpus, steps // STEPS_A_LANE))


def _lane(
    place: Place, checkout: Checkout, box: str, number: int, steps: Sequence[Step], is_over: IsOver
) -> Iterator[Line]:
    with closing(Engine.connect()) as engine:
        found = read_lane(engine, box, number, len(steps), is_over)
        yield from _prove(place, checkout, number, steps, found)


def _prove(
    place: Place, checkout: Checkout, lane: int, steps: Sequence[Step], found: Iterable[Captured]
) -> Iterator[Line]:
    prover = Prover(place.new_store(checkout, f"store-{lane}"), place.folder)
    prover.begin(steps)
    by_number = {step.n: step for step in steps}
    for got in found:
        step = by_number[got.n]
        yield prover.fail(step, got.error) if got.tree is None else prover.prove(step, got.tree, got.diff)


def _job_image(engine: Engine, checkout: Checkout, branch: str, say: Callable[[str], None]) -> str:
    """The image of the repository's jobs, without its set-up; of one without factory.toml the default."""
    shelf = ImageShelf(engine, say=say)
    if read_committed(checkout, branch, FILE_NAME) is None:
        return shelf.job()
    table = config_on(checkout, branch).image
    text = read_committed(checkout, branch, table.dockerfile) if table.dockerfile else None
    return shelf.job(table.base, None if text is None else text.decode("utf-8", "replace"))
