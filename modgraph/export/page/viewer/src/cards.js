// Cards, circles, pills and tags: how large they are, and what they look like. Each is drawn once and then moved.

const ROW = 23;
const MARK = 19;
const BAR = 6;
const GAP = 8;
const STATE_FRAME = {
  unregistered: 6, "runtime only": 3, failed: 3, "static only": 3, "never called": 3, unseen: 3, unknown: 3, conditional: 3,
};

const sizes = new Map();
const drawnCards = new Map();

/** Width, height and columns of an item that is closed. */
function sizeOf(item) {
  let size = sizes.get(item.id);
  if (!size) {
    size = item.type === "join" ? { w: 28, h: 28 } : item.type === "pill" ? pillSize(item) : cardSize(item);
    sizes.set(item.id, size);
  }
  return size;
}

function pillSize(item) {
  const text = widthOf(item.title, "title") + (item.detail ? 7 + widthOf(item.detail, "detail") : 0);
  return { w: Math.max(64, text + 34), h: 28 };
}

const rowsOf = (item) => (item.type === "container" ? [rowOf(item, 0)] : item.rows);
const rowMarks = (row) => row.marks || [];
const cardMarks = (item) => (item.type === "card" ? item.marks || [] : []);
const markText = ([state, note]) => {
  const [sign, words] = data.states[state];
  return state === "shared" || state === "again" ? [`${sign} ${words}`, note] : [`${sign} ${words}`.trim(), note];
};

function markWidth(mark) {
  const [words, note] = markText(mark);
  return 24 + widthOf(words, "mark") + widthOf(note, "detail");
}

function cardSize(item) {
  const rows = rowsOf(item);
  let [names, paths, counts, h, widest] = [0, 0, 0, 0, 0];
  for (const [position, row] of rows.entries()) {
    const chevron = item.type === "container" ? 15 : 0;
    const detail = row.detail ? 6 + widthOf(row.detail, "detail") : 0;
    names = Math.max(names, chevron + widthOf(row.title, "title") + detail);
    paths = Math.max(paths, widthOf(row.path, "path"));
    const count = Math.max(...allCounts(row).map((words) => widthOf(words, "detail")));
    counts = Math.max(counts, count + (row.copies ? 10 + badgeWidth(badgeOf(item, position, row.copies)) : 0));
    h += ROW + MARK * rowMarks(row).length;
  }
  const marks = [...rows.flatMap(rowMarks), ...cardMarks(item)];
  h += MARK * cardMarks(item).length;
  widest = Math.max(widest, ...marks.map(markWidth));
  const border = STATE_FRAME[item.state] || 0;
  const content = BAR + GAP + names + (paths ? 10 + paths : 0) + (counts ? 14 + counts : 0) + GAP;
  const w = Math.max(90, Math.ceil(Math.max(content, widest)));
  return { w: w + 2 * border, h: h + 2 * border, inner: w, names, paths, border };
}

const badgeWidth = (text) => widthOf(text, "mark") + 12;

function drawBadge(text, right, middle, parent) {
  const w = badgeWidth(text);
  shape("rect", { class: "badge", x: right - w, y: middle - 8.5, width: w, height: 17, rx: 8.5 }, parent);
  letters(text, "mark", right - w / 2, middle + 4, parent, { class: "on-dark", "text-anchor": "middle" });
}

/** The closed form of an item, drawn around (0, 0) as its upper left corner. */
function drawClosed(item) {
  let group = drawnCards.get(item.id);
  if (!group) {
    group = shape("g", { class: `item ${item.type}`, role: "none" });
    const draw = { join: drawJoin, pill: drawPill }[item.type] || drawCard;
    draw(item, sizeOf(item), group);
    drawnCards.set(item.id, group);
  }
  return group;
}

/** The group of one row: what takes the focus and the click. */
function spot(item, row, parent, label) {
  return shape(
    "g",
    {
      id: `spot-${item.id}-${row}`,
      class: "spot",
      role: "treeitem",
      tabindex: -1,
      "data-item": item.id,
      "data-row": row,
      "data-path": pathOf(item, row),
      "aria-level": item.level + 1,
      "aria-label": label,
      "aria-selected": "false",
      "aria-expanded": isContainer(item) ? "false" : undefined,
    },
    parent,
  );
}

function drawJoin(item, size, group) {
  const place = spot(item, 0, group, `${item.step.word || item.sign}, joins data`);
  shape("circle", { class: "join-ring", cx: 14, cy: 14, r: 13 }, place);
  letters(item.sign, "sign", 14, 19, place, { "text-anchor": "middle" });
  shape("title", {}, place).textContent = [data.signs[item.sign], item.step.name].filter(Boolean).join(" · ");
}

function drawPill(item, size, group) {
  const place = spot(item, 0, group, `${item.title} ${item.detail || ""}`);
  shape("rect", { class: "pill-fill outline", width: size.w, height: size.h, rx: 9 }, place);
  const text = letters("", "title", size.w / 2, 18.5, place, { class: "on-pill", "text-anchor": "middle" });
  shape("tspan", {}, text).textContent = item.title;
  if (item.detail) {
    text.append(" ");
    shape("tspan", { class: "t-detail on-pill", dx: 3.4 }, text).textContent = item.detail;
  }
  shape("title", {}, place).textContent = item.tip || "";
}

function drawCard(item, size, group) {
  const { border, inner } = size;
  let y = border;
  rowsOf(item).forEach((row, position) => {
    const place = spot(item, position, group, rowLabel(item, row, position));
    const top = y;
    y += ROW;
    drawRow(item, row, place, size, top);
    for (const mark of rowMarks(row)) {
      drawMark(mark, border, y, inner, place);
      y += MARK;
    }
    drawFigures(row, place, size, top, badgeOf(item, position, row.copies), group);
  });
  for (const mark of cardMarks(item)) {
    drawMark(mark, border, y, inner, group);
    y += MARK;
  }
  const edge = { x: border, y: border, width: inner, height: y - border };
  shape("rect", { class: "card-border", ...edge }, group);
  drawStateFrame(item.state, edge, group);
}

function rowLabel(item, row, position) {
  const marks = [...rowMarks(row), ...cardMarks(item)].map((mark) => markText(mark).join(" "));
  const copies = row.copies ? alikeText(item, position, row.copies) : "";
  const count = countOf(row) ? `${countOf(row)}${countWords()}` : "";
  return [row.title, row.detail, row.path, ...marks, count, copies].filter(Boolean).join(", ");
}

function drawRow(item, row, place, size, y) {
  const { border, inner, names } = size;
  const look = lookOf(row);
  const classes = `row-fill kind-${look}${row.muted ? " muted" : ""}`;
  shape("rect", { class: classes, x: border, y, width: inner, height: ROW }, place);
  shape("rect", { class: `bar strong-${look}`, x: border, y, width: BAR, height: ROW }, place);
  let x = border + BAR + GAP;
  const text = row.muted ? "faded" : "";
  if (item.type === "container") {
    drawChevron(x, y + ROW / 2, false, place, isContainer(item));
    x += 15;
  }
  letters(row.title, "title", x, y + 16, place, { class: text });
  if (row.detail) {
    letters(row.detail, "detail", x + widthOf(row.title, "title") + 6, y + 16, place, { class: `soft ${text}` });
  }
  if (row.path) {
    letters(row.path, "path", border + BAR + GAP + names + 10, y + 16, place, { class: text });
  }
  shape("rect", { class: "outline", x: border + 1, y: y + 1, width: inner - 2, height: ROW - 2 }, place);
  shape("title", {}, place).textContent = row.tip || "";
}

/** At the right of a row: its parameters or cost, and before its border of how many it is one. */
function drawFigures(row, place, { border, inner }, y, badge, group) {
  let right = border + inner - GAP;
  if (row.copies) {
    drawBadge(badge, right + 2, y + ROW / 2, shape("g", { class: "aside-of-row" }, group));
    right -= badgeWidth(badge) + 8;
  }
  if (countOf(row)) {
    const muted = row.muted ? "faded" : "";
    letters(countOf(row), "detail", right, y + 16, place, { class: `soft ${muted}`, "text-anchor": "end" });
  }
}

function drawChevron(x, middle, open, parent, usable) {
  const d = open ? `M${x} ${middle - 3}h10l-5 6.5z` : `M${x + 1} ${middle - 5}v10l7-5z`;
  return shape("path", { class: usable ? "chevron" : "chevron idle", d }, parent);
}

function drawMark(mark, x, y, width, parent) {
  const [words, note] = markText(mark);
  shape("rect", { class: `mark mark-${mark[0].replace(" ", "-")}`, x, y, width, height: MARK }, parent);
  letters(words, "mark", x + 8, y + 13.5, parent, { class: "on-dark" });
  if (note) {
    letters(note, "detail", x + 15 + widthOf(words, "mark"), y + 13.5, parent, { class: "on-dark" });
  }
}

/** The frame around what prediction and run do not agree on: dashed, dotted, thick or double. */
function drawStateFrame(state, edge, parent) {
  if (!STATE_FRAME[state]) {
    return;
  }
  const name = state.replace(" ", "-");
  const grow = (by) => ({
    x: edge.x - by, y: edge.y - by, width: edge.width + 2 * by, height: edge.height + 2 * by,
  });
  shape("rect", { class: `state-frame frame-${name}`, ...grow(2) }, parent);
  if (state === "unregistered") {
    shape("rect", { class: `state-frame frame-${name}`, ...grow(5) }, parent);
  }
}
