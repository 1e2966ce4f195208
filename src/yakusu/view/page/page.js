"use strict";

const $ = (id) => document.getElementById(id);
const maps = JSON.parse($("maps").textContent);  // the document of docs/view.md
const settings = JSON.parse($("settings").textContent);  // {titles, minWeight}
const EXPLANATIONS = {
  encoder: "Each source token (left, or a row of the heat map) attends to all source tokens.",
  decoder: "The decoder is about to predict the token on the left (or in a row of the heat map). " +
           "It attends to the tokens it has read: the start and its own output so far.",
  cross: "The decoder is about to predict the token on the left (or in a row of the heat map). " +
         "It attends to the source tokens.",
};

let selectedHeads = new Set();  // numbered from 0
// A token is {axis: "rows" | "columns", i}. A click pins a token; the mouse or the keyboard focus
// highlights one.
let pinned = null, highlighted = null;

function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}

const currentRole = () => maps.roles[$("role").value];
const currentLayer = () => currentRole().weights[Number($("layer").value)];  // [head][row][column]
const colour = (head, lightness) =>
  `hsl(${360 * head / currentLayer().length} 75% ${lightness})`;

/** Return the mean weight over the selected heads, from row i to column j. */
function meanWeight(i, j) {
  let sum = 0;
  for (const head of selectedHeads) sum += currentLayer()[head][i][j];
  return selectedHeads.size ? sum / selectedHeads.size : 0;
}

/** Return the weights between a token and each token of the other axis. */
function weightsOf({axis, i}) {
  const others = currentRole()[axis === "rows" ? "columns" : "rows"].tokens;
  return others.map((_, j) => axis === "rows" ? meanWeight(i, j) : meanWeight(j, i));
}

// Isolated, so that a token in a right-to-left script does not reorder its neighbours.
const isolatedText = (token) => `\u2068${token.text}\u2069`;
const isolatedElement = (token) =>
  element("bdi", token.special ? {class: "special"} : {}, token.text);

function describe(at) {
  if (!at) {
    return "Point to a token, or move to one with Tab and the arrow keys. " +
           "Click or press Enter to keep it selected.";
  }
  const {tokens, what} = currentRole()[at.axis];
  const others = currentRole()[at.axis === "rows" ? "columns" : "rows"].tokens;
  const largest = weightsOf(at).map((w, j) => [w, j]).sort((a, b) => b[0] - a[0])
    .filter(([w]) => w >= settings.minWeight).slice(0, 6)
    .map(([w, j]) => `${isolatedText(others[j])} ${w.toFixed(2)}`).join(", ");
  const verb = at.axis === "rows" ? "attends to" : "is attended to by";
  const n = selectedHeads.size, heads = n === 1 ? "one head" : `mean of ${n} heads`;
  return `“${isolatedText(tokens[at.i])}” (${what}) ${verb}: ${largest || "nothing"} (${heads})`;
}

// ---- the two lists of tokens, with lines between them

function tokenList(axis) {
  const list = element("ol", {class: axis, "aria-label": currentRole()[axis].what});
  currentRole()[axis].tokens.forEach((token, i) => {
    const at = {axis, i};
    const focusable = axis === "rows" && i === 0;  // the arrow keys lead to all other tokens
    const button = element("button", {class: "token", "aria-pressed": "false",
                                      tabindex: focusable ? 0 : -1}, isolatedElement(token));
    button.onmouseenter = button.onfocus = () => highlight(at);
    button.onmouseleave = button.onblur = () => highlight(pinned);
    button.onclick = () => togglePin(button, at);
    button.onkeydown = (event) => moveFocus(event, at);
    const weight = element("span", {class: "weight", "aria-hidden": "true"});
    const item = element("li", token.spaced ? {class: "spaced"} : {});
    item.append(...(axis === "rows" ? [weight, button] : [button, weight]));
    list.append(item);
  });
  return list;
}

const tokenButtons = (axis) => [...document.querySelectorAll(`.${axis} .token`)];

function togglePin(button, at) {
  const wasPinned = pinned && pinned.axis === at.axis && pinned.i === at.i;
  for (const other of document.querySelectorAll(".token")) other.ariaPressed = "false";
  button.ariaPressed = String(!wasPinned);
  pinned = wasPinned ? null : at;
  highlight(at);
}

function moveFocus(event, {axis, i}) {
  const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
  const target = {ArrowLeft: "rows", ArrowRight: "columns"}[event.key];
  let next;
  if (step) {
    next = tokenButtons(axis)[i + step];
  } else if (target && target !== axis) {
    const others = tokenButtons(target);
    next = others[Math.min(i, others.length - 1)];
  }
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** Show the lines and weights of one token, or all lines if `at` is null. */
function highlight(at) {
  highlighted = at;
  for (const axis of ["rows", "columns"]) {
    const weights = at && at.axis !== axis ? weightsOf(at) : null;
    document.querySelectorAll(`.${axis} .weight`).forEach((span, j) => {
      span.textContent = weights && weights[j] >= settings.minWeight ? weights[j].toFixed(2) : "";
    });
    tokenButtons(axis).forEach((button, j) => {
      const percent = weights ? Math.round(60 * weights[j]) : 0;
      button.style.background = percent
        ? `color-mix(in srgb, var(--accent) ${percent}%, transparent)` : "";
    });
  }
  $("description").textContent = describe(at);
  drawLines();
}

function drawLines() {
  const canvas = document.querySelector("canvas");
  if (!canvas) return;
  const box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
  canvas.width = box.width * scale;
  canvas.height = box.height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.lineWidth = 2;
  const middle = (button) => {
    const {top, bottom} = button.getBoundingClientRect();
    return (top + bottom) / 2 - box.top;
  };
  const [left, right] = ["rows", "columns"].map((axis) => tokenButtons(axis).map(middle));
  const n = currentLayer().length, gap = Math.min(2, 12 / n);
  const lightness = getComputedStyle(document.documentElement).getPropertyValue("--lightness");
  for (const head of selectedHeads) {
    context.strokeStyle = colour(head, lightness.trim());
    const shift = (head - (n - 1) / 2) * gap;
    currentLayer()[head].forEach((row, i) => row.forEach((w, j) => {
      if (w < settings.minWeight) return;
      if (highlighted && (highlighted.axis === "rows" ? i : j) !== highlighted.i) return;
      context.globalAlpha = w;
      context.beginPath();
      context.moveTo(0, left[i] + shift);
      context.lineTo(box.width, right[j] + shift);
      context.stroke();
    }));
  }
}

const linesFigure = () => element("div", {class: "lines"},
  element("p", {class: "rows"}, currentRole().rows.what), element("p"),
  element("p", {}, currentRole().columns.what),
  tokenList("rows"), element("canvas", {"aria-hidden": "true"}), tokenList("columns"));

// ---- the heat map

function heatMap() {
  const {rows, columns} = currentRole();
  const n = selectedHeads.size, heads = n === 1 ? "one head" : `mean of ${n} heads`;
  const caption = `Weights (${heads}). Rows: ${rows.what}; columns: ${columns.what}.`;
  const head = element("tr", {}, element("td"), ...columns.tokens.map((token) =>
    element("th", {scope: "col"}, isolatedElement(token))));
  const body = rows.tokens.map((token, i) => {
    const cells = columns.tokens.map((other, j) => {
      const w = meanWeight(i, j);
      const cell = element("td", w < 0.1 ? {class: "faint"} : {}, w.toFixed(2).replace(/^0/, ""));
      cell.style.background =
        `color-mix(in srgb, var(--accent) ${Math.round(75 * w)}%, transparent)`;
      cell.title = `${token.text} → ${other.text}: ${w.toFixed(3)}`;
      return cell;
    });
    return element("tr", {}, element("th", {scope: "row"}, isolatedElement(token)), ...cells);
  });
  return element("table", {}, element("caption", {}, caption), element("thead", {}, head),
                 element("tbody", {}, ...body));
}

// ---- the form

function draw() {
  pinned = highlighted = null;
  const asTable = document.querySelector("[name=display]:checked").value === "heat-map";
  $("figure").replaceChildren(asTable ? heatMap() : linesFigure());
  $("explanation").textContent = EXPLANATIONS[$("role").value];
  $("description").hidden = asTable;
  highlight(null);
}

const allHeads = () => currentLayer().map((_, head) => head);

function selectHeads(heads) {
  selectedHeads = new Set(heads);
  document.querySelectorAll("#heads input").forEach((box, head) => {
    box.checked = selectedHeads.has(head);
  });
  draw();
}

function changeLayer() {
  $("heads").replaceChildren(...allHeads().flatMap((head) => {
    const box = element("input", {type: "checkbox"});
    box.onchange = () => {
      box.checked ? selectedHeads.add(head) : selectedHeads.delete(head);
      draw();
    };
    const swatch = element("span", {class: "swatch"});
    swatch.style.background = colour(head, "var(--lightness)");
    return [element("label", {}, box, swatch, ` ${head + 1}`), " "];
  }));
  const kept = allHeads().filter((head) => selectedHeads.has(head));
  selectHeads(kept.length ? kept : allHeads());
}

function changeRole() {
  const n = currentRole().weights.length;
  $("layer").replaceChildren(...currentRole().weights.map((_, i) =>
    element("option", {value: i}, `${i + 1} of ${n}`)));
  $("layer").value = n - 1;
  selectedHeads = new Set();
  changeLayer();
}

$("src").textContent = maps.src;
$("tgt").textContent = maps.tgt;
$("role").append(...Object.keys(maps.roles).map((name) =>
  element("option", {value: name}, settings.titles[name])));
$("role").value = "cross" in maps.roles ? "cross" : Object.keys(maps.roles)[0];
$("role").onchange = changeRole;
$("layer").onchange = changeLayer;
$("all").onclick = () => selectHeads(allHeads());
$("none").onclick = () => selectHeads([]);
document.querySelectorAll("[name=display]").forEach((radio) => { radio.onchange = draw; });
window.onresize = drawLines;
window.matchMedia("(prefers-color-scheme: dark)").onchange = drawLines;
changeRole();
