from pathlib import Path

from loop.doctor.checks import Check, examine
from loop.doctor.repository import look_at_branch, look_at_config, look_at_repository, look_at_tasks
from loop.doctor.surroundings import Surroundings
from support.ends import START
from support.gitkit import Repo
from support.repos import TASK, TASK_TEXT, TOML, edited

TWIN = "tasks/007-twin.md"
MEND = "mend that and commit it"


def test_a_folder_without_a_repository_is_found(tmp_path: Path):
    finding = look_at_repository(Surroundings(tmp_path, {}, tmp_path, START))
    assert finding.state == "failed"
    assert "is in no git repository" in finding.found
    assert "--repo" in finding.mend


def test_a_healthy_repo_is_described(office):
    root = str(office.desk.person.root)
    assert office.look(look_at_repository) == ("ok", root, "")
    assert office.look(look_at_config) == ("ok", "demo: 2 checks, runtime claude", "")
    assert office.look(look_at_tasks) == ("ok", "1 ready, 0 done", "")
    assert office.look(look_at_branch) == ("ok", f"main at {office.desk.person.head()[:12]}", "")


def test_a_broken_factory_toml_is_named_with_its_line(office):
    office.desk.commit({"factory.toml": edited(TOML, "[checks.unit]", "[checks.unit")})
    state, found, mend = office.look(look_at_config)
    assert state == "failed"
    assert found.startswith("factory.toml:6: the TOML is broken")
    assert mend.startswith(MEND)


def test_no_factory_toml_is_a_fault_that_names_what_writes_one(office):
    office.desk.commit({"factory.toml": None})
    state, found, mend = office.look(look_at_config)
    assert (state, found.partition(";")[0]) == ("failed", "factory.toml: is not committed on main")
    assert "factory doctor --suggest" in mend


def test_what_factory_toml_names_must_be_there(office):
    more = '[image]\ndockerfile = "Dockerfile.jobs"\n[prompts]\ncoder = "coder.j2"\n'
    office.desk.commit({"factory.toml": TOML + more})
    del office.desk.environment["JOB_SECRET"]
    state, found, _ = office.look(look_at_config)
    assert state == "failed"
    assert "JOB_SECRET is not set here" in found
    assert "[image] dockerfile: Dockerfile.jobs is not committed on main" in found
    assert "[prompts] coder: coder.j2 is not committed on main" in found


def test_an_edit_that_is_not_committed_is_a_note_or_its_own_fault(office):
    draft = office.desk.person.root / "factory.toml"
    draft.write_text(TOML + "[caps]\nreview = 6\n")
    state, found, mend = office.look(look_at_config)
    assert (state, mend) == ("note", "a run reads what main has: commit it")
    assert "the working copy has another text" in found
    draft.write_text(TOML + "[caps]\nreviews = 6\n")
    state, found, _ = office.look(look_at_config)
    assert state == "failed"
    assert "reviews" in found


def test_a_broken_task_file_is_named_with_its_line(office):
    office.desk.commit({TASK: edited(TASK_TEXT, "files:", "filez:")})
    state, found, mend = office.look(look_at_tasks)
    assert (state, mend) == ("failed", MEND)
    assert f'{TASK}:3: unknown key "filez"; did you mean "files"?' in found


def test_a_task_file_is_held_against_configuration_and_neighbours(office):
    office.desk.person.write(
        {TWIN: edited(TASK_TEXT, "files:", "checks: [nuit]\ndepends: [9]\nfiles:").encode()}
    )
    state, found, _ = office.look(look_at_tasks)
    assert state == "failed"
    assert f'{TWIN}:3: checks: factory.toml has no check "nuit"; did you mean "unit"?' in found
    assert f"{TWIN}:4: depends: there is no task 009 beside it" in found
    assert f"{TASK}: {TWIN} has the same number; rename one of them" in found


def test_both_texts_of_a_task_count_until_the_mended_one_is_committed(office):
    office.desk.commit({TASK: edited(TASK_TEXT, "files:", "filez:")})
    office.desk.person.write({TASK: TASK_TEXT.encode()})
    assert office.look(look_at_tasks)[0] == "failed"
    office.desk.commit({TASK: TASK_TEXT})
    assert office.look(look_at_tasks)[0] == "ok"


def test_what_an_old_done_task_names_is_no_fault(office):
    old = edited(edited(TASK_TEXT, "status: ready", "status: done"), "files:", "checks: [gone]\nfiles:")
    office.desk.commit({"tasks/001-old.md": old})
    assert office.look(look_at_tasks) == ("ok", "1 ready, 1 done", "")


def test_a_repo_without_tasks_is_skipped_with_what_writes_one(office):
    office.desk.commit({TASK: None})
    assert office.look(look_at_tasks) == (
        "skipped",
        "there is no task file yet",
        "`factory new SLUG` writes one",
    )


def test_the_persons_repository_and_home_stay_as_they_are(office):
    before = office.desk.person.git("for-each-ref")
    office.look(look_at_branch)
    assert office.desk.person.git("for-each-ref") == before
    assert not office.desk.home.exists()


def test_a_shallow_clone_is_found_with_what_git_can_do_about_it(office, tmp_path: Path):
    office.desk.commit({"a": "1\n"})
    shallow = Repo(tmp_path / "shallow")
    office.desk.person.git(
        "clone", "--quiet", "--depth=1", f"file://{office.desk.person.root}", str(shallow.root)
    )
    surroundings = Surroundings(shallow.root, {}, tmp_path / "scratch", START)
    (result,) = examine([Check("branch", look_at_branch)], surroundings)
    assert result.finding.state == "failed"
    assert "is a shallow clone: run `git fetch --unshallow` there" in result.finding.found
