"""What agents are told: templates, and the pure functions that fill them."""
