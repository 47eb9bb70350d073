"""Families of programs, by name."""

import functools
import re


def named(text: str) -> frozenset[str]:
    """The names in a text, as a set."""
    return frozenset(text.split())


SHELLS = named(
    "sh bash dash ash zsh ksh ksh93 mksh pdksh lksh fish csh tcsh rbash rzsh yash posh oksh elvish nu"
    " xonsh pwsh powershell"
)
INTERPRETERS = named(
    "python perl ruby node nodejs php lua luajit deno bun tclsh wish expect osascript rscript r"
    " julia guile racket scheme erl elixir iex groovy jshell scala kotlin swift ghci runghc ocaml sbcl clisp emacs"
    " irb jruby jython pypy raku jrunscript awk gawk mawk nawk tsx ts-node bpython ipython gforth m4 make gmake"
)
AWKS = named("awk gawk mawk nawk original-awk bwk")
READS_PROGRAM = SHELLS | named(
    "python perl ruby node nodejs php lua luajit deno bun tclsh expect osascript"
    " r rscript julia guile elixir groovy irb pypy raku ts-node tsx at batch crontab psql mysql sqlite3 gdb ed ex"
)
"""What runs the program that it reads from its input."""

STARTS_SHELL = named("su sudo doas runuser newgrp script chroot unshare nsenter fakeroot")
"""What starts a shell that reads its input, where no other command is named."""

_VERSION = re.compile(r"[-.]?\d[\d.]*[a-z]?(?:-dbg|-config|-intel64)?$")

_LONGEST = 60
"""Characters of a program's name with its version."""


@functools.lru_cache(maxsize=4096)
def family(name: str) -> str:
    """A program's name without its version: `python3.12` is python, `bash5` is bash."""
    if name in SHELLS or name in INTERPRETERS or not name[-1:].isdigit() or len(name) > _LONGEST:
        return name
    bare = _VERSION.sub("", name)
    return bare if bare in SHELLS or bare in INTERPRETERS else name


def is_shell(name: str) -> bool:
    """Whether it is a shell."""
    return family(name) in SHELLS


def runs_text(name: str) -> bool:
    """Whether it is a shell or another interpreter of programs."""
    return family(name) in READS_PROGRAM or family(name) in INTERPRETERS or name in {"eval", "source", "."}


NETWORK = named(
    # transfer
    "curl wget wget2 aria2c axel lftp ftp sftp tftp ncftp http https httpie xh curlie hurl httpx lynx w3m links elinks"
    " nc ncat netcat nc.openbsd nc.traditional socat telnet openssl s_client websocat wscat rclone rsync scp ssh sshfs"
    " mosh autossh sshpass ssh-copy-id ssh-keyscan croc magic-wormhole wormhole transfer ngrok cloudflared"
    " localtunnel bore frpc chisel tailscale gost"
    # names and probes
    " ping ping6 fping hping3 arping traceroute traceroute6 tracepath mtr dig nslookup host drill kdig delv resolvectl"
    " systemd-resolve whois nmap masscan zmap arp-scan iperf iperf3 nping netdiscover tcpdump tshark avahi-resolve"
    # services
    " gh glab hub tea aws gcloud gsutil bq az doctl heroku vercel netlify fly flyctl wrangler supabase firebase"
    " oc kubectl helm docker podman nerdctl buildah skopeo crictl ctr docker-compose podman-compose minikube kind"
    " terraform tofu pulumi ansible ansible-playbook ansible-galaxy packer vagrant vault consul nomad salt"
    " s3cmd mc restic borg duplicity psql mysql mysqldump pg_dump mongo mongosh redis-cli mail mailx sendmail mutt"
    " msmtp swaks smbclient ldapsearch snmpwalk nfs-ls svn hg bzr cvs fossil irssi slack-cli telegram-cli"
    " finger rlogin rsh rexec snmpget snmpset snmpbulkwalk snmptrap ldapadd ldapmodify plink pscp psftp cadaver"
    " mosquitto_pub mosquitto_sub kcat kafkacat grpcurl evans ab wrk hey k6 vegeta siege zabbix_sender ntfy sendemail"
    " ssmtp exim yt-dlp youtube-dl gdown crane oras cosign regctl argocd flux hcloud linode-cli scw oci aliyun ibmcloud"
    " sentry-cli datadog-ci codecov snyk sonar-scanner signal-cli sendxmpp xfreerdp rdesktop nats nuclei sqlmap hydra"
    " gobuster ffuf openvpn wg-quick sshuttle proxytunnel httptunnel dnscat iodine ptunnel stunnel megaput gdrive"
    " onionshare bitbucket jira linear slackcat transfer.sh wormhole-william nfs mount.cifs"
)
PACKAGE_MANAGERS = named(
    "npm npx pnpm pnpx yarn bunx corepack pip pip3 pipx uv uvx poetry pipenv conda mamba"
    " micromamba pdm hatch rye tox nox cargo rustup go gem bundle bundler composer mvn mvnw gradle gradlew sbt lein"
    " mix rebar3 cabal stack opam nimble dart flutter pub swift pod carthage brew port apt apt-get aptitude dpkg yum"
    " dnf zypper pacman apk snap flatpak nix nix-env nix-shell nix-build guix emerge xbps-install pkg pkg_add choco"
    " scoop winget make gmake cmake ninja bazel bazelisk buck ant rake just task jest vitest mocha pytest"
    " ansible-pull asdf mise nvm volta sdk pyenv rbenv cpan cpanm luarocks easy_install deno bun"
)
CONTAINERS = named("docker podman nerdctl lxc incus ctr crictl")
DECODERS = named(
    "base64 base32 basenc b64decode gbase64 uudecode xxd openssl gunzip zcat gzip bunzip2 bzcat"
    " bzip2 xzcat unxz xz lzcat zstdcat unzstd zstd lz4 lz4cat brotli rev tr printf gpg uncompress unlzma hexdump od"
    " iconv ascii85 tac jq yq 7z unzip funzip dd_rescue recode ccrypt age mcrypt rot13 nkf"
)
ROOT = named("sudo doas pkexec su runuser gosu su-exec")
SHELL_STATE = named(
    "export declare typeset readonly local alias unalias unset set shopt trap hash enable bind complete compopt"
    " eval source . exec"
    " builtin read mapfile readarray let umask ulimit pushd popd dirs fc history getopts shift return break"
    " continue wait jobs fg"
    " bg disown suspend logout exit caller coproc times compgen"
)
