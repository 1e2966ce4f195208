/** Offer a file that the page has made. */

import {element} from "./dom.js";

export function download(content, name) {
  const href = URL.createObjectURL(new Blob([content]));
  element("a", {href, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
