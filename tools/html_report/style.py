"""The style sheet of a report: dark or light by system setting or by choice."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light; --back: #fff; --fore: #1b1f24; --dim: #667; --line: #d8dce2;
  --changed: #e2f4e5; --gone: #fbe4e4; --follow: #ffe08a; --accent: #0a58ca; --chip: #eef1f5;
  --send: #ffd9a8; --op: #8250df; --symbol: #0550ae; --fill: #f6f7f9; }
:root.dark { color-scheme: dark; --back: #14171c; --fore: #dde3ea; --dim: #8b94a0; --line: #2c323b;
  --changed: #16331f; --gone: #3a1c1f; --follow: #6b5500; --accent: #7fb0ff; --chip: #222831;
  --send: #7a4a12; --op: #d2a8ff; --symbol: #79c0ff; --fill: #1a1e25; }
* { box-sizing: border-box; scrollbar-width: thin; scrollbar-color: var(--line) transparent; }
body { margin: 0; height: 100vh; display: flex; flex-direction: column; background: var(--back);
  color: var(--fore); font: 14px/1.45 system-ui, sans-serif; }
header { display: flex; gap: .2em 1.2em; align-items: baseline; padding: .4em 1em; flex-wrap: wrap;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1.05em; margin: 0; }
#keys { color: var(--dim); font-size: .8em; }
#follow { width: 9em; font: 12px ui-monospace, monospace; color: inherit; background: var(--fill);
  border: 1px solid var(--line); border-radius: 4px; padding: .15em .4em; }
kbd { border: 1px solid var(--line); border-radius: 3px; padding: 0 .3em; font-size: .9em; }
main { flex: 1; min-height: 0; display: grid; grid-template-columns: 16em 1fr 1fr 25em; }
main.single { grid-template-columns: 16em 0 1fr 25em; }
#graph { display: none; grid-column: 2 / 4; }
main.graphs .pane { display: none; }
main.graphs #graph { display: block; position: relative; outline: none; }
#graph h2 { position: sticky; top: 0; left: 0; margin: 0; padding: .2em .6em; font-size: .85em;
  font-weight: normal; background: var(--back); border-bottom: 1px solid var(--line); }
#graph svg { display: block; margin: 0 auto; font: 11px ui-monospace, monospace; }
#graph select { color: inherit; background: var(--chip); border: 1px solid var(--line); }
.node { cursor: pointer; }
.node text { fill: var(--fore); }
.node .kind { fill: var(--dim); }
.node .box { fill: var(--chip); stroke: var(--line); }
.node.argument .box { fill: var(--back); stroke-dasharray: 3 2; stroke: var(--dim); }
.node.collective .box { fill: var(--send); stroke: var(--fore); }
.node.collective .kind { fill: var(--fore); }
.node.chosen .box { stroke: var(--accent); stroke-width: 3; }
.edge { fill: none; stroke: var(--dim); opacity: .55; }
.edge.near { stroke: var(--accent); stroke-width: 2; opacity: 1; }
#times { display: none; grid-column: 2 / 4; padding: 0 .6em; }
main.timed .pane { display: none; }
main.timed #times { display: block; }
#times h2 { font-size: .85em; font-weight: normal; margin: .2em 0; }
#times svg { display: block; font: 11px ui-monospace, monospace; margin-bottom: 1em; }
#times text { fill: var(--fore); }
#times .name { fill: #111; pointer-events: none; }
#times .event.wait + .name { fill: var(--fore); }
#times .tick { stroke: var(--line); }
.event { cursor: pointer; fill: hsl(214 70% 72%); }
.event.copy { fill: hsl(150 45% 65%); }
.event.collective { fill: hsl(30 90% 68%); }
.event.compile { fill: hsl(280 45% 78%); }
.event.wait { fill: var(--chip); stroke: var(--dim); stroke-dasharray: 2 2; }
.event.chosen { stroke: var(--accent); stroke-width: 2; stroke-dasharray: none; }
#times table { border-collapse: collapse; font-size: .9em; }
#times td, #times th { padding: .1em 1em .1em 0; text-align: right; }
svg.tiles { display: block; font: 11px ui-monospace, monospace; }
svg.tiles text { fill: var(--dim); }
svg.tiles .tile { fill: hsl(214 70% 72%); }
svg.tiles .pad { fill: var(--chip); stroke: var(--dim); stroke-dasharray: 2 2; }
nav, .pane, #graph, #times, aside { overflow: auto; min-width: 0;
  border-right: 1px solid var(--line); }
nav ol { list-style: none; margin: 0; padding: .3em; }
nav button { width: 100%; text-align: left; border: 0; background: none; color: inherit;
  font-size: .88em; font-family: inherit; line-height: 1.3; padding: .2em .5em;
  border-radius: 4px; display: flex; gap: .5em; justify-content: space-between; cursor: pointer; }
nav button.same { color: var(--dim); }
nav button[aria-current=true] { background: var(--accent); color: var(--back); }
nav .count { font-size: .8em; opacity: .75; white-space: nowrap; }
.pane h2 { position: sticky; top: 0; left: 0; margin: 0; padding: .2em .6em; font-size: .9em;
  background: var(--back); border-bottom: 1px solid var(--line); }
.code { font: 12px/1.5 ui-monospace, monospace; white-space: pre; padding-bottom: 4em;
  min-width: max-content; }
.row, .fill { content-visibility: auto; contain-intrinsic-height: 18px; padding: 0 .6em 0 0;
  border-left: 3px solid transparent; min-height: 18px; }
.fill { background: var(--fill); }
main.single .fill { display: none; }
main.wrapped .code { min-width: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.at { display: inline-block; width: 3.2em; padding-right: .9em; text-align: right;
  color: var(--dim); opacity: .6; }
.at::before { content: attr(data-at); }
.op { color: var(--op); }
.symbol { color: var(--symbol); }
#after .row.changed { background: var(--changed); }
#before .row.changed { background: var(--gone); }
.row.followed { border-left-color: var(--accent); }
.row.here { outline: 1px dashed var(--accent); }
.value { cursor: pointer; border-radius: 2px; }
.value:hover { text-decoration: underline; }
.value.followed { background: var(--follow); }
.chip { display: inline-block; margin-left: .7em; padding: 0 .5em; border-radius: 8px;
  background: var(--send); color: var(--fore); font: 11px/16px system-ui, sans-serif;
  user-select: none; }
#tabs { display: flex; overflow-x: auto; border-bottom: 1px solid var(--line); position: sticky;
  top: 0; background: var(--back); }
#tabs button { border: 0; background: none; color: inherit; font-size: .84em;
  font-family: inherit; padding: .45em .4em; cursor: pointer; white-space: nowrap; }
#tabs button[aria-selected=true] { border-bottom: 2px solid var(--accent); }
#panel { padding: .3em .8em; font-size: .93em; }
#panel table.data { border-collapse: collapse; font-size: .9em; }
#panel table.data td, #panel table.data th { padding: .15em .6em .15em 0; text-align: left;
  vertical-align: top; }
#panel table.data .number { text-align: right; font-variant-numeric: tabular-nums; }
#panel .map { margin: .4em 0 1em; overflow-x: auto; }
#panel .where { color: var(--accent); cursor: pointer; }
#panel caption { color: inherit; }
button:focus-visible, input:focus-visible, [role=link]:focus-visible {
  outline: 2px solid var(--accent); }
"""
