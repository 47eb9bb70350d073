"""Programs that tell of the machine, of processes and of other programs, with the flags that only read."""

from activities.safety.bash.reader import Reader, reader

_PS = (
    "-AacdefFHjlLMmNTvwyxZ -o: -O: -p: -u: -U: -C: -g: -G: -t: -s: --pid= --ppid= --user= --User= --group="
    " --format= --sort="
    " --forest --headers --no-headers --deselect --sid= --tty= --cols= --rows= --columns= --width= --lines="
    " --version --help"
    " --no-heading --noheader"
)

MACHINE: dict[str, Reader] = {
    "whoami": reader("--version --help", "none", 0),
    "id": reader("-agGnruzZ --context --group --groups --name --real --user --zero --version --help", "texts"),
    "groups": reader("--version --help", "texts"),
    "uname": reader(
        "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor"
        " --hardware-platform --operating-system --version --help",
        "none",
        0,
    ),
    "hostname": reader(
        "-aAdfiIsy --alias --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short --version --help",
        "none",
        0,
    ),
    "uptime": reader("-ps --pretty --since --version --help", "none", 0),
    "date": reader(
        "-Ru -d: -I? --date= --iso-8601? --rfc-email --rfc-3339= --utc --universal --version --help", "date", 1
    ),
    "nproc": reader("--all --ignore= --version --help", "none", 0),
    "arch": reader("--version --help", "none", 0),
    "free": reader(
        "-bkmghltvw --bytes --kibi --mebi --gibi --kilo --mega --giga --human --lohi --total --wide --si --version"
        " --help",
        "none",
        0,
    ),
    "lscpu": reader(
        "-abcehpxyJB -C? --all --online --offline --bytes --caches? --extended? --json --parse? --hex --physical"
        " --version --help",
        "none",
        0,
    ),
    "ps": reader(_PS, "ps"),
    "pgrep": reader(
        "-aclfinovwx -d: -g: -G: -P: -s: -t: -u: -U: -r: --list-name --list-full --count --full --ignore-case"
        " --newest --oldest --parent= --exact --delimiter= --euid= --uid= --group= --terminal= --inverse --version"
        " --help",
        "texts",
    ),
    "ss": reader(
        "-hVnaloemipstuwxdSZzb460H -f: -A: --numeric --all --listening --options --extended --memory"
        " --processes --info --summary --tcp --udp --raw --unix --dccp --sctp --vsock --ipv4 --ipv6 --packet --family="
        " --query= --no-header --oneline --version --help",
        "texts",
    ),
    "getconf": reader("-a -v:", "texts"),
    "locale": reader("-ackm --all-locales --charmaps --category-name --keyword-name --version --help", "texts"),
    "tty": reader("-s --silent --quiet --version --help", "none", 0),
    "which": reader("-as --all --version --help", "texts"),
    "type": reader("-aftpP", "texts"),
    "help": reader("-dms", "texts"),
    "man": reader("", "man", 2),
    "printenv": reader("-0 --null --version --help", "variable"),
    "unzip": reader("-lvt", "archive", most=20),
    "zipinfo": reader("-12slmvhtTz", "archive", most=20),
    "gzip": reader("-lv --list --verbose", most=20),
}
