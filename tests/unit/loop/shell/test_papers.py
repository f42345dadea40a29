import pytest

from instrument.schema.vocabulary import Role
from loop.problems import Problems
from loop.shell.context import Context
from loop.shell.papers import read_papers
from support.repos import TASK, TOML, Desk


def papers(context: Context, desk: Desk, **files: bytes | str):
    toml = files.pop("toml")
    base = desk.commit({"factory.toml": TOML + toml, **files})
    context.store.fetch_tips("main", "origin")
    blob = context.store.blob_id(base, TASK)
    assert blob is not None
    return read_papers(context, base, TASK, blob)


def test_the_repos_own_templates_and_dockerfile_come_from_the_commit(context: Context, desk: Desk):
    toml = '[prompts]\ncoder = "coder.j2"\n[image]\ndockerfile = "Dockerfile"\n'
    default = "{{ task }}{{ rulings }}{{ failed }}{{ findings }}{{ files }}{{ checks }}{{ decisions }}"
    files = {"coder.j2": default + "{{ task_diff }}{{ protected }}", "Dockerfile": "FROM debian:13\n"}
    found = papers(context, desk, toml=toml, **files)
    assert set(found.templates) == {Role.CODER}
    assert found.dockerfile == "FROM debian:13\n"
    (desk.person.root / "Dockerfile").write_text("FROM elsewhere\n")
    assert found.task.title == "Retry with the delay that the server names"


@pytest.mark.parametrize(
    ("toml", "files", "sentence"),
    [
        ('[image]\ndockerfile = "Dockerfile"\n', {}, "[image] dockerfile: Dockerfile is not committed"),
        ('[prompts]\ncoder = "c.j2"\n', {}, "[prompts] coder: c.j2 is not committed on the branch"),
        ('[prompts]\ncoder = "c.j2"\n', {"c.j2": b"caf\xe9"}, "c.j2: the file is not UTF-8"),
        ('[prompts]\ncoder = "c.j2"\n', {"c.j2": "{% if %}"}, "c.j2:1: "),
    ],
)
def test_what_they_name_must_be_there_and_be_text(context: Context, desk: Desk, toml, files, sentence):
    with pytest.raises(Problems) as error:
        papers(context, desk, toml=toml, **files)
    assert sentence in str(error.value)
