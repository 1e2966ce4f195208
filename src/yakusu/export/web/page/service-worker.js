// Keeps the files of the page by their hashes, so that it works without a network.

const FILES = new Map({{files}});
const CACHE = `yakusu ${registration.scope}`;
const keyOf = (name) => `${name}?${encodeURIComponent(FILES.get(name))}`;

async function file(name) {
  const cache = await caches.open(CACHE), found = await cache.match(keyOf(name));
  if (found) return found;
  const response = await fetch(name, { integrity: FILES.get(name), cache: "no-cache" });
  if (!response.ok) return response;
  // A response that was redirected would be refused as a page.
  const own = new Response(await response.blob(), { headers: response.headers });
  await cache.put(keyOf(name), own.clone());
  return own;
}

async function forget() {
  const cache = await caches.open(CACHE), wanted = new Set([...FILES.keys()].map((name) => new URL(keyOf(name), registration.scope).href));
  await Promise.all((await cache.keys()).map(({ url }) => wanted.has(url) || cache.delete(url)));
}

// Models are kept when they are chosen.
const first = [...FILES.keys()].filter((name) => !name.endsWith(".bin"));
addEventListener("install", (event) => event.waitUntil(Promise.all(first.map(file))));
addEventListener("activate", (event) => event.waitUntil(Promise.all([clients.claim(), forget()])));
addEventListener("message", (event) => FILES.has(event.data) && event.waitUntil(file(event.data)));
addEventListener("fetch", (event) => {
  const { href, pathname } = new URL(event.request.url), { scope } = registration;
  const name = pathname.slice(new URL(scope).pathname.length) || "index.html";
  if (href.startsWith(scope) && event.request.method === "GET" && FILES.has(name)) event.respondWith(file(name));
});
