"""How a program that only reads is described: its flags in one line of text."""

from dataclasses import dataclass

from activities.safety.bash.options import Form


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that only reads, as long as each flag is known."""

    form: Form
    paths: frozenset[str]
    """Options whose value is a file that it reads."""
    operands: str
    """What operands are: paths, texts, text-then-paths, none; `!` before: a pattern must not become a flag."""
    most: int = 99
    """Operands that it may have."""
    is_listing: bool = False
    """Whether it tells names only, so that a pattern cannot show a secret's content."""
    recursive: frozenset[str] = frozenset()
    """Options with which it reads whole folders; `always`."""


def form_of(spec: str) -> tuple[Form, frozenset[str]]:
    """`-abc` short, `-n:` with value, `-n?` glued, `--x`, `--x=`, `--x?`, `--x==` two values, `-N` numbers, `!` stops,
    `<` file, `1st` lone letters, `~` values apart, `=-` wary.
    """
    short, valued, optional, paths = set[str](), set[str](), set[str](), set[str]()
    long, long_valued, long_optional, marks = set[str](), set[str](), set[str](), set[str]()
    double = set[str]()
    for item in spec.split():
        name = item.rstrip("<")
        if item.endswith("<"):
            paths.add(name.rstrip(":=?"))
        if name in {"-N", "+N", "!", "1st", "~", "=-"}:
            marks.add(name)
        elif name.endswith("=="):
            double.add(name[2:-2])
        elif name.startswith("--"):
            kind = long_valued if name[-1] == "=" else long_optional if name[-1] == "?" else long
            kind.add(name[2:].rstrip("=?"))
        elif name[-1] in ":?" and len(name) > 2:
            (valued if name[-1] == ":" else optional).update(name[1:-1])
        else:
            short.update(name[1:])
    form = Form(
        short=frozenset(short), valued=frozenset(valued), optional=frozenset(optional), long=frozenset(long),
        long_valued=frozenset(long_valued), long_optional=frozenset(long_optional), double=frozenset(double),
        numbers="-N" in marks, pluses="+N" in marks, stops="!" in marks,
        is_lone="1st" in marks, is_apart="~" in marks, is_wary="=-" in marks,
    )  # fmt: skip
    return form, frozenset(paths)


def reader(spec: str, operands: str = "paths", most: int = 99, *, listing: bool = False, recursive: str = "") -> Reader:
    """A reader of which the flags are given as text."""
    form, paths = form_of(spec)
    return Reader(form, paths, operands, most, is_listing=listing, recursive=frozenset(recursive.split()))
