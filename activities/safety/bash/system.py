"""Validators 10 and 11: halting, weakening the kernel's guards, and taking over accounts or privileges."""

import re
from collections.abc import Iterator

from activities.safety.bash.names import AWKS, CONTAINERS, INTERPRETERS, ROOT, named
from activities.safety.bash.paths import is_account
from activities.safety.bash.view import Act, View, is_unknown
from activities.safety.bash.writing import programmed, written
from workflows.contracts.commands import UNKNOWN, Reason
from workflows.contracts.permissions import Decision

DENY, ASK = Decision.DENY, Decision.ASK

_HALTS = named("halt poweroff reboot shutdown kexec killall5 telinit rtcwake pm-suspend pm-hibernate systemctl-reboot")
_MODULES = named("insmod modprobe kmod kextload")
_UNIT_HALTS = re.compile(
    r"(?:soft-)?reboot|poweroff|halt|kexec|suspend(?:-then-hibernate)?|hibernate|hybrid-sleep|emergency|rescue"
    r"|exit|isolate"
)
_GUARDS = re.compile(
    r"(?:apparmor|firewalld|ufw|iptables|ip6tables|nftables|auditd|fail2ban|selinux.*|falco.*|clamav.*|osqueryd"
    r"|crowdstrike.*"
    r"|falcon-sensor|wazuh.*|sshguard|snort|suricata|perdure.*|temporal.*)(?:\.service)?"
)
_HARDENING = re.compile(
    r"/proc/sysrq-trigger|/proc/sys/(?:kernel|fs|user|dev|abi|net)/.*|/proc/sys/vm/(?:mmap_min|overcommit|panic|unpriv).*|/sys/fs/selinux/.*|/sys/kernel/(?:security|debug|mm|uevent).*|/sys/power/.*"
    r"|/etc/sysctl.*|/etc/selinux/.*|/etc/apparmor.*|/sys/class/power.*|/etc/modprobe\.d/.*|/sys/firmware/.*"
    r"|/proc/\d+/mem"
    r"|/sys/module/.*|/proc/self/mem"
)
_GUARDING = re.compile(
    r"(?:kernel|fs|user|dev|abi)[./]\S+=|vm[./](?:mmap_min_addr|overcommit_memory|panic_on_oom|unprivileged_userfaultfd)\S*="
    r"|net[./]\S*(?:rp_filter|redirects|syncookies|source_route|bpf_jit\w*|icmp_echo\w*|log_martians|forwarding|ip_forward)="
    r"|(?:--load|--pattern)=|-p\S"
)
"""Settings of the kernel that guard it; those that tune it are asked about."""
_KILL_ALL = re.compile(
    r"kill\s*\(?\s*(?:-?9|['\"]?(?:SIG)?KILL['\"]?|-?15|signal\.SIG\w+)?\s*,?\s*-1\b|os\.kill\(\s*-?1\b|os\.kill\(1,"
)
_SHUTS = re.compile(
    r"to (?:shut ?down|restart|log out)|\breboot\b|\bpoweroff\b|InitiateSystemShutdown|Stop-Computer|RB_AUTOBOOT",
    re.IGNORECASE,
)


def system_state(view: View) -> Iterator[Reason]:
    """Halt, crash, signals to everything, kernel modules, guards switched off."""
    for act in view.acts:
        text = (
            _state(act)
            or _weakened(act)
            or next(
                (f"it writes {one}" for one in written(act) for path in act.faces(one) if _HARDENING.fullmatch(path)),
                "",
            )
        )
        if text:
            yield act.finds("system-state", DENY, f"{text}: the machine, its kernel or its guards are not the agent's")


def _state(act: Act) -> str:
    name, given = act.name, act.arguments
    asks_only = {"--help", "--version"} & set(given)
    if name in _HALTS and not asks_only and "-c" not in given:
        return f"{name} halts the machine"
    if name == "init" and set(given) & {"0", "6", "1", "s", "S", "u", "q"}:
        return "init changes the run level"
    if name in {"systemctl", "loginctl", "initctl"}:
        hit = next((one for one in act.operands[:1] if _UNIT_HALTS.fullmatch(one)), "")
        targets = any(re.match(r"(?:reboot|poweroff|halt|shutdown|rescue|emergency)\.target", one) for one in given)
        if hit or targets:
            return f"{name} halts the machine"
    if name in {"kill", "pkill", "killall", "skill", "snice"}:
        return _signals(act)
    if name in _MODULES and not (
        set(given) & {"-n", "--show", "--dry-run", "list", "-l", "--help", "-c", "-r", "--remove"}
    ):
        return f"{name} changes the kernel's modules"
    if name in INTERPRETERS - {"make", "gmake"} and any(_KILL_ALL.search(one) or _SHUTS.search(one) for one in given):
        return "a program signals every process or halts the machine"
    if name in {"ipmitool", "virsh", "dbus-send", "gdbus", "busctl", "qdbus", "osascript"}:
        return "it halts the machine" if _SHUTS.search(" ".join(given)) or "PowerOff" in " ".join(given) else ""
    return ""


def _signals(act: Act) -> str:
    given = act.arguments
    if act.name == "kill":
        if set(given) & {"-l", "-L", "--list"}:
            return ""
        rest = given[given.index("--") + 1 :] if "--" in given else given[1:] if given[:1] != ["-s"] else given[2:]
        if any(re.fullmatch(r"-1|1|-0*1", one) for one in rest) or given in (["1"], ["-1"]):
            return "kill signals every process, or the first one"
        if any(is_unknown(one) for one in given) and _lists_all(act.sources):
            return "kill signals every process that is listed"
        looped = {
            one.variable for one in act.view.script.loops if any(item.value.startswith("/proc/") for item in one.items)
        }
        if looped & {name for word in act.command.words for name in word.variables}:
            return "kill signals every process that is listed"
        return ""
    patterns = [
        one
        for one in act.operands
        if re.fullmatch(r"[.^$*?]*|\.\*|init|systemd|launchd|\(?\.\)?\+?|dbus-daemon|sshd", one)
    ]
    if patterns or set(given) & {"-v", "--inverse"} or (_by_user(act) and not _has_pattern(act)):
        return f"{act.name} signals every process"
    return ""


_PICKS = named("grep egrep fgrep rg head tail comm join")
_EVERY = re.compile(r"[.^$*?]*|\(?\.\)?\+?")
_LISTS = re.compile(r"-(?=[A-Za-z]*[eA])[A-Za-z]+|(?=[A-Za-z]*[ax])[A-Za-z]+")


def _lists_all(sources: list[Act]) -> bool:
    """Whether what is signalled is every process, with nothing that picks some of them."""
    if any(
        one.name in _PICKS or (one.name in AWKS | {"sed"} and re.search("[/~]|[=<>]", "".join(one.arguments)))
        for one in sources
    ):
        return False
    for one in sources:
        given = zip(one.values, one.arguments, strict=False)
        if one.name == "ps" and any(
            _LISTS.fullmatch(value) and not re.fullmatch(r"-\w*[opqCutgGU]", before) for before, value in given
        ):
            return True
        if (
            one.name == "pgrep"
            and one.arguments
            and ((_by_user(one) and not _has_pattern(one)) or all(map(_EVERY.fullmatch, one.operands or ["x"])))
        ):
            return True
    return False


def _by_user(act: Act) -> bool:
    flags = {"-u", "-U", "--uid", "--euid", "--user", "-v", "--inverse"}
    return any(one in flags or re.match(r"-[uU]\w", one) for one in act.arguments)


def _has_pattern(act: Act) -> bool:
    takes = {"-u", "-U", "--user", "-s", "--signal", "-t", "-g", "--uid", "--euid"}
    return any(
        one not in takes and before not in takes and not one.startswith("-")
        for before, one in zip(act.values, act.arguments, strict=False)
    )


_ALWAYS_WEAKENS = named("aa-teardown aa-disable aa-complain aa-remove-unknown kpatch pivot_root switch_root")


def _weakened(act: Act) -> str:  # noqa: C901, PLR0912 - one case a program
    name, given, words = act.name, act.arguments, " ".join(act.arguments)
    hit = False
    match name:
        case "setenforce":
            hit = bool(re.match(r"0|permissive", words, re.IGNORECASE))
        case _ if name in _ALWAYS_WEAKENS:
            hit = True
        case "apparmor_parser" | "semodule" | "setsebool":
            hit = any(re.match(r"-R|-r|-d|-P|--remove", one) for one in given)
        case "systemctl" | "service" | "rc-service" | "launchctl" | "chkconfig" | "update-rc.d":
            stops = {"stop", "disable", "mask", "kill", "off", "remove", "unload", "bootout"} & set(given)
            hit = bool(stops) and any(_GUARDS.fullmatch(one) for one in given)
        case "ufw":
            hit = bool({"disable", "reset"} & set(given)) or "default allow" in words
        case "iptables" | "ip6tables" | "iptables-legacy" | "iptables-nft" | "ebtables" | "arptables":
            hit = bool({"-F", "--flush", "-X", "-Z"} & set(given)) or bool(
                re.search(r"(?:-P|--policy) \w+ ACCEPT", words)
            )
        case "nft":
            hit = "flush" in given or "delete" in given
        case "pfctl" | "ipfw":
            hit = bool({"-d", "-F", "flush", "disable"} & set(given)) or "-d" in words
        case "auditctl":
            hit = "-D" in given or "-e 0" in words or "-e0" in words
        case "csrutil" | "spctl" | "netsh" | "set-mppreference":
            hit = bool(re.search(r"disable|off|\$true", words, re.IGNORECASE))
        case "sysctl":
            hit = any(_GUARDING.match(one) for one in given) or bool({"-p", "--load", "--system"} & set(given))
        case "mount":
            hit = bool(
                re.search(
                    r"remount|--move|--make-r?shared|bind\S* (?:-\S+ )*\S+ /(?:etc|usr|bin|s?bin|lib\w*)?/?$", words
                )
            ) or any(one == "/" for one in act.operands[-1:])
        case "umount":
            hit = bool({"-a", "--all"} & set(given)) or any(
                act.path(one) in {"/", "/home", "/usr", "/proc", "/sys"} for one in act.operands
            )
        case "firewall-cmd":
            hit = bool(re.search(r"--panic-off|--set-default-zone=trusted|--set-target=ACCEPT", words))
        case "bpftool":
            hit = bool({"load", "attach"} & set(given))
        case "semanage":
            hit = given[:1] == ["permissive"]
    return f"{name} weakens a guard of this machine" if hit else ""


_CHANGES_ACCOUNTS = named(
    "chpasswd newusers vipw vigr ssh-copy-id pw dscl sysadminctl dseditgroup grpck userdel deluser groupdel groupmod"
    " chsh chfn"
)
_SETS_ID = re.compile(r"0?[2467]\d{3}|(?:[ugoa]*[+=][rwxXt]*s[rwxXst]*)(?:,.*)?|.*,[ugoa]*[+=][rwxXt]*s.*")
_PRIVILEGED = re.compile(r"(?:^|[,\s])(?:sudo|wheel|root|admin|adm|docker|lxd|shadow|disk|0)(?:[,\s]|$)")
_MOUNTS = re.compile(
    r"(?:^|[=,])(?:source=|src=)?/(?:etc|root|home|boot|usr|var|var/lib|proc|sys|dev|bin|lib|sbin|var/run"
    r"|run)?/?(?::|,|$)|docker\.sock"
)


def privilege_takeover(view: View) -> Iterator[Reason]:
    """Accounts, login keys, set-uid, capabilities, host root through a container; plain sudo asks."""
    for act in view.acts:
        text = _account(act) or _contained(act) or _in_pod(act) or _enters_host(act)
        if not text:
            hit = next(
                (one for one in _all_written(act) for path in act.faces(one) if is_account(path, view.setting)), ""
            )
            text = f"it writes {hit}, which decides who may log in" if hit else ""
        if text:
            yield act.finds("privilege-takeover", DENY, text)
        elif act.name in ROOT or any(one.name in ROOT for one in act.command.wrappers):
            yield act.finds("privilege-takeover", ASK, "it runs as another user", kind="wrapper")


def _all_written(act: Act) -> Iterator[str]:
    yield from written(act)
    if act.name in INTERPRETERS:
        yield from programmed(act)


def _account(act: Act) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a program
    name, given, words = act.name, act.arguments, " ".join(act.arguments)
    if {"--help", "--version"} & set(given):
        return ""
    match name:
        case "chmod" | "gchmod" if any(_SETS_ID.fullmatch(one) for one in given[:3]):
            return "it sets the set-uid or set-gid bit"
        case "install" | "ginstall" if re.search(r"(?:-\w*m\s*|--mode[= ])(?:0?[2467]\d{3}|\S*\+\w*s)", words):
            return "it installs a set-uid program"
        case "setcap" if "-r" not in given:
            return "it gives a program capabilities"
        case "setfattr" if re.search(r"\bsecurity\.", words) and not {"-x", "--remove"} & set(given):
            return "it gives a program capabilities"
        case _ if name in _CHANGES_ACCOUNTS:
            return f"{name} changes accounts or login keys"
        case "visudo" if not {"-c", "--check"} & set(given):
            return "it changes who may use sudo"
        case "passwd" if not {"-S", "--status"} & set(given):
            return "it changes a password"
        case "usermod" | "gpasswd" | "adduser" | "useradd" | "addgroup" | "groupmems" | "luseradd" | "lusermod":
            if _PRIVILEGED.search(words.replace("=", " ")) or re.search(r"-\w*[up]\w*|--password|-[oU]\b|-L\b", words):
                return f"{name} makes or changes an account with more rights"
        case "net" if re.search(r"(?:user|localgroup)\s.*/add", words, re.IGNORECASE):
            return "it makes an account"
        case "xhost" if "+" in given:
            return "it opens the display to everybody"
        case _ if name in INTERPRETERS and re.search(
            r"chmod\D{0,80}0?o?[2467]\d{3}\b|setuid\(0\)|os\.setresuid", words
        ):
            return "a program sets the set-uid bit or takes root's id"
    return ""


def _contained(act: Act) -> str:
    given = act.arguments
    if act.name in CONTAINERS | {"docker-compose", "podman-compose"} and {"run", "create", "exec", "start"} & set(
        given[:4]
    ):
        for at, one in enumerate(given):
            value = given[at + 1] if one in {"-v", "--volume", "--mount"} and at + 1 < len(given) else ""
            if one.startswith(("-v/", "--volume=", "--mount=")):
                value = one.partition("=")[2] or one[2:]
            if value and _MOUNTS.search(value.replace(UNKNOWN, "")):
                return "the container would reach the whole host"
        if {"--privileged", "--privileged=true"} & set(given):
            return "a privileged container is root on the host"
        if re.search(
            r"--(?:pid|userns|ipc|uts)[= ]host|--cap-add[= ](?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE)"
            r"|--device[= ]/dev/(?:sd|nvme|mem|vd)",
            " ".join(given),
        ):
            return "the container would reach the host's processes or devices"
    return ""


def _in_pod(act: Act) -> str:
    if act.name not in {"kubectl", "oc", "k3s"}:
        return ""
    words = " ".join(act.arguments)
    is_node = "debug" in act.arguments[:3] and re.search(r"\bnodes?/", words)
    if is_node or re.search(
        r"\"?(?:privileged|hostPID|hostNetwork)\"?\s{0,9}:\s{0,9}true|--privileged(?!=false)", words
    ):
        return "the pod would be root on the host"
    if re.search(r"hostPath\W{1,9}path\W{1,9}/(?:[\"'}]|etc|root|var/run)", words):
        return "the pod would reach the whole host"
    return ""


def _enters_host(act: Act) -> str:
    if re.search(r"(?:-\w*t|--target)[= ]?1(?:\s|$)", _said_to(act, {"nsenter"})):
        return "nsenter into process 1 is root on the host"
    if re.search(r"/proc/1/(?:ns|root)\b", _said_to(act, {"nsenter", "chroot"})):
        return "it enters what process 1 sees: the host"
    return ""


def _said_to(act: Act, names: set[str]) -> str:
    """The words of a command and its wrappers of these names."""
    wrapped = [word.value for one in act.command.wrappers if one.name in names for word in one.words]
    return " ".join((*wrapped, *(act.values if act.name in names else ())))
