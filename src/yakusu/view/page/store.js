/** What the page remembers in this browser. Without storage, it forgets everything at its end. */

const PREFIX = "yakusu.";
const forgotten = new Map();

export function recall(name, otherwise) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {  // storage is blocked, or another program wrote it
    return forgotten.get(name) ?? otherwise;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {  // storage is blocked or full
    forgotten.set(name, value);
  }
}

export function forget(name) {
  forgotten.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch { /* storage is blocked: nothing is stored */ }
}
