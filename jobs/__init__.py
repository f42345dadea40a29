"""One fresh container a role: what goes in, what comes out, how it ended."""
