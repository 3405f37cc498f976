// HTTP of Node.js without undici: an ES import of node:http reads all exports, and the getter of WebSocket loads undici, which costs 3 MB
// of heap and 50 ms of the start.
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http');
