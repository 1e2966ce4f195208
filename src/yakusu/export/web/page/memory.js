/** The memory of each model: translations that the user has confirmed, kept in this browser. */

const DATABASE = "yakusu", STORE = "memories";
let isLost = false;  // whether the last change could not be stored
const known = new Map();  // promises of segments by the keys of models: {id, source, target, origin, time}

/** Whether the browser keeps the memories; otherwise they end with the page. */
export const isKept = () => !isLost;

/** The segments of the memory of a model, in the order in which they were added. */
export function segmentsOf(key) {
  if (!known.has(key)) known.set(key, within("readonly", (store) => store.get(key)).then((found) => found ?? []));
  return known.get(key);
}

/** Store a translation as the latest one; one that it repeats is replaced. Return its number. */
export async function addSegment(key, source, target) {
  const made = {source: source.trim(), target: target.trim(), origin: "correction", time: now()};
  const [id] = await addSegments(key, [made]);
  return id;
}

/** Store several segments; return their numbers. */
export async function addSegments(key, added) {
  const identity = ({source, target, origin}) => JSON.stringify([source, target, origin]);
  const unique = new Map(added.map((each) => [identity(each), each]));
  const segments = await change(key, (old) => {
    const latest = old.reduce((id, each) => Math.max(id, each.id), 0);
    const made = [...unique.values()].map((each, i) => ({...each, id: latest + 1 + i}));
    return [...old.filter((each) => !unique.has(identity(each))), ...made];
  });
  return segments.slice(segments.length - unique.size).map(({id}) => id);
}

/** Remove a segment; return whether there was one. */
export async function removeSegment(key, id) {
  let isFound = false;
  await change(key, (old) => {
    isFound = old.some((each) => each.id === id);
    return old.filter((each) => each.id !== id);
  });
  return isFound;
}

export const clearSegments = (key) => change(key, () => []);

/** Change the segments as they are stored now: other tabs may have changed them; return them. */
async function change(key, made) {
  const old = await segmentsOf(key);
  let segments = null;
  await within("readwrite", (store) => {
    const asked = store.get(key);
    asked.addEventListener("success", () => {
      segments = made(isLost ? old : asked.result ?? []);
      try {
        store.put(segments, key);
      } catch {  // the disk may be full
        asked.transaction.abort();
      }
    });
    return asked;
  });
  segments ??= made(old);  // there is no storage
  known.set(key, Promise.resolve(segments));
  return segments;
}

const now = () => `${new Date().toISOString().slice(0, 19)}Z`;

// ---- the storage of the browser ---------------------------------------------------------------

/** The result of a request to the storage; undefined: there is none, so that the page forgets. */
async function within(mode, request) {
  try {
    const transaction = (await database()).transaction(STORE, mode);
    const asked = request(transaction.objectStore(STORE));
    await new Promise((resolve, reject) => {
      transaction.addEventListener("complete", resolve);
      transaction.addEventListener("abort", () => reject(transaction.error));  // the disk may be full
    });
    if (mode === "readwrite") isLost = false;
    return asked.result;
  } catch {
    isLost = true;
    return undefined;
  }
}

let opened = null;
function database() {
  if (!opened) {
    const request = indexedDB.open(DATABASE, 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore(STORE));
    opened = resultOf(request);
  }
  return opened;
}

const resultOf = (request) => new Promise((resolve, reject) => {
  request.addEventListener("success", () => resolve(request.result));
  request.addEventListener("error", () => reject(request.error));
  request.addEventListener("blocked", () => reject(new Error("blocked")));
});
