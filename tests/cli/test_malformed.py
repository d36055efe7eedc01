"""Malformed inputs drawn from a seed: each runs or is refused in one line; none hangs, takes memory or leaves a file.

    python tests/cli/test_malformed.py toml 17      # one input alone: its command, what it printed, its files
    BTFLOW_MALFORMED=5000 BTFLOW_MALFORMED_SEED=2 pytest tests/cli/test_malformed.py -m slow

Each input runs in a fork of a process that has imported btflow, which costs milliseconds in place of a second.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
COUNT, SEED = int(os.environ.get("BTFLOW_MALFORMED", "400")), os.environ.get("BTFLOW_MALFORMED_SEED", "1")
"""Inputs of each kind, and the seed of all."""
HANG, BLOCKED = 20, int(os.environ.get("BLOCKED", 120))
"""CPU time after which an input hangs [s], and the time after which one waits for ever: on a machine that is busy."""
MEMORY = 2**30
"""Most that an input may take beyond what the imported modules take [B]."""
CHUNKS = 3
"""What still runs after so many chunks of events was accepted, and is interrupted."""
LONGEST = 2000
"""Letters of the longest line that may be printed as a reason."""

SPECIAL = ("fifo", "folder", "/dev/zero", "/dev/null", "nowhere")


class Input(NamedTuple):
    """A command, and the files that it finds: their content, or one of SPECIAL."""

    words: list[str]
    files: dict[str, bytes | str] = {}


TEXTS = (
    *("", " ", "nan", "inf", "-inf", "-1", "-0", "0", "1e999", "1e-999", "1e308", "9" * 5000, "0x10", "1_000", "1١"),
    *("é", "\x1b[31mred\x1b[0m", "\u202e", "\udcff", "\r", "a\nb", "\t", "\x7f", "x" * 90_000, "🦆" * 300, "\ufeff"),
    *(
        "1 kg",
        "1 s s",
        "-5 ms",
        "nan s",
        "inf kB/s",
        "1e308 GB",
        "1e-320 s",
        "9" * 400 + " s",
        "1e400 s",
        "5 %%",
        "101%",
    ),
    *(
        "=",
        ",",
        ":",
        "@",
        "(",
        ",,",
        "a=b",
        "a.b.c",
        "*",
        "*.*",
        "..",
        ".",
        "/",
        "../x",
        "/dev/zero",
        "/dev/stdin",
        "~",
    ),
    *(
        "lin(0,1,0)",
        "lin(1 s, 0 s, 3)",
        "log(0, 1 s, 3)",
        "lin(0 s, 1 s, 1e9)",
        "lin(",
        "lin(0 s,1 s," + "9" * 5000 + ")",
    ),
    *("uniform(0 s, 1 s)", "choice()", "lognormal(0, -1)", "iplane", "none", "true", "None", "[" * 5000, "(" * 3000),
    *(
        "{a=" * 900,
        "{ base = 'cubic' }",
        "{}",
        "[]",
        '"',
        "'",
        "\\",
        "%s",
        "{0}",
        "$HOME",
        "--",
        "--help",
        "-x",
        "NaN kB/s",
    ),
)
LITERALS = (
    *(
        "1",
        "-1",
        "0",
        "-0.0",
        "nan",
        "-inf",
        "1e999",
        "9" * 30,
        "9" * 5000,
        "0x" + "f" * 5000,
        "true",
        "1979-05-27",
        "[]",
    ),
    *(
        "{}",
        "[" * 3000,
        "[" * 3000 + "]" * 3000,
        "{ a = " * 500 + "1" + " }" * 500,
        '[1, "a", {}]',
        "{ value = 1 }",
        "",
    ),
    *(
        '{ value = {}, source = "x" }',
        "{ value = 1, source = 2 }",
        '{ value = "1 s", source = "x", more = 1 }',
        "07:32:00",
    ),
    *(
        '"\\u0000"',
        '"\\u001b[31m"',
        '"\\ud800"',
        '"\\',
        '"""',
        "'\x1b[2J'",
        '"' + "x" * 90_000 + '"',
        "1__0",
        "+-1",
        "=",
        "#",
    ),
)
JSON = (
    *(
        "null",
        "true",
        "[]",
        "{}",
        '""',
        "-1",
        "0",
        "1e999",
        "NaN",
        "-Infinity",
        "9" * 30,
        "9" * 5000,
        '"x"',
        '"\\ud800"',
        "1e308",
    ),
    *(
        "[" * 3000 + "]" * 3000,
        '{"a":' * 3000 + "1" + "}" * 3000,
        "[" * 100_000,
        '"' + "9" * 5000 + '"',
        "-1e-320",
        '"NaN"',
    ),
    *(
        '"9999-12-31T23:59:59-14:00"',
        '"0001-01-01T00:00:00+14:00"',
        '"\\u001b[31m"',
        '"' + "x" * 90_000 + '"',
        "[null]",
        "[[1, -1]]",
    ),
)
ALPHABET = "0159.,:;=@-+*/()[]{}\"'# \t\nes%kMB\0\x1b\u0660é\u202e\U0001f986"


def mutated(rng: random.Random, text: str) -> str:
    """Return a text in which a few letters are others, more or fewer."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        to = min(to, at + rng.choice((0, 1, 1, 3, 1000)))
        text = (
            text[:at]
            + rng.choice(("", "", rng.choice(ALPHABET), text[at:to] * 2, rng.choice(ALPHABET) * 50))
            + text[to:]
        )
    return text


def odd(rng: random.Random, text: str) -> str:
    """Return a text as an option has it that is seldom right; no argument has a NUL."""
    return (rng.choice(TEXTS) if rng.random() < 0.5 else mutated(rng, text)).replace("\0", "")


def broken(rng: random.Random, content: bytes) -> bytes:
    """Return what is left of a file after an accident, or as another program wrote it."""
    at, length = rng.randint(0, len(content)), rng.choice((1, 1, 8, 500))
    noise = rng.randbytes(length)
    return rng.choice(
        (
            *(
                content[:at],
                content[at:],
                content[:at] + noise + content[at + length :],
                content[:at] + noise + content[at:],
            ),
            *(
                content[:at] + content[at + length :],
                content[:at] + bytes(length) + content[at:],
                noise,
                b"",
                b"\n",
                bytes(99),
            ),
            *(
                b"\xef\xbb\xbf" + content,
                content.decode("latin-1").encode("utf-16"),
                content.replace(b"\n", b"\r"),
                content * 3,
            ),
            *(
                content.replace(b"\n", b""),
                gzip.compress(content),
                gzip.compress(content)[:-9],
                content[:at] + b"9" * 20_000,
            ),
        )
    )


def of_json(rng: random.Random, content: bytes) -> bytes:
    """Return a JSON file of which a value is another one, is missing or is there twice."""
    tree = json.loads(content)
    inside, key = {"": tree}, ""
    while isinstance(inside[key], dict | list) and inside[key] and (key == "" or rng.random() < 0.85):
        inside = inside[key]  # type: ignore[assignment]
        key = rng.choice(list(inside)) if isinstance(inside, dict) else rng.randrange(len(inside))  # type: ignore[unreachable]
    if rng.random() < 0.2 and inside is not None and key != "":
        inside.pop(key)
    else:
        inside[key] = "@odd@"
    return json.dumps(tree).replace('"@odd@"', rng.choice(JSON)).encode()


def of_toml(rng: random.Random, text: str) -> bytes:
    """Return a model file of which a line or a few are others."""
    lines = text.splitlines()
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.choice([n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")] or [0])
        name, equals, value = lines[at].partition(" = ")
        if equals and rng.random() < 0.7:
            value = (
                rng.choice(LITERALS)
                if rng.random() < 0.5
                else json.dumps(odd(rng, value.strip('"')), ensure_ascii=False)
            )
            value = f'{{ value = {value}, source = "x" }}' if "source" in lines[at] and rng.random() < 0.7 else value
            lines[at] = f"{name} = {value}"
        else:
            header = "[" + ".".join("a" for _ in range(rng.choice((2, 30, 3000)))) + "]"
            new = f"{mutated(rng, name)}{equals}{value}"
            lines[at : at + rng.choice((0, 1, 1))] = rng.choice(
                ([new], [new], [], [lines[at]] * 2, [header], ["[[flows]]"], ["a=" * 999])
            )
    return "\n".join(lines).encode("utf-8", "surrogateescape")


MODELS = sorted((ROOT / "models").glob("*/*.toml"))
SMALL = {"swarms": ["--set", "leechers=2", "--set", "file_size=512 KiB"], "links": ["--set", "duration=2 s"]}
TAKE = {
    "swarms": (["run", "{}"], ["run", "{}", "--fidelity", "flow"], ["list", "{}"], ["list", "{}", "--fields"]),
    "links": (["link", "{}"], ["link", "{}", "--fidelity", "flow"], ["list", "{}"], ["list", "{}", "--fields"]),
    "access": (["link", "--access", "{}", "--flow", "cubic", "--duration", "2 s"],),
    "congestion": (["link", "bufferbloat", "--set", "flows.upload.cc={}", "--duration", "2 s"],),
    "codecs": (["link", "bufferbloat", "--set", "flows.call.codec={}", "--duration", "2 s"],),
    "clients": (["run", "rao2010", "--set", "classes.*.client={}", *SMALL["swarms"]],),
    "internet": (["run", "rao2010", "--set", "internet={}", *SMALL["swarms"]],),
    "paths": (["run", "rao2010", "--set", "paths.matrix={}", "--set", "leecher_as=AS1", *SMALL["swarms"]],),
    "transports": (["run", "rao2010", "--set", "transport={}", *SMALL["swarms"]],),
    "sockets": (["run", "rao2010", "--set", "transport.socket={}", *SMALL["swarms"]],),
    "stacks": (["link", "bufferbloat", "--set", "flows.upload.cc={{ base = '{}' }}", "--duration", "2 s"],),
}


def a_toml(rng: random.Random) -> Input:
    """A model file, or one of those that it is made of."""
    model = rng.choice(MODELS) if rng.random() < 0.4 else rng.choice([m for m in MODELS if m.parent.name in SMALL])
    words = [
        word.replace("{}", "./m.toml").replace("{{", "{").replace("}}", "}")
        for word in rng.choice(TAKE[model.parent.name])
    ]
    words += SMALL.get(model.parent.name, []) if words[0] != "list" and rng.random() < 0.8 else []
    content = model.read_bytes()
    return Input(words, {"m.toml": broken(rng, content) if rng.random() < 0.3 else of_toml(rng, content.decode())})


SWARM, LINK = ["run", "rao2010", *SMALL["swarms"]], ["link", "--flow", "cubic", "--duration", "2 s"]
SETTINGS = (
    *(
        "rtt=50 ms",
        "loss=1%",
        "upload_limit=20 kB/s",
        "leechers=3",
        "internet=iplane",
        "classes.*.client=libtorrent-2",
        "seed_as=AS1",
    ),
    *(
        "transport.initial_window=4",
        "classes.seed.count=2",
        "file_size=1 MB",
        "arrivals.spread=1 s",
        "tso=false",
        "paths.matrix=rao2010-as",
    ),
    *(
        "leecher_as=AS1,AS2",
        "classes.leechers.role=seed",
        "transport={ base = 'linux-6' }",
        "swarm.piece_size=256 KiB",
        "horizon=11 s",
    ),
)
FLOWS = (
    "cubic:3",
    "ledbat:1@10s",
    "cubic,size=1 MB,name=a",
    "newreno:2,rate=1 Mbit/s,on=1 s,off=1 s",
    "utp,target=25 ms,direction=down",
)
OPTIONS: dict[str, tuple[list[str], dict[str, tuple[str, ...]]]] = {
    "run": (SWARM, {"--set": SETTINGS, "--replicas": ("2",), "--seed": ("3",), "--fidelity": ("flow",), "--out": ("a.nc",), "--plot": ("a.html",), "--motion": ("a.html",)}),
    "link": (
        LINK,
        {
            **{"--rate": ("1 Mbit/s",), "--buffer": ("100 packets", "1.5 BDP", "200 ms"), "--reverse-rate": ("1 Mbit/s",), "--aqm": ("codel",)},
            **{"--reverse-buffer": ("10 packets",), "--access": ("adsl",), "--rtt": ("5 ms",), "--rtt-spread": ("1 ms",), "--loss": ("1%",)},
            **{"--ack-loss": ("1%",), "--flow": FLOWS, "--voip": ("g729:1", "g711:2@1s,frames=2"), "--probe": ("100 B@1s", "1 kB@10 ms,cc=bbr")},
            **{"--duration": ("2 s",), "--warmup": ("1 s",), "--sample": ("10 ms",), "--seed": ("3",), "--fidelity": ("flow",), "--out": ("a.nc",)},
            **{"--motion": ("a.html",), "--motion-start": ("1 s",), "--motion-length": ("1 s",), "--set": ("paths.rtt=5 ms", "flows.cubic.cc=bbr")},
        },
    ),
    "sweep": (
        ["sweep", "rao2010", *SMALL["swarms"], "--jobs", "1", "--vary", "rtt=0 ms,50 ms"],
        {
            **{"--vary": ("loss=0%,5%", "upload_limit=lin(10 kB/s, 100 kB/s, 3)", "rtt,loss=(0ms,0%),(400ms,5%)", "loss=log(0.1%,5%,8)"), "--set": SETTINGS},
            **{"--sample": ("sobol:4", "lhs:3"), "--replicas": ("2",), "--seed": ("1",), "--keep": ("peers,series",), "--fidelity": ("flow",), "--check": ("2",)},
            **{"--statistics": ("completion_mean",), "--out": ("a.zarr",), "--jobs": ("1",), "--backend": ("threads",), "--dask": ("tcp://127.0.0.1:1",)},
        },
    ),
    "list": (["list"], {"": ("rao2010", "adsl", "cubic"), "--fields": ("",)}),
    "schema": (["schema"], {"": ("swarm", "link")}),
    "handout": (["handout"], {"": ("folder",), "--lesson": ("bufferbloat",), "--site": ("../",)}),
    "explore": (["explore", "--no-browser", "--visitors", "-1"], {"--port": ("0",), "--ip": ("127.0.0.1",), "--memory": ("1 GB",), "": ("x",)}),
    "bench": (["bench", "--fidelity", "-"], {"": ("x",), "--fidelity": ("flow",)}),
    "calibrate": (
        ["calibrate", "up.log", "--rate", "768 kbit/s"],
        {
            **{"--rate": ("1 Mbit/s",), "--way": ("down",), "--base-rtt": ("20 ms",), "--buffer": ("100 packets",), "--cc": ("cubic",), "--format": ("ping",)},
            **{"--rtt": ("rtt",), "--rtt-unit": ("ms",), "--separator": ("comma",), "--src": ("src",), "--checksum": ("00",), "--out": ("a.toml",), "--plot": ("a.html",)},
        },
    ),
}  # fmt: skip


def an_option(rng: random.Random) -> Input:
    """Options and arguments of each command."""
    command = rng.choice(("run", "link", "sweep", *OPTIONS))
    words, known = OPTIONS[command]
    files: dict[str, bytes | str] = {"up.log": recorded("adsl-up.log")} if command == "calibrate" else {}
    for name in rng.choices(list(known), k=rng.choice((1, 1, 2, 3))):
        right = rng.choice(known[name])
        setting, equals, value = right.partition("=")
        given = (
            f"{setting}={odd(rng, value)}"
            if name in ("--set", "--vary") and equals and rng.random() < 0.7
            else odd(rng, right)
        )
        words = [*words, *([name] if name else []), given]
    if rng.random() < 0.1:
        words = [*words[:1], odd(rng, words[1] if len(words) > 1 else ""), *words[2:]]
    return Input(words, files)


def recorded(name: str) -> bytes:
    """Return a recorded file of a line."""
    return gzip.decompress((ROOT / "tests" / "lines" / "recorded" / f"{name}.gz").read_bytes())


RECORDED = {
    name: recorded(name)
    for name in (
        "managed-up.log",
        "adsl-up.log",
        "managed-up.json",
        "packets-paced.json",
        "packets-flent.flent",
        "packets-up.pcap",
    )
}


def a_line(rng: random.Random) -> Input:
    """What was measured of a line: ping, iperf3, flent, a capture."""
    name = rng.choice(list(RECORDED))
    content = RECORDED[name]
    if name.endswith((".json", ".flent")) and rng.random() < 0.7:
        content = of_json(rng, content)
    elif name.endswith(".log") and rng.random() < 0.7:
        lines = content.decode().splitlines()
        at = rng.randrange(len(lines))
        lines[at] = re.sub(
            r"\d+", lambda found: rng.choice((found[0], found[0], "9" * 30, "9" * 12, "-1", "")), lines[at]
        )
        lines[at] = rng.choice(
            (lines[at], mutated(rng, lines[at]), lines[at] * 99, lines[at][:40] + rng.choice("9 .:=(") * 9_000)
        )
        content = "\n".join(lines).encode()
    else:
        content = broken(rng, content[: rng.choice((9_000, len(content)))])
    words = ["calibrate", f"m.{name.partition('.')[2]}", *rng.choice(([], ["--out", "a.toml"], ["--rate", "1 Mbit/s"]))]
    return Input(words, {words[1]: rng.choice((content, content, gzip.compress(content, 1)))})


@cache
def bomb(head: bytes, line: bytes) -> bytes:
    """Return a file of 300 kB that is 300 MB when it is unpacked."""
    return gzip.compress(head + line * (3 * 10**8 // len(line)), 1)


def a_path(rng: random.Random) -> Input:
    """Measured paths: tables, matrices, iPlane's files."""
    rows = [f"p{i},p{j},{rng.uniform(5, 300):.3f},{rng.choice((0, 0, 0.01))}" for i in range(9) for j in range(i)]
    links = [f"{i} {100 + i} {(i + 1) % 30} {100 + (i + 1) % 30} {rng.randint(1, 80)}" for i in range(30)]
    lines = rng.choice((["src,dst,rtt_ms,loss", *rows], ["rtt_ms", *(row.split(",")[2] for row in rows)], links))
    at = rng.randrange(len(lines))
    cells = re.split("([ ,])", lines[at])
    cells[rng.randrange(len(cells))] = odd(rng, cells[0])
    lines[at] = "".join(cells)
    content = "\n".join(lines).encode("utf-8", "surrogateescape")
    content = broken(rng, content) if rng.random() < 0.4 else content
    content = gzip.compress(content) if rng.random() < 0.2 else content
    if rng.random() < 0.01:
        content = bomb(b"rtt_ms\n", rng.choice((b"1\n", b"1")))
    words = ["calibrate", *(["--iplane"] if lines[0] == links[0] or lines is links else []), "m.csv", "--out", "a.toml"]
    return Input(
        [*words, *rng.choice(([], [], ["--rtt-unit", "s"], ["--drop-unmeasured"], ["--separator", "tab"]))],
        {"m.csv": content},
    )


@cache
def results() -> dict[str, bytes]:
    """Return the files of a result and of a sweep's store."""

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", RESULTS], cwd=folder, check=True)
        return {str(file.relative_to(folder)): file.read_bytes() for file in Path(folder).rglob("*") if file.is_file()}


RESULTS = """import btflow
small = btflow.load("rao2010", leechers=2, file_size="512 KiB")
btflow.simulate(small).to_netcdf("m.nc", engine="h5netcdf")
btflow.sweep(small, {"rtt": ["0 ms", "50 ms"]}, out="m.zarr", progress=False)"""


def a_result(rng: random.Random) -> Input:
    """A damaged result, and the store of a sweep with and without its database."""
    if rng.random() < 0.3:
        return Input(["open_result", "m.nc"], {"m.nc": broken(rng, results()["m.nc"])})
    files: dict[str, bytes | str] = {name: content for name, content in results().items() if name != "m.nc"}
    for name in ("m.zarr/sweep.sqlite",) if rng.random() < 0.7 else ():
        del files[name]
    for name in rng.choices(
        [name for name in files if rng.random() < 0.5 or name.endswith("json")], k=rng.choice((1, 1, 3))
    ):
        content = results()[name]
        files[name] = of_json(rng, content) if name.endswith(".json") and rng.random() < 0.7 else broken(rng, content)
    words = (
        ["export", "m.zarr", "a.csv"],
        ["export", "m.zarr", "a.parquet"],
        ["open_sweep", "m.zarr"],
        ["export", "m.zarr", "a.csv", "--peers"],
    )
    return Input(rng.choice(words), files)


def a_special(rng: random.Random) -> Input:
    """Something else than a file, or a name that is none."""
    kind = rng.choice(SPECIAL)
    name = rng.choice(
        ("m", "m.toml", "m.csv", "m.nc", "m.zarr", "\udcff.toml", "a\nb.toml", "\x1b[31m.toml", "é" * 120, "x" * 300)
    )
    files: dict[str, bytes | str] = {} if len(os.fsencode(name)) > 255 else {name: kind}
    words = (
        *(["run", name], ["link", name], ["list", name], ["sweep", name, "--vary", "rtt=0 ms"], ["run", "rao2010", "--set", f"internet={name}"]),
        *(["link", "--access", name, "--flow", "cubic"], ["calibrate", name], ["calibrate", name, "--out", "a.toml"], ["calibrate", "--iplane", name, "--out", "a.toml"]),
        *(["export", name, "a.csv"], ["open_result", name], ["open_sweep", name], [*SWARM, "--out", name], [*LINK, "--out", name], [*SWARM, "--plot", name]),
        *(["sweep", "rao2010", *SMALL["swarms"], "--jobs", "1", "--vary", "rtt=0 ms", "--out", name], ["handout", name, "--lesson", "no"], ["export", "m.zarr", name]),
    )  # fmt: skip
    return Input(rng.choice(words), files)


def a_page(rng: random.Random) -> Input:
    """A link to a state of the explorer, as it is saved."""
    from btflow.explore.app import PANELS

    panel = rng.choice(list(PANELS))
    kind = PANELS[panel][1]
    state = {name: getattr(kind(), name) for name in rng.sample(list(kind.__dataclass_fields__), 3)}
    parts = {"v": "1", "panel": panel, **{name: odd(rng, str(text))[:600] for name, text in state.items()}}
    query = "&".join(f"{name}={text}" for name, text in parts.items())
    return Input(["page", mutated(rng, query) if rng.random() < 0.3 else query])


KINDS: dict[str, Callable[[random.Random], Input]] = {
    "toml": a_toml, "option": an_option, "line": a_line, "path": a_path, "result": a_result, "special": a_special, "page": a_page
}  # fmt: skip


def drawn(kind: str, number: int) -> Input:
    """Return an input by its kind and number."""
    return KINDS[kind](random.Random(f"{SEED} {kind} {number}"))


def lay(files: dict[str, bytes | str], folder: Path) -> None:
    """Make the files that a command finds."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content == "fifo":
            os.mkfifo(file)
        elif content == "folder":
            file.mkdir()
        else:
            file.symlink_to(content)


def work(words: list[str]) -> None:
    """Run a command, or what has none; leave by SystemExit."""
    import btflow
    from btflow.__main__ import main
    from btflow.cli.common import complain
    from btflow.errors import InputError
    from btflow.explore import app
    from btflow.explore.panel import from_query

    sys.argv = ["btflow", *words]
    calls: dict[str, Callable[[str], Any]] = {
        "open_result": btflow.open_result,
        "open_sweep": lambda path: btflow.open_sweep(path).load(),
        "page": lambda query: from_query(query, {name: kind for name, (_, kind, _) in app.PANELS.items()}),
    }
    if words[0] not in calls:
        main()
    try:
        calls[words[0]](words[1])
    except InputError as error:
        sys.exit(complain(*str(error).splitlines()))
    sys.exit(0)


def child(words: list[str], folder: Path, said: Path) -> None:
    """Run a command in a folder with bounds on its time and memory, and end the process with its exit code."""
    from btflow import termination

    chunks = iter(range(10**9))

    def next_chunk(*_: object) -> int:
        if next(chunks) == CHUNKS:
            os.kill(os.getpid(), signal.SIGINT)
        return termination.FIRST_CHUNK

    code = 70
    try:
        termination.next_chunk = next_chunk
        os.chdir(folder)
        for number in (1, 2):
            os.dup2(os.open(said / str(number), os.O_WRONLY | os.O_CREAT), number)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 4 * MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG + 5))
        signal.alarm(BLOCKED)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work(words)
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def tree(folder: Path) -> dict[str, int]:
    """Return what is in a folder, with sizes."""
    return {str(file.relative_to(folder)): file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()}


def wrong(given: Input, folder: Path) -> tuple[str, int, str]:
    """Run an input in a fork; return what is wrong with how it ended, its exit code and what it printed."""
    said = folder.with_suffix(".said")
    for made in (folder, said):
        made.mkdir()
    lay(given.files, folder)
    before, base = tree(folder), int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    sys.stdout.flush()
    if not (process := os.fork()):
        child(given.words, folder, said)
    _, status, usage = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    out, err = ((said / number).read_bytes().decode("utf-8", "surrogateescape") for number in "12")
    lines = err.splitlines()
    commands = {"run", "link", "sweep"}
    found = {
        "a traceback": "Traceback" in err or code == 70,
        f"ended by signal {-code}": code < 0,
        f"exit code {code}": code not in (0, 2, 130) and not (code == 1 and given.words[0] in commands) and code >= 0,
        "no line, or another one": not all(line.startswith("btflow: ") for line in lines)
        or (code in (1, 2)) != ("btflow: error: " in err),
        "more than a line": code == 2
        and len(lines) > 1
        and not all(line.startswith("btflow: error: ") for line in lines),
        "a long line": max(map(len, lines), default=0) > LONGEST,
        "control characters": bool(re.search(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]", out + err)),
        f"{usage.ru_maxrss // 1024} MiB": usage.ru_maxrss * 1024 > base + MEMORY,
        "memory as the reason": "out of memory" in err and given.words[0] not in commands,
        f"files {sorted(set(before.items()) ^ set(tree(folder).items()))}": code in (1, 2)
        and before != tree(folder)
        and given.words[0] != "sweep",
    }
    return ", ".join(name for name, holds in found.items() if holds), code, out + err


def shown(given: Input) -> str:
    """Return the words of an input, each cut where it is long."""
    return " ".join(ascii(word if len(word) < 90 else f"{word[:80]}...({len(word)})") for word in given.words)


PATHS = "\n".join(
    ["src,dst,rtt_ms,loss", *(f"p{i},p{j},{20 + (7 * i + 3 * j) % 90},0" for i in range(9) for j in range(i))]
)
WARM: dict[str, list[tuple[list[str], dict[str, bytes | str]]]] = {
    "toml": [([*LINK, *more], {}) for more in ([], ["--fidelity", "flow"])]
    + [([*SWARM, *more], {}) for more in ([], ["--fidelity", "flow"])],
    "line": [(["calibrate", name], {name: RECORDED[name]}) for name in ("managed-up.log", "managed-up.json")],
    "path": [(["calibrate", "paths.csv", "--out", "paths.toml"], {"paths.csv": PATHS.encode()})],
    "result": [(["export", "none.zarr", "a.csv"], {})],
}
"""Commands that are right: what they import and compile is there for all forks."""
WARM["option"] = [*WARM["toml"], *WARM["line"]]


def search(kind: str, numbers: range, folder: Path) -> None:
    """Run inputs of a kind and print each that ends badly."""
    import h5netcdf  # noqa: F401
    import xarray  # noqa: F401

    from btflow.explore import app  # noqa: F401

    for words, files in WARM.get(kind, ()):
        lay(files, folder)
        os.chdir(folder)
        with pytest.raises(SystemExit), redirect_stdout(io.StringIO()):
            work(words)
    results() if kind == "result" else None
    ends: dict[int, int] = {}
    for number in numbers:
        given = drawn(kind, number)
        why, code, said = wrong(given, folder / f"{kind}-{number}")
        ends[code] = ends.get(code, 0) + 1
        if why:
            last = said.strip().splitlines()[-1:] or [""]
            print(f"{kind} {number}: {why}: btflow {shown(given)}: {ascii(last[0][:300])}", flush=True)
        if len(numbers) > 1:
            shutil.rmtree(folder / f"{kind}-{number}")
            shutil.rmtree(folder / f"{kind}-{number}.said")
        else:
            print(f"btflow {shown(given)}\n{code}: {ascii(said)}\n{folder}/{kind}-{number}")
    print(f"{kind}: {ends}", file=sys.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_input_ends_in_a_traceback_hangs_takes_memory_or_leaves_a_file(kind: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, __file__, kind, "0", str(COUNT)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    print(done.stderr)


if __name__ == "__main__":
    kind, first = sys.argv[1], int(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    begun = time.process_time()
    with (
        tempfile.TemporaryDirectory(delete=count > 1)
        if sys.version_info >= (3, 12)
        else tempfile.TemporaryDirectory() as folder
    ):
        search(kind, range(first, first + count), Path(folder))
