import pytest

from loop.git.checkout import default_branch, default_remote, find_checkout, read_committed, read_settings
from loop.git.errors import BranchMissingError, CheckoutUnfitError, RemoteMissingError
from support.gitkit import make_repo
from support.gitworld import World


def test_the_checkout_is_found_from_a_folder_or_file_in_it(world: World) -> None:
    for start in (world.person.root, world.person.root / "src", world.person.root / "src/a.py"):
        found = find_checkout(start)
        assert (found.root, found.is_bare) == (world.person.root, False)
        assert found.git_dir == found.common_dir == world.person.root / ".git"


def test_a_linked_worktree_has_its_own_root_and_shares_the_rest(world: World) -> None:
    world.person.git("worktree", "add", "--quiet", "--detach", "../linked")
    found = find_checkout(world.folder / "linked")
    assert found.root == world.folder / "linked"
    assert found.common_dir == world.person.root / ".git"
    assert found.git_dir != found.common_dir


def test_a_bare_repository_is_its_own_root(world: World) -> None:
    found = find_checkout(world.origin.root)
    assert (found.root, found.git_dir, found.is_bare) == (world.origin.root, world.origin.root, True)


def test_a_git_folder_is_no_place_to_start_from(world: World) -> None:
    with pytest.raises(CheckoutUnfitError):
        find_checkout(world.person.root / ".git")


def test_the_configured_branch_wins_and_has_to_exist(world: World) -> None:
    world.person.git("branch", "trunk")
    checkout = find_checkout(world.person.root)
    assert default_branch(checkout, "trunk") == "trunk"
    for name in ("nope", "--all", "a..b", ""):
        with pytest.raises(BranchMissingError):
            default_branch(checkout, name)


def test_without_one_the_remotes_choice_then_the_usual_name_then_head(world: World) -> None:
    checkout = find_checkout(world.person.root)
    world.person.git("switch", "--quiet", "-c", "mine")
    assert default_branch(checkout, None) == "main"
    world.person.git("branch", "trunk")
    world.person.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    world.person.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert default_branch(checkout, None) == "trunk"
    world.person.git("branch", "-D", "trunk", "main")
    assert default_branch(checkout, None) == "mine"


def test_a_bare_repositorys_head_is_its_branch(world: World) -> None:
    world.origin.git("branch", "trunk", "main")
    world.origin.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    assert default_branch(find_checkout(world.origin.root), None) == "trunk"


def test_a_repository_without_a_commit_has_no_branch(world: World) -> None:
    with pytest.raises(BranchMissingError, match=r"\[repo\] branch"):
        default_branch(find_checkout(make_repo(world.folder / "new").root), None)


def test_the_remote_is_the_configured_one_else_origin_else_the_only_one(world: World) -> None:
    checkout = find_checkout(world.person.root)
    world.person.git("remote", "add", "fork.v2", "../fork.git")
    assert default_remote(checkout, None) == "origin"
    assert default_remote(checkout, "fork.v2") == "fork.v2"
    with pytest.raises(RemoteMissingError, match="nope"):
        default_remote(checkout, "nope")
    world.person.git("remote", "remove", "origin")
    assert default_remote(checkout, None) == "fork.v2"
    world.person.git("remote", "remove", "fork.v2")
    assert default_remote(checkout, None) is None


def test_settings_keep_order_values_and_those_without_one(world: World) -> None:
    with (world.person.root / ".git/config").open("a") as config:
        config.write('[credential]\n\thelper = ""\n\thelper = "two\\nlines = x"\n[http]\n\tsslVerify\n')
    settings = read_settings(find_checkout(world.person.root))
    helpers = [value for key, value in settings if key == "credential.helper"]
    assert helpers == ["", "two\nlines = x"]
    assert ("http.sslverify", "true") in settings


def test_what_is_committed_on_the_branch_is_read_and_not_the_working_copy(world: World) -> None:
    checkout = find_checkout(world.person.root)
    world.person.write({"README": b"half done\n"})
    assert read_committed(checkout, "main", "README") == b"read me\n"
    assert read_committed(checkout, "main", "absent") is None
    assert read_committed(checkout, "main", "src") is None


def test_a_line_break_in_the_path_is_one_sentence(world: World) -> None:
    odd = make_repo(world.folder / "a\nb")
    with pytest.raises(CheckoutUnfitError, match="line break"):
        find_checkout(odd.root)


def test_a_path_with_other_odd_characters_works(world: World) -> None:
    odd = make_repo(world.folder / "a\x0b\u2028 'b\"")
    assert find_checkout(odd.root).root == odd.root
