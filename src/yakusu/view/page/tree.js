/** The search for a translation as a tree: a column for each step, a box for each hypothesis. */

import {curve, element, rove, settle, shape} from "./dom.js";
import {number, t} from "./strings.js";
import {textOf} from "./tokens.js";

const WIDTH = 112, HEIGHT = 50, BOX = {width: 86, height: 40};  // pixels
const SENTENCES = {open: "nodeOpen", lost: "nodeLost", dropped: "nodeDropped",
                   finished: "nodeFinished"};
const FATES = ["best", "finished", "open", "lost", "dropped"];

/**
 * The hypotheses of a trace, docs/search.md.
 *
 * @returns nodes {step, row, parent, token, logProb, score, kind, fate, isBest}; `kind` is "open",
 *   "finished" or "dropped"; the fate of an open hypothesis that nothing extends is "lost".
 */
export function hypotheses(trace) {
  let previous = [];
  const nodes = [];
  trace.forEach((step, i) => {
    const made = {};
    let row = 0;
    for (const kind of ["open", "finished", "dropped"]) {
      made[kind] = step[kind].map((each) => ({
        step: i, row: row++, parent: i ? previous[each.parent] ?? null : null, token: each.token,
        logProb: each.log_prob, score: each.score, kind, fate: kind === "open" ? "lost" : kind,
        isBest: false,
      }));
      for (const {parent} of made[kind]) if (parent) parent.fate = "open";
      nodes.push(...made[kind]);
    }
    previous = made.open;
  });
  for (let node = finishedOf(nodes)[0]; node; node = node.parent) node.isBest = true;
  return nodes;
}

const finishedOf = (nodes) =>
  nodes.filter((node) => node.kind === "finished").sort((a, b) => b.score - a.score);

function pathTo(node) {
  const path = [];
  for (let each = node; each; each = each.parent) path.unshift(each);
  return path;
}

const hypothesisText = (node) => textOf(pathTo(node).map((each) => each.token));

/** The trees of a line; with several parts, a field chooses one. */
export function beamView(traces) {
  const drawn = element("div");
  const show = (i) => drawn.replaceChildren(...treeOf(traces[i]));
  show(0);
  if (traces.length === 1) return drawn;
  const name = (i) => t("partOf", {number: i + 1, count: traces.length});
  const field = element("select", {onchange: () => show(Number(field.value))},
                        ...traces.map((_, i) => element("option", {value: i}, name(i))));
  return element("div", {}, element("div", {class: "controls"},
                                    element("label", {}, t("part"), field)), drawn);
}

function treeOf(trace) {
  const nodes = hypotheses(trace);
  const readout = element("p", {class: "readout", "aria-live": "polite"}, t("arrowKeys"));
  const tree = element("div", {class: "tree", role: "group", "aria-label": t("treeLabel")});
  const rows = 1 + Math.max(...nodes.map((node) => node.row));
  const size = {width: WIDTH * trace.length, height: HEIGHT * rows};
  tree.style.width = `${size.width}px`;
  tree.style.height = `${size.height}px`;
  const lines = nodes.map(lineTo), paths = shape("svg", {...size, "aria-hidden": "true"});
  paths.append(...lines.filter(Boolean));
  const boxes = nodes.map((node) => boxOf(node, () => {
    const path = new Set(pathTo(node));
    nodes.forEach((each, i) => lines[i]?.classList.toggle("path", path.has(each)));
    readout.textContent = sentenceOf(node);
  }));
  tree.append(paths, ...boxes);
  rove(tree, ".node", (key, items, item) => boxes[neighbour(key, nodes, boxes.indexOf(item))]);
  settle(tree, ".node");
  return [readout, element("div", {class: "figure"}, tree), legend(), ...resultsOf(nodes)];
}

function boxOf(node, pointed) {
  const name = `node ${node.fate}${node.isBest ? " best" : ""}`;
  const text = node.token.replaceAll("▁", " ").trim() || "␣";
  const box = element("button", {type: "button", class: name, "aria-label": sentenceOf(node),
                                 onfocus: pointed, onmouseenter: pointed},
    element("span", {}, element("bdi", {}, text)),
    element("small", {}, number(node.score ?? node.logProb)));
  box.style.left = `${WIDTH * node.step}px`;
  box.style.top = `${HEIGHT * node.row + 4}px`;
  return box;
}

function lineTo(node) {
  if (!node.parent) return null;
  const y = ({row}) => HEIGHT * row + 4 + BOX.height / 2;
  const d = curve([WIDTH * node.parent.step + BOX.width, y(node.parent)],
                  [WIDTH * node.step, y(node)]);
  return shape("path", {d, ...(node.isBest ? {class: "best"} : {})});
}

function sentenceOf(node) {
  return t(SENTENCES[node.fate], {
    text: `\u2068${hypothesisText(node)}\u2069`, step: node.step + 1,
    logProb: number(node.logProb), score: node.score === undefined ? "" : number(node.score),
  });
}

/** The position of the node that an arrow key leads to. */
function neighbour(key, nodes, i) {
  const node = nodes[i];
  if (key === "ArrowLeft") return nodes.indexOf(node.parent);
  if (key === "ArrowRight") {
    const next = nodes.filter((each) => each.parent === node);
    return nodes.indexOf(next.find((each) => each.isBest) ?? next[0]);
  }
  const step = {ArrowUp: -1, ArrowDown: 1}[key];
  return nodes.findIndex((each) => each.step === node.step && each.row === node.row + step);
}

const legend = () => element("p", {class: "legend"}, ...FATES.map((fate) =>
  element("span", {}, element("span", {class: `key-box ${fate}`}), t(fate))));

function resultsOf(nodes) {
  const items = finishedOf(nodes).map((node) => element("li", {},
    element("b", {}, number(node.score, 3)), element("bdi", {}, hypothesisText(node))));
  return [element("h3", {}, t("finishedList")), element("ol", {class: "results"}, ...items)];
}
