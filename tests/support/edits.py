"""Random edits of a tree, and the program that does them inside a job.

Limits: an edit that cannot be done where it comes is passed by; what counts is the tree in the end.
"""

import json
import shlex
from typing import Any

from hypothesis import strategies as st

from support.trees import CONTENTS, LINKS, PATHS

Edit = tuple[str, list[Any]]
"""A verb of the program with its arguments; bytes stand in hexadecimal, a number picks one of the files."""

SUBMODULE = b"lib"
NESTED = b"nest"
IGNORED = [b"a\n", b"b/\n", b"/B\n", b"*\n", b"*\n!a\n!*/\n", b"nest\n", b".gitkeep\n", b"-x\n"]
HOSTILE = [
    b"* text=auto eol=crlf ident\n",
    b"* working-tree-encoding=UTF-16 filter=lfs -diff\n",
    b"* binary\n",
    b"[attr]text -text eol=crlf ident\n[attr]ident working-tree-encoding=UTF-16\n[attr]binary text\n* text\n",
    b"* -text -eol -ident -crlf !working-tree-encoding\n",
]
GIT = [
    *(
        "add --all",
        "add --intent-to-add .",
        "commit --quiet --all --message mine",
        "stash --include-untracked",
    ),
    *("checkout --quiet -b other", "checkout --quiet --detach", "checkout --quiet --orphan fresh"),
    *(
        "reset --quiet --hard",
        "rm -r --cached --quiet .",
        "config core.autocrlf true",
        "config core.fileMode false",
    ),
    *("update-index --assume-unchanged a b", "worktree add --quiet /tmp/other", "gc --quiet --prune=now"),
]

PROGRAM = r"""
import json, os, shutil, socket, stat, subprocess, sys
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
shut = []
def walk():
    for folder, folders, names in os.walk(b"."):
        folders[:] = sorted(name for name in folders if name != b".git")
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (os.path.join(folder, name) for name in links + sorted(names) if name != b".git")
def pick(n):
    there = sorted(walk())
    return there[n % len(there)]
def above(path):
    os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
    return path
def put(path, content, mode="wb"):
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(path)  # who opens a FIFO waits for ever
    with open(above(path), mode) as file:
        file.write(content)
def change(n, how):
    path = pick(n)
    if not os.path.isfile(path):
        raise OSError(path)
    with open(path, "rb") as file:
        content = file.read()
    put(path, how(content))
def drop_git():
    if os.path.isdir(".git"):
        shutil.rmtree(".git")
    else:
        os.unlink(".git")
class Do:
    def write(path, content): put(bytes.fromhex(path), bytes.fromhex(content))
    def append(n, content): put(pick(n), bytes.fromhex(content), "ab")
    def crlf(n): change(n, lambda content: content.replace(b"\n", b"\r\n"))
    def lf(n): change(n, lambda content: content.replace(b"\r\n", b"\n"))
    def encode(n, name): change(n, lambda content: content.decode("utf-8", "replace").encode(name, "replace"))
    def again(n): change(n, lambda content: content)
    def remove(n): os.unlink(pick(n))
    def prune(n): shutil.rmtree(os.path.dirname(pick(n)))
    def chmod(n, mode): os.chmod(pick(n), mode)
    def shut(n): shut.append(os.path.dirname(pick(n)))
    def link(path, target): os.symlink(bytes.fromhex(target), above(bytes.fromhex(path)))
    def hard(n, path): os.link(pick(n), above(bytes.fromhex(path)), follow_symlinks=False)
    def rename(n, path): os.rename(pick(n), above(bytes.fromhex(path)))
    def swap(n, m):
        one, two = pick(n), pick(m)
        os.rename(one, b"/tmp/swapped"); os.rename(two, one); os.rename(b"/tmp/swapped", two)
    def become_link(n, target):
        path = pick(n)
        os.unlink(path); os.symlink(bytes.fromhex(target), path)
    def become_folder(n):
        path = pick(n)
        os.unlink(path); put(path + b"/below", b"below\n")
    def relocate(n):
        folder = os.path.dirname(pick(n))
        os.rename(folder, b"moved")
        os.symlink(os.path.relpath(b"moved", os.path.dirname(folder)), folder)
    def rules(n, name, content):
        put(os.path.join(os.path.dirname(pick(n)), name.encode()), bytes.fromhex(content))
    def fifo(path): os.mkfifo(above(bytes.fromhex(path)))
    def sock(path):
        made = socket.socket(socket.AF_UNIX)
        made.bind(above(bytes.fromhex(path)))
    def git(line): subprocess.run(["git", *line.split()], **quiet)
    def no_git(): drop_git()
    def other_git():
        drop_git()
        subprocess.run(["git", "init", "--quiet"], **quiet)
    def far_git():
        drop_git()
        put(b".git", b"gitdir: /job/git\n")
    def repository(folder):
        at = {"cwd": folder, **quiet}
        put(os.path.join(folder.encode(), b"inner"), b"inner\n")
        subprocess.run(["git", "init", "--quiet"], **at)
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "--message", "x"], **at)
    def fill(): put(b"lib/inner", b"inner\n")
    def unlink_module(): os.rmdir("lib")
for verb, arguments in json.loads(sys.argv[1]):
    try:
        getattr(Do, verb)(*arguments)
    except (OSError, ZeroDivisionError):
        pass
kinds = (stat.S_IFIFO, stat.S_IFSOCK)
special = [path[2:].hex() for path in walk() if stat.S_IFMT(os.lstat(path).st_mode) in kinds]
for folder in sorted(shut, reverse=True):
    if folder != b"." and os.path.isdir(folder) and not os.path.islink(folder):
        os.chmod(folder, 0)
print(json.dumps(special))
"""

_ANY = st.integers(0, 99)
_PATH = PATHS.map(bytes.hex)
_CONTENT = CONTENTS.map(bytes.hex)
_TARGET = LINKS.map(bytes.hex)


def _edit(verb: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Edit]:
    return st.tuples(st.just(verb), st.tuples(*arguments).map(list))


def _rules(name: str, contents: list[bytes]) -> st.SearchStrategy[Edit]:
    return _edit("rules", _ANY, st.just(name), st.sampled_from(contents).map(bytes.hex))


ON_FILES = st.one_of(
    _edit("write", _PATH, _CONTENT),
    _edit("append", _ANY, _CONTENT),
    _edit("crlf", _ANY),
    _edit("lf", _ANY),
    _edit("encode", _ANY, st.sampled_from(["utf-16", "utf-16-le", "latin-1"])),
    _edit("again", _ANY),
    _edit("remove", _ANY),
    _edit("prune", _ANY),
    _edit("chmod", _ANY, st.sampled_from([0, 0o444, 0o600, 0o644, 0o755])),
    _edit("shut", _ANY),
    _edit("link", _PATH, _TARGET),
    _edit("hard", _ANY, _PATH),
    _edit("rename", _ANY, _PATH),
    _edit("swap", _ANY, _ANY),
    _edit("become_link", _ANY, _TARGET),
    _edit("become_folder", _ANY),
    _edit("relocate", _ANY),
    _rules(".gitignore", IGNORED),
    _rules(".gitattributes", HOSTILE),
    _edit("fifo", _PATH),
    _edit("sock", _PATH),
)
ON_GIT = st.one_of(_edit("git", st.sampled_from(GIT)), _edit("no_git"), _edit("other_git"), _edit("far_git"))
STOPPING = st.one_of(
    _edit("repository", st.sampled_from([NESTED.decode(), SUBMODULE.decode()])),
    _edit("fill"),
    _edit("unlink_module"),
)
EDITS = st.builds(
    lambda work, stop: work + stop,
    st.lists(st.one_of(ON_FILES, ON_FILES, ON_GIT), min_size=1, max_size=8),
    st.one_of(st.just([]), st.just([]), st.just([]), STOPPING.map(lambda edit: [edit])),
)


def as_line(edits: list[Edit]) -> str:
    """The shell line that does them; its output is the special files in the tree, in hexadecimal."""
    return f"exec python3 -c {shlex.quote(PROGRAM)} {shlex.quote(json.dumps(edits))}"
