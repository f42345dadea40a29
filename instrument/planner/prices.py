"""What a call of a person's own session cost, from genai-prices' bundled data; never the network.

Limits: exact model ids, a date behind them aside; no aliases. A bucket without a price of its own has the
price of what it is a part of.
"""

import re
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import cache
from typing import Any

from genai_prices.data import providers
from genai_prices.types import Usage as PricedUsage

from instrument.schema.usage import Usage
from instrument.schema.vocabulary import ProviderName, RuntimeName

_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})\Z")
_PROVIDERS = {RuntimeName.CLAUDE: ProviderName.ANTHROPIC, RuntimeName.CODEX: ProviderName.OPENAI}
_MICROUSD = 1_000_000


def cost_of(program: RuntimeName, model: str | None, usage: Usage, at_utc: datetime) -> int | None:
    """Micro-dollars, rounded up once; none where no price is known."""
    known = _models(_PROVIDERS[program])
    entry = known.get(model or "") or known.get(_DATE.sub("", model or ""))
    if entry is None:
        return None
    prices = entry.get_prices(at_utc)
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    price = prices.calc_price(
        PricedUsage(
            input_tokens=usage.total_tokens - usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
            cache_write_1h_tokens=usage.cache_write_1h_tokens,
            output_tokens=usage.output_tokens,
        )
    )
    total: Decimal = price["total_price"] * _MICROUSD
    return int(total.to_integral_value(rounding=ROUND_CEILING))


@cache
def _models(provider: ProviderName) -> dict[str, Any]:
    """The library's entries by id."""
    return {model.id: model for entry in providers if entry.id == provider for model in entry.models}
