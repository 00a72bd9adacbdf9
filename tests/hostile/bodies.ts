/**
 * Bodies that try to misuse a JSON endpoint, each with the response that it must get.
 */

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

export interface BodyCase {
  name: string
  body: string | Buffer
  headers?: Record<string, string>
  status: number
}

const MESSAGES = '"messages":[{"role":"user","content":"Say: hi"}]'
const chat = (members: string) => `{"model":"svc-core",${MESSAGES}${members && `,${members}`}}`
const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const objects = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
const packed = (encoding: string) => ({ 'content-encoding': encoding })
const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))

export const bodyCases: BodyCase[] = [
  { name: 'a prototype at the top', body: chat('"__proto__":{"max_tokens":"x","stream":true}'), status: 200 },
  { name: 'a prototype that is everything', body: `{"__proto__":${chat('')}}`, status: 400 },
  { name: 'a constructor', body: chat('"constructor":{"prototype":{"polluted":true}}'), status: 200 },
  {
    name: 'a prototype for chat templates',
    body: chat(
      '"chat_template_kwargs":{"__proto__":{"enable_thinking":false},"constructor":{"prototype":{"polluted":1}}}',
    ),
    status: 200,
  },
  {
    name: 'a prototype in a message',
    body: '{"model":"svc-core","messages":[{"__proto__":{"role":"user","content":"hi"}}]}',
    status: 400,
  },
  { name: 'a prototype as model', body: `{"model":"__proto__",${MESSAGES}}`, status: 404 },
  { name: 'a constructor as model', body: `{"model":"constructor",${MESSAGES}}`, status: 404 },
  {
    name: 'a prototype as role',
    body: '{"model":"svc-core","messages":[{"role":"__proto__","content":"hi"}]}',
    status: 400,
  },

  { name: 'lists a hundred deep', body: chat(`"x":${lists(100)}`), status: 200 },
  { name: 'lists a thousand deep', body: chat(`"x":${lists(1_000)}`), status: 400 },
  { name: 'lists three million deep', body: chat(`"x":${lists(3_000_000)}`), status: 400 },
  {
    name: 'tools a thousand deep',
    body: chat(`"tools":[{"type":"function","function":${objects(1_000)}}]`),
    status: 400,
  },
  { name: 'millions of empty lists', body: chat(`"x":[${'[],'.repeat(5_000_000)}1]`), status: 400 },
  {
    name: 'a million members',
    body: chat(`"x":{${Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":1`).join(',')}}`),
    status: 400,
  },
  {
    name: 'a million messages',
    body: `{"messages":[${'{"role":"user","content":""},'.repeat(800_000)}{}]}`,
    status: 400,
  },

  { name: 'a cap beyond all numbers', body: chat('"max_tokens":1e400'), status: 400 },
  { name: 'a cap beyond what counts exactly', body: chat('"max_tokens":9007199254740993'), status: 400 },
  { name: 'a negative cap', body: chat('"max_tokens":-1'), status: 400 },
  { name: 'a number next to nothing', body: chat('"temperature":1e-400'), status: 200 },
  { name: 'a number of a million digits', body: chat(`"seed":${'9'.repeat(1_000_000)}`), status: 200 },
  { name: 'more choices than anyone wants', body: chat('"n":1e9'), status: 400 },

  {
    name: 'bytes that are no UTF-8',
    body: bytes('{"model":"svc-core","messages":[{"role":"user","content":"', [0xff, 0xc0, 0x80], '"}]}'),
    status: 200,
  },
  {
    name: 'half a surrogate pair',
    body: '{"model":"svc-core","messages":[{"role":"user","content":"\\ud800"}]}',
    status: 200,
  },
  {
    name: 'a NUL in a text',
    body: '{"model":"svc-core","messages":[{"role":"user","content":"\\u0000"}]}',
    status: 200,
  },
  {
    name: 'UTF-16',
    body: Buffer.from(chat(''), 'utf16le'),
    headers: { 'content-type': 'application/json; charset=utf-16le' },
    status: 415,
  },
  {
    name: 'an encoding that is unknown',
    body: chat(''),
    headers: { 'content-type': 'application/json; charset=x' },
    status: 415,
  },
  {
    name: 'a form',
    body: 'model=svc-core',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    status: 415,
  },
  { name: 'nothing', body: '', status: 400 },
  { name: 'a list', body: '[]', status: 400 },
  { name: 'null', body: 'null', status: 400 },
  { name: 'two values', body: `${chat('')}${chat('')}`, status: 400 },
  { name: 'half a value', body: chat('').slice(0, -9), status: 400 },

  { name: 'a body that is packed', body: gzipSync(chat('')), headers: packed('gzip'), status: 200 },
  { name: 'one packed otherwise', body: brotliCompressSync(chat('')), headers: packed('br'), status: 200 },
  { name: 'a bomb', body: gzipSync(Buffer.alloc(200_000_000, ' ')), headers: packed('gzip'), status: 413 },
  {
    name: 'a bomb of another make',
    body: deflateSync(Buffer.alloc(200_000_000, ' ')),
    headers: packed('deflate'),
    status: 413,
  },
  { name: 'a body packed twice', body: gzipSync(gzipSync(chat(''))), headers: packed('gzip, gzip'), status: 415 },
  { name: 'one that cannot be unpacked', body: 'nonsense', headers: packed('gzip'), status: 400 },
  { name: 'one that ends too early', body: gzipSync(chat('')).subarray(0, 20), headers: packed('gzip'), status: 400 },
  { name: 'more than 25 MB', body: chat(`"x":"${'a'.repeat(26 * 1024 * 1024)}"`), status: 413 },
]
