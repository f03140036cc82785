"use strict";
// Draws the page. Every text of a recording becomes a text node, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const MARGIN_ROWS = 8; // drawn above and below what is seen
const MOST_ENTRIES = 40; // of one component
const MOST_MARKS = 400;
const MOST_FINDINGS = 200;
const KEYS = [
  ["← →", "keyStep"], ["PgUp PgDn", "keyPage"], ["Home End", "keyEnds"], ["n", "keyUid"],
  ["m", "keyType"], ["g", "keyGap"], ["s", "keyScene"], ["?", "keyHelp"],
];

let language = "en";
let sceneAt = 0;
let cursor = null;
let linked = 0; // the timer that writes the place into the address

// -- small things

function text(key, values = {}) {
  return data.strings[key][language].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// What was said in every language, in this one; all else as it is.
function said(value) {
  return value?.[language] ?? value;
}

function el(tag, properties = {}, ...children) {
  const { colour, ...others } = properties;
  const node = Object.assign(document.createElement(tag), others);
  if (colour !== undefined) node.style.setProperty("--colour", colour);
  return put(node, ...children);
}

// Fills a node; of each text, what is visible.
function put(node, ...children) {
  node.replaceChildren(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return node;
}

// Characters that command a terminal or turn the direction of writing are shown by their number.
function visible(string) {
  return string.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (each) => "\\u" + each.charCodeAt(0).toString(16).padStart(4, "0"));
}

function seconds(us) {
  return (us / 1e6).toFixed(6);
}

function colourOf(uids) {
  return uids.length ? `var(--uid-${((uids[0] % 6) + 6) % 6})` : "var(--uid-none)";
}

function uidChip(uid) {
  return el("span", { className: "uid", colour: colourOf([uid]) }, String(uid));
}

function someUids(uids) {
  const shown = uids.slice(0, 3).join(", ");
  return uids.length > 3 ? `${shown} … (${uids.length})` : shown;
}

function gapName(step) {
  return step.gap || text("leftBehind");
}

function nameOf(step) {
  if (step.kind === "gap") return gapName(step);
  return step.kind === "client" ? text(step.title) : step.title;
}

function labelOf(step) {
  const mark = { gap: "⚠ ", fork: "↳ " }[step.kind] ?? "";
  const name = mark + nameOf(step);
  const unrecorded = step.content.some((content) => content.not_recorded) ? [text("notRecorded")] : [];
  return [name, ...(step.uids.length ? [someUids(step.uids)] : []), ...unrecorded].join(" · ");
}

// A finding is at one component, and so is an intervention; all else goes from one to another.
function wayOf(step) {
  return step.target ? `${step.source} → ${step.target}` : text("at", { component: step.source });
}

function spoken(step) {
  const way = wayOf(step);
  return `#${step.number} ${seconds(step.t)} ${way}: ${labelOf(step)}`;
}

// -- the chart: only the rows that are seen exist

const rows = byId("rows");
const sheet = byId("sheet");

function rowHeight() {
  return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
}

function middle(lane) {
  const { lanes } = cursor.scene;
  return (100 * (lanes.indexOf(lane) + 0.5)) / lanes.length;
}

function drawLanes() {
  const names = cursor.scene.lanes.map((lane) => {
    const name = el("span", {}, lane);
    name.style.left = `calc(var(--gutter) + (100% - var(--gutter)) * ${middle(lane) / 100})`;
    return name;
  });
  put(byId("lanes"), ...names);
  sheet.style.height = `${cursor.steps.length * rowHeight()}px`;
}

function wires() {
  const space = el("div", { className: "space" });
  space.setAttribute("aria-hidden", "true");
  for (const lane of cursor.scene.lanes) {
    const wire = el("i", { className: "wire" });
    wire.style.left = `${middle(lane)}%`;
    space.append(wire);
  }
  return space;
}

function drawRow(place, height) {
  const step = cursor.steps[place];
  const row = el("div", { id: `row-${place}`, className: `row ${step.kind}`, colour: colourOf(step.uids) });
  if (step.kind === "gap") row.style.setProperty("--colour", "var(--alarm)");
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", String(place === cursor.at));
  row.setAttribute("aria-posinset", String(place + 1));
  row.setAttribute("aria-setsize", String(cursor.steps.length));
  row.setAttribute("aria-label", visible(spoken(step)));
  row.style.top = `${place * height}px`;
  row.append(el("span", { className: "number" }, `#${step.number}`, el("small", {}, seconds(step.t))));
  const space = el("div", { className: "space" });
  const label = el("span", { className: "label" }, labelOf(step));
  const from = middle(step.source);
  const to = step.target ? middle(step.target) : from;
  label.style.left = `${(from + to) / 2}%`;
  if (!step.target) {
    const spot = el("i", { className: "spot" });
    spot.style.left = `${from}%`;
    space.append(spot);
  } else {
    const arrow = el("i", { className: `arrow ${step.kind}${to < from ? " left" : ""}` });
    arrow.style.left = `${Math.min(from, to)}%`;
    arrow.style.width = `${Math.abs(to - from)}%`;
    space.append(arrow);
  }
  space.append(label);
  row.append(space);
  row.addEventListener("click", () => goTo(place));
  return row;
}

function drawRows() {
  const height = rowHeight();
  const first = Math.max(0, Math.floor(rows.scrollTop / height) - MARGIN_ROWS);
  const count = Math.ceil(rows.clientHeight / height) + 2 * MARGIN_ROWS;
  const drawn = [wires()];
  for (let place = first; place <= Math.min(cursor.last, first + count); place++) {
    drawn.push(drawRow(place, height));
  }
  put(sheet, ...drawn);
  if (byId(`row-${cursor.at}`)) rows.setAttribute("aria-activedescendant", `row-${cursor.at}`);
  else rows.removeAttribute("aria-activedescendant");
  const width = sheet.clientWidth;
  const left = sheet.querySelector(".space").offsetLeft;
  for (const label of sheet.querySelectorAll(".label")) { // one at the edge stays inside
    const half = label.offsetWidth / 2;
    const centre = label.offsetLeft;
    label.style.left = `${Math.max(half - left + 50, Math.min(width - left - half - 4, centre))}px`;
  }
}

function showRow() {
  const height = rowHeight();
  const head = byId("lanes").offsetHeight;
  const top = cursor.at * height;
  const seen = rows.clientHeight - head;
  if (top < rows.scrollTop + height || top + 2 * height > rows.scrollTop + seen) {
    rows.scrollTop = Math.max(0, top - seen / 2);
  }
}

// -- the step

function valueText(told) {
  const value = said(told);
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.map(String).join(", ");
  return JSON.stringify(value, null, 1);
}

function drawContent(step) {
  const shown = [];
  for (const content of step.content) {
    const { type, uid, ...fields } = content;
    if (uid !== undefined) {
      shown.push(el("p", { className: "of-uid" }, uidChip(uid), type && type !== step.title ? ` ${type}` : ""));
    }
    const list = el("dl");
    for (const [name, value] of Object.entries(fields)) {
      if (value !== null) list.append(el("dt", {}, name), el("dd", {}, valueText(value)));
    }
    if (list.childElementCount) shown.push(list);
  }
  put(byId("content"), ...(shown.length ? shown : [el("p", { className: "dim" }, text("nothingMoved"))]));
}

function amount(what, before, after) {
  if (before === after) return [`${what} ${after}`];
  const from = before === undefined ? text("none") : before;
  const to = after === undefined ? text("gone") : after;
  return [el("mark", {}, `● ${what} ${from} → ${to}`)];
}

function drawHolder(name, before, after, step) {
  const changed = new Set(step.changed.filter(([component]) => component === name).map(([, uid]) => uid));
  const uids = [...new Set([...before.keys(), ...after.keys()])].filter((uid) => after.has(uid) || changed.has(uid));
  const rank = (uid) => (changed.has(uid) ? 0 : step.uids.includes(uid) ? 1 : 2);
  uids.sort((a, b) => rank(a) - rank(b) || a - b);
  const card = el("div", { className: `holder${changed.size ? " changed" : ""}` }, el("h4", {}, name));
  const table = el("table");
  for (const uid of uids.slice(0, MOST_ENTRIES)) {
    const old = before.get(uid) ?? {};
    const now = after.get(uid) ?? {};
    const cell = el("td");
    for (const what of new Set([...Object.keys(old), ...Object.keys(now)])) {
      cell.append(el("div", {}, ...amount(what, old[what], now[what])));
    }
    table.append(el("tr", {}, el("td", {}, uidChip(uid)), cell));
  }
  card.append(uids.length ? table : el("p", { className: "dim" }, text("nothing")));
  if (uids.length > MOST_ENTRIES) {
    card.append(el("p", { className: "dim" }, text("more", { count: uids.length - MOST_ENTRIES })));
  }
  return card;
}

function drawCode(step) {
  const places = step.where.map(({ file, line, function: name }, depth) => {
    const summary = el("summary", {}, depth ? `${text("calledBy")} ` : "", el("code", {}, `${file}:${line}`), ` ${name}`);
    const details = el("details", { className: "place", open: depth === 0 }, summary);
    const lines = data.sources[file];
    if (!lines) return el("div", { className: "place" }, summary, text("noSource"));
    const pre = el("pre", { tabIndex: 0 });
    for (let number = line - data.margin; number <= line + data.margin; number++) {
      if (lines[number] === undefined) continue;
      const mark = number === line ? "▶ " : "  ";
      pre.append(el("span", { className: number === line ? "here" : "" }, el("i", {}, mark + number), lines[number] || " "));
    }
    details.append(pre);
    return details;
  });
  put(byId("code"), ...(places.length ? places : [el("p", { className: "dim" }, text("noCode"))]));
}

function drawFinding(step) {
  const box = byId("finding");
  box.hidden = step.kind !== "gap";
  if (box.hidden) return;
  const known = step.content[0];
  put(
    box,
    el("p", {}, el("strong", {}, `⚠ ${text("gapNamed", { name: gapName(step) })}`), ` ${step.claims.join(", ")}`),
    el("p", {}, said(step.note)),
    ...(known ? [el("p", { className: "dim" }, `${said(known.summary)} (${known.code})`)] : []),
  );
}

function whenText(step) {
  const times = [text("leftAt", { time: seconds(step.t) })];
  if (step.arrived !== null) times.push(text("takenIn", { time: seconds(step.arrived) }));
  else if (step.kind === "message") times.push(text("neverTaken"));
  if (step.ended !== null) times.push(text("ended", { time: seconds(step.ended) }));
  return times.join(" · ");
}

function drawStep() {
  const { step } = cursor;
  put(byId("step"), `#${step.number} ${wayOf(step)} · ${nameOf(step)}`);
  const uids = step.uids.slice(0, 12).flatMap((uid) => [" · ", uidChip(uid)]);
  put(byId("when"), whenText(step), ...(uids.length ? uids : [` · ${text("noUid")}`]));
  if (step.note && step.kind !== "gap") byId("when").append(visible(` · ${said(step.note)}`));
  byId("moved").hidden = byId("sender").hidden = step.kind === "gap";
  drawFinding(step);
  drawContent(step);
  const { before, after } = cursor.held();
  put(
    byId("held"),
    ...[...after.keys()].map((name) => drawHolder(name, before.get(name) ?? new Map(), after.get(name), step)),
  );
  drawCode(step);
  for (const button of byId("findings").querySelectorAll("button")) {
    button.setAttribute("aria-current", String(Number(button.dataset.place) === cursor.at));
  }
}

// -- the time line

function drawMarks() {
  const gaps = cursor.steps.flatMap((step, place) => (step.kind === "gap" ? [place] : []));
  const positions = new Set(gaps.map((place) => Math.round((MOST_MARKS * place) / Math.max(1, cursor.last))));
  put(byId("marks"), ...Array.from(positions, (position) => {
    const mark = el("i");
    mark.style.left = `${(100 * position) / MOST_MARKS}%`;
    return mark;
  }));
  const items = gaps.slice(0, MOST_FINDINGS).map((place) => {
    const step = cursor.steps[place];
    const words = `#${step.number} ${gapName(step)} · ${step.source} · uid ${step.uids[0]}: ${said(step.note)}`;
    const button = el("button", { type: "button" }, words);
    button.dataset.place = place;
    button.addEventListener("click", () => goTo(place));
    return el("li", {}, button);
  });
  if (gaps.length > MOST_FINDINGS) items.push(el("li", {}, text("more", { count: gaps.length - MOST_FINDINGS })));
  put(byId("findings"), ...(items.length ? items : [el("li", { className: "dim" }, text("noFindings"))]));
}

const slider = byId("slider");

function update() {
  const { step, scene } = cursor;
  slider.value = cursor.at + 1;
  slider.setAttribute("aria-valuetext", visible(spoken(step)));
  put(byId("title"), said(scene.title));
  const part = { first: scene.steps[0].number, last: scene.steps[cursor.last].number, total: scene.total };
  put(byId("subtitle"), [
    text("stepOf", { number: step.number, total: scene.total }),
    text("gapsOn", { gaps: scene.gaps.join(", ") || text("none") }),
    ...(scene.steps.length < scene.total ? [text("onlyPart", part)] : []),
  ].join(" · "));
  drawStep();
  showRow(); // behind the texts, which decide how much room the rows have
  drawRows();
  for (const [name, place] of Object.entries(targets(1))) {
    document.querySelector(`[data-go="${name}"]`).disabled = place === null || place === cursor.at;
  }
  clearTimeout(linked);
  linked = setTimeout(writeAddress, 300);
}

// -- moving

function targets(direction) {
  return {
    first: 0,
    back: Math.max(0, cursor.at - 1),
    forward: Math.min(cursor.last, cursor.at + 1),
    last: cursor.last,
    uid: cursor.nextOfUid(direction),
    type: cursor.nextOfType(direction),
    gap: cursor.nextGap(direction),
  };
}

function goTo(place) {
  if (cursor.last >= 0 && place !== null && cursor.go(place)) update();
}

function openScene(index, number = 0) {
  sceneAt = (index + data.scenes.length) % data.scenes.length;
  cursor = new Cursor(data.scenes[sceneAt]);
  const place = cursor.steps.findIndex((step) => step.number >= number);
  cursor.go(place < 0 ? cursor.last : place);
  const empty = cursor.steps.length === 0;
  for (const part of document.querySelectorAll("nav, main")) part.hidden = empty;
  byId("scene").value = String(sceneAt);
  document.title = `${visible(said(cursor.scene.title))} · minisgl-tutor`;
  if (empty) {
    put(byId("title"), said(cursor.scene.title));
    put(byId("subtitle"), text("noSteps"));
    return;
  }
  slider.max = cursor.steps.length;
  rows.scrollTop = 0;
  drawLanes();
  drawMarks();
  update();
}

function setLanguage(wanted) {
  language = wanted === "zh" ? "zh" : "en";
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  byId("language").textContent = language === "zh" ? "English" : "中文";
  byId("language").lang = language === "zh" ? "en" : "zh-CN";
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = text(node.dataset.text);
  for (const node of document.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", text(node.dataset.label));
    node.title = text(node.dataset.label);
  }
  byId("held-note").textContent = text("heldNote");
  put(
    byId("key-list"),
    ...KEYS.flatMap(([key, words]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text(words))]),
  );
}

function setTheme(theme) {
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// The address names the place, so that a link leads to a step.
function writeAddress() {
  const place = new URLSearchParams({ scene: cursor.scene.name, step: cursor.step.number, lang: language });
  const { theme } = document.documentElement.dataset;
  if (theme) place.set("theme", theme);
  try {
    history.replaceState(null, "", `#${place}`);
  } catch {
    // A browser that refuses loses only the link.
  }
}

function readAddress() {
  const place = new URLSearchParams(location.hash.slice(1));
  setTheme(place.get("theme"));
  setLanguage(place.get("lang") ?? data.language);
  const index = data.scenes.findIndex((scene) => scene.name === place.get("scene"));
  openScene(Math.max(0, index), Number(place.get("step")) || data.open);
}

const STEPS_BY_KEY = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, PageUp: -10, PageDown: 10 };
const JUMPS_BY_KEY = { n: "uid", m: "type", g: "gap" };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target.matches("select, .place pre")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const direction = event.shiftKey ? -1 : 1;
  if (key in STEPS_BY_KEY) goTo(cursor.at + STEPS_BY_KEY[key]);
  else if (key === "Home") goTo(0);
  else if (key === "End") goTo(cursor.last);
  else if (key in JUMPS_BY_KEY && cursor.step) goTo(targets(direction)[JUMPS_BY_KEY[key]]);
  else if (key === "s") openScene(sceneAt + direction);
  else if (key === "?") byId("keys").showModal();
  else return;
  event.preventDefault();
}

data.scenes.forEach((scene, index) => {
  byId("scene").append(el("option", { value: String(index) }, scene.name));
});
document.addEventListener("keydown", onKey);
slider.addEventListener("input", () => goTo(Number(slider.value) - 1));
byId("scene").addEventListener("change", () => openScene(Number(byId("scene").value)));
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("theme").addEventListener("click", () => {
  setTheme(isDark() ? "light" : "dark");
  if (cursor.step) writeAddress();
});
byId("language").addEventListener("click", () => {
  setLanguage(language === "zh" ? "en" : "zh");
  openScene(sceneAt, cursor.step?.number);
});
for (const button of document.querySelectorAll("[data-go]")) {
  button.addEventListener("click", () => goTo(targets(1)[button.dataset.go]));
}
let waiting = false;
rows.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawRows();
  });
});
addEventListener("resize", () => {
  if (!cursor.step) return;
  drawLanes();
  showRow(); // a row may have another height now, and stand elsewhere
  drawRows();
});
addEventListener("hashchange", readAddress);
readAddress();
