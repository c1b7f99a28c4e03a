// Opening very much: it is laid out in slices, between which the browser draws and listens. Until all of it is there,
// what is seen stays as it is and can be used.

const SLICE = 24; // milliseconds
const QUIET = 150; // milliseconds, before progress is shown
let work = null; // what is under way: what will be open, the layouts that are there already, and how far it is
let inWork = false;

const channel = new MessageChannel();
let next = null;
channel.port1.onmessage = () => next && next();

/** Runs `action` with what will be open, and its layouts, in place of what is seen. */
function within(task, action) {
  const seen = { open, layouts };
  [open, layouts, inWork] = [task.open, task.layouts, true];
  try {
    action();
  } finally {
    [open, layouts, inWork] = [seen.open, seen.layouts, false];
  }
}

/** Opens containers: at once, or where that would take long a slice at a time. */
function openAll(closed) {
  const { rows } = layoutOf(items[0]);
  stopWork();
  if (closed.reduce((sum, item) => sum + amountIn(item), rows) <= MOST_WHOLE) {
    closed.forEach((item) => setOpen(item, true));
    redraw();
    say(`${number(closed.length)} opened`);
    return;
  }
  const task = { open: new Set(open), layouts: new Map(layouts), count: closed.length, view: { ...view }, start: performance.now() };
  within(task, () => closed.forEach((item) => setOpen(item, true)));
  work = task;
  listOfWork();
  say(`Opening ${counted(task.count, "container")}. Press Escape to stop.`);
  next = slice;
  channel.port2.postMessage(0);
}

/** What is to be laid out, the innermost first: an item stands behind what it is in. */
function listOfWork() {
  work.ids = [...work.open].filter((id) => [...around(items[id])].every((outer) => work.open.has(outer.id)));
  work.ids.sort((one, other) => other - one);
  work.at = 0;
}

function slice() {
  if (!work) {
    return;
  }
  const until = performance.now() + SLICE;
  within(work, () => {
    do {
      layoutOf(items[work.ids[work.at]]);
      work.at += 1;
    } while (work.at < work.ids.length && performance.now() < until);
  });
  if (work.at < work.ids.length) {
    showProgress();
    channel.port2.postMessage(0);
  } else {
    finishWork();
  }
}

function finishWork() {
  const { count, view: before } = work;
  const moved = Object.keys(before).some((key) => before[key] !== view[key]);
  const finish = () => [open, layouts] = [work.open, work.layouts];
  if (moved) {
    drawAround(inTheMiddle(), finish); // who looks at something goes on looking at it
    stopWork();
    redraw({ fitted: false });
  } else {
    finish();
    stopWork();
    redraw();
  }
  say(`${number(count)} opened`);
}

/** What stands in the middle of what is seen. */
function inTheMiddle() {
  const { left, top, width, height } = stage.getBoundingClientRect();
  const under = document.elementFromPoint(left + width / 2, top + height / 2);
  const place = under && under.closest(".item, .container") && under.closest(".item, .container").querySelector(".spot[data-item]");
  return place ? items[Number(place.dataset.item)] : selected.item;
}

/** Ends what is under way, of which nothing remains; false where there was nothing. */
function stopWork() {
  const was = work !== null;
  work = null;
  document.getElementById("progress").hidden = true;
  return was;
}

function stopOpening() {
  if (stopWork()) {
    say("Stopped; nothing was opened");
  }
}

function showProgress() {
  const box = document.getElementById("progress");
  box.hidden = performance.now() - work.start < QUIET;
  const [bar, words] = [box.querySelector("progress"), box.querySelector("span")];
  bar.max = work.ids.length;
  bar.value = work.at;
  words.textContent = `Laying out ${number(work.at)} of ${number(work.ids.length)}`;
}

/** What the reader opens or closes meanwhile is so in what will be seen, too. */
function tellWork(item, wanted) {
  if (work && !inWork) {
    within(work, () => {
      if (wanted !== undefined) {
        open[wanted ? "add" : "delete"](item.id);
      }
      forget(item);
    });
    listOfWork();
  }
}
