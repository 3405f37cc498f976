# Tones as frames, and the level of a frequency in a frame.
import numpy
from livekit import rtc

RATE = 48_000
BLOCK = RATE // 100


def tone(frequency: float, start: int) -> rtc.AudioFrame:
    """`start`: sample at which it begins, so that blocks are continuous. Frequency 0 is silence."""
    angles = 2 * numpy.pi * frequency * (start + numpy.arange(BLOCK)) / RATE
    samples = (8_000 * numpy.sin(angles)).astype(numpy.int16)
    return rtc.AudioFrame(samples.tobytes(), RATE, 1, BLOCK)


def level_of(frame: rtc.AudioFrame, frequency: float) -> float:
    samples = numpy.frombuffer(frame.data, dtype=numpy.int16)
    turns = numpy.exp(-2j * numpy.pi * frequency * numpy.arange(len(samples)) / RATE)
    return float(2 * abs(numpy.dot(samples, turns)) / len(samples))
