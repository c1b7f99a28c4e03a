// Where things stand, one container at a time, innermost first. A container that is open is one box to the container
// around it; data that passes its border does so at a port, so that lines go on where they came in.

const PAD = 14;
const HEAD = 44;
const MOST = 60; // items of one container that are drawn at once
const MOST_PORTS = 6;
const TAG = 18;
const LEAD = TAG + 20; // from the upper edge of a tag to the node below it
const LANE = 12; // between two arrows that lead back
const BACK_ROOM = 10; // below the node that they leave, above the one that they lead to
const MOST_USERS = 4; // of a source, before they get tags with its name instead of lines

let open = new Set([0]);
const firstShown = new Map();
let layouts = new Map();

/** The layout of an open container is needed anew, and so are those of all around it. */
function forget(container) {
  layouts.delete(container.id);
  for (const outer of around(container)) {
    layouts.delete(outer.id);
  }
  tellWork(container);
}

const isOpen = (item) => open.has(item.id);

function layoutOf(container) {
  let layout = layouts.get(container.id);
  if (!layout) {
    layout = layOut(container);
    layouts.set(container.id, layout);
  }
  return layout;
}

/** The nodes and lines of a container as they stand in its own coordinates. */
function layOut(container) {
  const nodes = nodesOf(container);
  const { lines, short } = linesOf(container, nodes);
  const linked = new Set(lines.flatMap((line) => [line.tail, line.head]));
  const placed = [...nodes.values()].filter((node) => linked.has(node));
  const loose = [...nodes.values()].filter((node) => !linked.has(node));
  markMain(placed, lines);
  if (!standInLine(placed, lines)) {
    arrange(placed, lines);
  }
  straighten(placed, lines);
  keepTitleFree(placed, lines);
  runUpright(placed, lines);
  alignFrames(placed, lines);
  passFrames(placed, lines);
  hangBelow(placed, lines);
  placeLoose(loose, placed, lines, [...nodes.values()]);
  return frame(container, [...nodes.values()], lines, short);
}

// --- what stands in a container ------------------------------------------------------------------------------------

/** The nodes by key: the number of the item, "before" and "after" for those that are not shown. */
function nodesOf(container) {
  const nodes = new Map();
  const count = container.items.length;
  const start = count > MOST ? firstShown.get(container.id) || 0 : 0;
  const end = Math.min(count, count > MOST ? start + MOST : count);
  if (start > 0) {
    nodes.set("before", moreNode(container, "before", start));
  }
  for (const id of container.items.slice(start, end)) {
    const item = items[id];
    const inside = isContainer(item) && isOpen(item) ? layoutOf(item) : null;
    const { w, h } = inside || sizeOf(item);
    nodes.set(id, { item, inside, w, h });
  }
  if (end < count) {
    nodes.set("after", moreNode(container, "after", count - end));
  }
  return nodes;
}

function moreNode(container, side, count) {
  const text = `${number(count)} ${side === "before" ? "before" : "more"}`;
  return { more: side, container, text, count, w: widthOf(text, "title") + 48, h: ROW + 4 };
}

/** The node that shows an item of the container; one that is not shown is part of "before" or "after". */
function nodeFor(container, nodes, id) {
  const node = nodes.get(id);
  if (node) {
    return node;
  }
  const start = firstShown.get(container.id) || 0;
  return nodes.get(container.items.indexOf(id) < start ? "before" : "after");
}

/** Lines between nodes, and the short ones from tags; adds ports and tags to the nodes. */
function linesOf(container, nodes) {
  const edges = edgesOf(container);
  const port = portsOf(edges, nodes);
  const found = new Map();
  for (const edge of edges) {
    const tail = edge.tail === PORT ? port("in", edge.net) : nodeFor(container, nodes, edge.tail);
    const head = edge.head === PORT ? port("out", edge.net) : nodeFor(container, nodes, edge.head);
    if (tail === head) {
      continue;
    }
    const key = [edge.tail, tail.inside ? edge.net : "", edge.head, head.inside ? edge.net : "", tail.key, head.key];
    const name = key.join(" ");
    const known = found.get(name);
    if (known) {
      known.main = known.main || edge.main;
      known.open = known.open || edge.open;
      known.maybe = known.maybe && edge.maybe && !edge.together;
    } else {
      const { label: text, main, open: doubted, maybe } = edge;
      found.set(name, { tail, head, net: edge.net, text, main, open: doubted, maybe });
    }
  }
  return withTags(container, [...found.values()]);
}

/** One port for each net; one for all where they are many, unless each only leads out, as the outputs of many heads do. */
function portsOf(edges, nodes) {
  const nets = { in: new Set(), out: new Set() };
  for (const edge of edges) {
    if (edge.tail === PORT) {
      nets.in.add(edge.net);
    }
    if (edge.head === PORT) {
      nets.out.add(edge.net);
    }
  }
  const goingOn = new Set(edges.filter((edge) => edge.head !== PORT).map((edge) => edge.tail));
  const onlyOut = edges.every((edge) => edge.head !== PORT || edge.tail === PORT || !goingOn.has(edge.tail));
  const most = { in: MOST_PORTS, out: onlyOut ? MOST : MOST_PORTS };
  return (side, net) => {
    const key = nets[side].size > most[side] ? side : `${side} ${net}`;
    let node = nodes.get(key);
    if (!node) {
      node = { port: side, key, nets: [], w: 2, h: 1 };
      nodes.set(key, node);
    }
    node.nets.push(net);
    return node;
  };
}

/** A source with many users here keeps one line; the others get a small tag with its name, which stands on them. */
function withTags(container, lines) {
  const users = new Map();
  for (const line of lines) {
    const from = `${line.tail.key || (line.tail.item ? line.tail.item.id : line.tail.more)} ${line.net}`;
    collect(users, from, line);
  }
  const short = new Set();
  for (const group of users.values()) {
    const inner = group.filter((line) => !line.head.port);
    if (inner.length > MOST_USERS) {
      const kept = inner.find((line) => line.main) || inner[0];
      inner.filter((line) => line !== kept).forEach((line) => short.add(line));
    }
  }
  for (const line of short) {
    const text = sourceName(seenFrom(container, line.net));
    const tag = { tagged: text, net: line.net, w: widthOf(text, "label") + 14, h: TAG };
    Object.assign(line, { tail: tag, text: "", label: "", points: [], main: false });
    line.head.tags = [...(line.head.tags || []), tag];
  }
  new Set([...short].map((line) => line.head)).forEach(makeRoom);
  return { lines: lines.filter((line) => !short.has(line)), short: [...short] };
}

function collect(groups, key, value) {
  if (!groups.has(key)) {
    groups.set(key, []);
  }
  groups.get(key).push(value);
}

/** A node with tags on it is laid out with them, as one larger box. */
function makeRoom(node) {
  const half = Math.ceil(node.tags.length / 2);
  const width = (tags) => tags.reduce((sum, tag) => sum + tag.w + 6, 10);
  node.own = { w: node.w, h: node.h };
  node.w = Math.max(node.w, 2 * width(node.tags.slice(0, half)), 2 * width(node.tags.slice(half)));
  node.h += LEAD;
}

/** The tags of an open container, each over the port that it belongs to as far as they have room. */
function placeOverPorts(node, top, right) {
  const port = (tag) => node.x + offset(node, "in", tag.net);
  const tags = [...node.tags].sort((one, other) => port(one) - port(other));
  let edge = -Infinity;
  for (const tag of tags) {
    tag.x = Math.max(port(tag), edge + tag.w / 2);
    tag.y = top + TAG / 2;
    edge = tag.x + tag.w / 2 + 6;
  }
  edge = right;
  for (const tag of tags.reverse()) {
    tag.x = Math.min(tag.x, edge - tag.w / 2);
    edge = tag.x - tag.w / 2 - 6;
  }
}

/** The tags to both sides of where the main line comes in, the node itself below them. */
function placeTags(node) {
  const [top, border] = [node.y - node.h / 2, node.x + node.w / 2];
  node.y += LEAD / 2;
  Object.assign(node, node.own);
  if (node.inside) {
    placeOverPorts(node, top, border);
    return;
  }
  const half = Math.ceil(node.tags.length / 2);
  let [left, right] = [node.x - 10, node.x + 10];
  node.tags.forEach((tag, i) => {
    tag.y = top + TAG / 2;
    if (i < half) {
      tag.x = left - tag.w / 2;
      left -= tag.w + 6;
    } else {
      tag.x = right + tag.w / 2;
      right += tag.w + 6;
    }
  });
}

// --- the frame -----------------------------------------------------------------------------------------------------

/** Moves everything to where it stands in the frame, and finds the ports on its border. */
function frame(container, nodes, lines, short) {
  const isModel = container.in === undefined;
  const head = isModel ? 0 : HEAD + MARK * (container.marks || []).length;
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  const reach = (x, y) => {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  };
  const forks = (node) => node.port === "in" && node.out.length > 1;
  for (const node of nodes.filter((each) => !each.port || forks(each))) {
    reach(node.x - node.w / 2, node.y - node.h / 2);
    reach(node.x + node.w / 2, node.y + node.h / 2);
  }
  for (const node of nodes.filter((each) => each.port)) {
    reach(node.x - 4, bottom);
    reach(node.x + 4, bottom);
  }
  for (const line of lines) {
    line.points.forEach((point) => reach(point.x, bottom));
    if (line.label) {
      reach(line.at.x + 6 + labelOf(line).w, line.at.y);
    }
  }
  const back = backOf(container, nodes);
  back.forEach((way) => (way.lane = left -= LANE));
  left -= back.length ? 4 : 0;
  const size = titleSize(container);
  const axis = axisOf(nodes, lines, (left + right) / 2) - left + PAD;
  const wanted = isModel ? 0 : Math.min(Math.max(0, size.title + PAD + 10 - axis), 110);
  const badge = size.badge ? Math.max(0, axis + 14 + size.badge + PAD - (right - left + 2 * PAD)) : 0;
  const dx = PAD + wanted - left;
  const dy = head + (isModel ? PAD : 6) - top;
  const needed = isModel ? 0 : Math.max(size.title + size.badge + 2 * PAD + 24, size.marks + 2);
  const w = Math.max(right - left + 2 * PAD + (badge > 0 ? Math.max(wanted, badge) : wanted), needed);
  const h = bottom - top + head + (isModel ? 2 * PAD : 6 + PAD) + (hasExit(nodes) ? 6 : 0);
  const tagged = nodes.filter((node) => node.tags);
  const tags = tagged.flatMap((node) => node.tags);
  const rows = nodes.reduce((sum, node) => sum + amountOf(node), 0);
  const layout = { container, rows, nodes: [...nodes, ...tags], lines: [...lines, ...short], back, w, h, in: new Map(), out: new Map() };
  nodes.forEach((node) => settle(node, dx, dy, h, layout));
  tagged.forEach(placeTags);
  back.forEach((way) => (way.lane += dx));
  lines.forEach((line) => {
    line.points.forEach((point) => ((point.x += dx), (point.y += dy)));
    if (line.at && !line.points.includes(line.at)) {
      line.at = { x: line.at.x + dx, y: line.at.y + dy };
    }
  });
  return layout;
}

/** What a turn of a loop gives to the next: the nodes at both ends of each arrow that leads back, left of everything. */
function backOf(container, nodes) {
  const shown = (id) => nodes.find((node) => node.item && node.item.id === id);
  return (container.back || [])
    .map(([tail, head, words]) => ({ tail: shown(tail), head: shown(head), words }))
    .filter(({ tail, head }) => tail && head)
    .sort((one, other) => one.tail.y - one.head.y - (other.tail.y - other.head.y));
}

/** How much there is to draw of a node. */
const amountOf = (node) => (node.inside ? node.inside.rows + 1 : node.item && node.item.rows ? node.item.rows.length : 1);

/** How much there is to draw in a container, what is closed in it as it is. */
const amountIn = ({ items: inner }) => inner.reduce((sum, id) => sum + (items[id].rows || [1]).length, 0);

const hasExit = (nodes) => nodes.some((node) => node.port === "out");

function settle(node, dx, dy, h, layout) {
  node.x += dx;
  node.y += dy;
  if (node.port) {
    node.border = node.port === "in" ? 0 : h;
    node.y = Math.min(h, Math.max(0, node.y));
    node.nets.forEach((net) => layout[node.port].set(net, node.x));
  }
}

/** Where the main path runs, or the middle where there is none. */
function axisOf(nodes, lines, middle) {
  const line = lines.find((each) => each.main);
  return line ? line.tail.x + offset(line.tail, "out", line.net) : middle;
}

function titleSize(container) {
  if (container.in === undefined) {
    return { title: 0, badge: 0, marks: 0 };
  }
  const details = allDetails(container).map((words) => widthOf(words, "detail"));
  const width = 12 + Math.max(widthOf(frameTitle(container), "frame"), ...details);
  const marks = Math.max(0, ...(container.marks || []).map(markWidth));
  return { title: width, badge: container.copies ? badgeWidth(badgeOf(container, 0, container.copies)) + 6 : 0, marks };
}
