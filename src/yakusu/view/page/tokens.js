/** The tokens of a translation, how certain they are, and what could stand in their places. */

import {element, rove, settle, tint} from "./dom.js";
import {percent, t} from "./strings.js";

const END = "</s>";
const BYTE = /^<0x([0-9A-F]{2})>$/;
const UNUSABLE = /^<placeholder \d+>$/;
const shown = (token) => token === END ? t("end") : token.replaceAll("▁", " ").trim() || "␣";

/** The text of tokens, without the space in front. */
export function textOf(tokens) {
  const bytes = [], encoder = new TextEncoder();
  for (const token of tokens.filter((each) => each !== END)) {
    const byte = BYTE.exec(token);
    bytes.push(...(byte ? [parseInt(byte[1], 16)] : encoder.encode(token.replaceAll("▁", " "))));
  }
  return new TextDecoder().decode(new Uint8Array(bytes)).trimStart();
}

/** The text of tokens of several sentences, with the spaces that the line has between them. */
function prefixOf(tokens, line) {
  const ends = [...tokens.keys()].filter((i) => tokens[i] === END);
  return [...ends, tokens.length].reduce((text, end, k) => {
    const start = k ? ends[k - 1] + 1 : 0;
    const space = line.startsWith(`${text} `) ? " " : "";
    return text + (k ? space : "") + textOf(tokens.slice(start, end));
  }, "");
}

/** What a prefix can end with: whole characters, and not the end of the sentence. */
const isUsable = (token) => token !== END && !BYTE.test(token) && !UNUSABLE.test(token);

/**
 * The tokens as buttons; the chosen one shows its alternatives.
 *
 * @param line {text, tokens, prefix}
 * @param chosen the position of the token that is chosen first; null: the least certain one.
 * @param on {replaced(position, prefix), reset()}
 */
export function tokensView(line, chosen, on) {
  const {tokens} = line, choices = element("div");
  const chips = element("div", {class: "chips", role: "group", "aria-label": t("tokens")});
  const choose = (i) => {
    [...chips.children].forEach((chip, k) => chip.setAttribute("aria-pressed", String(k === i)));
    choices.replaceChildren(...alternativesOf(line, i, on.replaced));
  };
  chips.append(...tokens.map((token, i) => chipOf(token, () => choose(i))));
  rove(chips, ".chip");
  const first = chosen ?? leastCertain(tokens);
  choose(first);
  settle(chips, ".chip", chips.children[first]);
  const reset = element("button", {type: "button", onclick: on.reset}, t("reset"));
  return element("div", {}, element("p", {class: "readout"}, t("tokenHelp")), chips, choices,
                 ...(line.prefix ? [element("p", {class: "note"}, t("changed")), reset] : []));
}

const leastCertain = (tokens) =>
  tokens.reduce((least, {log_prob}, i) => log_prob < tokens[least].log_prob ? i : least, 0);

function chipOf({token, log_prob: logProb}, onclick) {
  const probability = percent(Math.exp(logProb));
  const chip = element("button", {
    type: "button", class: token.startsWith("▁") ? "chip spaced" : "chip", onclick,
    title: probability, "aria-label": t("tokenLabel", {token: shown(token), probability}),
  }, element("bdi", {}, token === END ? END : shown(token)));
  tint(chip, 1 - Math.exp(logProb));
  return chip;
}

function alternativesOf(line, i, replaced) {
  const {tokens} = line, {token, log_prob: own, alternatives} = tokens[i];
  const before = tokens.slice(0, i).map((each) => each.token);
  const prefix = (other) => prefixOf([...before, other], line.text);
  const place = before.filter((each) => each !== END).length;  // a prefix makes one sentence of all
  const found = Object.entries(alternatives)
    .filter(([other]) => other !== token && isUsable(other));
  const title = element("h3", {}, t("instead", {
    token: `\u2068${shown(token)}\u2069`, probability: percent(Math.exp(own)),
  }));
  if (!found.length) return [title, element("p", {class: "note"}, t("noAlternatives"))];
  return [title, element("div", {class: "choices"}, ...found.map(([other, logProb]) =>
    element("button", {type: "button", onclick: () => replaced(place, prefix(other))},
            element("bdi", {}, shown(other)), element("small", {}, percent(Math.exp(logProb))))))];
}
