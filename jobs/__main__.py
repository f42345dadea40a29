"""The images by hand: `python -m jobs images` builds them, `python -m jobs clean` removes what is ours.

Prints one line a step; an error is one sentence and exit code 2.
"""

import sys

import click

from jobs.clean import remove_all
from jobs.engine import Engine
from jobs.errors import JobsError
from jobs.images import ImageShelf


@click.group()
def main() -> None:
    """Images and leftovers of the factory loop on the Docker Engine in use."""


@main.command()
def engine() -> None:
    """Say which Docker Engine answers."""
    found = Engine.connect()
    try:
        info = found.info()
    finally:
        found.close()
    click.echo(f"A Docker Engine answers: {info.cpus} processors, {info.arch}.")


@main.command()
def images() -> None:
    """Build or find every image that a run needs."""
    found = Engine.connect()
    try:
        shelf = ImageShelf(found, say=click.echo)
        name, _ = shelf.base(None)
        click.echo(f"base     {name}")
        click.echo(f"agent    {shelf.agent()[0]}")
        click.echo(f"job      {shelf.job()}")
        click.echo(f"sidecar  {shelf.sidecar()}")
    finally:
        found.close()


@main.command()
def clean() -> None:
    """Remove every container, volume and image that carries our label, whatever run it is of."""
    found = Engine.connect()
    try:
        gone = remove_all(found)
    finally:
        found.close()
    click.echo(f"Removed {gone.containers} containers, {gone.volumes} volumes, {gone.images} images.")
    if gone.images_kept:
        click.echo(f"Kept {gone.images_kept} images: containers that are not ours use them.")


if __name__ == "__main__":
    try:
        main(prog_name="python -m jobs")
    except JobsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
