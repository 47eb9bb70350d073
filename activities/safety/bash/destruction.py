"""Validators 7 and 8: what wrecks the system, or writes to a device."""

import re
from collections.abc import Iterator

from activities.safety.bash.caseless import Caseless
from activities.safety.bash.names import CONTAINERS, INTERPRETERS, named
from activities.safety.bash.paths import is_account, is_critical, is_device, trimmed
from activities.safety.bash.view import Act, View, is_unknown
from activities.safety.bash.writing import CHANGES, programs_of, written
from workflows.contracts.commands import UNKNOWN, Reason
from workflows.contracts.permissions import Decision

DENY = Decision.DENY

_REMOVERS = named(
    "rm grm shred wipe srm rimraf trash trash-put del-cli rmrf unlink del remove-item rd deltree gio safe-rm"
)
_CHANGERS = named("chmod chown chgrp chattr setfacl chcon gchmod gchown")
_DESTROYERS = _REMOVERS | _CHANGERS | named("mv gmv truncate dd rmdir cp tee ln")
_ERASES = Caseless(
    r"rmtree|rm_r|rm_rf|remove_tree|removedirs|remove_entry|rmdir|rmSync|\brm\s*\(|rimraf|deltree|remove_dir_all"
    r"|RemoveAll"
    r"|Remove-Item|shutil\.move|emptyDir|unlink|delete|os\.remove|chmod|chown|FileUtils|rename|send2trash"
    r"|File::Path|removeSync"
)
_PLACES = re.compile(
    r"(?:\\?['\"`](/[^'\"`\s\\]*|~[^'\"`\s]*|\.\./?(?:\.\./?)*|[A-Za-z]:[\\/]*)\\?['\"`])|((?:expanduser|Path\.home"
    r"|homedir|Dir\.home"
    r"|ENV\{?\[?['\"]?HOME|environ\[?\(?['\"]HOME|getenv\(['\"]HOME|process\.env\.HOME|\$HOME))"
    r"|(?<![\w<])(/)(?=\s*[,)\]]|$)|q[qw]?[{(\[/](/[^})\]\s]*)[})\]]|<(/[^>\s]*)>"
)


def root_destruction(view: View) -> Iterator[Reason]:
    """Recursive delete, move, overwrite or permission change of what must stay."""
    for act in view.acts:
        target = _destroyed(act)
        if target:
            yield act.finds(
                "root-destruction",
                DENY,
                f"{act.name or 'it'} would destroy {target}: the system, a home, or more than the workspace",
                hint="Name the folder inside the workspace that is meant.",
            )


def _destroyed(act: Act) -> str:
    name, values = act.name, act.values
    critical = [value for value in dict.fromkeys(_targets(act)) if _is_critical(act, value)]
    flags = "".join(one[1:] for one in act.arguments if re.fullmatch(r"-[A-Za-z]+", one))
    if name in _REMOVERS:
        return _removed(act, critical, flags)
    if name in _CHANGERS:
        is_deep = "R" in flags or any(one.startswith("--recu") for one in values)
        shallow = [one for one in critical if not _is_home(act, one)]
        return next(iter(critical if is_deep else shallow), "")
    if name in {"mv", "gmv"}:
        has_target = any(re.match(r"-\w*t|--t", one) for one in act.arguments)
        moved = act.operands[1:] if has_target else act.operands[:-1]
        return next((one for one in critical if one in moved or len(act.operands) < 2), "")
    if name in {"find", "gfind", "bfs", "fd", "fdfind"}:
        return _found(act, critical)
    if name == "rsync":
        lost = act.operands[-1:] if any(one.startswith("--del") for one in values) else []
        lost = [*lost, *act.operands[:-1]] if "--remove-source-files" in values else lost
        return next((one for one in critical if one in lost), "")
    if name == "git":
        return _cleaned(act)
    if name in INTERPRETERS or name in {"pwsh", "powershell"}:
        return _programmed(act)
    return next(iter(critical), "") if _takes_away(act, flags) else _overwritten(act, flags)


def _takes_away(act: Act, flags: str) -> bool:
    """Whether an archiver or a copier removes what it is told of."""
    values = act.values
    match act.name:
        case "tar" | "gtar" | "bsdtar":
            return any(one.startswith("--remove-f") for one in values)
        case "zip" | "7z" | "7za" | "7zz":
            return "m" in flags or bool({"--move", "-sdel"} & set(values))
        case "rclone":
            return bool({"purge", "delete", "rmdirs", "move", "moveto", "sync", "cleanup"} & set(act.operands[:1]))
    return False


def _overwritten(act: Act, flags: str) -> str:
    if act.name in {"cp", "gcp", "ditto"} and re.search(r"[raR]", flags):
        return next((one for one in act.operands[-1:] if act.path(one) in {"/", "/etc", "/usr", "/bin", "/lib"}), "")
    if act.name in CONTAINERS and any(one in _REMOVERS for one in act.operands):
        mounted = [one.partition(":")[0] for one in act.operands if ":" in one]
        return next((one for one in mounted if one and not is_unknown(one) and _is_critical(act, one)), "")
    return ""


def _targets(act: Act) -> list[str]:
    return [*act.operands, *(one.partition("=")[2] for one in act.arguments if re.match(r"--\w[\w-]*=", one))]


def _is_critical(act: Act, value: str) -> bool:
    """Whether a value names, or may name when a part of it is unset, what must stay."""
    if value.strip(UNKNOWN) == "" or value.startswith("-"):
        return False
    stripped = value.replace(UNKNOWN, "")
    if re.fullmatch(r"[a-zA-Z]:[\\/]*(?:\*|windows.*|users.*|program files.*)?", stripped, re.IGNORECASE):
        return True
    faces = act.faces(stripped if stripped.startswith("/") else value)
    return any(is_critical(path, act.view.setting) for path in faces)


def _removed(act: Act, critical: list[str], flags: str) -> str:
    is_deep = (
        bool(set(flags) & {"r", "R"})
        or bool({"/s", "/S"} & set(act.values))
        or any(one.startswith(("--r", "-Recurse")) for one in act.arguments)
    )
    is_deep = is_deep or act.name not in {"rm", "grm", "unlink", "del", "shred", "wipe"}
    if is_deep and critical:
        return critical[0]
    system = [one for one in critical if not _is_home(act, one)]
    if system and any(re.search(r"[*?\[]", one) or act.name in {"shred", "wipe"} for one in system):
        return system[0]
    if act.name in {"shred", "wipe", "rm", "grm", "unlink"}:
        return next((one for one in act.operands for path in act.faces(one) if is_account(path, act.view.setting)), "")
    return ""


def _is_home(act: Act, value: str) -> bool:
    path = act.path(value)
    return path is not None and trimmed(path) not in {"/", "/home"} and trimmed(path).startswith(act.view.setting.home)


def _found(act: Act, critical: list[str]) -> str:
    if act.name in {"fd", "fdfind"}:
        roots = critical
    else:
        start = next((at for at, one in enumerate(act.operands) if one in {"(", "!"}), len(act.operands))
        first = next(
            (at for at, one in enumerate(act.values) if at and re.match(r"-[a-z]{2,}|[(!]$", one)), len(act.values)
        )
        roots = [one for one in act.values[1:first] if one in critical][: start or None]
        if first == 1 and act.folder and _is_critical(act, "."):
            roots = ["."]
    if not roots:
        return ""
    deletes = "-delete" in act.values or any(one.name in _DESTROYERS for one in act.below)
    return roots[0] if deletes else ""


def _cleaned(act: Act) -> str:
    if not {"clean", "checkout", "reset", "restore", "rm"} & set(act.arguments):
        return ""
    values = act.values
    trees = [one.value.value for one in act.command.assignments if one.name == "GIT_WORK_TREE"]
    if found := next((one for one in trees if _is_critical(act, one)), ""):
        return found
    for at, one in enumerate(values):
        place = values[at + 1] if one in {"-C", "--work-tree"} and at + 1 < len(values) else ""
        place = one.partition("=")[2] if one.startswith("--work-tree=") else place
        if place and _is_critical(act, place):
            return place
    if "clean" not in values:
        return ""
    return next((one for one in ("." if act.folder else "", *act.operands) if one and _is_critical(act, one)), "")


def _programmed(act: Act) -> str:
    for program in programs_of(act):
        if not _ERASES.is_in(program):
            continue
        for found in _PLACES.finditer(program):
            place = next((part for part in found.groups() if part), "")
            if found[2] or place == "~" or _is_critical(act, place.replace("~", act.view.setting.home, 1)):
                return place or "the home folder"
    return ""


_NARROW = named("cd cat head tail test [ which command dirname basename df stat echo printf")
"""Programs that name less than is below their operands."""


def through_input(view: View) -> Iterator[Reason]:
    """What removes the names that `find /` and its like write to it."""
    for act in view.acts:
        if act.name not in _REMOVERS | _CHANGERS | {"mv"} or not any(is_unknown(one) for one in act.values):
            continue
        for source in act.sources:
            root = next((one for one in source.operands if _is_critical(source, one)), "")
            if root and source.name not in _NARROW:
                text = f"{act.name} would take everything that {source.name} finds in {root}"
                yield act.finds("root-destruction", DENY, text)
                break


_FORMATTERS = re.compile(
    r"mkfs(\..+)?|mke2fs|mkswap|wipefs|newfs.*|mkntfs|mkdosfs|blkdiscard|cryptsetup|sgdisk|gdisk|sfdisk|cfdisk"
    r"|fdisk|parted"
    r"|gparted|badblocks|hdparm|nvme|mdadm|pvcreate|pvremove|vgremove|lvremove|vgreduce|zpool|diskutil|flashrom"
    r"|flash_erase|e2image|scrub|debugfs|asr|ntfs(?:clone|fix|resize)|lvreduce|lvresize|lvcreate|vgcreate|gpart|growisofs"
    r"|cdrecord|wodim|dd_rescue|ddpt|sg_dd|sg_write\w*|sdparm|fsarchiver|e2label|fatlabel|swaplabel|veracrypt|mkexfatfs"
    r"|mkudffs|mkreiserfs|mkjfs|bcachefs|xfs_copy|xfs_admin|fatresize|kpartx|dislocker\w*|hdiutil|disktool"
    r"|sg_format|format|diskpart|dmsetup|resize2fs|tune2fs|e2fsck|fsck(\..+)?|partx|sg_sanitize|nwipe|ddrescue"
    r"|partclone.*"
    r"|bcache-super-show|make-bcache|xfs_repair|btrfs|zfs|efibootmgr|grub-install|extlinux|bootctl|asahi-.*|mtd_debug"
)
_LOOKS = re.compile(
    r"-l|--list|-p|print|--print|list|info|status|--help|-h|--version|-V|luksDump|--detail|--examine|-I|-i|show|id-ctrl"
    r"|smart-log|get|-n|scrub|subvolume|ls|isLuks"
)
_IMAGE = re.compile(r"[^:]+\.(?:img|iso|raw|bin|qcow2?|dmg|vhdx?|vdi|fs|ext[234]|fat|disk|loop)", re.IGNORECASE)
_ALWAYS = re.compile(
    r"mkfs(\..+)?|mke2fs|mkswap|wipefs|newfs.*|mkntfs|mkdosfs|blkdiscard|sg_format|flash_erase|nwipe|diskpart"
)


def device_write(view: View) -> Iterator[Reason]:
    """Block devices, partition tables and file systems."""
    for act in view.acts:
        hit = next((one for one in written(act) for path in act.faces(one) if is_device(path)), "")
        if not hit and _FORMATTERS.fullmatch(act.name):
            changes = {"sgdisk": "-n", "flashrom": "-w", "hdparm": "--security-erase"}.get(act.name)
            looks = changes not in act.arguments and any(_LOOKS.fullmatch(one) for one in act.arguments)
            devices = [one for one, faces in act.named if any(path.startswith("/dev/") for path in faces)]
            named = next(iter(devices), "") or next((one for one in act.operands if re.match(r"r?disk\d", one)), "")
            is_image = any(_IMAGE.fullmatch(one) for one in act.operands) and not named
            if not looks and not is_image and (named or act.operands):
                hit = named or act.name
            elif _ALWAYS.fullmatch(act.name) and named:
                hit = named
        if not hit and act.name in INTERPRETERS:
            hit = _opened_device(act)
        if hit:
            yield act.finds(
                "device-write", DENY, f"{act.name or 'a redirection'} would write to {hit} below every file system"
            )


def _opened_device(act: Act) -> str:
    for program in programs_of(act):
        found = re.search(r"/dev/(?:sd[a-z]|nvme|disk\d|mem|hd[a-z]|vd[a-z]|kmem|mmcblk)\w*", program)
        if found and CHANGES.is_in(program):
            return found[0]
    return ""
