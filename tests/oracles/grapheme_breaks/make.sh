#!/bin/sh
# Take the test file out of Debian's package.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
(cd "$folder" && apt-get download unicode-data=15.0.0-1 && dpkg-deb -x unicode-data_*.deb .)
cp "$folder/usr/share/unicode/auxiliary/GraphemeBreakTest.txt" .
rm -r "$folder"
