// Where the nodes of one container stand, and how their lines run: the main path is straight, everything else beside it.

const SIDE_BY_SIDE = 12; // in a column of things that no data reaches
const MANY = 80; // lines, with which the best layout would take too long
const MANY_ENDS = 4; // of one open container
const DROP = 34; // from an open container to what hangs below it
const BESIDE = 3; // of them beside one that data reaches

// --- the main path -------------------------------------------------------------------------------------------------

/** Marks the path with most on it; it runs straight, and everything else bends around it. */
function markMain(nodes, lines) {
  const order = topological(nodes, lines);
  const best = new Map(nodes.map((node) => [node, { score: 0, line: null }]));
  for (const node of order) {
    for (const line of node.out) {
      const weight = (line.main ? 10000 : 0) + (line.head.inside ? 8 : 1) + sizeOfWork(line.head);
      const score = best.get(node).score + weight;
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
      const silent = node.port || !line.text || (head && head.type === "pill");
      const joins = head && head.type === "join" && !line.main;
      line.label = silent || joins || line.head.port || written.has(line.text) ? "" : line.text;
      written.add(line.text);
    }
  }
}

function arrange(nodes, lines) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  const many = lines.length > MANY;
  const ranker = many ? "tight-tree" : "network-simplex";
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
    const weight = line.main ? 12 : 1;
    const shape = { weight, width: w ? 2 * w + 14 : 0, height: h, labelpos: "c", minlen: 1 };
    graph.setEdge(line.tail.name, line.head.name, shape, String(i));
  });
  dagre.layout(graph, { disableOptimalOrderHeuristic: many });
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
  return x === undefined ? 0 : x - node.inside.w / 2;
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
  const inlets = nodes.filter((node) => node.port === "in" && Math.abs(node.x - axis) > 8);
  const sides = inlets.reduce((sum, node) => sum + Math.sign(node.x - axis), 0);
  if (sides > 0 || (sides === 0 && left < right + 8)) {
    return;
  }
  // Each row is turned as a whole, so what stands beside an open container stays beside it however far off the middle
  // of the container its ports are; then the rows are moved back until the main path is straight again.
  nodes.forEach((node) => (node.x = -node.x));
  for (const line of lines) {
    line.points = line.points.map((point) => ({ x: -point.x, y: point.y }));
    line.at = line.at && { x: -line.at.x, y: line.at.y };
  }
  straighten(nodes, lines);
}

/** A free lane beside everything that a line passes, on the side where it runs. */
function besideAll(nodes, line, axis, isFree) {
  const [top, bottom] = [line.points[0].y, line.points[line.points.length - 1].y];
  const passed = nodes.filter((node) => node.y - node.h / 2 <= bottom && node.y + node.h / 2 >= top);
  const mean = line.points.reduce((sum, point) => sum + point.x, 0) / line.points.length;
  const side = mean < axis ? -1 : 1;
  const far = passed.reduce((most, node) => Math.max(most, side * node.x + node.w / 2), -Infinity);
  const places = [1, 2, 3, 4, 5, 6].map((place) => side * (far + 6 + place * 10));
  return passed.length ? places.find(isFree) : undefined;
}

/** An open container beside the main path moves to where its data comes in, if there is room. */
function alignFrames(nodes, lines) {
  const isMain = (node) => [...node.into, ...node.out].some((line) => line.main);
  for (const node of nodes.filter((each) => each.inside && !isMain(each) && each.into.length === 1)) {
    const x = node.x - offset(node, "in", node.into[0].net);
    const [top, bottom] = [node.y - node.h / 2 - 4, node.y + node.h / 2 + 4];
    const clear = (place, half) => Math.abs(place - x) > node.w / 2 + half + 8;
    const free =
      nodes.every((other) => other === node || other.y - other.h / 2 > bottom || other.y + other.h / 2 < top || clear(other.x, other.w / 2)) &&
      lines.every((line) => line.points.every((point) => point.y < top || point.y > bottom || clear(point.x, 0)));
    if (free) {
      node.x = x;
    }
  }
}

/** A line from or to something small beside an open container turns above and below the container, not behind it. */
function passFrames(nodes, lines) {
  const level = (node) => Math.round(node.y * 4);
  const rows = new Map();
  nodes.filter((node) => node.inside).forEach((node) => rows.set(level(node), Math.max(rows.get(level(node)) || 0, node.h)));
  for (const line of lines.filter((each) => each.points.length)) {
    const { tail, head, net, points } = line;
    const [below, above] = [tail, head].map((node) => (rows.get(level(node)) || 0) / 2);
    if (below > tail.h / 2) {
      points.unshift({ x: tail.x + offset(tail, "out", net), y: tail.y + below });
    }
    if (above > head.h / 2) {
      points.push({ x: head.x + offset(head, "in", net), y: head.y - above });
    }
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
    const lane = places.find(isFree) ?? besideAll(nodes, line, axis, isFree);
    if (lane !== undefined) {
      line.points.forEach((point) => (point.x = lane));
      taken.push({ x: lane, top, bottom });
    }
  }
}

/** Many ends of an open container, the outputs of its heads: each below where its data comes out, if there is room. */
function hangBelow(nodes, lines) {
  for (const node of nodes.filter((each) => each.inside)) {
    const hung = node.out.filter(({ head }) => head.item && !head.inside && !head.tags && !head.out.length && head.into.length === 1);
    if (hung.length < MANY_ENDS) {
      continue;
    }
    const port = (line) => node.x + offset(node, "out", line.net);
    hung.sort((one, other) => port(one) - port(other));
    const places = sideBySide(hung.map((line) => ({ x: port(line), w: line.head.w })));
    const ends = new Set(hung.map((line) => line.head));
    const [top, bottom] = [node.y + node.h / 2, node.y + node.h / 2 + DROP + Math.max(...[...ends].map((end) => end.h))];
    const [left, right] = [Math.min(...places) - 100, Math.max(...places) + 100];
    const isThere = (x, y) => y > top && y < bottom && x > left && x < right;
    const taken = nodes.some((each) => each !== node && !ends.has(each) && each.y + each.h / 2 > top && each.y - each.h / 2 < bottom &&
      each.x + each.w / 2 > left && each.x - each.w / 2 < right) ||
      lines.some((line) => !hung.includes(line) && line.points.some((point) => isThere(point.x, point.y)));
    if (!taken) {
      hung.forEach((line, i) => {
        Object.assign(line.head, { x: places[i], y: top + DROP + line.head.h / 2 });
        Object.assign(line, { points: [], at: undefined, label: "" });
      });
    }
  }
}

/** Places for things that each want one, in their order, so that none lies on another. */
function sideBySide(wanted) {
  const places = wanted.map(({ x }) => x);
  const apart = (i) => (wanted[i - 1].w + wanted[i].w) / 2 + 8;
  for (let i = 1; i < places.length; i += 1) {
    places[i] = Math.max(places[i], places[i - 1] + apart(i));
  }
  const over = places.reduce((sum, place, i) => sum + place - wanted[i].x, 0) / places.length;
  return places.map((place) => place - over);
}

/** What no data reaches: beside the sibling before it, a few in a row; in columns where nothing is linked. */
function placeLoose(loose, placed, lines, order) {
  const side = loose.filter((node) => !node.port);
  side.forEach((node) => Object.assign(node, { into: [], out: [] }));
  const anchors = placed.filter((node) => !node.port);
  if (!anchors.length) {
    placeInColumns(side);
    return;
  }
  const there = [...anchors];
  let [anchor, top, inRow, tallest] = [null, 0, 0, 0];
  for (const node of side) {
    const before = order.slice(0, order.indexOf(node)).filter((each) => anchors.includes(each)).pop() || anchors[0];
    if (before !== anchor) {
      [anchor, top, inRow, tallest] = [before, before.y - before.h / 2, 0, 0];
    } else if (inRow === BESIDE) {
      [top, inRow, tallest] = [top + tallest + 14, 0, 0];
    }
    node.y = top + node.h / 2;
    node.x = rightOf(there, lines, top - 6, top + node.h + 6, anchor) + 24 + node.w / 2;
    there.push(node);
    inRow += 1;
    tallest = Math.max(tallest, node.h);
  }
}

/** The right edge of all that stands or runs between two heights, and of the anchor. */
function rightOf(nodes, lines, top, bottom, anchor) {
  let right = anchor.x + anchor.w / 2;
  for (const node of nodes) {
    if (node.y - node.h / 2 < bottom && node.y + node.h / 2 > top) {
      right = Math.max(right, node.x + node.w / 2);
    }
  }
  for (const { tail, head, points, label, at } of lines) {
    const way = [tail, ...points, head];
    for (let i = 1; i < way.length; i += 1) {
      if (Math.min(way[i - 1].y, way[i].y) < bottom && Math.max(way[i - 1].y, way[i].y) > top) {
        right = Math.max(right, way[i - 1].x, way[i].x);
      }
    }
    if (label && at.y > top - 8 && at.y < bottom + 8) {
      right = Math.max(right, at.x + 8 + widthOf(label, "label"));
    }
  }
  return right;
}

function placeInColumns(nodes) {
  const total = nodes.reduce((sum, node) => sum + node.h + 14, 0);
  const tallest = Math.max(total / Math.ceil(nodes.length / SIDE_BY_SIDE), 420);
  let [x, y, widest] = [0, 0, 0];
  for (const node of nodes) {
    if (y > 0 && y + node.h > tallest + 60) {
      [x, y, widest] = [x + widest + 24, 0, 0];
    }
    Object.assign(node, { x: x + node.w / 2, y: y + node.h / 2 });
    y += node.h + 14;
    widest = Math.max(widest, node.w);
  }
}
