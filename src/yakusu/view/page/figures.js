/** Two drawings of attention weights, [row][column]; `say` shows a description, or "" for none. */

import {curve, shape} from "./dom.js";
import {number, t} from "./strings.js";

const CELL = 24, ROW = 26, MARGIN = 10, GAP = 150;  // pixels
const MIN_WEIGHT = 0.02;  // smaller ones would be invisible
// Isolated, so that a token in a right-to-left script does not reorder its neighbours.
const isolated = (token) => `\u2068${token.text}\u2069`;

// ---- the matrix ---------------------------------------------------------------------------------

/** One square for each weight: rows attend to columns. */
export function matrix({rows, columns}, weights, say) {
  const left = MARGIN + widest(rows.tokens), top = MARGIN + widest(columns.tokens);
  const [height, width] = [top + CELL * rows.tokens.length, left + CELL * columns.tokens.length];
  const drawn = canvas(width + MARGIN, height + MARGIN);
  rows.tokens.forEach((token, i) =>
    drawn.append(label(token, left - 8, top + CELL * (i + 0.5) + 4, "end")));
  columns.tokens.forEach((token, j) => {
    const text = label(token, 0, 0, "start");
    const x = left + CELL * (j + 0.5) + 4;
    text.setAttribute("transform", `translate(${x} ${top - 8}) rotate(-90)`);
    drawn.append(text);
  });
  drawn.append(shape("rect", {class: "frame", x: left, y: top, width: width - left,
                              height: height - top}));
  weights.forEach((row, i) => row.forEach((w, j) => {
    if (w < MIN_WEIGHT / 2) return;
    drawn.append(shape("rect", {class: "cell", x: left + CELL * j + 1, y: top + CELL * i + 1,
                                width: CELL - 2, height: CELL - 2, rx: 3, "fill-opacity": w}));
  }));
  const cursor = shape("rect", {class: "cursor", width: CELL, height: CELL, rx: 4, opacity: 0});
  drawn.append(cursor);
  const show = (i, j) => {
    cursor.setAttribute("x", left + CELL * j);
    cursor.setAttribute("y", top + CELL * i);
    cursor.setAttribute("opacity", 1);
    say(t("weight", {row: isolated(rows.tokens[i]), column: isolated(columns.tokens[j]),
                     weight: number(weights[i][j], 3)}));
  };
  moveOver(drawn, {rows: rows.tokens.length, columns: columns.tokens.length}, show,
           (x, y) => [Math.floor((y - top) / CELL), Math.floor((x - left) / CELL)],
           () => { cursor.setAttribute("opacity", 0); say(""); });
  return drawn;
}

// ---- the arcs -----------------------------------------------------------------------------------

/** The rows on the left, the columns on the right; an arc is the wider the larger its weight. */
export function arcs({rows, columns}, weights, say) {
  const left = MARGIN + widest(rows.tokens), right = left + GAP + 16;
  const n = Math.max(rows.tokens.length, columns.tokens.length);
  const drawn = canvas(right + widest(columns.tokens) + MARGIN, ROW * n + 2 * MARGIN);
  const y = (axis, i) => MARGIN + ROW * (i + 0.5 + (n - axis.tokens.length) / 2);
  const texts = [rows, columns].map((axis, side) => axis.tokens.map((token, i) =>
    label(token, side ? right : left, y(axis, i) + 4, side ? "start" : "end")));
  const lines = weights.flatMap((row, i) => row.flatMap((w, j) => {
    if (w < MIN_WEIGHT) return [];
    const d = curve([left + 8, y(rows, i)], [right - 8, y(columns, j)]);
    return [{i, j, w, path: shape("path", {class: "arc", d, "stroke-opacity": w})}];
  }));
  drawn.append(...lines.map((line) => line.path), ...texts.flat());
  const show = (i, side) => {
    if (i >= texts[side].length) return;
    for (const line of lines) {
      const chosen = (side ? line.j : line.i) === i;
      line.path.setAttribute("stroke-opacity", chosen ? line.w : line.w / 10);
    }
    texts.forEach((some, s) => some.forEach((text, k) =>
      text.classList.toggle("strong", s === side && k === i)));
    say(side ? describe("attendedBy", columns, rows, i, weights.map((row) => row[i]))
             : describe("attendsTo", rows, columns, i, weights[i]));
  };
  const clear = () => {
    for (const {w, path} of lines) path.setAttribute("stroke-opacity", w);
    for (const text of texts.flat()) text.classList.remove("strong");
    say("");
  };
  const place = (x, at) => {
    const side = x > (left + right) / 2 ? 1 : 0;
    const shift = MARGIN + ROW * (n - texts[side].length) / 2;
    return [Math.floor((at - shift) / ROW), side];
  };
  moveOver(drawn, {rows: n, columns: 2}, show, place, clear);
  return drawn;
}

function describe(key, own, others, i, weights) {
  const largest = weights.map((w, j) => [w, j]).filter(([w]) => w >= MIN_WEIGHT)
    .sort((a, b) => b[0] - a[0]).slice(0, 5)
    .map(([w, j]) => `${isolated(others.tokens[j])} ${number(w)}`).join(", ") || "—";
  return t(key, {row: isolated(own.tokens[i]), column: isolated(own.tokens[i]),
                 columns: largest, rows: largest});
}

// ---- both ---------------------------------------------------------------------------------------

const canvas = (width, height) => shape("svg", {
  width, height, viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0",
});

function label(token, x, y, anchor) {
  const name = token.special ? "special" : "";
  return shape("text", {class: name, x, y, "text-anchor": anchor, direction: "ltr"}, token.text);
}

/** The width of the widest label. */
function widest(tokens) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = "13px system-ui, sans-serif";
  return Math.ceil(Math.max(...tokens.map(({text}) => context.measureText(text).width))) + 12;
}

/** Follow the mouse and the arrow keys over a grid; `place`: the row and column of a point. */
function moveOver(drawn, {rows, columns}, show, place, clear) {
  let at = [-1, 0];
  const go = (row, column) => {
    if (row < 0 || column < 0 || row >= rows || column >= columns) return clear();
    at = [row, column];
    show(row, column);
  };
  drawn.addEventListener("mousemove", ({offsetX, offsetY}) => go(...place(offsetX, offsetY)));
  drawn.addEventListener("mouseleave", clear);
  drawn.addEventListener("blur", clear);
  drawn.addEventListener("keydown", (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (!(event.key in step)) return;
    event.preventDefault();
    const limit = (value, n) => Math.max(0, Math.min(n - 1, value));
    const [down, right] = step[event.key];
    go(limit(at[0] + down, rows), limit(at[1] + right, columns));
  });
}
