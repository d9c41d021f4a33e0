// Sends files with node-hl7-client and prints each answer as one line of JSON: {"code", "id"}.
// Usage: node nodehl7.mjs HOST PORT FILE...
import { readFileSync } from 'node:fs';
import { Client, Message } from 'node-hl7-client';

const [host, port, ...files] = process.argv.slice(2);
const client = new Client({ host });
let take;
const connection = client.createConnection({ port: Number(port), waitAck: true }, (response) => {
  take(response.getMessage());
});
await new Promise((resolve) => {
  connection.once('connect', resolve);
});
for (const file of files) {
  const answered = new Promise((resolve) => {
    take = resolve;
  });
  await connection.sendMessage(new Message({ text: readFileSync(file, 'utf-8') }));
  const answer = await answered;
  console.log(JSON.stringify({ code: answer.get('MSA.1').toString(), id: answer.get('MSA.2').toString() }));
}
await connection.close();
