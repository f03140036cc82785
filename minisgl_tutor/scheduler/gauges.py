"""How full the scheduler is, as numbers to watch over time."""

from __future__ import annotations

from .scheduler import Scheduler


def gauges(scheduler: Scheduler) -> dict[str, float]:
    """Pages of the K/V pool and rows of the table: how many there are, and what they are used for.

    A page that only the prefix cache has can be taken any time, so it counts as not in use. Beside these
    gauges, the number of retractions so far, under the field's name for them.
    """
    cache, table = scheduler.cache_manager, scheduler.table_manager
    return {
        "kv_pages": cache.num_pages,
        "kv_pages_free": len(cache.free_pages),
        "kv_pages_cached": cache.prefix_cache.evictable,
        "kv_cache_usage_perc": 1 - cache.room / cache.num_pages,
        "slots": table.num_slots,
        "slots_free": len(table.free_slots),
        "num_preemptions": scheduler.prefill_manager.retractions,
    }
