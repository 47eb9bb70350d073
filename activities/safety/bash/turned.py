"""What programs make of a text that is plain to see: tr, sed, cut, head and their like."""

import base64
import binascii
import re
from collections.abc import Callable, Iterable

from activities.safety.bash.escapes import unescape
from activities.safety.bash.names import named
from activities.safety.bash.options import Form, parse

Turn = Callable[[list[str], str], str | None]
"""Of the words of a program and the text that it is given, what it prints; nothing where that is not plain to see."""

_COUNT = re.compile(r"(?:-(?:([nc]) ?)?|--(lines|bytes)[= ])([-+]?)(\d{1,9})")
_CUT = Form(short=frozenset("nsz"), valued=frozenset("bcdf"))
_SPAN = re.compile(r"(\d{0,9})(-?)(\d{0,9})")
_FIELD = re.compile(r"\s{0,9}\{\s{0,9}print\s{0,9}\$(\d)\s{0,9};?\s{0,9}\}\s{0,9}")
_CLASSES = {
    "[:upper:]": "A-Z", "[:lower:]": "a-z", "[:digit:]": "0-9", "[:alpha:]": "A-Za-z", "[:alnum:]": "A-Za-z0-9",
    "[:blank:]": " \t", "[:space:]": " \t\n\v\f\r",
}  # fmt: skip


def turned(name: str, values: list[str], text: str) -> str | None:
    """What a program prints of the text that it is given; nothing where that is not plain to see."""
    turn = _TURNS.get(name)
    return turn(values, text) if turn else None


def _by_line(text: str, change: Callable[[str], str]) -> str:
    return _as_lines(map(change, text.removesuffix("\n").split("\n")))


def _as_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _ended(values: list[str], text: str) -> str:
    """By head or tail; the whole where its options say more."""
    found = _COUNT.fullmatch(" ".join(values[1:]) or "-n 10")
    if not found:
        return text
    many, sign = int(found[4]), found[3]
    units = list(text) if found[1] == "c" or found[2] == "bytes" else re.findall(r"[^\n]*\n|[^\n]+", text)
    if values[0].endswith("head"):
        kept = units[: max(len(units) - many, 0)] if sign == "-" else units[:many]
    else:
        kept = units[max(many - 1, 0) :] if sign == "+" else units[max(len(units) - many, 0) :]
    return "".join(kept)


def _pasted(values: list[str], text: str) -> str | None:
    parsed = parse(values, Form(short=frozenset("sz"), valued=frozenset("d")))
    sign = unescape(parsed.value("-d") or "") if parsed.has("-d") else "\t"
    if parsed.unknown or not parsed.has("-s") or len(sign) > 1:
        return None
    return sign.replace("\0", "").join(text.removesuffix("\n").split("\n")) + "\n"


def _cut(values: list[str], text: str) -> str | None:
    parsed = parse(values, _CUT)
    span = _SPAN.fullmatch(parsed.value("-b", "-c", "-f") or ",")
    if parsed.unknown or parsed.operands or not span or not (span[1] or span[3]):
        return None
    start = int(span[1] or 1) - 1
    end = (int(span[3]) if span[3] else None) if span[2] else start + 1
    if not parsed.has("-f"):
        return _by_line(text, lambda line: line[start:end])
    sign = parsed.value("-d") or "\t"
    return _by_line(text, lambda line: sign.join(line.split(sign)[start:end]) if sign in line else line)


def _field(values: list[str], text: str) -> str | None:
    found = _FIELD.fullmatch(values[1]) if len(values) == 2 else None
    if not found:
        return None
    at = int(found[1])
    return _by_line(text, lambda line: "".join(line.split()[at - 1 : at]) if at else line)


def _translated(values: list[str], text: str) -> str | None:
    flags = "".join(value[1:] for value in values[1:] if re.fullmatch(r"-[cCdst]+", value))
    sets = [_set(value) for value in values[1:] if not re.fullmatch(r"-[cCdst]+|--", value)]
    if not 0 < len(sets) < 3 or not sets[0] or (len(sets) == 1 and not set(flags) & {"d", "s"}):
        return None
    first, second = sets[0], sets[-1]
    is_other = "c" in flags.lower()
    if "d" in flags:
        return "".join(char for char in text if (char in first) == is_other)
    if len(sets) == 2 and is_other:
        text = "".join(char if char in first else second[-1:] for char in text)
    elif len(sets) == 2:
        longer = second + second[-1:] * max(0, len(first) - len(second))
        text = text.translate({ord(one): other for one, other in zip(first, longer, strict=False)})
    if "s" not in flags:
        return text
    is_squeezed = is_other and len(sets) == 1
    kept = (char for at, char in enumerate(text) if char != text[at - 1 : at] or (char in second) == is_squeezed)
    return "".join(kept)


def _set(text: str) -> str:
    text = unescape(text)
    for name, letters in _CLASSES.items():
        text = text.replace(name, letters)
    return re.sub(
        r"(.)-(.)",
        lambda found: "".join(map(chr, range(ord(found[1]), min(ord(found[2]), ord(found[1]) + 300) + 1))),
        text,
    )


def _substituted(values: list[str], text: str) -> str | None:
    operands = [value for value in values[1:] if not value.startswith("-")]
    script = operands[0] if len(operands) == 1 and "-n" not in values else ""
    parts = script[2:].split(script[1]) if script[:1] == "s" and len(script) > 3 else []
    if len(parts) != 3 or parts[2] not in {"", "g"} or re.search(r"[\\&]", parts[1]):
        return None
    old, new, many = parts[0], parts[1], -1 if parts[2] else 1
    plain = old.removeprefix("^").removesuffix("$")
    if plain == ".*":
        return _by_line(text, lambda _: new)
    if not old or re.search(r"[\\.*\[\]^$]", plain):
        return None

    def change(line: str) -> str:
        if old == f"^{plain}$":
            return new if line == plain else line
        if old[0] == "^":
            return new + line.removeprefix(plain) if line.startswith(plain) else line
        if old[-1] == "$":
            return line.removesuffix(plain) + new if line.endswith(plain) else line
        return line.replace(plain, new, many)

    return _by_line(text, change)


def _base64(values: list[str], text: str) -> str | None:
    is_decoding = {"-d", "-D", "--decode", "-di", "-id", "base64", "-base64", "-a"} & set(values[1:])
    cleaned = re.sub(r"\s", "", text)
    return _bytes(lambda: base64.b64decode(cleaned + "=" * (-len(cleaned) % 4))) if is_decoding else None


def _base32(values: list[str], text: str) -> str | None:
    return _bytes(lambda: base64.b32decode(text.strip())) if {"-d", "--decode"} & set(values) else None


def _from_hex(values: list[str], text: str) -> str | None:
    is_decoding = any("r" in value for value in values[1:] if value.startswith("-"))
    return _bytes(lambda: bytes.fromhex(re.sub(r"\s", "", text))) if is_decoding else None


def _bytes(decode: Callable[[], bytes]) -> str | None:
    try:
        return decode().decode("utf-8", errors="replace")
    except (ValueError, binascii.Error):
        return None


_TURNS: dict[str, Turn] = {
    **dict.fromkeys(named("cat tee more"), lambda _, text: text),
    "sort": lambda values, text: text if values[1:] else _as_lines(sorted(text.removesuffix("\n").split("\n"))),
    **dict.fromkeys(named("head tail ghead gtail"), _ended),
    **dict.fromkeys(named("base64 gbase64 openssl"), _base64),
    **dict.fromkeys(named("sed gsed"), _substituted),
    **dict.fromkeys(named("awk gawk mawk nawk"), _field),
    "rev": lambda _, text: _by_line(text, lambda line: line[::-1]),
    "tac": lambda _, text: _as_lines(reversed(text.removesuffix("\n").split("\n"))),
    "paste": _pasted,
    "cut": _cut,
    "tr": _translated,
    "base32": _base32,
    "xxd": _from_hex,
}
