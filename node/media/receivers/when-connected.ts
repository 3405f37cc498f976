// Start of received tracks: resumes them as soon as their transport is encrypted.
import type { Consumer, WebRtcTransport } from 'mediasoup/types';

/**
 * Waits for DTLS: otherwise the requested key frame would be lost, and the next one would take a second (browsers send at most one in
 * 300 ms, mediasoup repeats its request after 1 s). `resume` is omitted if the track ends meanwhile; its later errors are ignored.
 */
export async function whenConnected(transport: WebRtcTransport, consumer: Consumer, resume: () => Promise<void>): Promise<void> {
  if (transport.dtlsState === 'connected') {
    await resume();
    return;
  }
  const connected = (state: string) => {
    if (state !== 'connected') return;
    transport.off('dtlsstatechange', connected);
    // Fails only if the track or the worker has ended, which is reported elsewhere.
    if (!consumer.closed) resume().catch(() => {});
  };
  transport.on('dtlsstatechange', connected);
  consumer.observer.once('close', () => transport.off('dtlsstatechange', connected));
}
