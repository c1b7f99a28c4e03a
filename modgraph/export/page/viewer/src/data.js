// The graph as it was written into the page, and look-ups into it.

const data = JSON.parse(document.getElementById("graph").textContent);
const { items, modules, facts } = data;
const PORT = -1; // in an edge: the border of the container, not an item in it

const moduleAt = new Map(modules.map((module) => [module.path, module]));

items.forEach((item, number) => {
  item.id = number;
  item.level = item.in === undefined ? 0 : items[item.in].level + 1;
});

/** The edges of a container: five numbers each in the data. */
function edgesOf(container) {
  const edges = [];
  const numbers = container.edges;
  for (let i = 0; i < numbers.length; i += 5) {
    edges.push({
      tail: numbers[i],
      head: numbers[i + 1],
      net: numbers[i + 2],
      label: data.labels[numbers[i + 3]],
      main: (numbers[i + 4] & 1) === 1,
      open: (numbers[i + 4] & 2) === 2, // it may come from before its tail
      maybe: (numbers[i + 4] & 4) === 4, // data goes there on a condition
      together: (numbers[i + 4] & 8) === 8, // and along one of the edges between these ends in any case
    });
  }
  return edges;
}

const isContainer = (item) => item.type === "container" && item.items.length > 0;

/** The containers around an item, the innermost first. */
function* around(item) {
  while (item.in !== undefined) {
    item = items[item.in];
    yield item;
  }
}

/** What an item or one of its rows says of itself: class, path, marks. */
function rowOf(item, row) {
  if (item.type === "container") {
    return item.row || { kind: "other", title: data.name };
  }
  return item.type === "card" ? item.rows[row] : { kind: "other", title: item.title || item.step.word || item.sign };
}

/** Path of the module that a row stands for; undefined for an operation. */
function pathOf(item, row) {
  if (item.type === "container") {
    return item.of;
  }
  return item.type === "card" ? item.rows[row].of : undefined;
}

/** A path as the part of an address behind "#"; half of a surrogate pair has no place in one. */
function addressOf(path) {
  const whole = path.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  return `#${encodeURIComponent(whole)}`;
}

/** Paths of all modules that a row stands for, where it stands for several. */
function membersOf(item, row) {
  return (item.type === "card" ? item.rows[row].members : item.members) || [];
}

/** What gives a net as seen from inside a container: the outermost thing around the source that is not around both. */
function seenFrom(container, net) {
  const both = new Set([container, ...around(container)]);
  let item = items[net];
  while (item.in !== undefined && !both.has(items[item.in])) {
    item = items[item.in];
  }
  return item;
}

/** The name by which an item is known far from where it stands. */
function sourceName(item) {
  if (item.type === "card") {
    const row = item.rows[item.rows.length - 1];
    return row.path || row.title;
  }
  if (item.type === "join") {
    const parent = items[item.in];
    return (parent.frame && parent.frame[0]) || item.step.word;
  }
  return item.title || (item.row && item.row.path) || "data";
}
