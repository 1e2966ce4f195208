/** What the user points at: its counterparts on the other side are tinted and named. */

import {Choice} from "./attention.js";
import {byId} from "./dom.js";
import {alignmentLinks, attentionLinks, isSpaced} from "./links.js";
import {languageName, t} from "./strings.js";

const OTHER = {source: "target", target: "source"};
const MIN_NAMED = 0.2;  // weaker counterparts are tinted only

export class Pointer {
  constructor(panes, session, panel) {
    Object.assign(this, {panes, session, panel, place: null});
  }

  /** Show the counterparts of a word, {side, n, unit}; null: of none. */
  point(place) {
    const same = ["side", "n", "unit"].every((key) => this.place?.[key] === place?.[key]);
    if (!same) this.show(place);
  }

  again() { this.show(this.place); }

  show(place) {
    this.place = place;
    this.panes.source.unmark();
    this.panes.target.unmark();
    byId("counterparts").textContent = place ? this.mark(place) : "";
    byId("doubt").textContent = place ? this.doubtOf(place) : "";
  }

  /** Mark the words; return the description. */
  mark({side, n, unit}) {
    const line = this.session.lines[n], {panes} = this;
    if (!line || panes.source.texts[n] !== line.source) return "";  // it is not translated yet
    panes[side].words(n)[unit]?.classList.add("pointed");
    if (line.pivot) return t("noLinks", {pivot: languageName(line.pivot)});
    const links = this.linksOf(n, line);
    if (!links) return "";
    const weights = links(side, unit), other = OTHER[side];
    panes[other].mark(n, weights);
    const isolated = (text) => `\u2068${text}\u2069`;
    const words = panes[other].words(n).map((word) => isolated(word.textContent));
    const others = words.filter((_, i) => weights[i] >= MIN_NAMED).join(" ");
    const word = isolated(panes[side].words(n)[unit].textContent);
    return t(others ? "linked" : "nothingLinked", {word, others});
  }

  /** Why a word of the translation is underlined; screen readers say it by themselves. */
  doubtOf({side, n, unit}) {
    return this.panes[side].words(n)[unit]?.closest(".sentence[title]")?.title ?? "";
  }

  /**
   * The links of a line: by the attention that the panel shows; otherwise by the alignment, or, if
   * it knows no words because there are no spaces or a person has confirmed the translation, by the
   * mean attention of the last layer.
   */
  linksOf(n, line) {
    const chosen = this.panel.n === n ? this.panel.links() : null;
    if (chosen) return chosen;
    const isConfirmed = line.sentences.some(({match}) => match);
    if (!line.alignment && !isConfirmed) return null;
    if (line.alignment && isSpaced(line)) return alignmentLinks(line);
    if (line.maps === undefined) this.load(line);
    const role = line.maps?.roles.cross;
    if (role) return attentionLinks(line, new Choice().weightsOf(role), role);
    return line.alignment ? alignmentLinks(line) : null;
  }

  async load(line) {
    line.maps = await this.session.attention(line).catch(() => null);  // too long, for example
    if (line.maps && this.place && this.session.lines[this.place.n] === line) this.again();
  }
}
