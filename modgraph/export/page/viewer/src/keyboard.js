// The keyboard: arrows walk along the edges, Enter opens and closes, Escape goes outwards.

/** Rows and titles that are drawn, with where they stand on the screen. */
function spotsOnScreen() {
  return [...world.querySelectorAll(".spot")].map((node) => ({ node, box: node.getBoundingClientRect() }));
}

function selectNode(node) {
  if (node.dataset.more) {
    node.setAttribute("tabindex", "0");
    node.focus({ preventScroll: true });
    return;
  }
  select(items[Number(node.dataset.item)], Number(node.dataset.row));
}

/** One step down or up: the next row of the card, else along the data. */
function walk(down) {
  const { item, row } = selected;
  if (item.type === "card") {
    const next = row + (down ? 1 : -1);
    if (next >= 0 && next < item.rows.length) {
      select(item, next);
      return;
    }
  }
  const target = down && isContainer(item) && isOpen(item) ? firstInside(item) : follow(item, down);
  if (target) {
    select(target, target.type === "card" && !down ? target.rows.length - 1 : 0);
  } else if (!down && item.in !== undefined) {
    select(items[item.in], 0);
  }
}

const firstInside = (container) => items[container.items[firstShown.get(container.id) || 0]];

/** Where the data of an item goes to, or comes from: through the borders of open containers, to what is drawn. */
function follow(item, down) {
  if (item.in === undefined) {
    return firstInside(item);
  }
  const container = items[item.in];
  const [here, there] = down ? ["tail", "head"] : ["head", "tail"];
  const lines = layoutOf(container).lines.filter((line) => line[here].item === item);
  const line = lines.find((each) => each.main) || lines.find((each) => each[there].item || each[there].port);
  if (!line) {
    return beside(item, down ? 1 : -1);
  }
  return line[there].port ? outwards(container, line.net, down) : inwards(line[there], line.net, down);
}

/** On from the border of a container, to what is outside. */
function outwards(container, net, down) {
  if (container.in === undefined) {
    return null;
  }
  const [here, there] = down ? ["tail", "head"] : ["head", "tail"];
  const outer = items[container.in];
  const lines = layoutOf(outer).lines.filter((each) => each[here].item === container);
  const line = lines.find((each) => each.net === net) || lines[0];
  if (!line) {
    return down ? null : container;
  }
  return line[there].port ? outwards(outer, line.net, down) : inwards(line[there], line.net, down);
}

/** Into an open container, to what the data of a net reaches there. */
function inwards(node, net, down) {
  if (!node.item) {
    return node.tagged ? items[node.net] : null;
  }
  if (!node.inside) {
    return node.item;
  }
  const [here, there] = down ? ["tail", "head"] : ["head", "tail"];
  const lines = node.inside.lines.filter((each) => each[here].port && each.net === net);
  const line = lines.find((each) => each.main) || lines[0];
  return line ? inwards(line[there], line.net, down) : node.item;
}

function beside(item, step) {
  const { items: row } = items[item.in];
  const next = row[row.indexOf(item.id) + step];
  return next === undefined ? null : items[next];
}

/** To the nearest thing at the left or right. */
function sidewards(right) {
  const own = spotNode(selected.item, selected.row);
  if (!own) {
    return;
  }
  const from = own.getBoundingClientRect();
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const [x, y] = middle(from);
  let [best, least] = [null, Infinity];
  for (const { node, box } of spotsOnScreen()) {
    const [nx, ny] = middle(box);
    const ahead = right ? nx - x : x - nx;
    const apart = Math.abs(ny - y);
    if (node !== own && ahead > 8 && apart < Math.max(60, ahead) && ahead + 3 * apart < least) {
      [best, least] = [node, ahead + 3 * apart];
    }
  }
  if (best) {
    selectNode(best);
  }
}

const KEYS = {
  ArrowDown: () => walk(true),
  ArrowUp: () => walk(false),
  ArrowLeft: () => sidewards(false),
  ArrowRight: () => sidewards(true),
  Enter: () => pressed(),
  " ": () => pressed(),
  Escape: () => leave(),
  f: () => fit(),
  w: () => showWhole(),
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
  o: () => openMore(),
  O: () => openEverything(),
  Home: () => select(items[0], 0),
};

function pressed() {
  const focused = document.activeElement;
  if (focused && focused.dataset && focused.dataset.more) {
    turnPage(items[Number(focused.dataset.of)], focused.dataset.more);
  } else {
    toggle(selected.item);
  }
}

/** Stops what is under way, else takes a filter off, else goes to the container around. */
function leave() {
  if (work) {
    stopOpening();
  } else if (chosen) {
    filter(chosen);
  } else if (selected.item.in !== undefined) {
    select(items[selected.item.in], 0);
  }
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const control = event.target.closest && event.target.closest("button, a, input, select, #panel");
    if (event.key === "/") {
      event.preventDefault();
      query.focus();
      query.select();
      return;
    }
    const chooses = control && control.localName === "select"; // its letters choose an entry
    const own = control && (chooses || !["Escape", "f", "w"].includes(event.key));
    if (KEYS[event.key] && !own) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });
}
