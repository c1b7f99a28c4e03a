// What is selected, and what is open. A selection is an item, a row of it, and the path of a module: a row that stands
// for several alike modules can be selected as each of them.

const selected = { item: items[0], row: 0, path: "" };

const spotNode = (item, row) => document.getElementById(`spot-${item.id}-${row}`);

function toggle(item, wanted = !isOpen(item)) {
  if (!isContainer(item) || wanted === isOpen(item) || item.in === undefined) {
    return;
  }
  drawAround(item, () => setOpen(item, wanted));
  select(item, 0, { path: selectedPath(item) });
  say(`${rowOf(item, 0).title} ${pathOf(item, 0) || ""} ${wanted ? "opened" : "closed"}`);
}

const selectedPath = (item) => (selected.item === item ? selected.path : toldPath(item, 0));

function setOpen(item, wanted) {
  if (wanted) {
    open.add(item.id);
    const only = item.items.length === 1 ? items[item.items[0]] : null;
    if (only && isContainer(only)) {
      setOpen(only, true);
    }
  } else {
    open.delete(item.id);
  }
  tellWork(item, wanted);
  forget(item);
}

/** Opens what is around an item, so that it is drawn; draws nothing where that is so already, unless it is `changed`. */
function openWayTo(item, changed = false) {
  let inner = item;
  for (const outer of around(item)) {
    if (!isOpen(outer)) {
      open.add(outer.id);
      tellWork(outer, true);
      forget(outer);
      changed = true;
    }
    changed = showInList(outer, inner) || changed;
    inner = outer;
  }
  if (changed) {
    draw();
    showMatches();
  }
}

/** Of a long container only some items are drawn: moves them so that `inner` is among them. */
function showInList(outer, inner) {
  if (outer.items.length <= MOST) {
    return false;
  }
  const place = outer.items.indexOf(inner.id);
  const start = firstShown.get(outer.id) || 0;
  if (place >= start && place < start + MOST) {
    return false;
  }
  showFrom(outer, place - MOST / 2);
  return true;
}

function showFrom(container, start) {
  firstShown.set(container.id, Math.max(0, Math.min(start, container.items.length - MOST)));
  forget(container);
}

/** The next or the earlier items of a long container. */
function turnPage(container, side) {
  const start = firstShown.get(container.id) || 0;
  const from = side === "after" ? start + MOST : start - MOST;
  showFrom(container, from);
  draw();
  const first = firstShown.get(container.id);
  const at = container.items[side === "after" ? first : Math.min(start, first + MOST) - 1];
  select(items[at], 0, { middle: true });
}

/** Selects a row: its details are shown, it has the focus, and the URL names it. */
function select(item, row, { path, middle = false, focus = true, url = true, move = true } = {}) {
  const before = spotNode(selected.item, selected.row);
  if (before) {
    before.classList.remove("selected");
    before.setAttribute("aria-selected", "false");
    before.setAttribute("tabindex", "-1");
  }
  const changed = tellOf(item, row, path);
  Object.assign(selected, { item, row, path: path !== undefined ? path : toldPath(item, row) });
  openWayTo(item, changed);
  fillWayTo(item);
  const node = spotNode(item, row);
  if (node) {
    node.classList.add("selected");
    node.setAttribute("aria-selected", "true");
    node.setAttribute("tabindex", "0");
    if (focus) {
      node.focus({ preventScroll: true });
    }
  }
  if (item.in !== undefined && move) {
    (middle ? centre : intoView)(item);
  }
  lightUp(item);
  showDetails();
  if (url) {
    writeUrl();
  }
}

/** Selects a module by its path, opening the way to it. */
function goTo(path, options = {}) {
  const module = moduleAt.get(path);
  if (!module) {
    return false;
  }
  const item = items[module.item];
  select(item, item.type === "card" ? module.row || 0 : 0, { path, middle: true, ...options });
  return true;
}

/** The lines of what is selected stand out, to the ends of the way through all frames. */
function lightUp(item) {
  for (const line of world.querySelectorAll(".line.lit")) {
    line.classList.remove("lit");
  }
  if (!isContainer(item) || !isOpen(item)) {
    for (const line of world.querySelectorAll(".line")) {
      const source = items[Number(line.dataset.net)];
      line.classList.toggle("lit", source === item || [...around(source)].includes(item));
    }
  }
}

function writeUrl() {
  try {
    history.replaceState(null, "", selected.path === undefined ? "#" : addressOf(selected.path));
  } catch {
    // A page inside a frame without an address of its own has no URL to write to.
  }
}

function readUrl(options) {
  let path = location.hash.slice(1);
  try {
    path = decodeURIComponent(path);
  } catch {
    // Not encoded by us: taken as it stands.
  }
  if (path && !goTo(path, { url: false, ...options })) {
    say(`No module ${path}`);
  }
}

function say(text) {
  document.getElementById("said").textContent = text;
}

/** What the Tab key brings the focus to is selected, so that the arrows go on from there. */
function listenToFocus() {
  stage.addEventListener("focusin", (event) => {
    const place = event.target.closest(".spot[data-item]");
    if (place && place.matches(":focus-visible") && !place.classList.contains("selected")) {
      select(items[Number(place.dataset.item)], Number(place.dataset.row), { focus: false });
    }
  });
}

function listenToClicks() {
  stage.addEventListener("click", (event) => {
    const tagged = event.target.closest("[data-net].tag");
    if (tagged) {
      const item = items[Number(tagged.dataset.net)];
      select(item, item.type === "card" ? item.rows.length - 1 : 0, { middle: true });
      return;
    }
    const place = event.target.closest(".spot");
    if (!place) {
      return;
    }
    if (place.dataset.more) {
      turnPage(items[Number(place.dataset.of)], place.dataset.more);
      return;
    }
    const item = items[Number(place.dataset.item)];
    const row = Number(place.dataset.row);
    if (isContainer(item)) {
      const same = selected.item === item;
      select(item, row, { path: same ? selected.path : undefined });
      if (!isOpen(item) || event.target.closest(".head")) {
        toggle(item);
      }
    } else {
      select(item, row);
    }
  });
}
