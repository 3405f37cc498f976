// Test tone: plays two short tones on a speaker.

const tones = [523.25, 659.25];
/** Seconds per tone. */
const length = 0.22;

/** Plays on this speaker, or on the default one of the system. Resolves at the end. Rejects if the speaker cannot be used. */
export async function playTestTone(speaker: string | undefined): Promise<void> {
  const context = new AudioContext();
  const audio = new Audio();
  try {
    await context.resume();
    const target = context.createMediaStreamDestination();
    const last = tones.map((frequency, index) => tone(context, target, frequency, context.currentTime + 0.1 + index * length)).at(-1);
    audio.srcObject = target.stream;
    if (speaker) await audio.setSinkId(speaker);
    await audio.play();
    await new Promise((resolve) => last?.addEventListener('ended', resolve));
    // The end of the audio is still buffered.
    await new Promise((resolve) => setTimeout(resolve, 250));
  } finally {
    audio.srcObject = null;
    await context.close();
  }
}

function tone(context: AudioContext, target: AudioNode, frequency: number, at: number): OscillatorNode {
  const oscillator = context.createOscillator();
  const gain = context.createGain();
  oscillator.frequency.value = frequency;
  gain.gain.setValueAtTime(0, at);
  gain.gain.linearRampToValueAtTime(0.25, at + 0.02);
  gain.gain.linearRampToValueAtTime(0, at + length);
  oscillator.connect(gain).connect(target);
  oscillator.start(at);
  oscillator.stop(at + length);
  return oscillator;
}
