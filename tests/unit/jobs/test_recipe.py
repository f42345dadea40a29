import tarfile
from dataclasses import replace

import pytest

from jobs.recipe import Recipe, label_stages

RECIPE = Recipe("job", "FROM x\n", {"ca/": b"", "a.sh": b"1"}, {"BASE": "b"}, ("sha256:1",))


@pytest.mark.parametrize(
    "other",
    [
        replace(RECIPE, kind="agent"),
        replace(RECIPE, dockerfile="FROM y\n"),
        replace(RECIPE, files={"ca/": b"", "a.sh": b"2"}),
        replace(RECIPE, files={"ca/": b"", "b.sh": b"1"}),
        replace(RECIPE, args={"BASE": "c"}),
        replace(RECIPE, parents=("sha256:2",)),
    ],
)
def test_whatever_goes_in_changes_the_tag(other: Recipe) -> None:
    assert other.key != RECIPE.key


def test_the_tag_does_not_depend_on_order() -> None:
    again = replace(RECIPE, files={"a.sh": b"1", "ca/": b""})
    assert again.tag == RECIPE.tag
    assert again.context().getvalue() == RECIPE.context().getvalue()
    assert RECIPE.tag.startswith("factory-loop/job:")


def test_the_context_holds_the_files_the_empty_folder_and_the_dockerfile() -> None:
    with tarfile.open(fileobj=RECIPE.context()) as tar:
        assert {(e.name, e.isdir()) for e in tar} == {("Dockerfile", False), ("a.sh", False), ("ca", True)}


def test_every_stage_of_a_persons_dockerfile_is_labelled() -> None:
    text = "ARG BASE\nFROM ${BASE} AS one\nRUN echo FROM here\n  from two\nRUN x\n"
    assert label_stages(text, "base").splitlines() == [
        "ARG BASE",
        "FROM ${BASE} AS one",
        "LABEL factory-loop=1 factory.image=base",
        "RUN echo FROM here",
        "  from two",
        "LABEL factory-loop=1 factory.image=base",
        "RUN x",
    ]
