"""Micro-dollars to text.

Pure: no I/O.
"""

MICROUSD_PER_USD = 1_000_000


def show_usd(microusd: int, *, lower_bound: bool = False) -> str:
    """Format an amount: `$0.0544`, or `≥ $0.0544` where a part is unmetered; never rounded."""
    dollars, rest = divmod(microusd, MICROUSD_PER_USD)
    decimals = f"{rest:06d}".rstrip("0").ljust(4, "0")
    return f"{'≥ ' if lower_bound else ''}${dollars}.{decimals}"
