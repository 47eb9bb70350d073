"""Mode, Rule, Policy, Finding, Verdict, Approval."""

from enum import StrEnum

from workflows.contracts.contract import Contract


class Mode(StrEnum):
    """The standing permission setting of a session."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    AUTO = "auto"
    """A small model judges what neither rule nor proof decides."""
    DONT_ASK = "dontAsk"
    BYPASS = "bypassPermissions"


class Unattended(StrEnum):
    """What happens to an *ask* when nobody attends."""

    NO = ""
    """Somebody attends: wait for an answer."""
    DENY = "deny"
    WAIT = "wait"


class Decision(StrEnum):
    """Allow, ask or deny."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Rules(Contract):
    """A person's rules: `Tool`, `Tool(exact path)` or `Bash(pattern)`; deny before ask before allow."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Source(StrEnum):
    """Where a rule comes from."""

    MANAGED = "managed"
    CLI = "cli"
    COMMAND = "command"
    """A command or skill that the person called."""
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    SESSION = "session"
    """Allowed by the person until the session ends."""


class SourcedRule(Contract):
    """One rule, and where it stands."""

    text: str
    """As written: `Tool` or `Tool(specifier)`."""
    action: Decision
    source: Source
    file: str = ""
    """Path of the file that holds it; empty for rules of the command line and the session."""
    root: str = ""
    """Folder that a path rule with a leading `/` counts from; empty for the session's folder."""


class Policy(Contract):
    """All rules that count now, from every source, read afresh for each call."""

    rules: tuple[SourcedRule, ...] = ()
    """Sources of more weight first: managed, command line, local, project, user; the first that matches is named."""
    default_mode: Mode | None = None
    disable_bypass: bool = False
    """`disableBypassPermissionsMode`: no session runs in that mode."""
    disable_auto: bool = False
    """`disableAutoMode`: the same for `auto`."""
    additional_directories: tuple[str, ...] = ()
    """Folders beside the session's own that count as inside, absolute."""
    only_managed: bool = False
    """`allowManagedPermissionRulesOnly`: nobody else allows anything for longer than one call."""
    broken: str = ""
    """Why every call is refused: a settings file whose deny or ask rules cannot be read; empty when all can."""
    digest: str = ""
    """SHA-256 of all of it; a verdict names it."""


class Finding(Contract):
    """What a safety check saw in a call."""

    check: str
    """Name of the check."""
    action: Decision
    text: str
    """One sentence for the person and the model."""
    sticky: bool = False
    """An ask that no allow rule silences; a person or bypass mode does."""
    kind: str = ""
    """What was seen, in one word of the check's own list: persistence, exec_flag, secret_read."""
    hint: str = ""
    """Of a kind that a rule may silence by naming it: what the rule's text must contain, such as the flag."""


class Verdict(Contract):
    """Allow, ask or deny, and who or what decided."""

    decision: Decision
    by: str
    """mode | rule | finding | proof | protected | classifier | limit | unattended | person | hook | tool."""
    rule: str = ""
    """The mode, rule or check that decided; of a person their name: their answer, kept beside it, is signed."""
    text: str = ""
    """Why, in one sentence."""
    source: str = ""
    """Of a rule: the source that it came from."""
    file: str = ""
    """Of a rule: the file that it stands in."""
    policy: str = ""
    """Digest of the policy that was in force."""
    reasons: tuple[Finding, ...] = ()
    """What the checks saw, whether it decided or not."""


class Choice(Contract):
    """What one question of several lets the person choose from; its words are in the approval's content."""

    options: int
    """How many there are; something else may always be said instead."""
    several: bool = False
    """More than one may be chosen."""


class Chosen(Contract):
    """A person's answer to one question."""

    options: tuple[int, ...] = ()
    """Numbers of the options, from 1."""
    text: str = ""
    """What they said in their own words."""


class Approval(Contract):
    """An open question to a person, kept in the session's state."""

    id: str
    """`exchange.place` of the call; behind it `.hosts` where hosts are asked about that its command was refused."""
    tool: str
    summary: str
    """What it wants to do, at most 160 characters, secrets masked."""
    digest: str
    """SHA-256 of tool and input, of a question about hosts of these too: an answer counts for exactly this."""
    found: str
    """Digest of what the first pass found; the second pass starts from it."""
    asked_at: str
    reason: str = ""
    """Why it is asked, at most 120 characters."""
    content: str = ""
    """Digest of what a person must see whole: the questions, the plan, the hosts; an answer counts for exactly it."""
    choices: tuple[Choice, ...] = ()
    """One for each question that the answer must answer; empty when it is a yes or a no."""


class Answer(Contract):
    """A person's signed answer to one approval."""

    request: str
    """Request id, made by the CLI; a repeat with the same id counts once."""
    approval: str
    digest: str
    """The approval's digest, as the person saw it."""
    allow: bool
    text: str = ""
    """Said to the model when denied; at most 1 KB."""
    by: str = ""
    """Who answered, as the CLI knows the person."""
    signature: str = ""
    """Ed25519 over `signed_bytes`, hex."""
    always: bool = False
    """Allowed, and the rules that the question offered are saved."""
    content: str = ""
    """The approval's content, as the person saw it."""
    chosen: tuple[Chosen, ...] = ()
    """One for each of the approval's choices."""
    mode: Mode | None = None
    """The mode to go on in, where a plan is approved."""


class RefusedHosts(Contract):
    """What became of hosts that the sandbox refused to a command and a person could open."""

    refused: tuple[str, ...]
    """Names, each with its port where that is neither 80 nor 443."""
    asked: tuple[str, ...] = ()
    """Those that the person was asked about: their answer is bound to just these."""
    verdict: Verdict
    """Why they were asked about, why nobody was asked, or who opened them in the person's place."""
    answer: Answer | None = None
    """The person's; none where nobody was asked, or the turn ended before they answered."""
    opened: tuple[str, ...] = ()
    """Open to the session's commands since."""


def signed_bytes(session: str, act: str, *parts: str) -> bytes:
    """What a person's act is signed over: session, act and its parts, each with its length before it."""
    return b"".join(f"{len(part.encode())}:".encode() + part.encode() for part in (session, act, *parts))


def answer_bytes(session: str, answer: Answer) -> bytes:
    """What an answer's signature covers; what an older answer cannot have is left out where it is not said."""
    always = ("always",) if answer.always else ()
    more = (answer.content, answer.mode or "") if answer.content or answer.chosen or answer.mode else ()
    chosen = [part for each in answer.chosen for part in (",".join(map(str, each.options)), each.text)]
    return signed_bytes(
        session,
        "answer",
        answer.request,
        answer.approval,
        answer.digest,
        str(answer.allow),
        answer.text,
        answer.by,
        *always,
        *more,
        *chosen,
    )
