from datetime import UTC, datetime, timedelta, timezone

import pytest

from loop.git.author import commit_env, message_bytes
from loop.git.errors import AuthorError


@pytest.mark.parametrize(
    ("text", "name", "mail"),
    [
        ("A Person <a@example.org>", "A Person", "a@example.org"),
        ("  J\u00fcrgen  <j@x> ", "J\u00fcrgen", "j@x"),
        ("factory <factory@localhost>", "factory", "factory@localhost"),
    ],
)
def test_a_name_with_a_mail_address_is_an_author(text: str, name: str, mail: str) -> None:
    env = commit_env(text, datetime(2026, 1, 1, tzinfo=UTC))
    assert (env["GIT_AUTHOR_NAME"], env["GIT_AUTHOR_EMAIL"]) == (name, mail)


@pytest.mark.parametrize(
    "text", ["", "name", "<a@b>", "name <>", "name <a b>", "a\nb <c@d>", "n <a@b> x", "n <<a@b>>"]
)
def test_anything_else_is_one_sentence(text: str) -> None:
    with pytest.raises(AuthorError):
        commit_env(text, datetime(2026, 1, 1, tzinfo=UTC))


def test_the_same_moment_gives_the_same_date_in_any_zone() -> None:
    moment = datetime(2026, 1, 1, 12, 0, 0, 999, tzinfo=UTC)
    elsewhere = moment.astimezone(timezone(timedelta(hours=5)))
    assert commit_env("n <a@b>", moment) == commit_env("n <a@b>", elsewhere)


def test_a_message_has_no_byte_that_git_refuses() -> None:
    assert message_bytes("a\0b \udcff\n\n") == b"ab ?\n"
