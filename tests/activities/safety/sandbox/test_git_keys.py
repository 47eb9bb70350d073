"""Which keys of git's configuration a command may change: what they could make a later git do decides."""

import pytest

from activities.safety.sandbox.git_keys import Weight, runs_something, weight

AFTER = {"remote.origin.url": ("https://a.example/x",), "remote.fork.url": ("https://b.example/x",)}


def change(key: str, was: tuple[str, ...], now: tuple[str, ...], *, is_new: bool = False) -> Weight:
    return weight(key, was, now, AFTER, is_new=is_new)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("user.name", "A B"),
        ("user.email", "a@b"),
        ("init.defaultbranch", "main"),
        ("pull.rebase", "true"),
        ("push.default", "current"),
        ("branch.x/y.remote", "fork"),
        ("branch.x.remote", "."),
        ("branch.x.pushremote", "origin"),
        ("branch.x.merge", "refs/heads/x"),
        ("remote.pushdefault", "fork"),
        ("remote.up.url", "https://a.example/x.git"),
        ("remote.up.url", "git@a.example:x/y.git"),
        ("remote.up.url", "ssh://git@[::1]:22/x"),
        ("remote.up.fetch", "+refs/heads/*:refs/remotes/up/*"),
        ("remote.up.tagopt", "--no-tags"),
        ("submodule.lib.url", "https://a.example/lib"),
        ("submodule.lib.active", "true"),
        ("advice.detachedhead", "false"),
        ("core.autocrlf", "input"),
    ],
)
def test_what_names_people_branches_and_new_remotes_is_harmless(key: str, value: str) -> None:
    assert change(key, (), (value,)) == Weight.HARMLESS


@pytest.mark.parametrize(
    ("key", "was", "now"),
    [
        ("remote.origin.url", ("https://a.example/x",), ("https://evil.example/x",)),
        ("remote.origin.url", ("https://a.example/x",), ("https://a.example/x", "https://evil.example/x")),
        ("remote.origin.url", ("https://a.example/x",), ()),
        ("remote.up.url", (), ("https://a.example/x", "https://b.example/x")),
        ("remote.up.url", (), ("../other",)),
        ("remote.up.url", (), ("file:///work/planted.git",)),
        ("remote.up.url", (), ("odd://a.example/x",)),
        ("remote.up.pushurl", (), ("https://evil.example/x",)),
        ("remote.up.push", (), ("+refs/heads/*:refs/heads/*",)),
        ("remote.up.mirror", (), ("true",)),
        ("remote.up.fetch", (), ("+refs/heads/*:refs/heads/*",)),
        ("branch.x.remote", ("origin",), ("https://evil.example/x",)),
        ("branch.x.remote", (), ("./planted.git",)),
        ("branch.x.remote", (), ("nobody",)),
        ("branch.x.pushremote", (), ("git@evil.example:x",)),
        ("submodule.lib.url", ("https://a.example/lib",), ("https://evil.example/lib",)),
        ("submodule.lib.url", (), ("/work/lib",)),
        ("core.hookspath", ("guards",), ()),
        ("commit.gpgsign", ("true",), ()),
    ],
)
def test_what_sends_elsewhere_or_drops_a_guard_leads(key: str, was: tuple[str, ...], now: tuple[str, ...]) -> None:
    assert change(key, was, now) == Weight.LEADS


CLOSED = [
    ("remote.up.url", "ext::sh -c evil"),
    ("remote.up.url", "fd::17"),
    ("remote.up.url", "--upload-pack=evil"),
    ("remote.up.url", "ssh://-oProxyCommand=evil/x"),
    ("remote.up.url", "ssh://a@-oProxyCommand=evil/x"),
    ("remote.up.pushurl", "ext::sh -c evil"),
    ("remote.up.uploadpack", "evil"),
    ("remote.up.receivepack", "evil"),
    ("remote.up.vcs", "evil"),
    ("submodule.lib.url", "ext::sh -c evil"),
    ("submodule.lib.update", "!evil"),
    ("core.fsmonitor", "evil"),
    ("core.hookspath", ".husky"),
    ("core.pager", "evil"),
    ("core.sshcommand", "evil"),
    ("include.path", "/work/more"),
    ("includeif.gitdir:/.path", "/work/more"),
    ("filter.x.clean", "evil"),
    ("diff.x.textconv", "evil"),
    ("credential.helper", "evil"),
    ("gpg.ssh.program", "evil"),
    ("merge.x.driver", "evil"),
]
OF_NO_PROGRAM = [
    ("remote.https://a.example/x.url", "https://evil.example/x"),
    ("remote.up.proxy", "http://evil.example"),
    ("url.https://evil.example/.insteadof", "https://a.example/"),
    ("http.sslverify", "false"),
    ("http.extraheader", "A: b"),
    ("commit.template", "/etc/passwd"),
    ("core.worktree", "/home/dev"),
    ("core.protectntfs", "false"),
    ("safe.directory", "*"),
    ("alias.st", "log --output=x"),
    ("alias.st", "!evil"),
    ("branch.x.merge", "-x"),
    ("user.name", "a\nb"),
    ("user.name", "--x"),
    ("push.default", "matching"),
    ("user.signingkey", "x"),
    ("odd.key", "x"),
]


@pytest.mark.parametrize(("key", "value"), [*CLOSED, *OF_NO_PROGRAM])
@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_later_git_would_run_read_or_trust_is_closed(key: str, value: str, *, is_new: bool) -> None:
    assert change(key, (), (value,), is_new=is_new) == Weight.CLOSED


@pytest.mark.parametrize(("key", "value"), CLOSED)
def test_what_names_a_program_is_seen_in_a_repository_of_the_commands_too(key: str, value: str) -> None:
    assert runs_something(key, (value,))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("remote.origin.url", "file:///work/x.git"),
        ("core.bare", "false"),
        ("core.fsmonitor", "true"),
        ("gc.auto", "0"),
        ("commit.gpgsign", "false"),
        ("receive.denycurrentbranch", "updateInstead"),
        ("submodule.lib.update", "rebase"),
    ],
)
def test_a_repository_of_the_commands_may_hold_what_runs_nothing(key: str, value: str) -> None:
    assert not runs_something(key, (value,))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.bare", "false"),
        ("core.repositoryformatversion", "1"),
        ("core.logallrefupdates", "true"),
        ("extensions.objectformat", "sha256"),
        ("remote.origin.url", "file:///work/x.git"),
        ("remote.origin.promisor", "true"),
    ],
)
def test_a_new_repository_holds_what_git_writes_into_it(key: str, value: str) -> None:
    assert change(key, (), (value,), is_new=True) == Weight.HARMLESS
