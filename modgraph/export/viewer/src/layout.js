// Where things stand, one container at a time, innermost first. A container that is open is one box to the container
// around it; data that passes its border does so at a port, so that lines go on where they came in.

const PAD = 14;
const HEAD = 44;
const SIDE_BY_SIDE = 12; // of things that no data reaches
const MOST = 100; // items of one container that are drawn at once
const MOST_PORTS = 6;
const MOST_USERS = 4; // of a source, before they get tags with its name instead of lines

const open = new Set([0]);
const firstShown = new Map();
const layouts = new Map();

/** The layout of an open container is needed anew, and so are those of all around it. */
function forget(container) {
  layouts.delete(container.id);
  for (const outer of around(container)) {
    layouts.delete(outer.id);
  }
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
  const lines = linesOf(container, nodes);
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
  placeLoose(loose, placed, lines);
  return frame(container, [...nodes.values()], lines);
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

/** Lines between nodes; adds ports and tags to the nodes. */
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
    } else {
      found.set(name, { tail, head, net: edge.net, text: edge.label, main: edge.main });
    }
  }
  return withTags([...found.values()], nodes);
}

/** One port for each net, or one for all where they are many. */
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
  return (side, net) => {
    const key = nets[side].size > MOST_PORTS ? side : `${side} ${net}`;
    let node = nodes.get(key);
    if (!node) {
      node = { port: side, key, nets: [], w: 2, h: 1 };
      nodes.set(key, node);
    }
    node.nets.push(net);
    return node;
  };
}

/** A source with many users here keeps one line; the others get a small tag with its name. */
function withTags(lines, nodes) {
  const users = new Map();
  for (const line of lines) {
    const from = `${line.tail.key || (line.tail.item ? line.tail.item.id : line.tail.more)} ${line.net}`;
    if (!users.has(from)) {
      users.set(from, []);
    }
    users.get(from).push(line);
  }
  for (const group of users.values()) {
    const inner = group.filter((line) => !line.head.port);
    if (inner.length <= MOST_USERS) {
      continue;
    }
    const kept = inner.find((line) => line.main) || inner[0];
    for (const line of inner) {
      if (line === kept) {
        continue;
      }
      const text = sourceName(items[line.net]);
      const node = { tagged: text, net: line.net, key: `tag ${nodes.size}`, w: widthOf(text, "label") + 14, h: 18 };
      nodes.set(node.key, node);
      line.tail = node;
      line.text = "";
    }
  }
  return lines;
}

// --- the main path -------------------------------------------------------------------------------------------------

/** Marks the path with most on it; it runs straight, and everything else bends around it. */
function markMain(nodes, lines) {
  const order = topological(nodes, lines);
  const best = new Map(nodes.map((node) => [node, { score: 0, line: null }]));
  for (const node of order) {
    for (const line of node.out) {
      const weight = (line.main ? 10000 : 0) + (line.head.inside ? 8 : 1) + sizeOfWork(line.head);
      const score = best.get(node).score + (node.tagged ? 0 : weight);
      if (score > best.get(line.head).score) {
        best.set(line.head, { score, line });
      }
    }
  }
  lines.forEach((line) => (line.main = false));
  let at = order.reduce((one, other) => (best.get(other).score > best.get(one).score ? other : one), order[0]);
  while (at && best.get(at).line) {
    const { line } = best.get(at);
    line.main = true;
    at = line.tail;
  }
}

const sizeOfWork = (node) => (node.item && node.item.rows ? node.item.rows.length : 1);

function topological(nodes, lines) {
  nodes.forEach((node) => Object.assign(node, { out: [], into: [] }));
  for (const line of lines) {
    line.tail.out.push(line);
    line.head.into.push(line);
  }
  const waiting = new Map(nodes.map((node) => [node, node.into.length]));
  const order = nodes.filter((node) => waiting.get(node) === 0);
  for (let i = 0; i < order.length; i += 1) {
    for (const line of order[i].out) {
      waiting.set(line.head, waiting.get(line.head) - 1);
      if (waiting.get(line.head) === 0) {
        order.push(line.head);
      }
    }
  }
  return order;
}

// --- places --------------------------------------------------------------------------------------------------------

const labelOf = (line) => (line.label ? { w: widthOf(line.label, "label"), h: 14 } : { w: 0, h: 0 });

/** Nodes that follow each other, each fed by the one before alone, need no layout engine. */
function standInLine(nodes, lines) {
  chooseLabels(nodes);
  if (nodes.some((node) => node.into.length > 1 || node.out.length > 1)) {
    return false;
  }
  const starts = nodes.filter((node) => node.into.length === 0);
  if (starts.length !== 1 || topological(nodes, lines).length < nodes.length) {
    return nodes.length === 0;
  }
  let y = 0;
  for (let node = starts[0]; node; node = node.out.length ? node.out[0].head : null) {
    node.x = 0;
    node.y = y + node.h / 2;
    const next = node.out[0];
    const space = next && next.label ? 40 : node.port || (next && next.head.port) ? 16 : 26;
    if (next) {
      next.points = [{ x: 0, y: y + node.h + space / 2 }];
      next.at = next.points[0];
    }
    y += node.h + space;
  }
  return true;
}

/** A shape is written where it differs from the one that came in, once for each source. */
function chooseLabels(nodes) {
  for (const node of nodes) {
    const came = node.into.map((line) => line.text);
    const written = new Set(node.item && node.item.type !== "pill" ? came : []);
    if (node.item && node.item.type === "pill") {
      written.add(node.item.detail);
    }
    for (const line of [...node.out].sort((one, other) => other.main - one.main)) {
      const head = line.head.item;
      const silent = node.port || node.tagged || !line.text || (head && head.type === "pill");
      const joins = head && head.type === "join" && !line.main;
      line.label = silent || joins || line.head.port || written.has(line.text) ? "" : line.text;
      written.add(line.text);
    }
  }
}

function arrange(nodes, lines) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  const ranker = lines.length > 300 ? "longest-path" : "network-simplex";
  graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 34, edgesep: 16, ranker });
  nodes.forEach((node, i) => {
    node.name = String(i);
    graph.setNode(node.name, { width: node.w, height: node.h });
  });
  const ports = nodes.filter((node) => node.port === "in");
  if (ports.length > 1) {
    graph.setNode("top", { width: 1, height: 1 });
    ports.forEach((node) => graph.setEdge("top", node.name, { weight: 20, width: 0, height: 0 }));
  }
  lines.forEach((line, i) => {
    const { w, h } = labelOf(line);
    const weight = line.main ? 12 : line.tail.tagged ? 4 : 1;
    const shape = { weight, width: w ? 2 * w + 14 : 0, height: h, labelpos: "c", minlen: 1 };
    graph.setEdge(line.tail.name, line.head.name, shape, String(i));
  });
  dagre.layout(graph);
  for (const node of nodes) {
    const { x, y } = graph.node(node.name);
    Object.assign(node, { x, y });
  }
  lines.forEach((line, i) => {
    const edge = graph.edge(line.tail.name, line.head.name, String(i));
    line.points = edge.points.slice(1, -1);
    line.at = edge.width ? { x: edge.x, y: edge.y } : line.points[0];
  });
}

/** How far from the middle of a node the data of a net goes in or out. */
function offset(node, side, net) {
  if (!node.inside) {
    return 0;
  }
  const x = node.inside[side].get(net);
  return x === undefined ? 0 : x - node.w / 2;
}

/** Moves each row of the layout sideways as a whole, so that the main path is one straight line. */
function straighten(nodes, lines) {
  const level = (y) => Math.round(y * 4);
  const shifts = new Map();
  let axis = 0;
  const first = nodes.find((node) => node.out.some((line) => line.main) && !node.into.some((line) => line.main));
  for (let node = first, came = null; node; ) {
    const goes = node.out.find((line) => line.main);
    const entry = came ? offset(node, "in", came.net) : goes ? offset(node, "out", goes.net) : 0;
    shifts.set(level(node.y), axis - node.x - entry);
    if (!goes) {
      break;
    }
    axis += offset(node, "out", goes.net) - entry;
    for (const point of goes.points) {
      if (!shifts.has(level(point.y))) {
        shifts.set(level(point.y), axis - point.x);
      }
    }
    came = goes;
    node = goes.head;
  }
  const known = [...shifts.keys()].sort((one, other) => one - other);
  const shiftAt = (y) => {
    const own = shifts.get(level(y));
    if (own !== undefined || !known.length) {
      return own || 0;
    }
    const above = known.filter((each) => each <= level(y));
    return shifts.get(above.length ? above[above.length - 1] : known[0]);
  };
  nodes.forEach((node) => (node.x += shiftAt(node.y)));
  for (const line of lines) {
    const moved = line.points.map((point) => ({ x: point.x + shiftAt(point.y), y: point.y }));
    line.at = line.at && { x: line.at.x + shiftAt(line.at.y), y: line.at.y };
    line.points = moved;
  }
}

/** What stands beside the main path stands at its right, as the titles of frames are at the left. */
function keepTitleFree(nodes, lines) {
  const main = lines.find((line) => line.main);
  if (!main) {
    return;
  }
  const axis = main.tail.x + offset(main.tail, "out", main.net);
  let [left, right] = [0, 0];
  const reach = (x) => {
    left = Math.max(left, axis - x);
    right = Math.max(right, x - axis);
  };
  nodes.forEach((node) => (reach(node.x - node.w / 2), reach(node.x + node.w / 2)));
  lines.forEach((line) => line.points.forEach((point) => reach(point.x)));
  if (left < right + 8) {
    return;
  }
  for (const node of nodes) {
    // An open container is not turned itself: where the main path runs through it, its ports stay on the path.
    const goes = node.out.find((line) => line.main);
    const came = node.into.find((line) => line.main);
    const shift = goes ? offset(node, "out", goes.net) : came ? offset(node, "in", came.net) : 0;
    node.x = 2 * axis - node.x - 2 * shift;
  }
  for (const line of lines) {
    line.points = line.points.map((point) => ({ x: 2 * axis - point.x, y: point.y }));
    line.at = line.at && { x: 2 * axis - line.at.x, y: line.at.y };
  }
}

/** A long line keeps to one lane, the one nearest to the main path that is free all the way. */
function runUpright(nodes, lines) {
  const main = lines.find((line) => line.main);
  const axis = main ? main.tail.x + offset(main.tail, "out", main.net) : 0;
  const taken = [];
  const long = lines.filter((line) => !line.main && line.points.length > 1);
  long.sort((one, other) => one.points.length - other.points.length);
  for (const line of long) {
    const [top, bottom] = [line.points[0].y, line.points[line.points.length - 1].y];
    const places = [...new Set(line.points.map((point) => round(point.x)))];
    places.sort((one, other) => Math.abs(one - axis) - Math.abs(other - axis));
    const isFree = (x) =>
      nodes.every((node) => Math.abs(node.x - x) > node.w / 2 + 6 || node.y - node.h / 2 > bottom || node.y + node.h / 2 < top) &&
      taken.every((lane) => Math.abs(lane.x - x) > 8 || lane.top > bottom || lane.bottom < top);
    const lane = places.find(isFree);
    if (lane !== undefined) {
      line.points.forEach((point) => (point.x = lane));
      taken.push({ x: lane, top, bottom });
    }
  }
}

/** What no data reaches: in columns beside the rest, or alone. */
function placeLoose(loose, placed, lines) {
  const side = loose.filter((node) => !node.port);
  const right = placed.reduce((most, node) => Math.max(most, node.x + node.w / 2), -Infinity);
  const far = lines.reduce((most, line) => Math.max(most, ...line.points.map((point) => point.x + 8)), right);
  const top = placed.length ? Math.min(...placed.filter((n) => !n.port).map((n) => n.y - n.h / 2)) : 0;
  const total = side.reduce((sum, node) => sum + node.h + 14, 0);
  const tallest = Math.max(total / Math.ceil(side.length / SIDE_BY_SIDE), 420);
  let [x, y, widest] = [placed.length ? far + 40 : 0, top, 0];
  for (const node of side) {
    if (y > top && y - top + node.h > tallest + 60) {
      [x, y, widest] = [x + widest + 24, top, 0];
    }
    Object.assign(node, { x: x + node.w / 2, y: y + node.h / 2, into: [], out: [] });
    y += node.h + 14;
    widest = Math.max(widest, node.w);
  }
}

// --- the frame -----------------------------------------------------------------------------------------------------

/** Moves everything to where it stands in the frame, and finds the ports on its border. */
function frame(container, nodes, lines) {
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
  for (const line of lines) {
    line.points.forEach((point) => reach(point.x, bottom));
    if (line.label) {
      reach(line.at.x + 6 + labelOf(line).w, line.at.y);
    }
  }
  const size = titleSize(container);
  const axis = axisOf(nodes, lines, (left + right) / 2) - left + PAD;
  const wanted = isModel ? 0 : Math.min(Math.max(0, size.title + PAD + 10 - axis), 110);
  const badge = size.badge ? Math.max(0, axis + 14 + size.badge + PAD - (right - left + 2 * PAD)) : 0;
  const dx = PAD + wanted - left;
  const dy = head + (isModel ? PAD : 6) - top;
  const needed = isModel ? 0 : Math.min(size.title + size.badge + 2 * PAD + 24, 320);
  const w = Math.max(right - left + 2 * PAD + (badge > 0 ? Math.max(wanted, badge) : wanted), needed);
  const h = bottom - top + head + (isModel ? 2 * PAD : 6 + PAD) + (hasExit(nodes) ? 6 : 0);
  const layout = { container, nodes, lines, w, h, in: new Map(), out: new Map() };
  nodes.forEach((node) => settle(node, dx, dy, h, layout));
  lines.forEach((line) => {
    line.points.forEach((point) => ((point.x += dx), (point.y += dy)));
    if (line.at && !line.points.includes(line.at)) {
      line.at = { x: line.at.x + dx, y: line.at.y + dy };
    }
  });
  return layout;
}

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
    return { title: 0, badge: 0 };
  }
  const [title, detail] = container.frame;
  const width = 12 + Math.max(widthOf(title, "frame"), widthOf(detail, "detail"));
  return { title: width, badge: container.copies ? badgeWidth(container.copies) + 6 : 0 };
}
