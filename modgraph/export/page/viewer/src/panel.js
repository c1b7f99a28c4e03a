// The side panel: everything that is known of what is selected.

let panel;

function showDetails() {
  const { item, row, path } = selected;
  const module = path === undefined ? undefined : moduleAt.get(path);
  const content = path === "" ? modelDetails() : module ? moduleDetails(module, item, row) : stepDetails(item, row);
  panel.replaceChildren(...content.filter(Boolean));
  panel.scrollTop = 0;
}

function section(title, ...content) {
  const kept = content.filter(Boolean);
  return kept.length ? tag("section", {}, tag("h3", {}, title), ...kept) : null;
}

function factTable(pairs) {
  const rows = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return rows.length
    ? tag("dl", {}, ...rows.flatMap(([name, value]) => [tag("dt", {}, name), tag("dd", {}, value)]))
    : null;
}

function table(head, rows, label) {
  if (!rows.length) {
    return null;
  }
  const cells = (kind, texts) => tag("tr", {}, ...texts.map((text) => tag(text || kind === "td" ? kind : "td", {}, text || "")));
  return tag("table", { "aria-label": label }, tag("thead", {}, cells("th", head)),
    tag("tbody", {}, ...rows.map((texts) => cells("td", texts))));
}

/** A path that can be clicked. */
function link(path, text) {
  const click = (event) => {
    event.preventDefault();
    goTo(path);
  };
  return tag("a", { href: addressOf(path), class: "path", onclick: click }, text || path || data.name);
}

// --- the model -----------------------------------------------------------------------------------------------------

function modelDetails() {
  const { model } = data;
  const trained = model.trainable !== undefined && model.trainable !== model.parameters;
  const root = modules[0];
  return [
    tag("h2", {}, data.name),
    tag("p", { class: "class" }, model.class || ""),
    copyButtons(""),
    factTable([
      ["target", model.target],
      ["assumed", model.assumed],
      ["forward", model.forward],
      ["shapes", model.shapes],
      ["weights", model.weights],
      ["left out", model.left_out],
      ["parameters", model.parameters !== undefined ? number(model.parameters) : undefined],
      ["trainable", trained ? number(model.trainable) : undefined],
      ["buffers", model.buffers ? counted(model.buffers, "element") : undefined],
      [model.traced ? "run" : "forward",
        model.calls ? model.run : undefined],
      ["modules", number(model.modules)],
      ["mode", model.calls ? [model.mode, model.device].filter(Boolean).join(", ") : undefined],
      ["source", root.at],
    ]),
    ...ownDetails(root),
    section("Problems", ...data.problems.map(problemNote)),
    section("Findings", ...data.findings.map(findingNote)),
    section("Keys", factTable([
      ["↑ ↓ ← →", "along the edges"], ["Enter", "open, close"], ["o", "open one level more"],
      ["Shift+O", "open everything"], ["/", "search"], ["f", "fit, as large as can be read"], ["w", "show the whole"],
      ["+  −", "zoom"], ["Escape", "to the container around"],
    ])),
    section("Signs", factTable(Object.entries(data.signs).map(([sign, words]) => [sign, words.replaceAll("`", "")]))),
  ];
}

function problemNote(problem) {
  const at = [problem.stage, problem.at].filter(Boolean).join(" · ");
  const where = problem.module ? link(problem.module) : null;
  return tag("div", { class: "note problem" }, problem.message, tag("span", { class: "at" }, at), where,
    ...openPlaces(problem.places || []));
}

/** What depends on the cause of a problem: the first places, the others on a click. */
function openPlaces(places) {
  const shown = places.slice(0, 300).map((each) => tag("p", { class: "place" }, each.message,
    tag("span", { class: "at" }, each.at || ""), each.module ? link(each.module) : null));
  if (shown.length === 0) return [];
  const summary = tag("summary", {}, `${number(places.length)} places depend on it`);
  return [tag("details", {}, summary, ...shown)];
}

function findingNote(finding) {
  const known = finding.module !== null && moduleAt.has(finding.module);
  return tag("p", { class: "note finding" }, tag("b", {}, finding.code), ` ${finding.message}`,
    tag("span", { class: "at" }, finding.at), known && finding.module ? link(finding.module) : null);
}

// --- a module ------------------------------------------------------------------------------------------------------

function moduleDetails(module, item, row) {
  const own = facts[module.facts];
  const name = (own.class || "unknown class").split(".").pop();
  return [
    tag("h2", {}, own.class === "NoneType" ? "None" : name),
    tag("p", { class: "path" }, module.path),
    tag("p", { class: "class" }, own.class || "its class is not known"),
    copyButtons(module.path),
    memberSwitch(item, row, module),
    stateNotes(module),
    ...(module.problems || []).map((each) => problemNote(data.problems[each])),
    ...(module.findings || []).map((each) => findingNote(data.findings[each])),
    factTable([["parameters", own.count && own.count], ["source", module.at],
      ["inside", parentPath(item, module) !== undefined ? link(parentPath(item, module)) : undefined]]),
    ...ownDetails(module),
  ];
}

/** The module around another: by the items, whose containers are modules or turns of a loop. */
function parentPath(item, module) {
  const paths = [...around(item)].map((each) => toldPath(each, 0));
  return paths.find((path) => path !== undefined && path !== module.path);
}

/** Of a row that stands for several alike modules, or is in one that does: which of them is told of. */
function memberSwitch(item, row, module) {
  const fold = foldOf(item, row, module.path);
  if (!fold || fold.at < 0) {
    return null;
  }
  const { holder, members, at } = fold;
  const step = (by) => () => {
    select(item, row, { path: members[at + by], focus: false });
    const again = panel.querySelector(by < 0 ? ".before" : ".after");
    (again.disabled ? panel : again).focus();
    say(members[at + by]);
  };
  const last = members.length - 1;
  return tag("p", { class: "members" },
    tag("button", { type: "button", class: "before", onclick: step(-1), disabled: at === 0, "aria-label": "The one before" }, "‹"),
    ` ${at + 1} of ${members.length} alike `,
    tag("button", { type: "button", class: "after", onclick: step(1), disabled: at === last, "aria-label": "The next" }, "›"),
    holder.differ ? tag("span", { class: "at" }, holder.differ) : null);
}

function stateNotes(module) {
  const notes = (module.states || []).map(([state, detail]) => {
    const [sign, words] = data.states[state];
    const same = state === "shared" ? link(module.same) : detail;
    return tag("p", { class: `state mark-${state.replace(" ", "-")}` }, tag("b", {}, `${sign} ${words} `), same);
  });
  return notes.length ? tag("div", { class: "states" }, ...notes) : null;
}

const tensorText = (shape, dtype) => [shape, dtype].filter(Boolean).join(" · ");

function ownDetails(module) {
  const own = facts[module.facts];
  const flags = (each, word) => [each[3] === false ? word : "", each[4] ? `tied to ${each[4]}` : ""];
  const held = (each, word) => [each[0], tensorText(each[1], each[2]), flags(each, word).filter(Boolean).join(", ")];
  return [
    section("Arguments", factTable(Object.entries(own.arguments || {}))),
    section("Parameters", table(["name", "shape", ""], (own.parameters || []).map((p) => held(p, "frozen")))),
    section("Buffers", table(["name", "shape", ""], (own.buffers || []).map((b) => held(b, "not saved")))),
    section("Hooks", table(["kind", "function"], own.hooks || [])),
    section("Gradients of parameters", statisticsTable(module.gradients || [])),
    ...(module.calls || []).map((call) => callDetails(call, module)),
    module.called ? tag("p", { class: "at" }, `and ${number(module.called - module.calls.length)} more calls`) : null,
    ...(module.backward || []).map((record) => section("Backward",
      statisticsTable([...record.inputs.map(named("into inputs")), ...record.outputs.map(named("from outputs"))]))),
  ];
}

const named = (words) => (tensor) => [`${words}: ${tensor[0]}`, ...tensor.slice(1)];

function callDetails(call, module) {
  const [inputs, outputs] = facts[call.shapes];
  const remarks = [call.direct && "forward called directly", call.recomputed && "ran again in backward"];
  const title = module.calls.length > 1 ? `Call ${call.index}` : "Call";
  return section(title,
    call.error ? tag("p", { class: "note problem" }, call.error) : null,
    table(["", "tensor", "shape"], [
      ...inputs.map(([name, shape, dtype]) => ["in", name, tensorText(shape, dtype)]),
      ...outputs.map(([name, shape, dtype]) => ["out", name, tensorText(shape, dtype)]),
    ]),
    statisticsTable(call.statistics || []),
    factTable([
      ["cost", call.cost ? costText(call.cost) : undefined],
      ["called at", call.at],
      ["note", remarks.filter(Boolean).join(", ")],
    ]));
}

function costText(cost) {
  const parts = [`${number(cost.flops || 0)} flops`];
  if (cost.seconds) {
    parts.push(`${(cost.seconds * 1000).toPrecision(3)} ms`);
  }
  if (cost.allocated) {
    parts.push(`${number(cost.allocated)} bytes`);
  }
  return parts.join(" · ");
}

function statisticsTable(tensors) {
  const short = (value) => {
    if (typeof value !== "number") {
      return "";
    }
    const size = Math.abs(value);
    return size && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  };
  const rows = tensors.filter(([, , , s]) => s).map(([name, , , s]) => [
    name, short(s.mean), short(s.std), short(s.min), short(s.max),
    [s.nan ? `${s.nan} NaN` : "", s.inf ? `${s.inf} infinite` : ""].filter(Boolean).join(", "),
  ]);
  return table(["tensor", "mean", "std", "min", "max", ""], rows, "Statistics");
}

// --- an operation --------------------------------------------------------------------------------------------------

function stepDetails(item, row) {
  const step = item.type === "card" ? item.rows[row].step : item.step;
  if (!step) {
    return [tag("h2", {}, item.title || (item.frame && item.frame[0]) || ""), tag("p", {}, item.detail || (item.frame && item.frame[1]) || "")];
  }
  const inside = step.inside !== undefined ? link(inToldMember(step.inside, item)) : undefined;
  return [
    tag("h2", {}, step.word || rowOf(item, row).title),
    tag("p", { class: "class" }, step.name),
    factTable([["source", step.at], ["inside", inside], ["in", (step.inputs || []).join("\n")],
      ["out", (step.outputs || []).join("\n")]]),
  ];
}
