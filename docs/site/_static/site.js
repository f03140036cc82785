"use strict";
// The traces within a page are as light or dark as the page is.

function theme() {
  const { theme: chosen } = document.body.dataset;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// Where its reader has got to; a page that was opened as a file may not ask, and begins again.
function placeIn(frame) {
  try {
    return frame.contentWindow.location.hash.slice(1);
  } catch {
    return "";
  }
}

// A frame gets its address here, with the colour in it. A change while it loads would be lost: it waits for the end.
function colour(frame) {
  if (frame.hasAttribute("src") && !("loaded" in frame.dataset)) return;
  const [file, place] = (frame.getAttribute("src") ?? frame.dataset.src).split("#");
  const options = new URLSearchParams(placeIn(frame) || place);
  if (options.get("theme") === theme()) return;
  options.set("theme", theme());
  frame.src = `${file}#${options}`;
}

function colourOnceLoaded({ target: frame }) {
  frame.dataset.loaded = "";
  colour(frame);
}

function colourAll() {
  document.querySelectorAll("figure.trace iframe").forEach(colour);
}

// A page that was opened as a file may not read others, so there are no excerpts of them in what a search finds.
const asFile = location.protocol === "file:";
if (asFile) DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("p.as-file").forEach((note) => (note.hidden = !asFile));
  document.querySelectorAll("figure.trace iframe").forEach((frame) => frame.addEventListener("load", colourOnceLoaded));
  colourAll();
  new MutationObserver(colourAll).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colourAll);
});
