// Plays a file into a room: `npm start -- welcome.ogg standup`. The file is stored on the server, below file_component_sources.
import { Mediarooms } from '@mediarooms/server';

const { SVC_URL = 'http://127.0.0.1:5002', SVC_SERVER_API_TOKEN = '' } = process.env;
const [filePath, roomId = 'standup'] = process.argv.slice(2);
if (!filePath) throw new Error('usage: npm start -- FILE [ROOM]');

const mediarooms = new Mediarooms({ url: SVC_URL, token: SVC_SERVER_API_TOKEN });
const { room } = await mediarooms.rooms.create({ roomId, externalId: roomId, peerlessPurgeTimeout: 600 });

// Subscribe before the file starts, so that its end is not missed.
const events = mediarooms.events({ rooms: [room.id], cursor: {} });
const component = await mediarooms.components.add(room.id, { type: 'file', options: { filePath } });
console.log(`${filePath} plays in ${room.id}: ${component.tracks.map(({ type, encoding }) => `${type} (${encoding})`).join(', ')}`);

for await (const event of events) {
  if (event.componentId !== component.id) continue;
  if (event.type === 'ComponentCrashed') throw new Error(`Playback failed: ${event.reason}`);
  if (event.type !== 'ComponentRemoved') continue;
  console.log(event.reason === 'finished' ? 'Playback finished' : `Playback was stopped: ${event.reason}`);
  break;
}
