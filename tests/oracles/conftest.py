"""The scripts that make oracles need programs that the library does not: pytest must not import them."""

collect_ignore_glob = ["*/make.py"]
