# Agent of the test: while it hears the tone of a participant, it plays another one.
import asyncio
import os

from livekit import agents, rtc

from tones import BLOCK, RATE, level_of, tone


async def entrypoint(context: agents.JobContext) -> None:
    hearing = asyncio.Event()

    async def hear(track: rtc.Track) -> None:
        async for event in rtc.AudioStream(track, sample_rate=RATE, num_channels=1):
            (hearing.set if level_of(event.frame, 440) > 1_000 else hearing.clear)()

    @context.room.on("track_subscribed")
    def subscribed(track: rtc.Track, *_: object) -> None:
        if track.kind == rtc.TrackKind.KIND_AUDIO:
            tasks.append(asyncio.create_task(hear(track)))

    tasks: list[asyncio.Task] = []
    await context.connect()
    source = rtc.AudioSource(RATE, 1, queue_size_ms=20)
    track = rtc.LocalAudioTrack.create_audio_track("answer", source)
    await context.room.local_participant.publish_track(track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE))
    sent = 0
    while True:
        await source.capture_frame(tone(660 if hearing.is_set() else 0, sent))
        sent += BLOCK


if __name__ == "__main__":
    # A busy computer of tests is no reason to decline.
    options = agents.WorkerOptions(
        entrypoint_fnc=entrypoint,
        num_idle_processes=1,
        load_threshold=float("inf"),
        port=int(os.environ.get("HEALTH_PORT", "0")),
    )
    os.environ.setdefault("LIVEKIT_LOG_LEVEL", "info")
    agents.cli.run_app(options)
