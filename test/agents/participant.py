# Participant of the test: plays a tone again and again, and measures how long the agent takes to answer. Arguments: URL, token, repetitions.
import asyncio
import json
import sys
import time

from livekit import rtc

from tones import BLOCK, RATE, level_of, tone

PATIENCE = 60.0


async def main(url: str, token: str, repetitions: int) -> None:
    room = rtc.Room()
    answering = False
    changed = asyncio.Event()
    tasks: list[asyncio.Task] = []

    async def hear(track: rtc.Track) -> None:
        nonlocal answering
        async for event in rtc.AudioStream(track, sample_rate=RATE, num_channels=1):
            now = level_of(event.frame, 660) > 1_000
            if now != answering:
                answering = now
                changed.set()

    async def until(state: bool) -> None:
        while answering != state:
            changed.clear()
            await asyncio.wait_for(changed.wait(), PATIENCE)

    @room.on("track_subscribed")
    def subscribed(track: rtc.Track, _: object, participant: rtc.RemoteParticipant) -> None:
        print(json.dumps({"subscribed": participant.identity, "kind": int(participant.kind)}), flush=True)
        tasks.append(asyncio.create_task(hear(track)))

    await room.connect(url, token)
    source = rtc.AudioSource(RATE, 1, queue_size_ms=20)
    track = rtc.LocalAudioTrack.create_audio_track("voice", source)
    await room.local_participant.publish_track(track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE))
    speaking = False

    async def speak() -> None:
        sent = 0
        while True:
            await source.capture_frame(tone(440 if speaking else 0, sent))
            sent += BLOCK

    tasks.append(asyncio.create_task(speak()))
    for _ in range(repetitions):
        speaking = True
        start = time.monotonic()
        await until(True)
        print(json.dumps({"answered": round((time.monotonic() - start) * 1000)}), flush=True)
        speaking = False
        await until(False)
        await asyncio.sleep(0.3)
    await room.disconnect()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
