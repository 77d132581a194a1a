"""What follows from a row of the table of collectives."""

from __future__ import annotations

from mesh_opt.sharding.collective_rows import COLLECTIVES


def test_all_processes_get_the_same() -> None:
    same = [row.name for row in COLLECTIVES.values() if row.replicates]
    assert same == ["all_gather", "all_reduce", "broadcast"]


def test_nothing_is_sent_locally() -> None:
    local = [row for row in COLLECTIVES.values() if row.is_local]
    assert [row.name for row in local] == ["all_slice"]
    assert not any(row.sent(4) for row in local)
