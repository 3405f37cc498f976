// Program that publishes events to a receiver through a spool until it is killed: `node spooling-process.ts <folder> <url>`.

import { WebhookStore } from '../../../node/events/webhooks/store.ts';
import { Webhooks } from '../../../node/events/webhooks/webhooks.ts';
import { roomEvent, testSettings } from '../fakes/webhooks.ts';
import { silentLog } from '../silent-log.ts';

const [, , base = '', url = ''] = process.argv;
const log = silentLog();
const store = await WebhookStore.open({ log, base, name: 'node@host' });
if (!store) throw new Error('no store');
const settings = testSettings();
const webhooks = new Webhooks({ log, settings: () => settings, userAgent: 'Mediarooms/test', store, dispatcher: { delay: () => 10 } });
let seq = 0;
setInterval(() => {
  for (let count = 0; count < 5; count += 1) {
    seq += 1;
    webhooks.publish(roomEvent('one', seq), url);
    // Synchronous, so that every reported event was published.
    process.stdout.write(`${seq}\n`);
  }
}, 5);
