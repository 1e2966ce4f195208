/** What the page remembers in this browser. Without storage, it forgets everything at its end. */

let prefix = "yakusu.";
const forgotten = new Map();
const named = (name) => SHARED.has(name) ? `yakusu.${name}` : prefix + name;

const SHARED = new Set(["interface"]);  // what all pages with this storage remember together

/** Keep apart what this page remembers from what others do that share its storage, as files do. */
export function keepApart(name) { prefix = `yakusu.${name}.`; }

/** Whether the browser stores anything of this page. */
export function isStored() {
  try {
    localStorage.setItem(`${prefix}test`, "");
    localStorage.removeItem(`${prefix}test`);
    return true;
  } catch {
    return false;
  }
}

export function recall(name, otherwise) {
  try {
    const text = localStorage.getItem(named(name));
    return text === null ? otherwise : JSON.parse(text);
  } catch {  // storage is blocked, or another program wrote it
    return forgotten.get(name) ?? otherwise;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(named(name), JSON.stringify(value));
  } catch {  // storage is blocked or full
    forgotten.set(name, value);
  }
}

export function forget(name) {
  forgotten.delete(name);
  try {
    localStorage.removeItem(named(name));
  } catch { /* storage is blocked: nothing is stored */ }
}
