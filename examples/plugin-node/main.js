#!/usr/bin/env node
// A toolhost plugin in Node, without a build step: two tools.
'use strict';

const { serve, ToolError } = require('./protocol.js');

let separator = '-';

serve({
  name: 'slug',
  version: '1.0.0',
  services: ['state'],
  configSchema: {
    type: 'object',
    properties: { separator: { type: 'string', default: '-', maxLength: 1, description: 'What stands between words.' } },
    additionalProperties: false,
  },
  configure(config) {
    separator = config.separator ?? '-';
  },
  tools: [
    {
      name: 'slugify',
      description: 'Make the part of a web address that names a text, in small ASCII letters. Returns: an object with the slug.',
      risk: 'read_only',
      idempotent: true,
      parameters: {
        type: 'object',
        properties: { text: { type: 'string', description: 'The text to name.' } },
        required: ['text'],
        additionalProperties: false,
      },
      returns: { type: 'object', properties: { slug: { type: 'string' } }, required: ['slug'], additionalProperties: false },
      examples: [{ text: 'Grüße aus Köln!' }],
      async call(call, { text }) {
        const words = text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss').toLowerCase().match(/[a-z0-9]+/g);
        if (!words) {
          throw new ToolError('invalid_argument', `${JSON.stringify(text)} has no letter of a slug`, 'Give a text with Latin letters or digits.');
        }
        return { slug: words.join(separator) };
      },
    },
    {
      name: 'number_slug',
      description: 'Number the slugs of a session, so that no two are the same. Returns: an object with the slug and its number.',
      risk: 'safe_write',
      parameters: {
        type: 'object',
        properties: { slug: { type: 'string', description: 'The slug to number.', pattern: '^[a-z0-9-]+$' } },
        required: ['slug'],
        additionalProperties: false,
      },
      returns: { type: 'object', properties: { slug: { type: 'string' }, number: { type: 'integer' } }, required: ['slug', 'number'] },
      examples: [{ slug: 'notes' }],
      async call(call, { slug }) {
        call.progress('numbering', 0, 1);
        for (;;) {
          const old = await call.get('session', slug);
          const number = Number(old ?? 0) + 1;
          if (await call.swap('session', slug, old, Buffer.from(String(number)))) {
            call.log('info', 'numbered', { slug, number });
            return { slug: `${slug}${separator}${number}`, number };
          }
        }
      },
    },
  ],
});
