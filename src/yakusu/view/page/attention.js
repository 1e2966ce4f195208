/** Attention of one line: the choice of role, layer and head, and a drawing of its weights. */

import {element} from "./dom.js";
import {number, t} from "./strings.js";

/** What is chosen: a role, a layer from 1, a head from 1; head 0 is the mean of all. */
export class Choice {
  constructor() {
    this.role = "cross";
    this.layer = Infinity;  // the last
    this.head = 0;
  }

  /** Keep to what a model has. */
  limit(maps) {
    if (!(this.role in maps.roles)) this.role = Object.keys(maps.roles)[0];
    const layers = maps.roles[this.role].weights;
    this.layer = Math.min(this.layer, layers.length);
    this.head = Math.min(this.head, layers[0].length);
  }

  weightsOf(role) {
    const heads = role.weights[Math.min(this.layer, role.weights.length) - 1];
    return this.head ? heads[Math.min(this.head, heads.length) - 1] : meanOf(heads);
  }
}

const meanOf = (heads) => heads[0].map((row, i) => row.map((_, j) =>
  heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));

/** The mean entropy of the rows, in nats. */
function entropyOf(head) {
  const ofRow = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
  return head.reduce((sum, row) => sum + ofRow(row), 0) / head.length;
}

/**
 * The controls and a drawing.
 *
 * @param draw `matrix` or `arcs`.
 * @param changed is called after each change of the choice.
 */
export function attentionView(maps, choice, draw, changed) {
  choice.limit(maps);
  const drawn = element("div"), entropies = element("p", {class: "heads"});
  const sliders = ["layer", "head"].map((name) => slider(name, (value) => change(name, value)));
  const roles = roleSelect(maps, choice, (role) => change("role", role));
  const update = () => {
    const heads = maps.roles[choice.role].weights;
    const [layers, n] = [heads.length, heads[0].length];
    sliders[0].show(1, layers, choice.layer, `${choice.layer} / ${layers}`);
    sliders[1].show(0, n, choice.head, choice.head ? `${choice.head} / ${n}` : t("mean"));
    showEntropies(entropies, heads[choice.layer - 1], choice.head, (head) => change("head", head));
    drawn.replaceChildren(figure(maps, choice, draw));
  };
  const change = (name, value) => {
    choice[name] = value;
    choice.limit(maps);
    update();
    changed();
  };
  update();
  const form = element("div", {class: "controls"}, roles, ...sliders.map(({label}) => label));
  return element("div", {}, form, entropies, drawn);
}

function roleSelect(maps, choice, change) {
  const names = ["cross", "encoder", "decoder"].filter((name) => name in maps.roles);
  const field = element("select", {"aria-label": t("role"), "data-control": "role"},
    ...names.map((name) => element("option", {value: name}, t(name))));
  field.value = choice.role;
  field.addEventListener("change", () => change(field.value));
  return field;
}

function slider(name, change) {
  const field = element("input", {type: "range", "data-control": name});
  const output = element("output");
  field.addEventListener("input", () => change(Number(field.value)));
  const show = (min, max, value, text) => {
    Object.assign(field, {min, max, value});
    field.setAttribute("aria-valuetext", text);
    output.textContent = text;
  };
  return {label: element("label", {}, t(name), field, output), show};
}

/** A button for each head, which chooses it; the one of the chosen head leads back to the mean. */
function showEntropies(container, heads, chosen, choose) {
  const focused = [...container.children].indexOf(document.activeElement);
  container.replaceChildren(element("span", {}, t("entropy")), ...heads.map((head, i) => {
    const entropy = number(entropyOf(head));
    return element("button", {
      type: "button", "aria-pressed": String(chosen === i + 1),
      "aria-label": t("headEntropy", {head: i + 1, entropy}),
      onclick: () => choose(chosen === i + 1 ? 0 : i + 1),
    }, `${i + 1}: ${entropy}`);
  }));
  container.children[focused]?.focus();
}

/** A drawing, and the line that describes what the user points at. */
function figure(maps, choice, draw) {
  const role = maps.roles[choice.role];
  const readout = element("p", {class: "readout", "aria-live": "polite"}, t("arrowKeys"));
  const label = t("figureLabel", {
    role: t(choice.role), layer: choice.layer, head: choice.head || t("mean"),
    rows: t(role.rows.what), columns: t(role.columns.what),
  });
  const drawn = draw(role, choice.weightsOf(role), (text) => {
    readout.textContent = text || t("arrowKeys");
  });
  drawn.setAttribute("aria-label", label);
  return element("div", {}, readout, element("div", {class: "figure"}, drawn));
}
