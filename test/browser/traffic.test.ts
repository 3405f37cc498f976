// The traffic that a node counts is that which browsers count.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { scrape } from '../kit/fakes/metrics.ts';
import { css, enter, type PagePeer, red, setStage } from './client-kit.ts';

/** Bytes over the transports of a peer, as its browser counts them. */
function bytesOf({ page }: PagePeer): Promise<{ sent: number; received: number }> {
  return page.evaluate(async () => {
    const stats = await kit.rooms.main?.room.getStats();
    const transports = [stats?.send, stats?.recv]
      .flatMap((report) => [...(report?.values() ?? [])])
      .filter(({ type }) => type === 'transport') as RTCTransportStats[];
    const sum = (key: 'bytesSent' | 'bytesReceived') => transports.reduce((total, transport) => total + (transport[key] ?? 0), 0);
    return { sent: sum('bytesSent'), received: sum('bytesReceived') };
  });
}

test('bytes that browsers send and receive are the traffic of the node, also once they have left', async (t) => {
  const stage = await setStage(t);
  const [sender, viewer] = await Promise.all([enter(stage, 'sender'), enter(stage, 'viewer')]);
  await sender.publish({ colour: css(red), rate: 30, tone: 440 });
  await viewer.sees(sender, red);
  await viewer.hears(sender, 440);
  const both = async () => {
    const [one, other] = await Promise.all([bytesOf(sender), bytesOf(viewer)]);
    return { sent: one.sent + other.sent, received: one.received + other.received };
  };
  const traffic = async () => {
    const samples = await scrape(stage.node.metricsUrl);
    const of = (direction: string) => samples.get(`svc_traffic_${direction}_webrtc_total_bytes`) ?? 0;
    return { ingress: of('ingress'), egress: of('egress') };
  };
  // Until there is so much that handshakes, which the two count differently, do not matter.
  await eventually('there is enough traffic', async () => (await both()).received >= 300_000);
  const compare = async () => {
    const before = await both();
    const counted = await traffic();
    const after = await both();
    const near = (count: number, key: 'sent' | 'received') => count > before[key] * 0.97 && count < after[key] * 1.03;
    return { agree: near(counted.ingress, 'sent') && near(counted.egress, 'received'), before, counted, after };
  };
  let figures = await compare();
  // What one has sent waits in a socket while the other is held up: a tenth of a second is three per cent of what there is by now.
  const agree = async () => {
    if (!figures.agree) figures = await compare();
    return figures.agree;
  };
  await eventually(() => `the figures agree: ${JSON.stringify(figures)}`, agree, { every: 1 });
  const { counted } = figures;
  for (const { page } of [sender, viewer]) await page.close();
  const later = await traffic();
  assert.ok(later.ingress >= counted.ingress && later.egress >= counted.egress, JSON.stringify({ counted, later }));
});
