"""Whatever a job does to its tree, its diff brings exactly that tree to the host.

Limits: real git, so few and small examples.
"""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loop.git.candidate import build_candidate, changed_paths
from loop.git.errors import EmptyChangeError, FilterUnsupportedError
from loop.git.paths import decode_path
from loop.git.store import Store
from support.gitkit import AUTHOR, PLAIN_ATTRIBUTES, WHEN, Repo, capture, make_repo
from support.gitworld import store_of

part = st.sampled_from(
    [b"a", b"b", b"\xff", b'q"', b"n\nl", b"sp ace", b"\\t", b"-x", b"caf\xc3\xa9", b".gitattributes"]
)
path = st.lists(part, min_size=1, max_size=3).map(b"/".join)
line = st.sampled_from(
    [b"one\n", b"two\n", b"three \n", b"\n", b"cr\r\n", b"diff --git a/x b/x\n", b"-- \n", b"$Id$\n"]
)
text = st.builds(
    lambda lines, tail: b"".join(lines) + tail, st.lists(line, max_size=6), st.sampled_from([b"", b"end"])
)
content = st.one_of(text, st.binary(max_size=60), st.just(b"* text=auto eol=crlf filter=x diff=y -diff\n"))


@dataclass(frozen=True)
class Entry:
    """What is at a path."""

    kind: str
    content: bytes


entry = st.builds(Entry, st.sampled_from(["file", "file", "program", "link"]), content)
tree = st.dictionaries(path, entry, max_size=5)


def lay(root: Path, entries: dict[bytes, Entry]) -> None:
    """Replace all files; an entry below or above another one in the way is dropped."""
    for old in root.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for raw, wanted in entries.items():
        place = root / decode_path(raw)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if wanted.kind == "link":
                place.symlink_to(decode_path(wanted.content.replace(b"\0", b"")[:40] or b"a"))
                continue
            with place.open("xb") as file:
                file.write(wanted.content)
        except OSError:
            continue
        place.chmod(0o755 if wanted.kind == "program" else 0o644)


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Repo, Store]]:
    folder = tmp_path_factory.mktemp("diffs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("HOME", str(folder))
        person = make_repo(folder / "person")
        (folder / "person/.git/info").mkdir()
        (folder / "person/.git/info/attributes").write_text(PLAIN_ATTRIBUTES)
        person.commit({"first": b"first\n"})
        yield person, store_of(folder / "home", "person", person.root)


ATTRIBUTES = b".gitattributes"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=tree, after=tree)
def test_a_captured_diff_gives_the_captured_tree(
    rooms: tuple[Repo, Store], before: dict[bytes, Entry], after: dict[bytes, Entry]
) -> None:
    person, store = rooms
    lay(person.root, before)
    base = person.commit({})
    store.fetch_tips("main", None)
    lay(person.root, after)
    made = capture(person, base)

    def build() -> str:
        return build_candidate(
            store,
            base=base,
            start=base,
            diff=made.diff,
            sha256=hashlib.sha256(made.diff).hexdigest(),
            tree=made.tree,
            message="m",
            author=AUTHOR,
            when_utc=WHEN,
            ref="refs/factory/t/1",
        ).commit

    if made.tree == store.tree_of(base):
        with pytest.raises(EmptyChangeError):
            build()
        return
    try:
        candidate = build()
    except FilterUnsupportedError:
        assert any(b"filter=" in each.content for path, each in before.items() if path.endswith(ATTRIBUTES))
        return
    assert store.tree_of(candidate) == made.tree
    was = {(e.path, e.mode, e.oid) for e in store.entries(base)}
    now = {(e.path, e.mode, e.oid) for e in store.entries(candidate)}
    assert {change.path for change in changed_paths(store, base, candidate)} == {
        item[0] for item in was ^ now
    }
