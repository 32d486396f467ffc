// A table of all items: only the rows in sight are in the document.
const items = (() => {
  const table = summary.table;
  if (!table) return null;
  const rowHeight = 32, beyond = 6;
  const count = table.n_rows;
  const pattern = unpack(table.patterns, Uint32Array), labels = bytes(table.labels), majority = bytes(table.majority);
  const runnerUp = bytes(table.runner_up), probability = unpack(table.probability, Uint16Array), votes = bytes(table.votes);
  const rows = table.rows ? unpack(table.rows, Uint32Array) : null, truth = table.truth ? unpack(table.truth, Int8Array) : null;
  const bits = table.bits, mask = (1 << bits) - 1, inByte = 8 / bits, width = Math.ceil(size / inByte);

  const name = (item) => (table.names ? table.names[item] : String((rows ? rows[item] : item) + 1));
  const label = (item) => labels[pattern[item]];
  const chance = (item) => probability[pattern[item]] / 65535;
  const voteOf = (row, voter) => ((votes[row * width + Math.floor(voter / inByte)] >> (bits * (voter % inByte))) & mask) - 1;
  const vote = (item, voter) => voteOf(pattern[item], voter);
  const link = (item) => make("a", { class: "id", href: "#item=" + encodeURIComponent(name(item)), title: name(item) }, short(name(item), 40));

  let agreement = null; // votes for the label among those cast, by pattern; made when it is asked for
  function agreeing() {
    if (agreement) return agreement;
    agreement = new Float32Array(table.n_patterns);
    for (let row = 0; row < table.n_patterns; row++) {
      let cast = 0, same = 0;
      for (let voter = 0; voter < size; voter++) {
        const code = voteOf(row, voter);
        if (code >= 0) { cast++; if (code === labels[row]) same++; }
      }
      agreement[row] = cast ? same / cast : 0;
    }
    return agreement;
  }

  const filters = {
    all: () => true,
    differs: (item) => label(item) !== majority[pattern[item]],
    look: (item) => probability[pattern[item]] <= Math.round(65535 * table.doubt_up_to),
    wrong: (item) => truth[item] >= 0 && truth[item] !== label(item),
    mended: (item) => truth[item] >= 0 && truth[item] === label(item) && truth[item] !== majority[pattern[item]],
    spoilt: (item) => truth[item] >= 0 && truth[item] !== label(item) && truth[item] === majority[pattern[item]],
  };
  const ways = {
    against: (voter) => (item) => { const code = vote(item, voter); return code >= 0 && code !== label(item); },
    voted: (voter) => (item) => vote(item, voter) >= 0,
    silent: (voter) => (item) => vote(item, voter) < 0,
  };
  const errTogether = (one, other) => (item) => ways.against(one)(item) && ways.against(other)(item);
  const keys = {
    row: (item) => item,
    label: (item) => label(item),
    probability: (item) => probability[pattern[item]],
    majority: (item) => majority[pattern[item]],
    agree: (item) => agreeing()[pattern[item]],
    truth: (item) => truth[item],
  };
  function matching(test) {
    const found = [];
    for (let item = 0; item < count; item++) if (test(item)) found.push(item);
    return found;
  }

  const search = byId("item-search"), filter = byId("item-filter"), voter = byId("item-voter"), how = byId("item-how");
  const box = byId("item-rows"), space = byId("item-space"), clear = byId("item-clear");
  let pair = null, sort = { by: "row", up: true }, found = matching(filters.all), here = -1, drawn = [-1, -1], lower = null;

  function update() {
    const tests = [filters[filter.value]];
    if (voter.value !== "") tests.push(ways[how.value](Number(voter.value)));
    if (pair) tests.push(errTogether(...pair));
    const wanted = search.value.trim().toLowerCase();
    if (wanted) {
      if (!lower) { lower = new Array(count); for (let item = 0; item < count; item++) lower[item] = name(item).toLowerCase(); }
      tests.push((item) => lower[item].includes(wanted));
    }
    found = matching((item) => tests.every((test) => test(item)));
    const key = keys[sort.by], sign = sort.up ? 1 : -1;
    if (sort.by !== "row" || !sort.up) found.sort((a, b) => sign * (key(a) - key(b)) || a - b);
    byId("item-how-label").hidden = voter.value === "";
    clear.hidden = !pair && voter.value === "" && filter.value === "all" && !wanted;
    const both = pair ? `, on which ${pair.map((one) => summary.voters[one].name).join(" and ")} err together` : "";
    byId("item-count").textContent = (found.length === count ? `${counted(count)} items` : `${counted(found.length)} of ${counted(count)} items`) + both;
    here = -1;
    box.scrollTop = 0;
    space.style.height = found.length * rowHeight + "px";
    byId("item-table").setAttribute("aria-rowcount", found.length + 1);
    paint(true);
  }

  let shades = null;
  function colours() {
    if (shades) return shades;
    const probe = make("i", {});
    byId("item-table").append(probe);
    shades = classes.map((_, code) => {
      probe.className = colour(code);
      return getComputedStyle(probe).backgroundColor.match(/[\d.]+/g).slice(0, 3).map(Number);
    });
    probe.remove();
    return shades;
  }
  function strip(item) {
    const canvas = make("canvas", { width: size, height: 1, role: "img" });
    const context = canvas.getContext("2d"), image = context.createImageData(size, 1), tally = new Array(classes.length).fill(0);
    order.forEach((voter, place) => {
      const code = vote(item, voter);
      if (code >= 0) { image.data.set([...colours()[code], 255], 4 * place); tally[code]++; }
    });
    context.putImageData(image, 0, 0);
    canvas.setAttribute("aria-label", tally.map((votes, code) => `${votes} ${classes[code]}`).filter((_, code) => tally[code]).join(", "));
    return canvas;
  }
  function line(place) {
    const item = found[place], code = label(item), by = majority[pattern[item]];
    const cells = [
      make("div", { role: "rowheader", class: "c-item", title: name(item) }, name(item)),
      make("div", { role: "cell", class: "c-label" }, swatch(code), classes[code]),
      make("div", { role: "cell", class: "c-p" }, percent(chance(item))),
      make("div", { role: "cell", class: "c-major" + (by === code ? "" : " differ") }, by === code ? "same" : "\u2260 " + classes[by]),
      make("div", { role: "cell", class: "c-votes" }, strip(item)),
    ];
    if (truth) cells.push(make("div", { role: "cell", class: "c-truth" + (truth[item] >= 0 && truth[item] !== code ? " differ" : "") }, truth[item] < 0 ? "" : classes[truth[item]]));
    const row = make("div", { class: "row" + (truth ? " truth" : "") + (place === here ? " here" : ""), role: "row", id: "item-row-" + place, "aria-rowindex": place + 2, "data-place": place }, ...cells);
    row.style.top = place * rowHeight + "px";
    return row;
  }
  function paint(anew) {
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - beyond);
    const last = Math.min(found.length, Math.ceil((box.scrollTop + box.clientHeight) / rowHeight) + beyond);
    if (!anew && drawn[0] === first && drawn[1] === last) return;
    drawn = [first, last];
    const lines = [];
    for (let place = first; place < last; place++) lines.push(line(place));
    space.replaceChildren(...lines);
  }
  function go(place) {
    here = Math.max(0, Math.min(found.length - 1, place));
    const top = here * rowHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight - box.clientHeight;
    paint(true);
    box.setAttribute("aria-activedescendant", "item-row-" + here);
    if (here >= 0 && found.length) say(`${name(found[here])}: ${classes[label(found[here])]}`);
  }

  // One item: what was decided, and who voted for what.
  function open(item) {
    const row = pattern[item], facts = make("dl", {},
      make("dt", {}, "Label"), make("dd", {}, swatch(labels[row]), `${classes[labels[row]]}, probability ${percent(chance(item))}`),
      make("dt", {}, "Next"), make("dd", {}, swatch(runnerUp[row]), classes[runnerUp[row]]),
      make("dt", {}, "Majority"), make("dd", {}, classes[majority[row]]));
    if (truth && truth[item] >= 0) facts.append(make("dt", {}, "Truth"), make("dd", {}, classes[truth[item]]));
    for (let code = 0; code < classes.length; code++) {
      const who = order.filter((voter) => voteOf(row, voter) === code);
      if (who.length) facts.append(make("dt", {}, swatch(code), `${classes[code]} (${who.length})`), make("dd", { class: "names" }, ...who.map((one) => make("span", { class: "id" }, chip(one), voterLink(one)))));
    }
    const silent = order.filter((voter) => voteOf(row, voter) < 0).length;
    if (silent) facts.append(make("dt", {}, "no vote"), make("dd", {}, String(silent)));
    byId("item").replaceChildren(make("div", { class: "detail" }, make("h3", {}, link(item)), facts));
    return byId("item");
  }
  const chip = (voter) => {
    const group = summary.voters[voter].group;
    return group === null ? null : make("span", { class: "chip " + groupColour(group) }, group);
  };

  let waiting = false;
  box.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(false); });
  });
  box.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) { here = Number(row.dataset.place); paint(true); open(found[here]); }
  });
  box.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(box.clientHeight / rowHeight) - 1);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + page, PageUp: here - page, Home: 0, End: found.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); go(to); }
    if (event.key === "Enter" && here >= 0 && found.length) { event.preventDefault(); open(found[here]); }
  });
  byId("item-table").querySelectorAll("[data-sort]").forEach((button) => button.addEventListener("click", () => {
    const by = button.dataset.sort;
    sort = { by, up: sort.by === by ? !sort.up : true };
    byId("item-table").querySelectorAll("[aria-sort]").forEach((head) => head.removeAttribute("aria-sort"));
    button.parentElement.setAttribute("aria-sort", sort.up ? "ascending" : "descending");
    update();
    say(`Sorted by ${button.textContent}, ${sort.up ? "ascending" : "descending"}`);
  }));
  for (const control of [filter, voter, how]) control.addEventListener("change", update);
  search.addEventListener("input", update);
  function reset() { search.value = ""; filter.value = "all"; voter.value = ""; pair = null; }
  clear.addEventListener("click", () => { reset(); update(); });
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", () => { shades = null; paint(true); });
  new ResizeObserver(() => paint(false)).observe(box);
  if (truth) byId("item-table").querySelector(".head").classList.add("truth");
  update();

  return {
    count, sampled: table.sampled, name, label, chance, vote, link, matching, errTogether, truth,
    shown: () => found,
    majority: (item) => majority[pattern[item]],
    showPair(one, other) { reset(); pair = [one, other]; update(); show(byId("item-table")); },
    showVoter(one, way) { reset(); voter.value = String(one); how.value = way; update(); show(byId("item-table")); },
    find(wanted) { for (let item = 0; item < count; item++) if (name(item) === wanted) return item; return -1; },
    showItem(item) { reset(); update(); go(found.indexOf(item)); show(open(item)); },
  };
})();
