/** Elements, their attributes, and movement of the focus. Texts are never parsed as HTML. */

export const byId = (id) => document.getElementById(id);

export const element = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const shape = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** Attributes whose values are functions are listeners: onclick. */
function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function icon(label, path, onclick) {
  const picture = shape("svg", {viewBox: "0 0 20 20", "aria-hidden": "true"},
                        shape("path", {d: path}));
  return element("button", {type: "button", class: "icon", "aria-label": label, title: label,
                            onclick}, picture);
}

export const CROSS = "M5 5l10 10M15 5L5 15";

/** The path of a line between two points, [x, y], that begins and ends horizontally. */
export function curve([x1, y1], [x2, y2]) {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

/** Tint the background of an element with the accent colour; 0: none, 1: strong. */
export function tint(made, strength) {
  const percent = Math.round(45 * Math.min(1, strength));
  made.style.background =
    percent ? `color-mix(in srgb, var(--accent) ${percent}%, transparent)` : "";
}

/**
 * Make the items of a container one tab stop; `move` returns the item that a key leads to.
 * Containers may get new items: call `settle` then.
 */
export function rove(container, selector, move = alongLine) {
  container.addEventListener("focusin", (event) => {
    const item = event.target.closest(selector);
    if (item) settle(container, selector, item);
  });
  container.addEventListener("keydown", (event) => {
    const item = event.target.closest(selector);
    const next = item && move(event.key, [...container.querySelectorAll(selector)], item);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

/** Make one item the tab stop: the given one, the one that was, or the first. */
export function settle(container, selector, chosen = null) {
  const items = [...container.querySelectorAll(selector)];
  const stop = chosen ?? items.find((item) => item.tabIndex === 0) ?? items[0];
  for (const item of items) item.tabIndex = item === stop ? 0 : -1;
}

function alongLine(key, items, item) {
  const at = items.indexOf(item);
  const forward = getComputedStyle(item).direction === "rtl" ? -1 : 1;
  const steps = {ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1};
  if (key === "Home") return items[0];
  if (key === "End") return items.at(-1);
  return items[at + steps[key]];
}

/** Resolve after some seconds; reject if the signal is aborted. */
export function sleep(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
