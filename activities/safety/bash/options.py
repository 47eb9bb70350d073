"""Options as getopt reads them: clusters, values glued or apart, long names, `--`."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Form:
    """Which options a program takes."""

    short: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    """Short options that take a value."""
    optional: frozenset[str] = frozenset()
    """Short options whose value, if any, is glued on."""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    long_optional: frozenset[str] = frozenset()
    """Long options whose value, if any, follows `=`."""
    numbers: bool = False
    """Whether `-5` is a number."""
    pluses: bool = False
    """Whether `+5` is an option."""
    stops: bool = False
    """Whether options end at the first operand."""
    double: frozenset[str] = frozenset()
    """Long options that take the next two words."""
    is_lone: bool = False
    """Whether only the first letter of a short option counts, as `-ps` is `-p` to xxd."""
    is_apart: bool = False
    """Whether a value is always the next word: `-Lo 2 f` is `-L 2 -o f` to tree, though `-L2` is known."""
    is_wary: bool = False
    """Whether a value apart that looks like an option may be one: `git log --format --output=f` writes `f`."""

    def is_value(self, word: str) -> bool:
        """Whether the word behind an option is its value for certain."""
        return not (self.is_wary and word.startswith("-"))


@dataclass(slots=True)
class Parsed:
    """Words of a program told apart."""

    options: list[tuple[str, str]] = field(default_factory=list)
    """Name with dashes, value."""
    operands: list[int] = field(default_factory=list)
    """Indexes of the words that are operands."""
    unknown: str = ""
    """The first option that the form does not know."""

    def value(self, *names: str) -> str | None:
        """The last value of an option."""
        return next((value for name, value in reversed(self.options) if name in names), None)

    def has(self, *names: str) -> bool:
        """Whether one of the options is given."""
        return any(name in names for name, _ in self.options)


def parse(values: list[str], form: Form) -> Parsed:
    """Tells options and operands of `values[1:]` apart; what it does not know is named."""
    parsed, at, size = Parsed(), 1, len(values)
    while at < size:
        word = values[at]
        at += 1
        if word == "--":
            parsed.operands.extend(range(at, size))
            break
        if word.startswith("--"):
            at = _long(parsed, form, values, word, at)
        elif word.startswith("-") and len(word) > 1:
            if form.numbers and word[1:].isdecimal():
                parsed.options.append(("-N", word[1:]))
            else:
                at = _cluster(parsed, form, values, word, at)
        elif form.pluses and word.startswith("+") and word[1:].isdecimal():
            parsed.options.append(("+N", word[1:]))
        else:
            parsed.operands.append(at - 1)
            if form.stops:
                parsed.operands.extend(range(at, size))
                break
    return parsed


def _long(parsed: Parsed, form: Form, values: list[str], word: str, at: int) -> int:
    name, sign, value = word[2:].partition("=")
    if sign and name in form.long_valued | form.long_optional:
        parsed.options.append((f"--{name}", value))
    elif not sign and name in form.long | form.long_optional:
        parsed.options.append((f"--{name}", ""))
    elif not sign and name in form.long_valued and at < len(values) and form.is_value(values[at]):
        parsed.options.append((f"--{name}", values[at]))
        return at + 1
    elif not sign and name in form.double and at + 1 < len(values):
        parsed.options.append((f"--{name}", values[at + 1]))
        return at + 2
    else:
        parsed.unknown = parsed.unknown or word.partition("=")[0]
    return at


def _cluster(parsed: Parsed, form: Form, values: list[str], word: str, at: int) -> int:
    for place, char in enumerate(word[1:], 1):
        rest = word[place + 1 :]
        if char in form.valued:
            is_given = at < len(values) and (form.is_value(values[at]) or char == "e")
            if (form.is_apart and rest and not rest.isdecimal()) or not (rest or is_given):
                parsed.unknown = parsed.unknown or f"-{char}"
                return at
            parsed.options.append((f"-{char}", rest or values[at]))
            return at if rest else at + 1
        if char in form.optional:
            parsed.options.append((f"-{char}", rest))
            return at
        if char not in form.short:
            parsed.unknown = parsed.unknown or f"-{char}"
            return at
        parsed.options.append((f"-{char}", ""))
        if form.is_lone:
            return at
    return at


def parse_front(values: list[str], valued: str, long: frozenset[str]) -> int:
    """Index of the first word behind the options of a wrapper, whose other options take no value."""
    at = 1
    while at < len(values):
        word = values[at]
        if word == "--":
            return at + 1
        if not word.startswith("-") or word == "-":
            return at + (word == "-")
        at += 1
        if word.startswith("--"):
            at += "=" not in word and word[2:] in long
            continue
        for place, char in enumerate(word[1:], 1):
            if char in valued:
                at += place == len(word) - 1
                break
    return at


def loose(values: list[str]) -> Iterator[tuple[str, str]]:
    """Every word as an option with what may be its value, for checks that would rather see too much."""
    for at, word in enumerate(values):
        if at and word.startswith("-"):
            name, sign, value = word.partition("=")
            yield name, value if sign else (values[at + 1] if at + 1 < len(values) else "")
