"""Which programs only read, with which flags: a program or flag that is not here is asked about."""

from activities.safety.bash.machine import MACHINE
from activities.safety.bash.names import named
from activities.safety.bash.reader import Reader, reader

_GREP = (
    "-EFGPivwxcLlqshHnobUZzaTuyrRI -e: -A: -B: -C: -m: -d: -D: -f:< -N --extended-regexp --fixed-strings --basic-regexp"
    " --perl-regexp --regexp= --file=< --ignore-case --no-ignore-case --no-messages --invert-match --word-regexp"
    " --line-regexp"
    " --count --color? --colour? --files-without-match --files-with-matches --max-count= --only-matching --quiet"
    " --silent"
    " --byte-offset --with-filename --no-filename --label= --line-number --initial-tab --null --after-context="
    " --before-context= --context= --text --binary-files= --directories= --exclude= --exclude-dir= --include="
    " --recursive"
    " --dereference-recursive --line-buffered --null-data --version --help --devices="
)
_SUM = "-bctwz --check --binary --text --tag --zero --ignore-missing --quiet --status --strict --warn --version --help"

READERS: dict[str, Reader] = {
    **MACHINE,
    "ls": reader(
        "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I: -T: -w: --all --almost-all --author --escape --block-size="
        " --ignore-backups"
        " --color? --colour? --directory --dired --classify? --file-type --format= --full-time"
        " --group-directories-first"
        " --no-group --human-readable --si --dereference-command-line --dereference --hide= --hyperlink?"
        " --indicator-style="
        " --inode --ignore= --kibibytes --literal --numeric-uid-gid --quote-name --quoting-style= --reverse --recursive"
        " --size --sort= --time= --time-style= --tabsize= --width= --context --zero --version --help"
        " --hide-control-chars"
        " --show-control-chars",
        listing=True,
    ),
    "pwd": reader("-LP --logical --physical --version --help", "none", 0),
    "tree": reader(
        "-adflxsthrupgDFqNQinACSvcUJX -L: -P: -I: --noreport --charset= --filelimit= --si --du --timefmt="
        " --prune --dirsfirst ~"
        " --filesfirst --sort= --inodes --device --ignore-case --matchdirs --gitignore --version --help --metafirst",
        listing=True,
    ),
    "du": reader(
        "-0aAbcDhHkLlmPSsx -B: -d: -t: -X:< --null --all --apparent-size --block-size= --bytes --total"
        " --dereference-args"
        " --max-depth= --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs"
        " --si --summarize"
        " --threshold= --time? --time-style= --exclude-from=< --exclude= --one-file-system --version --help",
        listing=True,
    ),
    "df": reader(
        "-ahHiklPTv -B: -t: -x: --all --block-size= --human-readable --si --inodes --local --no-sync --output?"
        " --portability"
        " --total --type= --print-type --exclude-type= --version --help",
        listing=True,
    ),
    "stat": reader("-LftxF -c: --dereference --file-system --format= --printf= --terse --version --help", listing=True),
    "file": reader(
        "-bcdhiIkLlNnrsv0E -e: -F: --brief --mime --mime-type --mime-encoding --separator= --dereference"
        " --no-dereference --no-pad --print0 --keep-going --raw --extension --version --help --exclude="
    ),
    "realpath": reader(
        "-eEmLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip"
        " --no-symlinks --zero --relative-to= --relative-base= --version --help",
        listing=True,
    ),
    "readlink": reader(
        "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent"
        " --verbose --zero --version --help",
        listing=True,
    ),
    "basename": reader("-az -s: --multiple --suffix= --zero --version --help", "texts", listing=True),
    "dirname": reader("-z --zero --version --help", "texts", listing=True),
    "cat": reader(
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs"
        " --show-nonprinting --version --help"
    ),
    "head": reader("-qvz -c: -n: -N --bytes= --lines= --quiet --silent --verbose --zero-terminated --version --help"),
    "tail": reader(
        "-qvz -c: -n: -N +N --bytes= --lines= --quiet --silent --verbose --zero-terminated --version --help"
    ),
    "nl": reader(
        "-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering= --section-delimiter= --footer-numbering="
        " --header-numbering= --line-increment= --number-format= --number-separator= --number-width="
        " --starting-line-number= --no-renumber --version --help"
    ),
    "tac": reader("-br -s: --before --regex --separator= --version --help"),
    "rev": reader("-0 --zero --version --help"),
    "wc": reader("-cmlLw --bytes --chars --lines --words --max-line-length --total= --version --help"),
    "cut": reader(
        "-nsz -b: -c: -d: -f: --bytes= --characters= --delimiter= --fields= --complement --only-delimited"
        " --output-delimiter= --zero-terminated --version --help"
    ),
    "paste": reader("-sz -d: --delimiters= --serial --zero-terminated --version --help"),
    "fold": reader("-bcs -w: -N --bytes --characters --spaces --width= --version --help"),
    "expand": reader("-i -t: -N --initial --tabs= --version --help"),
    "unexpand": reader("-a -t: -N --all --first-only --tabs= --version --help"),
    "fmt": reader(
        "-cstu -w: -g: -p: -N --crown-margin --split-only --tagged-paragraph --uniform-spacing --width= --goal="
        " --prefix= --version --help"
    ),
    "column": reader(
        "-txeLJd -s: -o: -c: -N: -n: -R: -T: -H: -O: -W: -E: -l: -r: -p: -i: --table --separator="
        " --output-separator= --table-columns= --table-right= --table-noheadings --json --table-name="
        " --output-width= --fillrows --help --version"
    ),
    "od": reader(
        "-abcdfiloxsvhDFHILOXe -A: -j: -N: -S? -t: -w? --address-radix= --skip-bytes= --read-bytes= --endian="
        " --strings? --format= --output-duplicates --width? --version --help"
    ),
    "hexdump": reader(
        "-bcCdovxX -e: -n: -s: --one-byte-octal --canonical --length= --skip= --no-squeezing --version --help"
    ),
    "xxd": reader("-abeEipuC -c: -g: -l: -s: -o: -d --version 1st !", most=1),
    "strings": reader(
        "-afwT -n: -t: -e: -s: -o -N --all --print-file-name --bytes= --radix= --encoding= --version --help"
    ),
    "base64": reader("-dDi -w: --decode --ignore-garbage --wrap= --version --help", most=1),
    "base32": reader("-di -w: --decode --ignore-garbage --wrap= --version --help", most=1),
    "md5sum": reader(_SUM),
    "sha1sum": reader(_SUM),
    "sha224sum": reader(_SUM),
    "sha256sum": reader(_SUM),
    "sha384sum": reader(_SUM),
    "sha512sum": reader(_SUM),
    "b2sum": reader(_SUM + " -l: --length="),
    "sum": reader("-rs"),
    "shasum": reader("-btUp -a: --algorithm= --binary --text --version --help"),
    "cksum": reader("-l: -a: --length= --algorithm= --untagged --tag --base64 --raw --zero --version --help"),
    "zcat": reader("-fq --version --help"),
    "grep": reader(_GREP, "text-then-paths", recursive="-r -R --recursive --dereference-recursive"),
    "egrep": reader(_GREP, "text-then-paths", recursive="-r -R --recursive"),
    "fgrep": reader(_GREP, "text-then-paths", recursive="-r -R --recursive"),
    "rg": reader(
        "-abcFhHiIlLnNopPqsSuUvVwx0. -e: -f:< -g: -j: -m: -M: -r: -t: -T: -A: -B: -C: -E: -d: --after-context="
        " --before-context= --context= --auto-hybrid-regex --binary --block-buffered --byte-offset"
        " --case-sensitive --color="
        " --colors= --column --count --count-matches --crlf --debug --dfa-size-limit= --encoding= --engine="
        " --file=< --files"
        " --files-with-matches --files-without-match --fixed-strings --follow --glob= --glob-case-insensitive --heading"
        " --hidden --iglob= --ignore-case --include-zero --invert-match --json --line-buffered --line-number"
        " --line-regexp"
        " --max-columns= --max-columns-preview --max-count= --max-depth= --max-filesize= --mmap --multiline"
        " --multiline-dotall --no-config --no-filename --no-heading --no-ignore --no-ignore-dot --no-ignore-vcs"
        " --no-ignore-parent --no-line-number --no-messages --no-mmap --null --null-data --one-file-system"
        " --only-matching"
        " --passthru --path-separator= --pcre2 --pretty --quiet --regex-size-limit= --regexp= --replace="
        " --smart-case --sort="
        " --sortr= --stats --text --threads= --trim --type= --type-not= --type-list --unicode --unrestricted --vimgrep"
        " --with-filename --word-regexp --version --help --no-unicode --no-pcre2-unicode --no-hidden"
        " --context-separator=",
        "!text-then-paths",
        recursive="always",
    ),
    "fd": reader(
        "-HIusigFap0Lq1 -d: -t: -e: -E: -c: -S: -j: -o: --hidden --no-ignore --unrestricted --case-sensitive"
        " --ignore-case"
        " --glob --fixed-strings --absolute-path --full-path --print0 --follow --max-depth= --min-depth="
        " --exact-depth= --type= --extension= --exclude= --color= --size= --changed-within= --changed-before="
        " --threads="
        " --max-results= --quiet --no-ignore-vcs --no-ignore-parent --relative-path --regex"
        " --and= --prune"
        " --newer= --older= --owner= --strip-cwd-prefix? --one-file-system --version --help",
        "!text-then-paths",
        listing=True,
    ),
    "sort": reader(
        "-bdfghiMnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort"
        " --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort="
        " --version-sort"
        " --check? --key= --merge --stable --buffer-size= --field-separator= --parallel= --unique --zero-terminated"
        " --version --help --batch-size= --debug",
        "!paths",
    ),
    "uniq": reader(
        "-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields= --group? --ignore-case --skip-chars="
        " --unique --zero-terminated --check-chars= --version --help",
        "!paths",
        1,
    ),
    "comm": reader(
        "-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated --version --help"
    ),
    "join": reader(
        "-iz -a: -e: -j: -o: -t: -v: -1: -2: --ignore-case --check-order --nocheck-order --header --zero-terminated"
        " --version --help"
    ),
    "tr": reader("-cCdst --complement --delete --squeeze-repeats --truncate-set1 --version --help", "texts"),
    "diff": reader(
        "-abBcdeEfinNpPqrstTuwyZ -C: -F: -I: -L: -S: -U: -W: -x: -X:< -N --normal --brief"
        " --report-identical-files --context?"
        " --unified? --ed --rcs --side-by-side --width= --left-column --suppress-common-lines --show-c-function"
        " --show-function-line= --label= --expand-tabs --initial-tab --tabsize= --suppress-blank-empty --recursive"
        " --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from=<"
        " --starting-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change"
        " --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr --minimal"
        " --horizon-lines= --speed-large-files --color? --palette= --version --help",
        recursive="-r --recursive",
    ),
    "cmp": reader("-bls -i: -n: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent --version --help"),
    "diff3": reader(
        "-AeEi3mTxX -L: -a --show-all --ed --overlap-only --easy-only --merge --text --label= --initial-tab"
        " --strip-trailing-cr --version --help"
    ),
    "sdiff": reader(
        "-abBdEHilstWZ -I: -w: --ignore-case --ignore-space-change --ignore-all-space --ignore-blank-lines --text"
        " --width= --left-column --suppress-common-lines --expand-tabs --minimal --version --help"
    ),
    "seq": reader("-w -f: -s: -N --format= --separator= --equal-width --version --help", "texts"),
    "shuf": reader("-erz -i: -n: --echo --input-range= --head-count= --repeat --zero-terminated --version --help"),
    "numfmt": reader(
        "-z -d: --delimiter= --field= --format= --from= --from-unit= --grouping --header? --invalid= --padding="
        " --round= --suffix= --to= --to-unit= --zero-terminated --debug --version --help -N",
        "texts",
    ),
    "expr": reader("--version --help !", "texts"),
    "factor": reader("-h --exponents --version --help", "texts"),
    "tsort": reader("--version --help", most=1),
    "bc": reader("-lqsw --mathlib --quiet --standard --warn --version --help", most=0),
    "true": reader("--version --help", "texts"),
    "false": reader("--version --help", "texts"),
    ":": reader("", "texts"),
    "echo": reader("-neE", "texts"),
    "printf": reader("!", "texts"),
    "sleep": reader("--version --help", "sleep", 1),
    "command": reader("-vVp", "texts"),
    "cd": reader("-LP", "cd", 1),
    "jq": reader(
        "-rcsnSCMaejRh -e --raw-output --compact-output --slurp --null-input --sort-keys --color-output"
        " --monochrome-output --ascii-output --exit-status --join-output --raw-input --tab --indent= --seq --stream"
        " --unbuffered --help --version --raw-output0 --arg== --argjson==",
        "jq",
    ),
    "sed": reader(
        "-nErsuz -e: --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression= --posix"
        " --debug --version --help",
        "!sed",
    ),
    "awk": reader("-F: -v: --version --field-separator= --posix --sandbox -S !", "awk"),
}
for _alias, _name in {
    "gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "ggrep": "grep", "gcat": "cat", "ghead": "head",
    "gls": "ls",
    "fdfind": "fd", "gsort": "sort", "gstat": "stat", "gdate": "date", "dir": "ls", "vdir": "ls",
}.items():  # fmt: skip
    READERS[_alias] = READERS[_name]

VERSION_FLAGS = {
    **dict.fromkeys(("bash", "tar"), named("--version")),
    **dict.fromkeys(("gcc", "g++", "cc", "git", "node"), named("--version -v")),
    **dict.fromkeys(("python", "python3", "rg", "fd", "jq"), named("--version -V")),
}
"""Flags that only tell a version, by program: `bash -v` and `python -v` go on to run what they read."""

FIND = named(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -atime"
    " -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -inum -links -samefile -maxdepth"
    " -mindepth -printf -regextype -lname -ilname -fstype -used -context -newermt -newerct -newerat -newerBt"
)
"""Tests of find that take a value."""
FIND_ALONE = named(
    "-print -print0 -ls -prune -quit -empty -true -false -readable -writable -executable -nouser"
    " -nogroup -depth -d -mount -xdev -daystart -follow -noleaf -not -and -or -a -o ! ( ) , -H -L -P -warn -nowarn"
    " -ignore_readdir_race -O1 -O2 -O3 --help --version"
)
SAFE_ENVIRONMENT = named(
    "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES TERM CI NODE_ENV"
    " PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE"
)
SAFE_VARIABLES = named("HOME PWD USER SHELL LANG ? LOGNAME")
