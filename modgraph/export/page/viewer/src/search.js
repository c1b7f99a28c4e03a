// Search by path and class: the list of hits, and the way to one of them.

const MOST_HITS = 50;
let query;
let hits;
let found = [];
let active = -1;

let searched = null;

const entriesOf = () => modules.map((module) => {
  const own = facts[module.facts].class || "";
  const path = module.path.toLowerCase();
  return { module, path, last: path.slice(path.lastIndexOf(".") + 1), name: own.split(".").pop().toLowerCase() };
});

/** How well a module meets the text; the lower the better, 0 for not at all. */
function rank(entry, text) {
  if (entry.path === text) {
    return 1;
  }
  if (entry.last === text || entry.name === text) {
    return 2;
  }
  if (entry.last.startsWith(text) || entry.path.startsWith(text)) {
    return 3;
  }
  if (entry.name.startsWith(text)) {
    return 4;
  }
  return entry.path.includes(text) || entry.name.includes(text) ? 5 : 0;
}

function search() {
  const text = query.value.trim().toLowerCase();
  searched = searched || entriesOf();
  const ranked = text ? searched.map((entry) => [rank(entry, text), entry.module]).filter(([score]) => score) : [];
  ranked.sort((one, other) => one[0] - other[0]);
  found = ranked.slice(0, MOST_HITS).map(([, module]) => module);
  active = found.length ? 0 : -1;
  hits.replaceChildren(...found.map(hitNode));
  if (ranked.length > MOST_HITS) {
    hits.append(tag("li", { class: "rest", role: "presentation" }, `and ${number(ranked.length - MOST_HITS)} more`));
  } else if (text && !found.length) {
    hits.append(tag("li", { class: "rest", role: "presentation" }, "no module of that name"));
  }
  hits.hidden = !text;
  query.setAttribute("aria-expanded", String(!hits.hidden));
  markActive();
  say(text ? `${number(ranked.length)} found` : "");
}

function hitNode(module, place) {
  const name = (facts[module.facts].class || "unknown class").split(".").pop();
  const choose = (event) => {
    event.preventDefault();
    active = place;
    chooseHit();
  };
  return tag("li", { role: "option", id: `hit-${place}`, onpointerdown: choose },
    tag("span", { class: "path" }, module.path || data.name), tag("span", { class: "name" }, name));
}

function markActive() {
  found.forEach((_, place) => hits.children[place].setAttribute("aria-selected", String(place === active)));
  if (active >= 0) {
    query.setAttribute("aria-activedescendant", `hit-${active}`);
    hits.children[active].scrollIntoView({ block: "nearest" });
  } else {
    query.removeAttribute("aria-activedescendant");
  }
}

function chooseHit() {
  if (active >= 0) {
    const { path } = found[active];
    closeHits();
    goTo(path);
  }
}

function closeHits() {
  hits.hidden = true;
  query.setAttribute("aria-expanded", "false");
}

function listenToSearch() {
  query = document.getElementById("query");
  hits = document.getElementById("hits");
  query.addEventListener("input", search);
  query.addEventListener("focus", () => query.value && search());
  query.addEventListener("blur", closeHits);
  query.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      event.preventDefault();
      active = (active + step + found.length) % found.length;
      markActive();
    } else if (event.key === "Enter") {
      event.preventDefault();
      chooseHit();
    } else if (event.key === "Escape") {
      query.value = "";
      closeHits();
      select(selected.item, selected.row, { path: selected.path });
    }
    event.stopPropagation();
  });
}
