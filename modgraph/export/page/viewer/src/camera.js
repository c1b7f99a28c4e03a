// What part of the drawing is seen: panning, zooming, fitting, and bringing something into view.

const LEAST = 0.05;
const LARGEST = 3;
const view = { x: 0, y: 0, scale: 1 };
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let stage;
let gliding = 0;
let moving = false; // the first view stands at once: a picture may be taken before any frame of a motion is drawn

function look() {
  world.setAttribute("transform", `translate(${round(view.x)} ${round(view.y)}) scale(${view.scale})`);
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
  const scale = Math.min(LARGEST, Math.max(LEAST, view.scale * factor));
  const ratio = scale / view.scale;
  Object.assign(view, { x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio, scale });
  look();
}

const zoomBy = (factor) => zoomAt(stage.clientWidth / 2, stage.clientHeight / 2, factor);

/** The whole drawing; with `readable`, its upper part where the whole would be too small to read. */
function fit(readable) {
  const { w, h } = layoutOf(items[0]);
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const all = Math.min((width - 24) / w, (height - 24) / h, 1.25);
  const scale = Math.max(readable && all < 0.7 ? Math.min(1, (width - 24) / w) : all, LEAST);
  const y = scale > all ? 12 : (height - h * scale) / 2;
  glide({ x: (width - w * scale) / 2, y: Math.max(y, 12), scale });
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
