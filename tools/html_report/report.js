// The script of a report: side-by-side stages, a value followed through all stages, and tables.
const data = JSON.parse(document.getElementById("data").textContent);
const stages = data.stages, $ = id => document.getElementById(id);
const state = { stage: stages.length - 1, other: null, follow: "", tab: 0, single: false,
  graph: false, times: false };
const TABS = ["Value", "Shardings", "Collectives", "Cost", "Remarks", "Layouts"];
const VALUE = /%[\w$.-]+(?:#\d+)?/g;
const WORDS = /(%[\w$.-]+(?:#\d+)?)|((?<=^\s*|= )"?[a-z_]\w*\.[\w.]+"?)|(@[\w$.-]+|@"[^"]*")/g;

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties || {});
  made.append(...children);
  return made;
}

const text = (stage, index) => data.lines[stages[stage].lines[index]];
const before = () => state.other === null ? Math.max(0, state.stage - 1) : state.other;

// The lines of a stage that concern a value: those that name it, and those with the same input
// locations as the lines that define it.
function defines(line, name) {
  const at = line.indexOf(base(name));
  const rest = line.slice(at + base(name).length);
  if (at < 0 || /^[\w$.-]/.test(rest)) return false;
  const left = line.slice(0, at).trim();
  return /^(:\d+)? = /.test(rest) && left === "" || /^: /.test(rest)
    || left.startsWith("%") && rest.includes(" = ");
}
const base = name => name.replace(/#\d+$/, "");
const named = data.lines.map(line => new Set((line.match(VALUE) || []).map(base)));
function placesOf(name) {
  const found = new Set();
  stages.forEach(stage => stage.lines.forEach((id, index) => {
    const places = stage.places[index], line = data.lines[id];
    // The first line of a function names all arguments, so it identifies none of them.
    if (places && named[id].has(base(name)) && !/^\s*func\.func/.test(line) && defines(line, name))
      places.forEach(place => found.add(place));
  }));
  return found;
}
// Whether each line of each stage concerns the followed value.
let followed = [];
function followAll(name) {
  const places = name ? placesOf(name) : new Set();
  followed = stages.map(stage => stage.lines.map((id, index) => name !== "" &&
    (named[id].has(base(name)) || (stage.places[index] || []).some(place => places.has(place)))));
}
followAll("");

// The key that identifies a line in two stages: the value and operation that it defines if the
// value has a name of its own, otherwise the whole text.
const keys = new Map(), keyOf = data.lines.map(line => {
  const named = line.match(/^\s*%[a-z_][\w$.-]*(:\d+)? = "?[\w.]+/i)
    || line.match(/^\s*(func|util)\.func.* @[\w$.-]+/);
  const key = named ? named[0] : line;
  return keys.has(key) ? keys.get(key) : (keys.set(key, keys.size), keys.size - 1);
});
// Match the lines of two stages by a patience diff. Lines whose keys occur once in
// both and keep their order are the same, and so are equal lines beside them. -1 is a new line.
const diffs = new Map();
function matched(number, against) {
  const key = number + " " + against;
  if (diffs.has(key)) return diffs.get(key);
  const here = stages[number].lines.map(line => keyOf[line]), found = here.map(() => -1);
  const there = stages[against].lines.map(line => keyOf[line]);
  const once = lines => {
    const at = new Map();
    lines.forEach((line, index) => at.set(line, at.has(line) ? -1 : index));
    return at;
  };
  const inHere = once(here), inThere = once(there), tops = [], previous = [];
  here.forEach((line, index) => {
    const to = inThere.get(line);
    if (inHere.get(line) !== index || to === undefined || to < 0) return;
    let low = 0, high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (inThere.get(here[tops[middle]]) < to) low = middle + 1; else high = middle;
    }
    previous[index] = low ? tops[low - 1] : -1;
    tops[low] = index;
  });
  for (let at = tops.length ? tops[tops.length - 1] : -1; at >= 0; at = previous[at])
    found[at] = inThere.get(here[at]);
  const taken = new Set(found);
  const extend = (index, to) => {
    if (found[index] !== -1 || here[index] !== there[to] || taken.has(to)) return;
    found[index] = to;
    taken.add(to);
  };
  for (let index = 0; index < here.length; index++)
    extend(index, index ? found[index - 1] < 0 ? -1 : found[index - 1] + 1 : 0);
  for (let index = here.length - 1; index >= 0; index--)
    extend(index, index + 1 < here.length ? found[index + 1] - 1 : there.length - 1);
  diffs.set(key, found);
  return found;
}
function changes(number, against) {
  const here = stages[number].lines, there = stages[against].lines;
  return matched(number, against).map((to, index) => to < 0 || here[index] !== there[to]);
}
const isChanged = number => number > 0 && (changes(number, number - 1).includes(true)
  || stages[number].lines.length < stages[number - 1].lines.length);
// The number of empty rows above each line of a stage that puts equal lines side by side.
function gaps(number, against) {
  const found = matched(number, against), empty = new Map();
  let own = 0, other = 0;
  found.concat(stages[against].lines.length).forEach((to, index) => {
    if (to < 0) return;
    const missing = (to - other) - (index - own);
    if (missing > 0) empty.set(index, missing);
    own = index + 1;
    other = to + 1;
  });
  return empty;
}

function showStages() {
  $("stages").replaceChildren(...stages.map((stage, number) => {
    const count = number ? changes(number, number - 1).filter(Boolean).length : 0;
    const about = followed[number].filter(Boolean).length;
    const marks = [about ? "\u2022" + about : "", count ? "+" + count : ""];
    const button = element("button", { onclick: () => show({ stage: number, other: null }) },
      element("span", { textContent: stage.name }),
      element("span", { className: "count", textContent: marks.filter(Boolean).join(" ") }));
    button.setAttribute("aria-current", number === state.stage);
    if (number && !isChanged(number)) button.classList.add("same");
    return element("li", {}, button);
  }));
}

function row(number, index, changed) {
  const line = text(number, index), made = element("div", { className: "row" });
  if (changed) made.classList.add("changed");
  if (followed[number][index]) made.classList.add("followed");
  made.append(element("span", { className: "at" }));
  made.firstChild.dataset.at = index + 1;
  const sends = stages[number].sends[index];
  let last = 0, chip = sends && element("span", { className: "chip",
    textContent: sends[1] === null ? "sends ?" : "sends " + bytes(sends[1]) });
  for (const match of line.matchAll(WORDS)) {
    made.append(line.slice(last, match.index));
    const kind = match[1] ? "value" : match[2] ? "op" : "symbol";
    const word = element("span", { className: kind, textContent: match[0] });
    if (match[0] === state.follow) word.classList.add("followed");
    made.append(word);
    if (chip && kind === "op") made.append(chip);
    last = match.index + match[0].length;
  }
  made.append(line.slice(last));
  return made;
}

function showPane(pane, number, against) {
  const changed = changes(number, against), empty = gaps(number, against);
  const fill = index => Array.from({ length: empty.get(index) || 0 }, () =>
    element("div", { className: "fill" }));
  const code = element("div", { className: "code" }, ...stages[number].lines.flatMap(
    (_, index) => [...fill(index), row(number, index, changed[index])]), ...fill(changed.length));
  code.onclick = event => {
    if (event.target.classList.contains("value")) show({ follow: event.target.textContent });
  };
  pane.replaceChildren(element("h2", { textContent: stages[number].name }), code);
}

const bytes = count => count < 10000 ? Math.round(count) + " B"
  : count < 1e7 ? (count / 1e3).toFixed(1) + " kB" : (count / 1e6).toFixed(1) + " MB";
const number = count => element("td", { className: "number",
  textContent: count === null ? "" : Math.round(count).toLocaleString("en") });
function table(head, rows) {
  const cells = (tag, list) => list.map(cell => cell instanceof Node ? cell
    : element(tag, { textContent: cell }));
  return element("table", { className: "data" }, element("tr", {}, ...cells("th", head)),
    ...rows.map(list => element("tr", {}, ...cells("td", list))));
}
function picture(sharding) {
  const values = element("div", {}, "@" + sharding.function + ": ");
  for (const value of sharding.values) values.append(element("span", { className: "value",
    textContent: value, onclick: () => value[0] === "%" && show({ follow: value }) }), " ");
  const map = element("div", { className: "map" });
  map.innerHTML = data.maps[sharding.map];  // made by mesh-opt, with nothing of a program unescaped
  return [values, map];
}
const nothing = what => [element("p", { textContent: what })];

/* times */

const PANELS = [
  () => {
    if (!state.follow) return nothing("Choose a value in the text, or press / and name one.");
    const parts = [element("p", {}, element("b", { textContent: state.follow }))];
    stages.forEach((stage, at) => {
      const lines = followed[at].filter(Boolean);
      if (!lines.length) return;
      const found = stage.shardings.filter(one => one.values.includes(state.follow));
      parts.push(element("div", {}, element("span", { className: "where",
        textContent: stage.name, onclick: () => show({ stage: at }) }),
        ": " + lines.length + (lines.length === 1 ? " line" : " lines")));
      if (at === state.stage || at === before())
        found.forEach(one => parts.push(...picture(one)));
    });
    return parts;
  },
  () => {
    const found = stages[state.stage].shardings;
    return found.length ? found.flatMap(picture) : nothing("No value has a sharding here.");
  },
  () => {
    const found = Object.entries(stages[state.stage].sends);
    if (!found.length) return nothing("There are no collectives here.");
    return [table(["line", "collective", "bytes sent by a device"], found.map(([line, sends]) => [
      element("td", { className: "where", textContent: +line + 1,
        onclick: () => scrollTo($("after"), +line) }),
      sends[0], sends[1] === null ? "unknown" : number(sends[1])]))];
  },
  () => {
    const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
    // Omit stages with the same cost as the one before.
    const rows = stages.flatMap((stage, at) => at && same(stage.costs, stages[at - 1].costs)
      ? [] : stage.costs.map(cost => {
      const name = element("td", { className: "where", textContent: stage.name,
        onclick: () => show({ stage: at }) });
      return [name, "@" + cost.function, number(cost.sent), number(cost.work), number(cost.peak)];
    }));
    if (!rows.length) return nothing("Nothing was counted.");
    return [element("p", { textContent:
      "What one device sends, computes and holds after each stage that changes it." }),
      table(["stage", "function", "bytes sent", "operations", "peak bytes"], rows)];
  },
  () => {
    const rows = stages.flatMap((stage, at) => stage.remarks.map(remark => [
      element("td", { className: "where", textContent: stage.name,
        onclick: () => showPlace(at, remark[2]) }),
      remark[0], remark[1], remark[2] < 0 ? "" : data.places[remark[2]]]));
    return rows.length ? [table(["pass", "about", "remark", "at"], rows)]
      : nothing("No pass made a remark.");
  },
  () => {
    const found = stages[state.stage].layouts;
    if (!found.length) return nothing("No tensor has an encoding here.");
    return found.map(one => element("div", { className: "map", innerHTML: data.maps[one] }));
  },
];

function showPanel() {
  $("tabs").replaceChildren(...TABS.map((name, index) => {
    const button = element("button", { textContent: name, onclick: () => show({ tab: index }) });
    button.setAttribute("role", "tab");
    button.setAttribute("aria-selected", index === state.tab);
    return button;
  }));
  $("panel").replaceChildren(...PANELS[state.tab]());
  for (const one of $("panel").querySelectorAll(".where, .value")) {
    one.tabIndex = 0;
    one.setAttribute("role", "link");
    one.onkeydown = event => event.key === "Enter" && one.click();
  }
}

function scrollTo(pane, index) {
  const rows = pane.querySelectorAll(".row");
  pane.querySelectorAll(".here").forEach(one => one.classList.remove("here"));
  if (!rows[index]) return;
  rows[index].classList.add("here");
  rows[index].scrollIntoView({ block: "center" });
}
// The operation that a remark is about, as it was before the pass.
function showPlace(stage, place) {
  show({ stage, other: null });
  const against = Math.max(0, stage - 1);
  const index = stages[against].lines.findIndex((_, at) =>
    (stages[against].places[at] || []).includes(place));
  scrollTo($("before"), index);
}

function show(change) {
  const follows = "follow" in change && change.follow !== state.follow;
  Object.assign(state, change);
  if (follows) {
    followAll(state.follow);
    $("follow").value = state.follow;
    if (!("tab" in change) && state.follow) state.tab = 0;
  }
  document.querySelector("main").classList.toggle("single", state.single);
  document.querySelector("main").classList.toggle("graphs", state.graph);
  document.querySelector("main").classList.toggle("timed", state.times);
  const panes = [$("before"), $("after")].map(pane => pane.scrollTop);
  showStages();
  showPane($("before"), before(), state.stage);
  showPane($("after"), state.stage, before());
  if (!("stage" in change)) [$("before"), $("after")].forEach((pane, at) => {
    pane.scrollTop = panes[at];
  });
  if (state.graph) showGraph("stage" in change || "graph" in change);
  if (state.times) showTimes();
  showPanel();
  const current = document.querySelector("nav [aria-current=true]");
  if (current) current.scrollIntoView({ block: "nearest" });
  const hash = new URLSearchParams({ stage: state.stage, follow: state.follow, tab: state.tab,
    ...(state.graph ? { graph: 1 } : {}), ...(state.times ? { times: 1 } : {}) });
  history.replaceState(null, "", "#" + hash);
}

let change = -1;
function nextChange(step) {
  const rows = [...$("after").querySelectorAll(".row")];
  const differs = index => index >= 0 && rows[index].classList.contains("changed");
  const found = [...rows.keys()].filter(index => differs(index) && !differs(index - 1));
  if (!found.length) return;
  const after = found.find(index => index > change), upto = found.filter(index => index < change);
  change = step > 0 ? (after === undefined ? found[0] : after)
    : (upto.length ? upto[upto.length - 1] : found[found.length - 1]);
  scrollTo($("after"), change);
}

document.addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT" || event.target.tagName === "SELECT") {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const stage = state.stage;
  const go = to => { change = -1; show({ stage: to, other: null }); };
  if ((event.key === "ArrowRight" || event.key === "j") && stage + 1 < stages.length) go(stage + 1);
  else if ((event.key === "ArrowLeft" || event.key === "k") && stage) go(stage - 1);
  else if (event.key === "n" || event.key === "p") {
    const step = event.key === "n" ? 1 : -1;
    if (state.times && times) nextEvent(step, ["collective", "wait"]);
    else (state.graph ? nextCollective : nextChange)(step);
  } else if (event.key === "g") show({ graph: !state.graph, times: false });
  else if (event.key === "l") show({ times: !state.times, graph: false });
  else if (state.times && times && (event.key === "ArrowDown" || event.key === "ArrowUp"))
    nextEvent(event.key === "ArrowDown" ? 1 : -1);
  else if (state.times && times && (event.key === "+" || event.key === "-"))
    zoom(event.key === "+" ? 0.5 : 2, middle());
  else if (state.graph && (event.key === "ArrowDown" || event.key === "ArrowUp"))
    nextNode(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "/") { $("follow").focus(); $("follow").select(); }
  else if (event.key === "Escape") show({ follow: "" });
  else if (event.key === "c") show({ single: !state.single });
  else if (event.key === "w") document.querySelector("main").classList.toggle("wrapped");
  else if (event.key === "t") document.documentElement.classList.toggle("dark");
  else if (event.key >= "1" && event.key <= String(TABS.length)) show({ tab: +event.key - 1 });
  else return;
  event.preventDefault();
});
$("follow").addEventListener("change", event => {
  const name = event.target.value.trim();
  show({ follow: name && name[0] !== "%" ? "%" + name : name });
});

const all = new Set();
data.lines.forEach(line => (line.match(VALUE) || []).forEach(name => all.add(name)));
const listed = [...all].sort().slice(0, 2000);
$("values").append(...listed.map(name => element("option", { value: name })));
if (matchMedia("(prefers-color-scheme: dark)").matches)
  document.documentElement.classList.add("dark");
const asked = new URLSearchParams(location.hash.slice(1));
// The last pass that changed the program.
const last = stages.reduce((found, _, number) => isChanged(number) ? number : found,
  stages.length - 1);
const first = Math.min(stages.length - 1, Number(asked.get("stage") ?? last) || 0);
[$("before"), $("after")].forEach((pane, at, panes) => pane.addEventListener("scroll", () => {
  panes[1 - at].scrollTop = pane.scrollTop;
  panes[1 - at].scrollLeft = pane.scrollLeft;
}));
show({ stage: first, follow: asked.get("follow") || "", tab: Number(asked.get("tab") || 1),
  graph: asked.get("graph") === "1", times: asked.get("times") === "1" });
