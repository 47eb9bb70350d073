"""What a secret is called: values that stand behind a name such as password, token or API key."""

import re
from collections.abc import Iterator

_HINT = re.compile(r"pass|pwd|secret|token|key|credential|_auth")
"""Stands in lower case in every text that names a secret."""
_HINT_IN_ANY_CASE = re.compile(_HINT.pattern, re.IGNORECASE)
_LONGEST_HINT = len("credential")
_PIECE = 1_000_000

_PASSES = r"pass(?:word|wd|phrase|code)|pwd"
_WORD = re.compile(
    rf"(?P<password>{_PASSES})|secret(?:[_-]?(?:access[_-]?)?key)?(?:_base)?|token|credentials?"
    r"|(?P<env>(?-i:(?<=_)KEY|(?<=_)PASS|(?<=_)AUTH))|(?P<key>key)",
    re.IGNORECASE,
)
_KEY_NAME = re.compile(
    r"(?:api|access|auth|account|private|encryption|signing|service|master|license|shared)[_-]?\Z", re.IGNORECASE
)
_BEFORE = re.compile(r"[A-Za-z0-9_.-]{0,40}\Z")
_BEHIND = re.compile(
    r"(?:_?\d{1,2})?(?P<flag>\s(?=\S))?"
    r"(?(flag)|(?:\\?[\"'])?\]?(?P<hint>\s?:\s?[A-Za-z_][\w.]{0,30}(?:\[[\w., |]{0,30}\])?(?:\s?\|\s?None)?(?=\s?=))?"
    r"[ \t]{0,4}(?P<is>:=|=>|=(?![=~>])|:(?![:=?+-]))[ \t]{0,4})"
    r"(?:[rbufRBUF]{0,2}(?P<quote>\\?[\"'`])(?P<quoted>[^\"'`\\\n]{6,300})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\]{6,300}))(?P<after>[(\[{]?)"
)
_PLACEHOLDER = re.compile(
    r"\$.*|%.*|<.*|\{.*|.*\{\w*\}.*|\[.*|[x*.•_#-]+|.*(?:\.\.\.|…).*"
    r"|(?:your|my|the|some|an?|insert|enter|replace|change|example|sample|dummy|fake|placeholder)[_ -].*"
    r"|(?:changeme|change_?it|example|placeholder|redacted|masked|none|null|true|false|undefined|required|optional"
    r"|string|password|passwd|pass|secret|token|user|admin|test|todo|xxx+)\d{0,3}",
    re.IGNORECASE,
)
_KEYWORD = re.compile(rf"{_PASSES}|secret|token|key|credential", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*")
_SHORT, _LONG = 8, 16


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret: a variable, a row of stars, `your-key-here`."""
    return _PLACEHOLDER.fullmatch(value) is not None


def _hints(text: str) -> Iterator[int]:
    """Where a name may begin; a piece at a time, since a text may be large and in lower case it is there twice."""
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + _LONGEST_HINT]
        low = piece.lower()
        # A few letters are longer in lower case: their pieces are searched the slow way.
        found = _HINT.finditer(low) if len(low) == len(piece) else _HINT_IN_ANY_CASE.finditer(piece)
        for hint in found:
            if hint.start() < _PIECE:
                yield start + hint.start() + (hint[0].lower() == "_auth")


def named(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each value that its name calls a secret, and that looks like one."""
    for start in _hints(text):
        if (word := _WORD.match(text, start)) is None:
            continue
        if (behind := _BEHIND.match(text, word.end())) is None:
            continue
        before = _BEFORE.search(text, max(0, word.start() - 40), word.start())
        name = before[0] if before else ""
        if word["key"] and _KEY_NAME.search(name) is None:
            continue
        if _is_secret(name + word[0], word, behind):
            begin, end = behind.span("quoted" if behind["quoted"] is not None else "bare")
            yield begin, end, "password" if word["password"] else "named"


def _is_secret(name: str, word: re.Match[str], behind: re.Match[str]) -> bool:
    quoted = behind["quoted"]
    if behind["flag"] and not name.startswith("--"):
        return False
    value = quoted if quoted is not None else behind["bare"]
    if is_placeholder(value) or value.startswith(("/", "./", "../", "~/", "http://", "https://")):
        return False
    is_variable = name.upper() == name
    if word["password"]:
        return _is_password(behind, value, is_variable=is_variable)
    least = _LONG if word["env"] and not is_variable else _SHORT
    if len(value) < least or not (re.search(r"\d", value) and re.search(r"[^\W\d_]", value)) or " " in value:
        return False
    # A name with a number in it is not yet a key: `token = token_2`, `key: utf8_bytes`.
    return quoted is not None or not (_IDENTIFIER.fullmatch(value) and (behind["after"] or _is_plain(value)))


def _is_plain(value: str) -> bool:
    """Whether an identifier reads as a name in code: words, a number at the end at most, or one that names a secret."""
    if _KEYWORD.search(value):
        return True
    is_words = re.fullmatch(r"[A-Za-z]+(?:[_.][A-Za-z]+)*_?\d{0,3}", value) is not None
    return is_words and ("_" in value or "." in value or value.islower())


def _is_password(behind: re.Match[str], value: str, *, is_variable: bool) -> bool:
    is_word = value.replace("_", "").replace("-", "").isalpha()
    if behind["quoted"] is not None:
        if " " in value:
            return re.search(r"\d", value) is not None and len(value) < 80
        # A word in quotes may be a label, a state or a key of another table.
        is_label = _KEYWORD.search(value) is not None or "_" in value
        return not is_word or (not is_label and (is_variable or len(value) >= _SHORT))
    # `password=word` in a sentence or a file of settings; in code a word is a variable.
    is_setting = (
        behind["is"] == "=" and behind[0].startswith("=") and behind.string[behind.end() :][:1] in {"", "\n", "\r"}
    )
    is_name = _IDENTIFIER.fullmatch(value) and (_KEYWORD.search(value) or "." in value or "_" in value)
    # `DB_PASSWORD=my_secret9`, a line of a file of variables, has no names on its right side.
    if behind["after"] or (is_name and not (is_setting and is_variable)):
        return False
    return not is_word or is_setting or is_variable
