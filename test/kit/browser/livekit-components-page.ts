// Page script of tests with LiveKit's React components, unmodified: their video conference, next to the instruments of client-page.ts.
import './client-page.ts';
import { LiveKitRoom, VideoConference } from '@livekit/components-react';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import type { FrameProbe } from './client-page.ts';

/** Devices whose content a test recognizes. */
function replaceDevices(colour: string, frequency: number): void {
  navigator.mediaDevices.getUserMedia = async ({ audio, video } = {}) =>
    new MediaStream([...(video ? [kit.pattern(colour)] : []), ...(audio ? [kit.tone(frequency)] : [])]);
}

const conferencePage = {
  /** Joins with camera and microphone. */
  show(serverUrl: string, token: string, colour: string, frequency: number): void {
    replaceDevices(colour, frequency);
    const place = document.createElement('div');
    document.body.append(place);
    const conference = createElement(VideoConference);
    createRoot(place).render(createElement(LiveKitRoom, { serverUrl, token, connect: true, video: true, audio: true }, conference));
  },

  /** The video of the only other participant. */
  async otherFrame(): Promise<FrameProbe | undefined> {
    const video = document.querySelector<HTMLVideoElement>('video[data-lk-local-participant="false"]');
    return video && video.videoWidth > 0 ? kit.probe(video) : undefined;
  },

  /** The loudest frequency of the only other participant. */
  async otherTone(): Promise<number | undefined> {
    const stream = document.querySelector<HTMLAudioElement>('audio')?.srcObject;
    const [track] = stream instanceof MediaStream ? stream.getAudioTracks() : [];
    return track && kit.loudest(track);
  },
};

declare global {
  var conference: typeof conferencePage;
}
globalThis.conference = conferencePage;
