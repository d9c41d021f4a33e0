// Sends files with the client of @medplum/hl7 and prints each answer as one line of JSON: {"code", "id"}.
// Usage: node medplum.mjs HOST PORT FILE...
import { readFileSync } from 'node:fs';
import { Hl7Message } from '@medplum/core';
import { Hl7Client } from '@medplum/hl7';

const [host, port, ...files] = process.argv.slice(2);
const client = new Hl7Client({ host, port: Number(port), keepAlive: true });
for (const file of files) {
  const message = Hl7Message.parse(readFileSync(file, 'utf-8'));
  const answer = await client.sendAndWait(message, { timeoutMs: 20_000 });
  const msa = answer.getSegment('MSA');
  console.log(JSON.stringify({ code: msa.getField(1).toString(), id: msa.getField(2).toString() }));
}
await client.close();
process.exit(0); // the client leaves the timer of each answer's deadline running
