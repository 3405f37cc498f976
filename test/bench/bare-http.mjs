// REST baseline: minimal server that responds to a POST with JSON.
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', () => {
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ data: JSON.parse(text) }));
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`"url":"http://127.0.0.1:${port}"`);
});
