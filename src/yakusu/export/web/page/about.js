/** The cards and receipts of the models, in the side panel. */

import {byId, element} from "./dom.js";
import {MODELS} from "./host.js";
import {current, t} from "./strings.js";

export class About {
  constructor() {
    const attributes = {type: "button", "aria-expanded": "false", "aria-controls": "side",
                        "data-side": "about", "data-text": "about"};
    document.querySelector(".tools").append(element("button", attributes));
    byId("side").append(element("div", {id: "side-about", hidden: true}));
  }

  draw() { byId("side-about").replaceChildren(...MODELS.map(described)); }
}

function described({name, source, target, bytes, card, receipt}) {
  const size = new Intl.NumberFormat(current(), {maximumFractionDigits: 1}).format(bytes / 1e6);
  const pair = source && target ? `${name} (${source} → ${target})` : name;
  return element("div", {class: "group"},
    element("p", {}, t("aboutSize", {name: pair, size})),
    ...(card ? [element("div", {class: "card"}, ...parts(card))] : []),
    ...(receipt ? [element("details", {}, element("summary", {}, t("receipt")),
                           element("pre", {}, JSON.stringify(receipt, null, 1)))] : []));
}

/** Markdown as headings, tables, lists and paragraphs; what else it has is shown as it is written. */
function parts(markdown) {
  const body = markdown.replace(/^---\n[^]*?\n---\n/, "").trim();
  return body.split(/\n{2,}/).map((block) => {
    const heading = /^#{1,6} (.*)$/.exec(block), lines = block.split("\n");
    if (heading) return element("h3", {}, heading[1]);
    if (lines.every((line) => line.startsWith("|"))) return table(lines);
    if (block.startsWith("- ")) {
      return element("ul", {}, ...block.slice(2).split("\n- ").map((each) => element("li", {}, each)));
    }
    return element(block.startsWith("    ") ? "pre" : "p", {}, block.replaceAll("`", ""));
  });
}

function table(lines) {
  const rows = lines.map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
    .filter((cells) => cells.some((cell) => /[^-:]/.test(cell)));
  return element("table", {}, ...rows.map((cells) =>
    element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))));
}
