#!/bin/sh
# Write a part of the list of emoji with their status. Needs the Python package emoji in an environment of its own.
set -eu
cd "$(dirname "$0")"
python - <<'PYTHON'
import emoji

names = {number: name for name, number in emoji.STATUS.items()}
rows = sorted(
    (" ".join(f"{ord(one):04x}" for one in text), names[row["status"]], row["E"])
    for text, row in emoji.EMOJI_DATA.items()
)
rare = [row for row in rows if row[1] in ("component", "unqualified")]
often = [row for row in rows if row[1] in ("fully_qualified", "minimally_qualified")]
with open("expected.csv", "w", encoding="utf-8") as file:
    file.write("text,status,since\n")
    file.writelines(f"{text},{status},{since:g}\n" for text, status, since in rare + often[::9])
PYTHON
