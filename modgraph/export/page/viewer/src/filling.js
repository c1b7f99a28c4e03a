// Of a large drawing only what is seen, and what stands near it, has elements: a container further away is its frame
// and its title. It is filled when it comes into view, a slice at a time, and emptied when it has been left far behind.

const MOST_WHOLE = 600; // rows and other things; a drawing of no more is always whole
const FILL = 16; // milliseconds that are spent on it at a time
const LEAST_HIGH = 60; // pixels; what is smaller on the screen is not filled
let toFill = 0;

const isLarge = () => layoutOf(items[0]).rows > MOST_WHOLE;

/** Draws what belongs into a frame that is empty so far. */
function fill(entry) {
  if (entry.full) {
    return;
  }
  const { layout, lines, inner } = entry;
  fan(layout.lines);
  layout.lines.forEach((line) => drawLine(line, lines));
  layout.back.forEach((way) => drawBack(way, lines));
  for (const node of layout.nodes.filter((each) => !each.port)) {
    const drawn = drawNode(node);
    drawn.setAttribute("transform", `translate(${round(node.x - node.w / 2)} ${round(node.y - node.h / 2)})`);
    inner.appendChild(drawn);
  }
  layout.lines.forEach((line) => drawLabel(line, inner));
  entry.full = true;
}

function empty(entry) {
  entry.lines.replaceChildren();
  entry.inner.replaceChildren();
  entry.full = false;
}

/** Fills the open containers around an item, so that it is there. */
function fillWayTo(item) {
  for (const outer of [item, ...around(item)].reverse()) {
    if (isOpen(outer) && drawnFrames.has(outer.id)) {
      fill(drawnFrames.get(outer.id));
    }
  }
}

/** Fills a small drawing at once, of a large one what is seen. */
function fillSeen() {
  cancelAnimationFrame(toFill);
  toFill = 0;
  if (!isLarge()) {
    fillBelow(items[0], () => true);
    return;
  }
  const until = performance.now() + FILL;
  const kept = new Set([selected.item, ...around(selected.item)]);
  const done = fillBelow(items[0], (item, box) => {
    if (kept.has(item) || isNear(box, 0.25)) {
      return performance.now() < until || "later";
    }
    return isNear(box, 2) ? undefined : false;
  });
  if (chosen) {
    showMatches();
  }
  lightUp(selected.item);
  if (!done) {
    toFill = requestAnimationFrame(fillSeen);
  }
}

/** After the view has changed; false where there is nothing to do. */
function fillSoon() {
  if (!toFill && isLarge()) {
    toFill = requestAnimationFrame(fillSeen);
  }
}

/** Whether a box is seen, or stands within so many screens of what is, and is large enough to show anything. */
function isNear({ x, y, w, h }, screens) {
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const [left, top] = [x * view.scale + view.x, y * view.scale + view.y];
  const [across, down] = [screens * width, screens * height];
  return h * view.scale >= LEAST_HIGH && left < width + across && top < height + down &&
    left + w * view.scale > -across && top + h * view.scale > -down;
}

/** Asks of each open container, from the outermost on, whether it is filled: yes, later, no, or as it is; false if some are
 * to be filled later. */
function fillBelow(model, wanted) {
  let done = true;
  const waiting = [[model, 0, 0]];
  while (waiting.length) {
    const [container, x, y] = waiting.pop();
    const entry = drawnFrames.get(container.id);
    const { w, h } = entry.layout;
    const answer = container === model || wanted(container, { x, y, w, h });
    if (answer === "later" && !entry.full) {
      done = false;
      continue;
    }
    if (answer === false) {
      empty(entry);
      continue;
    }
    if (answer) {
      fill(entry);
    }
    if (entry.full) {
      const open = entry.layout.nodes.filter((node) => node.inside);
      waiting.push(...open.map((node) => [node.item, x + node.x - node.w / 2, y + node.y - node.h / 2]).reverse());
    }
  }
  return done;
}
