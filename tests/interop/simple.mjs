// Sends files with the TCP client of simple-hl7 and prints each answer as one line of JSON: {"code", "id"}.
// Usage: node simple.mjs HOST PORT FILE...
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const hl7 = createRequire(import.meta.url)('simple-hl7');
const [host, port, ...files] = process.argv.slice(2);

function send(client, message) {
  return new Promise((resolve, reject) => {
    client.send(message, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

const client = hl7.Server.createTcpClient({ host, port: Number(port), keepalive: true });
await new Promise((resolve, reject) => {
  client.connect((error) => (error ? reject(error) : resolve()));
});
for (const file of files) {
  // The parser cannot be used twice: it keeps the message it has read.
  const message = new hl7.Parser({ segmentSeperator: '\r' }).parse(readFileSync(file, 'utf-8'));
  const msa = (await send(client, message)).getSegment('MSA');
  console.log(JSON.stringify({ code: msa.getComponent(1, 1), id: msa.getComponent(2, 1) }));
}
client.close();
