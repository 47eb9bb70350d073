"""What commands may see and change, made from real folders."""

import json
from pathlib import Path

import pytest

from activities.safety.sandbox.git_places import repository_of
from activities.safety.sandbox.policy import Kind, Policy, Surroundings, make_policy, policy_from
from workflows.contracts.sandbox import FilesystemRules, NetworkRules, SandboxSettings


@pytest.fixture
def where(tmp_path: Path) -> Surroundings:
    root = tmp_path.resolve()
    user = root / "dev"
    for name in (
        "dev/p/.git/hooks",
        "dev/.ssh",
        "dev/.pyenv/bin",
        "dev/.cargo/bin",
        "perdure/keys",
        "session/tmp",
        "caches",
    ):
        (root / name).mkdir(parents=True)
    (user / "p/.git/config").write_text("[core]\n")
    (user / ".cargo/credentials.toml").write_text("secret")
    return Surroundings(user / "p", user, root / "perdure", root / "session/tmp", root / "caches")


def made(where: Surroundings, path: str = "", **rules: tuple[str, ...]) -> Policy:
    network = NetworkRules(allow_unix_sockets=rules.pop("allow_unix_sockets", ()))
    settings = SandboxSettings(filesystem=FilesystemRules(**rules), network=network)
    return make_policy(settings, where, {"PATH": path or "/usr/bin"})


def test_the_home_folder_is_hidden_but_for_tools_and_the_workspace(where: Surroundings) -> None:
    policy, user = made(where), str(where.user)
    kinds = {name: policy.kind_at(f"{user}/{name}") for name in (".ssh/id", ".cargo/credentials.toml", "notes")}
    assert set(kinds.values()) == {Kind.HIDDEN}
    assert {policy.kind_at(f"{user}/{name}") for name in (".pyenv/bin/python", ".cargo/bin/cargo")} == {Kind.READ}
    assert {policy.kind_at(f"{user}/{name}") for name in ("p/a.c", ".cache/pip")} == {Kind.WRITE}
    assert policy.kind_at("/usr/bin/env") == Kind.READ


def test_git_runs_but_what_it_would_run_cannot_be_changed(where: Surroundings) -> None:
    policy = made(where)
    assert policy.kind_at(f"{where.workspace}/.git/objects/ab") == Kind.WRITE
    assert {policy.kind_at(f"{where.workspace}/.git/{name}") for name in ("hooks/x", "config")} == {Kind.READ}
    assert f"{where.workspace}/.git" in {place.path for place in policy.places}


def test_absent_settings_of_agents_have_a_stand_in_and_present_ones_are_read_only(where: Surroundings) -> None:
    (where.workspace / ".claude").mkdir()
    policy = made(where)
    assert policy.kind_at(f"{where.workspace}/.perdure/settings.json") == Kind.STAND_IN
    assert policy.kind_at(f"{where.workspace}/.claude/settings.json") == Kind.READ


def test_perdures_own_folder_is_hidden_whatever_the_settings_say(where: Surroundings) -> None:
    named = (str(where.home), str(where.home / "keys"))
    policy = made(where, allow_read=named, allow_write=named)
    assert policy.kind_at(str(where.home / "keys" / "person")) == Kind.HIDDEN


def test_the_settings_open_and_close_places(where: Surroundings) -> None:
    (where.workspace / "secret").mkdir()
    policy = made(where, allow_read=("~/.ssh",), deny_read=("secret",), deny_write=(".git",))
    assert policy.kind_at(f"{where.user}/.ssh/id") == Kind.READ
    assert policy.kind_at(f"{where.workspace}/secret/x") == Kind.HIDDEN
    assert policy.kind_at(f"{where.workspace}/.git/objects") == Kind.READ


def test_a_tool_folder_on_the_path_is_seen_with_what_stands_beside_it(where: Surroundings) -> None:
    bin_folder = where.user / "venv" / "bin"
    bin_folder.mkdir(parents=True)
    (where.user / "venv" / "pyvenv.cfg").touch()
    policy = made(where, path=f"{bin_folder}:{where.user}:/usr/bin")
    assert policy.kind_at(str(where.user / "venv" / "lib")) == Kind.READ
    assert policy.kind_at(str(where.user / ".ssh")) == Kind.HIDDEN


def test_where_the_home_folder_is_the_workspace_its_secrets_stay_hidden(where: Surroundings) -> None:
    (where.user / ".bashrc").touch()
    policy = made(Surroundings(where.user, where.user, where.home, where.temporary, where.caches))
    assert policy.kind_at(f"{where.user}/notes") == Kind.WRITE
    assert policy.kind_at(f"{where.user}/.ssh/id") == Kind.HIDDEN
    assert policy.kind_at(f"{where.user}/.bashrc") == Kind.READ


def test_secrets_of_the_account_stay_hidden_where_home_names_another_folder(where: Surroundings) -> None:
    other = where.user / "p/home"
    (other / "work").mkdir(parents=True)
    given = (other / "work", other, where.home, where.temporary, where.caches, where.user)
    policy = made(Surroundings(*given))
    assert policy.kind_at(f"{where.user}/.ssh/id") == Kind.HIDDEN
    assert made(Surroundings(*given), allow_read=(f"{where.user}/.ssh",)).kind_at(f"{where.user}/.ssh/id") == Kind.READ


def test_sockets_are_closed_until_one_is_named(where: Surroundings) -> None:
    assert not made(where).has_unix_sockets
    assert made(where, allow_unix_sockets=("/run/x.sock",)).has_unix_sockets


def test_a_worktree_is_believed_only_when_its_repository_points_back(where: Surroundings) -> None:
    tree = where.user / "tree"
    tree.mkdir()
    kept = where.workspace / ".git/worktrees/tree"
    kept.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {kept}\n")
    (kept / "commondir").write_text("../..\n")
    assert repository_of(tree) is None
    (kept / "gitdir").write_text(f"{tree}/.git\n")
    found = repository_of(tree)
    assert found is not None
    assert found.common == where.workspace / ".git"
    (tree / ".git").write_text(f"gitdir: {where.user}/.ssh\n")
    assert repository_of(tree) is None


def test_a_home_folder_that_is_not_there_needs_no_place(where: Surroundings) -> None:
    gone = where.user.parent / "gone"
    policy = made(Surroundings(where.workspace, gone, where.home, where.temporary, where.caches))
    assert not any(place.path.startswith(str(gone)) for place in policy.places)


def test_a_policy_comes_back_from_its_record(where: Surroundings) -> None:
    policy = made(where, allow_read=("~/.ssh",))
    assert policy_from(json.loads(json.dumps(policy.as_record()))) == policy


def test_a_folder_that_its_owner_may_open_again_keeps_its_stand_ins(where: Surroundings) -> None:
    where.workspace.chmod(0o555)
    assert made(where).kind_at(f"{where.workspace}/.perdure/settings.json") == Kind.STAND_IN
    where.workspace.chmod(0o755)


@pytest.mark.parametrize("name", [".git/hooks", ".git/config", ".claude", ".mcp.json"])
def test_what_a_person_linked_there_is_read_only_where_it_ends(where: Surroundings, name: str) -> None:
    mine, there = where.workspace / "mine", where.workspace / name
    if there.exists():
        there.rename(mine)
    else:
        mine.mkdir()
    there.symlink_to(mine)
    policy = made(where)
    assert policy.kind_at(str(mine)) == Kind.READ
    assert str(there) not in [place.path for place in policy.places], "nothing can be mounted on a link"


@pytest.mark.parametrize("name", [".git/info/attributes", ".git/modules/x/config", ".mcp.json", ".git/commondir"])
def test_no_link_shows_what_is_hidden(where: Surroundings, name: str) -> None:
    secret = where.user / ".ssh/id"
    secret.write_text("secret")
    link = where.workspace / name
    link.parent.mkdir(parents=True, exist_ok=True)
    (link.parent / "HEAD").touch()
    link.symlink_to(secret)
    assert made(where).kind_at(str(secret)) == Kind.HIDDEN
    (where.user / "notes").write_text("x")
    link.unlink()
    link.symlink_to(where.user / "notes")
    denied = made(where, allow_read=(str(where.user / "notes"),), deny_read=(str(where.user / "notes"),))
    assert denied.kind_at(str(where.user / "notes")) == Kind.HIDDEN
