"""Code for what xDSL lacks or what differs between its versions; each module says why."""
