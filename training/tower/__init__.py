"""Query towers: small encoders of goals and questions in the space of a larger encoder's documents."""
