/** The memory in the side panel: how much it has, and TMX in and out. */

import {byId, element} from "./dom.js";
import {download} from "./download.js";
import {addSegments, clearSegments, isKept, segmentsOf} from "./memory.js";
import {current, t} from "./strings.js";
import {readTmx, withoutCodes, writeTmx} from "./tmx.js";
import {ask} from "./translators.js";

export class MemoryView {
  /**
   * @param model returns the model whose memory is shown.
   * @param changed is called when the user has changed the memory.
   */
  constructor(model, changed) {
    Object.assign(this, {model, changed});
    this.box = element("div", {class: "group", id: "memory"});
    this.said = element("p", {class: "note", role: "status"});
    this.similar = element("ul", {class: "group", id: "similar"});
    byId("side-terms").append(this.box, this.similar);
  }

  /** Show what the memory has that is similar to a line; the first line clears those of others. */
  offer(line, {target}, matches) {
    if (line === 0) this.similar.replaceChildren();
    const number = new Intl.NumberFormat(current(), {style: "percent"});
    const items = matches.filter(({match}) => match < 100).map(({match, source, translation}) =>
      element("li", {}, t("fromMemory", {match: number.format(match / 100)}),
              element("p", {class: "note", dir: "auto"}, withoutCodes(source)),
              element("p", {dir: "auto", lang: target}, withoutCodes(translation))));
    this.similar.append(...items);
  }

  async draw() {
    const {key} = this.model();
    this.shown = key;
    const segments = await segmentsOf(key);
    const count = new Intl.NumberFormat(current()).format(segments.length);
    const button = (name, onclick) => element("button",
      {type: "button", disabled: !segments.length, onclick}, t(name));
    const field = element("input", {type: "file", accept: ".tmx", "aria-label": t("importTmx"),
                                    onchange: () => field.files.length && this.add(field.files[0])});
    this.box.replaceChildren(element("h3", {}, t("memory")),
      element("p", {class: "note"}, t("memoryHelp", {count})),
      ...(isKept() ? [] : [element("p", {class: "note"}, t("notKept"))]),
      element("label", {class: "note"}, t("importTmx"), field),
      button("exportTmx", () => this.save()), button("clearHistory", () => this.clear()), this.said);
  }

  async add(file) {
    const {key, source, target} = this.model();
    try {
      const units = readTmx(await textOf(file), {source, target}, file.name);
      const texts = units?.length ? await ask(key, "segments", {units}) : [];
      const found = texts.flatMap((each, i) => each ? [{...units[i], ...each}] : []);
      if (found.length) await addSegments(key, found);
      this.said.textContent = units ? t("imported", {count: found.length}) : t("notTmx");
    } catch (error) {
      this.said.textContent = error.message;
    }
    await this.draw();
    this.changed();
  }

  async save() {
    const {key, source, target} = this.model();
    download(writeTmx(await segmentsOf(key), {source, target}), `${source}-${target}.tmx`);
  }

  async clear() {
    await clearSegments(this.model().key);
    this.said.textContent = "";
    await this.draw();
    this.changed();
  }
}

/** The text of an XML file in the encoding that it states; "": it cannot be read. */
async function textOf(file) {
  try {
    const bytes = new Uint8Array(await file.arrayBuffer()), mark = bytes[0] << 8 | bytes[1];
    const head = new TextDecoder("latin1").decode(bytes.subarray(0, 200));
    const stated = /^[^>]*encoding=["']([\w.-]+)/.exec(head)?.[1] ?? "utf-8";
    return new TextDecoder({0xfffe: "utf-16le", 0xfeff: "utf-16be"}[mark] ?? stated).decode(bytes);
  } catch {
    return "";
  }
}
