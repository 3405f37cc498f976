// Traffic counters of a node match the counters of the browsers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { scrape } from '../kit/fakes/metrics.ts';
import { css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';

/** Bytes over the transports of a peer, counted by its browser. */
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

test('traffic counters of a node equal the bytes of browsers and keep them after browsers leave', async (t) => {
  const fixture = await startClientFixture(t);
  const [sender, viewer] = await Promise.all([enter(fixture, 'sender'), enter(fixture, 'viewer')]);
  await sender.publish({ colour: css(red), rate: 30, tone: 440 });
  await viewer.sees(sender, red);
  await viewer.hears(sender, 440);
  const both = async () => {
    const [one, other] = await Promise.all([bytesOf(sender), bytesOf(viewer)]);
    return { sent: one.sent + other.sent, received: one.received + other.received };
  };
  const traffic = async () => {
    const samples = await scrape(fixture.node.metricsUrl);
    const of = (direction: string) => samples.get(`svc_traffic_${direction}_webrtc_total_bytes`) ?? 0;
    return { ingress: of('ingress'), egress: of('egress') };
  };
  // Until handshakes, which both count differently, are negligible.
  await eventually('there is enough traffic', async () => (await both()).received >= 300_000);
  const compare = async () => {
    const before = await both();
    const counted = await traffic();
    const after = await both();
    const near = (count: number, key: 'sent' | 'received') => count > before[key] * 0.97 && count < after[key] * 1.03;
    return { agree: near(counted.ingress, 'sent') && near(counted.egress, 'received'), before, counted, after };
  };
  let counters = await compare();
  // Sent bytes wait in a socket while the other side is delayed: a tenth of a second is three percent of the total by now.
  const agree = async () => {
    if (!counters.agree) counters = await compare();
    return counters.agree;
  };
  await eventually(() => `the counters agree: ${JSON.stringify(counters)}`, agree, { every: 1 });
  const { counted } = counters;
  for (const { page } of [sender, viewer]) await page.close();
  const later = await traffic();
  assert.ok(later.ingress >= counted.ingress && later.egress >= counted.egress, JSON.stringify({ counted, later }));
});
