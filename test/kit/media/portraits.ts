// Drawn portraits for screenshots of the console: published instead of a camera, so that they show no real person and are reproducible.

export type Portrait = {
  /** Colors of the background, from left to right. */
  wall: readonly [string, string];
  skin: string;
  hair: string;
  shirt: string;
  /** Length of the hair, from 0 (short) to 1 (to the shoulders). */
  length: number;
};

export type Portraits = {
  /** Its video track of 640x360 at 15 frames per second. */
  camera: (portrait: Portrait) => MediaStreamTrack;
  /** An audio track of silence, or similar to a voice. */
  microphone: (speaks: boolean) => MediaStreamTrack;
};

declare global {
  var portraits: Portraits;
}

/** Script for a page, which runs first and must not use imports. `own`: source of getUserMedia(). */
export function installPortraits(own?: Portrait): void {
  const draw = (context: CanvasRenderingContext2D, { wall, skin, hair, shirt, length }: Portrait, at: number) => {
    const shape = (colour: string, x: number, y: number, rx: number, ry: number, from = 0, to = 2 * Math.PI) => {
      context.fillStyle = colour;
      context.beginPath();
      context.ellipse(x, y, rx, ry, 0, from, to);
      context.fill();
    };
    const gradient = context.createLinearGradient(0, 0, 640, 360);
    gradient.addColorStop(0, wall[0]);
    gradient.addColorStop(1, wall[1]);
    context.fillStyle = gradient;
    context.fillRect(0, 0, 640, 360);
    context.fillStyle = 'rgb(255 255 255 / 8%)';
    context.fillRect(36, 40, 120, 150);
    context.fillRect(484, 80, 120, 12);
    for (const [index, height] of [44, 60, 38, 52].entries()) context.fillRect(494 + index * 24, 80 - height, 16, height);
    const x = 320 + 5 * Math.sin(at / 1_100);
    const y = 168 + 2 * Math.sin(at / 700);
    shape(hair, x, y - 34 + 60 * length, 73 + 11 * length, 72 + 66 * length);
    shape(shirt, 320, 400, 170, 130);
    context.fillStyle = skin;
    context.fillRect(x - 26, y + 50, 52, 60);
    shape(skin, x, y + 108, 34, 20);
    shape(skin, x, y, 66, 82);
    shape(hair, x, y - 40, 70, 52, Math.PI, 2 * Math.PI);
    for (const side of [-1, 1]) shape('rgb(30 25 25)', x + side * 25, y - 4, 6, at % 4_000 < 150 ? 1 : 7);
    context.strokeStyle = 'rgb(120 50 50)';
    context.lineWidth = 5;
    context.lineCap = 'round';
    context.beginPath();
    context.arc(x, y + 22, 26, 0.2 * Math.PI, 0.8 * Math.PI);
    context.stroke();
  };
  const camera = (portrait: Portrait): MediaStreamTrack => {
    const canvas = document.createElement('canvas');
    canvas.width = 640;
    canvas.height = 360;
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    const drawFrame = () => draw(context, portrait, performance.now());
    drawFrame();
    setInterval(drawFrame, 1000 / 15);
    return canvas.captureStream(15).getVideoTracks()[0] as MediaStreamTrack;
  };
  const microphone = (speaks: boolean): MediaStreamTrack => {
    const context = new AudioContext();
    const destination = context.createMediaStreamDestination();
    const oscillator = new OscillatorNode(context, { type: 'sawtooth', frequency: 140 });
    oscillator.connect(new GainNode(context, { gain: speaks ? 0.4 : 0 })).connect(destination);
    oscillator.start();
    return destination.stream.getAudioTracks()[0] as MediaStreamTrack;
  };
  globalThis.portraits = { camera, microphone };
  if (own)
    navigator.mediaDevices.getUserMedia = async ({ audio, video } = {}) =>
      new MediaStream([...(audio ? [microphone(false)] : []), ...(video ? [camera(own)] : [])]);
}
