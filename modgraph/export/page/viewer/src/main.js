// The page put together.

const MOST_AT_FIRST = 150; // cards; with more the outermost level alone is open

function build() {
  document.body.classList.remove("no-script");
  document.querySelector("h1").textContent = data.name;
  document.getElementById("subtitle").textContent = data.subtitle;
  const notes = document.getElementById("notes");
  for (const note of data.notes || []) {
    notes.appendChild(document.createElement("li")).textContent = note;
    notes.hidden = false;
  }
  stage = document.getElementById("stage");
  panel = document.getElementById("panel");
  const drawing = shape("svg", { id: "drawing", role: "tree", "aria-label": `Modules of ${data.name}` }, stage);
  const marker = shape("marker", {
    id: "tip", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7.5, markerHeight: 7.5, orient: "auto",
    markerUnits: "userSpaceOnUse",
  }, shape("defs", {}, drawing));
  shape("path", { d: "M0 1.2 10 5 0 8.8z", fill: "context-stroke" }, marker);
  world = shape("g", { id: "world" }, drawing);
  makeSides();
}

/** What `--depth` asks for, else the model's own level and the one below; what holds nothing but a container opens it. */
const openedAtFirst = () => {
  const depth = data.depth === undefined ? 1 : data.depth;
  return items.filter((item) => isContainer(item) && item.in !== undefined && item.level <= depth);
};

/** Opens as much of it as stands there at once; what is asked for beyond that is opened when the page can be used. */
function openAtFirst() {
  const wanted = openedAtFirst();
  const amount = wanted.reduce((sum, item) => sum + amountIn(item), amountIn(items[0]));
  const limit = data.depth === undefined || amount > MOST_WHOLE ? MOST_AT_FIRST : Infinity;
  let drawn = items[0].items.length;
  for (const item of wanted.filter((each) => limit === Infinity || each.level <= 1)) {
    if (isOpen(items[item.in])) {
      drawn += item.items.length;
      if (drawn > limit) {
        break;
      }
      setOpen(item, true);
    }
  }
}

function openTheRest() {
  const closed = data.depth === undefined ? [] : openedAtFirst().filter((item) => !isOpen(item));
  if (closed.length) {
    openAll(closed);
  }
}

function drawLegend() {
  const rows = items.flatMap((item) => item.rows || []);
  const seen = new Set(colouring === KIND ? rows.map((row) => row.kind) : []);
  const legend = document.getElementById("legend");
  legend.replaceChildren();
  const sign = (name, words) => legend.append(tag("li", {}, tag("span", { class: `swatch ${name}` }), ` ${words}`));
  if (colouring !== KIND) {
    const steps = [...new Set([...rows, ...items.map((item) => item.row || {})].map(lookOf))].filter((look) => /^heat/.test(look || "")).sort();
    const swatches = steps.map((look) => tag("span", { class: `swatch kind-${look} strong-${look}` }));
    legend.append(tag("li", {}, `${colouring}: 0 `, ...swatches, ` ${data.measures[measured()][1]} and more`));
  }
  for (const [kind, words] of Object.entries(data.kinds)) {
    if (seen.has(kind)) {
      sign(`kind-${kind} strong-${kind}`, words);
    }
  }
  if (items.some((item) => item.in !== undefined && isContainer(item))) {
    legend.append(tag("li", {}, tag("span", { class: "chevron-sign" }, "▸"), " container"));
  }
  if (items.some((item) => item.copies || (item.rows || []).some((row) => row.copies))) {
    legend.append(tag("li", {}, tag("span", { class: "badge-sign" }, "×N"), " identical"));
  }
  if (data.open) {
    legend.append(tag("li", {}, `dotted: ${data.open}`));
  }
  if (data.turns) {
    legend.append(tag("li", {}, tag("span", { class: "turn-sign", "aria-hidden": "true" }, "→"), ` ${data.turns}`));
  }
  if (data.conditional) {
    legend.append(tag("li", {}, `dashed: ${data.conditional}`));
  }
}

function openMore() {
  const closed = items.filter((item) => isContainer(item) && !isOpen(item) && [...around(item)].every(isOpen));
  openAll(closed);
}

function openEverything() {
  openAll(items.filter((item) => isContainer(item) && !isOpen(item)));
}

function closeAll() {
  stopWork();
  open.clear();
  open.add(0);
  layouts.clear();
  redraw();
}

/** Draws everything anew and shows it; what was selected may be in a closed container now. */
function redraw({ fitted = true } = {}) {
  draw();
  showMatches();
  let visible = selected.item;
  for (const outer of around(selected.item)) {
    if (!isOpen(outer)) {
      visible = outer;
    }
  }
  if (visible !== selected.item) {
    select(visible, 0, { focus: false, move: fitted });
  } else {
    select(selected.item, selected.row, { path: selected.path, focus: false, move: fitted });
  }
  if (fitted) {
    fit();
  }
}

function listenToButtons() {
  const on = (id, action) => document.getElementById(id).addEventListener("click", action);
  on("open-more", openMore);
  on("open-all", openEverything);
  on("close-all", closeAll);
  on("stop", stopOpening);
  on("zoom-in", () => zoomBy(1.25));
  on("zoom-out", () => zoomBy(0.8));
  on("fit", fit);
  on("whole", showWhole);
  on("panel-toggle", () => {
    const hidden = document.body.classList.toggle("no-panel");
    document.getElementById("panel-toggle").setAttribute("aria-expanded", String(!hidden));
  });
  window.addEventListener("hashchange", () => readUrl({}));
  window.addEventListener("resize", showSides);
}

function start() {
  build();
  openAtFirst();
  draw();
  drawColouring();
  drawLegend();
  drawFilters();
  listenToPointer();
  listenToClicks();
  listenToFocus();
  listenToSearch();
  listenToKeys();
  listenToButtons();
  listenToSaving();
  if (matchMedia("(max-width: 760px)").matches) {
    document.getElementById("panel-toggle").click();
  }
  const first = items[items[0].items[0]];
  if (first) {
    const place = spotNode(first, 0);
    place.setAttribute("tabindex", "0"); // the way into the drawing with the Tab key
  }
  showDetails();
  fit();
  if (location.hash.length > 1) {
    readUrl({ focus: false });
  } else if (data.openedAt !== undefined && goTo(data.openedAt, { focus: false })) {
    say(`Opened at ${data.openedAt}`);
  }
  moving = true;
  openTheRest();
}

start();
