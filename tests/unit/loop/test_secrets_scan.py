"""Secrets are put together here, so that no line of this file looks like one."""

import base64
import json
import random
import string
import time
from collections.abc import Callable

import pytest

from loop.secrets_scan import MAX_HITS, SecretHit, redact, scan_added

LETTERS = string.ascii_letters + string.digits
RANDOM = random.Random(7)
PEM = "PRIVATE KEY-----"


def some(length: int, letters: str = LETTERS) -> str:
    return "".join(RANDOM.choice(letters) for _ in range(length))


def head(path: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n"


def added(*lines: str, path: str = "src/a.py", first: int = 1) -> bytes:
    body = "".join(f"+{line}\n" for line in lines)
    return f"{head(path)}+++ b/{path}\n@@ -{first},0 +{first},{len(lines)} @@\n{body}".encode()


def removed(*lines: str, path: str = "src/old.py") -> bytes:
    body = "".join(f"-{line}\n" for line in lines)
    return f"{head(path)}+++ /dev/null\n@@ -1,{len(lines)} +0,0 @@\n{body}".encode()


def key_lines(rows: int = 12) -> list[str]:
    body = [base64.b64encode(RANDOM.randbytes(48)).decode() for _ in range(rows)]
    return [f"-----BEGIN RSA {PEM}", *body, f"-----END RSA {PEM}"]


def github() -> str:
    return "ghp" + "_" + some(36)


def jwt() -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"1234567890","name":"Jo","iat":1516239022}')
    first, second = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{first}.{second}.{some(43)}"


KINDS: dict[str, Callable[[], str]] = {
    "aws-access-key-id": lambda: "AK" + "IA" + some(16, string.ascii_uppercase + "234567"),
    "aws-secret-access-key": lambda: f'aws_secret_access_key = "{some(40)}"',
    "github-pat": lambda: f"token = '{github()}'",
    "github-fine-grained-pat": lambda: "github" + "_pat_" + some(22) + "_" + some(59),
    "gitlab-pat": lambda: "glp" + "at-" + some(20),
    "anthropic-api-key": lambda: "KEY=sk-" + "ant-api03-" + some(93) + "AA",
    "anthropic-sign-in-token": lambda: "sk-" + "ant-oat01-" + some(93) + "AA",
    "openai-api-key": lambda: "sk-" + "proj-" + some(74) + "T3Blb" + "kFJ" + some(74),
    "slack-bot-token": lambda: f"xo{'xb'}-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
    "generic-credential-uri": lambda: f"url = https://admin:{some(14)}@db.acme-corp.io/x",
    "jwt": jwt,
    "stripe-access-token": lambda: "sk" + "_live_" + some(24),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_where_it_was_added(kind: str) -> None:
    assert scan_added(added("x = 1", KINDS[kind](), first=40)) == (SecretHit("src/a.py", 41, kind),)


def test_a_private_key_is_one_hit_at_its_first_line() -> None:
    assert scan_added(added("a", *key_lines())) == (SecretHit("src/a.py", 2, "private-key"),)


def test_a_key_whose_body_alone_is_new_counts() -> None:
    begin, *rows, end = key_lines()
    diff = (
        f"--- a/k\n+++ b/k\n@@ -1,3 +1,14 @@\n {begin}\n-old\n"
        + "".join(f"+{row}\n" for row in rows)
        + f" {end}\n"
    )

    assert scan_added(diff.encode()) == (SecretHit("k", 2, "private-key"),)


def test_context_and_removed_lines_are_no_hits() -> None:
    diff = f"--- a/k\n+++ b/k\n@@ -1,3 +1,3 @@\n {github()}\n-{github()}\n+x = 1\n {github()}\n"

    assert scan_added(diff.encode()) == ()


def test_a_key_that_moves_to_another_file_is_not_new() -> None:
    token, key = github(), key_lines()

    assert scan_added(removed(token, *key) + added(f"  {token}", *(f"  {row}" for row in key))) == ()
    assert len(scan_added(removed(token) + added(github()))) == 1


@pytest.mark.parametrize("mark", ["pragma: allowlist secret", "kingfisher:ignore", "gitleaks:allow", "nosec"])
def test_a_comment_that_asks_to_be_let_off_is_not_heard(mark: str) -> None:
    assert len(scan_added(added(f"t = '{github()}'  # {mark}"))) == 1


@pytest.mark.parametrize("path", ["package-lock.json", "go.sum", "node_modules/x.min.js", "tests/data/x.svg"])
def test_no_file_name_excuses_a_secret(path: str) -> None:
    assert len(scan_added(added(github(), path=path))) == 1


@pytest.mark.parametrize("front", [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\0\n+"])
def test_odd_bytes_in_front_do_not_hide_a_secret(front: bytes) -> None:
    lines = 1 + front.count(b"\n")
    diff = b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,%d @@\n+" % lines + front + github().encode() + b"\n"

    assert [hit.line for hit in scan_added(diff)] == [lines]


def test_a_secret_in_base64_is_found() -> None:
    assert len(scan_added(added("t: " + base64.b64encode(f"TOKEN={github()}".encode()).decode()))) == 1


def test_hashes_lock_files_and_examples_are_quiet() -> None:
    hexes, b64 = some(64, "0123456789abcdef"), base64.b64encode(RANDOM.randbytes(64)).decode()

    assert (
        scan_added(
            added(
                f'"integrity": "sha512-{b64}",',
                f"    --hash=sha256:{hexes} \\",
                f"github.com/x/y v1.2.3 h1:{b64[:43]}=",
                f"key = '{hexes[:40]}'",
                f"token: {hexes[:32]}",
                "id: 123e4567-e89b-12d3-a456-426614174000",
                "AK" + "IAIOSFODNN7EXAMPLE",
                "url = https://user:password@example.com/x",
                "url = https://user:${PASSWORD}@host.internal/x",
                f'if "-----BEGIN RSA {PEM}" in text:',
                'api_key = os.environ["API_KEY"]',
            )
        )
        == ()
    )


def test_binary_parts_are_passed_over() -> None:
    diff = (
        b"diff --git a/b b/b\nnew file mode 100644\nGIT binary patch\nliteral 9\n"
        + github().encode()
        + b"\n\n"
    )

    assert scan_added(diff) == ()


def test_a_value_is_in_nothing_that_is_returned() -> None:
    token = github()

    assert token[4:] not in repr(scan_added(added(token)))


def test_hits_are_sorted_and_at_most_a_hundred() -> None:
    many = scan_added(b"".join(added(github(), path=f"f{n % 7}/{n}.py") for n in range(MAX_HITS + 50)))

    assert len(many) == MAX_HITS
    assert list(many) == sorted(many)


def test_a_secret_at_any_cut_of_a_long_text_is_found_once() -> None:
    token, filler = github(), "x = call(1234, 'some words')"
    lines = [filler] * 9000
    for n in range(0, 9000, 97):
        lines[n] = f"t{n} = '{token}'"

    assert [hit.line for hit in scan_added(added(*lines))] == [n + 1 for n in range(0, 9000, 97)]


def test_a_key_of_many_lines_across_a_cut_is_found() -> None:
    lines: list[str] = []
    begins = []
    for _ in range(60):
        begins.append(len(lines) + 1)
        lines += [*key_lines(rows=60), "x = call(1234, 'some words')"]

    assert [hit.line for hit in scan_added(added(*lines))] == begins


def test_a_secret_in_a_line_of_a_megabyte_is_found() -> None:
    assert len(scan_added(added("a = 1;" * 90_000 + f"t='{github()}';" + "b = 2;" * 90_000))) == 1


@pytest.mark.parametrize(
    "text", [f"-----BEGIN RSA {PEM}\nabc", f"BEGIN {PEM}", "https://a:", "eyJhbGciOiJIUzI1NiJ9.ey"]
)
def test_a_hostile_text_takes_a_bounded_time(text: str) -> None:
    lines = (text * (1_000_000 // len(text))).split("\n")
    scan_added(added(github()))  # the rules are compiled by now
    started = time.monotonic()

    scan_added(added(*lines))

    assert time.monotonic() - started < 10


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_agent_said_is_kept_without_the_secret(kind: str) -> None:
    value = KINDS[kind]()
    said = {"type": "tool_result", "content": f'cat .env\n{value}\nall "done"', "next": [1, "ok"]}
    line = json.dumps(said).encode() + b"\n"
    clean = redact(b'{"text": "before"}\n' * 4000 + line * 2)
    assert clean.count(b"*" * 10) >= 2
    lines = [json.loads(each) for each in clean.splitlines()]
    assert [each["next"] for each in lines[4000:]] == [[1, "ok"]] * 2
    assert lines[4000]["content"].startswith("cat .env\n")
    assert lines[4000]["content"].endswith('\nall "done"')
    assert lines[0] == {"text": "before"}
    assert scan_added(added(*clean.decode().splitlines()[4000:])) == ()


def test_a_transcript_without_secrets_stays_as_it_is() -> None:
    said = json.dumps({"sha": some(40, "0123456789abcdef"), "text": "plain \\n words"}).encode() * 2000
    assert redact(said) == said
