"""Custom forms of xDSL's operations where xDSL's own are incomplete; each module says why."""
