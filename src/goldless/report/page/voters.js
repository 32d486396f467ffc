// The table of voters: sort, search, and one voter's confusion matrix.
const voters = (() => {
  const table = document.querySelector("table.voters"), body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, number) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort"), text = head.dataset.kind === "text";
      const up = was ? was === "descending" : text;
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = Array.from(body.rows);
      rows.sort((one, other) => {
        const a = one.cells[number].dataset.v, b = other.cells[number].dataset.v;
        if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
        const by = text ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
        return up ? by : -by;
      });
      body.append(...rows);
      say(`Sorted by ${button.textContent}, ${up ? "ascending" : "descending"}`);
    });
  });

  const search = byId("voter-search");
  function filter() {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      const voter = summary.voters[row.dataset.voter];
      row.hidden = !voter.name.toLowerCase().includes(wanted) && !(voter.group !== null && ("group " + voter.group).toLowerCase() === wanted);
      if (!row.hidden) shown++;
    }
    byId("voter-count").textContent = shown === size ? `${size} voters` : `${shown} of ${size} voters`;
  }
  search.addEventListener("input", filter);
  filter();

  // Pr(vote | class), a row for each class: the stronger the colour, the larger the share.
  function confusion(voter) {
    const head = make("tr", {}, make("th", { scope: "col" }, "class"), ...classes.map((label, code) => make("th", { scope: "col" }, swatch(code), short(label, 14))));
    const rows = voter.confusion.map((shares, code) => make("tr", {}, make("th", { scope: "row" }, swatch(code), short(classes[code], 18)), ...shares.map((share, said) => {
      const cell = make("td", { class: said === code ? "right" : "", title: `${classes[code]}: says ${classes[said]} in ${percent(share)}` }, (100 * share).toFixed(0) + "\u00a0%");
      cell.style.setProperty("--v", share);
      return cell;
    })));
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix of " + voter.name },
      make("table", { class: "list confusion" }, make("caption", {}, "What it says (columns) of items of each class (rows), estimated"), make("thead", {}, head), make("tbody", {}, ...rows)));
  }
  function open(number) {
    const voter = summary.voters[number];
    for (const row of body.rows) row.classList.toggle("here", Number(row.dataset.voter) === number);
    const facts = make("dl", {}, make("dt", {}, "Group"), make("dd", {}, voter.group === null ? "alone" : voter.group),
      make("dt", {}, "Balanced accuracy"), make("dd", {}, percent(voter.balanced_accuracy) + " if the model holds" +
        (voter.balanced_accuracy_interval ? `; such voters of real panels: ${voter.balanced_accuracy_interval.map((end) => (100 * end).toFixed(0)).join(" to ")}\u00a0%` : "")));
    const closest = matrices.echo ? order.filter((other) => other !== number && matrices.echo[number][other] > 0).sort((a, b) => matrices.echo[number][b] - matrices.echo[number][a]).slice(0, 5) : [];
    if (closest.length) facts.append(make("dt", {}, "Echoes most"), make("dd", { class: "names" }, ...closest.map((other) => make("span", { class: "id" }, voterLink(other), ` ${matrices.echo[number][other].toFixed(2)}`))));
    const parts = [make("h3", {}, voter.name), facts, voter.confusion ? confusion(voter) : null];
    if (items) {
      const against = items.matching((item) => { const code = items.vote(item, number); return code >= 0 && code !== items.label(item); }).length;
      parts.push(make("p", {}, make("button", { type: "button", class: "more", onclick: () => items.showVoter(number, "against") }, `Show the ${counted(against)} items where it votes against the label`)));
    }
    byId("voter").replaceChildren(make("div", { class: "detail" }, ...parts.filter(Boolean)));
    return byId("voter");
  }
  return {
    find: (name) => summary.voters.findIndex((voter) => voter.name === name),
    show(number) { search.value = ""; filter(); show(open(number)); },
  };
})();
