"""What a secret looks like by itself: forms that providers give their keys, private keys, passwords in URLs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from activities.stores.secret_names import is_placeholder


@dataclass(frozen=True)
class Span:
    """A secret's place in a text."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Form:
    """One form of secret; its pattern is only tried on texts that hold one of the words."""

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    """Its group `secret` is the secret, else all of it."""


def _form(kind: str, words: str, pattern: str) -> Form:
    return Form(kind, tuple(words.split()), re.compile(pattern))


# What the library has not, or has in a form that newer keys no longer fit.
_OURS = (
    _form("anthropic", "sk-ant-", r"sk-ant-[\w-]{16,}"),
    _form("openai", "sk-", r"sk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Z])[\w-]{32,}"),
    _form("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_]{30,}"),
    _form("github", "github_pat_", r"github_pat_\w{30,}"),
    _form("google", "AIza", r"AIza[\w-]{35}\b"),
    _form("google", "ya29.", r"ya29\.[\w-]{30,}"),
    _form("google", "GOCSPX-", r"GOCSPX-[\w-]{24,}"),
    _form("huggingface", "hf_", r"hf_[A-Za-z0-9]{30,}\b"),
    _form("npm", "npm_", r"npm_[A-Za-z0-9]{36}\b"),
    _form("pypi", "pypi-AgE", r"pypi-AgE[\w-]{50,}"),
    _form("slack", "xox", r"xox[abeoprs]-[\w-]{10,}"),
    _form("slack", "xapp-", r"xapp-[\w-]{10,}"),
    _form("stripe", "sk_live_ sk_test_", r"sk_(?:live|test)_[A-Za-z0-9]{20,}"),
    _form("stripe", "rk_live_ rk_test_", r"rk_(?:live|test)_[A-Za-z0-9]{20,}"),
    _form("stripe", "whsec_", r"whsec_[A-Za-z0-9]{24,}"),
    _form("digitalocean", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}\b"),
    _form("docker", "dckr_pat_", r"dckr_pat_[\w-]{20,}"),
    _form("vault", "hvs. hvb.", r"hv[sb]\.[\w-]{24,}"),
    _form("shopify", "shpat_ shpss_ shppa_ shpca_", r"shp(?:at|ss|pa|ca)_[0-9a-fA-F]{32}\b"),
    _form("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    _form("databricks", "dapi", r"dapi[0-9a-f]{32}\b"),
    _form("atlassian", "ATATT3", r"ATATT3[\w=-]{50,}"),
    _form("linear", "lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    _form("jwt", "eyJ", r"eyJ[\w-]{8,}\.eyJ[\w-]{4,}\.[\w-]{8,}"),
    _form("bearer", "earer", r"earer\s{1,2}(?P<secret>(?=[\w.~+/=-]{0,60}\d)[\w.~+/=-]{16,})"),
    _form(
        "bearer",
        "uthorization",
        r"uthorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?i:bearer|token|basic)\s{1,2}(?P<secret>[\w.~+/=-]{8,})",
    ),
    _form("url-password", "://", r"://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>${}]{3,200})@[\w\[]"),
    _form("url-token", "://", r"://(?P<secret>(?=[\w-]{0,60}\d)[\w-]{20,})@\w"),
)

_LIBRARY = {
    # Detectors of detect-secrets, by the module and class that hold them, and words that their finds hold.
    "aws": ("aws", "AWSKeyDetector", "AKIA ASIA ABIA ACCA A3T"),
    "azure": ("azure_storage_key", "AzureStorageKeyDetector", "AccountKey="),
    "gitlab": (
        "gitlab_token",
        "GitLabTokenDetector",
        "glpat- gldt- glft- glsoat- glrt- GR1348941 glcbt- glptt- glagent-",
    ),
    "mailchimp": ("mailchimp", "MailchimpDetector", "-us1 -us2"),
    "npm": ("npm", "NpmDetector", "_authToken="),
    "sendgrid": ("sendgrid", "SendGridDetector", "SG."),
    "slack": ("slack", "SlackDetector", "hooks.slack.com"),
    "square": ("square_oauth", "SquareOAuthDetector", "sq0csp-"),
    "telegram": ("telegram_token", "TelegramBotTokenDetector", ":AA"),
}
"""Those of its detectors that go by form. Its keyword and entropy detectors mask too much of what is code."""

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TEXT = re.compile(r"(?:\\[rn]|[A-Za-z0-9+/=\s,:-])*")
_LONGEST_KEY = 32_000
_LEAST_KEY = 40
"""Letters of a private key below which it is only written about."""


def spans(text: str) -> Iterator[Span]:
    """Secrets that the text shows by their form."""
    # A letter is looked for some ten times faster than a word, and of a flood most letters are absent.
    letters: dict[str, bool] = {}

    def holds(word: str) -> bool:
        for letter in word:
            if letter not in letters:
                letters[letter] = letter in text
            if not letters[letter]:
                return False
        return word in text

    yield from _private_keys(text)
    for form in _OURS:
        if any(map(holds, form.words)):
            yield from _matches(form.kind, form.pattern, text)
    for kind, (module, name, words) in _LIBRARY.items():
        if any(map(holds, words.split())):
            for pattern in _library_patterns(module, name):
                yield from _matches(kind, pattern, text)


def _matches(kind: str, pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        start, end = match.span(group)
        # Inside a longer word it is a piece of something else: a digest, a picture, minified code.
        is_piece = group == 0 and start > 0 and _is_one_word(text[start - 1], text[start])
        if not is_piece and not is_placeholder(text[start:end]):
            yield Span(start, end, kind)


def _is_one_word(one: str, next_one: str) -> bool:
    return one.isalnum() and next_one.isalnum() and one.isdigit() == next_one.isdigit()


@cache
def _library_patterns(module: str, name: str) -> tuple[re.Pattern[str], ...]:
    # Imported when a text may hold its find: it brings an HTTP client along, which takes a third of a second.
    from importlib import import_module

    detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
    return tuple(detector.denylist)


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" not in text:
        return
    place = 0
    while begin := _BEGIN.search(text, place):
        place = begin.end()
        end = _END.search(text, place, place + _LONGEST_KEY)
        # Without an end the text stops inside the key, as a piece of output does.
        stop = end.start() if end else place + len(_KEY_TEXT.match(text, place, place + _LONGEST_KEY)[0])  # type: ignore[index]  # it matches nothing too
        if _is_key(text[place:stop]):
            yield Span(*_trimmed(text, place, stop), "private-key")
            place = stop
    first = _BEGIN.search(text)
    if (end := _END.search(text)) and (first is None or end.start() < first.start()):
        start = end.start()
        while start and (line := text.rfind("\n", 0, start - 1) + 1) < start and _KEY_LINE.fullmatch(text[line:start]):
            start = line
        if _is_key(text[start : end.start()]):
            yield Span(*_trimmed(text, start, end.start()), "private-key")


_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]+\s*")


def _is_key(body: str) -> bool:
    plain = re.sub(r"\\[rn]|[^A-Za-z0-9+/=]", "", body)
    return len(plain) >= _LEAST_KEY and len(plain) > len(body) * 0.7


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """The same without the line ends at both sides, written out or escaped."""
    body = text[start:stop]
    left = re.match(r"(?:\\[rn]|\s)*", body)
    right = re.search(r"(?:\\[rn]|\s)*$", body)
    return start + (left.end() if left else 0), start + (right.start() if right else len(body))
