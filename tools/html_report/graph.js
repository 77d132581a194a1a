// The part of a report's script that draws the graph of a function.
//
// Nodes are arranged in layers, each below its operands. Only the visible part is drawn, so that
// functions with thousands of operations scroll smoothly.
"use strict";
const SVG = "http://www.w3.org/2000/svg", WIDTH = 184, HEIGHT = 44, GAP = 20, ROW = 84;
const graph = { nodes: [], edges: [], name: "", stage: -1, chosen: -1, width: 0, height: 0 };

function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// The nodes of a function's graph: its operations with their values, shardings and bytes.
function graphOf(number, name) {
  const stage = stages[number], placed = new Map();
  stage.shardings.filter(one => one.function === name)
    .forEach(one => one.values.forEach(value => placed.has(value) || placed.set(value, one)));
  let argument = 0;
  return stage.graphs[name].map(([line, kind, type, reads], index) => {
    const found = data.lines[stage.lines[line]].match(VALUE) || [], op = data.kinds[kind];
    const value = op === "argument" ? found[argument++]
      : /^\s*%/.test(data.lines[stage.lines[line]]) ? found[0] : "";
    return { index, line, op, type: data.kinds[type], reads, value: value || "",
      placed: placed.get(value), sends: op === "argument" ? undefined : stage.sends[line] };
  });
}

// Layers: each node is as low as its readers allow, so that operands stay near their users.
function layOut(nodes) {
  const readers = nodes.map(() => []);
  nodes.forEach(node => node.reads.forEach(read => readers[read].push(node.index)));
  nodes.forEach(node => {
    node.layer = node.op === "argument" ? -1
      : 1 + Math.max(-1, ...node.reads.map(read => nodes[read].layer));
  });
  [...nodes].reverse().forEach(node => {
    const below = readers[node.index].map(reader => nodes[reader].layer);
    if (below.length) node.layer = Math.min(...below) - 1;
  });
  const layers = [];
  nodes.forEach(node => (layers[node.layer + 1] ||= []).push(node));
  for (let at = 0; at < layers.length; at++) layers[at] ||= [];
  nodes.forEach(node => { node.x = 0; });
  const pull = (node, near) => near.length
    ? near.reduce((sum, one) => sum + nodes[one].x, 0) / near.length : node.x;
  const place = (layer, near) => {
    layer.forEach(node => { node.wish = pull(node, near(node)); });
    layer.sort((a, b) => a.wish - b.wish || a.index - b.index);
    layer.forEach((node, at) => {
      node.x = at ? Math.max(node.wish, layer[at - 1].x + WIDTH + GAP) : node.wish;
    });
    const shift = layer.reduce((sum, node) => sum + node.wish - node.x, 0) / (layer.length || 1);
    layer.forEach(node => { node.x += shift; });
  };
  for (let round = 0; round < 2; round++) {
    layers.forEach(layer => place(layer, node => node.reads));
    [...layers].reverse().forEach(layer => place(layer, node => readers[node.index]));
  }
  layers.forEach(layer => place(layer, node => node.reads));
  const left = Math.min(...nodes.map(node => node.x)) - 16;
  layers.forEach((layer, at) => layer.forEach(node => {
    node.x -= left;
    node.y = 20 + at * ROW;
  }));
  graph.width = Math.max(...nodes.map(node => node.x), 0) + WIDTH + 16;
  graph.height = layers.length * ROW + 40;
  graph.edges = nodes.flatMap(node => node.reads.map(read => [nodes[read], node]));
}

// The parts of a tensor in the colours of its device map.
function miniature(one) {
  const [rows, columns] = one.parts.map(count => Math.min(count, 8)), size = 32;
  const made = shape("g", { class: "miniature" }), high = size / rows, wide = size / columns;
  for (let index = 0; index < rows * columns; index++) {
    const row = Math.floor(index / columns), column = index % columns;
    const light = 72 + Math.floor(index / 8) % 3 * 6, hue = index * 137 % 360;
    made.append(shape("rect", { x: 6 + column * wide, y: 6 + row * high, width: wide,
      height: high, fill: `hsl(${hue} 70% ${light}%)`, stroke: "#888" }));
  }
  return made;
}

const sent = node => node.sends[1] === null ? "sends ?" : "sends " + bytes(node.sends[1]);
function drawn(node) {
  const chosen = node.index === graph.chosen || node.value && node.value === state.follow;
  const kind = node.op === "argument" ? " argument" : node.sends ? " collective" : "";
  const group = shape("g", { class: "node" + kind + (chosen ? " chosen" : ""),
    transform: `translate(${node.x} ${node.y})` });
  group.append(shape("title", {}, [node.value, node.op, node.type].filter(Boolean).join("  ")));
  const round = node.sends ? HEIGHT / 2 : 5;
  group.append(shape("rect", { width: WIDTH, height: HEIGHT, rx: round, class: "box" }));
  if (node.placed) group.append(miniature(node.placed));
  const at = node.placed ? 44 : node.sends ? 18 : 8, room = Math.floor((WIDTH - at - 4) / 6.4);
  const cut = text => text.length > room ? text.slice(0, room - 1) + "\u2026" : text;
  const isArgument = node.op === "argument", type = [node.value, node.type].join(": ");
  const below = isArgument || !node.type ? node.type : node.sends ? sent(node) : type;
  group.append(
    shape("text", { x: at, y: 18, class: "op" }, cut(isArgument ? node.value : node.op)),
    shape("text", { x: at, y: 35, class: "kind" }, cut(below)));
  group.addEventListener("click", () => choose(node));
  return group;
}

function drawGraph() {
  const pane = $("graph"), svg = pane.querySelector("svg");
  if (!svg) return;
  const top = pane.scrollTop - 400, bottom = pane.scrollTop + pane.clientHeight + 400;
  const edges = graph.edges.filter(([from, to]) => from.y < bottom && to.y > top)
    .map(([from, to]) => {
      const x = from.x + WIDTH / 2, y = from.y + HEIGHT, u = to.x + WIDTH / 2, v = to.y;
      const bend = Math.min(60, Math.max(20, (v - y) / 2));
      const near = [from, to].some(node => node.index === graph.chosen);
      return shape("path", { class: near ? "edge near" : "edge",
        d: `M${x} ${y}C${x} ${y + bend} ${u} ${v - bend} ${u} ${v}` });
    });
  const nodes = graph.nodes.filter(node => node.y + HEIGHT > top && node.y < bottom).map(drawn);
  svg.replaceChildren(...edges, ...nodes);
}

function choose(node) {
  graph.chosen = node.index;
  show(node.value ? { follow: node.value, tab: 0 } : {});
  const pane = $("graph");
  pane.scrollTo(node.x - pane.clientWidth / 2 + WIDTH / 2, node.y - pane.clientHeight / 2);
  drawGraph();
}
function nextNode(step) {
  const nodes = [...graph.nodes].sort((a, b) => a.y - b.y || a.x - b.x);
  const at = nodes.findIndex(node => node.index === graph.chosen);
  const next = nodes[at < 0 ? 0 : at + step];
  if (next) choose(next);
}
function nextCollective(step) {
  const found = graph.nodes.filter(node => node.sends).sort((a, b) => a.y - b.y || a.x - b.x);
  if (!found.length) return;
  const at = found.findIndex(node => node.index === graph.chosen), first = step > 0 ? 0 : -1;
  choose(found.at(at < 0 ? first : (at + step) % found.length));
}

function showGraph(isNew) {
  const names = Object.keys(stages[state.stage].graphs), pane = $("graph");
  if (!isNew && graph.stage === state.stage) return drawGraph();
  const size = name => stages[state.stage].graphs[name].length;
  if (!names.includes(graph.name))
    graph.name = names.reduce((most, name) => size(name) > size(most) ? name : most, names[0]);
  if (!graph.name) return pane.replaceChildren(...nothing("There is no function here."));
  Object.assign(graph, { stage: state.stage, chosen: -1, nodes: graphOf(state.stage, graph.name) });
  layOut(graph.nodes);
  const sends = graph.nodes.filter(node => node.sends).length;
  const select = element("select", { onchange: () => {
    graph.name = select.value;
    showGraph(true);
  } }, ...names.map(name => element("option", { value: name, textContent: "@" + name })));
  select.value = graph.name;
  select.setAttribute("aria-label", "function");
  const about = `${graph.nodes.length} operations and arguments, ${sends} `
    + `collective${sends === 1 ? "" : "s"}. Constants `
    + "and empty tensors are left out.";
  const keys = "Arrows choose, n and p go to collectives.";
  pane.replaceChildren(element("h2", { title: keys }, select, " " + about),
    shape("svg", { width: graph.width, height: graph.height }));
  pane.onscroll = () => requestAnimationFrame(drawGraph);
  const first = graph.nodes.filter(node => node.y < pane.clientHeight).map(node => node.x);
  const middle = (Math.min(...first) + Math.max(...first) + WIDTH) / 2;
  pane.scrollTo(first.length ? middle - pane.clientWidth / 2 : 0, 0);
  drawGraph();
}
addEventListener("resize", () => state.graph && drawGraph());
