from minisgl_tutor.message import SamplingParams, Usage
from minisgl_tutor.scheduler.req import Req


def make_req() -> Req:
    return Req.of_prompt(3, [5, 6, 7], 2, SamplingParams(), seed=0)


def test_no_step_is_launched_past_the_limit_even_before_its_tokens_arrive() -> None:
    req = make_req()
    req.launch(3)
    assert req.can_launch
    req.launch(4)
    assert not req.can_launch
    assert req.can_decode


def test_can_decode_follows_what_has_arrived() -> None:
    req = make_req()
    req.append_host(8)
    assert req.can_decode
    req.append_host(9)
    assert not req.can_decode
    assert req.token_ids.tolist() == [5, 6, 7, 8, 9]


def test_only_known_and_computed_tokens_may_be_cached() -> None:
    req = make_req()
    req.launch(3)
    assert req.known_and_computed.tolist() == []
    req.drain(3)
    req.append_host(8)
    assert req.known_and_computed.tolist() == [5, 6, 7]


def test_usage_counts_prompt_output_and_cached_tokens() -> None:
    req = make_req()
    req.cached_len = 2
    req.append_host(8)
    assert req.usage == Usage(3, 1, 2)
