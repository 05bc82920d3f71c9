"use strict";
(function () {
  var body = document.body;
  body.classList.add("js");

  function element(tag, text, name) {
    var found = document.createElement(tag);
    if (text !== undefined && text !== null) found.textContent = text;
    if (name) found.className = name;
    return found;
  }

  function data(id) {
    var block = document.getElementById(id);
    return block ? JSON.parse(block.textContent) : null;
  }

  function marked(text, other) {
    // The text with what differs from the other marked, as the templates do it.
    var found = document.createDocumentFragment();
    if (text === other) { found.append(text); return found; }
    var mine = Array.from(text), its = Array.from(other), start = 0, most = Math.min(mine.length, its.length), end = 0;
    while (start < most && mine[start] === its[start]) start++;
    while (end < most - start && mine[mine.length - 1 - end] === its[its.length - 1 - end]) end++;
    found.append(mine.slice(0, start).join(""));
    found.append(element("mark", mine.slice(start, mine.length - end).join("")));
    found.append(mine.slice(mine.length - end).join(""));
    return found;
  }

  function clashBody(clash) {
    // [ids, [cells of s, cells of t], ...] with one cell where both rows say the same.
    var rows = element("tbody", null, "clash");
    clash[0].forEach(function (id, at) {
      var line = rows.insertRow(), name = element("th", id);
      name.scope = "row";
      line.append(name);
      clash.slice(1).forEach(function (cells) {
        var own = cells[Math.min(at, cells.length - 1)], other = cells[cells.length - 1 - Math.min(at, cells.length - 1)];
        var cell = line.insertCell();
        cell.append(clash[0].length > 1 ? marked(own, other) : own);
      });
    });
    return rows;
  }

  function plainBody(line, heads) {
    var rows = element("tbody"), row = rows.insertRow();
    line.slice(0, heads.length).forEach(function (text, at) {
      // What a cell says and should say; where they are to be shown otherwise than they are, that comes behind the line.
      var cell = row.insertCell(), says = line[heads.length] || line.slice(3, 5), side = at - 3;
      cell.dataset.head = heads[at];
      if (side === 0 || side === 1) text = says[side];
      if ((side === 0 || side === 1) && says[0] !== null && says[1] !== null) {
        var whole = element("span"); // which a phone shows in one place
        whole.append(marked(text, says[1 - side]));
        cell.append(whole);
      } else cell.textContent = text === null ? "" : text.length > 200 ? text.slice(0, 199) + "…" : text;
    });
    return rows;
  }

  function Listing(table) {
    // A table whose rows beyond the first are data: searched, sorted and shown some at a time.
    var all = data(table.dataset.source), make = table.dataset.shape === "clash" ? clashBody : plainBody;
    var chosen = all, shown = table.tBodies.length, step = Number(table.dataset.step || 100);
    var more = document.getElementById(table.dataset.source + "-more");
    var heads = Array.prototype.map.call(table.querySelectorAll("thead th"), function (head) { return head.textContent; });

    function draw(from) {
      if (from === 0) while (table.tBodies.length) table.tBodies[0].remove();
      var added = document.createDocumentFragment();
      chosen.slice(from, shown).forEach(function (line) { added.append(make(line, heads)); });
      table.append(added);
      more.hidden = shown >= chosen.length && chosen.length === all.length;
      more.firstElementChild.hidden = shown >= chosen.length;
      more.lastElementChild.textContent = Math.min(shown, chosen.length).toLocaleString("en") + " of " + chosen.length.toLocaleString("en") + (chosen.length < all.length ? " that match" : "");
    }

    this.search = function (text) {
      chosen = text ? all.filter(function (line) { return JSON.stringify(line).toLowerCase().includes(text); }) : all;
      shown = step;
      draw(0);
      return chosen.length;
    };
    this.sort = function (column, descending) {
      var sign = descending ? -1 : 1;
      all.sort(function (a, b) {
        var left = a[column], right = b[column];
        if (left === null || right === null) return (left === null) - (right === null);
        var x = Number(String(left).replace(/,/g, "")), y = Number(String(right).replace(/,/g, ""));
        if (left !== "" && right !== "" && !isNaN(x) && !isNaN(y)) return sign * (x - y);
        return sign * String(left).localeCompare(String(right), "en", { numeric: true });
      });
      chosen = chosen.length === all.length ? all : all.filter(function (line) { return chosen.includes(line); });
      draw(0);
    };
    this.print = function () { var from = shown; if (shown < step) { shown = step; draw(from); } }; // paper has no button
    more.firstElementChild.addEventListener("click", function () { var from = shown; shown += step; draw(from); });
    draw(table.tBodies.length);
    var self = this;
    Array.prototype.forEach.call(table.querySelectorAll("thead th"), function (head, column) {
      if (table.dataset.sortable === undefined) return;
      var button = element("button", head.textContent);
      button.type = "button";
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("thead th").forEach(function (one) { one.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        self.sort(column, down);
      });
    });
  }

  var listings = new Map();
  document.querySelectorAll("table[data-source]").forEach(function (table) { listings.set(table, new Listing(table)); });

  window.addEventListener("beforeprint", function () { listings.forEach(function (listing) { listing.print(); }); });

  var items = Array.prototype.slice.call(document.querySelectorAll("[data-item]"));
  var search = document.getElementById("search"), count = document.getElementById("matches"), wanted = "";
  var chips = Array.prototype.slice.call(document.querySelectorAll("button[data-state]"));

  function filter() {
    var text = search ? search.value.trim().toLowerCase() : "", changed = text !== wanted, seen = 0;
    wanted = text;
    var states = chips.filter(function (chip) { return chip.getAttribute("aria-pressed") === "true"; }).map(function (chip) { return chip.dataset.state; });
    items.forEach(function (item) {
      var matches = !text || item.dataset.item.toLowerCase().includes(text), within = 0;
      item.querySelectorAll("table[data-source]").forEach(function (table) {
        if (changed) table.matching = listings.get(table).search(matches && item.dataset.always === undefined ? "" : text);
        within += table.matching || 0;
      });
      var here = (matches || within > 0) && (!states.length || item.dataset.state === undefined || states.includes(item.dataset.state));
      item.hidden = !here;
      seen += here && item.dataset.state !== undefined ? 1 : 0;
    });
    var some = items.some(function (item) { return !item.hidden; });
    if (count) count.textContent = !some ? "Nothing matches" : text || states.length ? seen.toLocaleString("en") + " shown" : "";
  }

  if (search) search.addEventListener("input", filter);
  chips.forEach(function (chip) {
    chip.addEventListener("click", function () {
      chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") === "true" ? "false" : "true");
      filter();
    });
  });

  var order = document.getElementById("order");
  if (order) order.addEventListener("change", function () {
    var sorted = items.filter(function (item) { return item.dataset.state !== undefined; });
    var by = order.value, place = sorted.length && sorted[0].parentNode;
    sorted.sort(function (a, b) {
      if (by === "name") return a.dataset.name.localeCompare(b.dataset.name, "en");
      return by === "state" ? a.dataset.place - b.dataset.place : Number(b.dataset[by]) - Number(a.dataset[by]);
    });
    sorted.forEach(function (item) { place.append(item); });
  });

  function inFile(line, length) {
    // A line of suspects with the name of its rule alone, and numbers as programs read them.
    var cells = line.slice(0, length);
    if (line[length + 1]) cells[1] = cells[1].slice(0, -line[length + 1]);
    return cells.map(function (text, at) { return at < length - 2 || text === null ? text : text.replace(/,/g, ""); });
  }

  function quoted(value) {
    var text = value === null ? "" : String(value);
    // A spreadsheet takes what begins like this for a formula, and runs it; numbers and dates stay as they are.
    if (/^[=@\t\r]/.test(text) || (/^[+-]/.test(text) && isNaN(Number(text)) && !/^[+-][\d\s.,:()\/-]*$/.test(text))) text = "'" + text;
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  var download = document.getElementById("download");
  if (download) download.addEventListener("click", function () {
    var head = data("suspects-head"), lines = [head].concat(data("suspects").map(function (line) { return inFile(line, head.length); }));
    var text = "\ufeff" + lines.map(function (line) { return line.map(quoted).join(","); }).join("\r\n") + "\r\n";
    var link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = "suspects.csv";
    link.click();
    window.setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  });

  function copy(text, button) {
    function said(word) {
      var before = button.dataset.word || button.textContent;
      button.dataset.word = before;
      button.textContent = word;
      window.setTimeout(function () { button.textContent = before; }, 1500);
    }
    function plainly() {
      var area = element("textarea", text);
      document.body.append(area);
      area.select();
      var done = document.execCommand("copy");
      area.remove();
      said(done ? "Copied" : "Not copied");
    }
    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(function () { said("Copied"); }, plainly);
    else plainly();
  }

  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.addEventListener("click", function () { copy(button.dataset.copy, button); });
  });
  var every = document.getElementById("copy-shown");
  if (every) every.addEventListener("click", function () {
    var texts = items.filter(function (item) { return !item.hidden; }).map(function (item) { return item.querySelector("button[data-copy]").dataset.copy; });
    copy("version: 1\nrules:\n" + texts.join("\n") + "\n", every);
  });

  document.querySelectorAll("table[data-rows]").forEach(function (table) {
    // A table whose rows are all there: sorted by its headings.
    Array.prototype.forEach.call(table.querySelectorAll("thead th[data-sort]"), function (head) {
      var button = element("button", head.textContent), column = head.cellIndex;
      button.type = "button";
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending", sign = down ? -1 : 1;
        table.querySelectorAll("thead th").forEach(function (one) { one.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.prototype.slice.call(table.tBodies[0].rows);
        rows.sort(function (a, b) {
          var x = a.cells[column].dataset.value, y = b.cells[column].dataset.value;
          return head.dataset.sort === "number" ? sign * (Number(x) - Number(y)) : sign * x.localeCompare(y, "en");
        });
        rows.forEach(function (row) { table.tBodies[0].append(row); });
      });
    });
  });

  function follow() {
    // A page that is served asks whether there is a newer one. What it shows stays while nobody answers.
    var told = element("p", "", "note"), since = null;
    told.id = "unanswered";
    told.hidden = true;
    told.setAttribute("role", "status");
    body.prepend(told);
    function missed(why) {
      since = since || new Date();
      told.textContent = "No answer since " + since.toLocaleTimeString() + " (" + why + "). This is the last page that came; a new one will show by itself.";
      told.hidden = false;
    }
    window.setInterval(function () {
      fetch(location.href, { method: "HEAD", cache: "no-store" }).then(function (answer) {
        var version = answer.headers.get("Refute-Version");
        if (!answer.ok || version === null) return missed("the server says " + answer.status);
        if (version !== body.dataset.follows) return location.reload();
        since = null;
        told.hidden = true;
      }).catch(function () { missed("the command does not run"); });
    }, 1000 * Number(body.dataset.seconds));
  }
  if (body.dataset.follows) follow();
})();
