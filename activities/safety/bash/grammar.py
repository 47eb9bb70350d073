"""The grammar's reading: tree-sitter's tree to raw commands."""

import re
from dataclasses import dataclass, replace

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Tree

from activities.safety.bash.names import named
from activities.safety.bash.raw import Raw, RawRedirection, Reading
from activities.safety.bash.scan import Heredoc
from workflows.contracts.commands import Place

_LANGUAGE = Language(tree_sitter_bash.language())
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_NEITHER_BLANK_NOR_LINE = re.compile(r"[^\n]")
_REDIRECTS = {"file_redirect", "herestring_redirect", "heredoc_redirect"}
_PATTERNS = named("word extglob_pattern number concatenation string raw_string simple_expansion expansion")
"""What stands in front of `)` in a case."""
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SHORT = 1_000
_PIECE, _MOST_READS = 4_096, 300
"""The parser goes back to the start of a word again and again where it is unsure, and asks for a piece each time."""
_DEEPEST = 60


@dataclass(slots=True)
class _At:
    """What a node stands inside of."""

    places: tuple[Place, ...] = ()
    pipes: tuple[tuple[int, int], ...] = ()
    scope: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    function: str = ""
    depth: int = 0

    def within(self, *places: Place) -> "_At":
        return replace(self, places=(*self.places, *places), depth=self.depth + 1)


def read_tree(text: str, heredocs: list[Heredoc]) -> Reading:
    """The commands of a text by the grammar; heredocs are given, for it loses what stands behind their start."""
    source = _FOREIGN.sub("x", _without(text, heredocs))
    walk = _Walk(text, {one.start: one for one in heredocs}, Reading(text=text))
    tree = _parsed(source.encode())
    if tree is None:
        walk.reading.problem = "it is no bash that can be read with certainty"
        return walk.reading
    if tree.root_node.has_error:
        walk.reading.problem = "it is no bash that can be read with certainty"
    walk.visit(tree.root_node, _At())
    return walk.reading


def _parsed(source: bytes) -> Tree | None:
    """The tree; nothing where mending a long broken text, going back in it or its control characters take too long."""
    if _CONTROLS.search(source):
        return None
    reads = 0

    def piece(at: int, _: object) -> bytes | None:
        nonlocal reads
        reads += 1
        return (source[at : at + _PIECE] or None) if reads <= _MOST_READS else None

    def stops(_: int, has_error: bool) -> bool:  # noqa: FBT001 - as the parser calls it
        return reads > _MOST_READS or (has_error and len(source) >= _SHORT)

    try:
        tree = Parser(_LANGUAGE).parse(piece, progress_callback=stops)
    except ValueError:
        return None
    return tree if reads <= _MOST_READS else None


def _without(text: str, heredocs: list[Heredoc]) -> str:
    """The text with each heredoc made `<____`, its body blank, nothing moved."""
    for one in sorted(heredocs, key=lambda each: each.start):
        begin, end = one.body[0], max(one.closed, one.body[1])
        filler = "<" + "_" * (one.end - one.start - 1)
        blank = _NEITHER_BLANK_NOR_LINE.sub(" ", text[begin:end])
        text = text[: one.start] + filler + text[one.end : begin] + blank + text[end:]
    return text


@dataclass(slots=True)
class _Walk:
    text: str
    heredocs: dict[int, Heredoc]
    reading: Reading
    count: int = 0

    def visit(self, node: Node, at: _At) -> None:  # noqa: C901, PLR0912 - one line a kind of node
        if at.depth > _DEEPEST:
            self.reading.problem = self.reading.problem or "it is nested too deeply"
            return
        match node.type:
            case "command" | "declaration_command" | "unset_command" | "variable_assignments":
                self._command(node, at)
            case "variable_assignment":
                self._add(at, node, [node])
            case "redirected_statement":
                self._redirected(node, at)
            case "program" | "list" | "do_group" | "else_clause" | "elif_clause":
                self._children(node, at)
            case "pipeline":
                self._pipeline(node, at)
            case "negated_command":
                self._children(node, at.within(Place.NEGATION))
            case "subshell":
                self.count += 1
                self._children(node, replace(at.within(Place.SUBSHELL), scope=(*at.scope, self.count)))
            case "compound_statement":
                self._compound(node, at)
            case "test_command":
                self._test(node, at)
            case "if_statement":
                self._children(node, at.within(Place.IF))
            case "for_statement":
                self._for(node, at)
            case "c_style_for_statement" | "while_statement":
                self.reading.features.add("while")
                self._children(node, at.within(Place.LOOP))
            case "case_statement":
                self._case(node, at)
            case "function_definition":
                self._function(node, at)
            case "comment":
                pass
            case _:
                self._other(node, at)

    def _other(self, node: Node, at: _At) -> None:
        if node.is_named or node.is_missing:
            self.reading.problem = self.reading.problem or "it holds a construct that is not followed"
            self._children(node, at)

    def _children(self, node: Node, at: _At) -> None:
        for child in node.children:
            if child.is_named:
                self.visit(child, at)
            elif child.type == "&":
                self.reading.features.add("background")
                if Place.LOOP in at.places:
                    self.reading.features.add("background-in-loop")
            elif child.is_missing:
                self.reading.problem = self.reading.problem or "a part of it is missing"

    def _source(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte]

    def _add(self, at: _At, node: Node, words: list[Node]) -> Raw:
        raw = Raw(
            node.start_byte,
            node.end_byte,
            [self._source(word) for word in words],
            places=at.places,
            pipes=at.pipes,
            scope=at.scope,
            loops=at.loops,
            function=at.function,
        )
        self.reading.cuts.extend((word.start_byte, word.end_byte) for word in words)
        self.reading.raws.append(raw)
        return raw

    def _command(self, node: Node, at: _At) -> None:
        words, redirects = [], []
        for child in node.children:
            if child.type in _REDIRECTS:
                redirects.append(child)
            elif child.is_named or child.type not in {"\n", ";"}:
                words.append(child)
        raw = self._add(at, node, words)
        for redirect in redirects:
            self._redirect(redirect, [raw])

    def _redirected(self, node: Node, at: _At) -> None:
        first = len(self.reading.raws)
        redirects = [child for child in node.children if child.type in _REDIRECTS]
        for child in node.children:
            if child.type not in _REDIRECTS and child.is_named:
                self.visit(child, at)
        start = _last(node).start_byte
        inside = [raw for raw in self.reading.raws[first:] if not raw.loop and raw.start >= start]
        if not inside:
            inside = [self._add(at, node, [])]
        for redirect in redirects:
            self._redirect(redirect, inside)

    def _redirect(self, node: Node, raws: list[Raw]) -> None:
        fd, operator, targets = "", "", []
        for child in node.children:
            if child.type == "file_descriptor":
                fd = self._source(child)
            elif not child.is_named:
                operator = operator or self._source(child)
            else:
                targets.append(child)
        if not fd and self._is_descriptor(node, raws[0]):
            # The grammar reads the 0 and 1 of `0<file` as an argument.
            fd = raws[0].words.pop()
            self.reading.cuts.remove((node.start_byte - len(fd), node.start_byte))
        heredoc = self.heredocs.get(node.start_byte) or self.heredocs.get(node.start_byte + len(fd))
        if heredoc is not None:
            operator = heredoc.operator
        if operator.endswith("-") and operator != "<<-":
            operator, closing = operator[:-1], "-"
        else:
            closing = ""
        target = self._source(targets[0]) if targets else closing
        if not target:
            self.reading.problem = self.reading.problem or "a redirection has no target"
        for raw in raws:
            raw.redirections.append(RawRedirection(operator, target, fd, heredoc))
        # The grammar takes words behind a target into the redirection; they are arguments.
        for extra in targets[1:]:
            raws[0].words.append(self._source(extra))
        if heredoc is None:
            self.reading.cuts.extend((one.start_byte, one.end_byte) for one in targets)

    def _is_descriptor(self, node: Node, raw: Raw) -> bool:
        last = raw.words[-1] if raw.words and self.text[node.start_byte - 1 : node.start_byte].isdecimal() else ""
        return last.isdecimal() and (node.start_byte - len(last), node.start_byte) in self.reading.cuts

    def _pipeline(self, node: Node, at: _At) -> None:
        self.count += 1
        number, stage = self.count, 0
        for child in node.children:
            if child.is_named and child.type != "comment":
                inner = replace(at, pipes=(*at.pipes, (number, stage)), depth=at.depth + 1)
                self.visit(child, inner)
                stage += 1

    def _compound(self, node: Node, at: _At) -> None:
        if node.children and node.children[0].type == "((":
            raw = self._add(at, node, [])
            raw.words, raw.is_opaque = [self._source(node)], True
            self.reading.cuts.append((node.start_byte, node.end_byte))
            self.reading.features.add("arithmetic")
            return
        self._children(node, at.within(Place.GROUP))

    def _test(self, node: Node, at: _At) -> None:
        source = self._source(node)
        if source.startswith("[["):
            raw = self._add(at, node, [])
            raw.words, raw.is_opaque = [source], True
            self.reading.cuts.append((node.start_byte, node.end_byte))
            return
        if source.startswith("(("):
            self._compound(node, at)
            return
        self._add(at, node, _leaves(node))

    def _for(self, node: Node, at: _At) -> None:
        items = [child for child in node.children if child.is_named and child.type != "do_group"]
        if node.children and node.children[0].type == "select":
            self.reading.features.add("select")
        self.count += 1
        number = self.count
        head = self._add(at.within(Place.FOR), node, [one for one in items if one.type != "comment"])
        head.loop = number
        inner = replace(at.within(Place.FOR), loops=(*at.loops, number))
        for child in node.children:
            if child.type in {"do_group", "compound_statement"}:
                self.visit(child, inner)

    def _case(self, node: Node, at: _At) -> None:
        self.reading.features.add("case")
        patterns = [one for child in node.children if child.type == "case_item" for one in child.children]
        values = [child for child in node.children if child.is_named and child.type != "case_item"]
        head = self._add(at.within(Place.CASE), node, [*values, *(one for one in patterns if one.type in _PATTERNS)])
        head.words.insert(0, "case")
        for child in node.children:
            for one in child.children if child.type == "case_item" else ():
                if one.is_named and one.type not in _PATTERNS:
                    self.visit(one, at.within(Place.CASE))

    def _function(self, node: Node, at: _At) -> None:
        name, *rest = [child for child in node.children if child.is_named]
        self.reading.features.add("function")
        self.reading.functions.append(self._source(name))
        inner = replace(at.within(Place.FUNCTION), function=self._source(name))
        first = len(self.reading.raws)
        for child in rest:
            if child.type not in _REDIRECTS:
                self.visit(child, inner)
        for child in rest:
            if child.type in _REDIRECTS and len(self.reading.raws) > first:
                self._redirect(child, self.reading.raws[first:])


def _last(node: Node) -> Node:
    """What a redirection behind commands belongs to: the last of a pipeline or list."""
    while node.type in {"redirected_statement", "pipeline", "list"}:
        inside = [child for child in node.children if child.is_named and child.type not in {*_REDIRECTS, "comment"}]
        if not inside:
            break
        node = inside[-1]
    return node


def _leaves(node: Node) -> list[Node]:
    """The words of a `[ … ]`, which the grammar reads as an expression."""
    words: list[Node] = []
    for child in node.children:
        if child.type in {"unary_expression", "binary_expression", "negated_command", "parenthesized_expression"}:
            words.extend(_leaves(child))
        else:
            words.append(child)
    return words
