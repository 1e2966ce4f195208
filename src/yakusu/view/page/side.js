/** The side panel, and which of its parts is open. */

import {byId} from "./dom.js";
import {t} from "./strings.js";

export class Side {
  constructor() {
    this.buttons = [...document.querySelectorAll("[data-side]")];
    for (const button of this.buttons) {
      button.addEventListener("click", () => this.toggle(button));
    }
    byId("side-close").addEventListener("click", () => this.close());
    byId("side").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get opened() {
    return this.buttons.find((button) => button.getAttribute("aria-expanded") === "true");
  }

  toggle(button) {
    const opens = button !== this.opened;
    for (const each of this.buttons) {
      each.setAttribute("aria-expanded", String(opens && each === button));
      byId(`side-${each.dataset.side}`).hidden = each !== button;
    }
    byId("side").hidden = !opens;
    if (!opens) return;
    this.draw();
    byId("side-close").focus({preventScroll: true});
  }

  draw() {
    const {opened} = this;
    byId("side-title").textContent = opened ? t(opened.dataset.side) : "";
  }

  close() {
    const {opened} = this;
    if (!opened) return;
    this.toggle(opened);
    opened.focus();
  }
}
