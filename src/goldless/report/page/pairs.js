// One heat map of all pairs of voters, with names on its axes.
const pairs = (() => {
  const box = byId("map-box");
  if (!box) return null;
  const kind = byId("map-kind"), names = byId("map-names");
  const orange = [222, 98, 20], blue = [38, 120, 200], violet = [124, 77, 199];
  const nameAt = 11; // pixels of a cell from which on names can be read
  let svg = null, mark = null, at = [0, size > 1 ? 1 : 0], geometry = null;

  function picture(map) {
    const matrix = matrices[map.key], canvas = make("canvas", { width: size, height: size });
    const context = canvas.getContext("2d"), image = context.createImageData(size, size);
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) {
      const value = matrix[order[i]][order[j]];
      const share = map.scale > 0 ? Math.min(Math.abs(value) / map.scale, 1) : 0;
      image.data.set([...(value < 0 ? blue : map.signed ? orange : violet), Math.round(255 * share ** 0.7)], 4 * (i * size + j));
    }
    context.putImageData(image, 0, 0);
    return canvas.toDataURL();
  }

  function render() {
    const map = data.maps.find((one) => one.key === kind.value);
    const longest = Math.max(...summary.voters.map((voter) => Math.min(voter.name.length, 22)));
    const margin = Math.min(14 + 6.2 * longest, innerWidth < 640 ? 96 : 150), band = 8;
    const room = Math.max(box.clientWidth, 240);
    let cell = Math.min((room - margin - band) / size, 34);
    const named = cell >= nameAt || names.checked;
    byId("map-names-label").hidden = cell >= nameAt;
    if (names.checked && cell < nameAt) cell = 12;
    else if (!named) cell = Math.min((room - band) / size, 34);
    const left = (named ? margin : 0) + band, top = (named ? margin : 0) + band, side = cell * size;
    geometry = { left, top, cell };
    svg = draw("svg", { width: left + side, height: top + side, viewBox: `0 0 ${left + side} ${top + side}`, tabindex: 0,
      role: "application", "aria-roledescription": "heat map",
      "aria-label": `${map.title} of ${size} by ${size} voters. Arrow keys move from pair to pair, Enter chooses.` });
    svg.append(draw("rect", { class: "ground", x: left, y: top, width: side, height: side }));
    order.forEach((voter, place) => {
      const one = summary.voters[voter], where = (place + 0.5) * cell;
      if (one.group !== null) for (const turned of [false, true]) {
        const along = (turned ? left : top) + place * cell;
        svg.append(draw("rect", { class: "band " + groupColour(one.group), x: turned ? along : left - band, y: turned ? top - band : along,
          width: turned ? cell + 0.3 : band - 2, height: turned ? band - 2 : cell + 0.3 }));
      }
      if (!named) return;
      const text = short(one.name, innerWidth < 640 ? 14 : 22), font = Math.min(11, Math.max(cell - 1, 9));
      const across = draw("text", { x: left - band - 4, y: top + where + font * 0.35, "text-anchor": "end", style: `font-size:${font}px` }, text);
      const up = draw("text", { transform: `translate(${left + where + font * 0.35} ${top - band - 4}) rotate(-90)`, style: `font-size:${font}px` }, text);
      for (const label of [across, up]) { label.append(draw("title", {}, one.name)); svg.append(label); }
    });
    svg.append(draw("image", { x: left, y: top, width: side, height: side, preserveAspectRatio: "none", href: picture(map) }));
    mark = draw("rect", { class: "mark", width: cell, height: cell });
    svg.append(mark);
    box.replaceChildren(svg);
    box.classList.toggle("large", left + side > room + 1);
    byId("map-text").textContent = map.text;
    const key = byId("map-key");
    key.replaceChildren(map.signed ? String(-map.scale) : "0", make("i", { class: map.signed ? "" : "one" }), map.scale + (map.clipped ? " or more" : ""));
    document.querySelector(".pairs").classList.toggle("many", size > 45);
    listen();
  }

  function words(row, column) {
    const one = summary.voters[order[row]], other = summary.voters[order[column]];
    if (row === column) return one.name;
    const same = one.group !== null && one.group === other.group;
    return `${one.name} \u00d7 ${other.name}: ${matrices[kind.value][order[row]][order[column]]}${same ? ", both in group " + one.group : ""}`;
  }
  function point(row, column) {
    at = [row, column];
    tip.textContent = words(row, column);
    tip.classList.add("on");
    svg.classList.add("on");
    mark.setAttribute("x", geometry.left + column * geometry.cell);
    mark.setAttribute("y", geometry.top + row * geometry.cell);
  }
  function hide() { tip.classList.remove("on"); svg.classList.remove("on"); }
  function cellAt(event) {
    const corner = svg.getBoundingClientRect();
    const found = [event.clientY - corner.top - geometry.top, event.clientX - corner.left - geometry.left].map((by) => Math.floor(by / geometry.cell));
    return found.every((place) => place >= 0 && place < size) ? found : null;
  }
  function listen() {
    const move = (event) => {
      const found = cellAt(event);
      if (!found) { hide(); return; }
      point(...found);
      place(event.clientX, event.clientY);
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("click", (event) => { const found = cellAt(event); if (found) choose(order[found[0]], order[found[1]]); });
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { hide(); return; }
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(order[at[0]], order[at[1]]); return; }
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      point(...at.map((where, axis) => Math.max(0, Math.min(size - 1, where + step[axis]))));
      const corner = mark.getBoundingClientRect();
      place(corner.right, corner.bottom);
      say(tip.textContent);
    });
  }

  // The items on which two voters err together, by the combined labels.
  function choose(one, other) {
    const panel = byId("pair");
    if (one === other) { location.hash = "voter=" + encodeURIComponent(summary.voters[one].name); return; }
    const figures = make("dl", {});
    for (const map of data.maps) figures.append(make("dt", {}, map.title), make("dd", {}, String(matrices[map.key][one][other])));
    const parts = [make("h3", {}, voterLink(one), " and ", voterLink(other)), figures];
    if (items) {
      const found = items.matching(items.errTogether(one, other));
      parts.push(make("p", {}, `They err together on ${counted(found.length)} of ${counted(items.count)} items${items.sampled ? " in the table" : ""}: both vote against the combined label.`));
      parts.push(make("ol", {}, ...found.slice(0, 8).map((item) => make("li", {}, items.link(item), ` ${classes[items.label(item)]}, but `,
        items.vote(item, one) === items.vote(item, other) ? `both say ${classes[items.vote(item, one)]}` : `they say ${classes[items.vote(item, one)]} and ${classes[items.vote(item, other)]}`))));
      if (found.length) parts.push(make("button", { type: "button", class: "more", onclick: () => items.showPair(one, other) }, `Show all ${counted(found.length)} in the table`));
    }
    panel.replaceChildren(make("div", { class: "detail" }, ...parts));
    say(`${summary.voters[one].name} and ${summary.voters[other].name} chosen`);
  }

  kind.addEventListener("change", render);
  names.addEventListener("change", render);
  let width = 0;
  new ResizeObserver(() => { if (Math.abs(box.clientWidth - width) > 2) { width = box.clientWidth; render(); } }).observe(box);
  render();
  return { choose, svg: () => svg, kind: () => kind.value };
})();
