"""The HTML page of a report: a template with the recorded data as JSON."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...ir.diagnostics import remarks_also_to
from ...passes.sharding.annotations.placed_values import PlacedGroup
from ...passes.sharding.cost.program_cost import Cost
from ...runtime.host.timeline import Timeline
from ...sharding.device_map import device_map, draw_html
from .record import RecordedStage, StageRecorder
from .tiles import draw_tiles

MAX_EVENTS = 20_000
"""The maximum number of timeline events shown; they take about two megabytes."""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<label>follow <input id="follow" list="values" placeholder="%value" spellcheck="false"></label>
<datalist id="values"></datalist>
<span id="keys"><kbd>&larr;</kbd> <kbd>&rarr;</kbd> stage <kbd>n</kbd> <kbd>p</kbd> change
<kbd>/</kbd> follow <kbd>Esc</kbd> stop <kbd>1</kbd>-<kbd>6</kbd> tables <kbd>c</kbd> columns
<kbd>w</kbd> wrap <kbd>g</kbd> graph <kbd>l</kbd> time line <kbd>t</kbd> theme</span>
</header>
<main>
<nav aria-label="stages"><ol id="stages"></ol></nav>
<section id="before" class="pane" aria-label="before"></section>
<section id="after" class="pane" aria-label="after"></section>
<section id="graph" tabindex="0" aria-label="graph of a function"></section>
<section id="times" tabindex="0" aria-label="what devices did"></section>
<aside><div id="tabs" role="tablist"></div><div id="panel" role="tabpanel"></div></aside>
</main>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def render_page(
    title: str, stages: Sequence[RecordedStage], timeline: Timeline | None = None
) -> str:
    """Return the self-contained HTML page on stages, and on a timeline of runs if given."""
    found = {**_data(stages), "times": None if timeline is None else _times(timeline)}
    data = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    # A `</script>` in the program must not end the element that contains the data.
    data = data.replace("<", "\\u003c")
    script = _file("graph.js") + _file("report.js").replace("/* times */", _file("times.js"))
    return _PAGE.format(title=escape(title), style=_file("report.css"), script=script, data=data)


def _file(name: str) -> str:
    """Return a script or style sheet of this package."""
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _times(timeline: Timeline) -> dict[str, Any] | None:
    """Return the timeline as JSON data, in microseconds since the first event."""
    spans, names = timeline.spans(), timeline.rows()
    if not spans:
        return None
    lanes = {row: number for number, row in enumerate(names)}
    shown = spans[:MAX_EVENTS]
    start = min(each.start for each in spans)
    events = [
        [
            *(lanes[each.row], each.kind, each.name),
            *((each.start - start) / 1000, (each.end - each.start) / 1000),
            ", ".join(f"{key} {value}" for key, value in each.details.items()),
        ]
        for each in shown
    ]
    end = (max(each.end for each in shown) - start) / 1000
    left = len(spans) - len(shown)
    return {"lanes": list(names.values()), "events": events, "end": end, "left": left}


class _Numbers:
    """Assigns numbers to texts that occur repeatedly."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        return self._known.setdefault(text, len(self._known))

    def texts(self) -> list[str]:
        """Return the texts in the order of their numbers."""
        return list(self._known)


def _data(stages: Sequence[RecordedStage]) -> dict[str, Any]:
    lines, places, maps, kinds = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    shown = [
        {
            "name": stage.name,
            "lines": [lines[line] for line in stage.lines],
            "places": {at: [places[one] for one in found] for at, found in stage.places.items()},
            "sends": stage.sends,
            "shardings": [_sharding(group, maps) for group in stage.shardings],
            "costs": [_cost(name, cost) for name, cost in stage.costs.items()],
            "graphs": {
                function: [[n.line, kinds[n.name], kinds[n.type], n.reads] for n in nodes]
                for function, nodes in stage.graphs.items()
            },
            "layouts": list(dict.fromkeys(maps[draw_tiles(row)] for row in stage.layouts)),
            "remarks": [
                [one.category, one.message, places[one.place] if one.place else -1]
                for one in stage.remarks
            ],
        }
        for stage in stages
    ]
    return {
        "stages": shown,
        "lines": lines.texts(),
        "places": places.texts(),
        "maps": maps.texts(),
        "kinds": kinds.texts(),
    }


def _sharding(group: PlacedGroup, maps: _Numbers) -> dict[str, Any]:
    picture = device_map(group.shape, group.sharding)
    drawn = f"<p>{escape(str(group.sharding))}</p>" if picture is None else draw_html(picture)
    parts = [1, 1] if picture is None else [len(picture.rows), len(picture.columns)]
    return {"function": group.function, "values": group.values, "map": maps[drawn], "parts": parts}


def _cost(name: str, cost: Cost) -> dict[str, Any]:
    collectives = [
        [collective, axes, count, sent]
        for (collective, axes), (count, sent) in sorted(cost.collectives.items())
    ]
    return {
        "function": name,
        "sent": cost.sent,
        "work": cost.work,
        "peak": None if cost.dispatches else cost.peak,
        "uncounted": cost.uncounted,
        "collectives": collectives,
    }


@contextmanager
def recorded_pipeline(module: ModuleOp) -> Generator[StageRecorder]:
    """Yield a recorder, to be used as an observer of a pipeline on the module.

    Remarks also go to their previous sink.
    """
    recorder = StageRecorder(module)
    with remarks_also_to(recorder.remark):
        yield recorder
