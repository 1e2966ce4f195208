// The first script of a page with its files beside it: the service worker keeps them.

window.yakusu = {
  async read(name) {
    const response = await fetch(name).catch(() => null);
    if (!response?.ok) throw new Error(`${name} cannot be read: check the connection`);
    kept?.then(({ active }) => active.postMessage(name));
    return response.arrayBuffer();
  },
};
// What is read before it runs is kept afterwards.
const kept = navigator.serviceWorker?.ready;
navigator.serviceWorker?.register("service-worker.js").catch(() => {});
if (location.protocol === "file:") {
  document.getElementById("start").textContent =
    "A browser opens this folder from a web server only, such as: python3 -m http.server";
} else {
  document.getElementById("start").textContent = "";
  document.getElementById("page").hidden = false;
  const given = new URLSearchParams(location.search); // what another app shares
  const shared = ["title", "text", "url"].map((name) => given.get(name)).filter(Boolean).join("\n");
  if (shared) document.getElementById("text").value = shared;
}
