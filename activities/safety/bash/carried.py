"""A command among the words of a program of which nothing is known: it may be one that runs what stands behind it."""

import re
from collections.abc import Iterator
from itertools import pairwise

from activities.safety.bash.interpreted import Inner
from activities.safety.bash.names import CONTAINERS, INTERPRETERS, PACKAGE_MANAGERS, is_shell, named
from activities.safety.bash.tables import READERS
from workflows.contracts.commands import Reach, Word

_GRAVE = named(
    "rm grm shred wipe wipefs srm rimraf unlink del-cli trash dd find fd mv truncate tee chmod chown chgrp chattr"
    " setfacl setcap shutdown blkdiscard sgdisk sfdisk parted fdisk mke2fs mkswap kill pkill killall usermod useradd"
    " perdure nsenter insmod modprobe cp install ln rsync scp curl wget nc ncat socat docker podman mount umount"
    " setenforce ufw iptables nft sysctl systemctl temporal xargs"
)
"""Programs that it matters to find; what else a command carries is asked about in any case."""
_NEVER = READERS.keys() | CONTAINERS | named(
    "git kubectl oc docker-compose podman-compose gh glab hub apropos whatis info tldr echo printf test [ [[ (("
    " case for export declare local typeset readonly read set alias unalias unset hash trap"
    " touch mkdir"
    " aws gsutil gcloud az doctl hcloud s3cmd rclone terraform tofu pulumi vault consul nomad heroku fly flyctl"
    " firebase vercel netlify svn hg jj bzr fossil p4 dvc borg restic ipfs lxc vagrant snap flatpak"
    " tar zip 7z unzip apt apt-get dpkg rpm yum dnf pacman apk brew port complete compgen"
)  # fmt: skip
"""Programs whose words are known to be no command, or one of another machine."""
_HALTS = named("reboot halt poweroff shutdown")
_FETCHES = named("install add i remove uninstall rm update upgrade search show info view why publish link unlink pack")
_MOST = 12


def carried(values: list[str], words: tuple[Word, ...]) -> Iterator[Inner]:
    """What a program that is not known may run of its own last words."""
    name = values[0].rsplit("/", 1)[-1].lower()
    if len(values) < 2 or name in _NEVER or name in _GRAVE:
        return
    if name in PACKAGE_MANAGERS and _FETCHES & {*values[1:2], *(set(values[2:3]) - {"rm", "link", "unlink"})}:
        return
    yield from _told(name, values)
    for at, value in enumerate(values[1:_MOST], 1):
        base = value.rsplit("/", 1)[-1]
        if (at + 1 < len(values) and _is_grave(base, values[at + 1 :])) or (values[at - 1] == "--" and base in _HALTS):
            yield Inner(words=words[at:], reach=Reach.DECODED)
            return


_RUNS = re.compile(r"--?(?:c|x|e|exec|wrap|command|cmd|run|shell|call|hook|on-\w+|pre-\w+|post-\w+|then|do)")
_TAKES_LINES = named(
    "hyperfine concurrently sops foreman overmind onchange chokidar nodemon npm-run-all wrk time pueue"
)


def _told(name: str, values: list[str]) -> Iterator[Inner]:
    """Whole command lines, behind an option that says so or given to what runs lines."""
    for before, value in pairwise(values):
        option, sign, given = value.partition("=")
        if sign and " " in given and _RUNS.fullmatch(option):
            yield Inner(given, reach=Reach.DECODED)
        elif " " in value and (_RUNS.fullmatch(before) or name in _TAKES_LINES):
            yield Inner(value, reach=Reach.DECODED)


def _is_grave(name: str, rest: list[str]) -> bool:
    if name in _GRAVE or name.startswith("mkfs"):
        return True
    runs_text = is_shell(name) or name in INTERPRETERS
    return runs_text and any(re.fullmatch(r"-\w*[ceEr]", one) for one in rest[:-1])
