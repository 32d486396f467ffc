"use strict";
(function () {
  var data = JSON.parse(document.getElementById("data").textContent);
  var tip = document.getElementById("tip"), said = document.getElementById("said");
  var size = data.names.length;

  function words(key, row, column) {
    if (row === column) return data.names[row];
    var same = data.groups[row] !== null && data.groups[row] === data.groups[column];
    return data.names[row] + " \u00d7 " + data.names[column] + ": " + data.matrices[key][row][column] +
      (same ? ", both in group " + data.groups[row] : "");
  }
  function place(x, y) {
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18) + "px";
  }
  function hide(svg) { tip.classList.remove("on"); if (svg) svg.classList.remove("on"); }

  document.querySelectorAll(".heat svg").forEach(function (svg) {
    var key = svg.dataset.key, image = svg.querySelector("image"), mark = svg.querySelector(".mark");
    var at = [0, size > 1 ? 1 : 0];
    function show(row, column) {
      at = [row, column];
      tip.textContent = words(key, row, column);
      tip.classList.add("on");
      svg.classList.add("on");
      var pad = Number(image.getAttribute("x"));
      mark.setAttribute("x", pad + column);
      mark.setAttribute("y", pad + row);
    }
    function cell(event) {
      var box = image.getBoundingClientRect();
      return [Math.floor((event.clientY - box.top) / box.height * size), Math.floor((event.clientX - box.left) / box.width * size)];
    }
    function move(event) {
      var found = cell(event);
      if (found[0] < 0 || found[1] < 0 || found[0] >= size || found[1] >= size) { hide(svg); return; }
      show(found[0], found[1]);
      place(event.clientX, event.clientY);
    }
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", function () { hide(svg); });
    svg.addEventListener("blur", function () { hide(svg); });
    svg.addEventListener("keydown", function (event) {
      var step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
      if (event.key === "Escape") { hide(svg); return; }
      if (!step) return;
      event.preventDefault();
      show(Math.max(0, Math.min(size - 1, at[0] + step[0])), Math.max(0, Math.min(size - 1, at[1] + step[1])));
      var box = mark.getBoundingClientRect();
      place(box.right, box.bottom);
      said.textContent = tip.textContent;
    });
  });

  document.querySelectorAll("table.voters").forEach(function (table) {
    var body = table.tBodies[0];
    table.querySelectorAll("thead th").forEach(function (head, number) {
      var button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", function () {
        var was = head.getAttribute("aria-sort"), text = head.dataset.kind === "text";
        var up = was ? was === "descending" : text;
        table.querySelectorAll("thead th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        var rows = Array.prototype.slice.call(body.rows);
        rows.sort(function (one, other) {
          var a = one.cells[number].dataset.v, b = other.cells[number].dataset.v;
          if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
          var by = text ? a.localeCompare(b, undefined, {numeric: true}) : a - b;
          return up ? by : -by;
        });
        rows.forEach(function (row) { body.appendChild(row); });
        said.textContent = "Sorted by " + button.textContent + (up ? ", ascending" : ", descending");
      });
    });
  });
})();
