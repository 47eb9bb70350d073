"""Words that are put together of several: items of arrays, tests, and what does not split."""

import re
from dataclasses import replace

from activities.safety.bash.lexer import Kind, Lexer
from activities.safety.bash.words import Decoder
from workflows.contracts.commands import Word


def joined(source: str, words: list[Word]) -> Word:
    """One word of what would be several: an assignment and a redirection do not split."""
    if len(words) == 1:
        return words[0]
    if not words:
        return Word(source, "", is_plain=False)
    first = words[0]
    return replace(first, source=source, value=" ".join(word.value for word in words), is_plain=False, may_split=True)


_SUBSCRIPT = re.compile(r"\[([^]=]{0,40})\]=")


def array_items(source: str) -> tuple[list[str], list[str]]:
    """The sources of the items of `(…)`, and of the places that they name."""
    lexer = Lexer(source[1:])
    lexer.read(until_parenthesis=True)
    words = [token.source for token in lexer.tokens if token.kind in {Kind.WORD, Kind.RESERVED}]
    places = [found[1] for word in words if (found := _SUBSCRIPT.match(word))]
    return [_SUBSCRIPT.sub("", word, count=1) if _SUBSCRIPT.match(word) else word for word in words], places


def opaque(decoder: Decoder, source: str) -> list[Word]:
    """`[[ … ]]` and `(( … ))` as words, each looked into."""
    if source.startswith("(("):
        word = decoder.text(source[2:-2])
        return [Word("((", "((", is_plain=False), replace(word, source=source[2:-2])]
    words, at, inside = [Word("[[", "[[")], 2, source.removesuffix("]]")
    lexer = Lexer(inside)
    while at < len(inside) and not decoder.work.is_done:
        if inside[at] in " \t\n()<>|&;":
            at += 1
            continue
        end = max(lexer.word_end(at), at + 1)
        words.append(joined(inside[at:end], decoder.decode(inside[at:end])))
        at = end
    return words
