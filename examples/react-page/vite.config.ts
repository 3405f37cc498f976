// Vite configuration with a minimal backend: POST /join returns a token. Production backends authenticate users first: see ../backend.
import { Mediarooms } from '@mediarooms/server';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const { SVC_URL = 'http://127.0.0.1:5002', SVC_SERVER_API_TOKEN = '', PORT = '5173' } = process.env;
const mediarooms = new Mediarooms({ url: SVC_URL, token: SVC_SERVER_API_TOKEN });

const backend: Plugin = {
  name: 'backend',
  configureServer: ({ middlewares }) => {
    middlewares.use('/join', async (request, response) => {
      try {
        const name = new URL(request.url ?? '/', 'http://host').searchParams.get('name');
        await mediarooms.rooms.create({ roomId: 'demo', externalId: 'demo', peerlessPurgeTimeout: 600 });
        const { token, peer_websocket_url: url } = await mediarooms.peers.add('demo', { metadata: name });
        response.end(JSON.stringify({ url, token }));
      } catch (error) {
        response.writeHead(502).end(String(error));
      }
    });
  },
};

export default defineConfig({ plugins: [react(), backend], server: { host: '127.0.0.1', port: Number(PORT), strictPort: true } });
