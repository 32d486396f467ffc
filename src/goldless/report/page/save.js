// What can be taken away: tables as CSV and JSON, pictures as PNG and SVG, and the card.
const saved = (() => {
  const file = (summary.title.replace(/\.[a-z0-9]{1,8}$/i, "").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+/, "").slice(0, 60) || "votes");
  function save(name, type, content) {
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    const link = make("a", { href: URL.createObjectURL(blob), download: `${file}-${name}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`Saved ${file}-${name}`);
  }
  const field = (value) => { const text = value === null || value === undefined ? "" : String(value); return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  const csv = (rows) => rows.map((row) => row.map(field).join(",") + "\r\n").join("");

  // A drawing as a file of its own: the page's style goes with it, in light colours.
  function standalone(svg) {
    const copy = svg.cloneNode(true), box = svg.viewBox.baseVal;
    copy.setAttribute("width", svg.getAttribute("width") || 2 * box.width);
    copy.setAttribute("height", svg.getAttribute("height") || 2 * box.height);
    if (svg.id !== "card") {
      const style = draw("style", {}, byId("style").textContent.replace(/@media \(prefers-color-scheme:dark\)/g, "@media not all").replace("color-scheme:light dark", "color-scheme:light")
        .replaceAll("#map-box ", ""));
      copy.prepend(style, draw("rect", { width: "100%", height: "100%", fill: "#fff" }));
    }
    copy.setAttribute("style", "max-width:none;max-height:none;width:auto;height:auto");
    copy.removeAttribute("id");
    return new XMLSerializer().serializeToString(copy);
  }
  function png(svg, scale) {
    const text = standalone(svg), root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const width = Math.round(parseFloat(root.getAttribute("width")) * scale), height = Math.round(parseFloat(root.getAttribute("height")) * scale);
    return new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => {
        const canvas = make("canvas", { width, height });
        canvas.getContext("2d").drawImage(image, 0, 0, width, height);
        canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
      };
      image.onerror = () => reject(new Error("the picture cannot be drawn"));
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    });
  }
  const treeSvg = () => document.querySelector("#tree-box svg");

  function itemRows() {
    return items.shown().map((item) => [items.name(item), classes[items.label(item)], items.chance(item).toFixed(4), classes[items.majority(item)],
      ...(items.truth ? [items.truth[item] < 0 ? "" : classes[items.truth[item]]] : []),
      ...summary.voters.map((_, voter) => { const code = items.vote(item, voter); return code < 0 ? "" : classes[code]; })]);
  }
  const itemHead = () => ["item", "label", "probability", "majority", ...(items.truth ? ["truth"] : []), ...summary.voters.map((voter) => voter.name)];
  function voterRows() {
    const ends = (pair) => pair || ["", ""];
    return [["voter", "group", "balanced_accuracy", "real_panels_low", "real_panels_high", "model_low", "model_high", ...classes.map((label) => "recall of " + label), "coverage", "uniqueness", "panel"],
      ...order.map((number) => summary.voters[number]).map((voter) => [voter.name, voter.group, voter.balanced_accuracy, ...ends(voter.balanced_accuracy_interval), ...ends(voter.balanced_accuracy_model_interval), ...voter.recall, voter.coverage, voter.uniqueness, voter.panel])];
  }
  function mapRows() {
    const matrix = matrices[pairs.kind()], names = order.map((voter) => summary.voters[voter].name);
    return [["", ...names], ...order.map((one, row) => [names[row], ...order.map((other) => (one === other ? "" : matrix[one][other]))])];
  }
  function whole() {
    const found = { ...summary, matrices: summary.matrices && Object.fromEntries(Object.keys(summary.matrices).map((key) => [key, matrices[key] || null])) };
    if (within) found.truth = { ...summary.truth, conditional: within };
    return found;
  }
  async function copyCard() {
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": png(byId("card"), 1) })]);
      say("Copied the card as a picture");
      return "Copied";
    } catch {
      try {
        await navigator.clipboard.writeText(summary.answer.in_short);
        say("Copied the sentence; this browser copies no pictures");
        return "Copied the sentence";
      } catch {
        say("This browser does not let a page copy: save the picture instead");
        return "Save it instead";
      }
    }
  }
  const actions = {
    "items-csv": () => save("items.csv", "text/csv;charset=utf-8", csv([itemHead(), ...itemRows()])),
    "items-json": () => { const head = itemHead(); save("items.json", "application/json", JSON.stringify(itemRows().map((row) => Object.fromEntries(row.map((value, place) => [head[place], value]))))); },
    "voters-csv": () => save("voters.csv", "text/csv;charset=utf-8", csv(voterRows())),
    "summary-json": () => save("report.json", "application/json", JSON.stringify(whole())),
    "map-csv": () => save(`${pairs.kind()}.csv`, "text/csv;charset=utf-8", csv(mapRows())),
    "map-svg": () => save(`${pairs.kind()}.svg`, "image/svg+xml", standalone(pairs.svg())),
    "map-png": async () => save(`${pairs.kind()}.png`, "image/png", await png(pairs.svg(), 2)),
    "tree-svg": () => save("tree.svg", "image/svg+xml", standalone(treeSvg())),
    "tree-png": async () => save("tree.png", "image/png", await png(treeSvg(), 1)),
    "card-svg": () => save("card.svg", "image/svg+xml", standalone(byId("card"))),
    "card-png": async () => save("card.png", "image/png", await png(byId("card"), 1)),
  };
  document.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", async () => {
    const what = button.dataset.save;
    if (what !== "card-copy") { await actions[what](); return; }
    const was = button.textContent;
    button.textContent = await copyCard();
    setTimeout(() => { button.textContent = was; }, 2500);
  }));
  return { whole };
})();
