"""``/metrics``: what Prometheus scrapes. The names are the field's, below our own prefix.

Everything is read when somebody asks; between two scrapes nothing is done for it.
Each app has a registry of its own, so that several can live in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from ..frontend import FrontendManager
from ..health import OK
from ..limits.admission import Admission
from ..limits.bodies import Bodies
from ..limits.deadlines import Deadlines
from ..workers.pulse import Amount, amounts
from .ledger import Distribution, Ledger
from .watch import FRONTEND, Pulses

PREFIX = "minisgl_tutor_"
REASONS = ("stop", "length", "abort", "error")
REFUSALS = ("too_many", "stopping")
LIMITS = ("first_token_timeout", "request_timeout")

WORKER_GAUGES = {
    "kv_cache_usage_perc": "Part of the K/V cache's pages that requests hold, 0 to 1.",
    "kv_pages": "Pages of the K/V cache.",
    "kv_pages_free": "Pages of the K/V cache that nothing is in.",
    "kv_pages_cached": "Pages that the prefix cache alone keeps, and gives up when others need them.",
    "slots": "Requests that can run at once.",
    "slots_free": "Those of them that could begin now.",
}
"""What workers tell of themselves; they may tell more."""

WORKER_COUNTERS = {
    "num_preemptions": "Requests that gave up their pages for older ones, and began again later.",
}


class Metrics:
    """A collector of this server's numbers. ``connections`` counts the open ones."""

    def __init__(
        self,
        model: str,
        state: FrontendManager,
        ledger: Ledger,
        admission: Admission,
        bodies: Bodies,
        deadlines: Deadlines,
        pulses: Pulses,
        connections: Callable[[], int],
    ) -> None:
        self._model = model
        self._state = state
        self._ledger = ledger
        self._admission = admission
        self._bodies = bodies
        self._deadlines = deadlines
        self._pulses = pulses
        self._connections = connections

    def collect(self) -> Iterable[Metric]:
        ledger, conditions = self._ledger, self._pulses.conditions()
        yield self._gauge(
            "num_requests_running",
            "Requests that are being answered: they have had a token.",
            len(ledger.running),
        )
        yield self._gauge(
            "num_requests_waiting", "Requests that wait for their first token.", len(ledger.waiting)
        )
        yield self._gauge(
            "http_requests_inside",
            "POST requests that came and have not ended; one may ask for several answers.",
            self._admission.inside,
        )
        yield self._gauge(
            "http_body_bytes", "Bytes of bodies, with what large ones have announced.", self._bodies.held
        )
        yield self._gauge("http_connections", "Open connections of clients.", self._connections())
        yield self._counter("prompt_tokens", "Tokens of prompts, of finished requests.", ledger.prompt_tokens)
        yield self._counter("generation_tokens", "Tokens of answers.", ledger.generation_tokens)
        yield self._counter(
            "prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", ledger.prompt_tokens
        )
        yield self._counter(
            "prefix_cache_hits", "Prompt tokens found in the prefix cache.", ledger.cached_tokens
        )
        yield self._gauge(
            "prefix_cache_hit_rate",
            "Part of all prompt tokens that were found in the prefix cache.",
            ledger.cached_tokens / ledger.prompt_tokens if ledger.prompt_tokens else 0.0,
        )
        yield self._histogram(
            "time_to_first_token_seconds", "From a request to its first token.", ledger.first_token
        )
        yield self._histogram(
            "inter_token_latency_seconds", "From a token of an answer to the next.", ledger.between_tokens
        )
        yield self._histogram(
            "e2e_request_latency_seconds", "Of whole requests, but for those cut short.", ledger.whole_request
        )
        yield self._counters("request_success", "Requests that ended.", "finished_reason", self._ended())
        refused = {reason: self._admission.refused[reason] for reason in REFUSALS}
        refused["too_many_bytes"] = self._bodies.refused
        yield self._counters("requests_refused", "Requests that were turned away.", "reason", refused)
        expired = {limit: self._deadlines.expired[limit] for limit in LIMITS}
        yield self._counters("requests_expired", "Requests that a time limit ended.", "limit", expired)
        yield self._worker_gauge(
            "worker_up",
            "1 if a worker is as it should be, else 0; /health says what is wrong.",
            {name: float(condition == OK) for name, condition in conditions.items()},
        )
        yield from self._held()
        yield from self._workers_own()

    def _ended(self) -> Mapping[str, int]:
        return {reason: self._ledger.ended[reason] for reason in REASONS}

    def _held(self) -> Iterable[Metric]:
        """What every component keeps for requests, by map: all zero when nobody asks for anything."""
        by_component = {FRONTEND: amounts(self._state.held())}
        by_component |= {name: beat.held for name, beat in self._pulses.beats.items()}
        labels = ["model_name", "component", "map"]
        requests = GaugeMetricFamily(
            f"{PREFIX}held_requests", "Requests that a component keeps something for.", labels=labels
        )
        total = GaugeMetricFamily(
            f"{PREFIX}held_amount",
            "How much a component keeps for all of them: replies, pages and so on.",
            labels=labels,
        )
        for component, held in by_component.items():
            for name in sorted({*_known(component), *held}):
                amount = held.get(name, Amount(0, 0))
                requests.add_metric([self._model, component, name], amount.requests)
                total.add_metric([self._model, component, name], amount.total)
        yield requests
        yield total

    def _workers_own(self) -> Iterable[Metric]:
        beats = self._pulses.beats
        for name in sorted({name for beat in beats.values() for name in beat.gauges}):
            values = {worker: beat.gauges[name] for worker, beat in beats.items() if name in beat.gauges}
            if name in WORKER_COUNTERS:
                yield self._counters(name, WORKER_COUNTERS[name], "worker", values)
            else:
                yield self._worker_gauge(name, WORKER_GAUGES.get(name, "As the worker says."), values)

    def _gauge(self, name: str, what: str, value: float) -> Metric:
        family = GaugeMetricFamily(PREFIX + name, what, labels=["model_name"])
        family.add_metric([self._model], value)
        return family

    def _worker_gauge(self, name: str, what: str, values: Mapping[str, float]) -> Metric:
        family = GaugeMetricFamily(PREFIX + name, what, labels=["model_name", "worker"])
        for worker, value in values.items():
            family.add_metric([self._model, worker], value)
        return family

    def _counter(self, name: str, what: str, value: float) -> Metric:
        family = CounterMetricFamily(PREFIX + name, what, labels=["model_name"])
        family.add_metric([self._model], value)
        return family

    def _counters(self, name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
        family = CounterMetricFamily(PREFIX + name, what, labels=["model_name", label])
        for value, count in values.items():
            family.add_metric([self._model, value], count)
        return family

    def _histogram(self, name: str, what: str, times: Distribution) -> Metric:
        family = HistogramMetricFamily(PREFIX + name, what, labels=["model_name"])
        so_far, buckets = 0, []
        for bound, count in zip([*map(str, times.bounds), "+Inf"], times.counts, strict=True):
            so_far += count
            buckets.append((bound, float(so_far)))
        family.add_metric([self._model], buckets, times.sum)
        return family


class MetricsPage:
    """Answers ``/metrics``."""

    def __init__(self, metrics: Metrics) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(metrics)
        ProcessCollector(namespace=PREFIX.rstrip("_"), registry=self._registry)

    async def answer(self, request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


def _known(component: str) -> tuple[str, ...]:
    """Maps that a component is known to have: their zero is a point on a graph, too."""
    if component == FRONTEND:
        return "ack_map", "event_map", "unanswered"
    if component.endswith("scheduler"):
        return "waiting", "running", "draining", "slot", "pages"
    return ("decode_map",)
