// Draw hard strings and write where ICU cuts them: "node make.js" in this folder.
const fs = require("fs");

let state = 20261130;
const below = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const classes = [
  "ab 3.,'\u2019-\r\n\t", "\u0300\u0308\u20e3\ufe0e\ufe0f\u200d\u200d\u200b\u00ad", "\u{1f1e7}\u{1f1e9}\u{1f1ee}\u{1f1f3}",
  "\u{1f3fb}\u{1f3fd}\u{1f3ff}", "\u{1f469}\u{1f468}\u{1f4bb}\u{1f602}\u2764\u261d\u00a9\u{1f525}\u{1f44d}\u2605",
  "\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}", "\u0995\u09b7\u09cd\u09be\u09bf\u0986\u09ae\u09b0",
  "\u0915\u094d\u0937\u092e\u093e\u093f\u0902", "\u0d2e\u0d32\u0d2f\u0d4d\u200d", "\u1100\u1161\u11a8\uac00\uac01",
  "\u0600\u06dd\u{110bd}", "\u00e7e\u0301\u00f1\u0141\u00df", "\u0e01\u0e33\u0e44\u0e17\u0e22", "#*019",
];
const characters = classes.map((one) => Array.from(one));
const hex = (text) => Array.from(text, (one) => one.codePointAt(0).toString(16)).join(" ");
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const rows = ["text,clusters"];
for (let i = 0; i < 1500; i++) {
  const some = Array.from({ length: 1 + below(4) }, () => characters[below(characters.length)]);
  let text = "";
  for (let n = 1 + below(9); n > 0; n--) {
    const one = some[below(some.length)];
    text += one[below(one.length)];
  }
  rows.push(`${hex(text)},${Array.from(segmenter.segment(text), (piece) => hex(piece.segment)).join("|")}`);
}
fs.writeFileSync("expected.csv", rows.join("\n") + "\n");
