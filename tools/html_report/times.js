// The part of a report's script that draws the timeline of each device.
const LANE = 24, TOP = 22, times = data.times;
const LABEL = 16 + 7 * Math.max(0, ...(times ? times.lanes : []).map(name => name.length));
const line = { from: 0, to: 1, chosen: -1 };

const took = time => time < 1000 ? time.toFixed(1) + " \u00b5s" : time < 1e6
  ? (time / 1e3).toFixed(2) + " ms" : (time / 1e6).toFixed(2) + " s";
const eventText = ([lane, kind, name, start, length, detail]) =>
  `${times.lanes[lane]}: ${kind === name ? "" : kind + " "}${name}, ${took(start)} + `
  + `${took(length)}${detail ? ", " + detail : ""}`;

// The visible events of each lane. Of several events in one pixel, one is drawn.
function drawTimes() {
  const pane = $("times"), svg = pane.querySelector("svg");
  if (!svg) return;
  const wide = Math.max(200, pane.clientWidth - LABEL - 40), scale = wide / (line.to - line.from);
  const at = time => LABEL + (time - line.from) * scale;
  const made = [], last = times.lanes.map(() => -9);
  svg.setAttribute("width", LABEL + wide + 10);
  for (let part = 0; part <= 5; part++) {
    const time = line.from + (line.to - line.from) * part / 5;
    made.push(shape("path", { class: "tick", d: `M${at(time)} ${TOP - 4}v${LANE * last.length}` }),
      shape("text", { x: at(time), y: 12, "text-anchor": part ? part < 5 ? "middle" : "end"
        : "start" }, took(time)));
  }
  times.lanes.forEach((name, lane) =>
    made.push(shape("text", { x: 4, y: TOP + lane * LANE + 14 }, name)));
  times.events.forEach((event, index) => {
    const [lane, kind, name, start, length] = event;
    if (start > line.to || start + length < line.from) return;
    const left = Math.max(LABEL, at(start)), right = Math.min(LABEL + wide, at(start + length));
    const chosen = index === line.chosen;
    if (!chosen && right < last[lane] + 0.5) return;
    last[lane] = Math.max(right, left + 0.5);
    const box = shape("rect", { x: left, y: TOP + lane * LANE, height: LANE - 4,
      width: Math.max(0.7, right - left), class: "event " + kind + (chosen ? " chosen" : "") },
      shape("title", {}, eventText(event)));
    box.addEventListener("click", () => chooseEvent(index));
    made.push(box);
    if (right - left > 7 * name.length) made.push(shape("text",
      { x: left + 3, y: TOP + lane * LANE + 14, class: "name" }, name));
  });
  svg.replaceChildren(...made);
  const event = times.events[line.chosen];
  pane.querySelector(".event-text").textContent = event ? eventText(event)
    : "Choose an event: arrows go to the next one, n and p to the next meeting.";
}

function zoom(factor, around) {
  const [first, end] = [0, times.end || 1], whole = line.to - line.from;
  const next = Math.min(end, Math.max(whole * factor, end / 1e5));
  const from = around - (around - line.from) * next / whole;
  line.from = Math.max(first, Math.min(end - next, from));
  line.to = line.from + next;
  drawTimes();
}
const middle = () => {
  const event = times.events[line.chosen];
  return event ? event[3] + event[4] / 2 : (line.from + line.to) / 2;
};

function chooseEvent(index) {
  line.chosen = index;
  const [, , , start, length] = times.events[index], half = (line.to - line.from) / 2;
  if (start + length < line.from || start > line.to) {
    line.from = Math.max(0, Math.min(times.end - 2 * half, start - half));
    line.to = line.from + 2 * half;
  }
  drawTimes();
}
function nextEvent(step, kinds) {
  const at = line.chosen < 0 ? (step > 0 ? -1 : times.events.length) : line.chosen;
  for (let index = at + step; times.events[index]; index += step)
    if (!kinds || kinds.includes(times.events[index][1])) return chooseEvent(index);
}

// The share of the run's time that each device spent on each kind of event.
function shares() {
  const kinds = ["kernel", "copy", "collective", "wait", "compile"];
  const sums = times.lanes.map(() => ({}));
  times.events.forEach(([lane, kind, , , length]) => {
    sums[lane][kind] = (sums[lane][kind] || 0) + length;
  });
  const share = value => element("td", { className: "number",
    textContent: (100 * (value || 0) / (times.end || 1)).toFixed(1) + "%" });
  return table(["", ...kinds], times.lanes.map((name, lane) =>
    [name, ...kinds.map(kind => share(sums[lane][kind]))]));
}

function showTimes() {
  const pane = $("times");
  if (!times) return pane.replaceChildren(...nothing(
    "Nothing ran: mesh-run --report writes a page with what devices did."));
  if (!pane.querySelector("svg")) {
    line.to = times.end || 1;
    const about = times.left ? ` ${times.left} later events are left out.` : "";
    const svg = shape("svg", { height: TOP + LANE * times.lanes.length + 6 });
    svg.addEventListener("wheel", event => {
      event.preventDefault();
      const wide = svg.clientWidth - LABEL - 10;
      const part = (event.clientX - svg.getBoundingClientRect().left - LABEL) / wide;
      zoom(event.deltaY > 0 ? 1.25 : 0.8, line.from + part * (line.to - line.from));
    });
    pane.replaceChildren(
      element("h2", { textContent: "What each device did. The wheel, + and - zoom." + about }),
      element("p", { className: "event-text" }), svg, shares());
  }
  drawTimes();
}
addEventListener("resize", () => state.times && drawTimes());
