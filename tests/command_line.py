"""The command line run in this process, and how a refusal looks."""

import signal
import sys
from dataclasses import dataclass

from measurand import cli


@dataclass
class Ended:
    status: int
    out: str
    err: str


def runner(monkeypatch, capsys):
    """Return a function that runs the command line in this process, with its own last line of defence."""

    def called(*args):
        numbers = [number for number in ("SIGINT", "SIGTERM", "SIGPIPE") if hasattr(signal, number)]
        before = {number: signal.getsignal(getattr(signal, number)) for number in numbers}
        monkeypatch.setattr(sys, "argv", ["measurand", *map(str, args)])
        try:
            cli.main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        finally:
            for number, handler in before.items():
                signal.signal(getattr(signal, number), handler)
        return Ended(status, *capsys.readouterr())

    return called


def assert_one_message(ended, *said):
    """Hold a refusal against the rule: exit status 2, one message on stderr, no traceback, nothing on stdout."""
    out, status = (ended.out, ended.status) if isinstance(ended, Ended) else (ended.stdout, ended.returncode)
    err = ended.err if isinstance(ended, Ended) else ended.stderr
    assert status == 2, err
    assert out == ""
    assert err.startswith("measurand: ")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    for text in said:
        assert text in err
