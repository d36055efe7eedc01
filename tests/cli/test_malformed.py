"""Malformed inputs drawn from a seed: each runs or is refused in one line; none hangs, takes memory or leaves a file.

    python tests/cli/test_malformed.py toml 17      # one input alone: its command, how it ended, what it printed
    BTFLOW_MALFORMED=10 BTFLOW_MALFORMED_SEED=2 python -m pytest -m slow tests/cli/test_malformed.py

draws ten times as many, and others. Most run in forks of a process that has imported btflow: no second for each.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main

ROOT = Path(__file__).parents[2]
MORE, SEED = int(os.environ.get("BTFLOW_MALFORMED", "1")), os.environ.get("BTFLOW_MALFORMED_SEED", "1")
HANG, BLOCKED = 20, int(os.environ.get("BTFLOW_BLOCKED", "300"))
"""CPU time after which an input hangs [s], and time after which one waits for ever, however busy the machine is [s]."""
MEMORY, LONGEST = 2**30, 2000
"""Most that an input may take beside the imported modules [B], and letters of the longest line that is a reason."""
CHUNKS = 3
"""What still runs after so many chunks of events was accepted, and is interrupted."""
SIMULATE = ("run", "link", "sweep")


class Input(NamedTuple):
    """A command, and what it finds: the content of files by their names; a text is a pipe, a folder or a link's end."""

    words: list[str]
    files: Mapping[str, bytes | str] = {}


def listed(text: str) -> list[str]:
    """Return the texts that bars separate; <9 x 5000> stands for 5000 nines."""
    texts = re.split(r" \|(?: |\n)", text)
    return [re.sub(r"<(.+?) x (\d+)>", lambda found: found[1] * int(found[2]), one) for one in texts]


TEXTS = listed(
    """ | \t | \r | a\nb | \x1b[31mred\x1b[0m | \x7f | \u202e | \ufeff | \udcff | nan | inf | -inf | -1 | -0 | 0 |
1e999 | 1e-999 | 0x10 | 1_000 | 1\u0661 | \xe9 | <9 x 5000> | <x x 90000> | <\U0001f986 x 300> | 1 kg | 1 s s |
-5 ms | nan s | inf kB/s | 1e308 GB | 1e-320 s | <9 x 400> s | 1e400 s | 5 %% | 101% | = | , | : | @ | ( | ,, | a=b |
a.b.c | * | *.* | .. | . | / | ../x | /dev/zero | /dev/stdin | ~ | none | true | lin(0,1,0) | lin(1 s, 0 s, 3) |
log(0, 1 s, 3) | lin( | lin(0 s, 1 s, 1e9) | lin(0 s,1 s,<9 x 5000>) | uniform(0 s, 1 s) | choice() |
lognormal(0, -1) | iplane | <[ x 5000> | <( x 3000> | <{a= x 900> | { base = 'cubic' } | {} | [] | " | ' | \\ | %s |
{0} | $HOME | -- | --help | -x"""
)
LITERALS = listed(
    """ | 1 | -1 | 0 | -0.0 | nan | -inf | 1e999 | <9 x 30> | <9 x 5000> | 0x<f x 5000> | true | 1979-05-27 | 07:32:00 |
[] | {} | <[ x 3000> | <[ x 900><] x 900> | <{ a =  x 500>1<} x 500> | [1, "a", {}] | { value = 1 } | 1__0 | +-1 | = |
{ value = {}, source = "x" } | { value = 1, source = 2 } | { value = "1 s", source = "x", more = 1 } | "\\u0000" | # |
"\\u001b[31m" | "\\ud800" | "<x x 90000>" | '\x1b[2J' | "" | "\\"""
)
VALUES = listed(
    """null | true | [] | {} | "" | -1 | 0 | 1e999 | NaN | -Infinity | <9 x 30> | <9 x 5000> | "x" | "\\ud800" | 1e308 |
-1e-320 | <[ x 900><] x 900> | <[ x 100000> | "<9 x 5000>" | "NaN" | "9999-12-31T23:59:59-14:00" | "\\u001b[31m" |
"0001-01-01T00:00:00+14:00" | "<x x 90000>" | [null] | [[1, -1]]"""
)
LETTERS = "0159.,:;=@-+*/()[]{}\"'# \t\nes%kMB\0\x1b\u0660\xe9\u202e\U0001f986"


def mutated(rng: random.Random, text: str) -> str:
    """Return a text in which a few letters are others, more or fewer."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, letter = rng.randint(0, len(text)), rng.choice(LETTERS)
        to = at + rng.choice((0, 1, 1, 3, 1000))
        text = text[:at] + rng.choice(("", "", letter, letter * 50, text[at:to] * 2)) + text[to:]
    return text


def odd(rng: random.Random, text: str) -> str:
    """Return what is seldom right in place of a text; no argument has a NUL."""
    return (rng.choice(TEXTS) if rng.random() < 0.5 else mutated(rng, text)).replace("\0", "")


def broken(rng: random.Random, whole: bytes) -> bytes:
    """Return what is left of a file after an accident, or as another program wrote it."""
    at, length = rng.randint(0, len(whole)), rng.choice((1, 1, 8, 500))
    begin, rest, noise = whole[:at], whole[at + length :], rng.randbytes(length)
    parts = [begin, whole[at:], begin + noise + rest, begin + noise + whole[at:], begin + rest, noise, b"", bytes(99)]
    parts += [b"\xef\xbb\xbf" + whole, whole.decode("latin-1").encode("utf-16"), whole.replace(b"\n", b"\r"), whole * 3]
    return rng.choice([*parts, begin + bytes(length) + rest, gzip.compress(whole)[:-9], begin + b"9" * 20_000])


def of_json(rng: random.Random, content: bytes) -> bytes:
    """Return a JSON file of which a value is another one or is missing."""
    inside: Any = (root := {"": json.loads(content)})
    key: Any = ""
    while isinstance(inside[key], dict | list) and inside[key] and rng.random() < 0.9:
        inside = inside[key]
        key = rng.choice(list(inside)) if isinstance(inside, dict) else rng.randrange(len(inside))
    if rng.random() < 0.8 or inside is root:
        inside[key] = "@odd@"
    else:
        inside.pop(key)
    return json.dumps(root[""]).replace('"@odd@"', rng.choice(VALUES)).encode()


def of_toml(rng: random.Random, content: bytes) -> bytes:
    """Return a model file of which a line or a few are others."""
    lines = content.decode().splitlines()
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        name, equals, value = lines[at].partition(" = ")
        if equals and rng.random() < 0.7:
            value = rng.choice((rng.choice(LITERALS), json.dumps(odd(rng, value.strip('"')), ensure_ascii=False)))
            source = "source" in lines[at] and rng.random() < 0.7
            lines[at] = f'{name} = {{ value = {value}, source = "x" }}' if source else f"{name} = {value}"
        else:
            table = f"[{'.'.join('a' * rng.choice((2, 30, 3000)))}]"
            other = [f"{mutated(rng, name)}{equals}{value}"]
            lines[at : at + rng.choice((0, 1, 1))] = rng.choice(
                (other, other, [], 2 * [lines[at]], [table], ["a=" * 999])
            )
    return "\n".join(lines).encode("utf-8", "surrogateescape")


SMALL = "--set leechers=2 --set 'file_size=512 KiB'"
SWARM, LINK = f"run rao2010 {SMALL}", "link --flow cubic --duration '2 s'"
TAKE = {
    "swarms": f"run m.toml {SMALL} | run m.toml {SMALL} --fidelity flow | list m.toml | list m.toml --fields",
    "links": "link m.toml --set 'duration=2 s' | link m.toml | link m.toml --fidelity flow | list m.toml --fields",
    "access": f"{LINK} --access m.toml",
    "congestion": "link bufferbloat --set flows.upload.cc=m.toml",
    "codecs": "link bufferbloat --set flows.call.codec=m.toml",
    "clients": f"{SWARM} --set classes.*.client=m.toml",
    "internet": f"{SWARM} --set internet=m.toml",
    "paths": f"{SWARM} --set paths.matrix=m.toml --set leecher_as=AS1",
    "transports": f"{SWARM} --set transport=m.toml",
    "sockets": f"{SWARM} --set transport.socket=m.toml",
    "stacks": """link bufferbloat --set 'flows.upload.cc={ base = "m.toml" }'""",
}
"""What reads a file of each folder of models."""


def a_toml(rng: random.Random) -> Input:
    """A model file, or one of those that it is made of."""
    folder = rng.choice(("swarms", "links", *TAKE))
    model = rng.choice(sorted((ROOT / "models" / folder).glob("*.toml"))).read_bytes()
    words = shlex.split(rng.choice(listed(TAKE[folder])))
    return Input(words, {"m.toml": broken(rng, model) if rng.random() < 0.3 else of_toml(rng, model)})


SETTINGS = """--set 'rtt=50 ms' --set loss=1% --set 'upload_limit=20 kB/s' --set leechers=3 --set internet=iplane
--seed 3 --set tso=false --set classes.*.client=libtorrent-2 --set seed_as=AS1 --set transport.initial_window=4
--fidelity flow --set 'file_size=1 MB' --set 'arrivals.spread=1 s' --set paths.matrix=rao2010-as
--set classes.seed.count=2 --replicas 2
--set classes.leechers.role=seed --set "transport={ base = 'linux-6' }" --set 'swarm.piece_size=256 KiB' """
OPTIONS = {
    SWARM: f"{SETTINGS} --out a.nc --plot a.html --motion a.html",
    LINK: """--rate '1 Mbit/s' --buffer '100 packets' --buffer '1.5 BDP' --reverse-rate '1 Mbit/s' --fidelity flow
--reverse-buffer '9 packets' --aqm codel --access adsl --rtt '5 ms' --rtt-spread '1 ms' --loss 1% --ack-loss 1% --seed 3
--flow cubic:3 --flow 'cubic,size=1 MB,name=a' --flow 'newreno:2,rate=1 Mbit/s,on=1 s,off=1 s' --flow ledbat:1@10s
--flow 'utp,target=25 ms,direction=down' --voip g729:1 --voip g711:2@1s,frames=2 --probe '100 B@1s' --warmup '1 s'
--probe '1 kB@10 ms,cc=bbr' --duration '2 s' --sample '10 ms' --set flows.cubic.cc=bbr --set 'paths.rtt=5 ms'
--out a.nc --motion a.html --motion-start '1 s' --motion-length '1 s'""",
    f"sweep rao2010 {SMALL} --jobs 1 --vary 'rtt=0 ms,50 ms'": f"""{SETTINGS} --vary loss=0%,5% --sample sobol:4
--vary 'upload_limit=lin(10 kB/s, 100 kB/s, 3)' --vary 'rtt,loss=(0ms,0%),(400ms,5%)' --vary 'loss=log(0.1%,5%,8)'
--sample lhs:3 --keep peers,series --check 2 --statistics completion_mean --out a.zarr --jobs 1 --backend threads""",
    "calibrate up.log --rate '768 kbit/s'": """--rate '1 Mbit/s' --way down --base-rtt '20 ms' --buffer '100 packets'
--cc cubic --format ping --rtt rtt --rtt-unit ms --separator comma --src src --out a.toml --plot a.html""",
    "list": "'' rao2010 '' adsl '' cubic --fields rao2010",
    "schema": "'' swarm '' link",
    "handout --lesson no": "'' folder --lesson bufferbloat --site ../",
    "explore --no-browser --visitors -1": "--port 0 --ip 127.0.0.1 --memory '1 GB' '' x",
    "bench --fidelity -": "'' x --fidelity flow",
}
"""Commands, with options that are right: '' stands for an argument in place of an option."""


def an_option(rng: random.Random) -> Input:
    """Options and arguments of each command."""
    command = rng.choice((SWARM, LINK, *OPTIONS))
    words, options = shlex.split(command), shlex.split(OPTIONS[command])
    for at in rng.choices(range(0, len(options), 2), k=rng.choice((1, 1, 2, 3))):
        name, right = options[at : at + 2]
        field, equals, value = right.partition("=")
        named = equals and name in ("--set", "--vary") and rng.random() < 0.7
        words += [name] * bool(name) + [f"{field}={odd(rng, value)}" if named else odd(rng, right)]
    return Input(words, {"up.log": recorded("adsl-up.log")} if words[0] == "calibrate" else {})


@cache
def recorded(name: str) -> bytes:
    """Return a recorded file of a line."""
    return gzip.decompress((ROOT / "tests" / "lines" / "recorded" / f"{name}.gz").read_bytes())


MEASURED = "managed-up.log | adsl-up.log | managed-up.json | packets-paced.json | packets-flent.flent | packets-up.pcap"


def a_line(rng: random.Random) -> Input:
    """Files of ping, iperf3 and flent, and a capture."""
    content, kind = recorded(name := rng.choice(listed(MEASURED))), name.rpartition(".")[2]
    if kind in ("json", "flent") and rng.random() < 0.7:
        content = of_json(rng, content)
    elif kind == "log" and rng.random() < 0.7:
        lines = content.decode().splitlines()
        at = rng.randrange(len(lines))
        line = re.sub(r"\d+", lambda found: rng.choice((found[0], found[0], "9" * 30, "9" * 7, "-1", "")), lines[at])
        lines[at] = rng.choice((line, mutated(rng, line), line * 99, line[:40] + rng.choice("9 .:=(") * 9_000))
        content = "\n".join(lines).encode()
    else:
        content = broken(rng, content[: rng.choice((9_000, len(content)))])
    words = shlex.split(f"calibrate m.{kind} " + rng.choice(("", "--out a.toml", "--rate '1 Mbit/s'")))
    return Input(words, {words[1]: rng.choice((content, content, gzip.compress(content, 1)))})


PATHS = ["src,dst,rtt_ms,loss", *(f"p{i},p{j},{20 + (7 * i + 3 * j) % 90},0" for i in range(9) for j in range(i))]
LINKS = [f"{i} {100 + i} {(i + 1) % 30} {100 + (i + 1) % 30} {1 + 7 * i % 80}" for i in range(30)]


@cache
def bomb(line: bytes) -> bytes:
    """Return a table of 300 MB that gzip packs into one."""
    return gzip.compress(b"rtt_ms\n" + line * (3 * 10**8 // len(line)), 1)


def a_path(rng: random.Random) -> Input:
    """Measured paths: tables, and iPlane's links."""
    lines, at = [*(kind := rng.choice((PATHS, LINKS)))], rng.randrange(30)
    cells = re.split("([ ,])", lines[at])
    cells[rng.randrange(len(cells))] = odd(rng, cells[0])
    lines[at] = "".join(cells)
    content = "\n".join(lines).encode("utf-8", "surrogateescape")
    content = rng.choice((content, content, broken(rng, content), gzip.compress(content)))
    content = bomb(rng.choice((b"1\n", b"1"))) if rng.random() < 0.01 else content
    more = rng.choice(("", "", "--rtt-unit s", "--drop-unmeasured", "--separator tab"))
    words = f"calibrate {'--iplane' if kind is LINKS else ''} m.csv --out a.toml {more}"
    return Input(words.split(), {"m.csv": content})


@cache
def results() -> dict[str, bytes]:
    """Return the files of a result and of a sweep, made by another process: a fork has none of Zarr's threads."""
    program = """import btflow
small = btflow.load("rao2010", leechers=2, file_size="512 KiB")
btflow.simulate(small).to_netcdf("m.nc", engine="h5netcdf")
btflow.sweep(small, {"rtt": ["0 ms", "50 ms"]}, out="m.zarr", progress=False)"""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
        return {str(file.relative_to(folder)): file.read_bytes() for file in Path(folder).rglob("*") if file.is_file()}


EXPORT = "export m.zarr a.csv | export m.zarr a.parquet | export m.zarr a.csv --peers | open_sweep m.zarr"


def a_result(rng: random.Random) -> Input:
    """A damaged result, or the store of a sweep with and without its database."""
    if rng.random() < 0.3:
        return Input(["open_result", "m.nc"], {"m.nc": broken(rng, results()["m.nc"])})
    dropped = ("m.nc", "m.zarr/sweep.sqlite")[: rng.choice((1, 2, 2))]
    files = {name: content for name, content in results().items() if name not in dropped}
    for name in rng.choices(sorted(files), k=rng.choice((1, 1, 3))):
        spoil = of_json if name.endswith("json") and rng.random() < 0.7 else broken
        files[name] = spoil(rng, results()[name])
    return Input(rng.choice(listed(EXPORT)).split(), files)


NAMES = ["m", "m.toml", "m.csv", "m.nc", "m.zarr", "\udcff.toml", "a\nb.toml", "\x1b[31m.toml", "\xe9" * 120, "x" * 300]
NAMING = listed(
    f"run @ | link @ | list @ | sweep @ --vary 'rtt=0 ms' | {SWARM} --set internet=@ | {LINK} --access @ | "
    "calibrate @ | calibrate @ --out a.toml | calibrate --iplane @ --out a.toml | export @ a.csv | "
    f"open_result @ | open_sweep @ | {SWARM} --out @ | {LINK} --out @ | {SWARM} --plot @ | "
    f"sweep rao2010 {SMALL} --jobs 1 --vary 'rtt=0 ms' --out @ | "
    "handout @ --lesson no | export m.zarr @"
)


def a_special(rng: random.Random) -> Input:
    """Something else than a file, and names that are none."""
    name, words = rng.choice(NAMES), shlex.split(rng.choice(NAMING))
    kind = rng.choice(("fifo", "folder", "/dev/zero", "/dev/null", "nowhere"))
    return Input([word.replace("@", name) for word in words], {name: kind} if len(os.fsencode(name)) < 256 else {})


def a_page(rng: random.Random) -> Input:
    """A link to a state of the explorer, as it is saved."""
    from btflow.explore.app import PANELS

    kind = PANELS[panel := rng.choice(list(PANELS))][1]
    names = rng.sample(list(kind.__dataclass_fields__), 3)
    parts = {"v": "1", "panel": panel, **{name: odd(rng, str(getattr(kind(), name)))[:600] for name in names}}
    query = "&".join(f"{name}={text}" for name, text in parts.items())
    return Input(["page", mutated(rng, query) if rng.random() < 0.3 else query])


KINDS: dict[str, tuple[int, Callable[[random.Random], Input]]] = {
    "toml": (700, a_toml),
    "option": (1100, an_option),
    "line": (200, a_line),
    "path": (200, a_path),
    "result": (200, a_result),
    "special": (200, a_special),
    "page": (400, a_page),
}
"""How many there are of each kind, and what draws one."""
WARM: dict[str, list[Input]] = {
    "option": [Input(shlex.split(f"{one} --fidelity {which}")) for one in (SWARM, LINK) for which in ("full", "flow")],
    "line": [Input(["calibrate", "m.json"], {"m.json": recorded("managed-up.json")})],
    "path": [Input(["calibrate", "m.csv", "--out", "a.toml"], {"m.csv": "\n".join(PATHS).encode()})],
}
"""Commands that are right: what they import and compile is there for all forks."""
WARM |= {"toml": WARM["option"], "option": WARM["option"] + WARM["line"]}


def lay(files: Mapping[str, bytes | str], folder: Path) -> None:
    """Make what a command finds."""
    for name, content in files.items():
        (file := folder / name).parent.mkdir(exist_ok=True, parents=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content in ("fifo", "folder"):
            (os.mkfifo if content == "fifo" else os.mkdir)(file)
        else:
            file.symlink_to(content)


def work(words: list[str]) -> None:
    """Run a command, or call what has none, and leave by SystemExit."""
    import btflow
    from btflow.__main__ import main
    from btflow.cli.common import complain
    from btflow.explore.app import PANELS
    from btflow.explore.panel import from_query

    sys.argv = ["btflow", *words]
    calls: dict[str, Callable[[str], object]] = {
        "open_result": btflow.open_result,
        "open_sweep": lambda path: btflow.open_sweep(path).load(),
        "page": lambda query: from_query(query, {name: kind for name, (_, kind, _) in PANELS.items()}),
    }
    try:
        calls[words[0]](words[1]) if words[0] in calls else main()
    except btflow.InputError as error:
        sys.exit(complain(*str(error).splitlines()))
    sys.exit(0)


def pages(place: int) -> int:
    """Return how much address space (0) or memory (1) this process has [B]."""
    return int(Path("/proc/self/statm").read_text().split()[place]) * resource.getpagesize()


def child(words: list[str], folder: Path, alone: bool) -> None:
    """Run a command in a folder with bounds on its time and memory, and end the process with its exit code."""
    from btflow import termination

    code, chunks = 70, iter(range(10**9))

    def next_chunk(*_: object) -> int:
        if next(chunks) == CHUNKS:
            os.kill(os.getpid(), signal.SIGINT)
        return termination.FIRST_CHUNK

    try:
        os.setsid()
        os.chdir(folder)
        for number in (1, 2):
            os.dup2(os.open(f"../{number}", os.O_WRONLY | os.O_CREAT), number)
        resource.setrlimit(resource.RLIMIT_AS, (pages(0) + 4 * MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG + 5))
        signal.alarm(BLOCKED)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if alone:
            os.execv(sys.executable, [sys.executable, "-m", "btflow", *words])
        vars(termination)["next_chunk"] = next_chunk
        work(words)
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def content_of(folder: Path) -> set[tuple[str, int]]:
    """Return what is in a folder, with sizes."""
    return {(str(file.relative_to(folder)), file.lstat().st_size) for file in folder.rglob("*") if not file.is_dir()}


def ended(given: Input, folder: Path, alone: bool) -> tuple[int, str, str]:
    """Run an input in a fork or by the program; return its exit code, what is wrong with it, and what it said."""
    (inside := folder / "inside").mkdir()
    lay(given.files, inside)
    before, base = content_of(inside), pages(1)
    if not (process := os.fork()):
        child(given.words, inside, alone)
    _, status, usage = os.wait4(process, 0)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    out, err = ((folder / number).read_bytes().decode("utf-8", "surrogateescape") for number in "12")
    code, more, taken = os.waitstatus_to_exitcode(status), before ^ content_of(inside), 1024 * usage.ru_maxrss - base
    lines, command = err.splitlines(), given.words[0]
    found = {
        "traceback": "Traceback" in out + err or code == 70,
        f"exit code {code}": code not in (0, 2, 130) and not (code == 1 and command in SIMULATE),
        "no reason": code in (1, 2) and "btflow: error: " not in err,
        "other lines": not all(line.startswith("btflow") for line in lines),
        "a long line": max(map(len, lines), default=0) > LONGEST,
        "control characters": bool(re.search(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]|[\ud800-\udfff]", out + err)),
        f"{taken >> 20} MiB": taken > MEMORY,
        "out of memory": "out of memory" in err and command not in SIMULATE,
        f"files {sorted(more)}": bool(more) and (code == 2 or (code != 0 and command != "sweep")),
    }
    return code, ", ".join(name for name, holds in found.items() if holds), err


def search(kind: str, numbers: range, alone: bool) -> None:
    """Run inputs of a kind, print each that ends badly and, at last, how many ended with each exit code."""
    import h5netcdf  # type: ignore[import-untyped]  # noqa: F401
    import xarray  # noqa: F401

    from btflow.explore import app  # noqa: F401

    typer.main.get_command = cache(typer.main.get_command)  # half of what a refusal costs
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for words, files in () if alone else WARM.get(kind, ()):
            lay(files, Path())
            with pytest.raises(SystemExit), redirect_stdout(io.StringIO()):
                work(words)
    ends: Counter[int] = Counter()
    for number in numbers:
        given = KINDS[kind][1](random.Random(f"{SEED} {kind} {number}"))
        with tempfile.TemporaryDirectory() as folder:
            code, why, said = ended(given, Path(folder), alone)
        ends[code] += 1
        if why or len(numbers) == 1:
            shown = " ".join(ascii(word if len(word) < 90 else f"{word[:80]}... ({len(word)})") for word in given.words)
            print(f"seed {SEED}, {kind} {number}: btflow {shown}: {code} {why}: {said[-300:]!a}", flush=True)
    used = [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{kind}: exit codes {dict(ends)}, {sum(used):.0f} s of CPU", file=sys.stderr)


ALONE = [[kind, "0", "12", "alone"] for kind in ("toml", "option", "line")]
"""Some by the program itself, each in a process of its own."""


@pytest.mark.slow
@pytest.mark.parametrize("how", [*([kind, "0", str(MORE * KINDS[kind][0])] for kind in KINDS), *ALONE], ids="-".join)
def test_no_input_ends_in_a_traceback_hangs_takes_memory_or_leaves_a_file(how: list[str]) -> None:
    done = subprocess.run([sys.executable, __file__, *how], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stdout, done.stdout  # each that ended badly has a line


if __name__ == "__main__":
    search(sys.argv[1], range(int(sys.argv[2]), sum(map(int, [*sys.argv[2:4], "1"][:2]))), "alone" in sys.argv)
