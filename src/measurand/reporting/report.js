// Tables that sort by their heads, links that open folds. The page is whole without it.
"use strict";
(() => {
  const MARKS = "✗!?✓–";
  const words = new Intl.Collator("en", { numeric: true });

  // What a cell sorts by, from what it shows beside its interval: its kind (numbers, words, nothing) and its value.
  const keyOf = (cell, isNumber) => {
    const parts = [...cell.childNodes].filter((node) => node.nodeName !== "SMALL");
    const text = parts.map((node) => node.textContent).join("").trim();
    if (text === "" || text === "–") return [2, 0];
    if (MARKS.includes(text[0]) && text[1] === " ") return [0, MARKS.indexOf(text[0])];
    if (!isNumber) return [1, text];
    if (text === "no number") return [0, Infinity];
    const plain = text.replaceAll("−", "-").replaceAll("∞", "Infinity").replace(/(\d),(?=\d{3}(?!\d))/g, "$1");
    const found = /^[[<≤>≥+ ]*(-?(?:Infinity|\d*\.?\d+(?:e[-+]?\d+)?))/.exec(plain);
    // p is shown from .0001 on, so that "< .0001" comes before every other.
    return found ? [0, Number(found[1]) - (plain[0] === "<" ? 1e-9 : 0)] : [1, text];
  };

  // Numbers stand before words and both before what is missing, whatever the direction; ties keep their order.
  const compare = ([kind, one], [other, two], direction) => {
    if (kind !== other || kind === 2) return kind - other;
    return direction * (kind === 1 ? words.compare(one, two) : Number(one > two) - Number(one < two));
  };

  // A head sorts upwards, then downwards, then puts the rows back.
  const sortable = (table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const sort = (head) => {
      const was = head.getAttribute("aria-sort");
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      if (was === "descending") return body.append(...rows);
      head.setAttribute("aria-sort", was ? "descending" : "ascending");
      const keys = new Map(
        rows.map((row) => [row, keyOf(row.cells[head.cellIndex], head.classList.contains("n"))]),
      );
      body.append(...[...rows].sort((a, b) => compare(keys.get(a), keys.get(b), was ? -1 : 1)));
    };
    for (const head of heads.filter((one) => one.tagName === "TH")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head));
      head.append(button);
    }
    const told = document.createElement("span");
    told.className = "sr";
    told.textContent = ", sorted by the buttons in its heads";
    table.caption.append(told);
    table.classList.add("sortable");
  };
  document.querySelectorAll("table[data-sort]").forEach(sortable);

  // A link leads to what it names even where that is, or lies in, a closed fold.
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    const closed = [];
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      if (!fold.open) closed.push(fold);
    }
    closed.forEach((fold) => (fold.open = true));
    if (closed.length) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  const folds = [...document.querySelectorAll("details.fold")];
  if (folds.length > 1) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tool";
    const say = () => (button.textContent = folds.every((fold) => fold.open) ? "Close all folds" : "Open all folds");
    button.addEventListener("click", () => {
      const open = !folds.every((fold) => fold.open);
      folds.forEach((fold) => (fold.open = open));
      say();
    });
    folds.forEach((fold) => fold.addEventListener("toggle", say));
    say();
    document.querySelector("nav").append(button);
  }
})();
