"""The images by hand: `python -m jobs images` builds them, `gc` removes old ones, `clean` all that is ours.

Prints one line a step; an error is one sentence and exit code 2.
"""

import os
import sys
from contextlib import closing
from datetime import UTC, datetime

import click

from instrument.found import find_home
from jobs.clean import remove_all
from jobs.engine import Engine
from jobs.errors import JobsError
from jobs.eviction import CAP_VARIABLE, GIB, image_cap_bytes
from jobs.gc import look_at_images, make_room
from jobs.images import ImageShelf
from jobs.objects import DockerObjects
from jobs.orphans import look_at_pods, remove_orphans
from jobs.tables import image_table, pod_table


@click.group()
def main() -> None:
    """Images and leftovers of the factory loop on the Docker Engine in use."""


@main.command()
def engine() -> None:
    """Say which Docker Engine answers."""
    with closing(Engine.connect()) as found:
        info = found.info()
    click.echo(f"A Docker Engine answers: {info.cpus} processors, {info.arch}.")


@main.command()
def images() -> None:
    """Build or find every image that a run needs."""
    with closing(Engine.connect()) as found:
        shelf = ImageShelf(found, say=click.echo)
        name, _ = shelf.base(None)
        click.echo(f"base     {name}")
        click.echo(f"agent    {shelf.agent()[0]}")
        click.echo(f"job      {shelf.job()}")
        click.echo(f"sidecar  {shelf.sidecar()}")


@main.command()
def clean() -> None:
    """Remove every container, volume and image that carries our label, whatever run it is of."""
    with closing(Engine.connect()) as found:
        gone = remove_all(found)
    click.echo(f"Removed {gone.containers} containers, {gone.volumes} volumes, {gone.images} images.")
    if gone.images_kept:
        click.echo(f"Kept {gone.images_kept} images: containers that are not ours use them.")


@main.command()
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--cap", type=click.IntRange(min=0), metavar="GB", help=f"Else {CAP_VARIABLE}, else 20.")
def gc(*, dry_run: bool, cap: int | None) -> None:
    """Remove images past the cap, the least recently used first, and pods that no task waits for.

    Whatever a container uses stays, the newest image of each kind, and what was used within a day.
    """
    cap_bytes = image_cap_bytes(os.environ) if cap is None else cap * GIB
    home, now = find_home(os.environ), datetime.now(UTC)
    with closing(Engine.connect()) as found:
        # The pods first: they hold images.
        pods = (look_at_pods if dry_run else remove_orphans)(found, home, now)
        objects = DockerObjects(found, image=str)  # nothing is filled here
        volumes = (objects.stale if dry_run else objects.sweep)(now)
        images = (look_at_images if dry_run else make_room)(found, cap_bytes=cap_bytes, now=now)
    gone = "would go" if dry_run else "removed"
    for line in (*image_table(images, gone), *pod_table(pods, gone)):
        click.echo(line)
    for name in volumes:
        click.echo(f"{name}  {gone}  git objects for no job of the last month")


if __name__ == "__main__":
    try:
        main(prog_name="python -m jobs")
    except JobsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
