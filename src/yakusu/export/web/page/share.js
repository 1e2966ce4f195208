/** A button that shares the translation with other programs, where the browser can. */

import {byId, element} from "./dom.js";

export class Share {
  constructor() {
    this.button = element("button", {type: "button", id: "share", "data-text": "share",
                                     hidden: !navigator.share});
    byId("copy").after(this.button);
  }

  /** @param text returns what is shared. */
  begin(text) {
    this.button.addEventListener("click", () => navigator.share({text: text()}).catch(() => {}));
  }
}
