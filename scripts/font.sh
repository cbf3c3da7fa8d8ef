#!/bin/sh
# Makes console/font.css: the letters of Western Europe and the weights of the console, out of the font of the package
# @fontsource-variable/inter. It is inside the style sheet, so that the first page needs no request more.
# Needs fonttools with brotli (pip install fonttools brotli).
set -eu
cd "$(dirname "$0")/.."
from=node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
letters='U+0020-007E,U+00A0,U+00A7,U+00AB,U+00B0,U+00B1,U+00B7,U+00BB,U+00C0-00FF,U+2010-2014,U+2018-201D,U+2022,U+2026,U+2039,U+203A,U+2190-2193,U+2212'
fonttools varLib.instancer "$from" wght=400:650 -o "$folder/limited"
pyftsubset "$folder/limited" --unicodes="$letters" --layout-features=kern,tnum --flavor=woff2 --output-file="$folder/font"
cat > console/font.css <<END
/* Inter for Latin text; other scripts fall back to the fonts of the system. Made by scripts/font.sh. */
@font-face {
  font-family: "Inter";
  font-weight: 400 650;
  src: url("data:font/woff2;base64,$(base64 -w0 "$folder/font")") format("woff2");
}
END
