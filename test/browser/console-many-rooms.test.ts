// A list of several hundred rooms: few rows are rendered, and all are reachable by scrolling, keyboard and search.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText, windows } from './console-kit.ts';
import { checkPage, drawnRooms, openPart } from './console-views.ts';

const rooms = 300;
/** Of 300 rows; a window of 900 px shows about 20. */
const maxDrawn = 80;
const nameOf = (index: number): string => `room-${index}`;

/** Opens the list of 300 rooms. On a phone some cards are higher than others. */
async function openList(t: TestContext, viewport: (typeof windows)[number]): Promise<{ page: Page; api: ApiClient; complaints: string[] }> {
  const node = await startNode(t);
  const { api } = node;
  for (let index = 0; index < rooms; index += 1) {
    const more = index % 7 === 3 ? { externalId: `${index} ${'a key that is long '.repeat(8)}` } : {};
    await api.post('/room', { roomId: nameOf(index), ...more });
  }
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: '#/' }, { viewport });
  await seeText(page, 'facts', `${rooms} rooms`);
  await eventuallyIn(page, fewRows);
  return { page, api, complaints };
}

const fewRows = `document.querySelectorAll('${byId('room-row')}').length < ${maxDrawn}`;

/** True if rows fill the window from its middle to the navigation of a phone or the end of the table, without holes. */
const windowIsFull = `(() => {
  const { left, bottom } = document.querySelector('.data-table tbody').getBoundingClientRect();
  const points = [];
  for (let y = innerHeight / 2; y < Math.min(innerHeight - 70, bottom - 20); y += 20) points.push(y);
  const rows = points.map((y) => document.elementFromPoint(left + 30, y)?.closest('${byId('room-row')}'));
  return points.length > 10 && rows.every((row, index) => row || (index > 0 && rows[index - 1] && rows[index + 1] !== null));
})()`;

const isInSight = (room: string) => `(() => {
  const box = document.querySelector('[data-room="${room}"]')?.getBoundingClientRect();
  return box !== undefined && box.top >= 0 && box.bottom <= innerHeight + 1;
})()`;

for (const viewport of windows) {
  test(`few of ${rooms} rooms are rendered at ${viewport.width} px, and scrolling shows each in its position`, async (t) => {
    const { page, complaints } = await openList(t, viewport);
    assert.equal(await page.locator('.data-table').getAttribute('aria-rowcount'), String(rooms + 1));
    assert.equal(await page.locator('.data-table thead [role=row]').getAttribute('aria-rowindex'), '1');
    for (const share of [0, 0.5, 0.31, 0.9]) {
      await page.evaluate(`window.scrollTo(0, document.documentElement.scrollHeight * ${share})`);
      await eventuallyIn(page, windowIsFull);
      await eventuallyIn(page, fewRows);
      for (const { room, index } of await drawnRooms(page)) assert.equal(room, nameOf(index));
    }
    // Rows get their measured height when they are drawn: on a slow host both ends move while the page scrolls to them.
    const goTo = async (key: 'Home' | 'End', room: number) => {
      const isThere = async () => {
        await page.keyboard.press(key);
        return page.evaluate<boolean>(isInSight(nameOf(room)));
      };
      await eventually(`${nameOf(room)} is in sight`, isThere, { every: 1_000 });
    };
    await goTo('End', rooms - 1);
    await eventuallyIn(page, windowIsFull);
    await checkPage(page, 'rooms-many');
    await goTo('Home', 0);
    await eventuallyIn(page, windowIsFull);
    await page.fill(byId('search'), nameOf(rooms - 1));
    await eventuallyIn(page, `document.querySelectorAll('${byId('room-row')}').length === 1`);
    await page.waitForSelector(`[data-room="${nameOf(rooms - 1)}"]`);
    assert.equal(await page.locator('.data-table').getAttribute('aria-rowcount'), '2');
    await page.fill(byId('search'), '');
    await eventuallyIn(page, `document.querySelector('.data-table').getAttribute('aria-rowcount') === '${rooms + 1}'`);
    await eventuallyIn(page, windowIsFull);
    assert.deepEqual(complaints, []);
  });
}

/** The room of the focused row, and the focused button or link. */
const focus = (page: Page) =>
  page.evaluate<[string | undefined, string | undefined]>(`(() => {
    const at = document.activeElement;
    return [at?.closest('tr')?.dataset.room, at?.dataset.testid ?? at?.className];
  })()`);

test('Tab moves through the rows of a long list in order, and a row that is scrolled away keeps the focus', async (t) => {
  const { page } = await openList(t, windows[1]);
  await page
    .locator(`[data-room="${nameOf(0)}"] a`)
    .first()
    .focus();
  const seen: (string | undefined)[] = [];
  for (let press = 0; press < 50 * 4; press += 1) {
    seen.push((await focus(page))[0]);
    await page.keyboard.press('Tab');
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 50 * 4 }, (_, index) => nameOf(Math.floor(index / 4))),
  );
  await eventuallyIn(page, isInSight(nameOf(50)));
  const before = await focus(page);
  assert.equal(before[0], nameOf(50));
  await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
  await page.waitForSelector(`[data-room="${nameOf(rooms - 5)}"]`);
  await eventuallyIn(page, fewRows);
  assert.deepEqual(await focus(page), before, 'the focus does not move');
  for (let press = 0; press < 4; press += 1) await page.keyboard.press('Tab');
  assert.deepEqual(await focus(page), [nameOf(51), before[1]], 'Tab continues from the focused row');
  await eventuallyIn(page, isInSight(nameOf(51)));
  await page.keyboard.press('Shift+Tab');
  assert.equal((await focus(page))[0], nameOf(50));
  await page.locator(byId('create-room')).focus();
  await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight / 2)');
  await page.waitForSelector(`[data-room="${nameOf(rooms / 2)}"]`);
  while ((await focus(page))[0] === undefined) await page.keyboard.press('Tab');
  assert.equal((await focus(page))[0], nameOf(0), 'Tab from above the table reaches its first row');
});

test('a long list keeps its scroll position while rooms above are added and removed', async (t) => {
  const { page, api } = await openList(t, windows[1]);
  await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight / 2)');
  const middle = `[data-room="${nameOf(rooms / 2)}"]`;
  await page.waitForSelector(middle);
  await page.locator(middle).evaluate((row) => row.scrollIntoView({ block: 'center' }));
  await eventuallyIn(page, windowIsFull);
  const top = `document.querySelector('${middle}').getBoundingClientRect().top`;
  const stays = `Math.abs(${top} - ${await page.evaluate<number>(top)}) <= 2`;
  for (let index = 0; index < 30; index += 1) await api.delete(`/room/${nameOf(index)}`);
  await eventuallyIn(page, `document.querySelector('${middle}').getAttribute('aria-rowindex') === '${rooms / 2 + 2 - 30}'`);
  await eventuallyIn(page, windowIsFull);
  await eventuallyIn(page, stays);
  for (let index = 0; index < 30; index += 1) await api.post('/room', { roomId: `a-${index}` });
  await eventuallyIn(page, `document.querySelector('${middle}').getAttribute('aria-rowindex') === '${rooms / 2 + 2}'`);
  await eventuallyIn(page, windowIsFull);
  await eventuallyIn(page, stays);
});

test('the row under the mouse is highlighted, but not rows that scroll past it', async (t) => {
  const { page, complaints } = await openList(t, windows[1]);
  const marked = `[...document.querySelectorAll('${byId('room-row')}')]
    .filter((row) => getComputedStyle(row).backgroundColor !== 'rgba(0, 0, 0, 0)')
    .map((row) => row.dataset.room).join()`;
  const below = `document.elementFromPoint(720, 450)?.closest('tr')?.dataset.room`;
  const isMarked = `${below} !== undefined && ${marked} === ${below}`;
  await page.mouse.move(720, 450);
  await eventuallyIn(page, isMarked);
  const before = await page.evaluate(below);
  const passing = await page.evaluate(`new Promise((resolve) => {
    let [step, frames] = [20, 0];
    const draw = () => {
      frames += 1;
      if (frames > 30 && document.querySelector('.data-table tbody').dataset.scrolling !== undefined) return resolve(${marked});
      if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1) step = -20;
      if (scrollY <= 0) step = 20;
      scrollBy(0, step);
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  })`);
  assert.equal(passing, '');
  await eventuallyIn(page, isMarked);
  assert.notEqual(await page.evaluate(below), before);
  assert.deepEqual(complaints, []);
});
