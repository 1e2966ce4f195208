// The first script of a page in one file: it checks that the file is complete, and runs the page.
// It stands before the data, which are text in UTF-16: two bytes a character (units.py).

(() => {
const PARTS = {{parts}};
const COPY = "Copy or download it again.", DAMAGED = `This file is damaged. ${COPY}`;

function bytesOf(name) {
  const text = document.getElementById(name).textContent;
  const units = new Uint16Array(Math.ceil(PARTS[name].bytes / 2));
  for (let i = 0, n = 0; n < units.length; n++) {
    let unit = text.charCodeAt(i++);
    if (unit === 0x5c) {
      unit = text.charCodeAt(i++);
      unit += unit < 0x200 ? -0x100 : 0x8000;
    }
    units[n] = unit;
  }
  return new Uint8Array(units.buffer, 0, PARTS[name].bytes);
}

async function read(name) {
  const own = bytesOf(name);
  if (!PARTS[name].deflated) return own.slice().buffer;
  try {
    return await new Response(new Blob([own]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  } catch {
    throw new Error(DAMAGED);
  }
}

function fault() {
  for (const [name, { units }] of Object.entries(PARTS)) {
    const found = document.getElementById(name);
    if (!found || found.textContent.length !== units) return `This file is incomplete. ${COPY}`;
  }
  const needed = [globalThis.WebAssembly?.instantiate, globalThis.DecompressionStream, Intl.Segmenter];
  return needed.every(Boolean) ? "" : "This browser cannot run the page: use Chrome 94, Firefox 125, Safari 16.4 or later.";
}

addEventListener("DOMContentLoaded", async () => {
  const start = document.getElementById("start");
  if ((start.textContent = fault())) return;
  try {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await read("page.js"));
    window.yakusu = { read };
    document.getElementById("page").hidden = false;
    document.head.append(script);
  } catch {
    start.textContent = DAMAGED;
  }
});
})();
