"""练习 13：运行中的请求还在读的页，不是空闲的页。

请求的 prompt 算完之后，它填满的页会放进前缀缓存。有些内容缓存里可能已经有了，
来自另一个开头相同的请求：这时，这个调度器就把后来的那些页释放掉。
题目要求见旁边的 exercise-13.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        """`req` 的 prompt 算完了：它继续生成的时候，别的请求可以读它的页。"""
        cache = self.cache_manager
        count = len(req.known_and_computed) // cache.page_size
        own = req.pages[:count]
        kept = cache.prefix_cache.insert(req.token_ids[: count * cache.page_size], own)
        cache.prefix_cache.lock(kept)
        if req.prefix is not None:
            cache.prefix_cache.unlock(req.prefix)
        req.prefix = kept
        # 某个位置上缓存已经有了页，请求自己的那一页就是重复的。
        cache.free_pages += [mine for mine, theirs in zip(own, kept.pages, strict=True) if mine != theirs]
