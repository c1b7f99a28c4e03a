// What part of the drawing is seen: panning, zooming, fitting, and bringing something into view.

const LEAST = 0.05;
const LARGEST = 3;
const READABLE = 8 / 10.5; // at this scale the smallest text of the drawing has 8 pixels
const MARGIN = 12;
const view = { x: 0, y: 0, scale: 1 };
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let stage;
let gliding = 0;
let moving = false; // the first view stands at once: a picture may be taken before any frame of a motion is drawn

function look() {
  world.setAttribute("transform", `translate(${round(view.x)} ${round(view.y)}) scale(${view.scale})`);
  showSides();
  fillSoon();
}

/** Goes to another view, smoothly unless the reader wants no motion. */
function glide(target) {
  cancelAnimationFrame(gliding);
  if (!moving || calm.matches || document.hidden) {
    Object.assign(view, target);
    look();
    return;
  }
  const from = { ...view };
  const start = performance.now();
  const step = (now) => {
    const t = Math.min(1, (now - start) / 220);
    const eased = 1 - (1 - t) ** 3;
    for (const key in target) {
      view[key] = from[key] + (target[key] - from[key]) * eased;
    }
    look();
    if (t < 1) {
      gliding = requestAnimationFrame(step);
    }
  };
  gliding = requestAnimationFrame(step);
}

function zoomAt(x, y, factor) {
  const scale = Math.min(LARGEST, Math.max(Math.min(LEAST, wholeScale()), view.scale * factor));
  const ratio = scale / view.scale;
  Object.assign(view, { x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio, scale });
  look();
}

const zoomBy = (factor) => zoomAt(stage.clientWidth / 2, stage.clientHeight / 2, factor);

/** The scale at which all of the drawing is seen. */
function wholeScale() {
  const { w, h } = layoutOf(items[0]);
  return Math.min((stage.clientWidth - 2 * MARGIN) / w, (stage.clientHeight - 2 * MARGIN) / h, 1.25);
}

/** As much of the drawing as can be read, from its beginning on; all of it where that can be read. */
function fit() {
  const { w, h } = layoutOf(items[0]);
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const all = wholeScale();
  if (all >= READABLE) {
    showWhole();
    return;
  }
  const scale = Math.max(READABLE, Math.min(1, (width - 2 * MARGIN) / w));
  const x = w * scale <= width ? (width - w * scale) / 2 : aroundFirst(w * scale, width, scale);
  const y = h * scale <= height ? (height - h * scale) / 2 : MARGIN;
  glide({ x, y, scale });
  sayWhatIsSeen(x, y, scale);
}

/** All of the drawing, however small. */
function showWhole() {
  const { w, h } = layoutOf(items[0]);
  const scale = wholeScale();
  glide({ x: (stage.clientWidth - w * scale) / 2, y: (stage.clientHeight - h * scale) / 2, scale });
}

/** Of a drawing that is wider than the stage: where it stands so that what comes first is in the middle. */
function aroundFirst(whole, width, scale) {
  const shown = layoutOf(items[0]).nodes.filter((node) => node.item);
  if (!shown.length) {
    return MARGIN;
  }
  const first = shown.reduce((one, other) => (other.y < one.y - 1 ? other : one));
  const level = shown.filter((node) => Math.abs(node.y - first.y) <= 1);
  const middle = level.reduce((sum, node) => sum + node.x, 0) / level.length;
  return Math.min(MARGIN, Math.max(width - MARGIN - whole, width / 2 - middle * scale));
}

// --- where it goes on ----------------------------------------------------------------------------------------------

const SIDES = { left: [1, 0, "at the left"], right: [-1, 0, "at the right"], above: [0, 1, "above"], below: [0, -1, "below"] };
const sides = new Map();

/** The sides at which the drawing goes on beyond what is seen of it, in a view. */
function sidesBeyond({ x, y, scale }) {
  const { w, h } = layoutOf(items[0]);
  const slack = 6;
  const beyond = {
    left: x < -slack, right: x + w * scale > stage.clientWidth + slack,
    above: y < -slack, below: y + h * scale > stage.clientHeight + slack,
  };
  return Object.keys(beyond).filter((side) => beyond[side]);
}

/** A sign at each side where there is more, which goes there. */
function showSides() {
  const beyond = sidesBeyond(view);
  for (const [side, sign] of sides) {
    sign.hidden = !beyond.includes(side);
  }
}

function makeSides() {
  const around = document.getElementById("sides");
  for (const [side, [dx, dy, words]] of Object.entries(SIDES)) {
    const arrow = { left: "◂", right: "▸", above: "▴", below: "▾" }[side];
    const go = () => glide({
      x: view.x + dx * 0.8 * stage.clientWidth, y: view.y + dy * 0.8 * stage.clientHeight, scale: view.scale,
    });
    const sign = tag("button", { type: "button", class: `side ${side}`, hidden: true, "aria-label": `More ${words}`, onclick: go },
      side === "below" || side === "above" ? `${arrow} more` : arrow);
    sides.set(side, sign);
    around.append(sign);
  }
}

function sayWhatIsSeen(x, y, scale) {
  const beyond = sidesBeyond({ x, y, scale }).map((side) => SIDES[side][2]);
  if (beyond.length && moving) {
    say(`Part of the drawing; there is more ${beyond.join(", ")}. Press w for the whole.`);
  }
}

/** Where an item stands in the drawing. */
function placeOf(item) {
  let [x, y, w, h] = [0, 0, 0, 0];
  let inner = item;
  for (const outer of around(item)) {
    const node = nodeFor(outer, nodeMap(layoutOf(outer)), inner.id);
    if (inner === item) {
      [w, h] = [node.w, node.h];
    }
    x += node.x - node.w / 2;
    y += node.y - node.h / 2;
    inner = outer;
  }
  return { x, y, w: w || layoutOf(items[0]).w, h: h || layoutOf(items[0]).h };
}

function nodeMap(layout) {
  if (!layout.byKey) {
    layout.byKey = new Map(layout.nodes.map((node) => [node.item ? node.item.id : node.more || node.key, node]));
  }
  return layout.byKey;
}

/** Brings an item to the middle; one that is too large, its upper edge. */
function centre(item) {
  const { x, y, w, h } = placeOf(item);
  const scale = Math.max(view.scale, 0.75);
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const high = h * scale > height * 0.8 ? y + (height * 0.4) / scale : y + h / 2;
  glide({ x: width / 2 - (x + w / 2) * scale, y: height / 2 - high * scale, scale });
}

/** Moves just as far as is needed to see an item. */
function intoView(item) {
  const { x, y, w, h } = placeOf(item);
  const [left, top] = [x * view.scale + view.x, y * view.scale + view.y];
  const [right, bottom] = [left + w * view.scale, top + Math.min(h, 200) * view.scale];
  const seen = left >= 0 && top >= 0 && right <= stage.clientWidth && bottom <= stage.clientHeight;
  if (!seen) {
    centre(item);
  }
}

/** Draws after a change, so that `item` stays under the pointer. */
function drawAround(item, change) {
  const before = placeOf(item);
  change();
  draw();
  const after = placeOf(item);
  view.x += (before.x - after.x) * view.scale;
  view.y += (before.y - after.y) * view.scale;
  look();
}

function listenToPointer() {
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) {
      view.x -= event.deltaX || event.deltaY;
      look();
      return;
    }
    const box = stage.getBoundingClientRect();
    const lines = event.deltaMode === 1 ? 24 : 1;
    const factor = Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * (event.ctrlKey ? 0.01 : 0.0022));
    zoomAt(event.clientX - box.left, event.clientY - box.top, factor);
  }, { passive: false });
  let held = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0) {
      held = { x: event.clientX, y: event.clientY, moved: false };
    }
  });
  stage.addEventListener("pointermove", (event) => {
    if (!held) {
      return;
    }
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) {
      return;
    }
    if (!held.moved) {
      stage.setPointerCapture(event.pointerId);
      stage.classList.add("dragging");
    }
    view.x += dx;
    view.y += dy;
    held = { x: event.clientX, y: event.clientY, moved: true };
    look();
  });
  const drop = (event) => {
    const dragged = held && held.moved;
    held = null;
    stage.classList.remove("dragging");
    if (dragged && event.type === "pointerup") {
      stage.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
      setTimeout(() => stage.dispatchEvent(new MouseEvent("click")), 0);
    }
  };
  stage.addEventListener("pointerup", drop);
  stage.addEventListener("pointercancel", drop);
}
