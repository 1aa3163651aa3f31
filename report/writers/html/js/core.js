"use strict";
// The page of a report. All text goes through textContent: names are never markup. Nothing is
// requested from anywhere: what is shown lies in the elements `data` and `timeline`, deflated.
async function unpack(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const text = atob(element.textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
function make(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {}))
    if (key in e) e[key] = value; else e.setAttribute(key, value);
  e.append(...children);
  return e;
}
function draw(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}
const $ = selector => document.querySelector(selector);
const tip = text => draw("title", {}, text);

// --- numbers beside each other: three digits, and none of a whole number, and a unit ---------------------------------------------
function threeDigits(value, unit) {
  const size = Math.abs(value);
  const text = value.toFixed(size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : Math.min(12, 2 - Math.floor(Math.log10(size))));
  return unit ? text + " " + unit : text;
}
function scaled(value, scales) {
  const [by, unit] = scales.find(([by], i) => i + 1 === scales.length || Math.abs(value) / by < 999.5);
  return threeDigits(value / by, unit);
}
const shownTime = ns => scaled(ns, [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]]);
const shownSI = (value, unit) => scaled(value, [[1, unit], [1e3, "k" + unit], [1e6, "M" + unit], [1e9, "G" + unit], [1e12, "T" + unit], [1e15, "P" + unit], [1e18, "E" + unit]]);
const shownPercent = p => p === null ? "" : p > 0 && p < 0.05 ? "<0.1 %" : p.toFixed(p < 9.95 && p > 0 ? 1 : 0) + " %";
const shownCount = n => n.toLocaleString("en-US");
const counted = (n, noun) => `${shownCount(n)} ${n === 1 ? noun : noun.endsWith("y") ? noun.slice(0, -1) + "ies" : noun + (noun.endsWith("ch") ? "es" : "s")}`;

// --- colours: those of the page's data, on light and on dark ---------------------------------------
const dark = matchMedia("(prefers-color-scheme: dark)");
let colours = [], uses = [], shades = [], phases = []; // by use: computing, communication, copies, causes of idle time; of ranges by depth
const hex = n => "#" + n.toString(16).padStart(6, "0");
const shadeOf = depth => shades[Math.min(depth, shades.length - 1)].map(hex);
const fill = i => `var(--c${i})`, ink = i => `var(--i${i})`;
function setColours() {
  const root = document.documentElement.style;
  colours.forEach(([onLight, onDark, text], i) => {
    root.setProperty("--c" + i, hex(dark.matches ? onDark : onLight));
    root.setProperty("--i" + i, hex(text));
  });
}
function chip(colour, idle) {
  const e = make("span", { className: idle ? "chip idle" : "chip" });
  e.style.backgroundColor = fill(colour);
  return e;
}

// --- a small window that tells what is under the pointer ----------------------------------------
const told = make("div", { className: "told", hidden: true, role: "status" });
function tell(lines, x, y) { // the first line is the name
  told.replaceChildren(...lines.map((line, i) => make("div", { className: i ? "" : "name", textContent: line })));
  told.hidden = false;
  const box = told.getBoundingClientRect();
  told.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  told.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
}
const untell = () => { told.hidden = true; };
function tellsOver(element, lines) { // by pointer and by keyboard
  element.addEventListener("pointermove", e => tell(lines(), e.clientX, e.clientY));
  element.addEventListener("pointerleave", untell);
  element.addEventListener("focus", () => {
    const box = element.getBoundingClientRect();
    if (element.matches(":focus-visible")) tell(lines(), box.left, box.bottom - 10);
  });
  element.addEventListener("blur", untell);
}
