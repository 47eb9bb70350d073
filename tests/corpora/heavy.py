"""Texts that are hard work to analyse: families of them, of any length."""

from collections.abc import Callable, Iterator

Family = Callable[[int], str]
"""A text of at most so many characters."""


def _over(piece: str, before: str = "", after: str = "") -> Family:
    """One piece over and over, with something around."""

    def made(size: int) -> str:
        left = size - len(before) - len(after)
        return before + piece * (left // len(piece)) + after

    return made


def _numbered(piece: str) -> Family:
    """Pieces that all differ."""

    def made(size: int) -> str:
        text, number = "", 0
        while len(text) + len(piece) + 5 <= size:
            text += piece.replace("#", str(number))
            number += 1
        return text

    return made


def _nested(opens: str, closes: str, middle: str = "rm a", most: int = 9_999) -> Family:
    """Something within itself, as deep as it fits, side by side where that is not deep enough."""

    def made(size: int) -> str:
        deep = min((size - len(middle)) // len(opens + closes), most)
        one = opens * deep + middle + closes * deep
        return ";".join([one] * max((size + 1) // (len(one) + 1), 1))

    return made


def _halves(one: str, other: str, before: str, between: str, most: int = 9_999, after: str = "") -> Family:
    """Two pieces, each over and over."""

    def made(size: int) -> str:
        left = size - len(before) - len(between) - len(after)
        first = min(left // 2, most)
        return before + one * (first // len(one)) + between + other * ((left - first) // len(other)) + after

    return made


def _symbols(size: int) -> str:
    """A program of sed that begins again and again, each time with another delimiter."""
    return "sed '" + "".join(f"s{chr(0x2190 + number)}" for number in range((size - 6) // 2)) + "'"


def _quoted_shells(size: int) -> str:
    """Shells in shells, each quoted for the one around."""
    text = "rm -f a"
    while True:
        longer = "sh -c '" + text.replace("'", "'\\''") + "'"
        if len(longer) > size:
            return text
        text = longer


def _escaped_shells(size: int) -> str:
    text = "rm -f a"
    while True:
        longer = 'sh -c "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"; ls'
        if len(longer) > size:
            return text
        text = longer


FAMILIES: dict[str, Family] = {
    "escaped quotes in a program": _over('\\"', "perl -e 'system \"", "'"),
    "blanks in a script of sed": _over(" ", "sed -n 'p", "x' f"),
    "slashes in a script of sed": _over("/", "echo x | sed s", "x"),
    "digits in a program's name": _over("1", "", "_1"),
    "letters of ps": _over("a", "kill $(ps ", "!)"),
    "endless loops in a program": _over("while(1)", "python -c '", "'"),
    "endless loops and forks in a program": _over("while True: os.fo ", "python -c '", "'"),
    "substitutions as commands": _over("$(a)"),
    "substitutions as arguments": _over("$(a) ", "echo "),
    "substitutions that differ": _numbered("$(a#) "),
    "substitutions in double quotes": _over("$(rm b)", 'echo "', '"'),
    "substitutions of echo": _over("$(echo a) "),
    "backquotes": _over("`a` "),
    "nested substitutions": _nested("$(", ")"),
    "nested substitutions as deep as is followed": _nested("$(", ")", most=11),
    "nested substitutions with quotes": _nested('"$(echo ', ')"', "a", most=11),
    "nested echoes": _nested("$(echo ", ")", most=11),
    "open substitutions": _over("$("),
    "process substitutions": _over("<(a) ", "cat "),
    "sums": _over("$((1+2)) ", "echo "),
    "sums of names": _over("$((a+b)) ", "echo "),
    "sums or substitutions": _over("$((a) ) ", "echo "),
    "nested sums": _nested("$((1+", "))", "1", most=20),
    "open sums": _over("(("),
    "arithmetic commands": _over("((a=1));"),
    "old sums": _over("$[a] ", "echo "),
    "parameters": _over("${x:-y} ", "echo "),
    "nested parameters": _nested("${x:-", "}", "y", most=20),
    "nested parameters with commands": _nested("${x:-$(", ")}", "y", most=10),
    "open parameters": _over("${x:-"),
    "variables": _over("$x", "echo "),
    "known variables": _over("$x ", "x='a b c d e f g h i j k l m n o p'; echo "),
    "grown variables": _over("x=$x$x;", "x=aaaaaaaa;"),
    "heredocs": _over("cat <<A\nx\nA\n"),
    "heredocs with substitutions": _over("cat <<A\n$(a) $(b)\nA\n"),
    "heredocs into shells": _over("sh <<'A'\nrm b\nA\n"),
    "one heredoc of substitutions": _over("$(a)\n", "cat <<A\n", "A\n"),
    "one heredoc into a shell": _over("rm b\n", "sh <<'A'\n", "A\n"),
    "open heredocs": _over("<<A "),
    "heredocs on one line": _numbered("<<A# "),
    "single quotes": _over("'a'"),
    "single quotes apart": _over("'a' ", "echo "),
    "double quotes": _over('"a"'),
    "escapes": _over("\\a"),
    "ansi quotes": _over("$'\\x61'"),
    "ansi quotes apart": _over("$'\\x61' ", "echo "),
    "an odd quote": _over("'a' ", "", "'"),
    "open double quotes with substitutions": _over('"$(a '),
    "braces": _over("{a,b} ", "echo "),
    "braces in one word": _over("{a,b}", "echo "),
    "nested braces": _nested("{a,", "}", "b", most=23),
    "nested braces apart": _over("{a,{b,{c,{d,{e,f}}}}} ", "echo "),
    "ranges": _over("{1..99} ", "echo "),
    "open braces": _over("{a,"),
    "eval": _over("eval ", "", "rm a"),
    "sudo": _over("sudo ", "", "rm a"),
    "env": _over("env a=b ", "", "rm a"),
    "mixed wrappers": _over("sudo timeout 5 env A=b nice ", "", "rm a"),
    "ssh": _over("ssh h ", "", "rm a"),
    "xargs": _over("xargs ", "", "rm a"),
    "watch": _over("watch ", "", "rm a"),
    "env -S": _over("env -S ", "", "rm a"),
    "find -exec": _over("find -exec a {} \\; "),
    "many -exec of one find": _over("-exec rm {} \\; ", "find . "),
    "git runs": _over("run ", "git "),
    "git options": _over("-c a=!b ", "git "),
    "shells of shells": _quoted_shells,
    "shells of shells escaped": _escaped_shells,
    "shells side by side": _over("bash -c 'rm a';"),
    "shells with two commands": _over("bash -c 'rm a; rm b' && "),
    "interpreters": _over("system('rm a');", 'python -c "', '"'),
    "interpreters side by side": _over("perl -e 'system(\"rm a\")';"),
    "awk": _over('system("a") ', "awk '", "'"),
    "programs of sed": _over("e rm a\n", "sed '", "'"),
    "an open program of sed": _over("s/a\\", "sed '", "'"),
    "a pipe of cats": _over("| cat ", "echo a "),
    "a pipe of everything": _over("| rm a ", "echo a "),
    "a pipe of programs": _over("awk '{system(\"rm a\")}' | ", "", "cat"),
    "a pipe into a shell": _over("| rev ", "echo 'a rm' ", "| sh"),
    "pipes into shells": _over("echo rm a | sh;"),
    "pipes into xargs": _over("echo a | xargs rm;"),
    "much into xargs": _over("a ", "echo ", "| xargs sudo rm"),
    "decoders": _over("echo cm0gYQ== | base64 -d | sh;"),
    "lists": _over("ls && ", "", "ls"),
    "lists of what is told": _over("rm a;"),
    "lists of what differs": _numbered("rm a#;"),
    "lists of two words": _over("a b\n"),
    "dull lists": _over("true; "),
    "lists of paths": _over("cat /etc/passwd;"),
    "lists of secrets": _over("cat .env;"),
    "the background": _over("a & "),
    "groups": _over("{ a; };"),
    "nested groups": _nested("{ ", "; }", "a", most=50),
    "subshells": _over("(a);"),
    "nested subshells": _nested("(", ")", "a", most=50),
    "open subshells": _over("( "),
    "cases": _over("case a in b) c;; esac;"),
    "many arms": _over("a) rm b;; ", "case x in ", "esac"),
    "conditions": _over("if a; then b; fi;"),
    "nested conditions": _nested("if a; then ", "; fi", "b", most=20),
    "tests": _over("[[ -f a && b == c ]];"),
    "one long test": _over("-f $(a) && ", "[[ ", "-f b ]]"),
    "open tests": _over("[[ "),
    "loops": _over("for i in a b c; do rm $i; done;"),
    "nested loops": _nested("for i in a b; do ", "; done", "rm $i", most=10),
    "a loop over much": _over("a ", "for i in ", "; do rm $i; done"),
    "a loop over much else": _over("rm $i;", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ", " done"),
    "while loops": _over("while a; do b; done;"),
    "functions": _over("f() { a; };"),
    "functions that differ": _numbered("f#() { a; };"),
    "functions with calls": _over("f b;", "f() { g $1; rm $1; }; g() { sh -c $1; };"),
    "a fat function with calls": _over("rm $1;", "f() { ", " }; f a; f b; f c; f d; f e; f f"),
    "aliases": _over("alias a='rm b'; a c;"),
    "assignments": _over("x=a "),
    "assignments apart": _over("x=a;"),
    "assignments that grow": _over("x+=a;"),
    "arrays": _over("x=(a b c);"),
    "one array": _over("a ", "x=(", ")"),
    "open arrays": _over("a=("),
    "a long word": _over("a", "rm "),
    "long words": _over("a" * 99 + " ", "rm "),
    "many words": _over("a ", "rm "),
    "many flags": _over("-a ", "rm "),
    "many options": _over("--a=/b ", "rm "),
    "many paths": _over("/a ", "rm "),
    "many paths that differ": _numbered("/etc/a# "),
    "paths up and down": _over("../", "rm "),
    "stars": _over("*", "rm "),
    "globs": _over("a*[b]? ", "rm "),
    "tildes": _over("~/a ", "rm "),
    "redirections": _over(">a ", "echo "),
    "redirections in and out": _over("<a >b 2>&1 ", "cat "),
    "files filled and run": _over("echo rm a > b; sh b;"),
    "unicode": _over("é", "rm "),
    "unicode apart": _over("é 漢 ", "rm "),
    "invisible characters": _over("\u200b", "rm "),
    "control characters": _over("\0"),
    "control characters between": _over("a\0b ", "rm "),
    "joined lines": _over("\\\n", "rm ", "a"),
    "joined lines between": _over("a \\\n", "rm "),
    "comments": _over("# a\n"),
    "blanks": _over(" ", "rm ", "a"),
    "newlines": _over("\n", "rm ", "a"),
    "semicolons": _over(";"),
    "closed only": _over(") "),
    "ends only": _over("done; "),
    "starts only": _over("if "),
    "garbage": _over("'\"`$({[("),
    "broken lists": _over("rm a; ) "),
    "broken lists with substitutions": _over("$(rm a); ", ") "),
    "other readings": _over("l[s] <> a; "),
    "python": _over("open('"),
    "base64": _over("cm0gLXJmIC8K"),
    "base64 into a shell": _over("cm0gYTsg", "echo ", "| base64 -d | sh"),
    "json": _over('{"a": [1, "b"]}, ', "echo '", "'"),
    "slashes in a program": _over("/", "python -c '", "'"),
    "verbs in a program": _over("write", "python -c '", "'"),
    "verbs of a removal in a program": _over("rm", "node -e '", "'"),
    "empty lines in a program of sed": _over("\n", "sed '", "'"),
    "empty lines in a program of vim": _over("\n", "vim -c '", "'"),
    "empty lines in a program": _over("\n", "ruby -e '", "'"),
    "empty lines in a crontab": _over("\n", "crontab - <<'A'\n", "A\n"),
    "delimiters in a program of sed": _over("/", "echo a | sed 's", "' | sh"),
    "delimiters that differ in a program of sed": _symbols,
    "a pattern for a name": _over("["),
    "words with signs": _over("@a"),
    "groups that never end": _over("%("),
    "groups in a text that is run": _over("%(", "bash -c '", "'"),
    "a fat group redirected": _halves("rm a;", ">a ", "{ ", " } "),
    "an array and substitutions": _halves("a ", "$(b)", "x=(", ") "),
    "a fat text through a pipe": _halves("a", "| rev ", "echo ", " "),
    "a fat text in many places": _halves("a", "{}", "echo ", " | xargs -I{} b "),
    "a fat value trimmed": _halves("a", "${x%a*b*c*}", "x=", "; echo ", 400),
    "a fat value swapped": _halves("a", "${x//a/$x}", "x=", "; echo "),
    "quotes behind braces": _over("''", "echo " + "{" * 20),
    "redirections behind a number": _over(">a ", "echo 1 "),
    "loops over much": _halves("a ", "rm $i;", "for i in ", "; do ", after=" done"),
    "a mixture": _over("for i in 1 2; do cat $i; done; echo \"$(pwd)\" | grep 'a b' > c; sudo rm $x;"),
}
"""By what makes them hard."""


def heavy(size: int) -> Iterator[tuple[str, str]]:
    """Each family's name and its text of that size."""
    for name, made in FAMILIES.items():
        yield name, made(size)
