// Filters: where a state holds, or a finding is. Everything else is dimmed, and closed containers say how many they hold.

const matching = {
  inside: new Map(), // item -> how many modules in it match
  rows: new Set(), // "item row" of those that match themselves
};
let chosen = null;

/** How many modules are in each state, and how many findings there are: a module may have several, or a finding none. */
function filterCounts() {
  const counts = new Map();
  for (const module of modules) {
    for (const [state] of module.states || []) {
      counts.set(state, (counts.get(state) || 0) + 1);
    }
  }
  if (data.findings.length) {
    counts.set("finding", data.findings.length);
  }
  return counts;
}

const filtersOf = (module) => [
  ...(module.states || []).map(([state]) => state),
  ...(module.findings ? ["finding"] : []),
];

function drawFilters() {
  const counts = filterCounts();
  const bar = document.getElementById("filters");
  for (const name of [...Object.keys(data.states), "finding"]) {
    if (!counts.has(name)) {
      continue;
    }
    const [sign, words] = name === "finding" ? ["⚑", "finding"] : data.states[name];
    const many = name === "finding" && counts.get(name) > 1;
    const text = name === "shared" ? "shared" : many ? "findings" : words;
    const button = tag("button", { type: "button", "aria-pressed": "false", "data-filter": name, onclick: () => filter(name) },
      tag("span", { class: `sign sign-${name.replace(" ", "-")}`, "aria-hidden": "true" }, sign),
      ` ${text} `, tag("span", { class: "count" }, number(counts.get(name))));
    bar.append(button);
  }
}

/** Shows where `name` holds; the same again shows everything. */
function filter(name) {
  chosen = chosen === name ? null : name;
  matching.inside.clear();
  matching.rows.clear();
  const hit = chosen ? modules.filter((module) => filtersOf(module).includes(chosen)) : [];
  for (const module of hit) {
    const item = items[module.item];
    matching.rows.add(`${item.id} ${item.type === "card" ? module.row || 0 : 0}`);
    for (const outer of [item, ...around(item)]) {
      matching.inside.set(outer.id, (matching.inside.get(outer.id) || 0) + 1);
    }
  }
  for (const button of document.querySelectorAll("#filters button")) {
    button.setAttribute("aria-pressed", String(button.dataset.filter === chosen));
  }
  showMatches();
  if (chosen) {
    showHits(hit);
    say(counted(hit.length, "module"));
  } else {
    showDetails();
    say("");
  }
}

/** Marks what is drawn by the filter that is on. */
function showMatches() {
  world.classList.toggle("filtered", chosen !== null);
  for (const place of world.querySelectorAll(".spot[data-item]")) {
    const item = items[Number(place.dataset.item)];
    const own = matching.rows.has(`${item.id} ${place.dataset.row}`);
    const inside = isContainer(item) && matching.inside.get(item.id) > 0;
    place.classList.toggle("hit", own);
    place.classList.toggle("holds", inside && !own);
  }
}

function showHits(hit) {
  const words = chosen === "finding" ? "finding" : data.states[chosen][1];
  const count = chosen === "finding" ? data.findings.length : hit.length;
  panel.replaceChildren(
    tag("h2", {}, `${number(count)} × ${chosen === "shared" ? "shared" : words}`),
    ...(chosen === "finding" ? data.findings.map(findingNote) : []),
    tag("ul", { class: "list" }, ...hit.slice(0, 300).map((module) =>
      tag("li", {}, link(module.path), ` ${(facts[module.facts].class || "").split(".").pop()}`))),
  );
}
