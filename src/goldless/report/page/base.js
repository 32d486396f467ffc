// The summary, unpacked, and what all parts of the page need.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const summary = data.summary;
const classes = summary.votes.classes;
const size = summary.voters.length;
const order = summary.order;
const groupNumber = new Map(summary.groups.map((group, number) => [group.name, number]));
const svgSpace = document.querySelector("svg").namespaceURI;

function bytes(text) {
  const raw = atob(text);
  const found = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) found[at] = raw.charCodeAt(at);
  return found;
}
const unpack = (text, kind) => new kind(bytes(text).buffer);

// A matrix from what is below its diagonal.
function full(packed) {
  const below = unpack(packed.below, Int16Array), rows = [];
  for (let i = 0, at = 0; i < size; i++) {
    rows.push(new Array(size).fill(0));
    for (let j = 0; j < i; j++) rows[j][i] = rows[i][j] = Number((below[at++] / 10 ** packed.digits).toFixed(packed.digits));
  }
  return rows;
}
const matrices = {};
for (const [key, packed] of Object.entries(summary.matrices || {})) if (packed) matrices[key] = full(packed);
const within = summary.truth && summary.truth.conditional ? summary.truth.conditional.map(full) : null;
if (within && within.length === 2) {
  [matrices.conditional_negative, matrices.conditional_positive] = within;
} else if (within) {
  const shares = summary.truth.class_shares, total = shares.reduce((a, b) => a + b, 0);
  matrices.conditional = within[0].map((row, i) => row.map((_, j) =>
    Number((within.reduce((sum, matrix, c) => sum + shares[c] * matrix[i][j], 0) / total).toFixed(4))));
}

// Text goes in as text: no name is ever read as markup.
function make(tag, attributes, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") found.className = value;
    else if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else found.setAttribute(name, value);
  }
  found.append(...children.filter((child) => child !== null && child !== undefined));
  return found;
}
function draw(tag, attributes, text) {
  const found = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  if (text !== undefined) found.textContent = text;
  return found;
}
const say = (text) => { byId("said").textContent = text; };
const short = (text, length) => {
  if (text.length <= length) return text;
  const start = length >> 1;
  return text.slice(0, start) + "\u2026" + text.slice(text.length + start + 1 - length);
};
const percent = (share, digits = 1) => {
  if (share === null) return "unknown";
  if (share >= 0.9995 && digits <= 1) return "> 99.9\u00a0%";
  if (share < 0.0005) return "< 0.1\u00a0%";
  return (100 * share).toFixed(digits) + "\u00a0%";
};
const counted = (number) => number.toLocaleString("en");
const colour = (code) => (classes.length === 2 ? "v" + code : "k" + (code % 10));
const groupColour = (name) => (name === null ? "" : "g" + (groupNumber.get(name) % 10));
const swatch = (code) => make("i", { class: colour(code), "aria-hidden": "true" });
const voterLink = (voter) => make("a", {
  class: "id", href: "#voter=" + encodeURIComponent(summary.voters[voter].name), title: summary.voters[voter].name,
}, short(summary.voters[voter].name, 40));
const calm = matchMedia("(prefers-reduced-motion:reduce)");
const show = (element) => element.scrollIntoView({ block: "center", behavior: calm.matches ? "instant" : "smooth" });

const tip = byId("tip");
function place(x, y) {
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18) + "px";
}
