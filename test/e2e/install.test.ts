// One `helm install` to first media, and what else a user of the chart meets; browsers are outside of the pods' network.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { blue, css, red } from '../browser/client-kit.ts';
import { Installed } from './installed.ts';
import { tell } from './timings.ts';

const stage = await Installed.prepare({ after });
const release = 'rooms';

test('from `helm install` to the first frames of two browsers it takes less than a minute', async (t) => {
  const browser = await stage.browser(t);
  const pages = [stage.openPage(browser), stage.openPage(browser)] as const;
  assert.deepEqual(await Promise.all(pages.map(async (page) => (await page).evaluate(() => isSecureContext))), [true, true]);

  const started = performance.now();
  await stage.install(release);
  tell('helm install', performance.now() - started);
  await stage.available(release);
  const availableAt = performance.now();
  tell('install to MediaCluster Available', availableAt - started);
  const room = await stage.room('class', { peers: [{ name: 'anna' }, { name: 'bert' }] });
  tell('Room applied to Ready', performance.now() - availableAt);
  assert.match(room.status.address, /^rooms\.test(:443)?\/n\/\d+$/);
  const [anna, bert] = await Promise.all([
    stage.enter(browser, 'class', 'anna', pages[0]),
    stage.enter(browser, 'class', 'bert', pages[1]),
  ]);
  await Promise.all([anna.publish({ colour: css(red), tone: 440 }), bert.publish({ colour: css(blue), tone: 1000 })]);
  await Promise.all([anna.sees(bert, blue), bert.sees(anna, red), anna.hears(bert, 1000), bert.hears(anna, 440)]);
  const took = performance.now() - started;
  tell('install to picture and sound both ways', took);
  assert.ok(took < 60_000, `${took} ms`);
});
