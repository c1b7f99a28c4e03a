// What colours say: the kind of a layer, or what it costs by one of the measures that the graph has figures of.

const KIND = "kind";
const MEASURES = (data.measures || []).map(([name]) => name);
let colouring = data.color || KIND;

const measured = () => MEASURES.indexOf(colouring); // -1: colours say the kind

/** The colour of a row, as the end of a class. */
function lookOf(row) {
  if (colouring === KIND) {
    return row.kind;
  }
  const cost = row.costs && row.costs[measured()];
  return cost && cost[1] !== null ? `heat${cost[1]}` : "other";
}

/** What stands at the right of a row: parameters, or its cost. */
function countOf(row) {
  if (colouring === KIND) {
    return row.count;
  }
  const cost = row.costs && row.costs[measured()];
  return (cost && cost[0]) || "";
}

const allCounts = (row) => [row.count || "", ...(row.costs || []).filter(Boolean).map(([words]) => words)];

/** The second line in the head of a frame; and all that it may say, so that nothing moves when colours change. */
const detailOf = (container) => (colouring === KIND || !container.details ? container.frame[1] : container.details[measured()]);
const allDetails = (container) => [container.frame[1], ...(container.details || [])];

/** What a figure of a row is, for those who hear it. */
const countWords = () => (colouring === KIND || colouring === "parameters" ? " parameters" : "");

function drawColouring() {
  const box = document.getElementById("colouring");
  const choice = document.getElementById("colour");
  box.hidden = MEASURES.length === 0;
  choice.append(...[KIND, ...MEASURES].map((name) => tag("option", { value: name }, name === "flops" ? "FLOPs" : name)));
  choice.value = colouring;
  choice.addEventListener("change", () => colourBy(choice.value));
}

/** Everything stays where it is. */
function colourBy(name) {
  colouring = name;
  drawnCards.clear();
  drawnFrames.clear();
  draw();
  showMatches();
  drawLegend();
  select(selected.item, selected.row, { path: selected.path, focus: false, move: false });
  say(name === KIND ? "Colours say the kind" : `Colours say ${name}: ${rampWords()}`);
}

const rampWords = () => `from 0 to ${data.measures[measured()][1]} and more`;
