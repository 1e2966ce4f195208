/** The panel about one line: attention as a matrix and as arcs, the search, the tokens. */

import {attentionLinks} from "./links.js";
import {attentionView, Choice} from "./attention.js";
import {CROSS, element, icon, rove, settle} from "./dom.js";
import {arcs, matrix} from "./figures.js";
import {languageName, t} from "./strings.js";
import {beamView} from "./tree.js";
import {tokensView} from "./tokens.js";

const TABS = ["matrix", "arcs", "beam", "tokens"];

export class Panel {
  /**
   * @param ask {attention(line), traces(line)}: return promises of what the service answers.
   * @param on {replaced(n, prefix), changed(), closed(hadFocus)}
   */
  constructor(container, ask, on) {
    Object.assign(this, {container, ask, on, n: null, line: null, tab: "matrix", maps: null});
    this.choice = new Choice();
    container.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  /** Show a line, {source, text, tokens, prefix, pivot}; `position`: of its chosen token. */
  open(n, line, position = null) {
    Object.assign(this, {n, line, maps: null, position});
    this.container.hidden = false;
    const title = element("h2", {}, `${t("sentence", {number: n + 1})}: `,
                          element("bdi", {}, line.source));
    const close = icon(t("close"), CROSS, () => this.close());
    this.tabs = element("div", {class: "tabs", role: "tablist", "aria-label": t("views")},
      ...TABS.map((tab) => element("button", {
        type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": "tab-panel",
        onclick: () => this.show(tab),
      }, t(tab))));
    rove(this.tabs, "[role=tab]");
    this.body = element("div", {id: "tab-panel", role: "tabpanel"});
    this.container.replaceChildren(element("div", {class: "panel-head"}, title, close),
                                   this.tabs, this.body);
    if (!line.pivot) this.load();
    return this.show(this.tab);
  }

  focus() { this.tabs.querySelector("[aria-selected=true]").focus(); }

  close() {
    if (this.n === null) return;
    const hadFocus = this.container.contains(document.activeElement);
    Object.assign(this, {n: null, line: null, maps: null});
    this.container.hidden = true;
    this.container.replaceChildren();
    this.on.closed(hadFocus);
  }

  /** Read the attention, which also links the words of the texts while the panel is open. */
  async load() {
    const {line} = this;
    const maps = await this.ask.attention(line).catch(() => null);  // the tab shows the error
    if (this.line !== line) return;
    this.maps = maps;
    this.on.changed();
  }

  /** The links of the line by the chosen layer and head; null: they are not known. */
  links() {
    const role = this.maps?.roles.cross;
    return role ? attentionLinks(this.line, this.choice.weightsOf(role), role) : null;
  }

  async show(tab) {
    this.tab = tab;
    const {line, body} = this, buttons = [...this.tabs.children];
    buttons.forEach((button, i) =>
      button.setAttribute("aria-selected", String(TABS[i] === tab)));
    settle(this.tabs, "[role=tab]", buttons[TABS.indexOf(tab)]);
    body.setAttribute("aria-labelledby", `tab-${tab}`);
    body.replaceChildren(note(t("loading")));
    let parts;
    try {
      parts = await this[tab]();
    } catch (error) {
      parts = [element("p", {role: "alert", class: "note"}, error.message)];
    }
    if (this.line === line && this.tab === tab) body.replaceChildren(...parts);
  }

  matrix() { return this.attention(matrix); }

  arcs() { return this.attention(arcs); }

  async attention(draw) {
    const {pivot} = this.line;
    if (pivot) return [note(t("pivotAttention", {pivot: languageName(pivot)}))];
    const maps = await this.ask.attention(this.line);
    return [note(t("recomputed")), attentionView(maps, this.choice, draw, this.on.changed)];
  }

  async beam() {
    const traces = await this.ask.traces(this.line);
    return [traces ? beamView(traces) : nothing(this.line)];
  }

  async tokens() {
    const {n, line} = this;
    if (!line.tokens) return [nothing(line)];
    return [tokensView(line, this.position, {
      replaced: (position, prefix) => this.on.replaced(n, prefix, position),
      reset: () => this.on.replaced(n, "", null),
    })];
  }

  /** Show the same line after its translation was changed at a token; null: it was reset. */
  async update(line, position) {
    const focused = this.body.contains(document.activeElement);
    await this.open(this.n, line, position);
    if (focused) this.body.querySelector(".chip[tabindex='0']")?.focus();
  }
}

const note = (text) => element("p", {class: "note"}, text);

const nothing = ({sentences}) =>
  note(t(sentences.some(({match}) => match) ? "confirmed" : "nothingToShow"));
