"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is not a fault: no example has a time limit of its own.
settings.register_profile("mesh-opt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mesh-opt")
