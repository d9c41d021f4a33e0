// Parses the messages given as one JSON array of strings on standard input with @medplum/core and prints, for each, a
// list of segments, each a list of fields: {"text", "components"}, components by repetition.
import { readFileSync } from 'node:fs';
import { Hl7Message } from '@medplum/core';

const field = (each) => ({ text: each.toString(), components: each.components });
const parsed = JSON.parse(readFileSync(0, 'utf-8')).map((text) =>
  Hl7Message.parse(text).segments.map((segment) => segment.fields.map(field))
);
console.log(JSON.stringify(parsed));
