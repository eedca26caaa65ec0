"""Records and files of a store, for the tests of it."""

from __future__ import annotations

import hashlib

from measurand.eliciting.store import FILE, Store


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def record(number, kind="reading", **more):
    return {"key": key(number), "kind": kind, "number": number, **more}


def written(folder, *records):
    with Store.open(folder, is_writer=True) as store:
        for one in records:
            store.append(one)
    return folder / FILE


def numbers(folder):
    with Store.open(folder, is_writer=False) as store:
        return [one["number"] for one in store.records(store.keys())]
