import os
import signal

import pytest

from loop.signals import Interrupted, Signals


@pytest.fixture
def signals():
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    made = Signals()
    made.install()
    yield made
    for each, handler in kept.items():
        signal.signal(each, handler)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_before_the_drive_a_signal_ends_the_process_at_once(number, code):
    with pytest.raises(Interrupted) as interrupted:
        send(number)
    assert interrupted.value.exit_code == code
    assert not isinstance(interrupted.value, Exception), "no handler of errors may swallow it"


def test_a_held_signal_comes_at_the_next_effect(signals: Signals):
    signals.hold()
    send(signal.SIGTERM)
    did = []
    with pytest.raises(Interrupted), signals.interruptible():
        did.append("the effect")
    assert did == []


def test_a_signal_during_an_effect_ends_it_and_a_second_one_is_held(signals: Signals):
    signals.hold()
    did = []

    def work() -> None:
        try:
            send(signal.SIGINT)
        finally:
            send(signal.SIGINT)
            did.append("cleaned up")

    with pytest.raises(Interrupted) as interrupted, signals.interruptible():
        work()
    assert did == ["cleaned up"]
    assert interrupted.value.signal == signal.SIGINT


def test_after_an_effect_signals_are_held_again(signals: Signals):
    signals.hold()
    with signals.interruptible():
        pass
    send(signal.SIGINT)
