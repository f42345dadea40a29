"""The pure machine: plan, judge, advance; it knows no clock, no disk and no Docker."""
