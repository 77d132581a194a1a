"""The compiler passes: one file each, in folders by stage."""
