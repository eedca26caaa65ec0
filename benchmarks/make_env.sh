#!/bin/sh
# Makes benchmarks/.venv: measurand (editable, from the folder above) and the peers. PYTHON picks the interpreter.
set -eu
cd "$(dirname "$0")"
"${PYTHON:-python3.11}" -m venv .venv
.venv/bin/python -m pip install --quiet --editable '..[parquet]' --requirement requirements-peers.txt
.venv/bin/python -m pip list
