"""The commands of one text, one after the other: words decoded, wrappers stripped, inner commands followed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from activities.safety.bash.build import DEEPEST, LOOPED, MOST, Builder, Where
from activities.safety.bash.constants import output_of
from activities.safety.bash.dull import telling
from activities.safety.bash.inner import inner_of
from activities.safety.bash.interpreted import Inner
from activities.safety.bash.parts import array_items, joined, opaque
from activities.safety.bash.piping import as_if_unset, as_matched, feed, is_line
from activities.safety.bash.raw import Raw, RawRedirection, Reading
from activities.safety.bash.state import ASSIGNMENT, DECLARING, array, moved, remember
from activities.safety.bash.words import Decoder
from activities.safety.bash.work import COMMAND, REDIRECTION, UPSTREAM, WORD
from activities.safety.bash.wrappers import strip
from workflows.contracts.commands import UNKNOWN, Assignment, Loop, Place, Reach, Redirection, SimpleCommand, Span, Word

_PLACES = {"substitution": Place.SUBSTITUTION, "process-in": Place.PROCESS_IN, "process-out": Place.PROCESS_OUT}


def follow(builder: Builder, reading: Reading, where: Where) -> list[int]:
    """Follows the commands of one text; the indexes of its own."""
    return Level(builder, reading, where).run()


class Level:
    """The commands of one text."""

    def __init__(self, builder: Builder, reading: Reading, where: Where, *, is_call: bool = False) -> None:
        self.builder, self.reading, self.where, self.is_call = builder, reading, where, is_call
        self.own: list[int] = []
        self.raws: dict[int, Raw] = {}
        self.items: dict[int, tuple[str, list[Word]]] = {}
        self.folders: dict[tuple[int, ...], str] = {(): where.folder}
        self.numbers: dict[int, int] = {}
        self.arrays: dict[str, list[str]] = {}

    def run(self) -> list[int]:
        """Follows all of them; their indexes."""
        for raw in self.reading.raws:
            if raw.function:
                self.builder.bodies.setdefault(raw.function, []).append(raw)
        for raw in telling(self.reading.raws):
            if len(self.builder.commands) > MOST or self.builder.work.is_done:
                self.builder.overruns()
                break
            if raw.loop:
                self._loop(raw)
            else:
                self._rounds(raw)
        for index in self.own:
            if self.builder.work.is_done:
                break
            feed(self, index)
        return self.own

    def _loop(self, raw: Raw) -> None:
        name, *items = raw.words or [""]
        decoder = self._decoder(-1, raw)
        words = self._decoded(decoder, items)
        is_followed = len(words) <= LOOPED and not any(UNKNOWN in word.value or word.may_split for word in words)
        self.items[raw.loop] = (name, words if is_followed else [])
        if self.where.reach == Reach.DIRECT:
            self.builder.loops.append(Loop(name, tuple(words), self._span(raw)))

    def _rounds(self, raw: Raw) -> None:
        """A command in `for` loops is seen once for each item."""
        known = self.builder.known
        rounds: list[dict[str, str]] = [{}]
        for number in raw.loops:
            name, words = self.items.get(number, ("", []))
            known.pop(name, None)
            if words and len(words) * len(rounds) <= LOOPED:
                rounds = [{**one, name: word.value} for one in rounds for word in words]
        for one in rounds:
            known.update(one)
            self._command(raw)
        for number in raw.loops:
            known.pop(self.items.get(number, ("", []))[0], None)

    def _span(self, raw: Raw) -> Span:
        return self.where.span or Span(raw.start, raw.end)

    def _decoder(self, index: int, raw: Raw) -> Decoder:
        def run(text: str, kind: str) -> tuple[str | None, bool]:
            if self.builder.is_full:
                self.builder.overruns()
                return None, False
            place = _PLACES[kind]
            where = self.where.below(place, index, self._span(raw), self._folder(raw))
            where.places = (*self.where.places, *raw.places, place)
            known = dict(self.builder.known)
            indexes = self.builder.inner(text, where)
            self.builder.known = known
            inside = [self.builder.commands[one] for one in indexes]
            if [one.argv for one in inside] == [("pwd",)]:
                return self.builder.known.get("PWD"), False
            output = output_of(inside) if is_line(self.builder, indexes) else None
            is_text = output is not None and [one.argv for one in inside] == [("cat",)] and UNKNOWN not in output
            return output, is_text

        return Decoder(self.builder.known, run, self.builder.work)

    def _folder(self, raw: Raw) -> str:
        scope = self._scope(raw)
        while scope not in self.folders:
            scope = scope[:-1]
        return self.folders[scope]

    def _scope(self, raw: Raw) -> tuple[int, ...]:
        last = raw.pipes[-1:] if any(stage for _, stage in raw.pipes) else ()
        return (*raw.scope, *(-number * 100 - stage for number, stage in last))

    def _pipeline(self, raw: Raw) -> tuple[int, int]:
        if not raw.pipes:
            self.builder.pipelines += 1
            return self.builder.pipelines, 0
        number, stage = raw.pipes[-1]
        if number not in self.numbers:
            self.builder.pipelines += 1
            self.numbers[number] = self.builder.pipelines
        return self.numbers[number], stage

    def _command(self, raw: Raw) -> None:
        builder = self.builder
        index = len(builder.commands)
        pipeline, stage = self._pipeline(raw)
        # The inner commands of its words come after it, so its place is taken first.
        builder.commands.append(SimpleCommand((), self._span(raw), places=raw.places))
        decoder = self._decoder(index, raw)
        assignments, sources = self._assignments(decoder, raw.words) if not raw.is_opaque else ([], [])
        words = self._decoded(decoder, sources)
        if raw.is_opaque:
            words = opaque(decoder, raw.words[0])
        wrappers, rest = strip(words)
        upstream = tuple(self._upstream(raw))
        builder.work.spend(COMMAND + UPSTREAM * len(upstream))
        command = SimpleCommand(
            tuple(rest),
            self._span(raw),
            assignments=tuple(assignments),
            wrappers=wrappers,
            redirections=tuple(self._redirections(decoder, raw)),
            places=(*self.where.places, *raw.places),
            reach=self.where.reach,
            parent=self.where.parent,
            pipeline=pipeline,
            stage=stage,
            upstream=upstream,
            depth=self.where.depth + len(raw.places),
            folder=self._folder(raw),
        )
        if decoder.is_cut:
            builder.is_cut = True
        builder.commands[index] = command
        self.own.append(index)
        self.raws[index] = raw
        remember(builder.known, command)
        if words and words[0].value in DECLARING:
            arrays = (
                one for one in sources[1:] if (found := ASSIGNMENT.match(one)) and one.startswith("(", found.end())
            )
            for one in arrays:
                self._assignments(decoder, [one])
        for name, items in self.arrays.items():
            builder.known.update(array(name, items))
        if command.name in {"cd", "pushd", "chdir"}:
            self.folders[self._scope(raw)] = moved(builder.known, command, command.folder)
        for inner in inner_of(command):
            if not self.inner(index, inner):
                break
        for words_instead in (as_if_unset(command), *as_matched(command)):
            if words_instead:
                self.inner(index, Inner(words=words_instead, reach=Reach.DECODED))
        self._calls(index)

    def _decoded(self, decoder: Decoder, sources: list[str]) -> list[Word]:
        words: list[Word] = []
        for source in sources:
            if decoder.work.is_done:
                break
            words.extend(decoder.decode(source))
        return words

    def _assignments(self, decoder: Decoder, words: list[str]) -> tuple[list[Assignment], list[str]]:
        assignments: list[Assignment] = []
        for at, source in enumerate(words):
            found = ASSIGNMENT.match(source)
            if not found:
                return assignments, words[at:]
            rest = source[found.end() :]
            if rest.startswith("("):
                items, places = array_items(rest)
                self._decoded(decoder, places)
                given = self._decoded(decoder, items)
                before = self.arrays.get(found[1], []) if found[3] else []
                self.arrays[found[1]] = [*before, *(word.value for word in given)]
                value = Word(rest, " ".join(word.value for word in given), is_plain=False, may_split=True)
            else:
                value = joined(source, decoder.decode(rest)) if rest else Word("", "")
            if found[2]:
                place = decoder.text(found[2]).value[1:-1]
                if place.isdecimal() and int(place) < LOOPED:
                    items = self.arrays.setdefault(found[1], [])
                    items += [""] * (int(place) + 1 - len(items))
                    items[int(place)] = value.value
            assignments.append(Assignment(found[1], value, bool(found[3]), bool(found[2])))
        return assignments, []

    def _redirections(self, decoder: Decoder, raw: Raw) -> Iterator[Redirection]:
        for one in raw.redirections:
            if not decoder.work.spend(REDIRECTION):
                return
            yield self._redirection(decoder, one)

    def _redirection(self, decoder: Decoder, raw: RawRedirection) -> Redirection:
        if raw.heredoc is not None:
            begin, end = raw.heredoc.body
            body = self.reading.text[begin:end]
            if raw.operator == "<<-":
                body = re.sub(r"(?m)^\t+", "", body)
            word = Word(body, body, is_plain=False) if raw.heredoc.is_constant else decoder.text(body)
            return Redirection(raw.operator, word, raw.fd)
        return Redirection(raw.operator, joined(raw.source, decoder.decode(raw.source)), raw.fd)

    def _upstream(self, raw: Raw) -> Iterator[int]:
        wanted = [(number, stage) for number, stage in raw.pipes if stage]
        for index in self.own:
            if any(one[0] == number and one[1] < stage for one in self.raws[index].pipes for number, stage in wanted):
                yield index

    def inner(self, index: int, inner: Inner) -> bool:
        """Follows what a command runs; whether more may be followed."""
        if self.builder.is_full:
            self.builder.overruns()
            return False
        command = self.builder.commands[index]
        reach = inner.reach if self.where.reach != Reach.DECODED else Reach.DECODED
        where = self.where.below(Place.RUN_BY, index, command.span, command.folder, reach)
        if inner.words:
            self.run_words(index, inner.words, where)
        elif inner.text.strip():
            known = dict(self.builder.known)
            given = [*command.assignments, *(one for each in command.wrappers for one in each.assignments)]
            self.builder.known.update({one.name: one.value.value for one in given if UNKNOWN not in one.value.value})
            self.builder.known.update({str(at): value for at, value in enumerate(inner.arguments)})
            if inner.arguments:
                self.builder.known["@"] = self.builder.known["*"] = " ".join(inner.arguments[1:])
            self.builder.known.setdefault("0", "sh")
            self.builder.inner(inner.text, where)
            self.builder.known = known
        return True

    def again(self, index: int, names: Iterable[str]) -> None:
        """Follows once more what stands behind a command and uses variables that it sets."""
        builder = self.builder
        later = {id(self.raws[one]): self.raws[one] for one in self.own if one > index}
        uses = [rf"\$\{{?{re.escape(name.partition('[')[0])}\b" for name in names]
        wanted = re.compile("|".join(uses))
        if builder.calls > 6 or not any(wanted.search(word) for raw in later.values() for word in raw.words):
            return
        builder.calls += 1
        where = self.where.below(
            Place.RUN_BY, index, self._span(self.raws[index]), self._folder(self.raws[index]), Reach.DECODED
        )
        Level(builder, _once_more(self.reading, list(later.values())), where, is_call=True).run()

    def run_words(self, index: int, words: tuple[Word, ...], where: Where) -> None:
        """Follows a command that another runs by its words."""
        builder = self.builder
        builder.total += 2 * len(words)
        builder.work.spend(COMMAND + WORD * len(words))
        if where.depth > DEEPEST or builder.is_full:
            builder.overruns()
            return
        wrappers, rest = strip(list(words))
        builder.pipelines += 1
        command = SimpleCommand(
            tuple(rest),
            self.where.span or builder.commands[index].span,
            wrappers=wrappers,
            places=where.places,
            reach=where.reach,
            parent=index,
            pipeline=builder.pipelines,
            depth=where.depth,
            folder=where.folder,
        )
        at = len(builder.commands)
        builder.commands.append(command)
        for inner in inner_of(command):
            if not self.inner(at, inner):
                break

    def _calls(self, index: int) -> None:
        """A call of a function or alias of the script runs its body with these arguments."""
        builder = self.builder
        command = builder.commands[index]
        name = command.words[0].value if command.words else ""
        if not name or builder.calls > 6 or self.is_call:
            return
        arguments = [word.value for word in command.words[1:]]
        if name in builder.bodies and self.raws[index].function != name and arguments:
            builder.calls += 1
            known = dict(builder.known)
            builder.known.update({str(at): value for at, value in enumerate(arguments, 1)})
            builder.known["@"] = builder.known["*"] = " ".join(arguments)
            reading = _once_more(self.reading, builder.bodies[name])
            where = self.where.below(Place.RUN_BY, index, command.span, command.folder, Reach.DECODED)
            Level(builder, reading, where, is_call=True).run()
            builder.known = known
        elif name in builder.aliases and self.where.reach != Reach.DECODED:
            builder.calls += 1
            text = " ".join((builder.aliases[name], *arguments))
            self.inner(index, Inner(text, reach=Reach.DECODED))
        if name == "alias":
            for value in arguments:
                if "=" in value:
                    builder.aliases[value.partition("=")[0]] = value.partition("=")[2]


def _once_more(reading: Reading, raws: list[Raw]) -> Reading:
    """A reading of a function's body, to be followed once more."""
    return Reading([replace(raw, function="", loops=()) for raw in raws], text=reading.text)
