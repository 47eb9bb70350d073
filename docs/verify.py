# ruff: noqa: INP001, E401, I001, T201, ANN001, ANN201, ANN202 - one plain file, meant to be read in one look
"""Verify a session by docs/format.md alone: `verify.py OBJECTS_FOLDER HEAD` or `verify.py UNPACKED_EXPORT`."""

import base64, hashlib, json, pathlib, sys


def named(entry):
    """Every object that an entry names beside its parent, and what it is."""
    body = entry["body"]
    for block in [*body.get("blocks", ()), *body.get("content", ())]:
        yield from [(part.get("digest", ""), part["kind"]) for part in [block, *block.get("content", ())]]
    yield from [(entry["page"], "page"), *((digest, "reply set aside") for digest in body.get("discards", ()))]
    yield from ((effect.get("before_object", ""), "file version") for effect in body.get("effects", ()))
    yield from ((of.get("answer", {}).get("content"), "words answered") for of in (body, body.get("hosts", {})))
    facts = body.get("data", {}) if body["kind"] == "notice" else {"whole result": body.get("full", "")}
    yield from ((facts.get(what, ""), what) for what in ("settings", "context", "full", "history", "whole result"))


def heads(history):
    """Every head that a run's events name, but for replies that the output cap cut off: they may be set aside."""
    for attributes in [value for event in history["events"] for value in event.values() if isinstance(value, dict)]:
        for payload in [p for part in ("input", "result") for p in (attributes.get(part) or {}).get("payloads", ())]:
            value = json.loads(base64.b64decode(payload.get("data", "")) or b"null")
            if isinstance(value, dict) and value.get("stop") != "max_tokens":
                yield (value["state"] if isinstance(value.get("state"), dict) else value).get("head")


def verify(folder, told):
    """Print what is wrong, or how many entries and other objects are right; whether something is wrong."""
    problems, names, digest, n = [], {}, told["head"], "head"
    objects = dict.fromkeys(told.get("histories", ()), ("-", "history"))

    def read(n, digest, what):
        data = path.read_bytes() if (path := folder / digest[:2] / digest[2:]).is_file() else None
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            return problems.append(f"bad entry {n}: {what} {digest} is {'missing' if data is None else 'damaged'}")
        return data

    while digest and (data := read(n, digest, "entry")):
        entry = json.loads(data)
        if n not in {"head", entry["n"]} or (entry["n"] == 0) != (entry["parent"] == ""):
            problems.append(f"bad entry {n}: entry {digest} says that it is number {entry['n']}")
        names[entry["n"]], n, digest = digest, entry["n"] - 1, entry["parent"]
        objects.update({name: (n + 1, what) for name, what in named(entry) if name})
    for name, (n, what) in objects.items():
        value = b"" if what == "file version" and name in told.get("left_out", ()) else read(n, name, what)
        value = json.loads(value) if value and what in {"page", "history"} else {}
        if any(names.get(at, one) != one for at, one in enumerate(value.get("digests", ()), value.get("first", 0))):
            problems.append(f"bad entry {n}: page {name} lists other entries than the chain has")
        if not digest and "events" in value and (lost := {*heads(value)} - {*names.values(), *objects, None, ""}):
            problems.append(f"bad entry {n}: history {name} names heads that the chain has not: {sorted(lost)}")
    return print("\n".join(problems) or f"OK: {len(names)} entries, {len(objects)} other objects") or bool(problems)


if __name__ == "__main__":
    place, *given = map(pathlib.Path, sys.argv[1:] or ["."])
    if not given and not (place / "manifest.json").is_file():
        sys.exit(f"{__doc__}\nAn export is a tar: mkdir there && tar -xf FILE -C there")
    told = {"head": str(given[0])} if given else json.loads((place / "manifest.json").read_bytes())
    sys.exit(verify(place / ("" if given else "objects"), told))
