"""CHLO: functions above StableHLO, which it is lowered to."""
