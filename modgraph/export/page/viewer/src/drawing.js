// From layouts to shapes. What did not change keeps its elements: they are moved, not drawn again.

const drawnFrames = new Map(); // open containers: the layout that they were drawn from, and their elements
let world;

/** Draws what changed since the last time. */
function draw() {
  const model = drawFrame(items[0]);
  if (world.firstChild !== model) {
    world.replaceChildren(model);
  }
  fillSeen();
}

/** The frame of an open container, with its title; what stands in it is filled in where it is seen. */
function drawFrame(container) {
  const layout = layoutOf(container);
  const known = drawnFrames.get(container.id);
  if (known && known.layout === layout) {
    return known.group;
  }
  const group = shape("g", { class: `container under-${shade(container)}`, role: "none" });
  if (container.in !== undefined) {
    drawBox(container, layout, group);
  }
  const lines = shape("g", { class: "lines", "aria-hidden": "true" }, group);
  if (container.in !== undefined) {
    drawHead(container, layout, group);
  }
  const inner = shape("g", { role: "group", id: `inside-${container.id}` }, group);
  drawnFrames.set(container.id, { layout, group, lines, inner, full: false });
  return group;
}

function drawNode(node) {
  if (node.item) {
    return node.inside ? drawFrame(node.item) : drawClosed(node.item);
  }
  return node.more ? drawMore(node) : drawTag(node);
}

/** Frames are grey and white in turn. */
const shade = (container) => (container.level % 2 ? "odd" : "even");

function drawBox(container, layout, group) {
  const copies = container.copies ? " repeated" : "";
  const edge = { x: 0, y: 0, width: layout.w, height: layout.h };
  shape("rect", { class: `frame ${shade(container)}${copies}`, ...edge }, group);
  drawStateFrame(container.state, { x: 2, y: 2, width: layout.w - 4, height: layout.h - 4 }, group);
}

/** Title of an open container: its name and class, and how to close it. */
function drawHead(container, layout, group) {
  const [title, detail] = [frameTitle(container), detailOf(container)];
  const path = pathOf(container, 0);
  const copies = container.copies ? `, ${alikeText(container, 0, container.copies)}` : "";
  const place = spot(container, 0, group, `${title}, ${detail}${copies}`);
  place.classList.add("head");
  place.setAttribute("aria-expanded", "true");
  place.setAttribute("aria-owns", `inside-${container.id}`);
  const width = Math.min(layout.w - 8, titleSize(container).title + 22);
  shape("rect", { class: "head-hit outline", x: 4, y: 4, width, height: HEAD - 8, rx: 3 }, place);
  drawChevron(PAD - 4, 17, true, place, true);
  letters(title, "frame", PAD + 12, 21, place, { class: "halo" });
  letters(detail, "detail", PAD + 12, 35, place, { class: "soft halo" });
  shape("title", {}, place).textContent = inToldMember(path, container) || title;
  if (container.copies) {
    drawBadge(badgeOf(container, 0, container.copies), layout.w - 10, 20, group);
  }
  (container.marks || []).forEach((mark, i) => drawMark(mark, 1, HEAD + i * MARK - 2, layout.w - 2, group));
}

function drawTag(node) {
  const group = shape("g", { class: "tag", "data-net": node.net });
  shape("rect", { class: "tag-fill", width: node.w, height: node.h, rx: 9 }, group);
  letters(node.tagged, "label", node.w / 2, 12.5, group, { "text-anchor": "middle" });
  shape("title", {}, group).textContent = `from ${pathOf(items[node.net], 0) || node.tagged}`;
  return group;
}

function drawMore(node) {
  const group = shape("g", { class: "item more", role: "none" });
  const id = `more-${node.container.id}-${node.more}`;
  const label = `${node.text}: show them`;
  const place = shape(
    "g",
    { id, class: "spot", role: "treeitem", tabindex: -1, "data-more": node.more, "data-of": node.container.id,
      "aria-label": label, "aria-level": node.container.level + 2 },
    group,
  );
  shape("rect", { class: "more-fill outline", width: node.w, height: node.h, rx: 4 }, place);
  drawChevron(12, node.h / 2, node.more === "after", place, true);
  letters(node.text, "title", 30, 18, place);
  return group;
}

// --- lines ---------------------------------------------------------------------------------------------------------

const round = (value) => Math.round(value * 10) / 10;

/** Lines that end at one closed card arrive beside each other; those of one source leave together. */
function fan(lines) {
  const arriving = new Map();
  const leaving = new Map();
  for (const line of lines) {
    collect(arriving, line.head, line);
    collect(leaving, line.tail, line);
  }
  for (const [node, group] of arriving) {
    spread(group, node, "end", (line) => (line.points.length ? line.points[line.points.length - 1].x : line.tail.x));
  }
  for (const [node, group] of leaving) {
    spread(group, node, "start", (line) => (line.points.length ? line.points[0].x : line.head.x));
  }
}

function spread(group, node, end, place) {
  const sorted = [...group].sort((one, other) => place(one) - place(other));
  const middle = Math.max(0, sorted.findIndex((line) => line.main));
  const step = Math.min(18, (node.w - 24) / Math.max(1, 2 * sorted.length));
  const alone = node.inside || node.port || sorted.length === 1 || (node.item && node.item.type === "join");
  sorted.forEach((line, i) => (line[end] = alone ? 0 : (i - middle) * step));
}

function ends({ tail, head, net, start, end }) {
  const from = tail.port
    ? { x: tail.x, y: tail.border }
    : { x: tail.x + offset(tail, "out", net) + start, y: tail.y + tail.h / 2 };
  const to = head.port
    ? { x: head.x, y: head.border }
    : { x: head.x + offset(head, "in", net) + end, y: head.y - head.h / 2 };
  return [from, to];
}

function drawLine(line, parent) {
  const [from, to] = ends(line);
  const way = [from];
  if (line.tail.port) {
    way.push({ x: from.x, y: line.tail.y });
  }
  way.push(...line.points.filter((point) => point.y > from.y + 2 && point.y < line.head.y - line.head.h / 2 - 2));
  if (line.head.port) {
    way.push({ x: to.x, y: line.head.y });
  }
  const stops = !line.head.port && !line.head.inside;
  let direct = null;
  if (line.head.item && line.head.item.type === "join") {
    direct = towardsCircle(way[way.length - 1], line.head);
    Object.assign(to, direct.to);
  }
  way.push(to);
  const path = shape("path", { class: `line${stateOfLine(line)}`, d: curve(way, direct) }, parent);
  if (stops) {
    path.setAttribute("marker-end", "url(#tip)");
  }
  path.setAttribute("data-net", line.net);
  shape("title", {}, path).textContent = [sourceName(items[line.net]), line.text].filter(Boolean).join(" · ");
}

/** Out below the last node of a turn, back along all of it, and from above into the first of the next. */
function drawBack({ tail, head, lane, words }, parent) {
  const r = 5;
  const [from, to] = [corner(tail, 1), corner(head, -1)];
  const [low, high] = [tail.y + tail.h / 2 + BACK_ROOM, head.y - head.h / 2 - BACK_ROOM];
  const d =
    `M${round(from.x)} ${round(from.y)}V${round(low - r)}q0 ${r} ${-r} ${r}H${round(lane + r)}q${-r} 0 ${-r} ${-r}` +
    `V${round(high + r)}q0 ${-r} ${r} ${-r}H${round(to.x - r)}q${r} 0 ${r} ${r}V${round(to.y)}`;
  const path = shape("path", { class: "line back", d, "marker-end": "url(#tip)" }, parent);
  shape("title", {}, path).textContent = words;
}

/** Where such an arrow meets a node: left of the middle, at its lower border or, with -1, its upper one. */
function corner(node, side) {
  const isCircle = node.item.type === "join";
  const [across, along] = isCircle ? [0.35 * node.w, 0.36 * node.h] : [Math.min(0.3 * node.w, 40), node.h / 2];
  return { x: node.x - across, y: node.y + side * along };
}

function stateOfLine(line) {
  const states = [line.tail, line.head].map((node) => node.item && node.item.state);
  if (states.includes("static only")) {
    return " static";
  }
  if (line.maybe) {
    return " maybe";
  }
  if (line.open) {
    return " open";
  }
  return states[1] === "runtime only" ? " runtime" : "";
}

/** Where a line meets a circle, and the point from which it comes in. */
function towardsCircle(from, node) {
  const [dx, dy] = [from.x - node.x, Math.min(from.y - node.y, -10)];
  const flat = Math.abs(dx) > 60 ? 0.35 : 1;
  const length = Math.hypot(dx, dy * flat) || 1;
  const [ux, uy] = [dx / length, (dy * flat) / length];
  const r = node.w / 2;
  return { to: { x: node.x + ux * r, y: node.y + uy * r }, by: { x: node.x + ux * (r + 26), y: node.y + uy * (r + 26) } };
}

/** A smooth way through points, upright at each of them. */
function curve(points, direct) {
  let d = `M${round(points[0].x)} ${round(points[0].y)}`;
  for (let i = 1; i < points.length; i += 1) {
    const [a, b] = [points[i - 1], points[i]];
    const last = direct && i === points.length - 1;
    if (!last && Math.abs(a.x - b.x) < 0.5) {
      d += `V${round(b.y)}`;
      continue;
    }
    const half = (a.y + b.y) / 2;
    const by = last ? direct.by : { x: b.x, y: half };
    d += `C${round(a.x)} ${round(half)} ${round(by.x)} ${round(by.y)} ${round(b.x)} ${round(b.y)}`;
  }
  return d;
}

function drawLabel(line, parent) {
  if (line.label && line.at) {
    letters(line.label, "label", round(line.at.x + 5), round(line.at.y + 4), parent, { class: "edge-label halo" });
  }
}
